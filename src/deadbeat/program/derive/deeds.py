"""What real-time threads did that may make a job late: one function for each rule of `rules`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.outside import BUSY, naps
from deadbeat.program.derive.records import (
    IN_INTERRUPT,
    NEXT,
    SHARED,
    Recording,
    RecordKind,
)
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.symbols import MAP
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask
from deadbeat.program.derive.tracks import SLOW, Track

#: Of the time from a thread's first job to its last: its begin. Of one without jobs: both ends.
BEGIN = 0.1
#: As the kernel has priorities: those of real-time threads are below the first.
_FAIR, _ORDINARY = 100, 120
#: Memory of malloc for other threads than the first begins at a multiple of it.
_ARENA = 64 << 20
#: Files of deadbeat that a process maps.
_OURS = re.compile(r"/deadbeat-|/shim\.so")
#: Clocks that whoever may can set; of a futex's operation, that it waits by one.
_REAL_TIME_CLOCKS, _BY_REAL_TIME = (0, 8, 11), 0x100
#: In a softirq, and in no interrupt meanwhile.
_SOFT = 0x10
#: Of a CPU real-time threads have so much of each period (kernel.sched_rt_*).
_PERIOD_NS, _LIMIT = 1_000_000_000, 0.949
#: Output and errors.
_PRINTS = (1, 2)
#: What runs programs and has threads of its own; Go is known by what it does.
_RUNTIMES = re.compile(r"(python|java|node|ruby|perl|lua|php|beam\.smp|dotnet|mono|julia)[\d.]*\b")

#: Thread, when it broke the rule (None: it always does), and where.
Instances = Iterator[tuple[int, Times | None, str]]


@frozen(eq=False, slots=False)
class Judged:
    """What rules look at. ``urgent``: real-time threads; ``window``: what of a thread's time is
    neither begin nor end, ns since the recording's begin."""

    recording: Recording
    derived: DerivedRun

    @cached_property
    def tasks(self) -> dict[int, DerivedTask]:
        return {task.tid: task for task in self.derived.tasks}

    @cached_property
    def urgent(self) -> dict[int, Track]:
        tracks = self.derived.tracks
        return {tid: t for tid, t in tracks.items() if self.rank(tid) < _FAIR}

    @cached_property
    def runtimes(self) -> dict[int, str]:
        """Processes in which a runtime makes threads, with their names."""
        tracks = self.derived.tracks
        names = {track.thread.pid: self.name(track.thread.pid) for track in tracks.values()}
        mapped = {pid: [each.what for each in found] for pid, found in self.maps.items()}
        moving = {track.thread.pid for track in tracks.values() if naps(track)}
        return {
            pid: name
            for pid, name in names.items()
            if pid in moving or any(map(_RUNTIMES.match, [name, *mapped.get(pid, ())]))
        }

    @cached_property
    def maps(self) -> dict[int, list[Mapping]]:
        return {pid: mappings(text) for pid, text in self.recording.maps.items()}

    @cached_property
    def _others(self) -> dict[int, int]:
        """Priority, as the kernel has it, of whoever came to a CPU."""
        events = self.recording.events
        rows = events[events["kind"] == RecordKind.SWITCH]
        return dict(zip(rows["a"].tolist(), (rows["c"] >> 32).tolist(), strict=True))

    def rank(self, tid: int) -> int:
        """Priority that is not boosted, as the kernel has it: the lower, the more urgent."""
        known = self.derived.tracks.get(tid)
        if known is None or known.thread.sleeps_in == NEXT:  # that was seen before it was placed
            return self._others.get(tid, _ORDINARY)
        thread = known.thread
        return {"deadline": -1, "fifo": 99 - thread.priority, "rr": 99 - thread.priority}.get(
            thread.policy, _ORDINARY
        )

    def name(self, tid: int) -> str:
        task = self.tasks.get(tid)
        return task.name if task else self.recording.names.get(tid, f"thread {tid}")

    def window(self, tid: int) -> tuple[float, float]:
        rows = self.derived.rows.get(self.tasks[tid].name)
        if rows is None:
            return BEGIN * self.derived.tracks[tid].end, (1 - BEGIN) * self.derived.tracks[tid].end
        first, last = int(rows["before"][0]), int(rows["end"][-1])
        return first + BEGIN * (last - first), last

    def steady(self, tid: int, at: Times) -> bool:
        begin, end = self.window(tid)
        return bool(((at >= begin) & (at < end)).any())

    def calls(self, track: Track, *names: str) -> Iterator[tuple[str, NDArray[np.void]]]:
        """Its calls by name, but for those of deadbeat's library, which maps more of its file."""
        rows = track.of(RecordKind.ENTER, RecordKind.EXIT)
        enters, known = rows["kind"] == RecordKind.ENTER, {*np.unique(rows["a"]).tolist()}
        by_name = {number: track.names.get(number, "").removesuffix("_time64") for number in known}
        maps = np.isin(rows["a"], [number for number in known if by_name[number] == "mmap"])
        for each in [m for m in self.maps.get(track.thread.pid, ()) if m.ours]:
            made = maps & ~enters & (rows["b"] >= each.begin) & (rows["b"] < each.end)
            for place in np.flatnonzero(made):  # openat, mmap, close
                enters[max(place - 3, 0) : place + 2] = False
        for number, name in by_name.items():
            if name in names:
                yield name, rows[enters & (rows["a"] == number)]


