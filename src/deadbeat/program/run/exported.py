"""All that was recorded of a program, as a trace for ui.perfetto.dev."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.report.perfetto import TraceRecord, named, record, span, trace_text
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.tasks import DerivedRun, derive, names_of
from deadbeat.program.derive.timeline import HELD, stretches
from deadbeat.program.run.results import ProgramStore, worst_run
from deadbeat.program.run.spec import ProgramSpec

#: Processes of the trace.
_THREADS, _JOBS, _LOCKS, _OTHERS = range(1, 5)
_Tracks = defaultdict[tuple[int, str], int]  # process and name -> number, in order of use
_PROCESSES = {_THREADS: "threads", _JOBS: "jobs", _LOCKS: "locks", _OTHERS: "other threads"}


def recorded(path: Path) -> tuple[Recording, DerivedRun]:
    """The run that `summarise` shows. Raises UsageError: no events of it are kept."""
    store = ProgramStore.open(path)
    run = worst_run(store)
    recording = store.events(run.key) if run else None
    if recording is None:
        raise UsageError(f"no events of {path.name} are kept", "deadbeat run -- PROGRAM keeps them")
    return recording, derive(recording, deadlines=dict(read(ProgramSpec, store.spec).deadline))


def perfetto(path: Path, _count: int) -> str:
    return trace_text(_records(*recorded(path)), facts={"source": f"deadbeat, {path.name}"})


def _records(recording: Recording, derived: DerivedRun) -> Iterator[TraceRecord]:
    deadlines = {task.name: task.deadline_ns for task in derived.tasks}
    tracks: _Tracks = defaultdict(lambda: len(tracks))
    for each in stretches(recording, derived.waits):
        process = _THREADS if each.tid else _LOCKS if each.kind == HELD else _OTHERS
        if each.end > each.begin:
            ends = each.begin, each.end
            yield span(process, tracks[process, each.row], each.kind, *ends, what=each.text)
    for name, rows in derived.rows.items():
        deadline = deadlines.get(name)
        for number, job in enumerate(rows):
            response = int(job["end"] - job["release"])
            late = ", late" * (deadline is not None and response > deadline)
            ends = max(int(job["release"]), int(job["before"])), int(job["end"])
            yield span(
                _JOBS, tracks[_JOBS, name], f"job {number}{late}", *ends,
                response_us=response / 1e3, deadline_us=deadline and deadline / 1e3,
            )  # fmt: skip
    yield from _wake_ups(recording, tracks)
    for (process, name), number in tracks.items():
        yield from named(process, number, name)
    for process, name in _PROCESSES.items():
        yield record("M", process, 0, "process_name", args={"name": name})


def _wake_ups(recording: Recording, tracks: _Tracks) -> Iterator[TraceRecord]:
    """Arrows from a thread to the one that it wakes."""
    names = names_of(recording.threads)
    wakes = recording.events[recording.events["kind"] == RecordKind.WAKING]
    for number, wake in enumerate(wakes):
        ends = [(_THREADS, names.get(int(tid), "")) for tid in (wake["a"], wake["tid"])]
        if {*ends} <= {*tracks}:
            at = (int(wake["ns"]) - recording.begin_ns) / 1e3
            for kind, end, more in (("s", ends[0], {}), ("f", ends[1], {"bp": "e"})):
                yield record(kind, _THREADS, tracks[end], "wake-up", cat="wake-up", id=number,
                             ts=at, **more)  # fmt: skip
