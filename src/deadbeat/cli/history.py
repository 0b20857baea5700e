"""``list --history``: a line for each result, and where a figure changed for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from os import W_OK, access
from pathlib import Path
from typing import Any

import click
import numpy as np
from attrs import asdict, field, frozen

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.specification import differences
from deadbeat.base.model.words import Json, count_of, nearest, shown
from deadbeat.base.store.files import csv_text
from deadbeat.base.verdicts.words import some, value_text
from deadbeat.cli._output import Part, say, table
from deadbeat.cli._runs import check_own
from deadbeat.cli.compare.trend import FEWEST, Step, steps_of
from deadbeat.cli.past import PastFigure, PastResult, history_of

NOTHING = "–"
#: Begins the name of a machine that a file of another tool does not have.
UNKNOWN = "unknown"
#: Settings that differ that are named.
_NAMED = 2


@frozen(kw_only=True)
class PastLine:
    """A result in a history.

    Attributes:
        metric: None: it has no figure, as what cannot be read. ``cells``: the metric in each.
        changed: Cell -> where the metric changed with this result.
    """

    result: PastResult
    metric: Metric | None = None
    cells: Sequence[PastFigure] = ()
    changed: dict[str, Step] = field(factory=dict)

    @property
    def worst(self) -> PastFigure | None:
        sign = -1 if self.metric and self.metric.higher_is_better else 1
        return max(self.cells, key=lambda each: sign * each.value, default=None)

    def text(self, value: float | None) -> str:
        return NOTHING if self.metric is None or value is None else value_text(self.metric, value)

    @property
    def interval(self) -> str:
        worst = self.worst
        if worst is None or worst.low is None:
            return NOTHING
        return f"[{self.text(worst.low)}, {self.text(worst.high)}]"

    @property
    def changes(self) -> Iterator[str]:
        for cell, step in self.changed.items():
            where = f" at {cell}" if len(self.cells) > 1 else ""
            values = f"{self.text(step.before)} before, {self.text(step.after)} since"
            yield f"changed{where}: {values} (p {p_text(step.p)})"

    @property
    def note(self) -> str:
        result = self.result
        left = f"unfinished: {result.left}" if result.left else ""
        idle = not (result.counts or result.left or result.problem)
        parts = (*self.changes, result.problem, left, "no run counts" * idle, *result.labels)
        return "; ".join(filter(None, parts))

    @property
    def kernel(self) -> str:
        """Its release, of Linux."""
        kernel = self.result.kernel
        return (kernel.split()[0] if kernel[:1].isdigit() else kernel) or NOTHING

    @property
    def commit(self) -> str:
        commit = self.result.commit
        return commit[:9] + "+" * commit.endswith("+") or NOTHING


def p_text(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-4 else "< 0.0001"


@frozen(kw_only=True)
class Series:
    """Results of one kind, machine and settings in the order of time.

    Attributes:
        other: How the settings differ from those of the series before of this kind and machine.
    """

    number: int
    lines: Sequence[PastLine]
    other: Sequence[str] = ()

    @property
    def first(self) -> PastResult:
        return self.lines[0].result

    @property
    def judged(self) -> bool:
        """Whether there is enough to show a change."""
        known = sum(line.result.counts and bool(line.cells) for line in self.lines)
        return known >= FEWEST and not self.unknown

    @property
    def unknown(self) -> bool:
        """Whether nothing says that they are of one machine."""
        return self.first.machine.startswith(UNKNOWN)

    @property
    def name(self) -> str:
        first = self.first
        return f"{first.kind or 'unknown'} on {first.machine}" if first.machine else first.kind

    @property
    def answer(self) -> str:
        """What is known of changes."""
        count = count_of(len(self.lines), "result")
        if self.unknown:
            return f"{count} of unknown machines: not compared"
        if not any(line.cells for line in self.lines):
            return f"{count} without figures"
        if not self.judged:
            return f"{count}: too few to show a change (from {FEWEST} on)"
        found = [
            f"{line.result.name} {text}{_with(before, line)}"
            for before, line in pairwise(self.lines)
            for text in line.changes
        ]
        return f"{count}: {'; '.join(found) or 'no change is shown'}"


def _with(before: PastLine, line: PastLine) -> str:
    """What else is not as it was."""
    sides = (("kernel", before.kernel, line.kernel), ("commit", before.commit, line.commit))
    found = [f"{what} {one} | {two}" for what, one, two in sides if one != two]
    return f", with {', '.join(found)}" if found else ""


def series_in(runs: Path, figure: str | None, machine: str | None = None) -> list[Series]:
    """All series under ``runs``, of one figure or the main one of each kind.
    Raises UsageError: nothing has such a figure, or nothing is of such a machine."""
    past = history_of(runs, keep=_is_own(runs), say=say)
    metrics = {
        kind: next((each for each in own if each.name == figure), None) if figure else own[0]
        for kind, own in past.metrics.items()
    }
    if figure and not any(metrics.values()):
        names = {each.name for own in past.metrics.values() for each in own}
        raise UsageError(f"no result has a figure {shown(figure)}", nearest(figure, sorted(names)))
    results = [each for each in past.results if machine in (None, each.machine)]
    if machine and not results:
        names = {each.machine for each in past.results if each.machine}
        raise UsageError(f"no result is of {shown(machine)}", nearest(machine, sorted(names)))
    known = {name: past.figures(name) for name in {m.name for m in metrics.values() if m}}
    lines = []
    for each in results:
        metric = metrics.get(each.kind)
        if metric or each.problem:
            cells = known[metric.name].get(each.name, ()) if metric else ()
            lines.append(PastLine(result=each, metric=metric, cells=cells))
    return _judged(_grouped(lines))


def _is_own(runs: Path) -> bool:
    """Whether something may be kept there."""
    try:
        check_own(runs)
    except (UsageError, OSError):
        return False
    return access(runs, W_OK)


def _grouped(lines: Sequence[PastLine]) -> list[list[PastLine]]:
    """Lines of equal kind, machine and settings; what one of them did not record is no
    difference."""
    found: list[list[PastLine]] = []
    known: dict[str, list[PastLine]] = {}
    for line in lines:
        one = line.result
        key = repr((one.kind, one.machine, one.system, bool(one.problem), one.settings))
        if key not in known:
            known[key] = next((own for own in found if _alike(own[-1].result, one)), [])
            if not known[key]:
                found.append(known[key])
        known[key].append(line)
    return sorted(found, key=lambda own: (own[0].result.kind, own[0].result.machine))


def _alike(one: PastResult, two: PastResult) -> bool:
    places = [(each.kind, each.machine, each.system, bool(each.problem)) for each in (one, two)]
    return places[0] == places[1] and not _other(one, two)


def _other(one: PastResult, two: PastResult) -> list[str]:
    """How settings differ that both recorded."""
    return differences(_shared(one.settings, two.settings), _shared(two.settings, one.settings))


def _shared(one: Any, two: Any) -> Any:
    """What ``one`` says of all that ``two`` has too."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return {key: _shared(one[key], two[key]) for key in one if key in two}
    return one


