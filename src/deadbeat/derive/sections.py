"""Locks: sections per call site, protocols, who waited for whom."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from attrs import field, frozen

from deadbeat.derive.jobs import events_of
from deadbeat.derive.records import Kind
from deadbeat.derive.tracks import NEVER, Track

_PROTOCOLS = ("none", "inherit", "protect")
_SPIN = 3


@frozen(kw_only=True)
class DerivedSection:
    """Sections of one lock at one call site; lengths in CPU time, ``wall_max_ns`` on the clock."""

    lock: str
    site: str
    count: int
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
class Held:
    """A lock: ``protocol`` (none, inherit, protect, spin), ``sections`` by tid, and ``waits``."""

    name: str
    protocol: str
    sections: dict[int, tuple[DerivedSection, ...]] = field(factory=dict)
    waits: tuple[LockWait, ...] = ()


def locks_of(tracks: dict[int, Track], symbols: dict[int, str]) -> tuple[Held, ...]:
    """Every lock that the shim saw, and those that threads waited for in the kernel."""
    kinds = (Kind.INIT, Kind.WANT, Kind.GOT, Kind.UNLOCK, Kind.COND_WAIT)
    protocols: dict[tuple[int, int], str] = {}
    # (lock) -> (tid, caller) -> (begin, end)
    spans: dict[tuple[int, int], dict[tuple[int, int], list[tuple[int, int]]]] = {}
    waits: dict[tuple[int, int], list[LockWait]] = defaultdict(list)
    holders: dict[tuple[int, int], dict[int, list[int]]] = {}  # tid -> since, caller, depth
    wanted: dict[tuple[tuple[int, int], int], tuple[int, int, int]] = {}
    for row in events_of(tracks, kinds):
        kind, tid, ns = Kind(row["kind"]), int(row["tid"]), int(row["ns"])
        what = int(row["c"] if kind == Kind.COND_WAIT else row["a"])
        lock = tracks[tid].thread.pid, what
        if kind == Kind.INIT:
            protocols[lock] = _PROTOCOLS[min(int(row["c"]) & 0xFF, 2)]
            continue
        held, sites = holders.setdefault(lock, {}), spans.setdefault(lock, {})
        if kind == Kind.WANT:
            holder = next((other for other in held if other != tid), 0)
            wanted[lock, tid] = ns, holder, held[holder][1] if holder else 0
        elif kind == Kind.GOT:
            if row["c"] == _SPIN:
                protocols[lock] = "spin"
            if (lock, tid) in wanted:
                at, holder, site = wanted.pop((lock, tid))
                where = _word(site, symbols) if holder else ""
                waits[lock].append(
                    LockWait(waiter=tid, holder=holder, at_ns=at, ns=ns - at, site=where)
                )
            held.setdefault(tid, [ns, int(row["b"]), 0])[2] += 1
        elif tid in held:
            held[tid][2] -= 1
            if held[tid][2] == 0 or kind == Kind.COND_WAIT:
                since, caller, _ = held.pop(tid)
                sites.setdefault((tid, caller), []).append((since, ns))
    for track in tracks.values():
        seen = {what for _, what in spans}
        for wait in track.waits:
            site = track.sites[int(wait["site"])]
            if site.call == "futex" and site.what == "lock" and site.object not in seen:
                lock = track.thread.pid, site.object
                spans.setdefault(lock, {})
                if wait["blocked"] and wait["exit"] != NEVER:
                    ns = int(wait["exit"] - wait["enter"])
                    times = {"at_ns": int(wait["enter"]), "ns": ns}
                    waits[lock].append(
                        LockWait(waiter=track.thread.tid, holder=int(wait["waker"]), **times)
                    )
    return tuple(
        Held(
            name=_word(lock[1], symbols),
            protocol=protocols.get(lock, "none"),
            sections=_sections(_word(lock[1], symbols), sites, tracks, symbols),
            waits=tuple(waits[lock]),
        )
        for lock, sites in spans.items()
    )


def _sections(
    name: str,
    sites: dict[tuple[int, int], list[tuple[int, int]]],
    tracks: dict[int, Track],
    symbols: dict[int, str],
) -> dict[int, tuple[DerivedSection, ...]]:
    found: dict[int, list[DerivedSection]] = defaultdict(list)
    for (tid, caller), times in sites.items():
        begin, end = np.array(times, np.int64).T
        length = tracks[tid].cpu_time(end) - tracks[tid].cpu_time(begin)
        found[tid].append(
            DerivedSection(
                lock=name,
                site=_word(caller, symbols),
                count=len(times),
                mean_ns=float(length.mean()),
                max_ns=int(length.max()),
                wall_max_ns=int((end - begin).max()),
            )
        )
    return {tid: tuple(each) for tid, each in found.items()}


def _word(address: int, symbols: dict[int, str]) -> str:
    return symbols.get(address, f"{address & 0xFFFFFFFFFFFFFFFF:#x}")
