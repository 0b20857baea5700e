"""rtla timerlat, ``hist`` and ``top``: values of the thread; those of the interrupt are a note.

An index of ``hist`` is the low end of a class as wide as ``-b``; ``ALL:`` is no CPU. COUNT of
``top`` is the interrupt's, ``-`` is no value. Its own period is 1 ms, its own policy SCHED_FIFO
with priority 95 (tools/tracing/rtla).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import takewhile

from deadbeat.base.model.words import time_text
from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    screens,
    seconds_of,
    starts,
    thread,
    whole,
)
from deadbeat.latencies.latency.model import CpuLatency

_HEAD = r"Index((?: +(?:IRQ|Thr|Usr)-\d+)+)"
_TOP = r"CPU +COUNT *\|.*"
_ROW = re.compile(r"^(\d+) +#(\d+) *\|([^|\n]*)\|([^|\n]*)(?:\|(.*))?$", re.M)
_LENGTH = r"(?:# Duration: *)?((?:\d+ +)?\d+:\d\d:\d\d)(?: *\|.*)?"
#: How it was called, where a prompt stands before a run.
_CALL = r"(?:.*[ $#])?rtla +timerlat\b.*"
_PERIOD = re.compile(r"\s(?:-p|--period)[= ]*(\d+)")
_POLICY = re.compile(r"\s(?:-P|--priority)[= ]*([fro]):(\d+)", re.I)
_POLICIES = {"f": "fifo", "r": "rr", "o": "other"}
_USUAL = {"interval_ns": 1_000_000, "priority": 95}
#: How far a length in whole seconds, and a thread that begins late, may be from its wake-ups, s.
_SLACK = 2.0


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    unit = 1 if re.search(r"nanoseconds \(ns\)|Latency \(ns\)", source.lines) else 1000
    length, notes = source.last(_LENGTH), []
    seconds = seconds_of(length[1]) if length else None
    if source.has(_HEAD):
        cpus, irq = _hist(source, unit)
    else:
        # The same of a table with a row a CPU: current, least, mean and greatest latency.
        last = {int(found[1]): found for found in _ROW.finditer(source.lines)}
        top_cpus, irq = [], {}
        for cpu, row in sorted(last.items()):
            values = [whole(cell) for cell in row[4].split() if cell.isdigit()]
            if row[3].split()[3].isdigit():
                irq[cpu] = whole(row[3].split()[3]) * unit
            # Each value of its own was a wake-up.
            top_cpus.append(
                thread(
                    cpu,
                    {},
                    step=unit,
                    cycles=max(int(row[2]), len({*values} - {values[2]}), 1) if values else 0,
                    least=values[1] if values else None,
                    greatest=values[3] if values else None,
                    mean=values[2] if values else None,
                )
            )
        cpus = tuple(top_cpus)
        notes.append("wake-ups are as many as interrupts: it counts no others")
    call = source.last(_CALL)
    period, policy = (form.search(call[0] if call else "") for form in (_PERIOD, _POLICY))
    usual = dict(_USUAL)
    interval = int(period[1]) * 1000 if period else user.interval_ns or usual["interval_ns"]
    most = max((cpu.cycles for cpu in cpus), default=0) * interval / 1e9
    if seconds and abs(most - seconds) > _SLACK + 0.02 * seconds:
        del usual["interval_ns"]  # it is not
    if irq:
        late = ", ".join(f"{time_text(value)} on CPU {cpu}" for cpu, value in irq.items())
        notes.append(f"the interrupt itself was late by at most {late}")
    if re.search(r"Usr-\d|Ret user", source.lines):
        notes.append("the returns to user space are left out")
    return Foreign(
        engine="timerlat",
        cpus=cpus,
        seconds=None if seconds and most < seconds / 2 else seconds,  # it was stopped
        interval_ns=interval if period else None,
        priority=int(policy[2]) if policy else None,
        policy=_POLICIES[policy[1].lower()] if policy else "",
        usual=usual,
        version="rtla timerlat",
        notes=tuple(notes),
    )


def _hist(source: ForeignFile, unit: int) -> tuple[tuple[CpuLatency, ...], dict[int, int]]:
    """The threads, and of each CPU the greatest latency of the interrupt, ns."""
    lines = source.lines.splitlines()
    begin = max(place for place, line in enumerate(lines) if re.fullmatch(_HEAD, line))
    columns = [(kind, int(cpu)) for kind, cpu in re.findall(r"(\w+)-(\d+)", lines[begin])]
    table = {
        cells[0].rstrip(":"): dict(zip(columns, cells[1:], strict=False))
        for line in takewhile(lambda line: not line.startswith("ALL"), lines[begin + 1 :])
        if len(cells := line.split()) == 1 + len(columns)
    }
    rows = {int(name): cells for name, cells in table.items() if name.isdigit()}
    width = math.gcd(*rows) or 1

    def of(name: str, column: tuple[str, int]) -> int:
        return whole(table.get(name, {}).get(column, "0"))

    found = []
    for column in columns:
        if column[0] == "Thr":
            counts = {
                index // width: whole(cells[column])
                for index, cells in rows.items()
                if whole(cells[column])
            }
            each = thread(
                column[1],
                counts,
                step=width * unit,
                cycles=sum(counts.values()) + of("over", column),
                least=of("min", column) / width if "min" in table else None,
                greatest=of("max", column) / width if "max" in table else None,
                mean=of("avg", column) / width if "avg" in table else None,
                beyond=max(rows, default=0) // width + 1,
            )
            if "count" in table and of("count", column) != each.cycles:
                raise ValueError(f"{each.cycles} values of CPU {column[1]}, not its count")
            found.append(each)
    if not found:
        raise ValueError("no latency of threads is in it (--no-thread)")
    greatest = table.get("max", {})
    irq = {
        cpu: int(value) * unit
        for (kind, cpu), value in greatest.items()
        if kind == "IRQ" and value.isdigit()
    }
    return tuple(found), irq


def _begins(lines: str) -> Iterator[int]:
    head = r"# RTLA timerlat.*\n(?:# .*\n)*"
    yield from starts(rf"(?:{_CALL}\n)?(?:{head})?{_HEAD}")(lines)
    title = rf"(?:Timer Latency\n)?(?:{_LENGTH}\n)?"
    yield from screens(rf"(?:{_CALL}\n)?{title}{_TOP}", _LENGTH, _ROW)(lines)


IMPORTER = Importer(
    name="rtla timerlat",
    engine="timerlat",
    fits=lambda source: (
        source.has(_HEAD) or (source.has(_TOP) and source.has(r".*Timer Latency.*"))
    ),
    read=_read,
    begins=_begins,
    hint="rtla timerlat hist > FILE writes what can be read",
)
