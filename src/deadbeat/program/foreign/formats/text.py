"""Text of events: ``trace`` of tracefs, atrace and systrace, trace-cmd report, perf script."""

from __future__ import annotations

from pathlib import Path

from deadbeat.program.foreign.base import TraceFormat, opened
from deadbeat.program.foreign.gathered import Gathered
from deadbeat.program.foreign.text import LINE, TextReader


def _read(path: Path) -> Gathered:
    with opened(path) as stream:
        return TextReader().read(stream)


FORMAT = TraceFormat(
    name="text of events",
    fits=lambda _, head: LINE.search(head.decode(errors="replace")) is not None,
    read=_read,
)
