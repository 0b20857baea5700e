"""Latency against load and over time, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from operator import attrgetter

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import time_text
from deadbeat.base.report.building import CurvePoint, aside, curve
from deadbeat.base.report.charts import Chart, Curve, Mark, Panel
from deadbeat.latencies.latency.histograms import chart_of, deadline_marks
from deadbeat.latencies.latency.model import LatencyRun, LateWakeUp, LoadPoint
from deadbeat.latencies.latency.summary import CellSummary, LatencySummary
from deadbeat.latencies.latency.words import (
    LATENCY,
    QUANTITY_WORDS,
    US,
    engines_of,
    interval_text,
    load_order,
    load_words,
    loads_of,
    pooled,
    rests_on,
    without_run,
)

_PERCENTILES = ("mean", "p50", "p99", "p99.9", "p99.99")
_MAXIMA = ("max", "max_of_a_run")
#: How far, as a factor, intervals are shown beyond all points.
_BEYOND = 5.0
#: Part of a load's place that its points take up beside each other.
_ROOM = 0.4
#: A quantity looks the same in every panel.
_LOOKS = {name: look for look, name in enumerate((*_PERCENTILES, *reversed(_MAXIMA)))}
CAPTION = (
    "All CPUs together, missed periods added where the engine reports them. Bars: 95 %; an end that"
    " cannot be bounded, for want of wake-ups or of runs, is left out, and one far from"
    " every point is cut by the frame. The maximum is one sample, however long was measured, and"
    " has no interval; the maximum of one run has one. A percentile beyond which no wake-up lies"
    " would be the maximum: it is left out."
)


def load_charts(summary: LatencySummary) -> list[Chart]:
    """The maxima of all engines beside each other, and the percentiles of each; CPU load as a line,
    other loads as points beside it."""
    # Also cells without a valid run: an empty place says what is missing.
    engines, cells = engines_of(summary.cells), summary.cells
    if not engines:
        return []
    loads, marks = loads_of(cells), deadline_marks(summary.deadlines_ns, axis="y")
    alone = len(engines) == 1

    def panel(title: str, drawn: Sequence[tuple[str, str]]) -> Panel:
        curves: list[Curve] = []
        for place, (engine, name) in enumerate(drawn):
            words = QUANTITY_WORDS[name]
            several = name in _MAXIMA and not alone
            curves += quantity_curves(
                [cell for cell in cells if cell.engine == engine],
                loads,
                name,
                f"{words}, {engine}" if several else words,
                look=place if several else _LOOKS[name],
                aside=aside(place, len(drawn), room=_ROOM),
            )
        return loads_panel(title, loads, curves, marks=marks)

    return [
        Chart(
            name=f"latency-load-{engines[0]}" if alone else "latency-load",
            title="Latency against load",
            caption=" ".join(filter(None, (without_run(cells), CAPTION))),
            panels=(
                panel("Maxima", [(engine, name) for engine in engines for name in _MAXIMA]),
                *(
                    panel(
                        "Mean and percentiles" + ("" if alone else f", {engine}"),
                        [(engine, name) for name in _PERCENTILES],
                    )
                    for engine in engines
                ),
            ),
        )
    ]


def loads_panel(
    title: str, loads: Sequence[LoadPoint], curves: Sequence[Curve], *, marks: Sequence[Mark] = ()
) -> Panel:
    """Curves over loads, one place each; marks that lie outside are left out."""
    limits = limits_of(curves)
    return evolve(
        _panel(title, LATENCY, loads, curves),
        marks=tuple(mark for mark in marks if limits and limits[0] < mark.at < limits[1]),
        y_log=True,
        y_limits=limits,
        empty="no valid run",
    )


def _panel(title: str, axis: str, loads: Sequence[LoadPoint], curves: Iterable[Curve]) -> Panel:
    return Panel(
        title=title,
        x_label="load",
        y_label=axis,
        categories=tuple(load_words(load) for load in loads),
        curves=tuple(curves),
        empty="not recorded",
    )


def quantity_curves(
    cells: Sequence[CellSummary],
    loads: Sequence[LoadPoint],
    name: str,
    label: str,
    *,
    look: int,
    aside: float = 0.0,
) -> tuple[Curve, ...]:
    """A quantity at each load with its interval; CPU loads, which have an order, are joined.

    Args:
        loads: Their places are the categories of the panel.
        aside: How far beside its place a point stands, so that several are all seen.
    """
    points, joined = [], []
    for place, load in enumerate(loads):
        cell = next((cell for cell in cells if cell.load == load), None)
        if cell is None or (quantity := cell.whole.honest[name]).value_ns is None:
            continue
        if cell.whole.honest.is_maximum(name):
            continue
        text = f"{load_words(load)}: {interval_text(quantity)}; {rests_on(cell.whole)}"
        x, y = place + aside, quantity.value_ns
        points.append(CurvePoint(x, y, quantity.low_ns, quantity.high_ns, text=text))
        if load.profile == "cpu":
            joined.append(CurvePoint(x, y))
    if not points:
        return ()
    shown = curve(label, points, look=look, kind="errors", scale=1 / US)
    line = curve("", joined, look=look, kind="plain", scale=1 / US)
    return (shown,) if len(joined) < 2 else (line, shown)


def limits_of(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Around the points and as much of their intervals as leaves them apart; None of nothing.

    Between two runs an interval may reach over ten powers of ten.
    """
    points = [y for curve in curves for y in curve.y if y > 0]
    if not points:
        return None
    ends = [*points, *(y for curve in curves for y in (*curve.low, *curve.high) if y > 0)]
    low = max(min(ends), min(points) / _BEYOND)
    high = min(max(ends), max(points) * _BEYOND)
    room = max((high / low) ** 0.04, 1.05)
    return low / room, high * room


