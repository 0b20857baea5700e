"""A simulated schedule as a trace in the Trace Event Format.

ui.perfetto.dev and chrome://tracing open it: processors with what ran on each, tasks with where
each ran, releases, deadlines and misses as instants, arrows that join the pieces of a job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from deadbeat.report.sched_drawing import caption, verdict_words
from deadbeat.sched.picture import Picture
from deadbeat.store.files import tool_version

#: Microseconds of a unit, which is what the format counts in; other units count as one.
MICROSECONDS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1_000_000),
}
_PROCESSORS, _TASKS = 1, 2
#: By the names of the format.
Event = dict[str, object]


def trace_text(picture: Picture) -> str:
    """The trace as JSON, an event per line; times in microseconds, see MICROSECONDS."""
    events = ",\n".join(
        json.dumps(event, ensure_ascii=False, allow_nan=False) for event in _events(picture)
    )
    facts = json.dumps(_facts(picture), ensure_ascii=False, allow_nan=False)
    return f'{{"displayTimeUnit": "ns",\n"otherData": {facts},\n"traceEvents": [\n{events}\n]}}\n'


def _facts(picture: Picture) -> dict[str, str]:
    unit = picture.system.unit
    known = unit in MICROSECONDS
    return {
        "simulated": "yes",
        "caption": caption(picture.verdict),
        "verdict": verdict_words(picture.verdict),
        "because": picture.verdict.because,
        "unit": unit if known else f"1 us stands for 1 {unit or 'unit'}",
        "window": f"[{picture.start}, {picture.end})",
        "note": picture.note,
        "releases": picture.releases,
        "tool": f"deadbeat {tool_version()}",
    }


def _events(picture: Picture) -> Iterator[Event]:
    scale = MICROSECONDS.get(picture.system.unit, Fraction(1))
    yield from _names(picture)
    yield from _pieces(picture, scale)
    yield from _instants(picture, scale)


def _event(kind: str, process: int, track: int, name: str, **more: object) -> Event:
    return {"ph": kind, "pid": process, "tid": track + 1, "name": name, **more}


def _time(value: int, scale: Fraction) -> int | float:
    exact = value * scale
    return int(exact) if exact.denominator == 1 else float(exact)


def _names(picture: Picture) -> Iterator[Event]:
    system = picture.system
    named = (
        (_PROCESSORS, f"processors ({caption(picture.verdict)})",
         [f"processor {index}" for index in range(system.processors)]),
        (_TASKS, "tasks (simulated)",
         [f"{index} {system.label(index)}" for index in range(len(system.tasks))]),
    )  # fmt: skip
    for process, name, _ in named:
        yield _event("M", process, -1, "process_name", args={"name": name})
    for process, _, tracks in named:
        for index, name in enumerate(tracks):
            yield _event("M", process, index, "thread_name", args={"name": name})
            yield _event("M", process, index, "thread_sort_index", args={"sort_index": index})


def _pieces(picture: Picture, scale: Fraction) -> Iterator[Event]:
    rows = [tuple(map(int, row)) for row in picture.segments]
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for index, (task, job, *_) in enumerate(rows):
        first.setdefault((task, job), index)
        last[task, job] = index
    for index, (task, job, processor, start, end) in enumerate(rows):
        label, key = picture.system.label(task), (task, job)
        span = {"ts": _time(start, scale), "dur": _time(end - start, scale), "cat": "run"}
        about = {"job": job, "processor": processor, "simulated": True}
        args = {**about, "task": label}
        yield _event("X", _PROCESSORS, processor, f"{label} #{job}", **span, args=args)
        yield _event("X", _TASKS, task, f"#{job} on {processor}", **span, args=about)
        if first[key] != last[key]:
            phase = {first[key]: "s", last[key]: "f"}.get(index, "t")
            # An arrow leaves and reaches a slice within its time; at its start it always is.
            yield _event(
                phase, _PROCESSORS, processor, "resumes",
                id=f"{task}.{job}", cat="job", bp="e", ts=_time(start, scale),
            )  # fmt: skip


def _instants(picture: Picture, scale: Fraction) -> Iterator[Event]:
    for each in picture.drawn_jobs:
        about: dict[str, object] = {"job": each.job, "simulated": True}
        missed = picture.missed(each)
        late = {**about, "completed": each.finish if each.finish >= 0 else "no"}
        word, told = ("deadline missed", late) if missed else ("deadline", about)
        for name, time, args in (("release", each.release, about), (word, each.deadline, told)):
            if picture.start <= time <= picture.end:
                at = _time(time, scale)
                yield _event("i", _TASKS, each.task, name, s="t", ts=at, cat=name, args=args)
