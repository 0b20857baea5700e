"""Histograms of wake-up latency laid over each other, and their tails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.histogram import Histogram, pool
from deadbeat.base.model.words import time_text
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import BLACK, Chart, Curve, Mark, Panel
from deadbeat.latencies.latency.model import LatencyRun, LoadPoint
from deadbeat.latencies.latency.summary import CellSummary, LatencySummary
from deadbeat.latencies.latency.words import LATENCY, US, load_order, load_words, loads_of, rests_on

Integers = NDArray[np.int64]

#: Bins of a histogram over its whole range: more cannot be distinguished on paper.
_BINS = 140
#: Looks that can be distinguished; more CPUs than these are drawn as one curve.
_CURVES = 7
#: Marks up to so far beyond the latest wake-up, as a factor, are shown.
_NEAR = 4.0
#: A bin without a value lies on this floor, below one.
_FLOOR = 0.5
#: "One wake-up in N is later": N of these, and of the maximum.
_TAIL = tuple(float(f"{f}e{e}") for e in range(1, 10) for f in (1, 2, 5))

HISTOGRAM_CAPTION = (
    "Both axes are logarithmic; bins are evenly wide on theirs, so they widen with the latency."
    " Empty bins lie on the axis. The rightmost step is the latest wake-up."
)


def edges_of(histograms: Sequence[Histogram]) -> Integers:
    """Edges around all values, evenly wide on a logarithmic axis, in ns.

    An edge is a whole multiple of the coarsest resolution: a bin that holds two steps of a clock
    beside one that holds one would be a tooth that nothing in the machine has made.
    """
    filled = [item for item in histograms if len(item.counts)]
    if not filled:
        return np.array([900, 1100], np.int64)
    step = max(item.resolution_ns for item in filled)
    low = max(min(item.min_ns or 0 for item in filled), step)
    tops = (item.max_ns or item.exceeds_ns or 0 for item in filled)
    high = max(max(tops) + step, low + 2 * step)
    wanted = np.geomspace(low // step * step, -(-high // step) * step, _BINS + 1)
    return np.unique(np.round(wanted / step).astype(np.int64) * step)


def binned(histogram: Histogram, edges_ns: Integers) -> Integers:
    """Values in each bin, by the greatest value of their bucket (shape: edges - 1).

    A whole step of a coarse clock seldom begins a bucket: by the least value 17 µs would lie below
    17 µs. What lies outside counts in the first or last bin; overflow from where it is known to
    begin.
    """
    values = np.append(histogram.highs_ns(), histogram.overflow_from_ns or 0)
    counts = np.append(histogram.counts, histogram.overflow)
    within = np.clip(values, edges_ns[0], edges_ns[-1])
    return np.asarray(np.histogram(within, edges_ns, weights=counts)[0], np.int64)


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
        edges: Edges of the bins, ns; None: around what is drawn.
        per_million: Heights are shares, so that unequally many wake-ups can be compared.
    """
    drawn = [item for item in named if len(item.histogram.counts)]
    bounds = edges_of([item.histogram for item in drawn]) if edges is None else edges
    scales = [1e6 / item.histogram.total if per_million else 1.0 for item in drawn]
    floor = _FLOOR * min(scales, default=1.0)
    found = []
    for item, scale in zip(drawn, scales, strict=True):
        # Up to the last bin that holds anything, then down to the floor.
        counts = binned(item.histogram, bounds)
        filled = np.flatnonzero(counts)
        first, last = int(filled[0]), int(filled[-1])
        shown = counts[first : last + 1]
        ends = [float(edge) / US for edge in bounds[first : last + 2]]
        texts = [
            f"{count:,} of {item.histogram.total:,} wake-ups: {low:.4g} to {high:.4g} µs"
            for count, low, high in zip(shown, ends, ends[1:], strict=False)
        ]
        heights = [max(float(count) * scale, floor) for count in shown]
        steps = Curve(
            label=item.label,
            kind="steps",
            look=item.look,
            x=(ends[0], *ends),
            y=(floor, *heights, floor),
            texts=("none below", *texts, "none above"),
        )
        found.append(steps)
    curves = tuple(found)
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


def shown_cpus(cells: Sequence[CellSummary]) -> tuple[int, ...]:
    """CPUs that have a curve of their own in all panels of a figure; of very many the latest."""
    tops: dict[int, int] = {}
    for row in (row for cell in cells for row in cell.cpus):
        if row.cpu is not None:
            top = row.raw.histogram.exceeds_ns or row.raw.histogram.max_ns or 0
            tops[row.cpu] = max(tops.get(row.cpu, 0), top)
    if len(tops) <= _CURVES:
        return tuple(sorted(tops))
    return tuple(sorted(sorted(tops, key=lambda cpu: (-tops[cpu], cpu))[: _CURVES - 1]))


def by_cpu(cell: CellSummary, shown: Sequence[int]) -> tuple[Named, ...]:
    """A histogram for each CPU of ``shown``, and one for all others together.

    A CPU looks the same in every panel that shows the same ones.
    """
    found = {row.cpu: row.raw.histogram for row in cell.cpus}
    named = [
        Named(label=_counted(f"CPU {cpu}", found[cpu]), histogram=found[cpu], look=look)
        for look, cpu in enumerate(shown)
        if cpu in found
    ]
    rest = [histogram for cpu, histogram in found.items() if cpu not in shown]
    if not rest:
        return tuple(named)
    others, label = pool(rest), f"the other {len(rest)} CPUs"
    return (*named, Named(label=_counted(label, others), histogram=others, look=len(shown)))


