"""Why one wake-up was late, in words, from the events around it; pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from deadbeat.model.traces import TraceEvent

#: Kernel priorities in events: below 100 real-time, the smaller the higher; from there on fair.
FAIR_PRIORITY = 100
IDLE = 0
#: Handlers that take so much of the time are the cause.
MOST = 0.5
#: A busy CPU has an event at every tick (100 a second at least): without one on any CPU for so long
#: the machine itself stood still.
STOOD_STILL_NS = 20_000_000
#: A stretch without any event on the CPU that is so long, and such a share of the time, is told of.
SILENT_NS, SILENT = 20_000, 0.5
#: A part that is no longer is what interrupts and switches cost.
USUAL_NS = 10_000
_PAIRS = {
    "irq_handler_entry": "irq_handler_exit",
    "softirq_entry": "softirq_exit",
    "local_timer_entry": "local_timer_exit",
}


@frozen(kw_only=True)
class Moments:
    """Of one wake-up, CLOCK_MONOTONIC in ns, each at or after the one before.

    Attributes:
        due_ns: When the timer was to expire.
        expired_ns: The handler's reading of the clock.
        waking_ns: The thread was made ready.
        switched_ns: It got its CPU; None: kernels were met that do not report switches from idle.
        read_ns: The thread's own reading of the clock.
    """

    due_ns: int
    expired_ns: int
    waking_ns: int
    switched_ns: int | None
    read_ns: int

    def parts(self) -> dict[str, int]:
        """PATH_PARTS -> ns, which sum to the latency; without a switch, ``switch`` is all that is
        left and there is no ``exit``."""
        switched_ns = self.read_ns if self.switched_ns is None else self.switched_ns
        parts = {
            "interrupt": self.expired_ns - self.due_ns,
            "wake_up": self.waking_ns - self.expired_ns,
            "switch": switched_ns - self.waking_ns,
        }
        return parts if self.switched_ns is None else parts | {"exit": self.read_ns - switched_ns}

    def spans(self) -> dict[str, tuple[int, int]]:
        """PATH_PARTS -> from when to when."""
        found, begin_ns = {}, self.due_ns
        for name, length_ns in self.parts().items():
            found[name] = (begin_ns, begin_ns + length_ns)
            begin_ns += length_ns
        return found


@frozen(kw_only=True)
class Runner:
    """Who has a CPU."""

    pid: int
    name: str
    priority: int

    @property
    def text(self) -> str:
        """For a sentence."""
        if self.pid == IDLE:
            return "nothing (the CPU was idle)"
        if self.priority < 0:
            return f"{self.name} ({self.pid})"
        kind = (
            "fair" if self.priority >= FAIR_PRIORITY else f"real-time {99 - max(self.priority, 0)}"
        )
        return f"{self.name} ({self.pid}, {kind})"


def cause_of(events: Sequence[TraceEvent], moments: Moments, cpu: int, thread: int) -> str:
    """The longest part of the latency, and what the events say of its time; where that is no longer
    than usual, that too.

    Args:
        events: In order of time; from before ``due_ns``, best with the switch before that.
        cpu: The thread's.
        thread: Its number.
    """
    spans = moments.spans()
    name = max(spans, key=lambda part: spans[part][1] - spans[part][0])
    begin_ns, end_ns = spans[name]
    here = [event for event in events if event.cpu == cpu]
    span = _Span(
        begin_ns=begin_ns,
        end_ns=end_ns,
        handlers=handlers_within(here, begin_ns, end_ns),
        silent_ns=_silence(here, begin_ns, end_ns),
        others_silent=_silent_elsewhere(events, cpu, begin_ns, end_ns),
        runner=runner_at(here, begin_ns),
    )
    words = _words(name, span, _priority_of(here, thread))
    return words if span.length_ns > USUAL_NS else f"nothing stands out; the longest part: {words}"


def _words(name: str, span: _Span, own: int) -> str:
    """What a part took, and why."""
    took = us(span.length_ns)
    if name == "interrupt":
        return f"the timer's interrupt came {took} late: {_interrupt(span)}"
    if name == "wake_up":
        return f"the timer's handler took {took} until it woke the thread: {_waking(span)}"
    if name == "switch":
        return f"{took} ready without its CPU: {_switching(span, own)}"
    return f"the thread took {took} from getting its CPU to reading the clock: {_exit(span)}"


def us(ns: int) -> str:
    """Nanoseconds as microseconds, for a sentence."""
    return f"{ns / 1000:.1f} us"


@frozen(kw_only=True)
class _Span:
    """What happened on the CPU in the longest part."""

    begin_ns: int
    end_ns: int
    handlers: dict[str, int]
    silent_ns: int
    others_silent: bool
    runner: Runner | None

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns

    @property
    def by_handlers(self) -> str:
        """In words, where interrupt handlers took most of it; else ""."""
        if sum(self.handlers.values()) < MOST * max(self.length_ns, 1):
            return ""
        longest = sorted(self.handlers.items(), key=lambda item: -item[1])[:3]
        return ", ".join(f"{name} ran for {us(ns)}" for name, ns in longest)

    @property
    def stood_still(self) -> str:
        """In words, where the whole machine did nothing although a thread ran; else ""."""
        busy = self.runner is not None and self.runner.pid != IDLE
        if not busy or not self.others_silent or self.silent_ns < STOOD_STILL_NS:
            return ""
        return f"the host did not let the machine run: no event on any CPU for {us(self.silent_ns)}"

    @property
    def silence(self) -> str:
        """In words: how long nothing was seen on the CPU."""
        if self.silent_ns < max(SILENT * self.length_ns, SILENT_NS):
            return ""
        where = " nor on any other CPU" if self.others_silent else ""
        return f"; no event there{where} for {us(self.silent_ns)}"


def _interrupt(span: _Span) -> str:
    if span.by_handlers or span.stood_still:
        return span.by_handlers or span.stood_still
    if span.runner is None or span.runner.pid == IDLE:
        idle = "the CPU was idle" if span.runner else "nobody knows who had the CPU"
        return (
            f"{idle}: it left its idle state that slowly, or its host did not let it run"
            f"{span.silence}"
        )
    return (
        f"{span.runner.text} ran with interrupts off, or the host did not let the CPU run"
        f"{span.silence}"
    )


def _waking(span: _Span) -> str:
    return (
        span.by_handlers
        or span.stood_still
        or f"other timers, a lock, or a host that did not let the CPU run{span.silence}"
    )


def _switching(span: _Span, own: int) -> str:
    if span.by_handlers or span.stood_still:
        return span.by_handlers or span.stood_still
    runner = span.runner
    if runner is None:
        return f"nobody knows who had it{span.silence}"
    if runner.pid == IDLE:
        return (
            f"it was idle, and left its idle state that slowly, or its host did not let it run"
            f"{span.silence}"
        )
    if runner.priority < FAIR_PRIORITY and 0 <= runner.priority <= own:
        return f"{runner.text}, of the same or a higher priority, ran"
    return (
        f"{runner.text} was not preempted: in a part of the kernel that cannot be, or of a kernel "
        f"that does not preempt, or the host did not let the CPU run{span.silence}"
    )


def _exit(span: _Span) -> str:
    return (
        span.by_handlers
        or span.stood_still
        or f"leaving the kernel, page faults, or a host that did not let the CPU run{span.silence}"
    )


# --- what the events say ------------------------------------------------------------------------


def runner_at(here: Sequence[TraceEvent], at_ns: int) -> Runner | None:
    """Who has the CPU of ``here`` at a moment; None where no event tells.

    The last switch at or before it says so, or else the next one after; an event in the time of
    another thread than the last switch says so better (switches are left out, see `Moments`).
    """
    known = _known(here)
    runner = None
    for event in here:
        switch = event.name == "sched_switch"
        if event.at_ns > at_ns:
            return runner or (_switched(event, "prev_") if switch else _context(event, known))
        runner = _switched(event, "next_") if switch else _context(event, known)
    return runner


def _switched(event: TraceEvent, prefix: str) -> Runner:
    return Runner(
        pid=_number(event, f"{prefix}pid"),
        name=str(event.fields.get(f"{prefix}comm", "?")),
        priority=_number(event, f"{prefix}prio"),
    )


def _known(here: Sequence[TraceEvent]) -> dict[int, Runner]:
    """Thread number -> what a switch says of it."""
    switches = [event for event in here if event.name == "sched_switch"]
    both = [_switched(event, prefix) for event in switches for prefix in ("prev_", "next_")]
    return {runner.pid: runner for runner in both}


def _context(event: TraceEvent, known: Mapping[int, Runner]) -> Runner:
    return known.get(event.pid) or Runner(pid=event.pid, name=event.thread, priority=-1)


def _number(event: TraceEvent, key: str) -> int:
    value = event.fields.get(key)
    return value if isinstance(value, int) else -1


def _priority_of(here: Sequence[TraceEvent], thread: int) -> int:
    """The kernel priority of a thread; 0, the highest, where no event tells."""
    for event in here:
        if event.name == "sched_waking" and _number(event, "pid") == thread:
            return max(_number(event, "prio"), 0)
    return 0


def handlers_within(here: Sequence[TraceEvent], begin_ns: int, end_ns: int) -> dict[str, int]:
    """Interrupt and softirq handlers of one CPU: name -> ns of them between two moments.

    Of one within another the time counts as the inner one's alone; one that began before the
    events or goes on after them counts up to their edge.
    """
    found: dict[str, int] = {}
    stack: list[tuple[str, str]] = []
    last_ns = begin_ns
    for event in here:
        at_ns = min(max(event.at_ns, begin_ns), end_ns)
        if stack:
            found[stack[-1][1]] = found.get(stack[-1][1], 0) + at_ns - last_ns
        last_ns = at_ns
        if event.name in _PAIRS:
            stack.append((_PAIRS[event.name], _handler(event)))
        elif stack and event.name == stack[-1][0]:
            stack.pop()
    if stack:
        found[stack[-1][1]] = found.get(stack[-1][1], 0) + end_ns - last_ns
    return {name: ns for name, ns in found.items() if ns > 0}


def _handler(event: TraceEvent) -> str:
    if event.name == "irq_handler_entry":
        return f"interrupt {event.fields.get('irq', '?')} ({event.fields.get('name', '?')})"
    if event.name == "softirq_entry":
        return f"softirq {event.fields.get('action', event.fields.get('vec', '?'))}"
    return "the local timer's interrupt"


def _silence(here: Sequence[TraceEvent], begin_ns: int, end_ns: int) -> int:
    """Longest time between two moments without an event."""
    inside = [event.at_ns for event in here if begin_ns <= event.at_ns <= end_ns]
    edges = [begin_ns, *inside, end_ns]
    return max(after - before for before, after in pairwise(edges))


def _silent_elsewhere(events: Sequence[TraceEvent], cpu: int, begin_ns: int, end_ns: int) -> bool:
    """Whether the other CPUs, of which there are events, have none in most of that time."""
    others = [event for event in events if event.cpu != cpu]
    if not others:
        return False
    return _silence(others, begin_ns, end_ns) >= SILENT * (end_ns - begin_ns)
