"""trace.dat of trace-cmd, which prints it: without plugins, which print events in forms of their
own, with flags and whole times."""

from __future__ import annotations

from pathlib import Path

from deadbeat.program.foreign.base import TraceFormat
from deadbeat.program.foreign.gathered import Gathered
from deadbeat.program.foreign.text import TextReader
from deadbeat.program.foreign.tool import read_by


def _read(path: Path) -> Gathered:
    words = ("trace-cmd", "report", "-N", "-t", "-l", "-i", str(path.absolute()))
    return read_by(words, "trace-cmd", TextReader().read)


FORMAT = TraceFormat(
    name="trace.dat",
    fits=lambda _, head: head.startswith(b"\x17\x08\x44tracing"),
    read=_read,
)
