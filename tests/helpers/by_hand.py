"""Faults of real-time threads as a reader finds them who goes through the events one by one."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deadbeat.program.derive.records import NEXT, RecordedThread, Recording, RecordKind
from deadbeat.program.derive.tasks import DerivedRun

ORDINARY, LOCKS = 120, (0, 6, 13)  # operations of futex
FILES = ("fsync", "fdatasync", "msync", "openat", "pread64", "pwrite64")
MEMORY = ("mmap", "munmap", "mremap", "brk", "madvise")
SENDS = ("write", "writev", "sendto", "close", *FILES, *MEMORY)


def priority(thread: RecordedThread) -> int:
    if thread.policy not in ("fifo", "rr", "deadline") or thread.sleeps_in == NEXT:
        return ORDINARY
    return -1 if thread.policy == "deadline" else 99 - thread.priority


class Reader:
    """``found``: thread and rule -> when; ``locks``: lock -> thread -> when it was taken."""

    def __init__(self, recording: Recording) -> None:
        self.of, self.found = recording, defaultdict[tuple[int, str], list[int]](list)
        self.rank = {each.tid: priority(each) for each in recording.threads}
        self.pids = {each.tid: each.pid for each in recording.threads}
        self.others: dict[int, int] = {}
        self.calls: dict[int, tuple[int, str, int]] = {}
        self.timers: dict[int, int] = {}
        self.wakers: dict[int, tuple[int, int]] = {}
        self.asleep, self.protocols = set[int](), dict[int, int]()
        self.files: dict[tuple[int, int], bool] = {}
        self.locks = defaultdict[int, dict[int, list[int]]](lambda: defaultdict(list))
        for ns, tid, kind, _, *abc in recording.events.tolist():
            if (act := getattr(self, RecordKind(kind).name.lower(), None)) is not None:
                act(ns - recording.begin_ns, tid, *abc)

    def switch(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.others[a] = c >> 32
        self.ended(a)
        if b & 0xFF:
            self.asleep.add(tid)

    def waking(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.wakers[tid] = a, b

    def sleep_timer(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.timers[tid] = a

    def enter(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        name = self.of.calls.get(a, "")
        self.calls[tid], self.timers[tid] = (ns, name, c), 0
        file = self.files.get((self.pids[tid], b), b in (1, 2)) and name in ("write", "writev")
        self.note(ns, tid, "memory-call", name in MEMORY)
        self.note(ns, tid, "file-call", name in FILES or file)
        absolute = name == "clock_nanosleep" and c & 1
        self.note(ns, tid, "wall-clock", absolute and b in (0, 8, 11))
        if name == "close":
            self.files[self.pids[tid], b] = False

    def exit(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.ended(tid)
        self.calls.pop(tid, None)
        if self.of.calls.get(a) == "openat":
            self.files[self.pids[tid], b] = True

    def fault(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        lines = self.of.maps.get(self.pids[tid], "").splitlines()
        mine = [line for line in lines if at_in(a, line)]
        self.note(ns, tid, "page-fault", not mine or "/deadbeat-" not in mine[0])

    def init(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.protocols[a] = c & 0xFF

    def got(self, ns: int, tid: int, a: int, b: int, c: int) -> None:
        self.locks[a][tid].append(ns)

    def ended(self, tid: int) -> None:
        """It is back from a wait in a call."""
        if tid not in self.asleep:
            return
        self.asleep.discard(tid)
        ns, name, c = self.calls.get(tid, (0, "", 0))
        waker, flags = self.wakers.get(tid, (0, 0))
        sleeps = name in ("nanosleep", "clock_nanosleep")
        waits = name and name not in SENDS and not (name == "futex" and c & 0x7F in LOCKS)
        timed = name == "futex" and self.timers[tid] and c & 0x100
        less = self.rank.get(waker, self.others.get(waker, ORDINARY)) > self.rank.get(tid, ORDINARY)
        self.note(ns, tid, "relative-sleep", sleeps and (name == "nanosleep" or not c & 1))
        self.note(ns, tid, "wall-clock", timed)
        self.note(ns, tid, "woken-by-less-urgent", waits and waker and not flags & 0x18 and less)
        self.note(ns, tid, "softirq-wait", waits and not sleeps and flags & 0x18 == 0x10)

    def note(self, ns: int, tid: int, rule: str, broken: object) -> None:
        if broken and self.rank.get(tid, ORDINARY) < 100:
            self.found[tid, rule].append(ns)


def at_in(address: int, line: str) -> bool:
    begin, end = (int(word, 16) for word in line.split(maxsplit=1)[0].split("-"))
    return begin <= address < end


def early(rows: NDArray[np.void]) -> float:
    """Until when a thread's jobs begin."""
    first, last = int(rows["before"][0]), int(rows["end"][-1])
    return max(first + (last - first) / 10, int(rows["before"][round(len(rows) / 10)]))


def told(counts: Mapping[int, int], first: int, jobs: int) -> int:
    """All from the job ``first`` on; before it no more than as usual."""
    later = sum(count for job, count in counts.items() if job >= first)
    return later + min(sum(counts.values()) - later, round(later * first / max(jobs - first, 1)))


def by_hand(recording: Recording, derived: DerivedRun) -> dict[tuple[str, str], tuple[int, int]]:
    """Thread and rule -> how often, and in how many jobs."""
    read, counts = Reader(recording), dict[tuple[str, str], tuple[int, int]]()
    names = {task.tid: task.name for task in derived.tasks}
    jobs = {tid: derived.rows[name] for tid, name in names.items() if name in derived.rows}
    for lock, users in read.locks.items():
        steady = [t for t in users if t in jobs and any(at >= early(jobs[t]) for at in users[t])]
        steady.sort(key=read.rank.__getitem__)
        if not read.protocols.get(lock) and read.rank[steady[0]] < read.rank[steady[-1]]:
            read.found[steady[0], "lock-without-protocol"] += users[steady[0]]
    for (tid, rule), every in read.found.items():
        if tid in jobs:
            before, end = jobs[tid]["before"].tolist(), int(jobs[tid]["end"][-1])
            each = Counter(bisect_right(before, at) - 1 for at in every if before[0] <= at < end)
            first = bisect_left(before, early(jobs[tid]))
            many, within = (told(n, first, len(before)) for n in (each, dict.fromkeys(each, 1)))
            counts |= {(names[tid], rule): (many, within)} if many else {}
    return counts
