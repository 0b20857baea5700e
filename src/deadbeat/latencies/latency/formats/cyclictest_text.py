"""cyclictest as text: a histogram (``-h``), else the line ``T:`` of each thread as it stood last.

Since rt-tests 2.7 a histogram has neither totals nor rows of zeros. Columns and numbers behind
``T:`` are threads; nothing says CPUs, nor microseconds or nanoseconds (``-N``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    thread,
    unit_of,
    whole,
)
from deadbeat.latencies.latency.model import CpuLatency

_ROW = re.compile(r"^(\d{6,})[ \t]+(\d[\d \t]*)$", re.M)
_THREAD = (
    r"T: *(\d+) *\( *\d+\) +P: *(\d+) +I: *(\d+) +C: *(\d+)"
    r" +Min: *(\d+) +Act: *-?\d+ +Avg: *(\d+) +Max: *(\d+)\b.*"
)
_HISTOGRAM = ("# Histogram", "# Max Latencies: .*")


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    lines = {
        int(found[1]): tuple(map(int, found.groups()[1:]))
        for found in re.finditer(f"^{_THREAD}$", source.lines, re.M)
    }
    policy, first = source.last(r"policy: (\w+): .*"), lines[min(lines)] if lines else None
    how = Foreign(
        threads=True,
        version="cyclictest",
        interval_ns=first[1] * 1000 if first else None,
        priority=first[0] if first else None,
        policy=policy[1] if policy else "other" if first and not first[0] else "",
    )
    if not source.has(*_HISTOGRAM):
        # A thread a line: priority, interval, cycles, least, mean, greatest.
        def spans(unit_ns: int) -> Iterator[float]:
            for _, interval, cycles, _, mean, _ in lines.values():
                yield cycles * (1 + mean * unit_ns // (interval * 1000)) * interval / 1e6

        ran = [values[3] for values in lines.values() if values[2]]
        step, notes = unit_of(user, min(ran, default=0), spans)
        cpus = tuple(
            thread(
                number,
                {},
                step=step,
                cycles=cycles,
                least=least,
                greatest=greatest,
                mean=mean,
                interval_ns=interval * 1000 if interval * 1000 != how.interval_ns else None,
            )
            for number, (_, interval, cycles, least, mean, greatest) in sorted(lines.items())
        )
        return evolve(how, cpus=cpus, notes=notes)
    return _of_columns(how, source.lines, user)


def _of_columns(how: Foreign, lines: str, user: Foreign) -> Foreign:
    """A row a latency, a column a thread; ``-H`` has one more, of all threads."""

    def numbers(word: str) -> list[int]:
        found = re.findall(rf"^# {word}: *(.*)$", lines, re.M)
        if len(found) > 1:
            raise ValueError(f"{len(found)} histograms are in it: import each from its own file")
        return list(map(whole, found[0].split())) if found else []

    rows = [(int(value), [int(n) for n in rest.split()]) for value, rest in _ROW.findall(lines)]
    totals, overflows = numbers("Total"), numbers("Histogram Overflows")
    least, greatest = numbers("Min Latencies"), numbers("Max Latencies")
    averages = numbers("Avg Latencies")
    if not least or any(len(counts) < len(least) for _, counts in rows):
        raise ValueError("it is cut off or changed")
    if any(len(found) < len(least) for found in (greatest, averages, totals or least)):
        raise ValueError(f"it lacks totals, maxima or averages of {len(least)} threads")
    columns = [
        {value: counts[place] for value, counts in rows if counts[place]}
        for place in range(len(least))
    ]
    overflows += [0] * len(least)
    interval = how.interval_ns or user.interval_ns or 0

    def spans(unit_ns: int) -> Iterator[float]:
        for counts in columns if interval else ():
            periods = (n * (1 + value * unit_ns // interval) for value, n in counts.items())
            yield sum(periods) * interval / 1e9

    ran = [low for low, counts in zip(least, columns, strict=True) if counts]
    step, notes = unit_of(user, min(ran, default=0), spans)

    def column(place: int, counts: dict[int, int]) -> CpuLatency:
        inside, beyond = sum(counts.values()), overflows[place]
        if totals and inside != totals[place]:
            raise ValueError(f"{inside} values of thread {place}, its total says {totals[place]}")
        mean = sum(value * n for value, n in counts.items()) / max(inside, 1)
        ends = (min(counts, default=0), max(counts, default=0))
        if (
            inside
            and not beyond
            and (ends != (least[place], greatest[place]) or abs(mean - averages[place]) > 1)
        ):
            raise ValueError(f"its rows of thread {place} are not those of its minimum and mean")
        return thread(
            place,
            counts,
            step=step,
            cycles=inside + beyond,
            least=least[place],
            greatest=greatest[place],
            mean=averages[place],
            beyond=max((value for value, _ in rows), default=-1) + 1,
        )

    return evolve(how, cpus=tuple(column(*each) for each in enumerate(columns)), notes=notes)


IMPORTER = Importer(
    name="cyclictest as text",
    engine="cyclictest",
    fits=lambda source: source.has(*_HISTOGRAM) or source.has(_THREAD),
    read=_read,
    hint="cyclictest -q -h 1000 > FILE writes what can be read",
)
