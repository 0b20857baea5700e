"""What one thread did, by its records: when it ran, what it was charged, where it waited."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.program.derive.records import (
    IN_INTERRUPT,
    RecordedThread,
    Recording,
    RecordKind,
    in_order,
)
from deadbeat.program.derive.switches import (
    Times,
    gaps_of,
    place_in,
    runs_of,
    since_begin,
    switches_of,
)

#: A wait: at which site (place in ``Track.sites``), when; ``blocked``: it left its CPU; when and by
#: whom it was woken (0: not seen); expiry of its timer (0: none); what the call returned.
WAIT = np.dtype(
    [
        *(("site", "<i8"), ("enter", "<i8"), ("exit", "<i8"), ("blocked", "?")),
        *(("wake", "<i8"), ("waker", "<i8"), ("flags", "<i8"), ("timer", "<i8"), ("ret", "<i8")),
    ]
)
#: The call has not returned when recording ends.
NEVER = np.iinfo(np.int64).max
#: What the kernel itself calls again.
RESTARTED = (-512, -513, -514, -516)
#: Of a thread's CPU time: more than this share is missing in events.
_UNSEEN = 0.002
_TIMED_OUT = -110
#: A futex that is waited for again after so little was woken for nothing.
_SPURIOUS_NS = 3_000
SENDS = ("write", "writev", "sendto", "sendmsg", "sendmmsg", "mq_timedsend", "msgsnd")
#: What changes the memory of a process: its threads wait for one another.
MEMORY = ("mmap", "munmap", "mremap", "brk", "madvise")
#: What may wait for a disk or a device, too.
SLOW = ("fsync", "fdatasync", "msync", "openat", "pread64", "pwrite64")
#: From the choice of a thread to the event of its switch; more of it is a hypervisor's.
_SWITCH_NS = 100_000
#: State of a thread that a signal stopped.
STOPPED = 0x4
_SLEEPS = ("clock_nanosleep", "nanosleep")
#: A wait for a word that others alone wake at: a thread's own, as locks that park threads have it.
PARKED = "futex_wait"
#: A wait of a thread without events of calls that another thread ended.
_BY_THREAD = "another thread"
#: Calls that look whether there is something, too: then they return 0 at once.
POLLS = ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2")
#: What a thread does between which page faults end; one that maps what is in memory already.
FAULTING = (RecordKind.FAULT, RecordKind.FAULT_END, RecordKind.ENTER, RecordKind.EXIT)
_FAULT_NS = 1_000
_FUTEX_PI, _FUTEX_CONDITION = (6, 13), (9, 11)
_FUTEX_WAKES = (1, 3, 4, 5, 7, 10)
_CONTROL, _BY_MONOTONIC = 0x7F, 0x17F
_LOCKS = RecordKind.WANT, RecordKind.GOT, RecordKind.UNLOCK, RecordKind.COND_WAIT
_WANT, _GOT, _UNLOCK, _COND_WAIT = map(int, _LOCKS)
#: A clock with readings so far from the records' is that of the time of day.
OTHER_CLOCK_NS = 3 * 365 * 86_400 * 10**9


@frozen
class Site:
    """Where a thread waits. ``what``: yield, sleep, event, lock, call (no job begins after it) or
    unknown; ``call``: name of the call; ``object``: flags of a sleep, file, futex word, condition
    or semaphore."""

    what: str
    call: str
    object: int

    def __str__(self) -> str:
        if self.what == "unknown":
            return f"wake-ups of {self.call}"
        if self.call in _SLEEPS:
            return f"{self.call} ({'absolute' if self.object & 1 else 'relative'})"
        return (
            f"{self.call} of {self.object:#x}"
            if self.object > 0xFFFF
            else (f"{self.call} of {self.object}")
        )


@frozen(kw_only=True, eq=False)
class Track:
    """All of a thread; instants in ns since the recording's begin.

    Attributes:
        on, off: When it got a CPU and left it; ``state``: as what it left, ``cpu``: which.
        charges: Instants and sums of charges.
        wakes: WAKING records of it.
        waits: As WAIT, in order of time; ``sites``: their sites.
        mine: All its records.
        begin, end: Of the recording; ``end`` since ``begin``.
        became: When it last became another program; -1: it did not.
        gaps: From when to when records are missing, as in `gaps_of`.
    """

    thread: RecordedThread
    on: Times
    off: Times
    state: Times
    cpu: Times
    wakes: NDArray[np.void]
    mine: NDArray[np.void]
    begin: int
    end: int
    gaps: Times
    names: Mapping[int, str]
    became: int = -1
    sites: list[Site] = field(factory=list)

    @cached_property
    def _edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        edges = np.column_stack([self.on, self.off]).ravel().astype(float)
        lengths = np.cumsum(self.off - self.on, dtype=float)
        return edges, np.column_stack([lengths - (self.off - self.on), lengths]).ravel()

    def on_cpu(self, at: Times) -> NDArray[np.float64]:
        """Time on CPUs until ``at``."""
        edges, sums = self._edges
        return np.interp(at, edges, sums) if len(edges) else np.zeros(len(at))

    @cached_property
    def charges(self) -> tuple[Times, NDArray[np.float64]]:
        """When it was charged, and how much. Whoever reads its CPU time in /proc while it runs has
        it charged without an event: what is missing of its CPU time was charged where it ran for
        longer than the events say."""
        rows, thread = self.of(RecordKind.RUNTIME), self.thread
        sums = rows["a"].astype(float)
        until = rows["ns"] <= (thread.sampled_ns - self.begin if thread.sampled_ns else self.end)
        missing = thread.cpu_ns - sums[until].sum()
        if missing > _UNSEEN * thread.cpu_ns > 0 and not len(self.gaps):
            ran = np.diff(np.maximum.accumulate(self.on_cpu(rows["ns"])), prepend=0.0)
            more = np.maximum(ran - sums, 0)
            sums += more * min(missing / max(more[until].sum(), 1), 1)
        return rows["ns"], sums

    @cached_property
    def _charges(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Time on CPUs -> sums of charges, without and with what a hypervisor took within switches:
        a thread is charged from its choice on, at once when the event of the switch comes."""
        when, charges = self.charges
        if not len(when):
            sums = np.array([0.0, float((self.off - self.on).sum())])
            return sums, sums, sums
        at = np.maximum.accumulate(self.on_cpu(when))
        came = np.diff(np.searchsorted(self.on, when, "right"), prepend=0) > 0
        more = np.where(came, np.maximum(charges - np.diff(at, prepend=0.0), 0), 0)
        rest = max(self._edges[1][-1] - at[-1], 0.0) if len(self.on) else 0.0
        known = []
        for switch in (np.minimum(more, _SWITCH_NS), more):
            steps = np.column_stack([switch, charges - more]).ravel()
            known.append(np.cumsum(np.concatenate([[0.0], steps, [rest]])))
        steps = np.column_stack([np.minimum(np.append(0, at[:-1]) + 1, at), at]).ravel()
        return np.concatenate([[0.0], steps, [at[-1] + rest]]), known[0], known[1]

    def cpu_time(self, at: Times, *, stolen: bool = False) -> NDArray[np.float64]:
        """CPU time until ``at``: between charges in proportion to the time on CPUs."""
        known, *sums = self._charges
        return np.asarray(np.interp(self.on_cpu(at), known, sums[stolen]))

    @property
    def stopped(self) -> int | None:
        """Since when it was stopped by a signal at the end; None: it was not."""
        last = len(self.off) and self.state[-1] & STOPPED and self.off[-1] < self.end
        return int(self.off[-1]) if last else None

    def of(self, *kinds: RecordKind) -> NDArray[np.void]:
        known = self.mine["kind"]  # for a few kinds and rows faster than isin
        chosen = np.zeros(len(known), bool)
        for kind in kinds:
            chosen |= known == int(kind)
        return self.mine[chosen]

    def site(self, site: Site) -> int:
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    @cached_property
    def faults(self) -> tuple[Times, Times]:
        """When page faults began, and the CPU time that they took together until then: with the way
        back and to the next one, where that is no longer than the fault."""
        rows = self.of(*FAULTING)
        begin = np.flatnonzero(rows["kind"] == RecordKind.FAULT)
        after = np.minimum(begin + 1, len(rows) - 1)
        ended = rows["kind"][after] == RecordKind.FAULT_END
        took = self.cpu_time(rows["ns"][after]) - self.cpu_time(rows["ns"][begin])
        then = np.minimum(after + 1, len(rows) - 1)
        back = self.cpu_time(rows["ns"][then]) - self.cpu_time(rows["ns"][after])
        took += np.where((rows["kind"][then] == RecordKind.FAULT) & (back <= took), back, 0)
        took = np.where(ended, took, _FAULT_NS).astype(np.int64)
        return rows["ns"][begin], np.append(0, np.cumsum(took))

    @cached_property
    def blocks(self) -> NDArray[np.void]:
        """Stretches without the CPU that it asked for: from off to on; ``wake``: when it was
        woken in between."""
        away = np.flatnonzero(self.state & 0xFF)
        away = away[away + 1 < len(self.on)]
        found = np.zeros(len(away), WAIT)
        found["enter"], found["exit"] = self.off[away], self.on[away + 1]
        found["blocked"] = True
        if len(self.wakes) and len(away):
            last = np.searchsorted(self.wakes["ns"], found["exit"], "right") - 1
            woken = self.wakes[np.maximum(last, 0)]
            # A wake-up can come before the thread has left its CPU: the last one before it is on.
            earlier = np.append(0, found["exit"][:-1])
            there = (last >= 0) & (woken["ns"] >= earlier)
            for name, source in (("wake", "ns"), ("waker", "a"), ("flags", "b")):
                found[name][there] = woken[source][there]
        found["wake"][found["wake"] == 0] = found["exit"][found["wake"] == 0]
        return found

    @cached_property
    def waits(self) -> NDArray[np.void]:
        calls = _calls(self)
        shim = _shim_waits(self)
        inside = place_in(calls["enter"], shim["enter"], shim["exit"]) >= 0
        found = np.concatenate([calls[~inside], shim])
        found = np.sort(found, order="enter")
        _fill(self, found)
        alone = place_in(self.blocks["enter"], found["enter"], found["exit"]) < 0
        lone = self.blocks[alone]
        calls, asleep = self.of(RecordKind.ENTER)["a"], self.thread.sleeps_in
        name = "" if asleep in calls else self.names.get(asleep, "")
        lone["site"] = self.site(Site("unknown", name or "a call that is not traced", 0))
        if not len(calls) and not name:  # then a wait ends by a thread, or as others do
            by_thread = (lone["flags"] & IN_INTERRUPT == 0) & (lone["waker"] != 0)
            lone["site"][by_thread] = self.site(Site("unknown", _BY_THREAD, 0))
        return np.sort(np.concatenate([found, lone]), order="enter")

    def known(self, begin: Times, end: Times) -> NDArray[np.bool_]:
        """Which stretches no gap touches."""
        begins, ends = self.gaps.T
        over = np.searchsorted(begins, end) - np.searchsorted(ends, begin, "right")
        return np.asarray(over == 0)


