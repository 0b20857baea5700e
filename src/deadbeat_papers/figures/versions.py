"""Latency over versions of a kernel, and the effect of single changes, from many matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from attrs import frozen

from deadbeat import (
    Chart,
    CurvePoint,
    DrawnPlot,
    LoadPoint,
    Panel,
    Question,
    Side,
    SidesTable,
    curve,
    how,
    load_words,
    systems_table,
    time_text,
)

Values = Sequence[float]


def apart(one: Values, other: Values, *, least: float) -> bool:
    """Whether all values of one lie beyond all of the other, and their centres differ by the
    fraction ``least`` of the smaller."""
    if not one or not other:
        return False
    low, high = sorted((one, other), key=median)
    return max(low) < min(high) and median(high) > median(low) * (1 + least)


def steps(row: Sequence[Values], *, least: float) -> tuple[tuple[int, int], ...]:
    """Places of a row, before and after, that are apart: neighbours, else those on both sides of
    one that is apart from neither."""
    near = {at for at in range(1, len(row)) if apart(row[at - 1], row[at], least=least)}
    over = [
        (at - 1, at + 1)
        for at in range(1, len(row) - 1)
        if not near & {at, at + 1} and apart(row[at - 1], row[at + 1], least=least)
    ]
    return tuple(sorted([*((at - 1, at) for at in near), *over]))


_US = 1_000.0
#: What must be apart for a step or an effect, and by what fraction.
METRIC, LEAST = "p99", 0.1
_SHOWN = ((METRIC, "99th percentile"), ("max", "Maximum"))
#: How many steps or effects a sentence is spent on.
_MOST = 5
_CAPTION = "Bars: from the smallest to the largest of the runs."


@frozen
class _Measured:
    """A side's values of a quantity, one for each run, ns."""

    name: str
    values: tuple[float, ...]
    pooled: float

    @property
    def text(self) -> str:
        low, high = time_text(min(self.values)), time_text(max(self.values))
        return f"{time_text(self.pooled)} [{low}, {high}]"


def load_of(asked: Question) -> LoadPoint:
    """The load that was asked for, else the last that all were measured beside."""
    return asked.load or asked.loads[-1]


def run_values(
    side: Side, load: LoadPoint, engine: str, quantity: str = METRIC
) -> tuple[float, ...]:
    """A quantity of every valid run of a side, ns; none where it was not measured."""
    cell = side.cell(load, engine)
    return tuple(v for v in cell.whole.honest[quantity].runs_ns if v is not None) if cell else ()


def _row(asked: Question, quantity: str) -> list[_Measured]:
    found = []
    for side in asked.sides:
        values = run_values(side, load_of(asked), asked.engine, quantity)
        cell = side.cell(load_of(asked), asked.engine)
        if values and cell is not None:
            pooled = cell.whole.honest[quantity].value_ns
            found.append(_Measured(side.name, values, pooled or max(values)))
    return found


def _panel(row: Sequence[_Measured], title: str, *, joined: bool) -> Panel:
    points = [
        CurvePoint(place, each.pooled, min(each.values), max(each.values), text=each.text)
        for place, each in enumerate(row)
    ]
    shown = curve("", points, kind="errors", scale=1 / _US)
    line = curve("", [CurvePoint(p.x, p.y) for p in points], kind="plain", scale=1 / _US)
    return Panel(
        title=title,
        x_label="",
        y_label="latency, us",
        categories=tuple(each.name for each in row),
        curves=(line, shown) if joined and len(points) > 1 else (shown,),
        y_log=True,
        empty="no valid run",
    )


def _drawn(
    asked: Question,
    words: tuple[str, str],
    rows: dict[str, list[_Measured]],
    sentences: Sequence[str],
    table: SidesTable,
) -> DrawnPlot:
    chart = Chart(
        name=words[0],
        title=words[1],
        caption=f"{how(asked)}; load {load_words(load_of(asked))}; all CPUs together. {_CAPTION}",
        panels=tuple(
            _panel(rows[quantity], title, joined=words[0] == "versions")
            for quantity, title in _SHOWN
        ),
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=tuple(sentences),
        tables=(table, systems_table(asked)),
        caveats=_caveats(asked),
    )


