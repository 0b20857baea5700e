"""``latency`` of Xenomai 2 and 3, and latmus of EVL on a terminal, which print the same table.

Latencies may be negative: the timer is set early on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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

_NUMBER = r" *(-?\d+(?:\.\d+)?) *"
_WORST = r"RTH\|-*lat min\|-*lat avg\|-*lat max\|.*"
_SUM = rf"RTS\|{_NUMBER}\|{_NUMBER}\|{_NUMBER}\| *(\d+) *\|(?: *\d+ *\|)? *(\d+:\d\d:\d\d)/.*"
_ROW = rf"RTD\|{_NUMBER}\|{_NUMBER}\|{_NUMBER}\| *(\d+) *\|(?: *\d+ *\|)?{_NUMBER}\|{_NUMBER}"
_HOW = r"RTT\|.*\(.*?(\d+) us period, priority (\d+)(?:, CPU(\d+))?\)"
_UNITS = {"microseconds": 1000, "nanoseconds": 1, "milliseconds": 1_000_000}


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    unit = source.last(r"== All results in (\w+)")
    step = _UNITS[unit[1]] if unit else 1000
    how, period = source.last(_HOW), source.last(r"== Sampling period: *(\d+) us")
    rows = re.findall(f"^{_ROW}$", source.lines, re.M)
    if found := source.last(_SUM):
        least, mean, greatest = (Decimal(found[place]) for place in (1, 2, 3))
        overruns, seconds = int(found[4]), seconds_of(found[5])
    else:  # it was ended: a row a second
        mean = sum((Decimal(row[1]) for row in rows), Decimal()) / len(rows)
        least, greatest = Decimal(rows[-1][4]), Decimal(rows[-1][5])
        overruns, seconds = int(rows[-1][3]), float(len(rows))
    interval = int(how[1] if how else period[1] if period else 0) * 1000
    if not interval:
        raise ValueError("it does not say its period")
    cycles = round(seconds * 1e9 / interval)
    of_evl = how is not None and how[3] is not None
    cpu = thread(
        int(how[3]) if how and of_evl else 0,
        {},
        step=1,
        cycles=cycles - overruns,
        least=round(least * step),
        greatest=round(greatest * step),
        mean=float(mean * step),
    )
    return Foreign(
        engine="latmus" if of_evl else "xenomai",
        cpus=(evolve(cpu, missed=overruns),),
        threads=not of_evl,
        skips=False,
        interval_ns=interval,
        seconds=seconds,
        priority=int(how[2]) if how else None,
        version="latmus of EVL" if of_evl else "latency of Xenomai",
        notes=(
            f"{cycles} periods, as many as its time holds; an overrun is one without a wake-up",
        ),
    )


def _begins(lines: str) -> Iterator[int]:
    """A run begins where its head stands, or its clock goes back."""
    yield from starts("== Sampling period: .*")(lines)
    before = 0.0
    for found in re.finditer(r"^(?:(== Sampling .*)|RTT\| *(\d+:\d\d:\d\d).*)$", lines, re.M):
        now = seconds_of(found[2]) if found[2] else -1.0
        if 0 <= now <= before:
            yield found.start()
        before = now


IMPORTER = Importer(
    name="latency of Xenomai",
    engine="xenomai",
    fits=lambda source: source.has(_WORST) and (source.has(_SUM) or source.has(_ROW)),
    read=_read,
    begins=_begins,
    hint="latency -T 60 > FILE writes what can be read",
)
