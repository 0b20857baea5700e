"""Writes the report and its figures. The only place of this package that touches files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deadbeat.kinds.contention.page import render
from deadbeat.kinds.contention.paper_figures import draw_figures
from deadbeat.kinds.contention.stress_page import render_stress
from deadbeat.model.results import Summary
from deadbeat.report.canvas import FORMATS
from deadbeat.store.files import atomic_write, storing


def write_report(summary: Summary, out_dir: Path) -> Path:
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    path = Path(out_dir) / "report.html"
    _make_folder(path.parent)
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    page = render_stress(summary) if summary.mode == "stress" else render(summary)
    atomic_write(path, page.encode("utf-8", "xmlcharrefreplace"))
    return path


def write_figures(summary: Summary, out_dir: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every figure in every format into ``out_dir``/figures and returns their paths.

    Raises:
        UsageError: A format is not known.
        DeadbeatError: The folder or a file cannot be written.
    """
    folder = Path(out_dir) / "figures"
    _make_folder(folder)
    paths = []
    for name, content in draw_figures(summary, formats):
        atomic_write(folder / name, content)
        paths.append(folder / name)
    return paths


def _make_folder(folder: Path) -> None:
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
