"""Where the latency of traced wake-ups went, from the kernel's events; pure functions.

The moments are those of rtla's timerlat: the timer's own, the handler's reading of the clock
(``hrtimer_expire_entry``, in ns), the waking of the thread (``sched_waking``), its switch onto the
CPU (``sched_switch``), and its own reading of the clock, which it writes into the trace itself. The
parts between them sum to the latency exactly. The kernel's text cuts the times of events to
microseconds: they are taken to lie in the middle of theirs, and never outside of the wake-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, evolve, frozen

from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.traces import TraceEvent
from deadbeat.machine.host.machine import Machine
from deadbeat.machine.trace.parse import events_between, number, parse_line
from deadbeat.machine.trace.paths import PATH_PARTS, PathSplit, WorstTraced
from deadbeat.machine.trace.reasons import Moments, cause_of

#: What the kernel must report besides what the tracer records anyway.
EVENTS = ("timer/hrtimer_expire_entry",)
#: What is looked at before the timer's moment and after the thread's reading, for the cause.
BEFORE_NS, AFTER_NS = 2_000_000, 20_000
#: Times of events are cut to microseconds.
HALF_NS = 500
_MARK, _EXPIRE = "tracing_mark_write", "hrtimer_expire_entry"
#: Names of the measuring threads begin so (runtime/src/host/wakeup.c).
_THREADS = "db-probe"
#: What a timer of clock_nanosleep calls; between it and the waking lie few lines.
_SLEEPER, _LOOK_BACK, _TIMERS = "function=hrtimer_wakeup", 20_000, 16
_CPU = re.compile(r"\[\d+\]", re.ASCII)


@frozen(kw_only=True)
class Traced:
    """A measuring thread.

    Attributes:
        cpu: Where it is.
        thread: Its number on the machine.
        start_ns: The moment of its first wake-up, CLOCK_MONOTONIC.
    """

    cpu: int
    thread: int
    start_ns: int


@frozen(kw_only=True)
class WakeUp:
    """One wake-up; times are CLOCK_MONOTONIC in ns.

    Attributes:
        due_ns, latency_ns: What the thread itself saw.
        moments: The others; None where events of it are missing.
    """

    due_ns: int
    latency_ns: int
    moments: Moments | None = None


def split_path(
    text: str,
    threads: Sequence[Traced],
    *,
    lost: int = 0,
    machine: Machine = Machine(),  # noqa: B008  a frozen value
) -> tuple[PathSplit, ...]:
    """The parts of every wake-up in a ``trace`` file, by CPU, and the latest with its cause.

    Args:
        text: With clock ``mono``, as the kernel prints it.
        threads: The measuring threads.
        lost: Events that the buffers could not hold.
        machine: What the machine is, for the causes.
    """
    wakes = wake_ups(text, [thread.thread for thread in threads])
    found = []
    for thread in threads:
        mine = wakes[thread.thread]
        if not mine:
            why = "the kernel's events lack its wake-up"
            split = PathSplit(cpu=thread.cpu, lost=lost, unavailable=why)
        else:
            worst = max(mine, key=lambda wake: wake.latency_ns)
            whole = [wake.moments.parts() for wake in mine if wake.moments is not None]
            split = PathSplit(
                cpu=thread.cpu,
                parts={
                    name: Histogram.of([parts[name] for parts in whole if name in parts])
                    for name in PATH_PARTS
                },
                worst=_worst(text, thread, worst, machine),
                latency=Histogram.of([wake.latency_ns for wake in mine]),
                left_out=len(mine) - len(whole),
                lost=lost,
            )
        found.append(split)
    return tuple(found)


def kept_worst(
    text: str,
    thread: Traced,
    due_ns: int,
    latency_ns: int,
    machine: Machine = Machine(),  # noqa: B008  a frozen value
) -> WorstTraced:
    """`PathSplit.worst` of the wake-up for which a trace was kept.

    Args:
        text: The trace; it may lack the wake-up, which then has no cause.
        due_ns, latency_ns: From the thread, CLOCK_MONOTONIC.
    """
    known = wake_ups(text, [thread.thread])[thread.thread]
    lacking = WakeUp(due_ns=due_ns, latency_ns=latency_ns)
    wake = next((wake for wake in known if wake.due_ns == due_ns), lacking)
    return _worst(text, thread, wake, machine)


def wake_ups(text: str, threads: Iterable[int]) -> dict[int, list[WakeUp]]:
    """Thread number -> its wake-ups in the order of time."""
    found: dict[int, list[WakeUp]] = {thread: [] for thread in threads}
    now = {thread: _Current() for thread in found}
    expired: dict[int, int] = {}
    for event in filter(None, map(parse_line, _lines(text))):
        if event.name == _EXPIRE:
            expired[event.cpu] = _number(event, "now")
        elif event.name == "sched_waking":
            if (thread := _number(event, "pid")) in now:
                waking_ns = event.at_ns + HALF_NS
                now[thread] = _Current(expired.get(event.cpu), waking_ns, waker=event.cpu)
        elif event.name == "sched_switch":
            current = now.get(_number(event, "next_pid"))
            if current is not None and current.switched_ns is None:
                current.switched_ns = event.at_ns + HALF_NS
        elif event.pid in now and "latency" in event.fields:
            due_ns, latency_ns = _number(event, "due"), _number(event, "latency")
            moments = _moments(now[event.pid], due_ns, due_ns + latency_ns)
            found[event.pid].append(WakeUp(due_ns=due_ns, latency_ns=latency_ns, moments=moments))
            now[event.pid] = _Current()
    return found


def _lines(text: str) -> Iterator[str]:
    """The lines on the measuring threads, and before a waking that of the timer behind it: looking
    for words is much faster than parsing what other threads and timers did."""
    starts: set[int] = set()
    for word in (_MARK, _THREADS):
        at = text.find(word)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            at = text.find(word, at + len(word))
    for start in sorted(starts):
        line = _line_at(text, start)
        if "sched_waking" in line:
            yield from _timer_before(text, start, line)
        yield line


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]


def _timer_before(text: str, start: int, line: str) -> Iterator[str]:
    """The last timer of a sleeper that expired on the CPU of ``line``, a little before it."""
    cpu = _CPU.search(line)
    at = start
    for _ in range(_TIMERS):
        at = text.rfind(_SLEEPER, max(start - _LOOK_BACK, 0), at)
        if at < 0 or cpu is None:
            return
        found = _line_at(text, text.rfind("\n", 0, at) + 1)
        if cpu[0] in found:
            yield found
            return


@define
class _Current:
    """What is known of the wake-up that a thread waits for."""

    expired_ns: int | None = None
    waking_ns: int | None = None
    switched_ns: int | None = None
    waker: int | None = None


def _number(event: TraceEvent, key: str) -> int:
    value = number(event, key)
    return -1 if value is None else value


def _moments(current: _Current, due_ns: int, read_ns: int) -> Moments | None:
    """None where an event is missing, or is one of another wake-up."""
    expired_ns, waking_ns = current.expired_ns, current.waking_ns
    if expired_ns is None or waking_ns is None or not due_ns <= expired_ns <= read_ns:
        return None
    if not due_ns - HALF_NS <= waking_ns <= read_ns + HALF_NS:
        return None
    waking_ns = min(max(waking_ns, expired_ns), read_ns)
    switched_ns = current.switched_ns
    if switched_ns is not None:
        switched_ns = min(max(switched_ns, waking_ns), read_ns)
    return Moments(
        due_ns=due_ns,
        expired_ns=expired_ns,
        waking_ns=waking_ns,
        switched_ns=switched_ns,
        read_ns=read_ns,
        waker=current.waker,
    )


def _worst(text: str, thread: Traced, worst: WakeUp, machine: Machine) -> WorstTraced:
    traced = WorstTraced(due_ns=worst.due_ns - thread.start_ns, latency_ns=worst.latency_ns)
    if worst.moments is None:
        return evolve(traced, cause="unknown: some of its kernel events are missing")
    read_ns = worst.due_ns + worst.latency_ns
    events = events_between(text, worst.due_ns - BEFORE_NS, read_ns + AFTER_NS)
    parts = dict.fromkeys(PATH_PARTS, 0) | worst.moments.parts()
    cause = cause_of(events, worst.moments, thread.cpu, thread.thread, machine)
    return evolve(traced, cause=cause, **parts)
