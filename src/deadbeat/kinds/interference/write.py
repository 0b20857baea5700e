"""Writes what is derived from a load test: summary.json, summary.csv, report.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from deadbeat.model import histogram
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import QUANTILES_PPM
from deadbeat.model.load_summary import Estimate, LoadCell, LoadSummary
from deadbeat.store.files import atomic_write, write_json
from deadbeat.store.load import LoadStore
from deadbeat.store.place import REPORT_FILE
from deadbeat.store.summary import csv_text

_ESTIMATES = (
    "failures_per_s",
    "involuntary_per_s",
    "voluntary_per_s",
    "moves_per_s",
    "work_per_s",
    "work_lost",
)
_OF_CELL = (
    "condition", "normal", "runs", "invalid", "seconds", "released", "failures",
)  # fmt: skip
COLUMNS = (
    *_OF_CELL,
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")),
    "response_mean_ns", *(f"response_{name.replace('.', '_')}_ns" for name in QUANTILES_PPM),
    "response_max_ns", "cpu_share", "lost_waiting", "lost_stopped", "lost_slower", "lost_uncharged",
)  # fmt: skip


def cell_row(cell: LoadCell) -> dict[str, Any]:
    """A row of summary.csv; None where nothing was measured."""
    row: dict[str, Any] = {name: getattr(cell, name) for name in _OF_CELL}
    for name in _ESTIMATES:
        estimate: Estimate | None = getattr(cell, name)
        row[name] = estimate.value if estimate else None
        row[f"{name}_low"] = estimate.low if estimate else None
        row[f"{name}_high"] = estimate.high if estimate else None
    response = cell.response
    row["response_mean_ns"] = response.mean_ns if response else None
    for name, ppm in QUANTILES_PPM.items():
        value = response.quantile(ppm) if response else None
        row[f"response_{name.replace('.', '_')}_ns"] = value
    row["response_max_ns"] = response.max_ns if response else None
    row["cpu_share"] = cell.cpu_share
    for part in ("waiting", "stopped", "slower", "uncharged"):
        row[f"lost_{part}"] = getattr(cell.lost, part) if cell.lost else None
    return row


def summary_dict(summary: LoadSummary, **more: Any) -> dict[str, Any]:
    """JSON values of a summary; histograms as `model.histogram` writes them."""

    def plain(_owner: object, _field: object, value: Any) -> Any:
        return histogram.to_json(value) if isinstance(value, Histogram) else value

    return {**attrs.asdict(summary, value_serializer=plain), **more}


def write_load(
    store: LoadStore, summary: LoadSummary, *, figures: bool = True
) -> tuple[LoadSummary, Path]:
    """Everything derived, replaced atomically; the page's path."""
    from deadbeat.kinds.interference.page import render_load, write_figures  # noqa: PLC0415  heavy

    page = store.path / REPORT_FILE
    with store.lock():
        write_json(store.path / "summary.json", summary_dict(summary))
        atomic_write(
            store.path / "summary.csv", csv_text(COLUMNS, [cell_row(c) for c in summary.cells])
        )
        if figures:
            write_figures(summary, store.path / "figures")
        atomic_write(page, render_load(summary))
    return summary, page
