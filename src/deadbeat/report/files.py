"""Writes pages and figures, each replaced atomically."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deadbeat.report.canvas import FORMATS, Words
from deadbeat.report.charts import Chart
from deadbeat.report.charts_paper import draw_charts
from deadbeat.report.document import Document
from deadbeat.report.html import page
from deadbeat.store.files import atomic_write, storing


def write_page(path: Path, document: Document) -> Path:
    """The document as a page at ``path``, which is returned; its folder is made when missing.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    return write_text(path, page(document).encode("utf-8", "xmlcharrefreplace"))


def write_text(path: Path, text: str | bytes) -> Path:
    """Text or an encoded page at ``path``, as `write_page`."""
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)
    return path


def write_charts(
    folder: Path, charts: Sequence[Chart], words: Words, formats: Sequence[str] = FORMATS
) -> None:
    """Every chart in every format, in ``folder``, which is made when missing.

    Raises:
        DeadbeatError: The folder or a file cannot be written.
    """
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in draw_charts(charts, words, formats):
        atomic_write(folder / name, content)
