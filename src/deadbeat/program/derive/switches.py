"""Who had which CPU when, by records of switches, some of which are missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deadbeat.program.derive.records import RECORD, Recording, RecordKind

Times = NDArray[np.int64]

#: Records with instants since the recording's begin.
OWN = np.dtype([(name, "<i8" if name == "ns" else RECORD[name]) for name in RECORD.names or ()])


def place_in(at: Times, begins: Times, ends: Times) -> Times:
    """Place of the stretch that each instant lies in, of those in order; -1: in none."""
    if not len(begins):
        return np.full(len(at), -1)
    place = np.searchsorted(begins, at, "right") - 1
    return np.where((place >= 0) & (at <= ends[place]), place, -1)


def gaps_of(recording: Recording) -> Times:
    """From when to when, since the recording's begin, records are missing: they were too many, or
    a CPU's were lost since its last one before; both columns in order."""
    events, found = recording.events, [np.array(recording.gaps, np.int64).reshape(-1, 2)]
    lost = events[events["kind"] == RecordKind.LOST]
    for cpu in np.unique(lost["cpu"]):
        ends = lost["ns"][lost["cpu"] == cpu]
        ns = events["ns"][events["cpu"] == cpu]
        last = np.searchsorted(ns, ends) - 1
        begins = np.where(last < 0, recording.begin_ns, ns[np.maximum(last, 0)])
        found.append(np.column_stack([begins, ends]).astype(np.int64))
    return np.asarray(np.sort(np.concatenate(found), axis=0) - recording.begin_ns)


def missing_ns(recording: Recording) -> int:
    """How long no records are kept."""
    gaps = gaps_of(recording)
    ends = np.maximum(gaps[:, 1], 0)
    begins = np.maximum(gaps[:, 0], np.append(0, np.maximum.accumulate(ends))[: len(gaps)])
    return int(np.maximum(ends - begins, 0).sum())


def since_begin(rows: NDArray[np.void], begin: int) -> NDArray[np.void]:
    """``rows`` with instants since ``begin``, as they may come before it."""
    found = np.asarray(rows).astype(OWN)
    found["ns"] -= begin
    return found


def _instants(rows: NDArray[np.void], column: str) -> Callable[[int], Times]:
    """When there are rows with a value in this column."""
    place = np.argsort(rows[column], kind="stable")
    values = rows[column][place]
    return lambda value: rows["ns"][place[slice(*np.searchsorted(values, [value, value + 1]))]]


@lru_cache(maxsize=1)
def switches_of(recording: Recording) -> NDArray[np.void]:
    """All of a recording that is asked about again and again, as `whole` has them."""
    return whole(recording.events, [thread.tid for thread in recording.threads])


def whole(events: NDArray[np.void], own_tids: list[int]) -> NDArray[np.void]:
    """SWITCH records, with those of own threads that are missing: who comes is who goes next on
    that CPU. The first own record of a thread proves that it ran."""
    switches = np.asarray(events[events["kind"] == RecordKind.SWITCH])
    comes, goes = _instants(switches, "a"), _instants(switches, "tid")
    wakes = _instants(events[events["kind"] == RecordKind.WAKING], "tid")
    added = []
    for cpu in np.unique(switches["cpu"]):
        here = switches[switches["cpu"] == cpu]
        mine = np.isin(here["a"][:-1], own_tids) | np.isin(here["tid"][1:], own_tids)
        for place in np.flatnonzero(mine & (here["a"][:-1] != here["tid"][1:])):
            row = here[place].copy()
            left, after = int(row["a"]), here[place + 1]
            between = events[slice(*np.searchsorted(events["ns"], [row["ns"] + 1, after["ns"]]))]
            mine = between[between["tid"] == after["tid"]]
            woken = mine["ns"][mine["kind"] == RecordKind.WAKING]
            own = mine["ns"][(mine["cpu"] == cpu) & (mine["kind"] != RecordKind.WAKING)]
            last = goes(int(after["tid"]))
            last = last[: np.searchsorted(last, after["ns"])][-1:]
            # one that comes while it runs is of the next time it sleeps
            woken = woken[np.searchsorted(woken, last[0]) if len(last) else -1 :]
            row["ns"] = [*own[:1], *woken, after["ns"] - 1][0]
            woken, back = (
                each[np.searchsorted(each, here[place]["ns"], "right") :][:1]
                for each in (wakes(left), comes(left))
            )
            asleep = len(woken) > 0 and (not len(back) or woken[0] <= back[0])
            row["tid"], row["a"], row["b"] = left, after["tid"], int(asleep)
            row["c"] = (row["c"] >> 32) | (after["c"] & 0xFFFFFFFF) << 32
            added.append(row)
    if added:
        switches = np.concatenate([switches, np.array(added, switches.dtype)])
    ordered: NDArray[np.void] = switches[np.argsort(switches["ns"], kind="stable")]
    return ordered


def runs_of(switches: NDArray[np.void], tid: int, end: int) -> tuple[Times, Times, Times, Times]:
    comes, goes = switches[switches["a"] == tid], switches[switches["tid"] == tid]
    on, cpu = comes["ns"].copy(), comes["cpu"].astype(np.int64)  # without the rows
    off, state = goes["ns"].copy(), goes["b"].copy()
    if len(off) and (not len(on) or off[0] < on[0]):
        on, cpu = np.append(0, on), np.append(goes["cpu"][0], cpu)
    # What is still missing on either side: a thread is on one CPU at a time.
    later = np.append(on[1:], end)[: len(on)]
    place = np.searchsorted(off, on, "right")
    known = place < len(off)
    left = np.where(known, off[np.minimum(place, len(off) - 1)], end) if len(off) else later
    why = np.where(known, state[np.minimum(place, len(off) - 1)], 0) if len(off) else 0 * on
    state = np.where(left <= later, why, 0)
    return on, np.minimum(left, later), state, cpu