def _judged(groups: Sequence[Sequence[PastLine]]) -> list[Series]:
    """Series with the steps in them."""
    judged: list[tuple[Metric, list[tuple[PastLine, PastFigure]]]] = []
    for own in groups:
        same = not own[0].result.machine.startswith(UNKNOWN)
        counted = [line for line in own if line.result.counts and same]
        every = ((line, each) for line in counted for each in line.cells)
        for values in grouped(every, lambda pair: pair[1].cell).values():
            metric = values[0][0].metric
            if metric and len(values) >= FEWEST:
                judged.append((metric, values))
    steps = steps_of([(m, np.array([each.value for _, each in own])) for m, own in judged])
    for (_, values), found in zip(judged, steps, strict=True):
        for step in found:
            line, figure = values[step.place]
            line.changed[figure.cell] = step
    series: list[Series] = []
    for number, own in enumerate(groups, 1):
        one, before = own[0].result, series[-1].lines[-1].result if series else None
        beside = before and (before.kind, before.machine) == (one.kind, one.machine)
        other = _other(before, one) if before and beside else []
        series.append(Series(number=number, lines=own, other=other))
    return series


def history(*, figure: str | None, machine: str | None, csv: bool, runs: Path) -> Shown:
    found = series_in(runs, figure, machine)
    lines = [(series, line) for series in found for line in series.lines]
    rows = [_row(series, line, line.worst) for series, line in lines]
    changed = [
        {**_row(series, line, each), **asdict(line.changed[each.cell])}
        for series, line in lines
        for each in line.cells
        if each.cell in line.changed
    ]
    many = f"{count_of(len(lines), 'result')} in {len(found)} series"
    answer = partial(
        Shown,
        headline=f"{many}, {count_of(len(changed), 'change')}",
        plain={
            "figure": figure,
            "results": rows,
            "changes": changed,
            "series": [
                {
                    "series": each.number,
                    "results": len(each.lines),
                    "judged": each.judged,
                    "settings": dict(each.first.settings),
                    "other": list(each.other),
                }
                for each in found
            ],
        },
    )
    if not lines:
        return answer(parts=[partial(say, f"nothing in {runs} yet: deadbeat latency --quick")])
    if csv:
        none: list[PastFigure | None] = [None]
        cells = (_row(*pair, each) for pair in lines for each in [*pair[1].cells] or none)
        return answer(parts=[partial(click.echo, csv_text([*rows[0]], cells), nl=False)])
    said = [f"series {each.number} ({each.name}), {each.answer}" for each in found if each.judged]
    said += [f"series {each.number}, {each.answer}" for each in found if each.unknown]
    if few := sum(not each.judged and not each.unknown for each in found):
        said.append(f"{few} series of fewer than {FEWEST} results: too few to show a change")
    said += [
        f"series {each.number} has other settings than {each.number - 1}:"
        f" {some(each.other, _NAMED)}"
        for each in found
        if each.other
    ]
    return answer(parts=[_table(lines), *said])


