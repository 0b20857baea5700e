"""Traces that ui.perfetto.dev opens: the JSON of Chrome's trace event format, in microseconds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from deadbeat.model.traces import WorstMoment
from deadbeat.model.words import Json

TraceRecord = dict[str, Json]


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
    yield record("M", process, 0, "process_name", args={"name": moment.what})
    for each in moment.stretches:
        ends = each.begin_ns, each.end_ns
        yield span(process, each.row, each.text or each.kind, *ends, source=source, what=each.kind)
    for name, at_ns in moment.marks.items():
        yield record("i", process, len(moment.rows), name, ts=at_ns / 1e3, s="t")
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
