"""Locks: sections per call site, protocols, who waited for whom."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.program.derive.jobs import events_of
from deadbeat.program.derive.records import IN_INTERRUPT, SHARED, RecordKind, Row, in_order
from deadbeat.program.derive.switches import place_in
from deadbeat.program.derive.tracks import NEVER, PARKED, Site, Track

_PROTOCOLS = ("none", "inherit", "protect")
#: What became of a mutex that was to have inheritance, as the shim says it.
_LEFT = (
    *("process-shared", "it has a ceiling", "it was held when first seen", "not of glibc"),
    "it did not read back",
)
CHANGES = ("", "inherit", *(f"left alone: {reason}" for reason in _LEFT))
_SPIN, _MUTEXES = 3, (0, 4)
#: Locks that park a thread at a word of its own: they are not told apart.
PARKING = "parking lock"
_KINDS = (
    RecordKind.INIT,
    RecordKind.WANT,
    RecordKind.GOT,
    RecordKind.UNLOCK,
    RecordKind.COND_WAIT,
)
_INIT, _WANT, _GOT, _UNLOCK, _COND_WAIT = map(int, _KINDS)  # there are millions of records


@frozen(kw_only=True)
class DerivedSection:
    """Sections of one lock at one call site, at most ``job_most`` in a job (0: in none); lengths in
    CPU time, ``wall_max_ns`` on the clock."""

    lock: str
    site: str
    count: int
    job_most: int
    mean_ns: float
    max_ns: int
    wall_max_ns: int


@frozen(kw_only=True)
class LockWait:
    """``waiter`` waited for ``holder`` (tids; 0: not seen) since ``at_ns`` of the recording;
    ``site``: where the lock was taken that it waited for."""

    waiter: int
    holder: int
    at_ns: int
    ns: int
    site: str = ""


@frozen(kw_only=True)
class HeldLock:
    """A lock: ``protocol`` (none, inherit, protect, spin), ``sections`` by tid, and ``waits``;
    ``changed``: one of `CHANGES`; ``foreign``: a thread unlocked it that had not locked it;
    ``spans``: from when to when which thread had it, where that is asked for."""

    name: str
    protocol: str
    changed: str = ""
    foreign: bool = False
    sections: dict[int, tuple[DerivedSection, ...]] = field(factory=dict)
    waits: tuple[LockWait, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()


class _Lock:
    """What records say of one lock."""

    def every(self) -> Iterator[tuple[int, int, int]]:
        """From when to when which thread held it."""
        for (tid, _), times in self.spans.items():
            yield from ((a, b, tid) for a, b in zip(times[::2], times[1::2], strict=True))

    def __init__(self) -> None:
        self.protocol, self.changed, self.foreign = "none", "", False
        self.spans: dict[tuple[int, int], array[int]] = {}  # (tid, caller) -> from, to, from, to
        self.waits: list[LockWait] = []
        self.held: dict[int, list[int]] = {}  # tid -> since, caller, depth
        self._wanted: dict[int, tuple[int, int, int]] = {}  # tid -> since, holder, its caller

    def take(self, row: Row, symbols: dict[int, str]) -> None:
        ns, tid, kind, _, _, caller, more = row
        if kind == _GOT:
            if more == _SPIN:
                self.protocol = "spin"
            if tid in self._wanted:
                at, holder, site = self._wanted.pop(tid)
                where = _word(site, symbols) if holder else ""
                wait = LockWait(waiter=tid, holder=holder, at_ns=at, ns=ns - at, site=where)
                self.waits.append(wait)
            self.held.setdefault(tid, [ns, caller, 0])[2] += 1
        elif kind == _WANT:
            holder = next((other for other in self.held if other != tid), 0)
            self._wanted[tid] = ns, holder, self.held[holder][1] if holder else 0
        elif kind == _INIT:
            self.protocol = _PROTOCOLS[min(more & 0xFF, 2)]
            self.changed = CHANGES[more >> 25]
        elif tid in self.held:
            self.held[tid][2] -= 1
            if self.held[tid][2] == 0 or kind == _COND_WAIT:
                since, caller, _ = self.held.pop(tid)
                self.spans.setdefault((tid, caller), array("q")).extend((since, ns))
        elif kind == _UNLOCK and more in _MUTEXES:  # a child's: its parent held it at the fork
            self.foreign |= bool(self.held) or not self.spans
            self.held.clear()


def locks_of(
    tracks: dict[int, Track],
    symbols: dict[int, str],
    jobs: Mapping[int, NDArray[np.void]],
    fixed: Collection[int] = (),
    *,
    within: bool = False,
) -> tuple[HeldLock, ...]:
    """Every lock that the shim saw, and those that threads waited for in the kernel. ``jobs``: of
    each thread, as jobs.JOB; ``fixed``: threads that keep their jobs; ``within``: with the spans of
    locks of one process, too, not only of those that processes share."""
    found = _seen(tracks, symbols)
    seen = {*found}
    for tid, track in tracks.items():
        waits, pid = track.waits, track.thread.pid
        locks = {
            number: (pid, site.object)
            for number, site in enumerate(track.sites)
            if site.what == "lock" and site.call != "lock" and (pid, site.object) not in seen
        }
        mine = np.isin(waits["site"], [*locks]) & waits["blocked"] & (waits["exit"] != NEVER)
        if tid in jobs:  # threads that begin or end together meet in the C library
            rows = jobs[tid]
            mine &= (waits["enter"] >= rows["before"].min()) & (waits["exit"] <= rows["end"].max())
        for wait in waits[mine & track.known(waits["enter"], waits["exit"])]:
            number = int(wait["site"])
            lock = found[locks[number]]
            at, ns = int(wait["enter"]), int(wait["exit"] - wait["enter"])
            lock.waits.append(LockWait(waiter=tid, holder=int(wait["waker"]), at_ns=at, ns=ns))
            if track.sites[number].call == "futex_pi":
                lock.protocol = "inherit"
    own = Counter((each.thread.pid, site) for each in tracks.values() for site in each.sites)
    parked = [wait for tid in fixed for wait in _parked(tracks[tid], jobs[tid], tracks, own)]
    if parked:
        found[0, 0].waits = parked
    return tuple(
        HeldLock(
            name=_word(address, symbols) if address else PARKING,
            protocol=lock.protocol,
            changed=lock.changed,
            foreign=lock.foreign,
            sections=_sections(_word(address, symbols), lock.spans, tracks, symbols, jobs),
            waits=tuple(lock.waits),
            spans=tuple(lock.every()) if not pid or within else (),
        )
        for (pid, address), lock in found.items()
    )


def _parked(
    track: Track,
    rows: NDArray[np.void],
    tracks: Mapping[int, Track],
    own: Mapping[tuple[int, Site], int],
) -> Iterator[LockWait]:
    """Waits in jobs for a word of the thread's own, until a thread of its process wakes it.
    ``own``: threads of a process that wait at a site."""
    places = [
        n
        for n, site in enumerate(track.sites)
        if (site.what, site.call) == ("event", PARKED) and own[track.thread.pid, site] == 1
    ]
    waits = track.waits
    waits = waits[np.isin(waits["site"], places) & waits["blocked"] & (waits["exit"] != NEVER)]
    job = np.searchsorted(rows["begin"], waits["enter"], "right") - 1
    within = (job >= 0) & (waits["exit"] <= rows["end"][np.maximum(job, 0)])
    for wait in waits[within & ((waits["flags"] & IN_INTERRUPT) == 0)]:
        waker, at = int(wait["waker"]), int(wait["enter"])
        if waker in tracks and tracks[waker].thread.pid == track.thread.pid:
            yield LockWait(
                waiter=track.thread.tid, holder=waker, at_ns=at, ns=int(wait["exit"]) - at
            )


def lock_spans(
    tracks: dict[int, Track], symbols: dict[int, str]
) -> Iterator[tuple[int, str, int, int]]:
    """Who held which lock from when to when."""
    for (_, address), lock in _seen(tracks, symbols).items():
        name = _word(address, symbols)
        for (tid, _), times in lock.spans.items():
            yield from ((tid, name, *ends) for ends in zip(times[::2], times[1::2], strict=True))
        for tid, (since, *_) in lock.held.items():
            yield tid, name, since, tracks[tid].end


def _seen(tracks: dict[int, Track], symbols: dict[int, str]) -> dict[tuple[int, int], _Lock]:
    """By process and address."""
    found: dict[tuple[int, int], _Lock] = defaultdict(_Lock)
    for row in in_order(events_of(tracks, _KINDS)):
        what = row[6] if row[2] == _COND_WAIT else row[4]
        pid = 0 if what >= SHARED else tracks[row[1]].thread.pid
        found[pid, what].take(row, symbols)
    return found


def _sections(
    name: str,
    sites: dict[tuple[int, int], array[int]],
    tracks: dict[int, Track],
    symbols: dict[int, str],
    jobs: Mapping[int, NDArray[np.void]],
) -> dict[int, tuple[DerivedSection, ...]]:
    found: dict[int, list[DerivedSection]] = defaultdict(list)
    for (tid, caller), times in sites.items():
        begin, end = np.array(times).reshape(-1, 2).T
        whole = tracks[tid].known(begin, end)
        if not whole.any():
            continue
        begin, end = begin[whole], end[whole]
        length = tracks[tid].cpu_time(end) - tracks[tid].cpu_time(begin)
        # Most of `at` from a wait for a job to the job's end; merged jobs share theirs.
        rows = jobs.get(tid)
        if rows is None:
            most = 0
        else:
            place = place_in(begin, rows["before"], rows["end"] - 1)
            counts = np.bincount(place[place >= 0], minlength=len(rows))
            most = int(np.ceil(counts / rows["pieces"]).max())
        found[tid].append(
            DerivedSection(
                lock=name,
                site=_word(caller, symbols),
                count=len(begin),
                job_most=most,
                mean_ns=float(length.mean()),
                max_ns=int(length.max()),
                wall_max_ns=int((end - begin).max()),
            )
        )
    return {tid: tuple(each) for tid, each in found.items()}


def _word(address: int, symbols: dict[int, str]) -> str:
    return symbols.get(address, f"{address & 0xFFFFFFFFFFFFFFFF:#x}")
