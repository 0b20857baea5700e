"""What a thread did and who had its CPU during one job, summed over scheduling events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from attrs import asdict, define, field, frozen

from deadbeat.model.traces import GAP, JobTotals, Move, ThreadShare, TraceEvent

#: Kernel priorities: below 100 real-time and deadline, from there on fair.
FAIR_PRIORITY = 100
IDLE = 0
#: A fair thread that runs so long beside a ready real-time thread is no mere latency.
THROTTLED_NS = 1_000_000
#: Longest time that a switch that was left out is taken to be after the event before it.
LEFT_OUT_NS = 5000
#: Who ends a sleep from an interrupt handler.
INTERRUPT = "interrupt"
#: Names under which the kernel lists a thread whose name it has not kept.
_NAMELESS = ("", "?", "<...>")
_OF_TASK = "db-t"

#: Whether a thread of this number and name is that of the job.
Own = Callable[[int, str], bool]


class Thread(NamedTuple):
    """A thread as the trace names it."""

    pid: int
    name: str
    priority: int

    @property
    def is_fair(self) -> bool:
        """Whether every real-time thread goes before it; true of the idle thread."""
        return self.priority >= FAIR_PRIORITY or self.pid == IDLE


_NOBODY = Thread(-1, "", -1)
_HANDLER = Thread(-1, INTERRUPT, -1)


@frozen(kw_only=True)
class Span:
    """The job, and the CPU it belongs on."""

    cpu: int
    release_ns: int
    start_ns: int
    finish_ns: int


def rebuild(events: Iterable[TraceEvent], own: Own, span: Span) -> JobTotals:
    """Sums over the job of the thread for which ``own`` holds; ``events`` in any order."""
    builder = _Builder(own=own, span=span)
    for event in sorted(events, key=lambda event: event.at_ns):
        builder.take(event)
    return builder.done()


def _number(event: TraceEvent, key: str) -> int:
    value = event.fields.get(key)
    return value if isinstance(value, int) else -1


def _thread(event: TraceEvent, prefix: str) -> Thread:
    name = str(event.fields.get(f"{prefix}comm", "?"))
    return Thread(_number(event, f"{prefix}pid"), name, _number(event, f"{prefix}prio"))


class _Turn(NamedTuple):
    """Who has a CPU, since when, and from which ready real-time thread it was taken over."""

    thread: Thread
    since_ns: int
    took_over: Thread | None


@define(kw_only=True)
class _Share:
    """A ThreadShare that grows."""

    pid: int
    name: str
    before_ns: int = 0
    ready_ns: int = 0
    instead_ns: int = 0
    sleeps: int = 0
    slept_ns: int = 0
    longest_ns: int = 0
    longest_to_ns: int = 0


@define
class _Handlers:
    """Interrupt handlers on one CPU, the innermost last, and until when they are accounted for."""

    names: list[str] = field(factory=list)
    until_ns: int = 0


@define(kw_only=True)
class _Builder:
    """One pass over the events in order of time.

    Attributes:
        state: Of the job's thread, since ``since_ns``: asleep, ready, running or unknown.
        cpu: Whose run queue it stands in; where it last ran, if it sleeps.
        roused: It is ready after a sleep within the job.
        turns: By CPU, who has it.
        known: By number, threads whose priority was seen.
        last_ns: By CPU, of its last event.
    """

    own: Own
    span: Span
    state: str = "asleep"
    since_ns: int = field(init=False)
    cpu: int = field(init=False)
    waker: Thread = _NOBODY
    roused: bool = False
    roused_ns: int = 0
    turns: dict[int, _Turn] = field(factory=dict)
    known: dict[int, Thread] = field(factory=dict)
    last_ns: dict[int, int] = field(factory=dict)
    handlers: dict[int, _Handlers] = field(factory=lambda: defaultdict(_Handlers))
    shares: dict[tuple[int, str], _Share] = field(factory=dict)
    lengths: dict[str, int] = field(factory=lambda: defaultdict(int))
    interrupts: dict[str, int] = field(factory=lambda: defaultdict(int))
    woken_ns: int | None = None
    move: Move | None = None
    moves: int = 0
    seen: bool = False

    def __attrs_post_init__(self) -> None:
        self.since_ns, self.cpu = self.span.release_ns, self.span.cpu

    def take(self, event: TraceEvent) -> None:
        if event.name == GAP:
            self._gap(event.at_ns)
            return
        if event.name == "sched_switch":
            self._switch(event)
        else:
            self._catch_up(event.cpu, event.pid, event)
            match event.name:
                case "sched_waking":
                    self._waking(event)
                case "sched_migrate_task":
                    self._migrate(event)
                case _:
                    self._interrupt(event)
        self.last_ns[event.cpu] = event.at_ns

    def _gap(self, at_ns: int) -> None:
        """What is missing says nothing: neither who had a CPU nor what the thread did."""
        self._enter("unknown", at_ns)
        for cpu in list(self.turns):
            self._close_turn(cpu, at_ns)
        self.last_ns.clear()
        self.handlers.clear()

    def _catch_up(self, cpu: int, pid: int, event: TraceEvent) -> None:
        """An event in another thread's time than the one that is thought to have the CPU: a switch
        was left out (kernels were met that leave out those from idle). It was after the event
        before, and the wake-up; where in between nobody knows."""
        turn = self.turns.get(cpu)
        if turn is None or turn.thread.pid == pid:
            return
        thread = self.known.get(pid) or Thread(pid, event.thread, -1)
        first_ns = self.last_ns.get(cpu, event.at_ns)
        if self.own(thread.pid, thread.name):
            first_ns = max(first_ns, self.since_ns)
        later_ns = max(0, min((event.at_ns - first_ns) // 2, LEFT_OUT_NS))
        self._begin_turn(cpu, _Turn(thread, first_ns + later_ns, None))

    def _switch(self, event: TraceEvent) -> None:
        before, after = _thread(event, "prev_"), _thread(event, "next_")
        self.known[before.pid], self.known[after.pid] = before, after
        cpu, at_ns = event.cpu, event.at_ns
        self._catch_up(cpu, before.pid, event)
        ready = str(event.fields.get("prev_state", "")).startswith("R") and before.pid != IDLE
        if self.own(before.pid, before.name):
            self._account_handlers(cpu, at_ns)
            self._enter("ready" if ready else "asleep", at_ns)
            self.cpu = cpu
        # handlers that outlive a switch are threads, and no interrupts of whoever comes next
        self.handlers.pop(cpu, None)
        self._begin_turn(
            cpu, _Turn(after, at_ns, self._taken_from(cpu, before, after, ready=ready))
        )

    def _taken_from(self, cpu: int, before: Thread, after: Thread, *, ready: bool) -> Thread | None:
        """The ready real-time thread that has lost a CPU: now, or to fair ones in a row."""
        if not before.is_fair:
            return before if ready else None
        turn = self.turns.get(cpu)
        return turn.took_over if turn is not None and after.is_fair else None

    def _begin_turn(self, cpu: int, turn: _Turn) -> None:
        self._close_turn(cpu, turn.since_ns)
        self.turns[cpu] = turn
        if self.own(turn.thread.pid, turn.thread.name):
            self.seen = True
            # a switch that was left out cannot have been before the thread became ready
            self._enter("running", max(turn.since_ns, self.since_ns))
            self.cpu = cpu

    def _close_turn(self, cpu: int, at_ns: int) -> None:
        if cpu not in self.turns:
            return
        if self.state == "ready" and cpu == self.cpu:
            self._stood_behind(at_ns)
        if self.woken_ns is None and cpu == self.span.cpu:
            self._had_before(at_ns)
        del self.turns[cpu]

    def _within(self, from_ns: int, to_ns: int) -> int:
        """How much of a stretch lies within the job."""
        return max(0, min(to_ns, self.span.finish_ns) - max(from_ns, self.span.release_ns))

    def _share(self, thread: Thread) -> _Share:
        key = (thread.pid, thread.name)
        if key not in self.shares:
            self.shares[key] = _Share(pid=thread.pid, name=thread.name)
        return self.shares[key]

    def _stood_behind(self, to_ns: int) -> None:
        """The thread is ready: whoever has its CPU had it until ``to_ns``."""
        turn = self.turns.get(self.cpu)
        shared = self._within(max(turn.since_ns, self.since_ns), to_ns) if turn else 0
        if turn and shared:
            share = self._share(turn.thread)
            share.ready_ns += shared
            if turn.thread.pid == IDLE and turn.took_over is None and self.roused:
                self.roused_ns += shared
            if _throttles(turn, shared):
                share.instead_ns += shared

    def _had_before(self, to_ns: int) -> None:
        """Nobody has woken the thread yet: whoever has its CPU had it until ``to_ns``."""
        turn = self.turns.get(self.span.cpu)
        shared = self._within(turn.since_ns, to_ns) if turn else 0
        if turn and shared:
            self._share(turn.thread).before_ns += shared

    def _waking(self, event: TraceEvent) -> None:
        thread = _thread(event, "")
        if not self.own(thread.pid, thread.name):
            return
        if event.at_ns >= self.span.release_ns and self.woken_ns is None:
            self._had_before(event.at_ns)
            self.woken_ns = event.at_ns
        if self.state in ("asleep", "unknown"):
            waker = self.known.get(event.pid) or Thread(event.pid, event.thread, -1)
            # idle itself wakes nobody: where the trace does not say so, a handler did
            self.waker = _HANDLER if event.interrupt or event.pid == IDLE else waker
            self._enter("ready", event.at_ns)
            target = _number(event, "target_cpu")
            self.cpu = target if target >= 0 else self.cpu

    def _migrate(self, event: TraceEvent) -> None:
        thread = _thread(event, "")
        if not self.own(thread.pid, thread.name):
            return
        to_cpu = _number(event, "dest_cpu")
        if self.span.release_ns <= event.at_ns <= self.span.finish_ns:
            from_cpu = _number(event, "orig_cpu")
            self.move = self.move or Move(at_ns=event.at_ns, from_cpu=from_cpu, to_cpu=to_cpu)
            self.moves += 1
        if self.state == "ready":
            self._enter("ready", event.at_ns)
        self.cpu = to_cpu

    def _interrupt(self, event: TraceEvent) -> None:
        name, _, edge = event.name.rpartition("_")
        if edge not in ("entry", "exit"):
            return
        self._account_handlers(event.cpu, event.at_ns)
        names = self.handlers[event.cpu].names
        if edge == "entry":
            names.append(name.removesuffix("_handler"))
        elif name.removesuffix("_handler") in names:
            while names.pop() != name.removesuffix("_handler"):
                pass

    def _account_handlers(self, cpu: int, at_ns: int) -> None:
        """The innermost handler had the CPU until now."""
        handlers = self.handlers[cpu]
        if handlers.names and self.state == "running" and cpu == self.cpu:
            lasted = self._within(max(handlers.until_ns, self.since_ns), at_ns)
            if lasted:
                self.interrupts[handlers.names[-1]] += lasted
        handlers.until_ns = at_ns

    def _enter(self, state: str, at_ns: int) -> None:
        """The thread's state changes; what it did until now is added up."""
        lasted = self._within(self.since_ns, at_ns)
        if lasted:
            self.lengths[self.state] += lasted
        if self.state == "ready":
            self._stood_behind(at_ns)
        elif self.state == "asleep":
            if lasted and at_ns > self.span.start_ns:
                self._slept(lasted, min(at_ns, self.span.finish_ns))
            self.waker = _NOBODY
        self.roused = state == "ready" and (
            self.roused or (self.state == "asleep" and at_ns > self.span.start_ns)
        )
        self.state, self.since_ns = state, max(at_ns, self.since_ns)

    def _slept(self, lasted_ns: int, to_ns: int) -> None:
        share = self._share(self.waker)
        share.sleeps += 1
        share.slept_ns += lasted_ns
        if lasted_ns > share.longest_ns:
            share.longest_ns, share.longest_to_ns = lasted_ns, to_ns

    def done(self) -> JobTotals:
        self._enter("over", max(self.span.finish_ns, self.since_ns))
        for cpu in list(self.turns):
            self._close_turn(cpu, max(self.span.finish_ns, self.turns[cpu].since_ns))
        return JobTotals(
            seen=self.seen,
            woken_ns=self.woken_ns,
            ran_ns=self.lengths["running"],
            ready_ns=self.lengths["ready"],
            asleep_ns=self.lengths["asleep"],
            unknown_ns=self.lengths["unknown"],
            roused_ns=self.roused_ns,
            moves=self.moves,
            move=self.move,
            interrupts_ns=dict(self.interrupts),
            threads=tuple(ThreadShare(**asdict(share)) for share in self.shares.values()),
        )


