"""Against load: maxima and percentiles with their intervals, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from deadbeat.kinds.latency.circumstances_table import pooled
from deadbeat.kinds.latency.data import (
    LATENCY,
    QUANTITY_WORDS,
    US,
    engines_of,
    interval_text,
    load_order,
    load_words,
    loads_of,
    rests_on,
)
from deadbeat.kinds.latency.histograms import deadline_marks
from deadbeat.kinds.latency.words import without_run
from deadbeat.model.latency import LatencyRun, LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencySummary
from deadbeat.report.charts import Chart, Curve, CurvePoint, Mark, Panel, curve

_PERCENTILES = ("mean", "p50", "p99", "p99.9", "p99.99")
_MAXIMA = ("max", "max_of_a_run")
#: How far, as a factor, intervals are shown beyond all points.
_BEYOND = 5.0
#: A quantity looks the same in every panel.
_LOOKS = {name: look for look, name in enumerate((*_PERCENTILES, *reversed(_MAXIMA)))}
CAPTION = (
    "All CPUs together, missed periods put in where the engine can tell. Bars: 95 %; an end that"
    " cannot be bounded, for want of wake-ups or of runs, is left out, and one far from"
    " every point is cut by the frame. The maximum is one sample, however long was measured, and"
    " has no interval; the maximum of one run has one."
)


def load_charts(summary: LatencySummary) -> list[Chart]:
    """A chart for each engine: CPU load as a line, other loads as points beside it."""
    engines = engines_of(summary.cells)
    return [_chart(summary, engine, alone=len(engines) == 1) for engine in engines]


def _chart(summary: LatencySummary, engine: str, *, alone: bool) -> Chart:
    every = [cell for cell in summary.cells if cell.engine == engine]
    own = [cell for cell in every if cell.whole.runs]
    marks = deadline_marks(summary.deadlines_ns, axis="y")
    # Also those without a valid run: an empty place says what is missing.
    loads = loads_of(every)
    panels = tuple(
        loads_panel(
            title,
            loads,
            [
                curve
                for name in names
                for curve in quantity_curves(
                    own, loads, name, QUANTITY_WORDS[name], look=_LOOKS[name]
                )
            ],
            marks=marks,
        )
        for title, names in (("Maxima", _MAXIMA), ("Mean and percentiles", _PERCENTILES))
    )
    return Chart(
        name=f"latency-load-{engine}",
        title="Latency against load",
        option="" if alone else engine,
        family="" if alone else "latency-load",
        caption=" ".join(filter(None, (without_run(every), CAPTION))),
        panels=panels,
    )


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
    ends = [y for curve in curves for y in (*curve.low, *curve.high) if y > 0]
    low = max(min((*points, *ends)), min(points) / _BEYOND)
    high = min(max((*points, *ends)), max(points) * _BEYOND)
    room = max((high / low) ** 0.04, 1.05)
    return low / room, high * room


# ---------- what the machine did ----------

#: Thermal zones (or the like) with a curve of their own.
_CURVES = 6
#: Key of LatencyRun.circumstances, title, axis, factor; a curve for each name below the key where
#: ``each``, else one over all of them. Drawn only where something was read.
_READINGS: tuple[tuple[str, str, str, float, bool], ...] = (
    ("temperature_mc", "Temperature", "temperature (°C)", 1e-3, True),
    ("frequency_khz", "Frequency", "frequency, all CPUs (MHz)", 1e-3, False),
    ("steal_share", "Taken by the host", "stolen time, all CPUs (%)", 100, False),
)
_Values = Mapping[LoadPoint, Mapping[str, Sequence[float]]]


def machine_charts(runs: Iterable[LatencyRun]) -> list[Chart]:
    """One figure of the valid runs: load reached beside what was asked, temperature, ..."""
    by_load: dict[LoadPoint, list[LatencyRun]] = {}
    for run in runs:
        if run.valid:
            by_load.setdefault(run.key.load, []).append(run)
    loads = sorted(by_load, key=load_order)
    reached: _Values = {load: pooled(run.load.achieved for run in by_load[load]) for load in loads}
    busy = [_range("reached", loads, reached, scale=100)]
    busy = [each for each in busy if each.x]
    asked = [
        CurvePoint(place, load.percent, text=f"{load_words(load)} was asked for")
        for place, load in enumerate(loads)
        if load.profile == "cpu"  # others are no share of the CPUs' time
    ]
    if asked and busy:
        busy.insert(0, curve("asked", asked, look=1, kind="points"))
    panels = [
        evolve(_panel("Load reached", "busy, all CPUs (%)", loads, busy), y_limits=(-4.0, 104.0))
    ]
    for key, title, axis, factor, each in _READINGS:
        values: _Values = {
            load: pooled(getattr(run.circumstances, key) for run in by_load[load]) for load in loads
        }
        names = sorted({name for own in values.values() for name in own})
        wanted: Sequence[str] = names[:_CURVES] if each else [""] if names else []
        curves = [
            _range(name, loads, values, only=name, look=look, scale=factor)
            for look, name in enumerate(wanted)
        ]
        if any(value for drawn in curves for value in drawn.high):
            panels.append(_panel(title, axis, loads, curves))
    if not busy and len(panels) == 1:
        return []
    return [
        Chart(
            name="latency-machine",
            title="What the machine did",
            caption="Of valid runs, without the measuring threads. Points: mean over runs; bars:"
            " from the least to the greatest that was read, over runs and CPUs. Only what could be"
            " read is drawn.",
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

    def point(place: int, load: LoadPoint) -> CurvePoint | None:
        own = [v for name, each in values[load].items() if only in ("", name) for v in each]
        return CurvePoint(place, sum(own) / len(own), min(own), max(own)) if own else None

    points = (point(place, load) for place, load in enumerate(loads))
    return curve(label, points, look=look, kind="errors", scale=scale)
