"""Charts on paper: PNG, SVG and PDF through matplotlib, the same bytes for the same chart."""

from __future__ import annotations

import importlib
import io
import math
import textwrap
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model.errors import NotDrawnWarning
from deadbeat.base.report import categories
from deadbeat.base.report.charts import BLACK, BOUND, COLOURS, Chart, Curve, Panel
from deadbeat.base.report.paper_heat import colour_bar, draw_heat, draw_surface
from deadbeat.base.report.scales import log_ticks
from deadbeat.base.store.files import atomic_write, make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FORMATS: tuple[str, ...] = ("png", "svg", "pdf")

#: Pixels per inch of PNG figures.
_DPI = 150

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "svg.hashsalt": "deadbeat",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,
}

#: Fields that would carry the date of drawing into a file.
_METADATA: Mapping[str, Mapping[str, Any]] = {
    "png": {"Software": "deadbeat"},
    "svg": {"Date": None, "Creator": "deadbeat"},
    "pdf": {"CreationDate": None, "Creator": "deadbeat", "Producer": "deadbeat"},
}


def _printable(text: str) -> str:
    """Without control characters and lone surrogates, which no SVG may hold."""
    return "".join("�" if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c for c in text)


@frozen(kw_only=True)
class Words:
    """What stands on every figure."""

    labels: str = field(converter=_printable)
    caption: str = field(converter=_printable)


def content(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=_DPI, metadata=dict(_METADATA[kind]))
    return buffer.getvalue()