def _throttles(turn: _Turn, shared_ns: int) -> bool:
    """A fair thread or nothing ran although a real-time thread was ready: taken over from one, or
    for longer than any latency."""
    if not turn.thread.is_fair:
        return False
    if turn.took_over is not None:
        return True
    # an idle CPU that nobody was taken from is on its way out of idle, or its host stood still
    return turn.thread.pid != IDLE and shared_ns > THROTTLED_NS


# --- whose thread it is -----------------------------------------------------------------------


def task_matcher(threads: Mapping[int, int], task: int) -> Own:
    """Whether a thread is task ``task``: by its name; by its number only where it has no name.

    In a namespace of process numbers the numbers of the set's threads are not those of the
    kernel's trace, where they may well belong to others.
    """
    numbers = {thread for thread, owner in threads.items() if owner == task}
    name = f"{_OF_TASK}{task}"
    return lambda pid, comm: comm == name or (pid in numbers and comm in _NAMELESS)


def named(share: ThreadShare, threads: Mapping[int, int]) -> str:
    """What to call a thread: a task of the set, an idle CPU, or its own name; "": not seen."""
    if share.pid == IDLE:
        return "idle"
    if share.name.startswith(_OF_TASK) and share.name.removeprefix(_OF_TASK).isdecimal():
        return f"{share.name.removeprefix('db-')} of the set"
    if share.pid in threads and share.name in _NAMELESS:
        return f"t{threads[share.pid]} of the set"
    return share.name