def _calls(track: Track) -> NDArray[np.void]:
    """Calls in which a thread can wait; those that the kernel restarts are one."""
    rows = track.of(RecordKind.ENTER, RecordKind.EXIT)
    enters = np.flatnonzero(rows["kind"] == RecordKind.ENTER)
    found = np.zeros(len(enters), WAIT)
    if not len(enters):
        return found
    after = np.minimum(enters + 1, len(rows) - 1)
    ended = (rows["kind"][after] == RecordKind.EXIT) & (rows["a"][after] == rows["a"][enters])
    found["enter"] = rows["ns"][enters]
    found["exit"] = np.where(ended, rows["ns"][after], NEVER)
    found["ret"] = np.where(ended, rows["b"][after], 0)
    keys, place = np.unique(rows[["a", "b", "c"]][enters], return_inverse=True)
    woken = {
        int(b) for a, b, c in keys if _name(track, a) == "futex" and c & _CONTROL in (_FUTEX_WAKES)
    }
    sites = [_site(track, int(a), int(b), int(c), woken) for a, b, c in keys]
    numbers = np.array([-1 if site is None else track.site(site) for site in sites])
    found["site"] = numbers[place.ravel()]
    # A last call may not return; others without a return lost it.
    keep = (found["site"] >= 0) & (ended | (enters == enters[-1]))
    found = found[keep]
    futexes = np.isin(found["site"], [n for n, s in enumerate(track.sites) if "futex" in s.call])
    work = track.on_cpu(found["enter"][1:]) - track.on_cpu(found["exit"][:-1])
    again = (found["site"][1:] == found["site"][:-1]) & (
        np.isin(found["ret"][:-1], RESTARTED) | futexes[1:]
    )
    # else a handler of a signal ran, or it had waited for as long as it wanted
    again &= (work < _SPURIOUS_NS) & (found["ret"][:-1] != _TIMED_OUT)
    first = np.flatnonzero(np.append(True, ~again)) if len(found) else np.array([], int)
    last = np.append(first[1:], len(found)) - 1 if len(first) else first
    merged: NDArray[np.void] = found[first]
    merged["exit"], merged["ret"] = found["exit"][last], found["ret"][last]
    return merged


