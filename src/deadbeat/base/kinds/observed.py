"""What a kind observes, as figures of one result and as what two are compared by.

A figure is a `Metric` row of the kind: with a ``column`` its mean over runs stands in the answer,
on the page and in figures.csv; `deadbeat compare` has it anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from attrs import field, frozen

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.report.document import Column, Table
from deadbeat.base.stats.estimate import mean_of
from deadbeat.base.store.serial import to_plain
from deadbeat.base.verdicts.words import cell_text, estimate_text

#: Tables, and findings of them.
Beside = tuple[Sequence[Observations], Sequence[Finding]]


@frozen(kw_only=True)
class ObservedResult(Subject):
    """A result, and what was observed in it."""

    table: Observations = field(repr=False)


def tables_of(tables: Sequence[Observations], what: str, cure: str) -> tuple[Observations, ...]:
    """Tables with a cell in common with the first. Raises UsageError: one has none."""
    first = {cell for cell in tables[0].cells if not cell.of}
    for table in tables[1:]:
        if not first & {*table.cells}:
            raise UsageError(f"{tables[0].name} and {table.name} have no {what} in common", cure)
    return tuple(tables)


def comparable(
    *,
    name: str,
    folders: Folders[Any],
    summarise: Callable[[Any], Any],
    observe: Callable[[Any], Iterable[Observation]],
    platform: Callable[[Any], Platform | None],
    metrics: tuple[Metric, ...],
    words: Vocabulary,
    look: ComparedLook,
    cure: str,
    labels: Callable[[Any], tuple[str, ...]] = lambda found: found.labels,
    settings: Callable[[Any], Mapping[str, Json]] = lambda found: {},
    planned: Callable[[Any], Iterable[Cell]] = lambda found: (),
    beside: Callable[[Lineup, Sequence[Observations]], Beside] = lambda lineup, tables: (
        tables,
        (),
    ),
) -> Comparable[ObservedResult]:
    """How two results of a kind are compared.

    Args:
        summarise: What a folder comes to; ``observe``: its rows.
        platform: Where a folder was measured; None: nowhere.
        cure: How results get a cell in common.
        settings: What must agree. ``planned``: the cells that were to have rows.
        beside: The tables with rows beside those of ``observe``, and what to know of them.
    """

    def read(path: Path) -> ObservedResult:
        store = folders.store.open(path)
        state, found, place = folders.state_of(path), summarise(store), platform(store)
        left = state.planned - state.done - state.failed
        return ObservedResult(
            name=path.resolve().name,
            path=str(path),
            kind=place.kind if place else "simulated",
            platform=to_plain(place) if place else {},
            settings=settings(found),
            counted=state.done - state.invalid,
            stored=state.done,
            left=f"{left} of {state.planned} runs are missing" if left > 0 else "",
            labels=labels(found),
            table=Observations(name=path.resolve().name, rows=observe(found), cells=planned(found)),
        )

    def align(lineup: Lineup) -> Aligned:
        tables, findings = beside(lineup, [each.table for each in lineup.every])
        tables = tables_of(tables, look.groups[0].removeprefix("By "), cure)
        return Aligned(tables=tables, findings=tuple(findings))

    return Comparable(
        of=name,
        noun=folders.kind.noun,
        words=words,
        look=look,
        metrics=metrics,
        read=read,
        align=align,
    )


def observed_alone(kind: Comparable[Any], path: Path) -> tuple[Subject, Observations]:
    """A result by itself, and what was observed in it. Raises DeadbeatError: it cannot be read."""
    subject = kind.read(path)
    (table,) = kind.align(Lineup(subjects=(subject,))).tables
    return subject, table


def more_figures(kind: Comparable[Any], path: Path) -> Table | None:
    """The means over runs of the metrics with a column; None: there are none.

    Raises:
        DeadbeatError: The result cannot be read.
    """
    metrics = [metric for metric in kind.metrics if metric.column]
    if not metrics:
        return None
    _, table = observed_alone(kind, path)
    seen: dict[Cell, dict[str, list[float]]] = {}
    names = {metric.name for metric in metrics}
    for row in table.rows:
        if row.value is not None and row.metric in names:
            seen.setdefault(row.cell, {}).setdefault(row.metric, []).append(row.value)
    rows = [
        {"where": cell_text(cell), **{name: mean_of(own) for name, own in figures.items()}}
        for cell, figures in sorted(seen.items())
    ]
    return Table(
        name="figures",
        title="Means over runs, with 95 % intervals",
        columns=(
            Column(key="where", heading=kind.look.groups[1], words=True),
            *(
                Column(
                    key=metric.name,
                    heading=metric.column,
                    value=methodcaller("get", metric.name),
                    format=partial(estimate_text, metric),
                    interval=True,
                )
                for metric in metrics
            ),
        ),
        rows=rows,
        terminal=True,
    )
