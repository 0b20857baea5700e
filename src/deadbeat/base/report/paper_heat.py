"""Heat maps and surfaces on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deadbeat.base.report import categories
from deadbeat.base.report.charts import ABSENT, AT_LEAST, AT_MOST, FAINT, MEASURED, SHOWN, Heat

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colour map of every figure: ordered in lightness, so it survives colour blindness and grey print.
SEQUENTIAL = "viridis"
#: Most columns or rows of a heat map with room for small print in its cells.
_NOTED = 5
#: Colours of differences: blue below, red above; numbers in small print tell them apart in grey.
DIVERGING = "RdBu_r"
#: Pieces of a surface along its longer side, about.
_FACETS = 24


def colour_bar(bar: Any, heat: Heat) -> None:
    """With the values that the contour lines stand for, where a number is beside them."""
    bar.set_label(heat.unit)
    ticks = heat.ticks
    if heat.levels:
        bar.ax.hlines(
            _heights(heat, heat.levels), 0, 1, transform=bar.ax.get_yaxis_transform(), color="white"
        )
        ticks = tuple((value, f"{value:.3g}") for value in (heat.low, *heat.levels))
    _ticks(bar.set_ticks, heat, ticks)


def _heights(heat: Heat, values: Sequence[float | None]) -> Any:
    return np.array([heat.height(value) for value in values], dtype=np.float64)


def _ticks(put: Any, heat: Heat, ticks: Sequence[tuple[float, str]]) -> None:
    if ticks:
        values, texts = zip(*ticks, strict=True)
        put(_heights(heat, values), labels=texts)


def draw_heat(axis: Axes, heat: Heat) -> Any:
    """Cells with their texts, contour lines between them, hatching where there is no value."""
    values, colours = _shown(heat, (SHOWN, AT_LEAST)), _colours(heat)
    low, high = _heights(heat, (heat.low, heat.high))
    # Cells are some 215 / columns points wide; a character takes 0.65 of its size.
    noted = len(heat.x) <= _NOTED and len(heat.y) <= _NOTED
    longest = max((len(cell.text) for row in heat.cells for cell in row), default=1)
    fit = 215 / max(1, len(heat.x)) / (0.65 * longest + 0.8)
    size = max(4.0, min(8.0, fit, 100 / max(1, len(heat.y))))
    image = axis.pcolormesh(
        heat.x_edges, heat.y_edges, values, cmap=colours, vmin=low, vmax=high,
        edgecolors="white", linewidth=0.4,
    )  # fmt: skip
    known = _shown(heat, MEASURED).compressed()
    levels = [
        level
        for level in _heights(heat, heat.levels)
        if known.size and known.min() < level < known.max()
    ]
    # White alone is lost on the light end of the colour map: a dark line lies below.
    for line, width, alpha in (("black", 2.4, 0.35), ("white", 1.1, 1.0)) if levels else ():
        axis.contour(
            heat.x_places, heat.y_places, _shown(heat, MEASURED), levels=levels, colors=line,
            linewidths=width, alpha=alpha,
        )  # fmt: skip
    for row, column in np.ndindex(values.shape):
        cell = heat.cells[row][column]
        patch: dict[str, Any] | None = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ink = "#404040"
        if cell.state != SHOWN:
            _hatch(axis, heat, row, column)
        if cell.state in (SHOWN, AT_LEAST):
            share = (values[row, column] - low) / (high - low)
            colour = np.asarray(colours(share)[:3])
            ink = "#101010" if colour @ (0.3, 0.59, 0.11) > 0.5 else "white"
            # A patch in the colour of the cell keeps contour lines off the number.
            patch = {"facecolor": colour, "edgecolor": "none", "pad": 0.6} if heat.levels else None
        axis.text(
            heat.x_places[column], heat.y_places[row], cell.text, ha="center", va="center",
            fontsize=size, color=ink, bbox=None if cell.state == FAINT else patch, zorder=4,
        )  # fmt: skip
        if noted and cell.note:
            axis.annotate(
                cell.note, (heat.x_places[column], heat.y_places[row]), (0, -0.8 * size),
                ha="center", va="top", textcoords="offset points", fontsize=0.7 * size,
                color=ink, zorder=4,
                bbox=patch if cell.state in (AT_LEAST, AT_MOST) else None,
            )  # fmt: skip
    _cells(axis.set_xticks, heat.x, heat.x_places)
    if categories.upright(heat):
        axis.tick_params(axis="x", labelrotation=90)
    _cells(axis.set_yticks, heat.y, heat.y_places)
    return image


def _shown(heat: Heat, states: Sequence[str]) -> Any:
    """Heights of cells in ``states``, the others masked."""
    shown = [c.value if c.state in states else None for row in heat.cells for c in row]
    return np.ma.masked_invalid(_heights(heat, shown).reshape(len(heat.y), len(heat.x)))


def _colours(heat: Heat) -> Any:
    import matplotlib as mpl  # noqa: PLC0415 - see paper.draw_charts

    return mpl.colormaps[DIVERGING if heat.diverging else SEQUENTIAL]


def _hatch(axis: Axes, heat: Heat, row: int, column: int) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - see paper.draw_charts

    state = heat.cells[row][column].state
    left, right = heat.x_edges[column : column + 2]
    low, high = heat.y_edges[row : row + 2]
    axis.add_patch(
        Rectangle(
            (left, low), right - left, high - low, edgecolor="#a5abb3", linewidth=0.4, zorder=2.2,
            facecolor={FAINT: "#ececec", AT_LEAST: "none"}.get(state, "white"),
            hatch={FAINT: "", ABSENT: "////", AT_MOST: "..", AT_LEAST: "\\\\"}.get(state, "xxxx"),
        )
    )  # fmt: skip


def _cells(put: Any, names: Sequence[str], places: Sequence[float]) -> None:
    every = math.ceil(len(names) / 16)
    put(places[::every], labels=names[::every])


def draw_surface(axis: Any, heat: Heat) -> None:
    """Straight between shown cells, with holes where one is missing; dots are the cells.

    Between four known corners it is bilinear, in pieces so small that each has the colour of its
    height.
    """
    values = _shown(heat, MEASURED).filled(np.nan)
    low, high = _heights(heat, (heat.low, heat.high))
    x, y = np.meshgrid(heat.x_places, heat.y_places)
    steps = np.linspace(0.0, 1.0, math.ceil(_FACETS / max(1, *(n - 1 for n in values.shape))) + 1)
    weights = np.stack((1 - steps, steps))
    for r, a in np.ndindex(max(0, values.shape[0] - 1), max(0, values.shape[1] - 1)):
        corners = np.s_[r : r + 2, a : a + 2]
        if np.isfinite(values[corners]).all():
            fine = (weights.T @ each[corners] @ weights for each in (x, y, values))
            axis.plot_surface(
                *fine, cmap=_colours(heat), vmin=low, vmax=high, rstride=1, cstride=1,
                antialiased=False, linewidth=0,
            )  # fmt: skip
    for line in (*zip(x, y, values, strict=True), *zip(x.T, y.T, values.T, strict=True)):
        axis.plot(*line, color="#59616b", linewidth=0.6, marker=".", markersize=2.5)
    axis.set_zlim(low, high)
    _ticks(axis.set_zticks, heat, heat.ticks)
    axis.set_zlabel(heat.unit.split(" (")[0] + (" (%)" if "(%" in heat.unit else ""))
    axis.view_init(elev=24, azim=-128)
    axis.set_box_aspect((1, 1, 0.72), zoom=0.97)