# ---------- what the machine did ----------

#: Thermal zones (or the like) with a curve of their own.
_CURVES = 6
#: Field of `Circumstances`, title, axis, factor; a curve for each name below the field where
#: ``each``, else one over all of them. Drawn only where something was read.
_READINGS: tuple[tuple[str, str, str, float, bool], ...] = (
    ("temperature_mc", "Temperature", "temperature (°C)", 1e-3, True),
    ("frequency_khz", "Frequency", "frequency, all CPUs (MHz)", 1e-3, False),
    ("steal_share", "Taken by the host", "stolen time, all CPUs (%)", 100, False),
)
_Values = Mapping[LoadPoint, Mapping[str, Sequence[float]]]


def machine_charts(runs: Iterable[LatencyRun]) -> list[Chart]:
    """One figure of the valid runs: temperature, frequency, time taken by the host"""
    by_load = grouped((run for run in runs if run.valid), attrgetter("key.load"))
    loads = sorted(by_load, key=load_order)
    panels = []
    for key, title, axis, factor, each in _READINGS:
        values = {
            load: pooled(getattr(run.circumstances, key) for run in by_load[load]) for load in loads
        }
        names = sorted({name for own in values.values() for name in own})
        curves = [
            _range(name, loads, values, only=name, look=look, scale=factor)
            for look, name in enumerate(names[:_CURVES] if each else names and [""])
        ]
        if any(value for drawn in curves for value in drawn.high):
            panels.append(_panel(title, axis, loads, curves))
    if not panels:
        return []
    return [
        Chart(
            name="latency-machine",
            title="What the machine did",
            caption="Valid runs, without the measuring threads. Points: mean over runs; bars: from"
            " the lowest to the highest reading over runs and CPUs. What could not be read is not"
            " drawn.",
            panels=tuple(panels),
        )
    ]


def _range(
    label: str,
    loads: Sequence[LoadPoint],
    values: _Values,
    *,
    only: str = "",
    look: int = 0,
    scale: float = 1.0,
) -> Curve:
    """Mean and range at each load that has values, of all names or of one."""
    points = []
    for place, load in enumerate(loads):
        own = [v for name, each in values[load].items() if only in ("", name) for v in each]
        points.append(CurvePoint(place, sum(own) / len(own), min(own), max(own)) if own else None)
    return curve(label, points, look=look, kind="errors", scale=scale)


# ---------- when the latest wake-ups were ----------

#: Beginnings of runs that are marked; more would hide what is drawn.
_BEGINNINGS = 24
_POINTS = 1500
#: Stretches of time with their maxima drawn.
_STRETCHES = 200
_WORST_LOOK = 6


@frozen(kw_only=True)
class Event:
    """A late wake-up on the time axis of a cell; its runs stand one after another."""

    at_s: float
    late: LateWakeUp
    cpu: int
    run: LatencyRun

    @property
    def words(self) -> str:
        """What the pointer shows."""
        missed = f", {self.late.missed} periods missed" if self.late.missed else ""
        return (
            f"{time_text(self.late.latency_ns)} on CPU {self.cpu}, repeat {self.run.key.repeat},"
            f" {self.late.due_ns / 1e9:.3f} s after its start{missed}"
        )


def _starts(runs: Sequence[LatencyRun]) -> list[float]:
    """When each begins, and the end of the last, s."""
    return [0.0, *np.cumsum([run.seconds for run in runs]).tolist()]


