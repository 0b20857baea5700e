"""Tools of real-time users with files that hold no wake-up latency, or no more of it than a few
percentiles: refused by name.
"""

from __future__ import annotations

from typing import NoReturn

from deadbeat.base.model.errors import UsageError
from deadbeat.latencies.latency.foreign import Foreign, ForeignFile, Importer
from deadbeat.latencies.latency.formats.cyclictest_json import program

#: Tool, and lines that all of its files have; what rt-tests writes as JSON names its program.
_TEXTS = (
    (
        "stress-ng --cyclic",
        (r"stress-ng: .*\bcyclic: .*(?:latency percentiles|mean|samples).*",),
    ),
)


def _tool(source: ForeignFile) -> str:
    """The tool that wrote a file; "": none of these."""
    name = program(source.json)
    known = (tool for tool, lines in _TEXTS if source.has(*lines))
    return next(known, "" if name.startswith(("cyclictest", "oslat")) else name)


def _read(source: ForeignFile, user: Foreign) -> NoReturn:
    raise UsageError(f"is of {_tool(source)}: not every latency of a thread that a timer wakes up")


IMPORTER = Importer(
    name="a tool without wake-up latency",
    fits=lambda source: bool(_tool(source)),
    read=_read,
    refuses=True,
    hint="wake-ups are measured by deadbeat latency, cyclictest -h or rtla timerlat hist",
)
