"""Where a trace lacks events that it does not say were lost: what it has does not fit together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deadbeat.program.derive.records import RecordKind

#: Of the switches, wake-ups or calls of a trace: if more do not fit, it was recorded without.
_WITHOUT = 0.5

Holes = NDArray[np.int64]


def holes_in(events: NDArray[np.void], tids: NDArray[np.int64]) -> Holes:
    """From when to when, ns, events of threads are missing; both columns in order."""
    ns = events["ns"].astype(np.int64)
    found = []
    for first, after, count in (
        _switches(events, tids),
        *_of_threads(events, tids),
    ):
        if len(first) <= _WITHOUT * count:
            found.append(np.column_stack([ns[first], ns[after]]))
    return np.sort(np.concatenate(found), axis=0) if found else np.zeros((0, 2), np.int64)


Pairs = tuple[NDArray[np.int64], NDArray[np.int64], int]


def _switches(events: NDArray[np.void], tids: NDArray[np.int64]) -> Pairs:
    """Who comes to a CPU goes next. That a thread comes may be missing in a whole trace of chosen
    threads: its next event says it."""
    place = np.flatnonzero(events["kind"] == RecordKind.SWITCH)
    place = place[np.argsort(events["cpu"][place], kind="stable")]
    first, after = place[:-1], place[1:]
    same = events["cpu"][first] == events["cpu"][after]
    mine = np.isin(events["a"][first], tids)
    wrong = same & mine & (events["a"][first] != events["tid"][after])
    return first[wrong], after[wrong], int((same & mine).sum())


def _of_threads(events: NDArray[np.void], tids: NDArray[np.int64]) -> Iterator[Pairs]:
    """A call returns before the next one; who sleeps is woken."""
    kinds = events["kind"]
    calls = np.isin(kinds, (RecordKind.ENTER, RecordKind.EXIT)) & np.isin(events["tid"], tids)
    place = np.flatnonzero(calls)
    place = place[np.argsort(events["tid"][place], kind="stable")]
    first, after = place[:-1], place[1:]
    same = events["tid"][first] == events["tid"][after]
    wrong = same & (kinds[first] == kinds[after])
    yield first[wrong], after[wrong], len(place)
    starts, ends = list[int](), list[int]()
    count = 0
    for tid in tids.tolist():
        of = events["tid"] == tid
        goes = np.flatnonzero((kinds == RecordKind.SWITCH) & of & (events["b"] & 0xFF > 0))
        comes = np.flatnonzero((kinds == RecordKind.SWITCH) & (events["a"] == tid))
        wakes = np.flatnonzero((kinds == RecordKind.WAKING) & of)
        back = np.searchsorted(comes, goes)
        goes, back = goes[back < len(comes)], back[back < len(comes)]
        before = np.where(back > 0, comes[np.maximum(back - 1, 0)], 0)
        asleep = np.searchsorted(wakes, comes[back]) == np.searchsorted(wakes, before)
        starts += goes[asleep].tolist()
        ends += comes[back][asleep].tolist()
        count += len(goes)
    yield np.array(starts, np.int64), np.array(ends, np.int64), count
