"""rtla timerlat, ``hist`` and ``top``: values of the thread; those of the interrupt are a note.

An index of ``hist`` is the low end of a class as wide as ``-b``; ``ALL:`` is no CPU. Its own period
is 1 ms, its own policy SCHED_FIFO with priority 95 (tools/tracing/rtla).
"""

from __future__ import annotations

import math
import re
from itertools import takewhile

from deadbeat.base.model.words import time_text
from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    seconds_of,
    thread,
    whole,
)
from deadbeat.latencies.latency.model import CpuLatency

_HEAD = r"Index((?: +(?:IRQ|Thr|Usr)-\d+)+)"
_TOP = r"CPU +COUNT *\|.*"
_ROW = re.compile(r"^(\d+) +#(\d+) *\|([^|\n]*)\|([^|\n]*)(?:\|.*)?$", re.M)
_LENGTH = r"(?:# Duration: *)?((?:\d+ +)?\d+:\d\d:\d\d)(?: *\|.*)?"
_USUAL = {"interval_ns": 1_000_000, "priority": 95}
#: How far a length in whole seconds, and a thread that begins late, may be from its wake-ups, s.
_SLACK = 2.0


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    unit = 1 if re.search(r"nanoseconds \(ns\)|Latency \(ns\)", source.lines) else 1000
    length = source.last(_LENGTH)
    seconds = seconds_of(length[1]) if length else None
    if source.has(_HEAD):
        cpus, irq = _hist(source, unit)
    else:
        # The same of a table with a row a CPU: current, least, mean and greatest latency.
        last = {int(found[1]): found for found in _ROW.finditer(source.lines)}
        top_cpus, top_irq = [], {}
        for cpu, row in sorted(last.items()):
            _, least, mean, greatest = (whole(cell) for cell in row[4].split())
            top_irq[cpu] = whole(row[3].split()[3]) * unit
            top_cpus.append(
                thread(
                    cpu,
                    {},
                    step=unit,
                    cycles=int(row[2]),
                    least=least,
                    greatest=greatest,
                    mean=mean,
                )
            )
        cpus, irq = tuple(top_cpus), top_irq
    interval = user.interval_ns or _USUAL["interval_ns"]
    most = max((cpu.cycles for cpu in cpus), default=0) * interval / 1e9
    usual = dict(_USUAL)
    if seconds and abs(most - seconds) > _SLACK + 0.02 * seconds:
        del usual["interval_ns"]  # it is not
    late = [f"{time_text(value)} on CPU {cpu}" for cpu, value in irq.items()]
    return Foreign(
        engine="timerlat",
        cpus=cpus,
        seconds=seconds or None,
        usual=usual,
        version="rtla timerlat",
        notes=(f"the interrupt itself was late by at most {', '.join(late)}",) if late else (),
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
                mean=of("avg", column) / width,
                beyond=max(rows, default=0) // width + 1,
            )
            if "count" in table and of("count", column) != each.cycles:
                raise ValueError(f"{each.cycles} values of CPU {column[1]}, not its count")
            found.append(each)
    if not found:
        raise ValueError("no latency of threads is in it (--no-thread)")
    irq = {cpu: of("max", (kind, cpu)) * unit for kind, cpu in columns if kind == "IRQ"}
    return tuple(found), irq if "max" in table else {}


IMPORTER = Importer(
    name="rtla timerlat",
    engine="timerlat",
    fits=lambda source: (
        source.has(_HEAD) or (source.has(_TOP) and source.has(r".*Timer Latency.*"))
    ),
    read=_read,
    hint="rtla timerlat hist > FILE writes what can be read",
)