def events_of(runs: Sequence[LatencyRun]) -> tuple[Event, ...]:
    """The latest wake-ups that the runs keep, in order of time."""
    found = (
        Event(at_s=start + late.due_ns / 1e9, late=late, cpu=item.cpu, run=run)
        for run, start in zip(runs, _starts(runs), strict=False)
        for item in run.cpus
        for late in item.worst
    )
    return tuple(sorted(found, key=lambda event: (event.at_s, event.cpu)))


def timeline_charts(runs: Iterable[LatencyRun]) -> list[Chart]:
    """For every load when its latest wake-ups were, of valid runs; a panel an engine."""
    seen = (run for run in runs if run.valid and any(item.worst for item in run.cpus))
    found = grouped(sorted(seen, key=attrgetter("key.repeat")), attrgetter("key.load"))
    return [
        chart_of(
            load,
            "latency-timeline",
            "When the latest wake-ups were",
            "Points: the latest wake-ups of every run and CPU; lines, where the engine keeps them:"
            " the latest of each stretch of time. Runs are drawn one after another, without the"
            " time between them. Evenly spaced points suggest a timer; points of several CPUs at"
            " one time suggest something that stops them all.",
            starmap(_timeline, sorted(grouped(found[load], attrgetter("key.engine")).items())),
        )
        for load in sorted(found, key=load_order)
    ]


def _timeline(engine: str, runs: Sequence[LatencyRun]) -> Panel:
    events, starts = events_of(runs), _starts(runs)
    worst = max(events, key=lambda event: event.late.latency_ns)
    units = (("h", 3600.0), ("min", 60.0))
    unit, size = next((each for each in units if starts[-1] >= 3 * each[1]), ("s", 1.0))
    cpus = sorted({event.cpu for event in events})
    # The first CPUs have a look each, the others one together.
    groups = [[cpu] for cpu in cpus[:_CURVES]] + [cpus[_CURVES:]]
    curves = [
        level_curve(runs, own[0], look=look, size=size) for look, own in enumerate(groups[:-1])
    ]
    for look, own in enumerate(groups):
        label = f"CPU {own[0]}" if own is not groups[-1] else f"the other {len(own)} CPUs"
        mine = (event for event in events if event.cpu in own)
        curves.append(_points(mine, label=label, look=look, size=size))
    curves.append(
        _points([worst], label="the latest of all", look=_WORST_LOOK, size=size, kind="line")
    )
    beginnings = starts[1:-1] if len(runs) <= _BEGINNINGS + 1 else []
    return Panel(
        title=f"{engine}: the latest is {worst.words}",
        x_label=f"time measured under this load ({unit})",
        y_label=LATENCY,
        curves=tuple(each for each in curves if each.x),
        marks=tuple(
            Mark(axis="x", at=start / size, label="the next run begins") for start in beginnings
        ),
        y_log=True,
        x_limits=(0.0, max(starts[-1] / size, 1e-9)),
    )


def _points(
    events: Iterable[Event], *, label: str, look: int, size: float, kind: str = "points"
) -> Curve:
    kept = sorted(events, key=lambda event: -event.late.latency_ns)[:_POINTS]
    points = (CurvePoint(e.at_s / size, e.late.latency_ns / US, text=e.words) for e in kept)
    return curve(label, points, look=look, kind=kind)


def level_curve(runs: Sequence[LatencyRun], cpu: int, *, look: int, size: float) -> Curve:
    """The latest wake-up of every stretch of time on a CPU; empty where no engine keeps it."""
    each = -(-_STRETCHES // max(len(runs), 1))
    at: list[float] = []
    tops: list[int] = []
    starts = _starts(runs)
    for run, start in zip(runs, starts, strict=False):
        for item in (i for i in run.cpus if i.cpu == cpu and i.block_ns and i.block_maxima):
            first = np.arange(0, len(item.block_maxima), -(-len(item.block_maxima) // each))
            at += (start + first * item.block_ns / 1e9).tolist()
            tops += np.maximum.reduceat(item.block_maxima, first).tolist()
    if not any(tops):
        return Curve(label="", kind="steps", x=(), y=())
    # With more runs than stretches several stand for one.
    step = -(-len(tops) // (2 * _STRETCHES))
    shown = [max(tops[k : k + step]) for k in range(0, len(tops), step)]
    # Stretches that have none are drawn at the level before: a logarithmic axis needs one.
    level = next(top for top in shown if top)
    drawn = [level := top or level for top in shown]
    texts = (
        f"CPU {cpu}: none later than {time_text(top)} here"
        if top
        else f"CPU {cpu}: no wake-up is known here"
        for top in shown
    )
    return Curve(
        label="",
        kind="steps",
        look=look,
        x=(*(start / size for start in at[::step]), starts[-1] / size),
        y=(*(top / US for top in drawn), drawn[-1] / US),
        texts=(*texts, ""),
    )