def _table(lines: Sequence[tuple[Series, PastLine]]) -> Part:
    columns = ["series", "date", "name", "machine", "kernel", "commit", "figure", "where", "value",
               "95 % interval", "note"]  # fmt: skip
    rows = [
        (
            str(series.number),
            f"{datetime.fromisoformat(line.result.date).astimezone():%Y-%m-%d %H:%M}",
            line.result.name,
            line.result.machine or NOTHING,
            line.kernel,
            line.commit,
            line.metric.words if line.metric else NOTHING,
            line.worst.cell if line.worst else NOTHING,
            line.text(line.worst.value if line.worst else None),
            line.interval,
            line.note,
        )
        for series, line in lines
    ]
    return table(columns, rows, numeric=["series", "value", "95 % interval"])


def _row(series: Series, line: PastLine, figure: PastFigure | None) -> dict[str, Json]:
    """A result in a cell; None: in none."""
    result, metric = line.result, line.metric
    return {
        **{key: getattr(result, key) for key in ("name", "kind", "date")},
        "series": series.number,
        **{key: getattr(result, key) for key in ("machine", "system", "kernel", "commit")},
        "metric": metric.name if metric else None,
        "unit": metric.unit if metric else None,
        **{each: getattr(figure, each, None) for each in ("cell", "n", "value", "low", "high")},
        "changed": bool(figure and figure.cell in line.changed),
        **{key: getattr(result, key) for key in ("counts", "left", "problem")},
        "labels": ", ".join(result.labels),
    }
