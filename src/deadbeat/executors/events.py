"""The kernel's text of scheduling events, and those around the worst jobs of a run."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.traces import GAP, JobTrace, RunTrace, TraceEvent

#: Jobs of one run that are extracted, and events of one job that are kept.
JOBS_PER_RUN, EVENTS_PER_JOB = 5, 600
#: What is kept before a release and after a finish.
BEFORE_NS, AFTER_NS = 300_000, 50_000
#: So many lines are looked through for who had a CPU before.
_LOOK_BACK = 4000

#: Where the time stands in a line.
_TIME = re.compile(r"\s(\d{1,12})\.(\d{1,9}): ")
#: ``comm-pid (tgid) [cpu] flags seconds.fraction: event: fields``; tgid and flags may be missing.
_LINE = re.compile(
    r"\s*(?P<comm>.{1,64}?)-(?P<pid>\d{1,10})\s+(?:\(\s*[-\d]+\)\s+)?\[(?P<cpu>\d{1,5})\]\s+"
    r"(?:\S{1,12}\s+)?(?P<s>\d{1,12})\.(?P<part>\d{1,9}):\s+(?P<name>\w+):\s?(?P<rest>.*)"
)
#: A value ends before the next ``key=``; names of threads may have blanks in them.
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\[?\w+=|\s*\]?\s*$)")


def parse_line(line: str, *, epoch_ns: int) -> TraceEvent | None:
    """The event of one line of a ``trace`` file; None where there is none.

    Args:
        epoch_ns: CLOCK_MONOTONIC (the instance's clock) at the origin of the times wanted.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    return TraceEvent(
        at_ns=_nanoseconds(match["s"], match["part"]) - epoch_ns,
        cpu=int(match["cpu"]),
        name=match["name"],
        thread=match["comm"].strip(),
        pid=int(match["pid"]),
        fields={key: _value(value) for key, value in _FIELD.findall(match["rest"])},
    )


def _nanoseconds(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))


