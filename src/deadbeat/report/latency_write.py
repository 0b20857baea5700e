"""Writes what derives from the runs of a latency matrix: page and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deadbeat.model.latency import LatencyRun
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.report import latency_words as words
from deadbeat.report.canvas import FORMATS, Words, printable
from deadbeat.report.charts_paper import draw_charts
from deadbeat.report.latency_page import labels_of, latency_charts, render_latency
from deadbeat.store.files import atomic_write, storing

PAGE_FILE = "report.html"


def write_latency_report(
    summary: LatencySummary,
    runs: Sequence[LatencyRun],
    out_dir: Path,
    *,
    platform: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Path:
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path.

    Args:
        platform: Of the machine, as plain values (``attrs.asdict`` of a Platform).
        parameters: What was asked for, as plain values.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    path = Path(out_dir) / PAGE_FILE
    with storing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    page = render_latency(summary, runs, platform=platform, parameters=parameters)
    atomic_write(path, page.encode("utf-8", "xmlcharrefreplace"))
    return path


def write_latency_figures(
    summary: LatencySummary,
    runs: Sequence[LatencyRun],
    out_dir: Path,
    *,
    kernel: str = "",
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Writes every figure in every format into ``out_dir``/figures and returns their paths.

    Raises:
        DeadbeatError: The folder or a file cannot be written.
    """
    folder = Path(out_dir) / "figures"
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in draw_charts(
        latency_charts(summary, runs), paper_words(summary, kernel=kernel), formats
    ):
        atomic_write(folder / name, content)
        paths.append(folder / name)
    return paths


def paper_words(summary: LatencySummary, *, kernel: str = "") -> Words:
    """Labels and caption of every figure on paper."""
    origin = f"{words.rests(summary)}; {kernel}" if kernel else words.rests(summary)
    return Words(labels=printable(", ".join(labels_of(summary))), caption=printable(f"{origin}."))
