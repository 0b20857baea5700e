"""A thread that was several programs in turn is several; those made for one job each are one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.program.derive.jobs import JOBS_MIN, SURE_JOBS
from deadbeat.program.derive.records import IMAGE, NEXT, RecordedThread, Recording, RecordKind

Rows = NDArray[np.void]
Threads = dict[int, RecordedThread]

#: Programs of a thread before the last one that have room above its number.
_IMAGES = 255
_TEXT = "threads that live for one job"
#: Most of them that go on at once.
_LANES = 4
#: State of a thread that ended; priority of an ordinary one.
_DEAD, _ORDINARY = 0x10, 120
#: Records that name another thread.
_NAMES = (RecordKind.SWITCH, RecordKind.WAKING, RecordKind.FORK)


def lives(recording: Recording) -> Recording:
    """With a thread of its own for each program that a thread became, where it waited often, and
    one for those that were made one after another for a job each (a timer's, a request's)."""
    threads = {thread.tid: thread for thread in recording.threads}
    events = _programs(recording.events, threads)
    kinds = (RecordKind.FORK, RecordKind.END, RecordKind.WAKING)
    forks, ends, wakes = (events[events["kind"] == kind] for kind in kinds)
    ended = dict(zip(ends["tid"].tolist(), ends["ns"].tolist(), strict=True))
    woken = Counter(wakes["tid"].tolist())
    lanes = defaultdict[int, list[list[int]]](list)
    for by, tid in forks[["tid", "a"]].tolist():
        known = tid in ended and tid in threads and by in threads and woken[tid] < JOBS_MIN
        if not known or not threads[tid].pid == threads[by].pid != tid:
            continue
        free = [each for each in lanes[by] if ended[each[-1]] <= threads[tid].begin_ns]
        if free:
            free[0].append(tid)
        elif len(lanes[by]) < _LANES:
            lanes[by].append([tid])
    for by, several in lanes.items():
        for lane in several:
            if len(lane) >= SURE_JOBS:
                # The threads of a lane are its first one, which `by` wakes where it made the next.
                events = np.array(events)
                one = lane[0]
                _renamed(events, lane, one)
                made = (events["kind"] == RecordKind.FORK) & (events["a"] == one)
                events["kind"][made], events["tid"][made], events["a"][made] = (
                    RecordKind.WAKING,
                    one,
                    by,
                )
                for tid in lane[1:]:
                    del threads[tid]
                threads[one] = evolve(threads[one], cpu_ns=-1, sleeps_in=NEXT)
    if events is recording.events:
        return recording
    ordered = sorted(threads.values(), key=lambda thread: thread.begin_ns)
    calls = recording.calls | {NEXT: _TEXT}
    return evolve(recording, events=events, threads=tuple(ordered), calls=calls)


def _renamed(events: Rows, old: Sequence[int], new: int) -> None:
    events["tid"][np.isin(events["tid"], old)] = new
    events["a"][np.isin(events["kind"], _NAMES) & np.isin(events["a"], old)] = new


def _programs(events: Rows, threads: Threads) -> Rows:
    wakes = events[events["kind"] == RecordKind.WAKING]
    wakes = wakes[np.argsort(wakes["tid"], kind="stable")]
    added = 0
    for place in np.flatnonzero(events["kind"] == RecordKind.EXEC).tolist():
        ns, tid = int(events["ns"][place + added]), int(events["tid"][place + added])
        woken = wakes["ns"][slice(*np.searchsorted(wakes["tid"], [tid, tid + 1]))]
        known = tid in threads and added < _IMAGES
        if not known or np.diff(woken.searchsorted([threads[tid].begin_ns, ns]))[0] < SURE_JOBS:
            continue
        thread, image, end = threads[tid], tid + IMAGE * (added + 1), place + added
        threads[image] = evolve(thread, tid=image, pid=image, cpu_ns=-1)
        threads[tid] = evolve(thread, begin_ns=ns, cpu_ns=-1)
        events = np.insert(events, end, events[end])
        _renamed(events[: end + 2], [tid], image)
        prio = 99 - thread.priority if thread.priority else _ORDINARY
        events["kind"][end : end + 2] = RecordKind.END, RecordKind.SWITCH
        events[["a", "b", "c"]][end + 1] = tid, _DEAD, prio | prio << 32
        added += 1
    return events
