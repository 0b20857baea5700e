"""Tools of real-time users with files that hold no wake-up latency, or no more of it than a few
percentiles: refused by name.
"""

from __future__ import annotations

from typing import NoReturn

from deadbeat.kinds.latency.foreign import Foreign, ForeignFile, Importer
from deadbeat.kinds.latency.formats.cyclictest_json import program
from deadbeat.model.errors import UsageError

_NOISE = "how long other work held a CPU, and no wake-up"
#: Tool, lines that all of its files have, and what is in them.
_TEXTS = (
    ("rtla osnoise", (r"# RTLA osnoise histogram.*",), _NOISE),
    ("rtla osnoise", (r"Operating System Noise", r"CPU +Period +Runtime +.*"), _NOISE),
    ("oslat", (r"Core:[\s\d]+", r"Counter Freq:.*"), "gaps in a busy loop, and no wake-up"),
    (
        "hwlatdetect",
        (r"hwlatdetect: +test duration .*",),
        "time that firmware takes from all CPUs, and no wake-up",
    ),
    (
        "stress-ng --cyclic",
        (r"stress-ng: .*\bcyclic: .*(?:latency percentiles|mean|samples).*",),
        "percentiles alone, of its first samples",
    ),
)
_PROGRAMS = {
    "oslat": "gaps in a busy loop, and no wake-up",
    "cyclicdeadline": "jobs of SCHED_DEADLINE, which begin when the budget is there",
}


def _what(source: ForeignFile) -> tuple[str, str]:
    """The tool that wrote a file, and what is in it; "": none of these."""
    for name, lines, what in _TEXTS:
        if source.has(*lines):
            return name, what
    name = program(source.json)
    if not name or name.startswith("cyclictest"):
        return "", ""
    return name, _PROGRAMS.get(name, "no latency of a thread that a timer wakes up")


def _read(source: ForeignFile, user: Foreign) -> NoReturn:
    raise UsageError("is of {}: {}".format(*_what(source)))


IMPORTER = Importer(
    name="a tool without wake-up latency",
    fits=lambda source: bool(_what(source)[0]),
    read=_read,
    hint="wake-ups are measured by deadbeat latency, cyclictest -h or rtla timerlat hist",
)
