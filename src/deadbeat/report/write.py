"""Writes the report and its figures. The only place of this package that touches files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from deadbeat.model.results import Summary
from deadbeat.report.canvas import FORMATS
from deadbeat.report.figures import draw_figures
from deadbeat.report.page import render
from deadbeat.report.stress_table import STRESS_TERMINAL_COLUMNS, stress_rows, stress_sentence
from deadbeat.store.files import atomic_write, storing


def write_report(summary: Summary, out_dir: Path) -> Path:
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    path = Path(out_dir) / "report.html"
    _make_folder(path.parent)
    text = _plain_page(summary) if summary.mode == "stress" else render(summary)
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    atomic_write(path, text.encode("utf-8", "xmlcharrefreplace"))
    return path


def write_figures(summary: Summary, out_dir: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every figure in every format into ``out_dir``/figures and returns their paths.

    Raises:
        UsageError: A format is not known.
        DeadbeatError: The folder or a file cannot be written.
    """
    if summary.mode == "stress":
        return []
    folder = Path(out_dir) / "figures"
    _make_folder(folder)
    paths = []
    for name, content in draw_figures(summary, formats):
        atomic_write(folder / name, content)
        paths.append(folder / name)
    return paths


def _plain_page(summary: Summary) -> str:
    """The groups of a stress campaign as a table."""
    head = "".join(f"<th>{escape(heading)}</th>" for _, heading in STRESS_TERMINAL_COLUMNS)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(row[key])}</td>" for key, _ in STRESS_TERMINAL_COLUMNS)
        + "</tr>"
        for row in stress_rows(summary)
    )
    marks = ", ".join(summary.labels)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>deadbeat stress</title>'
        f"<p>{escape(stress_sentence(summary))}</p><p>{escape(marks)}</p>"
        f"<table><tr>{head}</tr>{body}</table></html>\n"
    )


def _make_folder(folder: Path) -> None:
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
