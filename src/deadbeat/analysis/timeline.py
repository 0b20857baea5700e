"""What a thread did and who had its CPU, rebuilt from scheduling events around one job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from deadbeat.model.traces import GAP, TraceEvent

#: Kernel priorities: below 100 real-time and deadline, from there on fair.
FAIR_PRIORITY = 100
IDLE = 0


@frozen
class Thread:
    """A thread as the trace names it."""

    pid: int
    name: str
    priority: int

    @property
    def is_fair(self) -> bool:
        """Whether every real-time thread goes before it; true of the idle thread."""
        return self.priority >= FAIR_PRIORITY or self.pid == IDLE


@frozen
class Wait:
    """A stretch of time in which the job's thread was ready, or slept.

    Attributes:
        kind: ``ready`` or ``asleep``.
        cpu: Whose run queue it stood in; where it last ran, if it slept.
        waker: Who ended a sleep; None: not seen.
    """

    kind: str
    cpu: int
    from_ns: int
    to_ns: int
    waker: Thread | None = None

    @property
    def length_ns(self) -> int:
        return self.to_ns - self.from_ns


@frozen
class Held:
    """Somebody's turn on a CPU.

    Attributes:
        took_over: The thread that was ready, and real-time, when it lost the CPU to this one.
    """

    thread: Thread
    cpu: int
    from_ns: int
    to_ns: int
    took_over: Thread | None = None


@frozen(kw_only=True)
class Move:
    """The job's thread was sent to another CPU."""

    at_ns: int
    from_cpu: int
    to_cpu: int


@frozen(kw_only=True)
class Timeline:
    """All that is rebuilt, between release and finish.

    Attributes:
        waits: Of the job's thread, in order.
        turns: On every CPU, in order.
        woken_ns: The first wake-up at or after the release; None: not seen.
        moves: Of the job's thread.
        interrupts_ns: Time in interrupt and softirq handlers, by name, while the thread ran.
        seen: Whether the thread was seen to get a CPU at all.
    """

    waits: tuple[Wait, ...]
    turns: tuple[Held, ...]
    woken_ns: int | None
    moves: tuple[Move, ...]
    interrupts_ns: dict[str, int]
    seen: bool

    def holders(self, wait: Wait) -> dict[Held, int]:
        """Who had the CPU during ``wait``, and how long of it."""
        found = {}
        for turn in self.turns:
            shared = min(turn.to_ns, wait.to_ns) - max(turn.from_ns, wait.from_ns)
            if turn.cpu == wait.cpu and shared > 0:
                found[turn] = shared
        return found


def rebuild(
    events: Sequence[TraceEvent],
    own: Callable[[int, str], bool],
    *,
    cpu: int,
    release_ns: int,
    finish_ns: int,
) -> Timeline:
    """The timeline of the thread for which ``own(pid, name)`` holds; it belongs on ``cpu``."""
    builder = _Builder(own=own, cpu=cpu, release_ns=release_ns, finish_ns=finish_ns)
    for event in sorted(events, key=lambda event: event.at_ns):
        builder.take(event)
    return builder.done()


def _number(event: TraceEvent, key: str) -> int:
    value = event.fields.get(key)
    return value if isinstance(value, int) else -1


def _thread(event: TraceEvent, prefix: str) -> Thread:
    name = str(event.fields.get(f"{prefix}comm", "?"))
    return Thread(_number(event, f"{prefix}pid"), name, _number(event, f"{prefix}prio"))


