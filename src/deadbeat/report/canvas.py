"""What every figure on paper shares: its canvas, its style, and how it becomes a file."""

from __future__ import annotations

import io
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: tuple[str, ...] = ("png", "svg", "pdf")

#: Pixels per inch of PNG figures.
_DPI = 150

#: Colour map of every figure: ordered in lightness, so it survives colour blindness and grey print.
SEQUENTIAL = "viridis"

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
        figure.text(
            1 - left,
            1 - 0.12 / height,
            words.labels,
            va="top",
            ha="right",
            fontsize=9.5,
            fontweight="bold",
            bbox={"facecolor": "#fff3cd", "edgecolor": "#5a4300", "boxstyle": "square,pad=0.3"},
        )
    figure.text(
        left,
        0.1 / height,
        "\n".join(caption_lines(words.caption, width, lines)),
        va="bottom",
        fontsize=8,
        color="#444444",
    )
    return figure


def caption_lines(text: str, width_inches: float, most: int = 1) -> list[str]:
    """Broken into lines of about 15.5 characters an inch at 8 points, cut after ``most``."""
    room = int(15.5 * width_inches)
    if most == 1:
        return [text if len(text) <= room else text[: room - 1] + "…"]
    return textwrap.wrap(text, room, max_lines=most, placeholder=" …")
