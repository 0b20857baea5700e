"""Results of other tools as runs of a matrix: what their files say, and what they do not.

cyclictest (rt-tests 2.4 and 2.40, as JSON or text), jitterdebugger (formats 1 to 3) and the "RT
Dataset" of OSADL's QA farm (github.com/osadl/Latencyplot, version 1.0).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import isclose
from typing import Any

from attrs import evolve, frozen

from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import (
    Circumstances,
    CpuLatency,
    LatencyKey,
    LatencyRun,
    LoadPoint,
    LoadReport,
)
from deadbeat.model.rules import duration_text

_INTERVAL_MAX_NS, _PERIODS_LATE_MAX = 10**12, 10**6
#: What no latency reaches; sums of 10^9 of them still are whole numbers of 64 bits.
_LONGEST_NS = 10**16 * 3
_NOT_RECORDED = (
    "read from a file: what else ran, load, temperature, steal and the like are not known;"
    " priority and policy are as asked for, not as read back"
)
#: What reading a damaged file raises.
_DAMAGE = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError)


@frozen(kw_only=True)
class Foreign:
    """What a file, or a person who imports it, says. None and "": it does not.

    Attributes:
        cpus: What each thread saw; what follows from the interval is not in it yet.
        skips: Whether periods that passed while a wake-up was late were skipped, as cyclictest
            does; else the next sleep begins after a late wake-up, and nothing is missed.
    """

    engine: str = "cyclictest"
    cpus: tuple[CpuLatency, ...] = ()
    skips: bool = True
    interval_ns: int | None = None
    seconds: float | None = None
    priority: int | None = None
    policy: str = ""
    started: str = ""
    version: str = ""
    host: str = ""
    kernel: str = ""
    cmdline: str = ""


@frozen(kw_only=True)
class Importer:
    """A format: ``what`` a damaged file is not, and a hint how to write one that is."""

    name: str
    engine: str
    fits: Callable[[str], bool]
    read: Callable[[str], Foreign]
    what: str
    hint: str

    def take(self, text: str, name: str) -> Foreign:
        """What the file ``name`` says; DataError where it is damaged."""
        try:
            found = self.read(text)
        except _DAMAGE as error:
            said = str(error).strip()
            why = said.splitlines()[0][:100] if said else type(error).__name__
            raise DataError(f"{name} is {self.what}: {why}", self.hint) from error
        if not found.cpus:
            raise DataError(f"{name} holds no figures of any CPU", f"is it of {self.name}?")
        return found


def foreign_engines() -> tuple[str, ...]:
    """Engines whose results can be read."""
    return tuple(sorted({importer.engine for importer in IMPORTERS}))


def read_foreign(text: str, name: str) -> Foreign:
    """What a file of another tool says; DataError of none of the known formats, or damaged."""
    for importer in IMPORTERS:
        if importer.fits(text):
            return importer.take(text, name)
    known = ", ".join(importer.name for importer in IMPORTERS)
    raise DataError(f"{name} is in no known format", f"one of: {known}")


def as_run(
    foreign: Foreign, load: LoadPoint, repeat: int, *, name: str, told: Foreign
) -> LatencyRun:
    """A run of what a file says; ``told`` serves where it says nothing."""
    _refuse_other(foreign, told, name)
    interval = foreign.interval_ns or told.interval_ns
    if interval is not None and not 0 < interval <= _INTERVAL_MAX_NS:
        raise DataError(f"{name}: an interval of {interval} ns", "is the file damaged?")
    if interval is None:
        raise UsageError(f"{name} does not say its interval", "give it with --interval")
    policy = foreign.policy or "fifo"
    priority = foreign.priority if foreign.priority is not None else told.priority
    if priority is None:
        raise UsageError(f"{name} does not say its priority", "give it with --priority")
    seconds = foreign.seconds or told.seconds
    if any((cpu.raw.max_ns or 0) // interval > _PERIODS_LATE_MAX for cpu in foreign.cpus):
        raise DataError(f"{name}: a latency of more than a million periods", "is it damaged?")
    cpus = tuple(_cpu(cpu, foreign.skips, seconds, interval) for cpu in foreign.cpus)
    return LatencyRun(
        key=LatencyKey(load, foreign.engine, repeat),
        started=foreign.started,
        seconds=seconds or max(cpu.expected for cpu in cpus) * interval / 1e9,
        interval_ns=interval,
        priority=priority if policy != "other" else 0,
        policy=policy,
        cpus=cpus,
        load=LoadReport(asked=load.percent),
        circumstances=Circumstances(missing={"all": f"read from {name}"}),
        problems=(Finding(id="imported", severity="warning", message=_NOT_RECORDED),),
        engine_version=foreign.version,
    )


def _refuse_other(foreign: Foreign, told: Foreign, name: str) -> None:
    """What a file says is not said otherwise: nobody knows which of the two is right."""
    pairs: tuple[tuple[str, float | None, float | None, float, Callable[[float], str]], ...] = (
        ("--priority", told.priority, foreign.priority, 0.0, "{:g}".format),
        ("--interval", told.interval_ns, foreign.interval_ns, 0.0, lambda n: duration_text(int(n))),
        ("--duration", told.seconds, foreign.seconds, 0.01, "{:g} s".format),
    )
    for option, asked, said, near, text in pairs:
        if asked is not None and said is not None and not isclose(asked, said, rel_tol=near):
            message = f"{option} {text(asked)}: {name} says {text(said)}"
            raise UsageError(message, f"leave {option} out, or say the same")


def _cpu(cpu: CpuLatency, skips: bool, seconds: float | None, interval_ns: int) -> CpuLatency:
    if not skips:
        return evolve(cpu, expected=cpu.cycles)
    found = expecting(cpu, seconds=seconds or 0.0, interval_ns=interval_ns)
    return found if seconds is not None else evolve(found, expected=found.cycles + found.missed)


def expecting(cpu: CpuLatency, *, seconds: float, interval_ns: int) -> CpuLatency:
    """``cpu`` with what follows from the interval: expected and missed wake-ups, and ``corrected``.

    cyclictest skips the periods that passed while it was late, and does not say so: after a latency
    of k periods and a bit, k are skipped (``timerthread`` of cyclictest.c moves on to the next
    moment in the future). Each would have been served when the late one was. That fewer cycles than
    ``seconds`` allow are there otherwise only says that a thread began late.
    """
    corrected = with_missed(cpu.raw, interval_ns)
    # Each that overflowed skipped so many periods at least; how late they would have been is not
    # known, so neither is what is corrected.
    beyond = cpu.raw.overflow * ((cpu.raw.overflow_from_ns or 0) // interval_ns)
    return evolve(
        cpu,
        expected=int(seconds * 1e9) // interval_ns,
        missed=corrected.total - cpu.raw.total + beyond,
        corrected=None if beyond else corrected,
    )


def with_missed(raw: Histogram, interval_ns: int) -> Histogram:
    """``raw`` and a value for every period that was skipped: latency - m x interval for the m-th.

    As HdrHistogram's correction of coordinated omission, for latencies that reach the interval; a
    latency counts as the least one of its bucket. What overflowed gets none.
    """
    skipped: Counter[int] = Counter()
    for low, count in zip(raw.lows_ns().tolist(), raw.counts.tolist(), strict=True):
        for value in range(low - interval_ns, -1, -interval_ns):
            skipped[value] += count
    return raw + Histogram.counted(skipped)


# ---------- what formats have in common ----------


def _thread(
    number: int,
    counts: Mapping[int, int],
    *,
    step: int = 1000,
    cycles: int,
    least: int | None = None,
    greatest: int | None = None,
    mean: float = 0.0,
) -> CpuLatency:
    """A thread whose latencies are ``counts``, in units of ``step`` ns; those of its ``cycles``
    that are not among them overflowed.

    Args:
        least, greatest, mean: As the source says them; None: from the counts.
    """
    inside = sum(counts.values())
    overflow = cycles - inside
    if overflow < 0 or min(counts.values(), default=1) <= 0:
        raise ValueError(f"{inside} values in the histogram of {cycles} cycles")
    if min(counts, default=0) < 0 or max(counts, default=0) * step >= _LONGEST_NS:
        raise ValueError("a latency below 0 or above a year")
    raw = Histogram.counted(
        {value * step: count for value, count in counts.items()}, resolution_ns=step
    )
    low = raw.min_ns if least is None else least * step
    # cut off below: what was called 16 us was less than 17
    high = raw.max_ns if greatest is None else greatest * step
    raw = evolve(raw, min_ns=low if cycles else None, max_ns=high if cycles else None)
    if overflow:
        raw = evolve(
            raw,
            sum_ns=round(mean * cycles) * step,
            overflow=overflow,
            overflow_from_ns=(max(counts, default=-1) + 1) * step,
        )
    return CpuLatency(cpu=number, expected=0, cycles=cycles, missed=0, raw=raw)


def _thread_of_json(number: str, values: Any, cycles: str, step: int = 1000) -> CpuLatency:
    """``cycles``: under which key it has the number of its values."""
    if "histogram" not in values:
        raise KeyError("no histogram (-h) in it")
    return _thread(
        int(values.get("cpu", number)),
        {int(value): int(count) for value, count in values["histogram"].items()},
        step=step,
        cycles=int(values[cycles]),
        least=int(values["min"]),
        greatest=int(values["max"]),
        mean=float(values["avg"]),
    )


def _in_order(threads: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(threads.items(), key=lambda item: int(item[0]))


def _kernel(system: Mapping[str, object]) -> str:
    return f"{system.get('release', '')} {system.get('version', '')}".strip()


_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: Of cyclictest itself: what it does unasked.
_INTERVAL_US = 1000


def called(command: str, *, threads: int) -> Foreign:
    """What a command line of cyclictest says; nothing of none.

    As version 2.40 does, seen by reading back: any ``-p`` asks for SCHED_FIFO, a priority above 0
    overrules another policy, and a real-time policy without one has the number of threads + 1.
    """
    if not command.strip():
        return Foreign()

    def said(letter: str, name: str) -> str:
        # Letters may stand together, the last with its value, glued or not: -mSp99.
        option = rf"(?<!\S)(?:-[A-Za-z]*{letter}(?=[\s\d])\s*|--{name}[=\s]\s*)(\w+)"
        return str((re.findall(option, command) or [""])[-1])

    interval, priority = said("i", "interval"), said("p", "priority")
    number = int(priority) if priority.isdigit() else 0
    policy = said("(?!)", "policy") or ("fifo" if priority.isdigit() else "other")
    if policy not in ("fifo", "rr"):
        policy = "fifo" if number else "other"
    elif number == 0:
        number = threads + 1
    match = re.fullmatch(r"(\d+)([smhd]?)", said("D", "duration"))
    return Foreign(
        interval_ns=(int(interval) if interval.isdigit() else _INTERVAL_US) * 1000,
        priority=number,
        policy=policy,
        seconds=float(int(match[1]) * _UNITS_S[match[2]]) if match else None,
    )


# ---------- formats ----------


def _cyclictest(text: str) -> Foreign:
    """With its known defects: keys end in a colon (``rt_test_version:``); ``resolution_in_ns`` is 1
    for nanoseconds and 0 for microseconds; what exceeds the histogram is in ``cycles`` and nowhere
    else; missed wake-ups, interval, priority and policy are not there at all."""
    plain = json.loads(text)

    def either(key: str) -> str:
        return str(plain.get(f"{key}:", plain.get(key, "")))

    step = 1 if plain["resolution_in_ns"] else 1000
    cpus = tuple(_thread_of_json(*each, "cycles", step) for each in _in_order(plain["thread"]))
    system, started = plain.get("sysinfo", {}), str(plain.get("start_time", ""))
    with suppress(ValueError, TypeError):  # as it stands
        started = parsedate_to_datetime(started).isoformat(timespec="seconds")
    return evolve(
        called(either("cmdline"), threads=len(cpus)),
        cpus=cpus,
        started=started,
        version=f"cyclictest V {either('rt_test_version')}".strip(),
        host=str(system.get("nodename", "")),
        kernel=_kernel(system),
    )


_LINE = re.compile(r"^(\d{6,})[ \t]+(\d[\d \t]*)$", re.M)


def _text(text: str) -> Foreign:
    """A line per microsecond, a column per thread."""

    def numbers(word: str) -> list[int]:
        match = re.search(rf"^# {word}: *([\d ]+)$", text, re.M)
        return [int(number) for number in match[1].split()] if match else []

    rows = [(int(value), [int(n) for n in rest.split()]) for value, rest in _LINE.findall(text)]
    totals, overflows = numbers("Total"), numbers("Histogram Overflows")
    least, greatest = numbers("Min Latencies"), numbers("Max Latencies")
    averages = numbers("Avg Latencies")
    # -H has a column more, of all threads, in the lines and in the total.
    threads = len(least)
    if not threads or any(len(counts) < threads for _, counts in rows):
        raise ValueError("it is cut off or changed")
    if any(len(found) < threads for found in (totals, greatest, averages)):
        raise ValueError(f"it lacks totals, maxima or averages of {threads} threads")

    def column(thread: int) -> CpuLatency:
        counts = {value: row[thread] for value, row in rows if row[thread]}
        inside = sum(counts.values())
        if inside != totals[thread]:
            raise ValueError(f"{inside} values of thread {thread}, its total says {totals[thread]}")
        return _thread(
            thread,
            counts,
            cycles=inside + sum(overflows[thread : thread + 1]),
            least=least[thread],
            greatest=greatest[thread],
            mean=float(averages[thread]),
        )

    return Foreign(cpus=tuple(map(column, range(threads))), version="cyclictest")


def _jitterdebugger(text: str) -> Foreign:
    plain = json.loads(text)
    system = plain.get("sysinfo") or {}
    return Foreign(
        engine="jitterdebugger",
        cpus=tuple(_thread_of_json(*each, "count") for each in _in_order(plain["cpu"])),
        # It sleeps anew after each wake-up, however late that was.
        skips=False,
        version=f"jitterdebugger, format {plain['version']}",
        host=str(system.get("nodename", "")),
        kernel=_kernel(system),
    )


def _osadl(text: str) -> Foreign:
    plain = json.loads(text)
    latency, condition = plain["latency"], plain.get("condition") or {}
    if latency.get("granularity", "microseconds") != "microseconds":
        raise ValueError(f"granularity {latency['granularity']}")
    values, *cores = latency["cores"]
    maxima = latency.get("maxima") or []
    kernel = plain.get("kernel") or {}
    return evolve(
        called(str(condition.get("cyclictest", "")), threads=len(cores)),
        interval_ns=int(condition["interval"]) * 1000,
        cpus=tuple(
            _core(number, values, counts, maxima[number : number + 1])
            for number, counts in enumerate(cores)
        ),
        started=str((plain.get("timestamps") or {}).get("origin", "")),
        version="cyclictest (OSADL RT Dataset)",
        host=str((plain.get("system") or {}).get("hostname", "")),
        kernel=str(kernel.get("version", "")),
        cmdline=str(kernel.get("cmdline", "")),
    )


def _core(number: int, values: list[Any], counts: list[Any], maximum: list[Any]) -> CpuLatency:
    if len(values) != len(counts):
        raise ValueError(f"core {number} has {len(counts)} counts of {len(values)} classes")
    found = {int(v): int(n) for v, n in zip(values, counts, strict=True) if int(n)}
    inside = sum(found.values())
    # One maximum above all classes: at least one latency overflowed; how many nobody says.
    beyond = int(maximum[0]) > max(map(int, values)) if maximum else False
    return _thread(
        number,
        found,
        cycles=inside + beyond,
        greatest=int(maximum[0]) if beyond else max(found, default=0),
        mean=sum(v * n for v, n in found.items()) / max(inside, 1),
    )


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


CYCLICTEST = Importer(
    name="cyclictest --json",
    engine="cyclictest",
    fits=lambda text: _is_json(text) and '"resolution_in_ns"' in text,
    read=_cyclictest,
    what="not JSON of cyclictest",
    hint="cyclictest --json=FILE -h 1000000 writes what can be read",
)
IMPORTERS = (
    CYCLICTEST,
    Importer(
        name="cyclictest -h as text",
        engine="cyclictest",
        fits=lambda text: "# Histogram" in text and "# Max Latencies:" in text,
        read=_text,
        what="no complete histogram of cyclictest",
        hint="cyclictest -q -h 1000 > FILE writes what can be read",
    ),
    Importer(
        name="jitterdebugger",
        engine="jitterdebugger",
        fits=lambda text: (
            _is_json(text) and '"cpu"' in text and '"histogram"' in text
            and '"resolution_in_ns"' not in text and '"latency"' not in text
        ),
        read=_jitterdebugger,
        what="not JSON of jitterdebugger",
        hint="jitterdebugger -f FILE writes what can be read",
    ),
    Importer(
        name="OSADL RT Dataset",
        engine="cyclictest",
        fits=lambda text: _is_json(text) and '"RT Dataset"' in text,
        read=_osadl,
        what="no RT Dataset of OSADL",
        hint="mk-rtdataset.py of OSADL's Latencyplot writes what can be read",
    ),
)  # fmt: skip
