"""Latency against load: maxima and percentiles with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.kinds.latency.data import (
    LATENCY,
    QUANTITY_WORDS,
    US,
    engines_of,
    interval_text,
    load_words,
    loads_of,
    rests_on,
)
from deadbeat.kinds.latency.histograms import deadline_marks
from deadbeat.kinds.latency.words import without_run
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencySummary, Quantity
from deadbeat.report.charts import Chart, Curve, Mark, Panel

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
    return Panel(
        title=title,
        x_label="load",
        y_label=LATENCY,
        categories=tuple(load_words(load) for load in loads),
        curves=tuple(curves),
        marks=tuple(mark for mark in marks if limits and limits[0] < mark.at < limits[1]),
        y_log=True,
        y_limits=limits,
        empty="no valid run",
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
    found = []
    for place, load in enumerate(loads):
        cell = next((cell for cell in cells if cell.load == load), None)
        if cell is not None and (quantity := cell.whole.honest[name]).value_ns is not None:
            found.append((place + aside, cell, quantity))
    if not found:
        return ()
    points = Curve(
        label=label,
        kind="errors",
        look=look,
        x=tuple(x for x, _, _ in found),
        y=tuple((quantity.value_ns or 0.0) / US for _, _, quantity in found),
        low=tuple(end(quantity, quantity.low_ns) for _, _, quantity in found),
        high=tuple(end(quantity, quantity.high_ns) for _, _, quantity in found),
        texts=tuple(
            f"{load_words(cell.load)}: {interval_text(quantity)}; {rests_on(cell.whole)}"
            for _, cell, quantity in found
        ),
    )
    joined = [(x, q) for x, cell, q in found if cell.load.profile == "cpu"]
    if len(joined) < 2:
        return (points,)
    line = Curve(
        label="",
        kind="plain",
        look=look,
        x=tuple(x for x, _ in joined),
        y=tuple((quantity.value_ns or 0.0) / US for _, quantity in joined),
        texts=tuple("" for _ in joined),
    )
    return (line, points)


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


def end(quantity: Quantity, value_ns: float | None) -> float:
    """An end of an interval; one that is not known draws no arm."""
    known = quantity.value_ns if value_ns is None else value_ns
    return (known or 0.0) / US
