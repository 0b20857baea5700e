"""Writes the report and its figures. The only place of this package that touches files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deadbeat.model.errors import DataError
from deadbeat.model.results import Summary
from deadbeat.report.figures import FORMATS, draw_figures
from deadbeat.report.page import render


def write_report(summary: Summary, out_dir: Path) -> Path:
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path.

    Raises:
        DataError: The folder or file cannot be written.
    """
    path = Path(out_dir) / "report.html"
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    _write(path, render(summary).encode("utf-8", "xmlcharrefreplace"))
    return path


def write_figures(summary: Summary, out_dir: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes every figure in every format into ``out_dir``/figures and returns their paths.

    Raises:
        UsageError: A format is not known.
        DataError: The folder or a file cannot be written.
    """
    folder = Path(out_dir) / "figures"
    paths = []
    for name, content in draw_figures(summary, formats):
        _write(folder / name, content)
        paths.append(folder / name)
    return paths


def _write(path: Path, content: bytes) -> None:
    """Writes beside and renames, so that a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DataError(
            f"{path}: cannot be written: {error.strerror or error}",
            "check the free space and the permissions of the folder",
        ) from error
