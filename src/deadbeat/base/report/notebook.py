"""A result at a glance, and its figures, for a notebook. Every text is escaped."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import escape
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.document import Document
from deadbeat.base.report.html import picture
from deadbeat.base.report.paper import FORMATS, Words, draw_charts
from deadbeat.base.store.files import atomic_write


@frozen
class Drawing:
    """A figure: a notebook shows it, ``chart`` holds its numbers."""

    chart: Chart
    words: Words

    def content(self, kind: str = "svg") -> bytes:
        """The file's bytes; ``kind``: svg, png or pdf.

        Raises:
            UsageError: It is none of these. DeadbeatError: matplotlib is not installed.
        """
        if kind not in FORMATS:
            raise UsageError(
                f"{kind or 'no ending'} is not a format of a figure", ", ".join(FORMATS)
            )
        for _, found in draw_charts([self.chart], self.words, [kind]):
            return found
        raise DeadbeatError("matplotlib is not installed", "pip install matplotlib")

    def save(self, path: Path | str) -> Path:
        """Writes it; the ending of ``path`` says as what.

        Raises:
            UsageError: The ending is of no format. DeadbeatError: It cannot be drawn or written.
        """
        path = Path(path)
        drawn = self.content(path.suffix.removeprefix(".").lower())
        atomic_write(path, drawn)
        return path

    def _repr_html_(self) -> str:
        # as an image: whatever the figure says is not part of the notebook's page
        data = b64encode(self.content("svg")).decode()
        return f'<img alt="{escape(self.chart.title)}" src="data:image/svg+xml;base64,{data}">'


def glance(document: Document) -> str:
    """Name, labels, answer and picture of a result."""
    labels = "".join(f" <strong>{escape(label)}</strong>" for label in document.labels)
    lines = "".join(f"<p>{escape(line)}</p>" for line in document.answer)
    return f"<div><b>{escape(document.title)}</b>{labels}{lines}{picture(document)}</div>"
