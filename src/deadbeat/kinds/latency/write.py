"""Writes what derives from the runs of a latency matrix: page, figures, latency.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from deadbeat.kinds.latency import words
from deadbeat.kinds.latency.data import kernel_text
from deadbeat.kinds.latency.page import labels_of, latency_charts, render_latency
from deadbeat.kinds.latency.summarise import latency_rows, summarise_latency
from deadbeat.model.latency import LatencyRun
from deadbeat.model.latency_summary import LATENCY_COLUMNS, LatencySummary
from deadbeat.report.canvas import FORMATS, Words, printable
from deadbeat.report.charts_paper import draw_charts
from deadbeat.store.files import atomic_write, storing
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import REPORT_FILE
from deadbeat.store.summary import csv_text

CSV_FILE = "latency.csv"


@frozen(kw_only=True)
class LatencyReport:
    """What was written, and what it says."""

    page: Path
    summary: LatencySummary


def write_latency(
    store: LatencyStore, *, deadlines_ns: Sequence[int] = (), figures: bool = True
) -> LatencyReport:
    """``latency.csv``, the figures, and the page, last: everything that derives from the runs.

    Raises:
        DataError: A run is damaged.
        DeadbeatError: Something cannot be written.
    """
    runs = tuple(store.runs())
    summary = summarise_latency(runs, name=store.path.name, deadlines_ns=deadlines_ns)
    with store.lock():
        write_latency_csv(summary, store.path)
        if figures:
            write_latency_figures(summary, runs, store.path, kernel=store.platform.kernel)
        page = write_latency_report(
            summary, runs, store.path, platform=asdict(store.platform), parameters=store.spec
        )
    return LatencyReport(page=page, summary=summary)


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
    path = Path(out_dir) / REPORT_FILE
    with storing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    page = render_latency(summary, runs, platform=platform, parameters=parameters)
    atomic_write(path, page.encode("utf-8", "xmlcharrefreplace"))
    return path


def write_latency_csv(summary: LatencySummary, out_dir: Path) -> Path:
    """Writes ``latency.csv``: a row per load, engine and CPU; what is not known is empty.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    path = Path(out_dir) / CSV_FILE
    with storing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, csv_text(LATENCY_COLUMNS, latency_rows(summary)))
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
    origin = words.rests(summary) + (f"; {kernel_text(kernel)}" if kernel else "")
    return Words(labels=printable(", ".join(labels_of(summary))), caption=printable(f"{origin}."))
