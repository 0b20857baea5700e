"""cyclictest as text: a histogram (``-h``), else the line ``T:`` of each thread as it stood last,
else every value (``-v``).

Since rt-tests 2.7 a histogram has neither totals nor rows of zeros. Columns and numbers behind
``T:`` are threads; nothing says CPUs, nor microseconds or nanoseconds (``-N``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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
from deadbeat.latencies.latency.formats.cyclictest_json import called, pinned
from deadbeat.latencies.latency.model import CpuLatency

_ROW = re.compile(r"^(\d{6,})[ \t]+(\d[\d \t]*)$", re.M)
_THREAD = (
    r"T: *(?P<thread>\d+) *\( *(?P<pid>\d+)\) +P: *(\d+) +I: *(\d+) +C: *(?P<cycle>\d+)"
    r" +Min: *(\d+) +Act: *-?\d+ +Avg: *(\d+) +Max: *(\d+)\b.*"
)
_HISTOGRAM = ("# Histogram", "# Max Latencies: .*")
_VALUE = r"(\d+): *(\d+): *(-?\d+)"
#: How it was called, where a prompt stands before a run; and what else may stand there.
_CALL = r"(?:.*[ $#/])?(cyclictest +-.*)"
_BEFORE = re.compile(
    rf"{_CALL}|# /dev/cpu_dma_latency .*|policy: .*|(?:Max|Online) CPUs = .*"
    r"|Thread \d+ Interval: .*|"
)
#: Of verbose output the interval of the thread after the one that is named.
_NEXT = re.compile(r"^Thread (\d+) Interval: (\d+)$", re.M)


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    call = source.last(_CALL)
    turns = pinned(call[1] if call else "")
    found = _by_thread(source, user, call[1] if call else "")
    if not turns:
        return found
    cpus = (evolve(cpu, cpu=turns[cpu.cpu % len(turns)]) for cpu in found.cpus)
    return evolve(found, threads=False, cpus=tuple(cpus))


def _by_thread(source: ForeignFile, user: Foreign, command: str) -> Foreign:
    lines = {
        int(found[1]): tuple(map(int, found.groups()[2:]))
        for found in re.finditer(f"^{_THREAD}$", source.lines, re.M)
    }
    policy, first = source.last(r"policy: (\w+): .*"), lines[min(lines)] if lines else None
    how = called(command, threads=len(lines) or 1)
    how = evolve(how, threads=True, version="cyclictest")
    user = evolve(user, unit_ns=how.unit_ns if user.unit_ns is None else user.unit_ns)
    if first:
        how = evolve(
            how,
            interval_ns=first[1] * 1000,
            priority=first[0],
            policy=policy[1] if policy else how.policy or ("other" if not first[0] else ""),
        )
    if len({values[0] for values in lines.values()}) > 1:
        each = ", ".join(f"{values[0]} of thread {n}" for n, values in sorted(lines.items()))
        how = evolve(how, notes=(f"priorities differ: {each}",))
    if not source.has(*_HISTOGRAM) and not lines:
        return _of_values(how, source.lines, user)
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
        return evolve(how, cpus=cpus, notes=(*how.notes, *notes))
    return _of_columns(how, source.lines, user)


def _of_columns(how: Foreign, lines: str, user: Foreign) -> Foreign:
    """A row a latency, a column a thread; ``-H`` has one more, of all threads."""

    def numbers(word: str) -> list[int]:
        found = re.findall(rf"^# {word}: *(.*)$", lines, re.M)
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

    cpus = tuple(column(*each) for each in enumerate(columns))
    return evolve(how, cpus=cpus, notes=(*how.notes, *notes))


def _of_values(how: Foreign, lines: str, user: Foreign) -> Foreign:
    """A line a wake-up: its thread, its cycle, its latency."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    last: dict[int, int] = {}
    for number, cycle, value in re.findall(f"^{_VALUE}$", lines, re.M):
        found[int(number)][int(value)] += 1
        last[int(number)] = int(cycle)
    step, notes = unit_of(user, min(map(min, found.values())), lambda unit_ns: iter(()))
    lost = sum(last[number] + 1 - counts.total() for number, counts in found.items())
    if lost:
        notes += (f"{lost} of its wake-ups are not in it",)
    later = {int(number): int(interval) for number, interval in _NEXT.findall(lines)}
    apart = later[1] - later[0] if {0, 1} <= later.keys() else None
    own = {n: (each - apart) * 1000 for n, each in later.items()} if apart is not None else {}
    cpus = tuple(
        thread(number, counts, step=step, cycles=counts.total(), interval_ns=own.get(number))
        for number, counts in sorted(found.items())
    )
    interval = own.get(0, how.interval_ns)
    return evolve(how, cpus=cpus, interval_ns=interval, notes=(*how.notes, *notes))


def _begins(lines: str) -> Iterator[int]:
    """A run begins where a thread has another number or fewer cycles, or after a histogram."""
    form = rf"^(?:{_THREAD}|(?P<all># Histogram)|(?P<of>\d+): *(?P<at>\d+): *-?\d+)$"
    seen: dict[str, tuple[str | None, int]] = {}
    for found in re.finditer(form, lines, re.M):
        key = found["all"] or found["of"] or f"T{found['thread']}"
        who, cycle = found["pid"], int(found["cycle"] or found["at"] or 0)
        pid, past = seen.get(key, (who, -1))
        if not seen or pid != who or past > cycle - (not who) or (who and "# Histogram" in seen):
            seen, at = {}, found.start()
            while at and _BEFORE.fullmatch(lines, lines.rfind("\n", 0, at - 1) + 1, at - 1):
                at = lines.rfind("\n", 0, at - 1) + 1
            yield at
        seen[key] = (who, cycle)


IMPORTER = Importer(
    name="cyclictest as text",
    engine="cyclictest",
    fits=lambda source: (
        source.has(*_HISTOGRAM)
        or source.has(_THREAD)
        or (source.has(_VALUE) and source.has(r"(?:Max|Online) CPUs = \d+|# /dev/cpu_dma.*"))
    ),
    read=_read,
    begins=_begins,
    hint="cyclictest -q -h 1000 > FILE writes what can be read",
)
