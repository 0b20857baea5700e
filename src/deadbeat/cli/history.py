"""``list --history``: a line for each result, and where a figure changed for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.specification import differences
from deadbeat.base.model.words import count_of, nearest, shown
from deadbeat.base.report.document import Column, Table, csv_of, records, said
from deadbeat.base.verdicts.words import estimate_text, p_text, some, value_text
from deadbeat.cli._output import say
from deadbeat.cli._runs import check_own
from deadbeat.cli.compare.trend import FEWEST, Step, steps_of
from deadbeat.cli.past import PastFigure, PastResult, history_of

#: Settings that differ that are named.
_NAMED = 2


@frozen(kw_only=True)
class PastLine:
    """A result in a history, in all cells or in one.

    Attributes:
        series: None: it is in none, as what cannot be read.
        metric: None: it has no figure. ``cells``: the metric in each; ``worst``: one of them.
        changed: Cell -> how the metric changed with this result.
    """

    result: PastResult
    series: int | None = None
    metric: Metric | None = None
    cells: Sequence[PastFigure] = ()
    changed: dict[str, Step] = field(factory=dict)
    worst: PastFigure | None = field(init=False)

    @worst.default
    def _worst(self) -> PastFigure | None:
        sign = -1 if self.metric and self.metric.higher_is_better else 1
        return max(self.cells, key=lambda each: sign * each.value, default=None)

    @property
    def single(self) -> list[PastLine]:
        """A line for each cell."""
        return [evolve(self, cells=(each,)) for each in self.cells] or [self]

    @property
    def step(self) -> Step | None:
        return self.changed.get(self.worst.cell) if self.worst else None

    @property
    def text(self) -> str | None:
        return estimate_text(self.metric, self.worst) if self.metric and self.worst else None

    @property
    def changes(self) -> Iterator[str]:
        for cell, step in self.changed.items():
            assert self.metric is not None
            where = f" at {cell}" * (len(self.cells) > 1)
            before, after = map(partial(value_text, self.metric), (step.before, step.after))
            said = f"drifts{where}: {before} at first, {after} now"
            if not step.drifts:
                said = f"changed{where}: {before} before, {after} since"
            yield f"{said} (p {p_text(step.p)})"

    @property
    def note(self) -> str:
        return "; ".join((*self.changes, *self.result.notes))


def _of(part: str, key: str, heading: str = "", words: bool = True, **more: Any) -> Column:
    """A fact of a part of a line; of none, or "", there is none."""
    value = attrgetter(part)
    return Column(
        key=key,
        heading=heading,
        value=lambda line: None if (found := getattr(value(line), key, "")) == "" else found,
        words=words,
        **more,
    )


#: Of a line in files, in a terminal and on a page.
COLUMNS = (
    Column(key="series", heading="series"),
    _of(
        "result",
        "date",
        "date (UTC)",
        words=False,
        format=lambda date: date[:16].replace("T", " "),
    ),
    _of("result", "name", "name"),
    _of("result", "machine", "machine"),
    _of("result", "kernel", "kernel"),
    _of("result", "commit", "commit"),
    *(_of("result", key) for key in ("kind", "system")),
    said("figure", lambda line: line.metric and line.metric.words, words=True),
    Column(key="metric", value=lambda line: line.metric and line.metric.name),
    _of("metric", "unit"),
    _of("worst", "cell", "where"),
    said("value [95 %]", attrgetter("text")),
    *(_of("worst", key) for key in ("n", "value", "low", "high")),
    *(_of("step", key) for key in ("before", "after", "p", "drifts")),
    Column(key="note", heading="note", long=True),
)


@frozen(kw_only=True)
class Series:
    """Results of one kind, machine and settings in the order of time.

    ``number``: None: those that are in none."""

    number: int | None
    lines: Sequence[PastLine]

    @property
    def answer(self) -> str:
        """What is known of changes."""
        if self.number is None:
            return "unfinished, damaged, copies, or without figures, date or name of the machine"
        if len(self.lines) < FEWEST:
            return f"too few to show a change (from {FEWEST} on)"
        found = [
            f"{line.result.name} {text}{_beside(before.result, line.result)}"
            for before, line in pairwise(self.lines)
            for text in line.changes
        ]
        metric = self.lines[0].metric
        what = metric.words if metric else ""
        none = f"no change of {what} is shown (other figures are not judged)"
        return "; ".join(found) or none


def series_in(runs: Path, figure: str | None, machine: str | None = None) -> list[Series]:
    """All series under ``runs``, of one figure or the main one of each kind; last what is in none.
    Raises UsageError: nothing has such a figure, or nothing is of such a machine."""
    own = False
    with suppress(UsageError, OSError):
        check_own(runs)
        own = True
    past = history_of(runs, keep=own, say=say)
    metrics = {
        kind: next((each for each in own if figure in (None, each.name)), None)
        for kind, own in past.metrics.items()
    }
    results = [each for each in past.results if machine in (None, each.machine)]
    figures = {each.name for own in past.metrics.values() for each in own}
    machines = {each.machine for each in past.results if each.machine}
    for what, name, names in (("has a figure", figure, figures), ("is of", machine, machines)):
        if name and name not in names:
            raise UsageError(f"no result {what} {shown(name)}", nearest(name, sorted(names)))
    known = {name: past.figures(name) for name in {m.name for m in metrics.values() if m}}
    groups: dict[tuple[str, str, str], list[list[PastLine]]] = {}
    rest = []
    for each in results:
        metric = metrics.get(each.kind)
        cells = known[metric.name].get(each.name, ()) if metric else ()
        line = PastLine(result=each, metric=metric if cells else None, cells=cells)
        if each.counts and each.date and each.machine and cells:
            beside = groups.setdefault((each.kind, each.machine, each.system), [])
            same = next((own for own in beside if not _other(own[-1].result, each)), None)
            if same and (same[-1].result.date, [*same[-1].cells]) == (each.date, [*cells]):
                rest.append(line)  # a copy
                continue
            same.append(line) if same else beside.append([line])
        elif not figure or cells:
            rest.append(line)
    every = [own for key in sorted(groups) for own in groups[key]]
    series = [
        Series(number=number, lines=[evolve(line, series=number) for line in own])
        for number, own in enumerate(every, 1)
    ]
    _judge(series)
    return [*series, *([Series(number=None, lines=rest)] if rest else [])]


def _other(one: PastResult, two: PastResult) -> list[str]:
    """How settings differ; what one of the two did not record is no difference."""
    both = one.settings.keys() & two.settings.keys()
    sides = ({key: each.settings[key] for key in sorted(both)} for each in (one, two))
    return differences(*sides) if one.settings != two.settings else []


def _judge(series: Sequence[Series]) -> None:
    """Finds the steps in all."""
    judged, values = [], []
    for each in series:
        every = ((line, figure) for line in each.lines for figure in line.cells)
        for cell, own in grouped(every, lambda pair: pair[1].cell).items():
            metric = own[0][0].metric
            if metric and len(own) >= FEWEST:
                judged.append((cell, [line for line, _ in own]))
                values.append((metric, np.array([figure.value for _, figure in own])))
    for (cell, lines), found in zip(judged, steps_of(values), strict=True):
        for step in found:
            lines[step.first].changed[cell] = step


def _beside(before: PastResult, now: PastResult) -> str:
    """What else is not as it was."""
    sides = (("kernel", before.kernel, now.kernel), ("commit", before.commit, now.commit))
    found = [f"{what} {one} | {two}" for what, one, two in sides if one != two]
    return f", with {', '.join(found)}" if found else ""


def history(*, figure: str | None, machine: str | None, csv: bool, runs: Path) -> Shown:
    found = series_in(runs, figure, machine)
    lines = [line for series in found for line in series.lines]
    changed = [each for line in lines if line.changed for each in line.single if each.step]
    plain = {
        "figure": figure,
        "results": [*records(COLUMNS, lines)],
        "changes": [*records(COLUMNS, changed)],
    }
    headline = f"{count_of(len(lines), 'result')}, {count_of(len(changed), 'change')}"
    answer = partial(Shown, plain=plain, headline=headline)
    if not lines:
        return answer(parts=[f"nothing in {runs} yet: deadbeat latency --quick"])
    if csv:
        single = (each for line in lines for each in line.single)
        return answer(parts=[partial(click.echo, csv_of(COLUMNS, single), nl=False)])
    table = Table(name="history", columns=COLUMNS, rows=lines)
    return answer(tables=[table], lines=[*_answers(found)])


def _answers(found: Sequence[Series]) -> Iterator[str]:
    """What is known of changes."""
    for answer, own in grouped(found, attrgetter("answer")).items():
        first, results = own[0], count_of(sum(len(each.lines) for each in own), "result")
        if first.number is None:
            yield f"{results} in no series: {answer}"
        elif any(line.changed for line in first.lines):
            about = first.lines[0].result
            yield f"series {first.number} ({about.kind} on {about.machine}), {results}: {answer}"
        else:
            yield f"{len(own)} series of {results}: {answer}"
    for one, two in pairwise(each for each in found if each.number):
        before, now = one.lines[-1].result, two.lines[0].result
        if (before.kind, before.machine, before.system) == (now.kind, now.machine, now.system):
            other = some(_other(before, now), _NAMED)
            yield f"series {two.number} has other settings than {one.number}: {other}"
