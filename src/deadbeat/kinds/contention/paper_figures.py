"""The figures of the report on paper: PNG, SVG and PDF through matplotlib.

Figures are built as objects on the Agg canvas, without pyplot and its global state; matplotlib is
imported when the first figure is drawn. The same summary gives the same bytes: dates are left out
of the files.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from deadbeat.kinds.contention import predicted
from deadbeat.kinds.contention.cause_charts import split_charts
from deadbeat.kinds.contention.counter_charts import counter_charts
from deadbeat.kinds.contention.profile_charts import profile_charts
from deadbeat.kinds.contention.stress_charts import stress_charts
from deadbeat.model.errors import UsageError
from deadbeat.model.results import Summary
from deadbeat.report import facts, grids
from deadbeat.report.canvas import (
    FORMATS,
    STYLE,
    Words,
    caption_lines,
    content,
    new_figure,
    printable,
)
from deadbeat.report.canvas import (
    SEQUENTIAL as COLOURS,
)
from deadbeat.report.charts import Chart
from deadbeat.report.charts_paper import draw_charts, log_axis
from deadbeat.report.grids import MEASURED, METRICS, NOT_MEASURED, UNDECIDED, Grid, Scale, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Deadline factors with figures of their own on paper; the page has all.
_LEVELS = 3

#: Pieces of a surface along its longer side, about.
_FACETS = 24
#: Lines of a caption at most, and the inches of one.
_LINES, _LINE = 3, 0.14

#: Metric of a distribution, heading of its panel, axis label.
_PANELS: tuple[tuple[str, str, str], ...] = (
    ("slowdown", "Slowdown", "slowdown of a job (span / median span alone)"),
    ("delay_ratio", "Delay ratio", "delay ratio of a job (span / C)"),
    ("response_ratio", "Response ratio", "response ratio of a job ((f − r) / C)"),
)


def draw_figures(summary: Summary, formats: Sequence[str] = FORMATS) -> Iterator[tuple[str, bytes]]:
    """Yields file name and content of every figure, one at a time; of a profile, of its grid.

    Names: ``overview-METRIC``, ``METRIC-mNNN`` (surface and heat map), ``distributions-mNNN``,
    ``predicted``.

    Raises:
        UsageError: A format is not one of FORMATS.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise UsageError(
            f"figure format '{unknown[0]}' is not known", f"choose among {', '.join(FORMATS)}"
        )
    import matplotlib as mpl  # noqa: PLC0415 - takes 0.3 s; only who draws pays for it

    words, summary = words_of(summary), facts.grid_of(summary)
    yield from draw_charts(_charts(summary), words, formats)
    for name, build in _plan(summary, words) if summary.mode != "stress" else ():
        with mpl.rc_context(STYLE):
            figure = build()
            for kind in formats:
                yield f"{name}.{kind}", content(figure, kind)


def _charts(summary: Summary) -> list[Chart]:
    stress = summary.mode == "stress"
    own = stress_charts(summary, levels=_LEVELS) if stress else profile_charts(summary)
    drawn = [*own, *split_charts(summary, levels=_LEVELS), *counter_charts(summary)]
    note = _of_levels(summary)
    return [
        evolve(chart, caption=f"{note}{chart.caption}") if "D/C" in chart.option else chart
        for chart in drawn
    ]


def _of_levels(summary: Summary) -> str:
    """Which deadline factors have figures of their own on paper; "" where all have."""
    every = facts.factors(summary.rows)
    shown = [f"{factor:g}" for factor in spread(every, _LEVELS)]
    if len(shown) == len(every):
        return ""
    words = f"{', '.join(shown[:-1])} and {shown[-1]} of {len(every)} levels"
    return f"Drawn here: D/C {words}; report.html has all. "


def _plan(summary: Summary, words: Words) -> Iterator[tuple[str, Any]]:
    """Name and builder of every figure; nothing is drawn before the builder is called."""
    cores = grids.cores_of(summary)
    floor = facts.noise_floor(summary)
    every = facts.factors(summary.rows)
    levels: Sequence[float | None] = spread(every, _LEVELS) if len(every) > 1 else (None,)
    whole, words = words, evolve(words, caption=f"{_of_levels(summary)}{words.caption}")
    for metric in METRICS if cores else ():
        scale = grids.scale(summary, metric, floor)
        digits = grids.digits_for(scale)
        for factor in levels:
            all_grids = [
                grids.grid(summary, metric, m, digits=digits, factor=factor) for m in cores
            ]
            end = _suffix(factor)
            yield f"overview-{metric.id}{end}", lambda g=all_grids, s=scale: _overview(g, s, words)
            for grid in all_grids:
                name = f"{metric.id}-m{grid.cores:03d}{end}"
                yield name, lambda g=grid, s=scale: _pair(g, s, words)
    for m in cores:
        for factor in levels:
            items = [
                item
                for item in summary.distributions
                if int(item["cores"]) == m and factor in (None, facts.factor_of(item))
            ]
            if items:
                name = f"distributions-m{m:03d}{_suffix(factor)}"
                yield name, lambda i=items, f=factor: _distributions(i, f, words)
    if predicted.set_ratios(summary):
        yield "predicted", lambda: _predicted(summary, whole)


