"""Who had each CPU, what interrupted it, and what one thread did: a timeline from events.

As Perfetto's ``sched_slice`` and ``thread_state``: built in one pass, asked by intervals. A job, a
wake-up and a round all ask the same: who had the CPU (`Timeline.on`), which handlers ran there
(`Timeline.handled`), and whether the thread ran, was ready, or slept until it was woken.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple, TypeVar

from attrs import define, field

from deadbeat.base.model.traces import GAP, CpuMove, TraceEvent
from deadbeat.machine.trace.parse import at, number

#: Kernel priorities: -1 deadline, below 100 real-time (0 is SCHED_FIFO 99), from there on fair.
DEADLINE, FAIR_PRIORITY = -1, 100
IDLE = 0
#: Longest time that a switch that was left out is taken to be after the event before it.
LEFT_OUT_NS = 5000
#: Who ends a sleep from an interrupt handler.
INTERRUPT = "interrupt"
#: Entry of a handler -> its kind, the field that says which one it is; ``_exit`` ends it.
_HANDLERS = {
    "irq_handler_entry": ("irq", "name"),
    "softirq_entry": ("softirq", "action"),
    "local_timer_entry": ("local_timer", ""),
}
_EXITS = {name.replace("_entry", "_exit"): kind for name, (kind, _) in _HANDLERS.items()}

#: Whether a thread of this number and name is the one that is asked about.
Own = Callable[[int, str], bool]


class Thread(NamedTuple):
    """A thread as the trace names it; ``priority`` is the kernel's, None: no event tells."""

    pid: int
    name: str
    priority: int | None = None

    @property
    def is_fair(self) -> bool:
        """Whether every real-time thread goes before it; true of the idle thread."""
        return self.pid == IDLE or (self.priority is not None and self.priority >= FAIR_PRIORITY)

    @property
    def text(self) -> str:
        """For a sentence."""
        if self.pid == IDLE:
            return "nothing (the CPU was idle)"
        if self.priority is None:
            return f"{self.name} ({self.pid})"
        if self.priority <= DEADLINE:
            return f"{self.name} ({self.pid}, deadline)"
        kind = "fair" if self.is_fair else f"real-time {99 - self.priority}"
        return f"{self.name} ({self.pid}, {kind})"


_NOBODY = Thread(-1, "")
_HANDLER = Thread(-1, INTERRUPT)


class Slice(NamedTuple):
    """A thread had a CPU; ``took_over``: the ready real-time thread that lost it to this one, or
    to fair ones in a row before it."""

    thread: Thread
    begin_ns: int
    end_ns: int
    took_over: Thread | None = None


class Handler(NamedTuple):
    """A handler ran as the innermost one: ``kind`` is ``irq``, ``softirq`` or ``local_timer``,
    ``name`` what it serves, ``line`` the number of an interrupt."""

    kind: str
    name: str
    line: int | str
    begin_ns: int
    end_ns: int

    @property
    def text(self) -> str:
        """For a sentence."""
        if self.kind == "irq":
            return f"interrupt {self.line} ({self.name})"
        return f"softirq {self.name}" if self.kind == "softirq" else "the local timer's interrupt"


_S = TypeVar("_S", Slice, Handler)
_END = attrgetter("end_ns")


class State(NamedTuple):
    """What the thread did.

    Attributes:
        name: ``running``, ``ready``, ``asleep`` or ``unknown``: events of it are missing.
        cpu: CPU of its run queue; where it last ran, if it slept.
        woken_ns: When the sleep before a ready state ended; None: it had lost the CPU.
        waker: Thread that ended a sleep.
    """

    name: str
    cpu: int
    begin_ns: int
    end_ns: int
    woken_ns: int | None = None
    waker: Thread = _NOBODY


def overlap(begin_ns: int, end_ns: int, from_ns: int, to_ns: int) -> int:
    """Length that two stretches have in common."""
    return max(0, min(end_ns, to_ns) - max(begin_ns, from_ns))