def new_figure(width: float, height: float, title: str, words: Words, *, lines: int = 1) -> Figure:
    """An empty figure with its title, its labels and its caption of at most ``lines`` lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see above
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    left = 0.15 / width
    figure.text(left, 1 - 0.12 / height, title, va="top", fontsize=11.5, fontweight="bold")
    if words.labels:
        box = {"facecolor": "#fff3cd", "edgecolor": "#5a4300", "boxstyle": "square,pad=0.3"}
        figure.text(
            1 - left, 1 - 0.12 / height, words.labels, va="top", ha="right", fontsize=9.5,
            fontweight="bold", bbox=box,
        )  # fmt: skip
    below = "\n".join(caption_lines(words.caption, width, lines))
    figure.text(left, 0.1 / height, below, va="bottom", fontsize=8, color="#444444")
    return figure


def caption_lines(text: str, width_inches: float, most: int = 1) -> list[str]:
    """Broken into lines of about 15.5 characters an inch at 8 points, cut after ``most``."""
    room = int(15.5 * width_inches)
    if most == 1:
        return [text if len(text) <= room else text[: room - 1] + "…"]
    return textwrap.wrap(text, room, max_lines=most, placeholder=" …")


MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Of a panel's width, in a name over it.
_CHARACTER = 0.012
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)))
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oo")
_PANEL_WIDTH, _PANEL_HEIGHT = 4.0, 3.0
#: Inches of a row of stretches.
_ROW = 0.24
_COLUMNS = 4
_CAPTION_LINES = 6
#: Inches between the upper bounds of curves that lie at the same x.
_ASIDE = 0.09
_GRID = "#e3e6ea"


def draw_charts(
    charts: Iterable[Chart], words: Words, formats: Sequence[str] = FORMATS
) -> Iterator[tuple[str, bytes]]:
    """Yields file name and content of every chart in every format.

    Args:
        words: Labels on every figure, and what follows each chart's own caption.
    """
    if find_spec("matplotlib") is None:  # an extra
        text = "figures are not drawn without matplotlib: pip install matplotlib"
        warnings.warn(NotDrawnWarning(text), stacklevel=1)
        return
    import matplotlib as mpl  # noqa: PLC0415 - takes 0.3 s; only who draws pays for it

    for chart in charts:
        # Nothing is yielded inside: who stops in between would leave the style set.
        with mpl.rc_context(STYLE):
            figure = _figure(chart, words)
            made = [(f"{chart.name}.{kind}", content(figure, kind)) for kind in formats]
        yield from made


def _figure(chart: Chart, words: Words) -> Figure:
    count = len(chart.panels)
    wide = max(map(categories.width, chart.panels))
    columns = 1 if wide else min(count, _COLUMNS if count != 6 else 3)
    rows = math.ceil(count / columns)
    tall = max(_PANEL_HEIGHT, *(_ROW * len(panel.rows) for panel in chart.panels))
    heat = next((panel.heat for panel in chart.panels if panel.heat), None)
    width = max(7.0, max(_PANEL_WIDTH, wide) * columns + (1.1 if heat else 0.3))
    drawn = [curve.label for panel in chart.panels for curve in panel.curves]
    drawn += [layer.label for panel in chart.panels for layer in panel.bars]
    drawn += [layer.label for panel in chart.panels for layer in panel.spans]
    marks = [mark.label for panel in chart.panels for mark in panel.marks if not panel.rows]
    bound = BOUND if any(curve.limits for panel in chart.panels for curve in panel.curves) else ""
    names = [name for name in dict.fromkeys((*drawn, *marks, bound)) if name]
    across = max(1, int(width * 13 / (max(map(len, names), default=1) + 7)))
    legend = math.ceil(len(names) / across) if len(names) > 1 else 0
    whole = evolve(words, caption=f"{words.caption}  {chart.caption}".strip())
    below = len(caption_lines(whole.caption, width, _CAPTION_LINES))
    bottom = 0.72 + 0.13 * below + 0.2 * legend
    turned = max(map(categories.below, chart.panels))
    bottom += turned
    top = 0.92 if any("\n" in panel.title for panel in chart.panels) else 0.72
    gap = top + 0.13 + turned
    height = bottom + top + rows * tall + (rows - 1) * gap
    rows_wide = max((len(row) for panel in chart.panels for row in panel.rows), default=0)
    tick = max(len(text) for panel in chart.panels for _, text in panel.y_ticks or [(0.0, "")])
    left = max(
        0.78,
        0.3 + 0.075 * rows_wide,
        0.43 + 0.08 * tick,
        *(categories.beside(panel, _PANEL_WIDTH) for panel in chart.panels),
    )
    # Beside the labels, which stand at the right of the same line.
    title, room = chart.whole_title, int((width - 0.5 - 0.095 * len(words.labels)) * 10)
    shown = title if len(title) <= room else title[: max(10, room - 1)] + "…"
    figure = new_figure(width, height, shown, whole, lines=_CAPTION_LINES)
    grid = figure.add_gridspec(
        rows, columns, left=left / width, right=1 - (1.05 if heat else 0.2) / width,
        bottom=bottom / height, top=1 - top / height, wspace=0.3, hspace=gap / tall,
    )  # fmt: skip
    axes = []
    for place, panel in enumerate(chart.panels):
        if panel.surface:
            importlib.import_module("mpl_toolkits.mplot3d")  # registers the projection "3d"
        axis = figure.add_subplot(grid[place], projection="3d" if panel.surface else None)
        image = _panel(axis, panel)
        if image is not None and heat is not None:
            bar = figure.add_axes(
                (1 - 0.85 / width, bottom / height, 0.14 / width, 1 - (bottom + top) / height)
            )
            colour_bar(figure.colorbar(image, cax=bar), heat)
            heat = None  # one bar: the panels of a chart have one scale
        axes.append(axis)
    if legend:
        _legend(figure, axes, across, (0.14 + 0.13 * below) / height)
    return figure


def _legend(figure: Figure, axes: Sequence[Axes], columns: int, bottom: float) -> None:
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(
        list(found.values()), list(found), loc="lower center", bbox_to_anchor=(0.5, bottom),
        ncols=min(columns, len(found)), frameon=False, fontsize=8, borderaxespad=0.0,
        handlelength=2.8,
    )  # fmt: skip


def _panel(axis: Axes, panel: Panel) -> Any:
    axis.set_title(panel.title)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    if panel.heat is not None:
        return draw_surface(axis, panel.heat) if panel.surface else draw_heat(axis, panel.heat)
    if panel.blank:
        axis.set_xticks([])
        axis.set_yticks([])
        axis.text(
            0.5, 0.5, panel.empty, transform=axis.transAxes, ha="center", va="center",
            color="#59616b", wrap=True,
        )  # fmt: skip
        return None
    axis.grid(visible=True, color=_GRID, linewidth=0.6)
    axis.set_axisbelow(True)
    for curve in panel.curves:
        _curve(axis, curve)
    _bars(axis, panel)
    for layer in panel.spans:
        # Another hatch than the look before it that has its colour.
        hatch = HATCHES[(layer.look + layer.look // len(COLOURS)) % len(HATCHES)]
        axis.barh(
            layer.rows, np.subtract(layer.end, layer.begin), left=layer.begin, height=layer.height,
            color=COLOURS[layer.look % len(COLOURS)], hatch=hatch,
            edgecolor="white", linewidth=0, label=layer.label,
        )  # fmt: skip
    if panel.rows:
        axis.set_yticks(range(len(panel.rows)), labels=panel.rows)
        axis.set_ylim(len(panel.rows) - 0.5, -0.5)
    ends: list[float] = []  # of names over the panel, a line each
    for mark in sorted(panel.marks, key=lambda mark: mark.at) if panel.rows else panel.marks:
        # `above`: the name stands over the panel, in this line; 0: in the legend.
        above = 0
        if panel.rows:
            low, high = panel.x_span
            half = (high - low) * _CHARACTER * len(mark.label) / 2
            free = (line for line, end in enumerate(ends) if end <= mark.at - half)
            above = next(free, len(ends)) + 1
            ends[above - 1 :] = [mark.at + half, *ends[above:]]
        name = None if above else mark.label or None
        if above:
            axis.text(
                mark.at,
                1.01,
                mark.label + "\n" * (above - 1),
                transform=axis.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=8,
            )
        if mark.to is not None:
            span = axis.axvspan if mark.axis == "x" else axis.axhspan
            span(mark.at, mark.to, color="#8a8f96", alpha=0.22, linewidth=0, label=name)
        else:
            line = axis.axvline if mark.axis == "x" else axis.axhline
            dash: Any = (0, (4, 3)) if mark.label else "-"
            colour, wide = "#59616b", 1.0
            if mark.look is not None:
                colour, wide = COLOURS[mark.look], 1.8
                dash = "-" if mark.look == BLACK else DASHES[mark.look]
            line(mark.at, color=colour, linewidth=wide, linestyle=dash, label=name)
    if panel.categories:
        turned = categories.turn(panel)
        axis.set_xticks(
            range(len(panel.categories)), labels=panel.categories,
            rotation=turned, ha="right" if turned == 25 else "center",
        )  # fmt: skip
        axis.set_xlim(-0.6, len(panel.categories) - 0.4)
    _scale(axis, panel)
    return None


def _scale(axis: Axes, panel: Panel) -> None:
    if panel.x_ticks and not panel.x_log:
        places, texts = zip(*panel.x_ticks, strict=True)
        axis.set_xticks(places, labels=texts)
    for which, log, limits, span in (
        ("x", panel.x_log, panel.x_limits, panel.x_span),
        ("y", panel.y_log, panel.y_limits, panel.y_span),
    ):
        if limits is not None:
            axis.set(**{f"{which}lim": limits})
        if log:
            log_axis(axis, *span, vertical=which == "y")
        elif which == "y" and limits is None and panel.curves and not panel.rows:
            low, high = axis.get_ylim()
            axis.set_ylim(min(low, -0.04 * high), high)


def log_axis(axis: Axes, low: float, high: float, *, vertical: bool = False) -> None:
    """Logarithmic, with as many plain numbers as have room."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415 - see draw_charts

    name = "y" if vertical else "x"
    axis.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    width = axis.get_window_extent().width / axis.figure.dpi
    inches = _PANEL_HEIGHT if vertical else width
    label = 0.2 if vertical else 0.08 * len(f"{high:.0f}") + 0.08
    places, texts = zip(*log_ticks(low, high, inches / label), strict=True)
    axis.set(**{f"{name}ticks": places, f"{name}ticklabels": texts})
    (axis.yaxis if vertical else axis.xaxis).set_minor_locator(NullLocator())


