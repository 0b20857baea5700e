"""Traces that ui.perfetto.dev opens: the JSON of Chrome's trace event format, in microseconds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deadbeat.base.model.traces import WorstMoment
from deadbeat.base.model.words import Json

TraceRecord = dict[str, Json]
#: ns of a unit of time.
_UNITS = {"": 1, "ns": 1, "us": 1000, "µs": 1000, "ms": 1_000_000, "s": 1_000_000_000}


def trace_text(records: Iterable[TraceRecord], facts: Mapping[str, str] | None = None) -> str:
    """A whole file; ``facts`` about all of it."""
    extra = {"otherData": facts} if facts else {}
    whole = {"displayTimeUnit": "ns", **extra, "traceEvents": list(records)}
    return json.dumps(whole, allow_nan=False) + "\n"


def moments_text(moments: Sequence[WorstMoment], *, source: str) -> str:
    """A process for each moment; in it a track for each of its rows, and one for its marks.

    Args:
        source: ``measured`` or ``simulated``: the category of every stretch.
    """
    return trace_text(
        each
        for process, moment in enumerate(moments, 1)
        for each in _moment(process, moment, source)
    )


def _moment(process: int, moment: WorstMoment, source: str) -> Iterator[TraceRecord]:
    unit_ns = _UNITS.get(moment.unit, 1000)
    unit = "" if moment.unit in _UNITS else f"; 1 us stands for 1 {moment.unit}"
    yield record("M", process, 0, "process_name", args={"name": f"{moment.what}{unit}"})
    for each in moment.stretches:
        name, ends = each.text or each.kind, (each.begin_ns * unit_ns, each.end_ns * unit_ns)
        if each.begin_ns < each.end_ns or not moment.unit:
            yield span(process, each.row, name, *ends, source=source, what=each.kind)
        else:
            yield record("i", process, each.row, name, ts=ends[0] / 1e3, s="t", cat=each.kind)
    for name, at in moment.marks.items():
        yield record("i", process, len(moment.rows), name, ts=at * unit_ns / 1e3, s="t")
    for track, name in enumerate((*moment.rows, "marks")):
        yield from named(process, track, name)


def named(process: int, track: int, name: str) -> Iterator[TraceRecord]:
    """The name of a track, and its place among the others."""
    yield record("M", process, track, "thread_name", args={"name": name})
    yield record("M", process, track, "thread_sort_index", args={"sort_index": track})


def span(
    process: int,
    track: int,
    name: str,
    begin_ns: int,
    end_ns: int,
    *,
    source: str = "measured",
    **args: Json,
) -> TraceRecord:
    """Something that went on from ``begin_ns`` to ``end_ns``."""
    length = {"ts": begin_ns / 1e3, "dur": max(end_ns - begin_ns, 0) / 1e3}
    return record("X", process, track, name, **length, cat=source, args=args)


def record(kind: str, process: int, track: int, name: str, **more: Json) -> TraceRecord:
    """An event of ``kind``, a letter of the format."""
    return {"ph": kind, "pid": process, "tid": track + 1, "name": name, **more}
