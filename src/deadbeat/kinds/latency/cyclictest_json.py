"""What cyclictest (rt-tests) writes with ``--json``, read with its known defects.

Seen in versions 2.4 and 2.40: keys end in a colon (``rt_test_version:``); ``resolution_in_ns`` is 1
for nanoseconds and 0 for microseconds; what exceeds the histogram is in ``cycles`` and nowhere
else; missed wake-ups, interval, priority and policy are not there at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.model.errors import DataError
from deadbeat.model.histogram import Histogram, bucket_of
from deadbeat.model.latency import CpuLatency

#: What reading a damaged file raises.
DAMAGE = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError)
#: What no latency reaches; sums of 10^9 of them still are whole numbers of 64 bits.
_LONGEST_NS = 10**16 * 3
_HINT = "cyclictest --json=FILE -h 1000000 writes what can be read"


@frozen(kw_only=True)
class CyclictestResult:
    """One run of cyclictest.

    Attributes:
        version: Of rt-tests; "" where the file does not say.
        command: As it was called.
        started, ended: As the file says.
        cpus: What each thread saw, without what the file does not tell: ``expected`` is 0 there,
            `expecting` puts it in.
        host: Name of the machine.
        kernel: Release and version.
        realtime: Whether the kernel said it is PREEMPT_RT.
    """

    version: str
    command: str
    started: str
    ended: str
    cpus: tuple[CpuLatency, ...]
    host: str = ""
    kernel: str = ""
    realtime: bool = False


def read_cyclictest(text: str, *, name: str) -> CyclictestResult:
    """The result in a JSON text.

    Args:
        name: What the text is called in messages.

    Raises:
        DataError: It is not what cyclictest writes; one line.
    """
    try:
        plain = json.loads(text)
        threads = sorted(plain["thread"].items(), key=lambda item: int(item[0]))
        step = 1 if plain["resolution_in_ns"] else 1000
        system = plain.get("sysinfo", {})
        return CyclictestResult(
            version=_either(plain, "rt_test_version"),
            command=_either(plain, "cmdline"),
            started=str(plain.get("start_time", "")),
            ended=str(plain.get("end_time", "")),
            cpus=tuple(_thread(thread, step) for _, thread in threads),
            host=str(system.get("nodename", "")),
            kernel=f"{system.get('release', '')} {system.get('version', '')}".strip(),
            realtime=bool(system.get("realtime")),
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        why = words_of(error)
        raise DataError(f"{name} is not JSON of cyclictest: {why}", _HINT) from error


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
    return CpuLatency(
        cpu=cpu.cpu,
        expected=int(seconds * 1e9) // interval_ns,
        cycles=cpu.cycles,
        missed=corrected.total - cpu.raw.total + beyond,
        raw=cpu.raw,
        corrected=None if beyond else corrected,
    )


def with_missed(raw: Histogram, interval_ns: int) -> Histogram:
    """``raw`` and a value for every period that was skipped: latency - m x interval for the m-th.

    As HdrHistogram's correction of coordinated omission, for latencies that reach the interval; a
    latency counts as the least one of its bucket. What overflowed gets none.
    """
    buckets = dict(zip(raw.buckets.tolist(), raw.counts.tolist(), strict=True))
    total, least = raw.sum_ns, raw.min_ns
    for low, count in zip(raw.lows_ns().tolist(), raw.counts.tolist(), strict=True):
        for value in range(low - interval_ns, -1, -interval_ns):
            number = bucket_of(value)
            buckets[number] = buckets.get(number, 0) + count
            total += value * count
            least = value if least is None else min(least, value)
    numbers = sorted(buckets)
    return Histogram(
        buckets=numbers,
        counts=[buckets[number] for number in numbers],
        min_ns=least,
        max_ns=raw.max_ns,
        sum_ns=total,
        resolution_ns=raw.resolution_ns,
        overflow=raw.overflow,
        overflow_from_ns=raw.overflow_from_ns,
    )


def words_of(error: BaseException) -> str:
    """One line of what was raised."""
    return str(error).splitlines()[0][:100] if str(error).strip() else type(error).__name__


def _either(plain: Mapping[str, Any], key: str) -> str:
    """A key as it is called, or with the colon some versions append."""
    return str(plain.get(f"{key}:", plain.get(key, "")))


def _thread(thread: Mapping[str, Any], step: int) -> CpuLatency:
    cycles = int(thread["cycles"])
    if "histogram" not in thread:
        raise KeyError("no histogram (-h) in it")
    counts = {int(value): int(count) for value, count in thread["histogram"].items()}
    inside = sum(counts.values())
    if inside > cycles or min(counts.values(), default=1) <= 0:
        raise ValueError(f"{inside} values in the histogram of {cycles} cycles")
    return CpuLatency(
        cpu=int(thread["cpu"]),
        expected=0,
        cycles=cycles,
        missed=0,
        raw=counted(
            counts,
            step=step,
            overflow=cycles - inside,
            least=int(thread["min"]),
            greatest=int(thread["max"]),
            mean=float(thread["avg"]),
        ),
    )


def counted(
    counts: Mapping[int, int],
    *,
    step: int,
    overflow: int,
    least: int | None = None,
    greatest: int | None = None,
    mean: float | None = None,
) -> Histogram:
    """A histogram of values in units of ``step`` ns, of which ``overflow`` are not among them.

    Args:
        least, greatest, mean: As the source says them; None: from the counts.
    """
    if min(counts, default=0) < 0 or max(counts, default=0) * step >= _LONGEST_NS:
        raise ValueError("a latency below 0 or above a year")
    buckets: dict[int, int] = {}
    for value, count in counts.items():
        number = bucket_of(value * step)
        buckets[number] = buckets.get(number, 0) + count
    numbers = sorted(buckets)
    total = sum(counts.values()) + overflow
    low = min(counts, default=None) if least is None else least
    high = max(counts, default=None) if greatest is None else greatest
    exact = sum(value * count for value, count in counts.items())
    if overflow:
        exact = round((mean or 0.0) * total)
    return Histogram(
        buckets=numbers,
        counts=[buckets[number] for number in numbers],
        min_ns=None if not total or low is None else low * step,
        # cut off below: what was called 16 us was less than 17
        max_ns=None if not total or high is None else high * step,
        sum_ns=exact * step,
        resolution_ns=step,
        overflow=overflow,
        overflow_from_ns=(max(counts, default=-1) + 1) * step if overflow else None,
    )