def _curve(axis: Axes, curve: Curve) -> None:
    if not curve.x:
        return
    look = curve.look
    colour = COLOURS[look % len(COLOURS)]
    dash = DASHES[look % len(DASHES)]
    marker = MARKERS[look % len(MARKERS)]
    name = curve.label or None
    if curve.kind == "steps":
        axis.plot(
            curve.x, curve.y, drawstyle="steps-post", color=colour, linestyle=dash,
            linewidth=1.5, label=name,
        )  # fmt: skip
    elif curve.kind == "points":
        axis.scatter(
            curve.x, curve.y, s=11, marker=marker, facecolors="none", edgecolors=colour,
            linewidths=0.7, alpha=0.75, label=name, rasterized=len(curve.x) > 500,
        )  # fmt: skip
    elif curve.kind == "errors":
        arms = np.array([curve.y]) - np.array([curve.low]), np.array([curve.high]) - curve.y
        axis.errorbar(
            curve.x, curve.y, yerr=np.abs(np.vstack(arms)), fmt=marker, color=colour, capsize=3,
            markersize=5, linewidth=1.3, label=name,
        )  # fmt: skip
    else:
        axis.plot(
            curve.x, curve.y, color=colour, linestyle=dash, linewidth=1.5, label=name,
            marker=marker if curve.kind == "line" else None, markersize=4.2,
        )  # fmt: skip
        for band in curve.bands:
            # The intervals of neighbours as one area; an interval without neighbours is a bar.
            x, low, high = (
                [values[place] for place in band] for values in (curve.x, curve.low, curve.high)
            )
            if len(band) > 1 or len(curve.x) == 1:
                axis.fill_between(x, low, high, color=colour, alpha=0.11, linewidth=0)
            if len(band) == 1:
                axis.vlines(x, low, high, color=colour, linewidth=1.2)
        _limits(axis, curve, colour)


