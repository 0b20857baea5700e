"""Why one wake-up was late, in words, from the events around it; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from attrs import frozen

from deadbeat.base.model.traces import TraceEvent
from deadbeat.machine.host.machine import Machine
from deadbeat.machine.trace.parse import number
from deadbeat.machine.trace.timeline import FAIR_PRIORITY, IDLE, Thread
from deadbeat.machine.trace.why import Held, Stretch, running_at, silence, stretch

#: Handlers that take so much of the time are the cause.
MOST = 0.5
#: A CPU with a tick, and a thread to run, has an event at every tick (100 a second at least): where
#: two of them had none for so long the machine itself stood still.
STOOD_STILL_NS = 20_000_000
#: A stretch without events on the CPU counts from this length and this share of the time on.
SILENT_NS, SILENT = 20_000, 0.5
#: A part that is no longer is what interrupts and switches cost.
USUAL_NS = 10_000
#: Others than the longest are named from this share of the time on.
_NAMED = 0.1


@frozen(kw_only=True)
class Moments:
    """Moments of one wake-up, CLOCK_MONOTONIC in ns, each at or after the one before.

    Attributes:
        due_ns: When the timer was to expire.
        expired_ns: The handler's reading of the clock.
        waking_ns: The thread was made ready.
        switched_ns: It got its CPU; None: kernels were met that do not report switches from idle.
        read_ns: The thread's own reading of the clock.
        waker: CPU on which the timer expired and the thread was made ready: not always its own,
            the kernel moves timers off CPUs without a tick; None: its own.
    """

    due_ns: int
    expired_ns: int
    waking_ns: int
    switched_ns: int | None
    read_ns: int
    waker: int | None = None

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
        parts = self.parts()
        ends_ns = accumulate(parts.values(), initial=self.due_ns)
        return dict(zip(parts, pairwise(ends_ns), strict=True))


def cause_of(
    events: Sequence[TraceEvent],
    moments: Moments,
    cpu: int,
    thread: int,
    machine: Machine = Machine(),  # noqa: B008  a frozen value
) -> str:
    """The longest part of the latency, and what the events say of its time; where that is no longer
    than usual, that too.

    Args:
        events: In order of time; from before ``due_ns``, best with the switch before that.
        cpu: The thread's.
        thread: Its number.
        machine: What the machine is; by default nothing is known of it.
    """
    spans = moments.spans()
    name = max(spans, key=lambda part: spans[part][1] - spans[part][0])
    begin_ns, end_ns = spans[name]
    moved = moments.waker is not None and moments.waker != cpu and name in ("interrupt", "wake_up")
    where = moments.waker if moved and moments.waker is not None else cpu
    wakings = (event for event in events if event.name == "sched_waking")
    span = _Span(
        begin_ns=begin_ns,
        end_ns=end_ns,
        moved_to=where if moved else None,
        thread=thread,
        own=next((number(e, "prio") for e in wakings if number(e, "pid") == thread), None),
        events=events,
        cpu=where,
        machine=machine,
        seen=stretch(events, where, begin_ns, end_ns),
    )
    words = _words(name, span)
    return words if span.length_ns > USUAL_NS else f"nothing stands out; the longest part: {words}"


def _words(name: str, span: _Span) -> str:
    """What a part took, and why."""
    took, where = us(span.length_ns), ""
    if span.moved_to is not None:
        where = f", on CPU {span.moved_to}, to which the kernel had moved it"
    if name == "interrupt":
        if span.no_thread:
            interrupt = span.no_thread
        else:
            runner = span.runner
            if runner is None or runner.pid == IDLE:
                idle = "the CPU was idle" if runner else "unknown who had the CPU"
                interrupt = (
                    f"{idle}: it left its idle state that slowly, or"
                    f" {span.cpu_stopped}{span.silence}"
                )
            else:
                interrupt = (
                    f"{runner.text} ran with interrupts off, or {span.cpu_stopped}{span.silence}"
                )
        return f"the timer's interrupt came {took} late{where}: {interrupt}"
    if name == "wake_up":
        waking = span.no_thread or f"other timers, a lock, or {span.cpu_stopped}{span.silence}"
        return f"the timer's handler took {took} until it woke the thread{where}: {waking}"
    if name == "switch":
        return f"{took} ready without its CPU: {_switching(span)}"
    return f"the thread took {took} from getting its CPU to reading the clock: {_exit(span)}"


def us(ns: int) -> str:
    """Nanoseconds as microseconds, for a sentence."""
    return f"{ns / 1000:.1f} us"


@frozen(kw_only=True)
class _Span:
    """What happened on a CPU in the longest part."""

    begin_ns: int
    end_ns: int
    moved_to: int | None
    thread: int
    own: int | None
    events: Sequence[TraceEvent]
    cpu: int
    machine: Machine
    seen: Stretch

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns

    @property
    def others(self) -> list[Held]:
        """Who had the CPU, without the thread itself."""
        return [each for each in self.seen.threads if each.thread.pid != self.thread]

    @property
    def runner(self) -> Thread | None:
        """Who had the CPU longest; where no time has passed, at the beginning."""
        found = self.others
        return found[0].thread if found else running_at(self.events, self.cpu, self.begin_ns)

    @property
    def other_cpus(self) -> set[int]:
        return {event.cpu for event in self.events} - {self.cpu}

    @property
    def others_silent(self) -> bool:
        """Whether the other CPUs, of which there are events, have none in most of the time."""
        elsewhere = [event for event in self.events if event.cpu != self.cpu]
        quiet_ns = silence(elsewhere, self.begin_ns, self.end_ns)
        return bool(elsewhere) and quiet_ns >= SILENT * self.length_ns

    @property
    def cpu_stopped(self) -> str:
        return self.machine.stopped("the CPU")

    @property
    def by_handlers(self) -> str:
        """In words, where interrupt handlers took most of it; else ""."""
        handlers = self.seen.handlers
        if sum(handlers.values()) < MOST * max(self.length_ns, 1):
            return ""
        longest = sorted(handlers.items(), key=lambda item: -item[1])[:3]
        return ", ".join(f"{name} ran for {us(ns)}" for name, ns in longest)

    @property
    def stood_still(self) -> str:
        """In words, where CPUs that have a tick had no event, this one and another; else "".

        Of one alone a thread may have kept interrupts off, and an idle CPU has no tick.
        """
        if self.seen.silent_ns < STOOD_STILL_NS or not self.others_silent:
            return ""
        if not self._ticks(self.cpu) or not any(map(self._ticks, self.other_cpus)):
            return ""
        stopped = self.machine.stopped("the machine")
        return f"{stopped}: no event on any CPU for {us(self.seen.silent_ns)}"

    def _ticks(self, cpu: int) -> bool:
        """Whether a CPU must have had a tick: it had a thread to run, and does not go without."""
        runner = running_at(self.events, cpu, self.begin_ns)
        return runner is not None and runner.pid != IDLE and cpu not in self.machine.tickless

    @property
    def silence(self) -> str:
        """In words: how long nothing was seen on the CPU."""
        if self.seen.silent_ns < max(SILENT * self.length_ns, SILENT_NS):
            return ""
        where = " nor on any other CPU" if self.others_silent else ""
        return f"; no event there{where} for {us(self.seen.silent_ns)}"

    @property
    def no_thread(self) -> str:
        """In words, where no thread is to blame; else ""."""
        return self.by_handlers or self.stood_still


def _switching(span: _Span) -> str:
    if span.no_thread:
        return span.no_thread
    found = span.others
    if not found:
        return f"unknown who had it{span.silence}"
    longest = found[0]
    if _goes_before(longest.thread, span.own):
        return f"{_ran(found, span, above=True)}, of the same or a higher priority"
    if longest.kept_ns == longest.ns:
        return _kept(longest, span)
    return (
        f"{_ran(found, span)}, although the thread goes before: RT bandwidth control, the fair "
        f"server or core scheduling may let it"
    )


def _kept(longest: Held, span: _Span) -> str:
    """Say why one that had the CPU when the thread was made ready did not give it up."""
    runner = longest.thread
    if runner.pid == IDLE:
        return (
            f"it was idle, and left its idle state that slowly, or {span.cpu_stopped}{span.silence}"
        )
    if runner.priority is None or span.own is None:
        return f"{_ran([longest], span)}; no event says which came first{span.silence}"
    return (
        f"{runner.text} was not preempted for {us(longest.ns)}: {span.machine.kept_in}, or "
        f"{span.cpu_stopped}{span.silence}"
    )


def _goes_before(runner: Thread, own: int | None) -> bool:
    """Whether the thread need not get the CPU before it; threads that are both fair take turns."""
    if runner.pid == IDLE or runner.priority is None or own is None:
        return False
    return runner.priority <= own or own >= FAIR_PRIORITY


def _ran(found: Sequence[Held], span: _Span, *, above: bool = False) -> str:
    """The longest in words, and others that had a fair share of the time."""
    named = [
        each
        for each in found[:3]
        if each is found[0]
        or (
            each.ns >= _NAMED * span.length_ns
            and (_goes_before(each.thread, span.own) or not above)
        )
    ]
    return ", ".join(f"{each.thread.text} ran for {us(each.ns)}" for each in named)


def _exit(span: _Span) -> str:
    if span.no_thread:
        return span.no_thread
    switches = (
        event
        for event in span.events
        if event.cpu == span.cpu
        and event.name == "sched_switch"
        and number(event, "prev_pid") == span.thread
        and span.begin_ns <= event.at_ns < span.end_ns
    )
    left = next(switches, None)
    if left is None:
        return f"leaving the kernel, page faults, or {span.cpu_stopped}{span.silence}"
    state = str(left.fields.get("prev_state", "R"))
    went = "it was preempted" if state.startswith("R") else f"it slept in between (state {state})"
    found = span.others
    return f"{went}: {_ran(found, span)}" if found else f"{went}{span.silence}"
