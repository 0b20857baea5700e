"""Interference matrices as tables of observations.

A cell is a victim beside an aggressor at a place, an observation the slowdown of one run: slots of
a run share their processes and how memory lies. Places of one repeat are a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from attrs import field, frozen

from deadbeat.kinds.interfere.document import place_words
from deadbeat.kinds.interfere.results import (
    FOLDERS,
    InterfereRun,
    InterfereStore,
    InterfereSummary,
    Slowdown,
    slowdowns,
    summarise,
)
from deadbeat.kinds.interfere.spec import OTHERS
from deadbeat.model.comparison import Aligned, Comparable, ComparedLook, Lineup, Subject, Vocabulary
from deadbeat.model.errors import UsageError
from deadbeat.model.observations import Cell, Metric, Observation, Observations
from deadbeat.prices.compared import price_metric, with_prices

METRICS = (Metric(name="slowdown", title="Slowdown", minimum=0.05), price_metric("--duration"))
WORDS = Vocabulary(
    results="matrices",
    one="matrix",
    find_lost="see which runs are invalid, and why (deadbeat show)",
    lost="of the slots were lost",
    rare="more --repeats would show more",
)


@frozen(kw_only=True)
class ChannelMatrix(Subject):
    """An interference matrix and its runs that count."""

    found: InterfereSummary = field(repr=False)
    runs: tuple[InterfereRun, ...] = field(repr=False)


def read_channels(path: Path) -> ChannelMatrix:
    """The matrix in ``path``."""
    store = InterfereStore.open(path)
    found = summarise(store)
    return FOLDERS.subject(
        ChannelMatrix,
        store,
        settings={"cpus": len(found.spec.cpus or ()), "policy": found.spec.policy},
        labels=found.labels,
        found=found,
        runs=tuple(run for run in store.runs() if run.valid),
    )


def align(lineup: Lineup) -> Aligned:
    """Pairs of the same name at the same place."""
    tables, findings = with_prices(lineup, [observe(each) for each in lineup.every])
    baseline = tables[0]
    pairs = {cell for cell in baseline.cells if not cell.of}
    for table in tables[1:]:
        if not pairs & {*table.cells}:
            raise UsageError(
                f"{baseline.name} and {table.name} have no pair in common",
                "measure both with the same --works and --aggressors",
            )
    return Aligned(tables=tables, findings=tuple(findings))


def observe(matrix: ChannelMatrix) -> Observations:
    """Every pair in every run that counts; the control is not compared."""

    def rows() -> Iterator[Observation]:
        for run in matrix.runs:
            at = datetime.fromisoformat(run.started).timestamp() if run.started else None
            for cell in slowdowns(matrix.found.spec.works, [run]):
                if cell.aggressor is not None:
                    yield Observation(
                        run=f"{run.key.text} {_name(cell)}",
                        cell=Cell(_name(cell)),
                        block=f"{run.key.repeat:04d}",
                        metric="slowdown",
                        value=cell.value,
                        at=at,
                    )

    return Observations(
        name=matrix.name,
        rows=rows(),
        cells=(Cell(_name(cell)) for cell in matrix.found.cells if cell.aggressor),
    )


def _name(cell: Slowdown) -> str:
    assert cell.aggressor is not None
    where = "" if cell.place == OTHERS else f" on {place_words(cell.place)}"
    return f"{cell.victim.text} beside {cell.aggressor.text}{where}"


COMPARABLE = Comparable(
    of="interfere",
    noun=InterfereStore.NOUN,
    words=WORDS,
    look=ComparedLook(
        called="Interference matrices",
        terms="compare-interfere",
        groups=("By pair", "victim beside aggressor"),
    ),
    metrics=METRICS,
    read=read_channels,
    align=align,
)