def over_versions(asked: Question) -> DrawnPlot:
    rows = {quantity: _row(asked, quantity) for quantity, _ in _SHOWN}
    row = rows[METRIC]
    places = steps([each.values for each in row], least=LEAST)
    found = [(row[before], row[after]) for before, after in places]
    ordered = sorted(found, key=lambda pair: -_effect(*pair))
    sentences = [_step_sentence(*pair) for pair in ordered[:_MOST]]
    if not found:
        sentences = [
            f"No step: no neighbours among these {len(row)} have a {METRIC} that differs by"
            f" {LEAST:.0%} in all runs."
        ]
    lines = [
        (f"{before.name} -> {after.name}", before.text, after.text, _change(before, after))
        for before, after in found
    ]
    columns = ("between", "before", "after", "change")
    table = SidesTable(title="Steps", columns=columns, rows=tuple(lines))
    return _drawn(asked, ("versions", "Latency over versions"), rows, sentences, table)


def effects(asked: Question) -> DrawnPlot:
    rows = {quantity: _row(asked, quantity) for quantity, _ in _SHOWN}
    base, *others = rows[METRIC] or [_Measured("", (), 1.0)]
    ranked = sorted(others, key=lambda each: -_effect(base, each))
    order = {each.name: place for place, each in enumerate([base, *ranked])}
    rows = {
        quantity: sorted(row, key=lambda each: order.get(each.name, len(order)))
        for quantity, row in rows.items()
    }
    shown = [each for each in ranked if apart(base.values, each.values, least=LEAST)]
    sentences = [
        f"{each.name}: {METRIC} {_change(base, each)} against {base.name}" for each in shown[:_MOST]
    ]
    if not shown:
        sentences = [
            f"No effect is shown: every {METRIC} lies within the runs of {base.name}, or within"
            f" {LEAST:.0%} of it."
        ]
    maxima = {each.name: each for each in rows["max"]}
    lines = [
        (
            each.name,
            each.text,
            _change(base, each),
            "yes" if each in shown else "no",
            maxima[each.name].text if each.name in maxima else "",
        )
        for each in (base, *ranked)
    ]
    columns = ("change", METRIC, f"against {base.name}", "shown", "maximum")
    table = SidesTable(title="Effects, largest first", columns=columns, rows=tuple(lines))
    words = ("effects", "Effect of single changes, largest first")
    return _drawn(asked, words, rows, sentences, table)


def _effect(one: _Measured, other: _Measured) -> float:
    """How many times the larger is the smaller."""
    low, high = sorted((one.pooled, other.pooled))
    return high / low if low else 0.0


def _change(before: _Measured, after: _Measured) -> str:
    ratio = after.pooled / before.pooled if before.pooled else 1.0
    if ratio < 2:
        return f"{ratio - 1:+.1%}"
    return f"x {ratio:.3g}" if ratio < 100 else f"x {ratio:,.0f}"


def _step_sentence(before: _Measured, after: _Measured) -> str:
    return (
        f"A step between {before.name} and {after.name}: {METRIC} {before.text} before,"
        f" {after.text} after ({_change(before, after)})."
    )


def _caveats(asked: Question) -> tuple[str, ...]:
    found = []
    load = load_of(asked)
    counts = [len(run_values(side, load, asked.engine)) for side in asked.sides]
    if min(counts) < 3:
        found.append("Fewer than three runs of some: their range says little.")
    if lacking := [side.name for side in asked.sides if side.lacking]:
        found.append(f"Not everything that was asked for was measured: {', '.join(lacking)}.")
    if any(one.summary.labels != other.summary.labels for one, other in pairwise(asked.sides)):
        found.append("They were not all measured in the same mode.")
    return tuple(found)
