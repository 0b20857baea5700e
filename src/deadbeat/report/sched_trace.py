"""A simulated schedule in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

Two processes: the processors with what ran on each, and the tasks with where each ran. Releases,
deadlines and misses are instants on the task's track; arrows join the pieces of a job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from deadbeat.report.sched_gantt import caption, verdict_words
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


def _events(picture: Picture) -> Iterator[dict[str, Any]]:
    scale = MICROSECONDS.get(picture.system.unit, Fraction(1))
    yield from _names(picture)
    yield from _pieces(picture, scale)
    yield from _instants(picture, scale)


def _time(value: int, scale: Fraction) -> int | float:
    exact = value * scale
    return int(exact) if exact.denominator == 1 else float(exact)


def _names(picture: Picture) -> Iterator[dict[str, Any]]:
    def name(process: int, thread: int, kind: str, text: str) -> dict[str, Any]:
        return {"ph": "M", "pid": process, "tid": thread, "name": kind, "args": {"name": text}}

    yield name(_PROCESSORS, 0, "process_name", f"processors ({caption(picture.verdict)})")
    yield name(_TASKS, 0, "process_name", "tasks (simulated)")
    for process, count in (
        (_PROCESSORS, picture.system.processors),
        (_TASKS, len(picture.system.tasks)),
    ):
        for index in range(count):
            text = f"processor {index}"
            if process == _TASKS:
                text = f"{index} {picture.system.label(index)}"
            yield name(process, index + 1, "thread_name", text)
            order = {"sort_index": index}
            yield {
                "ph": "M",
                "pid": process,
                "tid": index + 1,
                "name": "thread_sort_index",
                "args": order,
            }


def _pieces(picture: Picture, scale: Fraction) -> Iterator[dict[str, Any]]:
    rows = [tuple(map(int, row)) for row in picture.segments]
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for index, (task, job, *_) in enumerate(rows):
        first.setdefault((task, job), index)
        last[task, job] = index
    for index, (task, job, processor, start, end) in enumerate(rows):
        label = picture.system.label(task)
        slice_of = {"ph": "X", "ts": _time(start, scale), "dur": _time(end - start, scale)}
        about = {"job": job, "processor": processor, "simulated": True}
        yield {
            **slice_of,
            "pid": _PROCESSORS,
            "tid": processor + 1,
            "name": f"{label} #{job}",
            "cat": "run",
            "args": {**about, "task": label},
        }
        yield {
            **slice_of,
            "pid": _TASKS,
            "tid": task + 1,
            "name": f"#{job} on {processor}",
            "cat": "run",
            "args": about,
        }
        key = (task, job)
        if first[key] != last[key]:
            phase = {first[key]: "s", last[key]: "f"}.get(index, "t")
            # An arrow leaves and reaches a slice within its time; at its start it always is.
            flow = {"ph": phase, "id": f"{task}.{job}", "name": "resumes", "cat": "job"}
            yield {
                **flow,
                "bp": "e",
                "pid": _PROCESSORS,
                "tid": processor + 1,
                "ts": _time(start, scale),
            }


def _instants(picture: Picture, scale: Fraction) -> Iterator[dict[str, Any]]:
    for task, job, release, _, finish, deadline in (tuple(map(int, row)) for row in picture.jobs):
        missed = finish > deadline or (finish < 0 and deadline <= picture.until)
        marks = [("release", release), ("deadline missed" if missed else "deadline", deadline)]
        for name, time in marks:
            if picture.start <= time <= picture.end:
                mark = {"ph": "i", "s": "t", "pid": _TASKS, "tid": task + 1}
                about: dict[str, Any] = {"job": job, "simulated": True}
                if name == "deadline missed":
                    about["completed"] = finish if finish >= 0 else "no"
                yield {**mark, "ts": _time(time, scale), "name": name, "cat": name, "args": about}
