"""A simulated schedule as a trace in the Trace Event Format.

ui.perfetto.dev and chrome://tracing open it: processors with what ran on each, tasks with where
each ran, releases, deadlines and misses as instants, arrows that join the pieces of a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

from deadbeat.model.words import Json
from deadbeat.report.perfetto import TraceRecord, named, record, trace_text
from deadbeat.sched.drawing import caption, verdict_words
from deadbeat.sched.picture import Picture
from deadbeat.store.files import tool_version

#: Microseconds of a unit, which is what the format counts in; other units count as one.
_EXACT = {"ns": 1, "us": 1000, "µs": 1000, "ms": 1_000_000, "s": 1_000_000_000}
MICROSECONDS = {unit: Fraction(of, 1000) for unit, of in _EXACT.items()}
_PROCESSORS, _TASKS, _LOCKS = 1, 2, 3


def schedule_trace(picture: Picture) -> str:
    """The trace as JSON; times in microseconds, see MICROSECONDS."""
    scale = MICROSECONDS.get(picture.system.unit, Fraction(1))
    parts = (_pieces(picture, scale), _locks(picture, scale), _instants(picture, scale))
    return trace_text(chain(_names(picture), *parts), _facts(picture))


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


def _time(value: int, scale: Fraction) -> int | float:
    exact = value * scale
    return int(exact) if exact.denominator == 1 else float(exact)


def _names(picture: Picture) -> Iterator[TraceRecord]:
    system = picture.system
    tasks = [f"{index} {system.label(index)}" for index in range(len(system.tasks))]
    tracks = (
        (_PROCESSORS, f"processors ({caption(picture.verdict)})",
         [f"processor {index}" for index in range(system.processors)]),
        (_TASKS, "tasks (simulated)", tasks),
        *([(_LOCKS, "locks, by task (simulated)", tasks)] if picture.holds else ()),
    )  # fmt: skip
    for process, name, _ in tracks:
        yield record("M", process, -1, "process_name", args={"name": name})
    for process, _, names in tracks:
        for index, name in enumerate(names):
            yield from named(process, index, name)


def _pieces(picture: Picture, scale: Fraction) -> Iterator[TraceRecord]:
    rows = [tuple(map(int, row)) for row in picture.segments]
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for index, (task, job, *_) in enumerate(rows):
        first.setdefault((task, job), index)
        last[task, job] = index
    for index, (task, job, processor, start, end) in enumerate(rows):
        label, key = picture.system.label(task), (task, job)
        span = {"ts": _time(start, scale), "dur": _time(end - start, scale), "cat": "run"}
        about: dict[str, Json] = {"job": job, "processor": processor, "simulated": True}
        args = {**about, "task": label}
        yield record("X", _PROCESSORS, processor, f"{label} #{job}", **span, args=args)
        yield record("X", _TASKS, task, f"#{job} on {processor}", **span, args=about)
        if first[key] != last[key]:
            phase = {first[key]: "s", last[key]: "f"}.get(index, "t")
            # An arrow leaves and reaches a slice within its time; at its start it always is.
            yield record(
                phase, _PROCESSORS, processor, "resumes",
                id=f"{task}.{job}", cat="job", bp="e", ts=_time(start, scale),
            )  # fmt: skip


def _locks(picture: Picture, scale: Fraction) -> Iterator[TraceRecord]:
    for task, job, lock, holder, start, end in picture.holds:
        yield record(
            "X", _LOCKS, task, picture.hold_words(task, lock, holder), cat="lock",
            ts=_time(start, scale), dur=_time(end - start, scale),
            args={"job": job, "simulated": True},
        )  # fmt: skip


def _instants(picture: Picture, scale: Fraction) -> Iterator[TraceRecord]:
    for each in picture.drawn_jobs:
        about: dict[str, Json] = {"job": each.job, "simulated": True}
        missed = picture.missed(each)
        late = {**about, "completed": each.finish if each.finish >= 0 else "no"}
        word, args_of = ("deadline missed", late) if missed else ("deadline", about)
        for name, time, args in (("release", each.release, about), (word, each.deadline, args_of)):
            if picture.start <= time <= picture.end:
                at = _time(time, scale)
                yield record("i", _TASKS, each.task, name, s="t", ts=at, cat=name, args=args)