def _suffix(factor: float | None) -> str:
    return "" if factor is None else f"-d{round(factor * 1000):06d}"


def words_of(summary: Summary) -> Words:
    """Labels and caption of every figure of a campaign."""
    machine = facts.platform(summary)
    origin = [facts.campaign_name(summary)]
    origin += [str(machine[key]) for key in ("name", "soc", "kernel") if machine.get(key)]
    if machine.get("preemption"):
        # An unknown model carries its reason behind a colon; the page has room for it.
        origin.append(f"preemption {str(machine['preemption']).split(':')[0]}")
    floor = facts.noise_floor(summary).text
    return Words(
        labels=printable(", ".join(facts.labels(summary))),
        caption=printable(f"{floor[0].upper()}{floor[1:]}.  {' · '.join(origin)}"),
    )


def _pair(grid: Grid, scale: Scale, words: Words) -> Figure:
    """Surface (left) and heat map with contours (right) of one metric at one M."""
    importlib.import_module("mpl_toolkits.mplot3d")  # registers the projection "3d"
    figure = new_figure(11.0, 5.2, f"{grid.metric.name}, {grid.place}", words, lines=_LINES)
    surface = figure.add_axes((0.0, 0.05, 0.46, 0.86), projection="3d")
    _surface(surface, grid, scale)
    heat = figure.add_axes((0.53, 0.15, 0.37, 0.72))
    image = _heat(heat, grid, scale, numbers=True)
    bar = figure.colorbar(image, cax=figure.add_axes((0.915, 0.15, 0.015, 0.72)))
    bar.set_label(grid.metric.axis)
    _levels(bar, scale)
    return figure


def _overview(all_grids: Sequence[Grid], scale: Scale, words: Words) -> Figure:
    """The heat maps of every M side by side, on one colour scale."""
    columns = min(4, len(all_grids))
    lines = math.ceil(len(all_grids) / columns)
    title = f"{all_grids[0].metric.name} by cores M"
    if all_grids[0].factor is not None:
        title += f", D/C = {all_grids[0].factor:g}"
    width = max(6.5, 3.0 * columns + 1.1)
    below = 0.65 + _LINE * len(caption_lines(words.caption, width, _LINES))
    height = 2.9 * lines + 0.4 + below
    figure = new_figure(width, height, title, words, lines=_LINES)
    left, right, bottom, top = 0.65 / width, 1 - 1.1 / width, below / height, 1 - 0.75 / height
    axes = figure.subplots(
        lines,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": left, "right": right, "bottom": bottom, "top": top,
            "wspace": 0.12, "hspace": 0.28,
        },
    )  # fmt: skip
    image: Any = None
    for index, axis in enumerate(axes.flat):
        if index >= len(all_grids):
            axis.set_visible(False)
            continue
        grid = all_grids[index]
        image = _heat(axis, grid, scale, numbers=len(grid.contended_ratios) <= 6)
        axis.set_title(f"M = {grid.cores}")
        if index % columns:
            axis.set_ylabel("")
            axis.set_yticklabels([])
        if index + columns < len(all_grids):
            axis.set_xlabel("")
            axis.set_xticklabels([])
    bar_axis = figure.add_axes((1 - 0.95 / width, bottom, 0.16 / width, top - bottom))
    bar = figure.colorbar(image, cax=bar_axis)
    bar.set_label(all_grids[0].metric.axis)
    _levels(bar, scale)
    return figure


def _surface(axis: Any, grid: Grid, scale: Scale) -> None:
    """Straight between measured points, with holes where one is missing; dots are measured."""
    x, y = np.meshgrid(grid.contended_ratios, grid.sync_shares)
    _facets(axis, grid, scale)
    for line in (*zip(x, y, grid.values, strict=True), *zip(x.T, y.T, grid.values.T, strict=True)):
        axis.plot(*line, color="#59616b", linewidth=0.6, marker=".", markersize=2.5)
    axis.set_zlim(scale.low, scale.high)
    axis.set_xlabel("contended ratio α")
    axis.set_ylabel("synchronisation share ρ")
    axis.set_zlabel(grid.metric.axis.split(" (")[0] + (" (%)" if grid.metric.scale == 100 else ""))
    axis.view_init(elev=24, azim=-128)
    axis.set_box_aspect((1, 1, 0.72), zoom=0.86)


