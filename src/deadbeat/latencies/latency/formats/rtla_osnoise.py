"""rtla hwnoise and rtla osnoise, ``top`` and ``hist``: gaps that the kernel's osnoise tracer found
while it spun on each CPU; with hwnoise interrupts are off, so that the hardware alone makes any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import takewhile

from deadbeat.latencies.gaps import CAUSES, CpuGaps, FoundGaps
from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    screens,
    seconds_of,
    starts,
    whole,
)

_TITLE = r"(?:Operating System|Hardware-related) Noise"
_TOP = r"CPU +Period +Runtime +Noise .*"
_LENGTH = r"(?:# Duration|duration): *((?:\d+ +)?\d+:\d\d:\d\d)(?: *\|.*)?"
_ROW = re.compile(
    r"^(\d+) +#(\d+) +(\d+) +(\d+) +[\d.]+ +(\d+) +(\d+) +(\d+ +\d+(?: +\d+)*)$", re.M
)
_HIST = r"# RTLA osnoise histogram"
#: How it was called, where a prompt stands before a run.
_CALL = r"(?:.*[ $#])?rtla +(?:osnoise|hwnoise)\b.*"
_FROM = re.compile(r"\s(?:-T|--threshold)[= ]*(\d+)")


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    notes = []
    if source.has(_HIST):
        noise, hardware = _hist(source), False
        notes.append("taken to have looked all the time: osnoise -r makes it less")
    else:
        last = {int(found[1]): found for found in _ROW.finditer(source.lines)}
        hardware = source.has("Hardware-related Noise")
        noise = tuple(
            CpuGaps(
                cpu=cpu,
                looked_ns=int(row[3]) * 1000,
                longest_ns=int(row[6]) * 1000 if int(row[6]) else None,
                gaps=None if int(row[6]) else 0,
                noise_ns=int(row[4]) * 1000,
                causes=dict(zip(CAUSES, map(int, row[7].split()), strict=False)),
            )
            for cpu, row in sorted(last.items())
        )
        notes.append("the most noise of a period is left out")
    call = source.last(_CALL)
    threshold = _FROM.search(call[0] if call else "")
    if not threshold:
        notes.append("it does not say which gaps count: from 5 µs, from 1 µs since Linux 6.11")
    return Foreign(
        engine="hwnoise" if hardware else "osnoise",
        gaps=FoundGaps(
            cpus=noise,
            hardware=hardware,
            threshold_ns=int(threshold[1]) * 1000 if threshold else None,
        ),
        version=f"rtla {'hwnoise' if hardware else 'osnoise'}",
        notes=tuple(notes),
    )


def _hist(source: ForeignFile) -> tuple[CpuGaps, ...]:
    unit = 1 if "nanoseconds (ns)" in source.lines else 1000
    lines = source.lines.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("Index"))
    cpus = [int(cpu) for cpu in re.findall(r"CPU-(\d+)", lines[begin])]
    length = source.last(_LENGTH)
    looked = round(seconds_of(length[1]) * 1e9) if length else None
    if not cpus:  # no CPU had a gap
        return (CpuGaps(cpu=None, gaps=0),)
    table = {
        cells[0].rstrip(":"): dict(zip(cpus, cells[1:], strict=True))
        for line in takewhile(lambda line: not line.startswith("ALL"), lines[begin + 1 :])
        if len(cells := line.split()) == 1 + len(cpus)
    }
    rows = {int(name): cells for name, cells in table.items() if name.isdigit()}
    width = math.gcd(*rows) or 1
    found = []
    for cpu in cpus:
        over = whole(table.get("over", {}).get(cpu, "0"))
        filled = [index for index, cells in rows.items() if whole(cells[cpu])]
        count = sum(whole(cells[cpu]) for cells in rows.values()) + over
        if "count" in table and int(table["count"][cpu]) != count:
            raise ValueError(f"{count} gaps of CPU {cpu}, not its count")
        known = "max" in table
        end = max(rows, default=0) + width if over else max(filled, default=0)
        found.append(
            CpuGaps(
                cpu=cpu,
                looked_ns=looked,
                longest_ns=(int(table["max"][cpu]) if known else end) * unit,
                at_least=not known and bool(over),
                gaps=count,
                noise_ns=round(float(table["avg"][cpu]) * count * unit) if "avg" in table else None,
            )
        )
    return tuple(found)


def _begins(lines: str) -> Iterator[int]:
    yield from starts(rf"(?:{_CALL}\n)?{_HIST}")(lines)
    title = rf"(?:{_TITLE}\n)?(?:{_LENGTH}\n)?"
    yield from screens(rf"(?:{_CALL}\n)?{title}{_TOP}", _LENGTH, _ROW)(lines)


IMPORTER = Importer(
    name="rtla osnoise",
    fits=lambda source: source.has(_HIST) or source.has(_TITLE, _TOP),
    read=_read,
    begins=_begins,
    hint="rtla hwnoise -q > FILE writes what can be read",
)
