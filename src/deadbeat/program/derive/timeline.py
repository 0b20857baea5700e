"""What went on, as stretches: of all that was recorded, or around the worst jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.model.words import time_text
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.sections import LockWait, lock_spans
from deadbeat.program.derive.switches import switches_of
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask, names_of
from deadbeat.program.derive.tracks import Track, tracks

RUNS, READY, LOCKED = "runs", "ready: another has the CPU", "waits for a lock"
SUSPENDED, HELD, OTHERS = "sleeps", "lock is held", "other threads"
_KINDS = (RUNS, READY, LOCKED, SUSPENDED, HELD, OTHERS)
#: Tasks with a picture of their worst job; rows and stretches of it, the longest; events around it
#: that are looked at: who holds a lock took it before.
_TASKS, _ROWS, _STRETCHES, _AROUND = 3, 14, 600, 20_000
#: Events of a run that are kept.
KEPT = 1_000_000
_SOURCE = "Drawn from the kernel's events; "
_LOCKS = ("of locks, waits alone.", "locks where the preloaded library saw them.")


@frozen
class LaneStretch:
    """Something went on, in ns since the recording's begin. ``row``: a thread (then ``tid`` is
    its), a CPU or a lock."""

    row: str
    kind: str
    begin: int
    end: int
    text: str = ""
    tid: int = 0


def stretches(
    recording: Recording, waits: Mapping[str, tuple[LockWait, ...]]
) -> Iterator[LaneStretch]:
    """What each thread did, who held each lock, and who else had a CPU. ``waits``: lock ->
    waits, in ns since the recording's begin."""
    names, seen = names_of(recording.threads), tracks(recording)
    locked = [(wait, name) for name, every in waits.items() for wait in every]
    for tid, track in seen.items():
        mine = sorted((each for each in locked if each[0].waiter == tid), key=lambda w: w[0].at_ns)
        yield from _of_thread(track, names, mine)
    for tid, name, begin, end in lock_spans(seen, recording.symbols):
        yield LaneStretch(f"{name}, held by {names[tid]}", HELD, begin, end)
    switches = switches_of(recording)
    for cpu in np.unique(switches["cpu"]):
        here = switches[switches["cpu"] == cpu]
        at = np.append(here["ns"], recording.end_ns).astype(np.int64) - recording.begin_ns
        for place in np.flatnonzero((here["a"] != 0) & ~np.isin(here["a"], [*seen])):
            begin, end = at[place : place + 2].tolist()
            text = recording.names.get(here["a"][place], f"thread {here['a'][place]}")
            yield LaneStretch(f"CPU {cpu}, other threads", OTHERS, begin, end, text)


def _of_thread(
    track: Track, names: Mapping[int, str], locked: list[tuple[LockWait, str]]
) -> Iterator[LaneStretch]:
    tid, blocks = track.thread.tid, iter(track.blocks)
    begins = [wait.at_ns for wait, _ in locked]
    for place, (on, off) in enumerate(zip(track.on.tolist(), track.off.tolist(), strict=True)):
        yield LaneStretch(names[tid], RUNS, on, off, f"on CPU {track.cpu[place]}", tid)
        after = int(track.on[place + 1]) if place + 1 < len(track.on) else off
        ready = off
        if after > off and track.state[place] & 0xFF:
            ready = min(max(int(next(blocks)["wake"]), off), after)
            kind, text, last = SUSPENDED, "", int(np.searchsorted(begins, off, "right")) - 1
            if last >= 0 and off <= locked[last][0].at_ns + locked[last][0].ns:
                wait, lock = locked[last]
                kind = LOCKED
                text = f"{lock}, held by {names.get(wait.holder, 'a thread that is not seen')}"
            yield LaneStretch(names[tid], kind, off, ready, text, tid)
        yield LaneStretch(names[tid], READY, ready, after, "", tid)


def kept(recording: Recording, around: int, most: int = KEPT) -> Recording:
    """At most ``most`` events, those around an instant (ns since the recording's begin)."""
    events = recording.events
    at = int(np.searchsorted(events["ns"], np.uint64(recording.begin_ns + around)))
    first = max(min(at - most // 2, len(events) - most), 0)
    part = events[first : first + most]
    begin = int(part["ns"][0]) if first else recording.begin_ns
    end = int(part["ns"][-1]) if first + most < len(events) else recording.end_ns
    return evolve(recording, events=part, begin_ns=begin, end_ns=end)


def worst_moments(recording: Recording, derived: DerivedRun) -> tuple[WorstMoment, ...]:
    """The worst job over time of each of the tasks that came closest to their deadlines, or missed
    them by most."""
    known = [task for task in derived.tasks if task.name in derived.rows and task.deadline_ns]
    known.sort(key=lambda task: -(task.response_max_ns or 0) / (task.deadline_ns or 1))
    found = (_moment(recording, derived, task) for task in known[:_TASKS])
    return tuple(moment for moment in found if moment.stretches)  # none without the kernel's events


def _moment(recording: Recording, derived: DerivedRun, task: DerivedTask) -> WorstMoment:
    rows, name, deadline = derived.rows[task.name], task.name, task.deadline_ns or 0
    place = int(np.argmax(rows["end"] - rows["release"]))
    release, begin, end = (int(rows[key][place]) for key in ("release", "begin", "end"))
    part = kept(recording, (release + end) // 2, _AROUND)
    shift = part.begin_ns - recording.begin_ns
    waits = {
        lock: tuple(evolve(each, at_ns=each.at_ns - shift) for each in every)
        for lock, every in derived.waits.items()
    }
    within = (
        evolve(each, begin=max(each.begin + shift, release), end=min(each.end + shift, end))
        for each in stretches(part, waits)
    )
    found = [each for each in within if each.end > each.begin]
    mine = [each for each in found if each.tid == task.tid]
    here = tuple(f"{each.text[3:]}, " for each in mine if each.kind == RUNS)
    locks = {each.text.rpartition(" by ")[0] for each in mine if each.kind == LOCKED}
    found = [
        each
        for each in found
        if (each.kind != OTHERS or each.row.startswith(here))
        if each.kind != HELD or each.row.rpartition(" by ")[0] in locks
        # sleeps of others, and its own before it began, say nothing
        if each.kind != SUSPENDED or (each.tid == task.tid and each.begin >= begin)
    ]
    total = Counter[str]()
    for each in found:
        total[each.row] += each.end - each.begin
    most = {name} | {row for row, _ in total.most_common(_ROWS)}
    rank = {row: (row != name, "," in row, row) for row in most}
    lanes = sorted(rank, key=rank.__getitem__)
    drawn = sorted((e for e in found if e.row in lanes), key=lambda e: e.begin - e.end)
    return WorstMoment(
        what=f"Job {place} of {name}: {time_text(end - release)} after its release, deadline"
        f" {time_text(deadline)}",
        rows=tuple(lanes),
        stretches=tuple(
            Activity(row=lanes.index(each.row), kind=each.kind, begin_ns=each.begin - release,
                     end_ns=each.end - release, text=each.text)
            for each in sorted(drawn[:_STRETCHES], key=lambda each: _KINDS.index(each.kind))
        ),
        marks={"release": 0, "deadline": deadline, "finish": end - release},
        source=_SOURCE + _LOCKS[bool((recording.events["kind"] >= RecordKind.INIT).any())],
    )  # fmt: skip
