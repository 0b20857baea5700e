"""The worst jobs of a run, the events around each, and what all of them add up to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping
from itertools import islice, pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import GAP, JobTrace, RunTrace, TraceEvent
from deadbeat.machine.trace.parse import Trace, at
from deadbeat.machine.trace.timeline import Own
from deadbeat.machine.trace.why import Span, add_up, task_matcher

#: Jobs of one run that are extracted, and events of one job that are kept.
JOBS_PER_RUN, EVENTS_PER_JOB = 5, 600
#: What is kept before a release and after a finish.
BEFORE_NS, AFTER_NS = 300_000, 50_000
# --- the worst jobs of a run ------------------------------------------------------------------


@frozen(kw_only=True)
class Lateness:
    """How bad a job is: by tardiness, then by response over deadline.

    Attributes:
        tardiness_ns, response_share: At least, for a job that never finished.
        job: Index of its record; in a row of jobs that never finished: the first of them.
        until_ns: Its finish; of a row: that of the job it stood behind, else its slot's end.
        skipped: Releases in the row; 0: a job that finished.
        blocker: Index of the job the row stood behind (itself where it was started); -1: none
            is known, or it finished.
    """

    tardiness_ns: int
    response_share: float
    job: int
    until_ns: int
    skipped: int = 0
    blocker: int = -1

    @property
    def finished(self) -> bool:
        return self.skipped == 0

    @property
    def looked_at(self) -> int:
        """Index of the job with the events that tell why: for a row, what it stood behind."""
        return self.job if self.finished or self.blocker < 0 else self.blocker


def worst_jobs(table: JobTable, count: int) -> list[Lateness]:
    """The worst counted jobs of together slots, the worst first.

    Jobs of a task in a row that never finished are one entry: all of them stood behind the same.
    """
    flags = table.jobs["flags"]
    counted = (flags & j.JOB_COUNTED != 0) & (flags & j.JOB_SOLO == 0)
    done = np.flatnonzero(counted & (flags & j.JOB_FINISHED != 0))
    rows, lengths, blockers, ends = _unfinished(table, counted)
    chosen = np.concatenate((done, rows))
    until = np.concatenate((table.jobs["finish_ns"][done], ends))
    skipped = np.concatenate((np.zeros(len(done), np.int64), lengths))
    blocker = np.concatenate((np.full(len(done), -1), blockers))
    response = until - table.jobs["release_ns"][chosen]
    deadline = table.tasks["deadline_ns"].astype(np.int64)[table.jobs["task"][chosen]]
    tardiness: NDArray[np.int64] = np.maximum(response - deadline, 0)
    share = response / np.maximum(deadline, 1)
    order = np.lexsort((chosen, -share, -tardiness))[:count]
    return [
        Lateness(
            tardiness_ns=int(tardiness[i]),
            response_share=float(share[i]),
            job=int(chosen[i]),
            until_ns=int(until[i]),
            skipped=int(skipped[i]),
            blocker=int(blocker[i]),
        )
        for i in order
    ]


def _unfinished(table: JobTable, counted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]:
    """For each row of counted jobs that never finished: its first, how many, the job that it stood
    behind (-1: none is known) and when that ended, its slot's end at the latest known."""
    jobs, flags = table.jobs, table.jobs["flags"]
    never = counted & (flags & j.JOB_FINISHED == 0)
    started = flags & j.JOB_STARTED != 0
    goes_on = np.zeros(len(jobs), np.bool_)
    goes_on[1:] = never[1:] & never[:-1] & ~started[1:] & ~started[:-1]
    goes_on[1:] &= _same(jobs[1:], jobs[:-1])
    first = np.flatnonzero(never & ~goes_on)
    lengths = np.bincount(np.cumsum(never & ~goes_on)[never] - 1, minlength=len(first))
    last = np.maximum.accumulate(np.where(started, np.arange(len(jobs)), -1))
    behind = last[first]
    known = (behind >= 0) & _same(jobs[behind], jobs[first])
    ended = known & (flags[behind] & j.JOB_FINISHED != 0)
    window_end = table.slots["end_ns"][jobs["slot"][first]]
    ends = np.where(ended, jobs["finish_ns"][behind], window_end)
    ends = np.maximum(ends, jobs["release_ns"][first])
    return first, lengths.astype(np.int64), np.where(known, behind, -1), ends


