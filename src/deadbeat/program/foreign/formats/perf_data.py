"""perf.data, which perf prints."""

from __future__ import annotations

from pathlib import Path

from deadbeat.program.foreign.base import TraceFormat
from deadbeat.program.foreign.gathered import Gathered
from deadbeat.program.foreign.text import TextReader
from deadbeat.program.foreign.tool import read_by

_FIELDS = "comm,pid,tid,cpu,time,event,trace"


def _read(path: Path) -> Gathered:
    words = ("perf", "script", "-f", "--ns", "--show-lost-events", "-F", _FIELDS)
    return read_by((*words, "-i", str(path.absolute())), "linux-perf", TextReader().read)


FORMAT = TraceFormat(
    name="perf.data", fits=lambda _, head: head.startswith(b"PERFILE2"), read=_read
)
