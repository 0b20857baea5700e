"""Who had a CPU, and for how long, from the kernel's events of it; pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from deadbeat.model.traces import TraceEvent

#: Kernel priorities in events, the smaller the higher: -1 deadline, below 100 real-time (the stop
#: task calls itself 0), from there on fair.
DEADLINE, FAIR_PRIORITY = -1, 100
IDLE = 0
_PAIRS = {
    "irq_handler_entry": "irq_handler_exit",
    "softirq_entry": "softirq_exit",
    "local_timer_entry": "local_timer_exit",
}


@frozen(kw_only=True)
class Runner:
    """Who has a CPU; ``priority`` is the kernel's, None: no event tells."""

    pid: int
    name: str
    priority: int | None

    @property
    def text(self) -> str:
        """For a sentence."""
        if self.pid == IDLE:
            return "nothing (the CPU was idle)"
        if self.priority is None:
            return f"{self.name} ({self.pid})"
        if self.priority <= DEADLINE:
            return f"{self.name} ({self.pid}, deadline)"
        fair = self.priority >= FAIR_PRIORITY
        kind = "fair" if fair else f"real-time {99 - self.priority}"
        return f"{self.name} ({self.pid}, {kind})"


@frozen(kw_only=True)
class Occupant:
    """How long somebody had a CPU.

    Attributes:
        runner: Who.
        ns: In all.
        kept_ns: Of it, from the first moment looked at until the first switch away.
    """

    runner: Runner
    ns: int
    kept_ns: int


def occupants(here: Sequence[TraceEvent], begin_ns: int, end_ns: int) -> list[Occupant]:
    """Who had the CPU of ``here`` between two moments, the longest first; empty: no event tells.

    Of kernels that do not report all switches the later event is believed.
    """
    total: dict[int, int] = {}
    kept: dict[int, int] = {}
    who: dict[int, Runner] = {}
    for runner, ns in _stretches(here, begin_ns, end_ns):
        if not total or list(total) == [runner.pid]:
            kept[runner.pid] = kept.get(runner.pid, 0) + ns
        total[runner.pid] = total.get(runner.pid, 0) + ns
        if runner.priority is not None or runner.pid not in who:
            who[runner.pid] = runner
    found = [
        Occupant(runner=who[pid], ns=ns, kept_ns=kept.get(pid, 0))
        for pid, ns in total.items()
        if ns > 0
    ]
    return sorted(found, key=lambda each: -each.ns)


def _stretches(
    here: Sequence[TraceEvent], begin_ns: int, end_ns: int
) -> Iterator[tuple[Runner, int]]:
    known = known_runners(here)
    runner, last_ns = runner_at(here, begin_ns), begin_ns
    for event in here:
        if not begin_ns < event.at_ns < end_ns:
            continue
        switch = event.name == "sched_switch"
        before = _switched(event, "prev_") if switch else _context(event, known)
        yield before, event.at_ns - last_ns
        runner, last_ns = _switched(event, "next_") if switch else before, event.at_ns
    if runner is not None:
        yield runner, end_ns - last_ns


def runner_at(here: Sequence[TraceEvent], at_ns: int) -> Runner | None:
    """Who has the CPU of ``here`` at a moment; None where no event tells.

    The last switch at or before it says so, or else the next one after; an event in the time of
    another thread than the last switch says so better (some kernels leave switches out).
    """
    known = known_runners(here)
    runner = None
    for event in here:
        switch = event.name == "sched_switch"
        if event.at_ns > at_ns:
            return runner or (_switched(event, "prev_") if switch else _context(event, known))
        runner = _switched(event, "next_") if switch else _context(event, known)
    return runner


def switched_out(
    here: Sequence[TraceEvent], thread: int, begin_ns: int, end_ns: int
) -> TraceEvent | None:
    """The first switch away from ``thread`` between two moments."""
    for event in here:
        left = event.name == "sched_switch" and number(event, "prev_pid") == thread
        if left and begin_ns <= event.at_ns < end_ns:
            return event
    return None


def known_runners(here: Sequence[TraceEvent]) -> dict[int, Runner]:
    """Thread number -> what a switch says of it."""
    switches = [event for event in here if event.name == "sched_switch"]
    both = [_switched(event, prefix) for event in switches for prefix in ("prev_", "next_")]
    return {runner.pid: runner for runner in both}


def number(event: TraceEvent, key: str) -> int | None:
    """A whole number that the event tells."""
    value = event.fields.get(key)
    return value if isinstance(value, int) else None


def _switched(event: TraceEvent, prefix: str) -> Runner:
    pid = number(event, f"{prefix}pid")
    return Runner(
        pid=-1 if pid is None else pid,
        name=str(event.fields.get(f"{prefix}comm", "?")),
        priority=number(event, f"{prefix}prio"),
    )


def _context(event: TraceEvent, known: Mapping[int, Runner]) -> Runner:
    return known.get(event.pid) or Runner(pid=event.pid, name=event.thread, priority=None)


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


def silence(here: Sequence[TraceEvent], begin_ns: int, end_ns: int) -> int:
    """Longest time between two moments without an event."""
    inside = [event.at_ns for event in here if begin_ns <= event.at_ns <= end_ns]
    edges = [begin_ns, *inside, end_ns]
    return max(after - before for before, after in pairwise(edges))