def _same(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether jobs are of the same task and slot."""
    found: NDArray[np.bool_] = some["task"] == others["task"]
    found &= some["slot"] == others["slot"]
    return found


def extract(
    table: JobTable,
    text: str,
    threads: Mapping[int, int],
    *,
    lost: int = 0,
    lost_cpus: Collection[int] = (),
    count: int = JOBS_PER_RUN,
) -> RunTrace:
    """The events around the worst jobs of ``table``, and what all of them add up to; of jobs that
    never finished, around the one they stood behind.

    Args:
        text: The ``trace`` file of its run, with clock ``mono``.
        threads: Thread number -> task.
        lost: Events the buffers could not hold: the oldest.
        lost_cpus: On these.
    """
    trace = Trace(text, int(table.header["epoch_ns"]))
    # a job and the row behind it have the same events
    every = {}
    for late in worst_jobs(table, 2 * count):
        record = table.jobs[late.looked_at]
        started = int(record["flags"]) & j.JOB_STARTED
        every[late.looked_at] = Span(
            cpu=int(table.tasks[int(record["task"])]["cpu"]),
            release_ns=int(record["release_ns"]),
            start_ns=int(record["start_ns"]) if started else late.until_ns,
            finish_ns=late.until_ns,
        )
    spans = dict(islice(every.items(), count))
    events = trace.within(_around(span) for span in spans.values())
    jobs = []
    for job, span in spans.items():
        own = task_matcher(threads, int(table.jobs["task"][job]))
        concerns = _concerning(own)
        # Where it belongs, started and finished.
        cpus = {int(table.tasks[int(table.jobs["task"][job])]["cpu"])}
        if len(table.details):
            cpus |= {int(table.details[job][f"{which}_cpu"]) for which in ("start", "finish")}
        begin, end = _around(span)
        known = trace.begins_ns(cpus & set(lost_cpus))
        known = begin if known is None else max(begin, known)
        # Who had the CPUs at first; a GAP where the events of that time are lost.
        before = [_gap(begin)] if known > begin else trace.standing(trace.offset(begin), cpus)
        first = bisect_left(events, known, key=at)
        inside = [
            event
            for event in events[first : bisect_right(events, end, key=at)]
            if event.cpu in cpus or concerns(event)
        ]
        kept = _thinned(inside, concerns)
        jobs.append(
            JobTrace(
                job=job,
                events=(*before, *kept),
                lost=lost,
                left_out=len(inside) - sum(event.name != GAP for event in kept),
                totals=add_up([*before, *inside], own, span, events[first:]),
            )
        )
    return RunTrace(threads=dict(threads), jobs=tuple(jobs))


def _around(span: Span) -> tuple[int, int]:
    return span.release_ns - BEFORE_NS, span.finish_ns + AFTER_NS


def _gap(at_ns: int) -> TraceEvent:
    return TraceEvent(at_ns=at_ns, cpu=-1, name=GAP, thread="", pid=-1)


#: How the fields of an event name the threads it is about.
_NAMES = (("pid", "comm"), ("prev_pid", "prev_comm"), ("next_pid", "next_comm"))


def _concerning(own: Own) -> Callable[[TraceEvent], bool]:
    """Tells of an event whether it is about the thread, or in its time."""
    about: dict[int, bool] = {}  # by identity of the fields, which lines that say the same share

    def of(event: TraceEvent) -> bool:
        if own(event.pid, event.thread):
            return True
        fields = event.fields
        if id(fields) not in about:
            named = ((fields.get(number), fields.get(name, "")) for number, name in _NAMES)
            about[id(fields)] = any(
                isinstance(pid, int) and own(pid, str(name)) for pid, name in named
            )
        return about[id(fields)]

    return of


def _thinned(events: list[TraceEvent], concerns: Callable[[TraceEvent], bool]) -> list[TraceEvent]:
    """At most EVENTS_PER_JOB: interrupts go first, then what lies in the shortest stretches between
    changes of the job's own thread; a GAP stands for each row of events that was left out."""
    if len(events) <= EVENTS_PER_JOB:
        return events
    events = [event for event in events if event.name.startswith("sched_")]
    marks = [0, *(i for i, e in enumerate(events) if concerns(e)), len(events) - 1]
    times = [event.at_ns for event in events]
    spans = sorted(pairwise(marks), key=lambda span: times[span[0]] - times[span[1]])
    kept: set[int] = set()
    most = EVENTS_PER_JOB * 2 // 3  # a row of its own costs a gap as well
    for first, last in spans:
        more = set(range(first, last + 1)) - kept
        if len(kept) + len(more) <= most:
            kept |= more
        if len(kept) == most:
            break
    found: list[TraceEvent] = []
    for i, event in enumerate(events):
        if i in kept:
            found.append(event)
        elif not found or found[-1].name != GAP:
            found.append(_gap(event.at_ns))
    return found
