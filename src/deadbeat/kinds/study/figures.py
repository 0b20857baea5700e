"""A study's charts on paper: PNG and SVG through matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deadbeat.kinds.study.charts import Chart, Heat, Panel
from deadbeat.report.canvas import STYLE, Words, content, new_figure, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")

#: Okabe and Ito's colours, which the colour-blind tell apart; black last, yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":")
_HEIGHT = 4.4


def draw_charts(
    charts: Iterable[Chart], *, labels: str, origin: str, formats: Sequence[str] = FORMATS
) -> Iterator[tuple[str, bytes]]:
    """Yields file name and content of every chart in every format.

    Args:
        labels: Stamped on every figure; ``origin`` follows the caption.
    """
    import matplotlib as mpl  # noqa: PLC0415 - takes 0.3 s; only who draws pays for it

    for chart in charts:
        words = Words(labels=printable(labels), caption=printable(f"{chart.caption}  {origin}"))
        with mpl.rc_context(STYLE):
            figure = _figure(chart, words)
            for kind in formats:
                yield f"{chart.name}.{kind}", content(figure, kind)


def _figure(chart: Chart, words: Words) -> Figure:
    count = len(chart.panels)
    heat = any(panel.heat for panel in chart.panels)
    lines = max((len(panel.lines) for panel in chart.panels), default=0)
    legend_rows = 0 if heat else -(-lines // _legend_columns(chart))
    # A figure narrower than its caption would cut it: about 15 characters an inch.
    width = max(4.2 * count + 1.0, min(13.0, len(words.caption) / 15.2))
    height = _HEIGHT + 0.22 * legend_rows
    figure = new_figure(width, height, chart.title, words)
    axes = figure.subplots(
        1,
        count,
        squeeze=False,
        gridspec_kw={
            "left": 0.85 / width,
            "right": 1 - (1.0 if heat else 0.2) / width,
            "bottom": (0.85 + 0.22 * legend_rows) / height,
            "top": 1 - 0.75 / height,
            "wspace": 0.27,
        },
    )
    image: Any = None
    for axis, panel in zip(axes.flat, chart.panels, strict=True):
        axis.set_title(panel.title)
        axis.set_xlabel(panel.x_label)
        axis.set_ylabel(panel.y_label)
        if panel.heat is not None:
            image = _heat(axis, panel.heat)
        else:
            _lines(axis, panel)
    if heat:
        bar = figure.add_axes((1 - 0.75 / width, 0.85 / height, 0.14 / width, 1 - 1.6 / height))
        figure.colorbar(image, cax=bar).set_label("sets not found schedulable")
    else:
        _legend(figure, axes.flat[0], _legend_columns(chart), height)
    return figure


def _legend_columns(chart: Chart) -> int:
    longest = max((len(line.label) for panel in chart.panels for line in panel.lines), default=1)
    return max(1, int((4.2 * len(chart.panels) + 0.5) * 14 / (longest + 6)))


def _legend(figure: Figure, axis: Axes, columns: int, height: float) -> None:
    handles, names = axis.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, names, loc="lower center", bbox_to_anchor=(0.5, 0.26 / height),
            ncols=min(columns, len(names)), frameon=False, fontsize=8.5,
        )  # fmt: skip


def _lines(axis: Axes, panel: Panel) -> None:
    axis.grid(visible=True, color="#e3e6ea", linewidth=0.6)
    axis.set_axisbelow(True)
    for k, line in enumerate(panel.lines):
        colour = COLOURS[k % len(COLOURS)]
        if panel.steps:
            axis.stairs(line.y[:-1], line.x, color=colour, linewidth=1.6, label=line.label)
            continue
        axis.plot(
            line.x, line.y, color=colour, marker=MARKERS[k % len(MARKERS)], markersize=4.2,
            linestyle=_DASHES[k // len(COLOURS) % len(_DASHES)], linewidth=1.5, label=line.label,
        )  # fmt: skip
        axis.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
    if panel.limits is None:
        axis.set_ylim(bottom=0.0)
    else:
        axis.set_ylim(*panel.limits)


def _heat(axis: Axes, heat: Heat) -> Any:
    """Evenly spaced cells, whatever the distance of their values, with their number."""
    import matplotlib as mpl  # noqa: PLC0415 - see draw_charts

    values = np.array([[np.nan if v is None else v for v in row] for row in heat.values])
    image = axis.pcolormesh(
        np.arange(len(heat.x) + 1), np.arange(len(heat.y) + 1), np.ma.masked_invalid(values),
        cmap="viridis", vmin=0.0, vmax=heat.top, edgecolors="white", linewidth=0.4,
    )  # fmt: skip
    axis.set_facecolor("#f3f4f5")
    axis.set_xticks(np.arange(len(heat.x)) + 0.5, labels=[f"{x:g}" for x in heat.x])
    axis.set_yticks(np.arange(len(heat.y)) + 0.5, labels=[f"{y:g}" for y in heat.y])
    bright = mpl.colormaps["viridis"](values / heat.top)[..., :3] @ (0.3, 0.59, 0.11)
    for row, column in np.argwhere(~np.isnan(values)):
        axis.text(
            column + 0.5, row + 0.5, heat.texts[row][column], ha="center", va="center",
            fontsize=8, color="#101010" if bright[row, column] > 0.5 else "white",
        )  # fmt: skip
    return image