def _facets(axis: Any, grid: Grid, scale: Scale) -> None:
    """The surface in pieces so small that each has the colour of its height.

    Between four measured corners it is bilinear; a cell without one of its corners is a hole.
    """
    import matplotlib as mpl  # noqa: PLC0415 - see draw_figures

    rows, columns = grid.values.shape
    pieces = math.ceil(_FACETS / max(1, rows - 1, columns - 1))
    steps = np.linspace(0.0, 1.0, pieces + 1)
    down, right = np.meshgrid(steps, steps, indexing="ij")
    made: list[Any] = []
    for r, a in np.ndindex(max(0, rows - 1), max(0, columns - 1)):
        corner = grid.values[r : r + 2, a : a + 2]
        if np.isnan(corner).any():
            continue
        above = corner[0, 0] * (1 - right) + corner[0, 1] * right
        below = corner[1, 0] * (1 - right) + corner[1, 1] * right
        alpha, rho = grid.contended_ratios[a : a + 2], grid.sync_shares[r : r + 2]
        points = np.stack(
            (
                alpha[0] + right * (alpha[1] - alpha[0]),
                rho[0] + down * (rho[1] - rho[0]),
                above * (1 - down) + below * down,
            ),
            axis=-1,
        )
        quads = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
        made.extend(np.stack(quads, axis=2).reshape(-1, 4, 3))
    if not made:
        return
    art3d = importlib.import_module("mpl_toolkits.mplot3d.art3d")
    heights = np.array([facet[:, 2].mean() for facet in made])
    colours = mpl.colormaps[COLOURS]((heights - scale.low) / (scale.high - scale.low))
    axis.add_collection3d(
        art3d.Poly3DCollection(made, facecolors=colours, edgecolors=colours, linewidths=0.3)
    )


def _heat(axis: Axes, grid: Grid, scale: Scale, *, numbers: bool) -> Any:
    """Cells with their value, contour lines between them, hatching where there is no value."""
    x_edges, y_edges = grids.edges(grid.contended_ratios), grids.edges(grid.sync_shares)
    image = axis.pcolormesh(
        x_edges, y_edges, np.ma.masked_invalid(grid.values), cmap=COLOURS,
        vmin=scale.low, vmax=scale.high, edgecolors="white", linewidth=0.5 if numbers else 0.2,
    )  # fmt: skip
    _contours(axis, grid, scale)
    for r, line in enumerate(grid.states):
        for a, state in enumerate(line):
            box = (x_edges[a], y_edges[r], x_edges[a + 1], y_edges[r + 1])
            if state != MEASURED:
                _hatch(axis, box, state)
            elif numbers:
                _number(axis, grid, scale, r, a)
    axis.set_xlabel("contended ratio α")
    axis.set_ylabel("synchronisation share ρ")
    _ticks(axis.xaxis, grid.contended_ratios)
    _ticks(axis.yaxis, grid.sync_shares)
    return image


def _levels(bar: Any, scale: Scale) -> None:
    """The values that the contour lines stand for, in the colour bar, where a number is beside."""
    if scale.levels:
        bar.ax.hlines(scale.levels, 0, 1, transform=bar.ax.get_yaxis_transform(), color="white")
        values = (scale.low, *scale.levels)
        bar.set_ticks(values, labels=[f"{value:.3g}" for value in values])


def _contours(axis: Axes, grid: Grid, scale: Scale) -> None:
    known = grid.values[~np.isnan(grid.values)]
    if not scale.levels or known.size == 0:
        return
    levels = [level for level in scale.levels if known.min() < level < known.max()]
    # White alone is lost on the light end of the colour map: a dark line lies below.
    for colour, width, alpha in (("black", 2.4, 0.35), ("white", 1.1, 1.0)) if levels else ():
        axis.contour(
            grid.contended_ratios, grid.sync_shares, np.ma.masked_invalid(grid.values),
            levels=levels, colors=colour, linewidths=width, alpha=alpha,
        )  # fmt: skip