def _value(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


# --- the worst jobs of a run ------------------------------------------------------------------


@frozen(kw_only=True)
class Lateness:
    """How bad a job is: by tardiness, then by response over deadline."""

    tardiness_ns: int
    response_share: float
    job: int

    @property
    def order(self) -> tuple[int, float, int]:
        """Sorts the worst first."""
        return (-self.tardiness_ns, -self.response_share, self.job)


def worst_jobs(table: JobTable, count: int) -> list[Lateness]:
    """The worst finished, counted jobs of together windows, the worst first."""
    flags = table.jobs["flags"]
    wanted = j.JOB_COUNTED | j.JOB_FINISHED
    chosen = np.flatnonzero((flags & wanted == wanted) & (flags & j.JOB_SOLO == 0))
    jobs = table.jobs[chosen]
    response = jobs["finish_ns"] - jobs["release_ns"]
    deadline = table.tasks["deadline_ns"].astype(np.int64)[jobs["task"]]
    tardiness: NDArray[np.int64] = np.maximum(response - deadline, 0)
    share = response / np.maximum(deadline, 1)
    order = np.lexsort((chosen, -share, -tardiness))[:count]
    return [
        Lateness(tardiness_ns=int(tardiness[i]), response_share=float(share[i]), job=int(chosen[i]))
        for i in order
    ]


@frozen
class _Lines:
    """Lines of a trace in order of time; parsed only where they are looked at."""

    times: list[int]
    lines: list[str]
    epoch_ns: int

    @classmethod
    def of(cls, text: str, epoch_ns: int) -> _Lines:
        found = []
        for line in text.splitlines():
            match = _TIME.search(line)
            if match is not None:
                found.append((_nanoseconds(match[1], match[2]) - epoch_ns, line))
        found.sort(key=lambda pair: pair[0])
        return cls([time for time, _ in found], [line for _, line in found], epoch_ns)

    def between(self, first_ns: int, last_ns: int) -> tuple[int, list[TraceEvent]]:
        """Index of the first line at or after ``first_ns``, and the events until ``last_ns``."""
        first, last = bisect_left(self.times, first_ns), bisect_right(self.times, last_ns)
        return first, list(self._events(self.lines[first:last]))

    def standing(self, first: int, cpus: set[int]) -> list[TraceEvent]:
        """The last switch on each of ``cpus`` before line ``first``: who has it then."""
        found: dict[int, TraceEvent] = {}
        looked_at = reversed(self.lines[max(0, first - _LOOK_BACK) : first])
        for event in self._events(line for line in looked_at if " sched_switch: " in line):
            if event.cpu in cpus and event.cpu not in found:
                found[event.cpu] = event
                if len(found) == len(cpus):
                    break
        return sorted(found.values(), key=lambda event: event.at_ns)

    def _events(self, lines: Iterable[str]) -> Iterator[TraceEvent]:
        for line in lines:
            event = parse_line(line, epoch_ns=self.epoch_ns)
            if event is not None:
                yield event


def extract(
    table: JobTable,
    text: str,
    threads: Mapping[int, int],
    *,
    lost: int = 0,
    count: int = JOBS_PER_RUN,
) -> RunTrace:
    """The events around the worst jobs of ``table``.

    Args:
        text: The ``trace`` file of its run, with clock ``mono``.
        threads: Thread number -> task.
        lost: Events the buffers could not hold.
    """
    lines = _Lines.of(text, int(table.header["epoch_ns"]))
    traces = []
    for late in worst_jobs(table, count):
        events, left_out = _around(table, late.job, lines, threads)
        traces.append(JobTrace(job=late.job, events=events, lost=lost + left_out))
    return RunTrace(threads=dict(threads), jobs=tuple(traces))


def _around(
    table: JobTable, job: int, lines: _Lines, threads: Mapping[int, int]
) -> tuple[tuple[TraceEvent, ...], int]:
    """Events on the CPUs of a job or about its thread, and how many of them were left out."""
    record = table.jobs[job]
    task = int(record["task"])
    cpus = {int(table.tasks[task]["cpu"])}
    if len(table.details):
        cpus |= {int(table.details[job]["start_cpu"]), int(table.details[job]["finish_cpu"])}
    own = {thread for thread, owner in threads.items() if owner == task}
    first, events = lines.between(
        int(record["release_ns"]) - BEFORE_NS, int(record["finish_ns"]) + AFTER_NS
    )
    inside = [e for e in events if e.cpu in cpus or own & _pids(e)]
    kept = _thinned(inside, own)
    left_out = len(inside) - sum(event.name != GAP for event in kept)
    return (*lines.standing(first, cpus), *kept), left_out


def _pids(event: TraceEvent) -> set[int]:
    named = (event.fields.get(key) for key in ("pid", "prev_pid", "next_pid"))
    return {event.pid, *(pid for pid in named if isinstance(pid, int))}


def _thinned(events: list[TraceEvent], own: set[int]) -> list[TraceEvent]:
    """At most EVENTS_PER_JOB: interrupts go first, then what lies in the shortest stretches between
    changes of the job's own thread; a GAP stands for each row of events that was left out."""
    if len(events) <= EVENTS_PER_JOB:
        return events
    events = [event for event in events if event.name.startswith("sched_")]
    marks = [0, *(i for i, e in enumerate(events) if own & _pids(e)), len(events) - 1]
    spans = sorted(
        pairwise(marks),
        key=lambda span: events[span[0]].at_ns - events[span[1]].at_ns,
    )
    kept: set[int] = set()
    for first, last in spans:
        # a row of its own costs a gap as well
        more = set(range(first, last + 1)) - kept
        if len(kept) + len(more) <= EVENTS_PER_JOB * 2 // 3:
            kept |= more
    found: list[TraceEvent] = []
    for i, event in enumerate(events):
        if i in kept:
            found.append(event)
        elif not found or found[-1].name != GAP:
            found.append(TraceEvent(at_ns=event.at_ns, cpu=-1, name=GAP, thread="", pid=-1))
    return found