@define(kw_only=True)
class _Builder:
    """One pass over the events in order of time."""

    own: Callable[[int, str], bool]
    cpu: int
    release_ns: int
    finish_ns: int
    state: str = "asleep"
    since_ns: int = field(init=False)
    waker: Thread | None = None
    waits: list[Wait] = field(factory=list)
    turns: list[Held] = field(factory=list)
    now: dict[int, tuple[Thread, int, Thread | None]] = field(factory=dict)
    woken_ns: int | None = None
    moves: list[Move] = field(factory=list)
    interrupts: dict[str, int] = field(factory=lambda: defaultdict(int))
    entered: dict[tuple[int, str], int] = field(factory=dict)
    seen: bool = False
    known: dict[int, Thread] = field(factory=dict)
    last_ns: dict[int, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.since_ns = self.release_ns

    def take(self, event: TraceEvent) -> None:
        if event.name == GAP:
            self._gap(event)
            return
        self._catch_up(event)
        self.last_ns[event.cpu] = event.at_ns
        match event.name:
            case "sched_switch":
                self._switch(event)
            case "sched_waking" if self._is_own(_thread(event, "")):
                self._waking(event)
            case "sched_migrate_task" if self._is_own(_thread(event, "")):
                self._migrate(event)
            case _:
                self._interrupt(event)

    def _gap(self, event: TraceEvent) -> None:
        """What was left out says nothing: neither who had a CPU nor what the thread did."""
        self._enter("unknown", event.at_ns)
        for cpu in list(self.now):
            self._close_turn(cpu, event.at_ns)
        for known in (self.now, self.last_ns, self.entered):
            known.clear()

    def _is_own(self, thread: Thread) -> bool:
        return self.own(thread.pid, thread.name)

    def _catch_up(self, event: TraceEvent) -> None:
        """An event in another thread's time than the one that is thought to have the CPU: a switch
        was left out (kernels were met that leave out those from idle); it was after the event
        before."""
        has_it = self.now.get(event.cpu)
        if event.name == "sched_switch":
            self.known |= {t.pid: t for t in (_thread(event, "prev_"), _thread(event, "next_"))}
        if has_it is None or has_it[0].pid == event.pid:
            return
        thread = self.known.get(event.pid, Thread(event.pid, event.thread, -1))
        self._begin_turn(event.cpu, thread, self.last_ns.get(event.cpu, event.at_ns), None)

    def _switch(self, event: TraceEvent) -> None:
        before, after = _thread(event, "prev_"), _thread(event, "next_")
        ready = str(event.fields.get("prev_state", "")).startswith("R") and before.pid != IDLE
        if self._is_own(before):
            self._enter("ready" if ready else "asleep", event.at_ns)
            self.cpu = event.cpu
        took_over = before if ready and not before.is_fair else None
        self._begin_turn(event.cpu, after, event.at_ns, took_over)

    def _begin_turn(self, cpu: int, thread: Thread, at_ns: int, took_over: Thread | None) -> None:
        self._close_turn(cpu, at_ns)
        self.now[cpu] = (thread, at_ns, took_over)
        if self._is_own(thread):
            self.seen = True
            # a switch that was left out cannot have been before the thread became ready
            self._enter("running", max(at_ns, self.since_ns))
            self.cpu = cpu

    def _close_turn(self, cpu: int, at_ns: int) -> None:
        if cpu in self.now:
            thread, since, took_over = self.now[cpu]
            self.turns.append(Held(thread, cpu, since, at_ns, took_over))

    def _waking(self, event: TraceEvent) -> None:
        if event.at_ns >= self.release_ns and self.woken_ns is None:
            self.woken_ns = event.at_ns
        if self.state in ("asleep", "unknown"):
            self.waker = Thread(event.pid, event.thread, -1)
            self._enter("ready", event.at_ns)
            target = _number(event, "target_cpu")
            self.cpu = target if target >= 0 else self.cpu

    def _migrate(self, event: TraceEvent) -> None:
        to_cpu = _number(event, "dest_cpu")
        if self.release_ns <= event.at_ns <= self.finish_ns:
            from_cpu = _number(event, "orig_cpu")
            self.moves.append(Move(at_ns=event.at_ns, from_cpu=from_cpu, to_cpu=to_cpu))
        if self.state == "ready":
            self._enter("ready", event.at_ns)
        self.cpu = to_cpu

    def _interrupt(self, event: TraceEvent) -> None:
        name, _, edge = event.name.rpartition("_")
        key = (event.cpu, name)
        if edge == "entry":
            self.entered[key] = event.at_ns
        elif edge == "exit" and key in self.entered:
            began = max(self.entered.pop(key), self.release_ns)
            lasted = min(event.at_ns, self.finish_ns) - began
            if lasted > 0 and self.state == "running" and event.cpu == self.cpu:
                self.interrupts[name.removesuffix("_handler")] += lasted

    def _enter(self, state: str, at_ns: int) -> None:
        """The thread's state changes; the wait that ends is kept where it lies within the job."""
        begin, end = max(self.since_ns, self.release_ns), min(at_ns, self.finish_ns)
        if self.state in ("ready", "asleep") and end > begin:
            waker = self.waker if self.state == "asleep" else None
            self.waits.append(Wait(self.state, self.cpu, begin, end, waker))
        self.state, self.since_ns = state, at_ns

    def done(self) -> Timeline:
        self._enter("over", max(self.finish_ns, self.since_ns))
        for cpu in list(self.now):
            self._close_turn(cpu, max(self.finish_ns, self.now[cpu][1]))
        return Timeline(
            waits=tuple(self.waits),
            turns=tuple(self.turns),
            woken_ns=self.woken_ns,
            moves=tuple(self.moves),
            interrupts_ns=dict(self.interrupts),
            seen=self.seen,
        )


def task_matcher(threads: Mapping[int, int], task: int) -> Callable[[int, str], bool]:
    """Whether a thread is task ``task``: by number, or by name where numbers mean nothing (a
    namespace of process numbers)."""
    numbers = {thread for thread, owner in threads.items() if owner == task}
    name = f"db-t{task}"
    return lambda pid, comm: pid in numbers or comm == name


def named(thread: Thread | None, threads: Mapping[int, int]) -> str:
    """What to call a thread: a task of the set, an idle CPU, or its own name."""
    if thread is None:
        return ""
    if thread.pid == IDLE:
        return "idle"
    if thread.pid in threads:
        return f"t{threads[thread.pid]} of the set"
    if thread.name.startswith("db-t") and thread.name[4:].isdecimal():
        return f"{thread.name[3:]} of the set"
    return thread.name


def ready_waits(timeline: Timeline) -> Iterator[Wait]:
    """Stretches in which the thread was ready."""
    return (wait for wait in timeline.waits if wait.kind == "ready")