@define(kw_only=True)
class Timeline:
    """One pass over events in order of time (`take`), then `close`.

    Attributes:
        own: The threads to follow.
        cpu: CPU with that thread in its run queue, now or when it fell asleep; it sleeps at first.
        since_ns: From when on the first thread that is seen on a CPU is taken to have had it;
            None: from then on.
        left_out_ns: See LEFT_OUT_NS.
        known: By number, threads with a known priority.
        slices, handlers, states, moves: What was found.
        wakings: When the thread was made ready, or was so already.
        seen: Whether it was seen to get a CPU.
    """

    own: Own
    cpu: int = -1
    since_ns: int | None = None
    left_out_ns: int = LEFT_OUT_NS
    known: dict[int, Thread] = field(factory=dict)
    slices: dict[int, list[Slice]] = field(factory=lambda: defaultdict(list))
    handlers: dict[int, list[Handler]] = field(factory=lambda: defaultdict(list))
    states: list[State] = field(factory=list)
    moves: list[CpuMove] = field(factory=list)
    wakings: list[int] = field(factory=list)
    seen: bool = False
    #: What the thread does, since when, and when it was woken as in `State`.
    _does: str = "asleep"
    _does_since_ns: int = -(2**63)
    _woken_ns: int | None = None
    #: CPU -> who has it, since when, and from whom it was taken as in `Slice`.
    _turns: dict[int, tuple[Thread, int, Thread | None]] = field(factory=dict)
    #: By identity, fields of events, which lines that say the same share, and their two threads.
    _named: dict[int, tuple[object, Thread, Thread]] = field(factory=dict)
    _open: dict[int, list[Handler]] = field(factory=lambda: defaultdict(list))
    _last_ns: dict[int, int] = field(factory=dict)

    # --- building

    def take(self, event: TraceEvent) -> None:
        """The next event in order of time."""
        if event.name == GAP:
            self._gap(event.at_ns)
            return
        if event.name == "sched_switch":
            self._switch(event)
        else:
            self._catch_up(event.cpu, event.pid, event.thread, event.at_ns)
            if event.name == "sched_waking":
                self._waking(event)
            elif event.name == "sched_migrate_task":
                self._migrate(event)
            elif event.name in _HANDLERS:
                self._handler_begins(event)
            elif event.name in _EXITS:
                self._handler_ends(event.cpu, _EXITS[event.name], event.at_ns)
        self._last_ns[event.cpu] = event.at_ns

    def close(self, at_ns: int) -> Timeline:
        """No event follows, and what goes on is looked at until ``at_ns``."""
        self._enter("over", at_ns)
        for cpu, turn in list(self._turns.items()):
            self._close_turn(cpu, max(at_ns, turn[1]))
        for cpu in list(self._open):
            self._innermost_until(cpu, at_ns)
        return self

    def _gap(self, at_ns: int) -> None:
        """What is missing says nothing: neither who had a CPU nor what the thread did."""
        self._enter("unknown", at_ns)
        for cpu in list(self._turns):
            self._close_turn(cpu, at_ns)
        self._last_ns.clear()
        self._open.clear()

    def _catch_up(self, cpu: int, pid: int, name: str, at_ns: int) -> None:
        """An event in another thread's time than the one that is thought to have the CPU: a switch
        was left out (kernels were met that leave out those from idle). It was after the event
        before, and the wake-up; the moment between them is unknown."""
        turn = self._turns.get(cpu)
        if turn is not None and turn[0][0] == pid:
            return
        thread = self.known.get(pid) or Thread(pid, name)
        before_ns = at_ns if self.since_ns is None else min(self.since_ns, at_ns)
        first_ns = self._last_ns.get(cpu, before_ns)
        if self.own(thread.pid, thread.name):
            first_ns = max(first_ns, self._does_since_ns)
        later_ns = max(0, min((at_ns - first_ns) // 2, self.left_out_ns)) if turn else 0
        self._begin_turn(cpu, thread, first_ns + later_ns)

    def _switch(self, event: TraceEvent) -> None:
        fields, cpu, at_ns = event.fields, event.cpu, event.at_ns
        _, before, after = self._named.get(id(fields)) or self._name(event, "prev_", "next_")
        self.known[before.pid], self.known[after.pid] = before, after
        if cpu in self._turns or self.since_ns is not None:
            self._catch_up(cpu, before.pid, before.name, at_ns)
        ready = str(fields.get("prev_state", "")).startswith("R") and before.pid != IDLE
        # handlers that outlive a switch are threads, and no interrupts of whoever comes next
        if cpu in self._open:
            self._innermost_until(cpu, at_ns)
            del self._open[cpu]
        if self.own(before.pid, before.name):
            if self._does != "running":  # how it came by the CPU was not seen
                self._enter("running", at_ns, cpu=cpu)
            self._enter("ready" if ready else "asleep", at_ns, cpu=cpu)
        self._begin_turn(cpu, after, at_ns, self._taken_from(cpu, before, after, ready=ready))

    def _name(self, event: TraceEvent, *prefixes: str) -> tuple[object, Thread, Thread]:
        fields = event.fields
        self._named[id(fields)] = found = (
            fields, switched(event, prefixes[0]), switched(event, prefixes[-1])
        )  # fmt: skip
        return found

    def _taken_from(self, cpu: int, before: Thread, after: Thread, *, ready: bool) -> Thread | None:
        """The ready real-time thread that has lost a CPU: now, or to fair ones in a row."""
        if not before.is_fair:
            return before if ready else None
        turn = self._turns.get(cpu)
        return turn[2] if turn is not None and after.is_fair else None

    def _begin_turn(
        self, cpu: int, thread: Thread, at_ns: int, took_over: Thread | None = None
    ) -> None:
        self._close_turn(cpu, at_ns)
        self._turns[cpu] = thread, at_ns, took_over
        if self.own(thread.pid, thread.name):
            self.seen = True
            # a switch that was left out cannot have been before the thread became ready
            self._enter("running", at_ns, cpu=cpu)

    def _close_turn(self, cpu: int, at_ns: int) -> None:
        turn = self._turns.pop(cpu, None)
        if turn is not None:
            thread, begin_ns, took_over = turn
            self.slices[cpu].append(Slice(thread, begin_ns, at_ns, took_over))

    def _waking(self, event: TraceEvent) -> None:
        _, thread, _ = self._named.get(id(event.fields)) or self._name(event, "")
        if not self.own(thread.pid, thread.name):
            return
        self.wakings.append(event.at_ns)
        if self._does in ("asleep", "unknown"):
            waker = self.known.get(event.pid) or Thread(event.pid, event.thread)
            # idle itself wakes no thread: where the trace does not say so, a handler did
            by_handler = event.interrupt or event.pid == IDLE
            target = number(event, "target_cpu")
            self._enter("ready", event.at_ns, cpu=target, waker=_HANDLER if by_handler else waker)

    def _migrate(self, event: TraceEvent) -> None:
        thread = switched(event, "")
        if not self.own(thread.pid, thread.name):
            return
        from_cpu, to_cpu = number(event, "orig_cpu"), number(event, "dest_cpu")
        self.moves.append(
            CpuMove(
                at_ns=event.at_ns,
                from_cpu=-1 if from_cpu is None else from_cpu,
                to_cpu=-1 if to_cpu is None else to_cpu,
            )
        )
        if self._does == "ready":
            self._enter("ready", event.at_ns, cpu=to_cpu)
        elif to_cpu is not None:
            self.cpu = to_cpu

    def _enter(
        self, name: str, at_ns: int, *, cpu: int | None = None, waker: Thread = _NOBODY
    ) -> None:
        """The thread's state changes; ``waker`` ended the one before."""
        before, begin_ns, woken_ns = self._does, self._does_since_ns, self._woken_ns
        moment = at_ns if at_ns > begin_ns else begin_ns
        self.states.append(State(before, self.cpu, begin_ns, moment, woken_ns, waker))
        if name != "ready":
            self._woken_ns = None
        elif before == "asleep":
            self._woken_ns = at_ns
        self._does, self._does_since_ns = name, moment
        if cpu is not None and cpu >= 0:
            self.cpu = cpu

    def _handler_begins(self, event: TraceEvent) -> None:
        self._innermost_until(event.cpu, event.at_ns)
        kind, key = _HANDLERS[event.name]
        name = str(event.fields.get(key, event.fields.get("vec", "?"))) if key else ""
        line = event.fields.get("irq", "?")
        self._open[event.cpu].append(Handler(kind, name, line, event.at_ns, 0))

    def _handler_ends(self, cpu: int, kind: str, at_ns: int) -> None:
        self._innermost_until(cpu, at_ns)
        if any(each.kind == kind for each in self._open[cpu]):
            while self._open[cpu].pop().kind != kind:
                pass
            if self._open[cpu]:
                self._open[cpu][-1] = self._open[cpu][-1]._replace(begin_ns=at_ns)

    def _innermost_until(self, cpu: int, at_ns: int) -> None:
        if self._open.get(cpu):
            inner = self._open[cpu][-1]
            self.handlers[cpu].append(inner._replace(end_ns=max(at_ns, inner.begin_ns)))
            self._open[cpu][-1] = inner._replace(begin_ns=max(at_ns, inner.begin_ns))

    # --- asking

    def on(self, cpu: int, begin_ns: int, end_ns: int) -> Iterator[tuple[Slice, int]]:
        """Who had a CPU between two moments, in order, and for how long of it."""
        return _between(self.slices.get(cpu, []), begin_ns, end_ns)

    def handled(self, cpu: int, begin_ns: int, end_ns: int) -> Iterator[tuple[Handler, int]]:
        """Handlers on a CPU between two moments; time of one within another is the inner one's."""
        return _between(self.handlers.get(cpu, []), begin_ns, end_ns)

    def interrupted(self, begin_ns: int, end_ns: int) -> Iterator[tuple[Handler, int]]:
        """Handlers that ran within the thread's time."""
        for state in self.states:
            if state.name == "running" and state.cpu in self.handlers:
                first, last = max(state.begin_ns, begin_ns), min(state.end_ns, end_ns)
                if first < last:
                    yield from self.handled(state.cpu, first, last)


def _between(found: list[_S], begin_ns: int, end_ns: int) -> Iterator[tuple[_S, int]]:
    first = bisect_right(found, begin_ns, key=_END)
    for i in range(first, len(found)):
        each = found[i]
        if each.begin_ns >= end_ns:
            return
        # one that came and went between two ticks of the trace's clock is there too
        if each.begin_ns > begin_ns or each.end_ns > each.begin_ns:
            yield each, overlap(each.begin_ns, each.end_ns, begin_ns, end_ns)


def timeline(events: Iterable[TraceEvent], own: Own, *, until_ns: int, cpu: int = -1) -> Timeline:
    """Follow ``events`` in any order; the thread at first sleeps and last ran on ``cpu``."""
    found = Timeline(own=own, cpu=cpu)
    for event in sorted(events, key=at):
        found.take(event)
    return found.close(until_ns)


def switched(event: TraceEvent, prefix: str) -> Thread:
    """A thread that an event is about."""
    fields = event.fields
    pid, priority = fields.get(prefix + "pid"), fields.get(prefix + "prio")
    return Thread(
        pid if isinstance(pid, int) else -1,
        str(fields.get(prefix + "comm", "?")),
        priority if isinstance(priority, int) else None,
    )
