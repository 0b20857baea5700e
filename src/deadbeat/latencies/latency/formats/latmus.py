"""``latmus -g FILE`` of EVL (Xenomai 4): a histogram for gnuplot.

A row n holds what was at least n and less than n + 1 us; ``n+`` also all above.
"""

from __future__ import annotations

import re
from decimal import Decimal

from attrs import evolve

from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    seconds_of,
    starts,
    thread,
)

_COUNT = r"# sample count: *(\d+)"


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    def said(what: str) -> str:
        found = source.last(rf"# {what}: *(.*)")
        if found is None:
            raise ValueError(f"it does not say its {what}")
        return found[1]

    if "irq" in said("context"):
        raise ValueError("no thread wakes up in it: its context is an interrupt")
    rows = re.findall(r"^(\d+)(\+?)[ \t]+(\d+)$", source.lines, re.M)
    counts = {int(value): int(n) for value, more, n in rows if int(n) and not more}
    beyond = min((int(value) for value, more, _ in rows if more), default=0)
    cycles, affinity = int(said("sample count")), said("thread affinity")
    if not affinity.startswith("CPU"):
        raise ValueError(f"its thread ran on {affinity}")
    over = sum(int(n) for _, more, n in rows if more)
    if sum(counts.values()) + over != cycles:
        raise ValueError(f"{sum(counts.values()) + over} values, its count says {cycles}")
    least, mean, greatest = (Decimal(said(f"{what} latency")) for what in ("min", "avg", "max"))
    kernel = source.last(r"# Linux version (\S+) .*(?:\n# ((?!libevl|sampling).*))?")
    cpu = thread(
        int(affinity.removeprefix("CPU")),
        counts,
        cycles=cycles,
        least=float(least),
        greatest=float(greatest),
        mean=float(mean),
        beyond=beyond,
    )
    # The mean that it says is not cut off.
    cpu = evolve(cpu, raw=evolve(cpu.raw, sum_ns=round(mean * 1000 * cycles)))
    return Foreign(
        engine="latmus",
        cpus=(cpu,),
        interval_ns=int(said("sampling period").split()[0]) * 1000,
        seconds=seconds_of(said(r"duration \(hhmmss\)")),
        priority=int(said("thread priority")),
        version="latmus of EVL",
        kernel=kernel[1] if kernel else "",
        cmdline=(kernel[2] or "") if kernel else "",
    )


IMPORTER = Importer(
    name="latmus of EVL",
    engine="latmus",
    fits=lambda source: source.has(_COUNT) and source.has(r"# (?:vDSO access|clock gravity): .*"),
    read=_read,
    begins=starts(r"(?:# .*\n)*# sampling period: .*"),
    hint="latmus -g FILE writes what can be read",
)