def _name(track: Track, number: int) -> str:
    return track.names.get(int(number), f"call {number}").removesuffix("_time64")


def _site(track: Track, number: int, first: int, second: int, woken: set[int]) -> Site | None:
    name = _name(track, number)
    word, operation = first & 0xFFFFFFFFFFFFFFFF, second & _CONTROL
    site: Site | None = Site("event", name, first)
    if name == "sched_yield":
        site = Site("yield", name, 0) if track.thread.policy == "deadline" else None
    elif name in _SLEEPS:
        site = Site("sleep", name, second & 1 if name == "clock_nanosleep" else 0)
    elif name in (*SENDS, *SLOW, "close"):
        site = Site("call", name, max(first, 0))
    elif name in MEMORY:
        site = Site("call", name, 0)
    elif name == "futex" and operation in _FUTEX_PI:
        site = Site("lock", "futex_pi", word)
    elif name == "futex" and (operation == 0 or (second & _BY_MONOTONIC == 9 and first in woken)):
        # Whoever waits for a word and wakes others at it uses it as a lock: so does Rust, by the
        # operation of glibc's conditions, with another clock than is usual there.
        site = Site("lock" if first in woken else "event", name if first in woken else PARKED, word)
    elif name == "futex":
        # The two words of a condition variable of glibc are one site.
        site = Site("event", name, word & ~7) if operation in _FUTEX_CONDITION else None
    return site


