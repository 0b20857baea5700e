"""What went on, as stretches: of all that was recorded, or around the worst jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from attrs import evolve, frozen

from deadbeat.derive.records import Recording
from deadbeat.derive.sections import LockWait, lock_spans
from deadbeat.derive.tasks import DerivedRun, DerivedTask, names_of
from deadbeat.derive.tracks import Track, tracks, whole
from deadbeat.model.traces import Activity, WorstMoment
from deadbeat.model.words import time_text

RUNS, READY, LOCKED = "runs", "ready: another has the CPU", "waits for a lock"
SUSPENDED, HELD, OTHERS = "sleeps", "lock is held", "other threads"
_KINDS = (RUNS, READY, LOCKED, SUSPENDED, HELD, OTHERS)
#: Tasks of which the worst job is drawn, rows and stretches of a picture, the longest.
_JOBS, _ROWS, _STRETCHES = 3, 14, 600
#: Events around a job that are looked at: who holds a lock took it before.
_AROUND = 100_000
#: Events of a run that are kept.
KEPT = 1_000_000
_SOURCE = "Drawn from the kernel's events; locks where the preloaded library saw them."


@frozen(kw_only=True)
class LaneStretch:
    """Something went on, in ns since the recording's begin. ``row``: a thread, a CPU or a lock,
    ``tid``: of the thread that the row is about; 0: of none."""

    row: str
    kind: str
    begin: int
    end: int
    text: str = ""
    tid: int = 0


def stretches(recording: Recording, waits: Mapping[str, tuple[LockWait, ...]]) -> list[LaneStretch]:
    """What each thread did, who held each lock, and who else had a CPU. ``waits``: lock ->
    waits, in ns since the recording's begin."""
    names, seen = names_of(recording.threads), tracks(recording)
    locked: dict[int, list[tuple[LockWait, str]]] = {}
    for name, every in waits.items():
        for wait in every:
            locked.setdefault(wait.waiter, []).append((wait, name))
    found = [
        each
        for tid, track in seen.items()
        for each in _of_thread(track, names, locked.get(tid, []))
    ]
    for tid, name, begin, end in lock_spans(seen, recording.symbols):
        held = f"held by {names[tid]}"
        found.append(LaneStretch(row=f"lock {name}", kind=HELD, begin=begin, end=end, text=held))
    switches = whole(recording.events, [*seen])
    for cpu in np.unique(switches["cpu"]):
        here = switches[switches["cpu"] == cpu]
        at = here["ns"].astype(np.int64) - recording.begin_ns
        for place in np.flatnonzero((here["a"] != 0) & ~np.isin(here["a"], [*seen])):
            end = int(at[place + 1]) if place + 1 < len(at) else seen_end(recording)
            text = f"thread {here['a'][place]}"
            row = f"CPU {cpu}, other threads"
            found.append(
                LaneStretch(row=row, kind=OTHERS, begin=int(at[place]), end=end, text=text)
            )
    return [each for each in found if each.end > each.begin]


def seen_end(recording: Recording) -> int:
    """When the recording ended, in ns since its begin."""
    return recording.end_ns - recording.begin_ns


def _of_thread(
    track: Track, names: Mapping[int, str], locked: list[tuple[LockWait, str]]
) -> Iterator[LaneStretch]:
    tid = track.thread.tid
    begins = np.array([wait.at_ns for wait, _ in locked], np.int64)
    order = np.argsort(begins, kind="stable")
    blocks = iter(track.blocks)

    def stretch(kind: str, begin: int, end: int, text: str = "") -> LaneStretch:
        return LaneStretch(row=names[tid], kind=kind, begin=begin, end=end, text=text, tid=tid)

    for place in range(len(track.on)):
        on, off = int(track.on[place]), int(track.off[place])
        yield stretch(RUNS, on, off, f"on CPU {track.cpu[place]}")
        if place + 1 == len(track.on):
            continue
        ready, after = off, int(track.on[place + 1])
        if track.state[place] & 0xFF:
            ready = min(max(int(next(blocks)["wake"]), off), after)
            last = int(np.searchsorted(begins[order], off, "right")) - 1
            wait, lock = locked[order[last]] if last >= 0 else (None, "")
            if wait is not None and off <= wait.at_ns + wait.ns:
                by = f", held by {names.get(wait.holder, 'a thread that is not seen')}"
                yield stretch(LOCKED, off, ready, f"{lock}{by}")
            else:
                yield stretch(SUSPENDED, off, ready)
        yield stretch(READY, ready, after)


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
    return tuple(_moment(recording, derived, task) for task in known[:_JOBS])


def _moment(recording: Recording, derived: DerivedRun, task: DerivedTask) -> WorstMoment:
    rows = derived.rows[task.name]
    place = int(np.argmax(rows["end"] - rows["release"]))
    release, end = int(rows["release"][place]), int(rows["end"][place])
    part = kept(recording, (release + end) // 2, _AROUND)
    shift = part.begin_ns - recording.begin_ns
    waits = {
        name: tuple(evolve(each, at_ns=each.at_ns - shift) for each in every)
        for name, every in derived.waits.items()
    }
    found = [
        evolve(each, begin=max(each.begin + shift, release), end=min(each.end + shift, end))
        for each in stretches(part, waits)
    ]
    found = [each for each in found if each.end > each.begin]
    here = {f"{each.text[3:]}, " for each in found if each.tid == task.tid and each.kind == RUNS}
    found = [
        each
        for each in found
        if (each.kind != OTHERS or each.row.startswith(tuple(here)))
        # sleeps of others, and its own before it began, say nothing
        and (
            each.kind != SUSPENDED or (each.tid == task.tid and each.begin >= rows["begin"][place])
        )
    ]
    texts = " ".join(each.text for each in found if each.tid == task.tid and each.kind == LOCKED)
    total: dict[str, int] = {}
    for each in found:
        if each.kind != HELD or each.row.removeprefix("lock ") in texts or each.text.endswith(
            f" {task.name}"
        ):  # fmt: skip
            total[each.row] = total.get(each.row, 0) + each.end - each.begin
    most = sorted(total, key=lambda row: (row != task.name, -total[row]))[:_ROWS]
    names = [task.name, *sorted(set(most) - {task.name}, key=_order)]
    drawn = sorted((e for e in found if e.row in names), key=lambda e: e.begin - e.end)
    return WorstMoment(
        what=f"Job {place} of {task.name}: {time_text(end - release)} after its release, deadline"
        f" {time_text(task.deadline_ns or 0)}",
        rows=tuple(names),
        stretches=tuple(
            Activity(
                row=names.index(each.row),
                kind=each.kind,
                begin_ns=each.begin - release,
                end_ns=each.end - release,
                text=each.text,
            )
            for each in sorted(drawn[:_STRETCHES], key=lambda each: _KINDS.index(each.kind))
        ),
        marks={"release": 0, "deadline": task.deadline_ns or 0, "finish": end - release},
        source=_SOURCE,
    )


def _order(row: str) -> tuple[bool, bool, str]:
    return row.startswith("CPU "), row.startswith("lock "), row
