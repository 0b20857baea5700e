"""What rules of `rules` look at, and what a rule is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.program.derive.outside import naps
from deadbeat.program.derive.records import NEXT, Recording, RecordKind
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.symbols import MAP
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask
from deadbeat.program.derive.tracks import Track

#: Share of a thread's jobs, and of their time, that is its begin. Of one without jobs: both ends.
BEGIN = 0.1
#: As the kernel has priorities: those of real-time threads are below the first.
_FAIR, _ORDINARY = 100, 120
#: Memory of malloc for other threads than the first begins at a multiple of it.
_ARENA = 64 << 20
#: A thread's stack is no larger, usually: what follows is one mapping with other memory.
_STACK = 8 << 20
#: Files of deadbeat that a process maps.
_OURS = re.compile(r"/deadbeat-|/shim\.so")
#: What runs programs and has threads of its own; Go is known by what it does.
_RUNTIMES = re.compile(r"(python|java|ruby|perl|lua|php|beam\.smp|dotnet|mono|julia)[\d.]*")

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
            for words in [(name.partition("#")[0], *mapped.get(pid, ()))]
            if pid in moving or any(map(_RUNTIMES.fullmatch, words))
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
        rows, track = self.derived.rows.get(self.tasks[tid].name), self.derived.tracks[tid]
        if rows is None:
            ends = track.of(RecordKind.END)["ns"].tolist()
            begin, end = max(track.thread.begin_ns - track.begin, 0), min([track.end, *ends])
            return begin + BEGIN * (end - begin), end - BEGIN * (end - begin)
        first, last = int(rows["before"][0]), int(rows["end"][-1])
        return max(first + BEGIN * (last - first), rows["before"][round(BEGIN * len(rows))]), last

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
    for first, last, mode, _, _, path in MAP.findall(text):
        begin, end = int(first, 16), int(last, 16)
        what = path.strip("[]") if path.startswith("[") else path.rpartition("/")[2]
        if not path:
            stack = guard == begin and begin % _ARENA
            what = "stack" if stack else "heap" if not begin % _ARENA else "memory"
        guard = end if mode.startswith("---") and not path else -1
        until = min(end, begin + _STACK) if what == "stack" and not path else end
        found.append(Mapping(begin, until, what, bool(_OURS.search(path))))
        if until < end:
            found.append(Mapping(until, end, "memory", ours=False))
    return found


Find = Callable[[Judged], Instances]


@frozen(kw_only=True)
class ThreadRule:
    """``needs``: kinds of records, one of which at least must be there for it to be judged;
    ``flags``: a wake-up must have some of these, and not by a guess."""

    name: str
    title: str
    why: str
    cure: str
    needs: tuple[RecordKind, ...] = ()
    flags: tuple[int, ...] = ()
    find: Find = field(repr=False)


#: Every rule by its name, the gravest first.
RULES: dict[str, ThreadRule] = {}


def rule(
    title: str, cure: str, *needs: RecordKind, flags: tuple[int, ...] = ()
) -> Callable[[Find], Find]:
    """A rule of the function's name; its docstring says why."""

    def add(find: Find) -> Find:
        name = find.__name__.replace("_", "-")
        why = " ".join((find.__doc__ or "").split())
        RULES[name] = ThreadRule(
            name=name, title=title, why=why, cure=cure, needs=needs, flags=flags, find=find
        )
        return find

    return add


def called(seen: Judged, *names: str) -> Instances:
    """Calls by name."""
    for tid, track in seen.urgent.items():
        for name, rows in seen.calls(track, *names):
            yield tid, rows["ns"], name
