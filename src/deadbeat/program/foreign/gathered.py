"""Events of a trace as a reader meets them, and then the recording of a program among them."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.words import time_text
from deadbeat.base.store.texts import shown
from deadbeat.program.derive.recorder import WAITS
from deadbeat.program.derive.records import (
    BY_WHOM,
    IN_INTERRUPT,
    RECORD,
    RecordedThread,
    Recording,
    RecordKind,
    Row,
)
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tracks import OTHER_CLOCK_NS
from deadbeat.program.foreign.holes import holes_in
from deadbeat.program.foreign.ros2 import CALLBACK, Callbacks, as_threads

#: A sched_wakeup, which counts where the trace has no sched_waking.
WAKE_UP = 1000
#: Rows in memory before they go to the disk; those looked at at once.
_ROWS, _PART = 1 << 16, 1 << 18
#: An event may stand behind one that came so much later.
_BACK_NS = 1_000_000
#: Some sleep ends so soon after its timer where both have one clock. Else all are as far from it in
#: every second, give or take; who is late all the time is not so far.
_CLOCK_NS, _TICK_NS, _DRIFT_NS, _FAR_NS, _SECOND_NS = 100_000, 1_000, 50_000, 10**10, 10**9
#: The kernel's priorities of ordinary threads begin here; that of SCHED_DEADLINE is -1.
_FAIR_PRIO = 100
#: Sleeps, beside the first, that end as soon after their timer.
_SOME = 2
#: Threads of the kernel that may have real-time priorities.
_KERNEL = re.compile(
    r"(migration|irq|ktimers?|ktimersoftd|ksoftirqd|cpuhp|watchdog|idle_inject|rcu\w*|sugov|kworker"
    r"|stopper|posixcputmr|swapper|irq_work|napi)[/:]|(watchdogd|kthreadd|psimon|rcu_\w+)$"
)
_NAMED = 5
_WIDTH = re.compile(r"_time(64|32)$")
#: Interrupts: the field with their number, and c of their records.
HANDLERS = {
    "irq_handler": ("irq", 0), "softirq": ("vec", 1), "local_timer": ("vector", 2),
    "call_function": ("vector", 3), "call_function_single": ("vector", 3),
    "reschedule": ("vector", 4), "irq_work": ("vector", 5),
}  # fmt: skip
#: They, and what runs within one.
INSIDE = {
    f"{name}_{side}": step
    for name in (*HANDLERS, "hrtimer_expire", "timer_expire")
    for side, step in (("entry", 1), ("exit", -1))
}
_NEEDED = (
    ("switch", "sched_switch", (RecordKind.SWITCH,)),
    ("wake-up", "sched_waking", (RecordKind.WAKING, WAKE_UP)),
)
#: Events, one of which tells it -> what is not known without, and what that costs.
LACKS = {
    ("call",): "system calls: jobs go by wake-ups, and one that is late takes the next ones in",
    ("sched_stat_runtime",): "charges: what a hypervisor or an interrupt took counts as execution",
    ("hrtimer_start",): "timers of sleeps: a release is the wake-up, no late timer is seen",
    ("irq_handler_entry", "softirq_entry", "local_timer_entry"): "interrupts",
    ("page_fault_user", "page_fault_kernel"): "page faults that do not wait",
}
_ALWAYS = "locks without contention; policies but by priority; CPUs on which a thread never ran"


@define
class Gathered:
    """What a trace holds. Readers append to ``rows``, call `flush` now and then, and fill the rest.

    Attributes:
        names: tid -> name; ``pids``: tid -> process, where the trace says it; ``makers``: tid ->
            who made it.
        seen: Names of events that were read -> how many; ``call``: those of system calls.
        calls: Names of system calls -> number in ``rows``.
        form: What its times are given to; "": 1 ns.
        notes: What else is not known, a line each.
        flags: Whether it says which events came in interrupts.
        mixed: Whether it holds those of a CPU together, so that times go back.
    """

    rows: list[Row] = field(factory=list)
    names: dict[int, str] = field(factory=dict)
    pids: dict[int, int] = field(factory=dict)
    makers: dict[int, int] = field(factory=dict)
    seen: Counter[str] = field(factory=Counter)
    calls: dict[str, int] = field(factory=dict)
    lost: int = 0
    form: str = ""
    notes: list[str] = field(factory=list)
    flags: bool = False
    mixed: bool = False
    callbacks: Callbacks = field(factory=Callbacks)
    _depth: Counter[int] = field(factory=Counter)
    _file: IO[bytes] = field(factory=tempfile.TemporaryFile)

    def call(self, name: str) -> int | None:
        """Number of a system call; None: it is none that a thread waits in."""
        if _WIDTH.sub("", name) not in WAITS:
            return None
        return self.calls.setdefault(name, len(self.calls))

    def interrupted(self, name: str, cpu: int, runs: int, flags: int | None = None) -> int:
        """IN_INTERRUPT where an event is in one, 0 where it is in none that is seen, by the
        events before it if ``flags`` do not say so; the idle task wakes none by itself."""
        if flags is not None:
            self.flags = True
            return flags & IN_INTERRUPT
        step = INSIDE.get(name, 0)
        self._depth[cpu] = max(self._depth[cpu] + step, 0)
        self.flags |= bool(step)
        return IN_INTERRUPT * (not runs or self._depth[cpu] > 0)

    def user_event(self, name: str, ns: int, cpu: int, fields: Mapping[str, int | str]) -> None:
        """An event of ros2_tracing."""
        self.seen["user"] += 1
        tid = fields.get("vtid", 0)
        if (found := self.callbacks.event(name, fields)) and isinstance(tid, int):
            number, begins = found
            self.names.setdefault(tid, str(fields.get("procname", f"thread {tid}")))
            self.pids[tid] = int(fields.get("vpid", tid))
            self.rows.append((ns, tid, CALLBACK, cpu, number, begins, 0))

    def flush(self, least: int = _ROWS) -> None:
        """Rows to the disk, if there are ``least`` or more."""
        if len(self.rows) >= least:
            try:
                self._file.write(np.array(self.rows, RECORD).tobytes())
            except OverflowError:
                rows = [row for each in self.rows for row in _fitting(each)]
                self._file.write(np.array(rows, RECORD).tobytes())
            self.rows.clear()

    def recording(self, process: str) -> Recording:
        """That of a process, by its name or number, or of several with commas between; "": of what
        has a real-time priority.

        Raises:
            DataError: Its events are in no order. UsageError: it has no such process.
        """
        self.flush(0)
        seen = SeenRows()
        for part in self._parts():
            seen.look(part)
        kinds, late_ns = seen.kinds, seen.late_ns
        for what, event, kind in _NEEDED:
            if not kinds[[*kind]].any() and not kinds[CALLBACK]:
                text = f"it has no {what} of a thread: no job can be told"
                raise DataError(text, f"record {event}, too")
        if late_ns > _BACK_NS and not self.mixed:
            text = f"its times go back, by {time_text(late_ns)} and less: a clock of each CPU, or"
            raise DataError(f"{text} two traces", "record it by one: echo mono > trace_clock")
        if late_ns:
            self._sort()
        woken = RecordKind.WAKING if kinds[RecordKind.WAKING] else WAKE_UP
        priorities = seen.priorities
        own = set(self._of(process)) if process else self._urgent(priorities, seen.executors)
        whole = {self.pids.get(tid) for tid in own}
        own |= {tid for tid, pid in self.pids.items() if pid in whole}
        for tid, maker in self.makers.items():  # in order of time
            own |= {tid} if maker in own else set()
        tids = np.array(sorted(own))
        events, begin, end = self._chosen(tids, woken)
        events["kind"][events["kind"] == WAKE_UP] = RecordKind.WAKING
        if not self.flags:
            _by_threads(events)
        notes = [*self._notes(woken), *_by_one_clock(events)]
        if late_ns and not self.mixed:
            notes.append(f"the order of events that are less than {time_text(late_ns)} apart")
        made = events[events["kind"] == RecordKind.FORK]
        born = dict(zip(made["a"].tolist(), made["ns"].tolist(), strict=True))
        switches = events[events["kind"] == RecordKind.SWITCH]
        threads = []
        for tid in tids.tolist():
            cpus = np.unique(switches["cpu"][(switches["a"] == tid) | (switches["tid"] == tid)])
            priority = priorities.get(tid, _FAIR_PRIO)
            policy = "other" if priority >= _FAIR_PRIO else "fifo" if priority >= 0 else "deadline"
            each = RecordedThread(
                tid=tid,
                pid=self.pids.get(tid, tid),
                name=self.names.get(tid, f"thread {tid}"),
                policy=policy,
                priority=_FAIR_PRIO - 1 - priority if policy == "fifo" else 0,
                cpus=tuple(cpus.tolist()),
                begin_ns=born.get(tid, 0),
            )
            threads.append(each)
        if not events["kind"].all():
            events = events[events["kind"] != 0]
        holes = holes_in(events, tids)
        found = Recording(
            events=events,
            threads=tuple(sorted(threads, key=lambda each: each.begin_ns)),
            begin_ns=begin,
            end_ns=end,
            calls={number: name for name, number in self.calls.items()},
            names=self.names,
            lost=self.lost + len(holes),
            gaps=tuple(map(tuple, holes.tolist())),
            not_seen=tuple(notes),
        )
        return as_threads(found, [*self.callbacks.labels()]) if kinds[CALLBACK] else found

    def _parts(self) -> Iterator[NDArray[np.void]]:
        """All rows, some at a time."""
        self._file.seek(0)
        while len(part := np.fromfile(self._file, RECORD, _PART)):
            yield part

    def _sort(self) -> None:
        """The rows, in order of time."""
        self._file.seek(0)
        rows = np.fromfile(self._file, RECORD)
        order = np.argsort(rows["ns"], kind="stable")
        self._file.seek(0)
        for at in range(0, len(order), _PART):
            self._file.write(rows[order[at : at + _PART]].tobytes())

    def _chosen(self, tids: NDArray[np.int64], woken: int) -> tuple[NDArray[np.void], int, int]:
        """What belongs to threads, when the trace begins, and ends. No two events are at one
        instant: an order is known of those that stand at one."""
        last, place, begin = -1, 0, -1
        with tempfile.TemporaryFile() as chosen:
            for part in self._parts():
                places = np.arange(place, place + len(part))
                ns = part["ns"].astype(np.int64) - places
                ns[0] = max(ns[0], last)
                ns = np.maximum.accumulate(ns)
                last, place = int(ns[-1]), place + len(part)
                part["ns"] = ns + places
                begin = begin if begin >= 0 else int(part["ns"][0])
                mine = np.isin(part["tid"], tids) | (part["kind"] == RecordKind.LOST)
                both = np.isin(part["kind"], (RecordKind.SWITCH, woken))
                mine |= both & np.isin(part["a"], tids)
                mine &= (part["kind"] < WAKE_UP) | np.isin(part["kind"], (woken, CALLBACK))
                chosen.write(part[mine].tobytes())
            chosen.seek(0)
            events = np.fromfile(chosen, RECORD)
        return events, begin, last + place

    def _of(self, process: str) -> Iterator[int]:
        """Threads of the name or number, or of a process with it."""
        for word in process.split(","):
            found = [
                tid
                for tid, name in self.names.items()
                if tid and word in (name, str(tid), str(self.pids.get(tid, tid)))
            ]
            if not found:
                common = Counter(name for tid, name in self.names.items() if tid)
                words = ", ".join(shown(name) for name, _ in common.most_common(_NAMED))
                text = f"--process {shown(word)}: it has no such thread"
                raise UsageError(text, f"it has {words}")
            yield from found

    def _urgent(self, priorities: dict[int, int], executors: set[int]) -> set[int]:
        """Threads of programs with a real-time priority, and those with callbacks."""
        found = executors | {
            tid
            for tid, priority in priorities.items()
            if tid and priority < _FAIR_PRIO and not _KERNEL.match(self.names.get(tid, ""))
        }
        if not found:
            names = [self.names[tid] for tid in priorities if tid in self.names and tid]
            others = dict.fromkeys(name for name in names if not _KERNEL.match(name))
            words = ", ".join(shown(name) for name in [*others][:_NAMED])
            raise UsageError("none of its programs has a real-time priority", f"--process: {words}")
        return found

    def _notes(self, woken: int) -> Iterator[str]:
        """What the trace does not hold, and what that costs."""
        if not self.seen["sched_switch"]:
            yield "events of the kernel: an execution time is a duration, a release its begin"
            yield from self.notes
            return
        if woken == WAKE_UP:
            yield "wake-ups but as sched_wakeup, which is later and may name another waker"
        yield from (text for names, text in LACKS.items() if not any(map(self.seen.get, names)))
        if not self.flags:
            yield BY_WHOM
        yield _ALWAYS
        yield from self.notes
        if self.form:
            yield f"times finer than {self.form}"


def _fitting(row: Row) -> Iterator[Row]:
    """The row, if its numbers can be those of an event: those of 64 bits may have a sign."""
    ns, tid, kind, cpu, *more = row
    if 0 <= ns < 1 << 63 and 0 <= tid < 1 << 32 and cpu < 1 << 16:
        a, b, c = ((each & (1 << 64) - 1) for each in more)
        a, b, c = (each - (each >> 63 << 64) for each in (a, b, c))
        yield ns, tid, kind, cpu, a, b, c


@define
class SeenRows:
    """What there is: ``kinds`` of rows, ``executors`` of callbacks; ``late_ns``: an event stands
    behind others that came so much later, at most."""

    kinds: NDArray[np.int64] = field(factory=lambda: np.zeros(CALLBACK + 1, np.int64))
    executors: set[int] = field(factory=set)
    late_ns: int = 0
    _last: int = 0
    _counts: Counter[tuple[int, int]] = field(factory=Counter)

    def look(self, part: NDArray[np.void]) -> None:
        self.kinds += np.bincount(part["kind"], minlength=CALLBACK + 1)
        self.executors |= {*part["tid"][part["kind"] == CALLBACK].tolist()}
        ns = part["ns"].astype(np.int64)
        top = np.maximum(np.maximum.accumulate(ns), self._last)
        self.late_ns, self._last = max(self.late_ns, int((top - ns).max())), int(top[-1])
        switches = part[part["kind"] == RecordKind.SWITCH]
        low = (switches["c"] & 0xFFFFFFFF).astype(np.uint32).astype(np.int32)
        both = switches["tid"].astype(np.int64) << 32 | (low.astype(np.int64) + (1 << 31))
        keys, counts = np.unique(both, return_counts=True)
        pairs = ((int(key) >> 32, (int(key) & 0xFFFFFFFF) - (1 << 31)) for key in keys)
        self._counts.update(dict(zip(pairs, counts.tolist(), strict=True)))

    @property
    def priorities(self) -> dict[int, int]:
        """tid -> its most frequent priority by the kernel, those of most switches first."""
        found: dict[int, int] = {}
        for (tid, priority), _ in self._counts.most_common():
            found.setdefault(tid, priority)
        return found


def _by_threads(events: NDArray[np.void]) -> None:
    """Where interrupts are not known, a thread wakes another if it does so most of the time."""
    wakes = events["kind"] == RecordKind.WAKING
    for tid in np.unique(events["tid"][wakes]):
        mine = np.flatnonzero(wakes & (events["tid"] == tid))
        wakers, counts = np.unique(events["a"][mine], return_counts=True)
        most = wakers[counts.argmax()] if 2 * counts.max() >= len(mine) else 0
        events["b"][mine] = np.where((events["a"][mine] == most) & (most > 0), 0, IN_INTERRUPT)


def _by_one_clock(events: NDArray[np.void]) -> Iterator[str]:
    """Puts timers of sleeps on the clock of the events: a wake-up comes a little after its timer.
    Where that cannot be they are left out (kind 0)."""
    timers, wakes = (events["kind"] == k for k in (RecordKind.SLEEP_TIMER, RecordKind.WAKING))
    # by the time of day, or the events are
    far = abs(events["a"] - events["ns"].astype(np.int64)) > OTHER_CLOCK_NS
    for mine in (timers & ~far, timers & far):
        at, apart = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for tid in np.unique(events["tid"][mine]):
            own = events[mine & (events["tid"] == tid)]
            woken = events["ns"][wakes & (events["tid"] == tid)].astype(np.int64)
            place = np.searchsorted(woken, own["ns"].astype(np.int64))
            there = place < len(woken)
            at.append(woken[place[there]])
            apart.append(at[-1] - own["a"][there])
        yield from _shift(events, mine, np.concatenate(at), np.concatenate(apart))


def _shift(
    events: NDArray[np.void], mine: NDArray[np.bool_], at: Times, apart: Times
) -> Iterator[str]:
    """Timers ``mine`` of ``events``, by wake-ups that came ``apart`` from some of them."""
    if not len(at) or ((apart >= -_TICK_NS) & (apart < _CLOCK_NS)).any():
        return
    if abs(np.median(apart)) > OTHER_CLOCK_NS:  # two clocks that go alike
        low = np.sort(apart)
        some = np.flatnonzero(low[_SOME:] - low[:-_SOME] <= _DRIFT_NS)
        for column in ("a", "b"):
            events[column][mine] += low[some[0] if len(some) else 0]
        return
    each, second = np.unique(at // _SECOND_NS, return_inverse=True)
    middle = np.array([np.median(apart[second == n]) for n in range(len(each))])
    off = abs(apart - middle[second])
    if np.median(off) > _DRIFT_NS:
        if not -_CLOCK_NS < np.median(apart) < _FAR_NS:
            events["kind"][mine] = 0
            yield "timers of sleeps: their clock is not that of the events"
        return
    tight = off <= _DRIFT_NS
    least = [apart[tight & (second == n)].min(initial=middle[n]) for n in range(len(each))]
    middles = (each - each[0] + 0.5) * _SECOND_NS
    when = (events["ns"][mine] - np.uint64(each[0] * _SECOND_NS)).astype(np.int64)
    shift = np.interp(when, middles, np.array(least) - least[0]).astype(np.int64) + int(least[0])
    for column in ("a", "b"):
        events[column][mine] += shift
    yield "timers of sleeps but by the wake-ups: their clock is not that of the events"