@frozen
class Mapping:
    """A stretch of a process's memory; ``ours``: of deadbeat's library."""

    begin: int
    end: int
    what: str
    ours: bool


def mappings(text: str) -> list[Mapping]:
    """What /proc/PID/maps says."""
    found, guard = [], -1
    for first, until, mode, _, _, path in MAP.findall(text):
        begin, end = int(first, 16), int(until, 16)
        what = path.strip("[]") if path.startswith("[") else path.rpartition("/")[2]
        if not path:
            stack = guard == begin and begin % _ARENA
            what = "stack" if stack else "heap" if not begin % _ARENA else "memory"
        guard = end if mode.startswith("---") and not path else -1
        found.append(Mapping(begin, end, what, bool(_OURS.search(path))))
    return found


def relative(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        sites = [n for n, s in enumerate(track.sites) if s.what == "sleep" and not s.object & 1]
        waits = track.waits
        mine = waits[np.isin(waits["site"], sites) & waits["blocked"]]
        asked = (mine["timer"] - mine["enter"])[mine["timer"] != 0]
        yield tid, mine["enter"], f"for {time_text(int(np.median(asked)))}" if len(asked) else ""


def wall_clock(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        for name, rows in seen.calls(track, "clock_nanosleep", "futex"):
            if name == "futex":
                timed = track.waits["enter"][track.waits["timer"] != 0]
                mine = np.isin(rows["ns"], timed) & ((rows["c"] & _BY_REAL_TIME) > 0)
            else:
                mine = np.isin(rows["b"], _REAL_TIME_CLOCKS) & ((rows["c"] & 1) > 0)
            yield tid, rows["ns"][mine], name


def faults(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        rows = track.of(RecordKind.FAULT)
        what, names = np.zeros(len(rows), int), ["memory"]
        for each in reversed(seen.maps.get(track.thread.pid, [])):
            names.append("" if each.ours else each.what)
            what[(rows["a"] >= each.begin) & (rows["a"] < each.end)] = len(names) - 1
        for place in np.unique(what).tolist():
            if names[place]:
                yield tid, rows["ns"][what == place], names[place]


def softirq(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        jobs, waits = seen.derived.jobs.get(seen.tasks[tid].name), track.waits
        for place, site in enumerate(track.sites):
            mine = waits[(waits["site"] == place) & waits["blocked"]]
            by = mine["flags"] & IN_INTERRUPT
            if site.what in ("event", "unknown"):
                yield tid, mine["enter"][by == _SOFT], str(site)
            if jobs and jobs.what == "timer" and jobs.site == site:
                yield tid, mine["enter"][(by > 0) & (by != _SOFT)], f"{site}, a timer"


def less_urgent(seen: Judged) -> Instances:
    parked = defaultdict[int, list[int]](list)  # for locks
    for wait in (each for every in seen.derived.waits.values() for each in every):
        parked[wait.waiter].append(wait.at_ns)
    for tid, track in seen.urgent.items():
        waits = track.waits
        sites = [n for n, s in enumerate(track.sites) if s.what in ("event", "unknown")]
        mine = waits[np.isin(waits["site"], sites) & waits["blocked"] & (waits["waker"] > 0)]
        mine = mine[(mine["flags"] & IN_INTERRUPT == 0) & ~np.isin(mine["enter"], parked[tid])]
        for waker in np.unique(mine["waker"]).tolist():
            if seen.rank(waker) > seen.rank(tid):
                yield tid, mine["enter"][mine["waker"] == waker], f"by {seen.name(waker)}"


def locks(seen: Judged) -> Instances:
    """The most urgent user of each lock, though none waited."""
    symbols, users = seen.recording.symbols, defaultdict[tuple[int, str], dict[int, Times]](dict)
    for tid, track in seen.derived.tracks.items():
        rows = track.of(RecordKind.GOT)
        order = np.argsort(rows["a"], kind="stable")
        found, first = np.unique(rows["a"][order], return_index=True)
        for what, at in zip(found.tolist(), np.split(rows["ns"][order], first[1:]), strict=False):
            pid = 0 if what >= SHARED else track.thread.pid
            users[pid, symbols.get(what, f"{what:#x}")][tid] = at
    named = {name for _, name in users}
    for name, waits in seen.derived.waits.items():  # of locks that no library saw
        for wait in waits if name not in named else ():
            jobs = seen.tasks[wait.waiter].jobs  # else it may begin or end
            for tid in {wait.waiter, wait.holder} & {*seen.tasks} if jobs else ():
                at = users[0, name].get(tid, np.zeros(0, np.int64))
                users[0, name][tid] = np.append(at, wait.at_ns)
    plain = {lock.name for lock in seen.derived.locks if lock.protocol == "none"}
    for (_, name), mine in users.items():
        steady = sorted((t for t, at in mine.items() if seen.steady(t, at)), key=seen.rank)
        lower = [tid for tid in steady if seen.rank(tid) > seen.rank(steady[0])]
        if name in plain and lower and steady[0] in seen.urgent:
            yield steady[0], mine[steady[0]], f"{name}, with {seen.name(lower[-1])}"


def equal(seen: Judged) -> Instances:
    """Threads that run in between."""
    found = defaultdict[tuple[int, tuple[int, ...]], list[int]](list)
    for tid, track in seen.urgent.items():
        if track.thread.policy == "fifo" and not seen.tasks[tid].rests:
            found[track.thread.priority, track.thread.cpus].append(tid)
    for (_, cpus), (first, *rest) in found.items():
        if rest and len(cpus) == 1:
            yield first, None, f"{seen.name(rest[0])} on CPU {cpus[0]}"


def never_waits(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        begin, end = seen.window(tid)
        ran = float(np.diff(track.on_cpu(np.array([begin, end], np.int64)))[0])
        if ran > BUSY * (end - begin) and not seen.steady(tid, track.blocks["enter"]):
            yield tid, None, f"it runs {ran / (end - begin):.0%} of the time"


def overload(seen: Judged) -> Instances:
    """Seconds in which they had almost all of a CPU, all together."""
    end = seen.recording.end_ns - seen.recording.begin_ns
    edges = np.arange(round(BEGIN * end), round((1 - BEGIN) * end), _PERIOD_NS)
    edges = edges if len(edges) > 1 else np.array([BEGIN * end, (1 - BEGIN) * end])
    ran = defaultdict[int, dict[int, NDArray[np.float64]]](dict)
    for tid, track in seen.urgent.items():
        for cpu in np.unique(track.cpu).tolist() if track.thread.policy != "deadline" else ():
            here = track.cpu == cpu
            sums = np.append(0, np.cumsum(track.off[here] - track.on[here]))
            ends = np.column_stack([track.on[here], track.off[here]]).ravel()
            known = np.interp(edges, ends, np.column_stack([sums[:-1], sums[1:]]).ravel())
            ran[cpu][tid] = np.diff(known) / np.diff(edges)
    for cpu, mine in ran.items():
        total = np.sum([*mine.values()], axis=0)
        if (over := total >= _LIMIT).any():
            most = max(mine, key=lambda tid: float(mine[tid][over].sum()))
            yield most, None, f"{total.max():.0%} of CPU {cpu}"


def called(*names: str) -> Callable[[Judged], Instances]:
    def find(seen: Judged) -> Instances:
        for tid, track in seen.urgent.items():
            for name, rows in seen.calls(track, *names):
                yield tid, rows["ns"], name

    return find


def writes(seen: Judged) -> Instances:
    """Writes to what was opened as a file, or printed; and what works on files alone."""
    yield from called(*SLOW)(seen)
    files = defaultdict[tuple[int, int], list[tuple[int, bool]]](list)  # process and number
    for track in seen.derived.tracks.values():
        for name, is_file in (("openat", True), ("close", False)):
            numbers = [number for number, known in track.names.items() if known == name]
            rows = track.of(RecordKind.EXIT if is_file else RecordKind.ENTER)
            for ns, number in rows[np.isin(rows["a"], numbers)][["ns", "b"]].tolist():
                files[track.thread.pid, number].append((ns, is_file))
    for tid, track in seen.urgent.items():
        for name, rows in seen.calls(track, "write", "writev"):
            for number in np.unique(rows["b"]).tolist():
                mine = rows["ns"][rows["b"] == number]
                since = [(0, number in _PRINTS), *sorted(files[track.thread.pid, number])]
                last = np.searchsorted([ns for ns, _ in since], mine, "right") - 1
                is_file = np.array([is_file for _, is_file in since])[last]
                yield tid, mine[is_file], f"{name} of {number}"


def forks(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        yield tid, track.of(RecordKind.FORK)["ns"], ""
        for made in seen.derived.tracks.values():
            if made.thread.sleeps_in == NEXT:  # as `lives` has it
                yield tid, made.wakes["ns"][made.wakes["a"] == tid], ""


def nothing(_: Judged) -> Instances:
    """Its line is made of those of the other rules."""
    yield from ()
