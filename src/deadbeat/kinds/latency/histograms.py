"""Histograms of wake-up latency laid over each other, and their tails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen

from deadbeat.kinds.latency.data import (
    LATENCY,
    US,
    Integers,
    binned,
    edges_of,
    load_words,
    loads_of,
    rests_on,
)
from deadbeat.model.histogram import Histogram, pool
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencySummary
from deadbeat.report.charts import Chart, Curve, CurvePoint, Mark, Panel, curve
from deadbeat.report.times import time_text

#: Looks that can be told apart; more CPUs than these are drawn as one curve.
_CURVES = 7
#: Marks up to so far beyond the latest wake-up, as a factor, are shown.
_NEAR = 4.0
#: A bin without a value lies on this floor, below one.
_FLOOR = 0.5
#: "One wake-up in N is later": N of these, and of the maximum.
_TAIL = tuple(float(f"{f}e{e}") for e in range(1, 10) for f in (1, 2, 5))

HISTOGRAM_CAPTION = (
    "Both axes are logarithmic; bins are evenly wide on theirs, so they widen with the latency."
    " A line on the floor is no wake-up at all; the last step to the right is the latest one."
)


@frozen(kw_only=True)
class Named:
    """A histogram, what it is called, and which look it has."""

    label: str
    histogram: Histogram
    look: int = 0


def overlaid(
    named: Sequence[Named],
    *,
    title: str = "",
    edges: Integers | None = None,
    per_million: bool = False,
    marks: Sequence[Mark] = (),
) -> Panel:
    """Histograms over each other on two logarithmic axes.

    Args:
        edges: Of the bins, ns; None: around what is drawn.
        per_million: Heights are shares, so that unequally many wake-ups can be compared.
    """
    drawn = [item for item in named if item.histogram.total]
    bounds = edges_of([item.histogram for item in drawn]) if edges is None else edges
    scales = [1e6 / item.histogram.total if per_million else 1.0 for item in drawn]
    floor = _FLOOR * min(scales, default=1.0)
    curves = tuple(
        _steps(item, bounds, scale=scale, floor=floor)
        for item, scale in zip(drawn, scales, strict=True)
    )
    top = max((max(each.y) for each in curves), default=1.0)
    low, high = bounds[0] / US * 0.96, bounds[-1] / US * 1.04
    # A deadline a little beyond the latest wake-up is worth the room: it shows what is left.
    near = [mark for mark in marks if low < mark.at < _NEAR * high]
    high = max([high, *(mark.at * 1.04 for mark in near)])
    return Panel(
        title=title,
        x_label=LATENCY,
        y_label="wake-ups per million" if per_million else "wake-ups in each bin",
        curves=curves,
        marks=tuple(near),
        x_log=True,
        y_log=True,
        x_limits=(low, high),
        y_limits=(floor, max(top * 2, floor * 4)),
        empty="no valid run",
    )


def _steps(item: Named, edges: Integers, *, scale: float, floor: float) -> Curve:
    """Up to the last bin that holds anything, then down to the floor."""
    counts = binned(item.histogram, edges)
    filled = np.flatnonzero(counts)
    first, last = int(filled[0]), int(filled[-1])
    shown = counts[first : last + 1]
    bounds = [float(edge) / US for edge in edges[first : last + 2]]
    texts = [
        f"{count} of {item.histogram.total} wake-ups: {low:.4g} to {high:.4g} µs"
        for count, low, high in zip(shown, bounds, bounds[1:], strict=False)
    ]
    heights = [max(float(count) * scale, floor) for count in shown]
    return Curve(
        label=item.label,
        kind="steps",
        look=item.look,
        x=(bounds[0], *bounds),
        y=(floor, *heights, floor),
        texts=("none below", *texts, "none above"),
    )


def shown_cpus(cells: Sequence[CellSummary]) -> tuple[int, ...]:
    """CPUs that have a curve of their own in all panels of a figure; of very many the latest."""
    tops: dict[int, int] = {}
    for row in (row for cell in cells for row in cell.cpus):
        if row.cpu is not None:
            tops[row.cpu] = max(tops.get(row.cpu, 0), row.raw.histogram.max_ns or 0)
    if len(tops) <= _CURVES:
        return tuple(sorted(tops))
    return tuple(sorted(sorted(tops, key=lambda cpu: (-tops[cpu], cpu))[: _CURVES - 1]))


def by_cpu(cell: CellSummary, shown: Sequence[int]) -> tuple[Named, ...]:
    """A histogram for each CPU of ``shown``, and one for all others together.

    A CPU looks the same in every panel that shows the same ones.
    """
    found = {row.cpu: row.raw.histogram for row in cell.cpus}
    named = [
        Named(label=f"CPU {cpu}", histogram=found[cpu], look=look)
        for look, cpu in enumerate(shown)
        if cpu in found
    ]
    rest = [histogram for cpu, histogram in found.items() if cpu not in shown]
    if not rest:
        return tuple(named)
    others = Named(label=f"the other {len(rest)} CPUs", histogram=pool(rest), look=len(shown))
    return (*named, others)


def deadline_marks(deadlines_ns: Sequence[int], axis: str = "x") -> tuple[Mark, ...]:
    """A line at every deadline that was asked for."""
    return tuple(
        Mark(axis=axis, at=limit / US, label=f"deadline {time_text(limit)}")
        for limit in deadlines_ns
    )


def histogram_charts(summary: LatencySummary) -> list[Chart]:
    """For every load the histograms of its CPUs; a panel for each engine, both on one scale."""
    marks = deadline_marks(summary.deadlines_ns)
    charts = []
    for load in loads_of(summary.cells):
        own = panels_of(summary.cells, load)
        named = [by_cpu(cell, shown_cpus(own)) for cell in own]
        edges = edges_of([item.histogram for items in named for item in items])
        panels = tuple(
            overlaid(items, title=panel_title(cell), edges=edges, marks=marks)
            for cell, items in zip(own, named, strict=True)
        )
        if panels:
            charts.append(
                Chart(
                    name=f"latency-histogram-{load.text}",
                    title="Latency of every CPU",
                    option=load_words(load),
                    family="latency-histogram",
                    caption=HISTOGRAM_CAPTION,
                    panels=panels,
                )
            )
    return charts


def panels_of(cells: Iterable[CellSummary], load: LoadPoint) -> list[CellSummary]:
    """The cells of a load by engine, also those without a valid run: their panels say so."""
    return sorted((cell for cell in cells if cell.load == load), key=lambda cell: cell.engine)


def panel_title(cell: CellSummary) -> str:
    """Who measured, how often and how long."""
    if not cell.whole.runs:
        return f"{cell.engine}: {len(cell.invalid)} runs, none valid"
    return f"{cell.engine}: {rests_on(cell.whole)}"


def tail_charts(summary: LatencySummary) -> list[Chart]:
    """How late one wake-up in N is: as measured, and with missed periods put in."""
    charts = []
    for load in loads_of(summary.cells):
        own = panels_of(summary.cells, load)
        if own:
            charts.append(
                Chart(
                    name=f"latency-tail-{load.text}",
                    title="One wake-up in N is later",
                    option=load_words(load),
                    family="latency-tail",
                    caption="Corrected: a wake-up that was late by several periods stands for those"
                    " periods too, as tasks released then would have seen it. "
                    + _missed_words(own),
                    panels=tuple(_tail_panel(cell) for cell in own),
                )
            )
    return charts


def _missed_words(cells: Sequence[CellSummary]) -> str:
    told = [cell for cell in cells if cell.whole.runs and cell.whole.corrected is not None]
    if not told:
        return ""
    missed = sum(cell.whole.missed for cell in told)
    unknown = sum(cell.whole.unaccounted for cell in cells)
    more = f" {unknown:,} wake-ups are not accounted for by the engine." if unknown else ""
    if missed:
        return f"Missed periods here: {missed:,}.{more}"
    return f"No period is known to have been missed here: nothing was corrected.{more}"


def _tail_panel(cell: CellSummary) -> Panel:
    corrected = cell.whole.changed
    curves = [tail_curve("as measured", cell.whole.raw.histogram, look=0)]
    if corrected is not None:
        curves.append(tail_curve("corrected", corrected.histogram, look=1))
    known = "" if cell.whole.corrected is not None else "; this engine tells of no correction"
    if not cell.whole.runs:
        known = f": {len(cell.invalid)} runs, none valid"
    return Panel(
        title=f"{cell.engine}{known}",
        x_label="N: one wake-up in so many",
        y_label=LATENCY,
        curves=tuple(curves),
        x_log=True,
        y_log=True,
        empty="no valid run",
    )


def tail_curve(label: str, histogram: Histogram, *, look: int) -> Curve:
    """What one value in N exceeds, up to the greatest of all; where it overflowed, a gap's end."""
    total = histogram.total
    found = [
        (n, histogram.at_rank(max(total - int(total / n), 1))) for n in (2.0, *_TAIL) if n < total
    ]
    if total:
        found.append((float(total), histogram.max_ns))
    points = (
        CurvePoint(n, value / US, text=f"one in {n:,.0f}: {time_text(value)}")
        for n, value in found
        if value is not None
    )
    return curve(label, points, look=look)