def _shim_waits(track: Track) -> NDArray[np.void]:
    """Waits for locks, conditions, semaphores and at barriers, by the shim."""
    found = [*_lock_waits(track), *_semaphores(track)]
    came: dict[int, int] = {}
    for row in track.of(RecordKind.BARRIER):
        what, ns = int(row["a"]), int(row["ns"])
        if not row["c"]:
            came[what] = ns
        elif what in came:
            found.append((Site("event", "barrier", what), came.pop(what), ns))
    waits = np.zeros(len(found), WAIT)
    for place, (site, enter, leave) in enumerate(found):
        waits[place]["site"] = track.site(site)
        waits[place]["enter"], waits[place]["exit"] = enter, leave
    return np.sort(waits, order="enter")


def _lock_waits(track: Track) -> list[tuple[Site, int, int]]:
    """A condition is waited for from the lock before it to the last one after it, whether or not
    it had to be waited for: bursts are taken without."""
    rows = track.of(*_LOCKS)
    before, entries = _conditions(rows)
    found = []
    want: dict[int, int] = {}
    entered: dict[int, tuple[int, int]] = {}  # mutex -> when, and the last GOT since
    waited = set[int]()  # mutexes with a wait since they were entered
    for ns, _, kind, _, what, caller, more in in_order(rows):
        if kind == _WANT:
            want[what] = ns
        elif kind == _GOT:
            since = want.pop(what, ns)
            if what in entered or (what, caller) in entries:
                entered[what] = entered.get(what, (since, ns))[0], ns
            elif since < ns:
                found.append((Site("lock", "lock", what), since, ns))
        elif kind == _COND_WAIT and more in entered:
            since, got = entered[more]
            if more in waited and ns - got >= _SPURIOUS_NS:  # it worked with the lock held
                found.append((Site("event", "condition", what), since, got))
                entered[more] = ns, ns
            waited.add(more)
        elif kind == _UNLOCK and what in entered:
            waited.discard(what)
            found.append((Site("event", "condition", before[what]), *entered.pop(what)))
    for mutex, (since, _) in entered.items():  # it waits when recording ends
        found.append((Site("event", "condition", before[mutex]), since, NEVER))
    return found


def _conditions(rows: NDArray[np.void]) -> tuple[dict[int, int], set[tuple[int, int]]]:
    """Mutex -> its condition, and where it is locked before a wait: mutex, caller."""
    waits = rows[rows["kind"] == RecordKind.COND_WAIT]
    before = {int(row["c"]): int(row["a"]) for row in waits}
    entries: set[tuple[int, int]] = set()
    got: dict[int, int] = {}
    again: set[int] = set()
    mine = np.isin(rows["a"], [*before]) & (rows["kind"] == RecordKind.GOT)
    for row in rows[mine | (rows["kind"] == RecordKind.COND_WAIT)]:
        mutex = int(row["a"] if row["kind"] == RecordKind.GOT else row["c"])
        if row["kind"] == RecordKind.COND_WAIT:
            entries |= {(mutex, got[mutex])} if mutex in got else set()
            again.add(mutex)
        elif mutex in again:
            again.discard(mutex)
        else:
            got[mutex] = int(row["b"])
    return before, entries