def _limits(axis: Axes, curve: Curve, colour: str) -> None:
    """Upper bounds: an arrow down from a cap, beside those of other curves at the same x."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - see draw_charts

    figure = axis.get_figure(root=True)
    if not curve.limits or figure is None:
        return
    aside = ScaledTranslation(_ASIDE * beside(curve.look), 0, figure.dpi_scale_trans)
    x = [curve.x[place] for place in curve.limits]
    high = [curve.high[place] for place in curve.limits]
    for marker, size in (("_", 9), (11, 6)):  # 11: a triangle that hangs from its point
        axis.plot(
            x, high, color=colour, marker=marker, markersize=size, linestyle="none",
            transform=axis.transData + aside,
        )  # fmt: skip
    axis.plot([], [], color="#59616b", marker=11, linestyle="none", label=BOUND)  # for the legend
    # matplotlib leaves what is moved aside out of the axis' range.
    axis.update_datalim(list(zip(x, high, strict=True)))
    axis.autoscale_view()


def beside(look: int) -> int:
    """Steps aside of a mark, so that those of several curves at one x are all seen."""
    step = (look % len(COLOURS) + 1) // 2
    return step if look % 2 else -step


def _bars(axis: Axes, panel: Panel) -> None:
    count = len(panel.categories)
    base = np.zeros(count)
    for layer in panel.bars:
        heights = np.array([value or 0.0 for value in layer.y])
        axis.bar(
            np.arange(count), heights, bottom=base, width=0.72,
            color=COLOURS[layer.look % len(COLOURS)], edgecolor="white",
            hatch=HATCHES[layer.look % len(HATCHES)], linewidth=0.4, label=layer.label or None,
        )  # fmt: skip
        for place, text in enumerate(layer.texts):
            top = base[place] + heights[place]
            axis.text(place, top, text, ha="center", va="bottom", fontsize=7.5)
        base = base + heights
    for place in range(count if panel.bars else 0):
        if all(layer.y[place] is None for layer in panel.bars):
            axis.text(place, 0, "n.m.", ha="center", va="bottom", fontsize=7, color="#59616b")
    if panel.bars:
        axis.set_ylim(0, max(1e-12, float(base.max())) * 1.14)


def write_charts(
    folder: Path, charts: Sequence[Chart], words: Words, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Every chart in every format, in ``folder``, which is made when missing; their paths.
    Raises DeadbeatError: the folder or a file cannot be written."""
    return write_drawn(folder, draw_charts(charts, words, formats))


def write_drawn(folder: Path, drawn: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Each file in ``folder``, as `write_charts`."""
    written = []
    for name, content in drawn:
        make_folder(folder)
        atomic_write(folder / name, content)
        written.append(folder / name)
    return written