def _hatch(axis: Axes, box: tuple[float, float, float, float], state: str) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - see draw_figures

    left, low, right, high = box
    pattern = {UNDECIDED: "xxx", NOT_MEASURED: "///"}[state]
    axis.add_patch(
        Rectangle(
            (left, low),
            right - left,
            high - low,
            facecolor="white",
            edgecolor="#8a8f96",
            hatch=pattern,
            linewidth=0.5,
            zorder=3,
        )
    )
    axis.text(
        (left + right) / 2,
        (low + high) / 2,
        "?" if state == UNDECIDED else "n.m.",
        ha="center",
        va="center",
        fontsize=7,
        zorder=4,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def _number(axis: Axes, grid: Grid, scale: Scale, row: int, column: int) -> None:
    """The value in black or white, whichever stands out from its cell."""
    import matplotlib as mpl  # noqa: PLC0415 - see draw_figures

    share = (grid.values[row, column] - scale.low) / (scale.high - scale.low)
    # A patch in the colour of the cell keeps contour lines off the number.
    patch = {"facecolor": mpl.colormaps[COLOURS](share), "edgecolor": "none", "pad": 0.6}
    axis.text(
        grid.contended_ratios[column],
        grid.sync_shares[row],
        grid.texts[row][column],
        ha="center",
        va="center",
        fontsize=7.5 if len(grid.contended_ratios) <= 8 else 5.5,
        color="#101010" if share > 0.6 else "white",
        bbox=patch,
        zorder=4,
    )


def _ticks(axis: Any, values: Sequence[float]) -> None:
    """A tick at measured values only, at most eleven."""
    kept = values[:: math.ceil(len(values) / 11)]
    axis.set_ticks(kept, labels=[f"{value:g}" for value in kept])


def _distributions(
    items: Sequence[Mapping[str, Any]], factor: float | None, words: Words
) -> Figure:
    """CDFs at the largest rho, for alpha from lowest to highest, one panel a metric.

    Args:
        items: Of one M, and of one deadline factor where there are several.
    """
    rho = max(float(item["sync_share"]) for item in items)
    items = [item for item in items if float(item["sync_share"]) == rho]
    title = f"Distributions over jobs, M = {int(items[0]['cores'])}, ρ = {rho:g}"
    title += "" if factor is None else f", D/C = {factor:g}"
    caption = _LINE * len(caption_lines(words.caption, 11.0, _LINES))
    height = 4.15 + caption
    figure = new_figure(11.0, height, title, words, lines=_LINES)
    axes = figure.subplots(
        1, 3, gridspec_kw={
            "left": 0.065, "right": 0.985, "bottom": (0.93 + caption) / height,
            "top": 1 - 0.82 / height,
        },
    )  # fmt: skip
    for axis, (metric, heading, label) in zip(axes, _PANELS, strict=True):
        lines = [item for item in items if item["metric"] == metric and sum(item["counts"])]
        _cdf_panel(axis, _spread(lines))
        axis.set_title(heading)
        axis.set_xlabel(label)
    axes[0].set_ylabel("jobs at or below (%)")
    handles, names = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, names, loc="lower center", bbox_to_anchor=(0.5, (0.1 + caption) / height),
            ncols=len(names), frameon=False, fontsize=8,
        )  # fmt: skip
    return figure


def _predicted(summary: Summary, words: Words) -> Figure:
    title = f"{predicted.title(summary)}: response times"
    figure = new_figure(7.4, 4.8, title, words, lines=_LINES)
    axis = figure.add_axes((0.1, 0.22, 0.87, 0.61))
    predicted.draw(axis, summary)
    ratios = predicted.set_ratios(summary)
    log_axis(axis, *_around_one(*predicted.ratio_range(ratios)), vertical=True)
    return figure


def _spread(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most five lines, first and last alpha among them."""
    ordered = sorted(lines, key=lambda item: float(item["contended_ratio"]))
    if len(ordered) <= 5:
        return ordered
    return [ordered[round(index * (len(ordered) - 1) / 4)] for index in range(5)]


def _cdf_panel(axis: Axes, lines: Sequence[Mapping[str, Any]]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - see draw_figures

    colours = mpl.colormaps[COLOURS](np.linspace(0.0, 0.85, max(1, len(lines))))
    dashes = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
    low, high = math.inf, -math.inf
    for item, colour, dash in zip(lines, colours, dashes, strict=False):
        counts = np.asarray(item["counts"], dtype=np.float64)
        bins = np.asarray(item["edges"], dtype=np.float64)
        filled = np.flatnonzero(counts)
        low, high = min(low, bins[filled[0]]), max(high, bins[filled[-1] + 1])
        share = np.concatenate(([0.0], 100 * np.cumsum(counts) / counts.sum()))
        name = f"α = {float(item['contended_ratio']):g}"
        axis.plot(bins, share, color=colour, linestyle=dash, linewidth=1.6, label=name)
    axis.set_ylim(0, 101)
    axis.grid(visible=True, color="#e3e6ea", linewidth=0.6)
    if lines:
        log_axis(axis, *_around_one(low, high))
    else:
        axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", color="#59616b")


def _around_one(low: float, high: float) -> tuple[float, float]:
    return min(low, 0.97), max(high, 1.03)