def _counted(label: str, histogram: Histogram) -> str:
    return f"{label} (n = {histogram.total:,})"


def deadline_marks(deadlines_ns: Sequence[int], axis: str = "x") -> tuple[Mark, ...]:
    """A line at every deadline that was asked for."""
    return tuple(
        Mark(axis=axis, at=limit / US, label=f"deadline {time_text(limit)}", look=BLACK)
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
        panels = (
            overlaid(items, title=panel_title(cell), edges=edges, marks=marks)
            for cell, items in zip(own, named, strict=True)
        )
        title = "Latency of every CPU"
        charts.append(chart_of(load, "latency-histogram", title, HISTOGRAM_CAPTION, panels))
    return charts


def chart_of(
    load: LoadPoint, family: str, title: str, caption: str, panels: Iterable[Panel]
) -> Chart:
    """One of a family that has a chart for every load."""
    return Chart(
        name=f"{family}-{load.text}",
        title=title,
        option=load_words(load),
        family=family,
        caption=caption,
        panels=tuple(panels),
    )


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
    caption = (
        "Corrected: a wake-up that was late by several periods also counts for those periods, as"
        " tasks released then would have seen it."
    )
    return [
        chart_of(
            load,
            "latency-tail",
            "One wake-up in N is later",
            caption,
            map(_tail_panel, panels_of(summary.cells, load)),
        )
        for load in loads_of(summary.cells)
    ]


def _tail_panel(cell: CellSummary) -> Panel:
    corrected = cell.whole.changed
    measured = cell.whole.raw.histogram
    curves = [tail_curve(_counted("as measured", measured), measured, look=0)]
    if corrected is not None:
        label = _counted("corrected", corrected.histogram)
        curves.append(tail_curve(label, corrected.histogram, look=1))
    known = "" if cell.whole.corrected is not None else "; this engine does not allow a correction"
    if not cell.whole.runs:
        known = f": {len(cell.invalid)} runs, none valid"
    return _tails(f"{cell.engine}{known}", curves)


def _tails(title: str, curves: Sequence[Curve]) -> Panel:
    return Panel(
        title=title,
        x_label="N: one wake-up in N is later",
        y_label=LATENCY,
        curves=tuple(curves),
        x_log=True,
        y_log=True,
        empty="no valid run",
    )


def tail_curve(label: str, histogram: Histogram, *, look: int) -> Curve:
    """What one value in N exceeds, up to the greatest of all; where it overflowed, a gap's end."""
    total = histogram.total if len(histogram.counts) else 0
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


# ---------- of matrices that are compared ----------

_OVERLAID = (
    "All CPUs and valid runs pooled; missed periods are added where they are known."
    f" {HISTOGRAM_CAPTION} The end of a tail is the maximum, which is one sample. Whether sides"
    " differ is for the verdicts, which compare run by run."
)


def overlay_charts(sides: Iterable[tuple[str, Sequence[LatencyRun]]]) -> list[Chart]:
    """For every load and engine that two sides at least have: histograms as shares, and tails.

    Args:
        sides: Name and runs of each matrix, the baseline first; only valid runs are drawn.
    """
    pooled = []
    for name, runs in sides:
        found: dict[tuple[LoadPoint, str], list[Histogram]] = defaultdict(list)
        for run in runs:
            if run.valid:
                found[run.key.load, run.key.engine] += [item.honest for item in run.cpus]
        by_place = {
            place: pool(each) for place, each in found.items() if any(h.total for h in each)
        }
        pooled.append((name, by_place))
    places = {place for _, cells in pooled for place in cells}
    several = len({engine for _, engine in places}) > 1
    charts = []

    def worst(place: tuple[LoadPoint, str]) -> tuple[int, tuple[int, int, str], str]:
        tops = (cells[place].max_ns or 0 for _, cells in pooled if place in cells)
        return -max(tops), load_order(place[0]), place[1]

    for load, engine in sorted(places, key=worst):
        named = [
            Named(
                label=_counted(name, cells[load, engine]), histogram=cells[load, engine], look=look
            )
            for look, (name, cells) in enumerate(pooled)
            if (load, engine) in cells
        ]
        if len(named) > 1:
            option = f"{load_words(load)}, {engine}" if several else load_words(load)
            drawn = overlaid(named, per_million=True)
            tails = [tail_curve(item.label, item.histogram, look=item.look) for item in named]
            charts += [
                Chart(
                    name=f"{family}-{load.text}-{engine}",
                    title=title,
                    option=option,
                    family=family,
                    caption=caption,
                    panels=(panel,),
                )
                for family, title, caption, panel in (
                    ("latencies", "Latencies laid over each other", _OVERLAID, drawn),
                    ("tails", "One wake-up in N is later", "", _tails("", tails)),
                )
            ]
    return sorted(charts, key=lambda chart: chart.family)
