"""Who delayed a thread: what one CPU did in a stretch of time, and the sums over a job."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from deadbeat.base.model.traces import JobTotals, ThreadShare, TraceEvent
from deadbeat.machine.trace.parse import Trace, at
from deadbeat.machine.trace.paths import Takers
from deadbeat.machine.trace.timeline import (
    IDLE,
    Handler,
    Own,
    Slice,
    State,
    Thread,
    Timeline,
    switched,
    timeline,
)

#: A fair thread that runs so long beside a ready real-time thread is no mere latency.
THROTTLED_NS = 1_000_000
#: Names under which the kernel lists a thread of which it has not kept the name.
_NAMELESS = ("", "?", "<...>")
_OF_TASK = "db-t"


# --- one stretch of a CPU ----------------------------------------------------------------------


@frozen(kw_only=True)
class Held:
    """How long a thread had a CPU.

    Attributes:
        ns: In all.
        kept_ns: Part of it from the first moment looked at until the first switch away.
    """

    thread: Thread
    ns: int
    kept_ns: int


@frozen(kw_only=True)
class Stretch:
    """What a CPU did between two moments: what delayed whoever waited for it.

    Attributes:
        threads: Who had it, the longest first; empty: no event tells.
        handlers: Interrupt and softirq handlers in words -> ns.
        silent_ns: Longest time without an event.
    """

    threads: tuple[Held, ...]
    handlers: Mapping[str, int]
    silent_ns: int


def stretch(events: Sequence[TraceEvent], cpu: int, begin_ns: int, end_ns: int) -> Stretch:
    """Sum up ``events`` in order of time, best with the switch before ``begin_ns``.

    Of kernels that do not report all switches the later event is believed.
    """
    here = [event for event in events if event.cpu == cpu]
    early = [event for event in here if event.at_ns < end_ns]
    lines = Timeline(own=lambda _pid, _name: False, since_ns=begin_ns, left_out_ns=0)
    lines.known = known_threads(here)
    for event in early or here[:1]:
        lines.take(event)
    lines.close(end_ns)
    total: dict[int, int] = {}
    kept: dict[int, int] = {}
    who: dict[int, Thread] = {}
    for turn, ns in lines.on(cpu, begin_ns, end_ns):
        pid = turn.thread.pid
        if not total or list(total) == [pid]:
            kept[pid] = kept.get(pid, 0) + ns
        total[pid] = total.get(pid, 0) + ns
        if turn.thread.priority is not None or pid not in who:
            who[pid] = turn.thread
    held = [Held(thread=who[pid], ns=ns, kept_ns=kept.get(pid, 0)) for pid, ns in total.items()]
    handlers: dict[str, int] = defaultdict(int)
    for handler, ns in lines.handled(cpu, begin_ns, end_ns):
        handlers[handler.text] += ns
    return Stretch(
        threads=tuple(sorted(held, key=lambda each: -each.ns)),
        handlers={name: ns for name, ns in handlers.items() if ns},
        silent_ns=silence(here, begin_ns, end_ns),
    )


def running_at(events: Iterable[TraceEvent], cpu: int, at_ns: int) -> Thread | None:
    """Who has a CPU at a moment; None where no event tells.

    The last event at or before it says so, or else the first one after.
    """
    here = [event for event in events if event.cpu == cpu]
    known = known_threads(here)
    first = bisect_right(here, at_ns, key=at)
    if not here:
        return None
    event = here[max(first - 1, 0)]
    if event.name == "sched_switch":
        return switched(event, "next_" if first else "prev_")
    return known.get(event.pid) or Thread(event.pid, event.thread)


def known_threads(events: Iterable[TraceEvent]) -> dict[int, Thread]:
    """Thread number -> what a switch says of it."""
    switches = [event for event in events if event.name == "sched_switch"]
    both = [switched(event, prefix) for event in switches for prefix in ("prev_", "next_")]
    return {thread.pid: thread for thread in both}


def silence(here: Iterable[TraceEvent], begin_ns: int, end_ns: int) -> int:
    """Longest time between two moments without an event."""
    inside = [event.at_ns for event in here if begin_ns <= event.at_ns <= end_ns]
    return max(after - before for before, after in pairwise([begin_ns, *inside, end_ns]))


# --- one job ----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Span:
    """The job, and the CPU it belongs on."""

    cpu: int
    release_ns: int
    start_ns: int
    finish_ns: int


#: By number and name of a thread, fields of its `ThreadShare`.
_Shares = defaultdict[tuple[int, str], defaultdict[str, int]]


def add_up(
    events: Iterable[TraceEvent], own: Own, span: Span, others: Iterable[TraceEvent] = ()
) -> JobTotals:
    """Sums over the job of the thread for which ``own`` holds; ``events`` in any order. ``others``:
    in order of time, who woke threads elsewhere: who holds an object may have waited for it, too.
    """
    handed = defaultdict[int, list[TraceEvent]](list)
    for event in others:
        if event.name == "sched_waking":
            handed[switched(event, "").pid].append(event)
    first_ns, last_ns = span.release_ns, span.finish_ns
    lines = timeline(events, own, until_ns=last_ns, cpu=span.cpu)
    shares: _Shares = defaultdict(lambda: defaultdict(int))
    woken_ns = next((moment for moment in lines.wakings if moment >= first_ns), None)
    before_ns = last_ns if woken_ns is None else min(woken_ns, last_ns)
    for turn, ns in _turns(lines, span.cpu, first_ns, before_ns):
        shares[turn.thread[:2]]["before_ns"] += ns
    lengths: dict[str, int] = defaultdict(int)
    roused_ns = 0
    for state in lines.states:
        inside = state._replace(
            begin_ns=max(state.begin_ns, first_ns), end_ns=min(state.end_ns, last_ns)
        )
        lasted = inside.end_ns - inside.begin_ns
        if lasted <= 0:
            continue
        lengths[state.name] += lasted
        if state.name == "ready":
            # Who had the CPU meanwhile; for how long of it the CPU was on its way out of idle
            # after a sleep within the job.
            roused = inside.woken_ns is not None and inside.woken_ns > span.start_ns
            for turn, ns in _turns(lines, inside.cpu, inside.begin_ns, inside.end_ns):
                share = shares[turn.thread[:2]]
                share["ready_ns"] += ns
                if _throttles(turn, ns):
                    share["instead_ns"] += ns
                if roused and turn.thread.pid == IDLE and turn.took_over is None:
                    roused_ns += ns
        elif state.name == "asleep" and state.end_ns > span.start_ns:
            shares[inside.waker[:2]]["sleeps"] += 1
            for (pid, name), lasted in _holders(inside, handed):
                share = shares[pid, name]
                share["slept_ns"] += lasted
                if lasted > share["longest_ns"]:
                    share |= {"longest_ns": lasted, "longest_to_ns": inside.end_ns}
    interrupts: dict[str, int] = defaultdict(int)
    for handler, ns in lines.interrupted(first_ns, last_ns):
        interrupts[handler.kind] += ns
    moves = [move for move in lines.moves if first_ns <= move.at_ns <= last_ns]
    return JobTotals(
        seen=lines.seen,
        woken_ns=woken_ns,
        ran_ns=lengths["running"],
        ready_ns=lengths["ready"],
        asleep_ns=lengths["asleep"],
        unknown_ns=lengths["unknown"],
        roused_ns=roused_ns,
        moves=len(moves),
        move=moves[0] if moves else None,
        interrupts_ns={kind: ns for kind, ns in interrupts.items() if ns},
        threads=tuple(
            ThreadShare(pid=pid, name=name, **share) for (pid, name), share in shares.items()
        ),
    )


def _holders(
    sleep: State, handed: Mapping[int, Sequence[TraceEvent]]
) -> Iterator[tuple[tuple[int, str], int]]:
    """Who ended a sleep, and for how long of it; before that who had let that one go on, if it is
    of the set and slept meanwhile: it queued, and held nothing."""
    holder, until_ns = sleep.waker[:2], sleep.end_ns
    while True:
        mine = handed.get(holder[0], ()) if holder[1].startswith(_OF_TASK) else ()
        before = bisect_left(mine, until_ns, key=at) - 1
        if before < 0 or (event := mine[before]).at_ns <= sleep.begin_ns:
            break
        if event.interrupt or not event.thread.startswith(_OF_TASK):
            break
        yield holder, until_ns - event.at_ns
        holder, until_ns = (event.pid, event.thread), event.at_ns
    yield holder, until_ns - sleep.begin_ns


def _turns(lines: Timeline, cpu: int, begin_ns: int, end_ns: int) -> Iterator[tuple[Slice, int]]:
    """Turns that lasted."""
    return ((turn, ns) for turn, ns in lines.on(cpu, begin_ns, end_ns) if ns)


def _throttles(turn: Slice, shared_ns: int) -> bool:
    """A fair thread or nothing ran although a real-time thread was ready: taken over from one, or
    for longer than any latency."""
    if not turn.thread.is_fair:
        return False
    if turn.took_over is not None:
        return True
    # an idle CPU that was taken from no thread is on its way out of idle, or its host stood still
    return turn.thread.pid != IDLE and shared_ns > THROTTLED_NS


# --- the owner of a thread ---------------------------------------------------------------------


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


#: Name of the real-time thread, as runtime/src/host/rounds.c calls it.
THREAD = "db-rounds0"


def takers_of(text: str) -> Takers:
    """From the text of a trace, in the order of time."""
    lines = Timeline(own=lambda _pid, name: name == THREAD)
    last_ns = 0
    for event in Trace(text).stream():
        lines.take(event)
        last_ns = event.at_ns
    lines.close(last_ns)
    waited: Counter[str] = Counter()
    switches = 0
    before = ""
    for state in lines.states:
        if state.name == "ready" and state.woken_ns is None:
            switches += before == "running"
            for turn, ns in lines.on(state.cpu, state.begin_ns, state.end_ns):
                waited[_called(turn.thread)] += ns
        before = state.name
    interrupted: Counter[str] = Counter()
    for handler, ns in lines.interrupted(0, last_ns):
        interrupted[_named(handler)] += ns
    return Takers(
        waited_ns=dict(waited.most_common()),
        interrupted_ns=dict(interrupted.most_common()),
        switches=switches,
    )


def _called(thread: Thread) -> str:
    name, priority = thread.name, thread.priority
    if name.startswith("db-normal"):
        return "ordinary threads of this test"
    if thread.pid == IDLE or name.startswith("swapper/"):
        return "no thread (idle)"
    if thread.is_fair:
        return f"{name} (ordinary)"
    if priority is None:
        return name
    return f"{name} (priority {99 - priority})" if priority >= 0 else f"{name} (deadline)"


def _named(handler: Handler) -> str:
    if handler.kind == "local_timer":
        return "local timer"
    return f"{'interrupt' if handler.kind == 'irq' else 'softirq'} {handler.name}"