def _semaphores(track: Track) -> list[tuple[Site, int, int]]:
    """What is taken without waiting has no call: each take begins a job, but of what the thread
    itself gave back."""
    futexes = track.of(RecordKind.ENTER)
    found = []
    given = set[int]()
    for row in track.of(RecordKind.TAKE, RecordKind.POST):
        since = ns = int(row["ns"])
        if row["kind"] == RecordKind.POST:
            given.add(int(row["a"]))
            continue
        if int(row["a"]) in given and not row["c"]:
            continue
        given.discard(int(row["a"]))
        last = int(np.searchsorted(futexes["ns"], ns)) - 1
        if row["c"] and last >= 0 and _name(track, futexes["a"][last]) == "futex":
            since = int(futexes["ns"][last])
        found.append((Site("event", "semaphore", int(row["a"])), since, ns))
    return found


def _fill(track: Track, waits: NDArray[np.void]) -> None:
    """Which of ``waits`` blocked, who ended them, and which timer."""
    blocks, timers = track.blocks, track.of(RecordKind.SLEEP_TIMER, RecordKind.DEADLINE_TIMER)
    last = np.searchsorted(blocks["enter"], waits["exit"], "right") - 1
    there = (
        (last >= 0) & (blocks["enter"][np.maximum(last, 0)] >= waits["enter"])
        if len(blocks)
        else np.zeros(len(waits), bool)
    )
    waits["blocked"] = there
    for name in ("wake", "waker", "flags"):
        waits[name][there] = blocks[name][last[there]]
    if not len(timers):
        return
    yields = np.isin(waits["site"], [n for n, s in enumerate(track.sites) if s.what == "yield"])
    for kind, column, which in (
        (RecordKind.SLEEP_TIMER, "a", ~yields),
        (RecordKind.DEADLINE_TIMER, "b", yields),
    ):
        mine = timers[timers["kind"] == kind]
        if not len(mine):
            continue
        last = np.searchsorted(mine["ns"], waits["exit"], "right") - 1
        there = which & (last >= 0)
        there &= mine["ns"][np.maximum(last, 0)] >= waits["enter"]
        waits["timer"][there] = mine[column][last[there]]
    apart = waits["wake"] - waits["timer"]
    other = (waits["timer"] != 0) & waits["blocked"] & (np.abs(apart) > OTHER_CLOCK_NS)
    expired = other & ((waits["flags"] & IN_INTERRUPT) > 0)
    # those of sleeps by the time of day are known where one of them expired
    shifted = waits["timer"] + apart[expired].min() if expired.any() else 0
    waits["timer"] = np.where(other, shifted, waits["timer"])


def tracks(recording: Recording) -> dict[int, Track]:
    """tid -> what it did; instants since the recording's begin."""
    events, begin = recording.events, recording.begin_ns
    end = recording.end_ns - begin
    gaps = gaps_of(recording)
    switches = since_begin(switches_of(recording), begin)
    place = np.argsort(events["tid"], kind="stable")
    tids = events["tid"][place]
    found = {}
    for thread in recording.threads:  # one at a time: there may be a GB of events
        mine = events[place[slice(*np.searchsorted(tids, [thread.tid, thread.tid + 1]))]]
        mine = since_begin(mine[mine["kind"] != RecordKind.SWITCH], begin)
        timed = np.isin(mine["kind"], (RecordKind.SLEEP_TIMER, RecordKind.DEADLINE_TIMER))
        for column in ("a", "b"):
            mine[column][timed] -= begin
        wakes = mine["kind"] == RecordKind.WAKING
        woken, own = mine[wakes], mine[~wakes]
        execs = own["ns"][own["kind"] == RecordKind.EXEC]
        became = int(execs.max(initial=-1))  # another program; it is judged
        own = own[(own["ns"] >= became) | (own["kind"] == RecordKind.RUNTIME)]
        on, off, state, cpu = runs_of(switches, thread.tid, end)
        found[thread.tid] = Track(
            thread=thread,
            on=on,
            off=off,
            state=state,
            cpu=cpu,
            wakes=woken,
            mine=own,
            begin=begin,
            end=end,
            gaps=gaps,
            names=recording.calls,
            became=became,
        )
    return found
