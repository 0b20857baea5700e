"""The kernel's text of scheduling events, and those around the worst jobs of a run."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from itertools import islice, pairwise
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.timeline import Own, Span, rebuild, task_matcher
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.traces import GAP, JobTrace, RunTrace, TraceEvent

#: Jobs of one run that are extracted, and events of one job that are kept.
JOBS_PER_RUN, EVENTS_PER_JOB = 5, 600
#: What is kept before a release and after a finish.
BEFORE_NS, AFTER_NS = 300_000, 50_000
#: So much text is looked through for who had a CPU before.
_LOOK_BACK = 500_000

#: Where the time stands in a line.
_TIME = re.compile(r"\s(\d{1,12})\.(\d{1,9}): ", re.ASCII)
#: A line as the kernel prints it by default: ``comm-pid [cpu] flags``, time, event, fields; else
#: the whole line.
_USUAL = re.compile(
    r"^(.{16}-\d{1,10} +\[\d{1,5}\] \S{1,12}) +(\d{1,12})\.(\d{6}): (\w+): (.*)$|^(.+)$",
    re.ASCII | re.MULTILINE,
)
#: ``comm-pid (tgid) [cpu] flags seconds.fraction: event: fields``; tgid and flags may be missing.
_LINE = re.compile(
    r"\s*(?P<comm>.{1,64}?)-(?P<pid>\d{1,10})\s+(?:\(\s*[-\d]+\)\s+)?\[(?P<cpu>\d{1,5})\]\s+"
    r"(?:(?P<flags>\S{1,12})\s+)?(?P<s>\d{1,12})\.(?P<part>\d{1,9}):\s+(?P<name>\w+):\s?(?P<rest>.*)",
    re.ASCII,
)
#: A value ends before the next ``key=``; names of threads may have blanks in them.
_FIELD = re.compile(r"(\w+)=(.*?)(?=\s+(?:==>\s+)?\[?\w+=|\s*\]?\s*$)")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
#: The third of the flags: in a hard, soft, hard within soft, or non-maskable interrupt.
_IN_HANDLER = frozenset("hsHzZ")


def parse_line(line: str, *, epoch_ns: int) -> TraceEvent | None:
    """The event of one line of a ``trace`` file; None where there is none.

    Args:
        epoch_ns: CLOCK_MONOTONIC (the instance's clock) at the origin of the times wanted.
    """
    return next(iter(_Text(line, epoch_ns).events(0, len(line))), None)


def events_between(text: str, first_ns: int, last_ns: int) -> list[TraceEvent]:
    """The events of a ``trace`` file from one moment of its clock to another, in order of time;
    first of all the last switch before on each CPU that has any: who had it."""
    trace = _Text(text, 0)
    inside = trace.within([(first_ns, last_ns)])
    return [*trace.standing(trace.offset(first_ns), {event.cpu for event in inside}), *inside]


def _nanoseconds(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))


def _value(text: str) -> int | str:
    return int(text) if _NUMBER.fullmatch(text) else text


@frozen
class _Head:
    """What stands before the time."""

    thread: str
    pid: int
    cpu: int
    interrupt: bool

    @classmethod
    def of(cls, text: str) -> _Head:
        """Of the usual layout."""
        pid, cpu, flags = text[17:].split()
        return cls(text[:16].strip(), int(pid), int(cpu[1:-1]), flags[2:3] in _IN_HANDLER)


class _Text:
    """A trace, in order of time; parsed only where it is looked at, and what many lines have in
    common once."""

    def __init__(self, text: str, epoch_ns: int) -> None:
        self._text = text
        self._epoch_ns = epoch_ns
        self._heads: dict[str, _Head] = {}
        self._fields: dict[str, dict[str, int | str]] = {}

    def offset(self, at_ns: int) -> int:
        """Where the first line at or after ``at_ns`` begins."""
        low, high = 0, len(self._text)
        while low < high:
            middle = self._text.rfind("\n", low, (low + high) // 2) + 1 or low
            match = _TIME.search(self._text, middle, high)
            if match is None or self._time(match) >= at_ns:
                high = middle
            else:
                low = self._next_line(match.end())
        return low

    def _next_line(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end + 1

    def _time(self, match: re.Match[str]) -> int:
        return _nanoseconds(match[1], match[2]) - self._epoch_ns

    def events(self, first: int, last: int) -> list[TraceEvent]:
        """Those between two offsets."""
        found = []
        for head, seconds, micros, name, rest, other in _USUAL.findall(self._text, first, last):
            if other:
                event = self._unusual(other)
                if event is not None:
                    found.append(event)
                continue
            if head not in self._heads:
                self._heads[head] = _Head.of(head)
            at_ns = int(seconds) * 1_000_000_000 + int(micros) * 1000
            found.append(self._event(self._heads[head], at_ns, name, rest))
        return found

    def _unusual(self, line: str) -> TraceEvent | None:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        interrupt = (match["flags"] or "")[2:3] in _IN_HANDLER
        head = _Head(match["comm"].strip(), int(match["pid"]), int(match["cpu"]), interrupt)
        at_ns = _nanoseconds(match["s"], match["part"])
        return self._event(head, at_ns, match["name"], match["rest"])

    def _event(self, head: _Head, at_ns: int, name: str, rest: str) -> TraceEvent:
        fields = self._fields.get(rest)
        if fields is None:
            fields = {key: _value(value) for key, value in _FIELD.findall(rest)}
            self._fields[rest] = fields
        return TraceEvent(
            at_ns=at_ns - self._epoch_ns,
            cpu=head.cpu,
            name=name,
            thread=head.thread,
            pid=head.pid,
            fields=fields,
            interrupt=head.interrupt,
        )

    def standing(self, offset: int, cpus: set[int]) -> list[TraceEvent]:
        """The last switch on each of ``cpus`` before ``offset``: who has it then."""
        first = self._next_line(offset - _LOOK_BACK) if offset > _LOOK_BACK else 0
        found: dict[int, TraceEvent] = {}
        while offset > first and len(found) < len(cpus):
            line = self._text.rfind("\n", first, offset - 1) + 1 or first
            if self._text.find(" sched_switch: ", line, offset) >= 0:
                for event in self.events(line, offset):
                    if event.cpu in cpus:
                        found.setdefault(event.cpu, event)
            offset = line
        return sorted(found.values(), key=lambda event: event.at_ns)

    def within(self, spans: Iterable[tuple[int, int]]) -> list[TraceEvent]:
        """Those from the first to the last time of each of ``spans``, each event once."""
        found: list[TraceEvent] = []
        done = 0
        for first_ns, last_ns in sorted(spans):
            first, last = max(done, self.offset(first_ns)), self.offset(last_ns + 1)
            found += self.events(first, last)
            done = max(done, last)
        return sorted(found, key=_at)

    def begins_ns(self, cpus: Iterable[int]) -> int | None:
        """From when on there are events of all of ``cpus`` that have any; None: of none."""
        firsts = (self._text.find(f" [{cpu:03d}] ") for cpu in cpus)
        matches = (_TIME.search(self._text, first) for first in firsts if first >= 0)
        return max((self._time(match) for match in matches if match), default=None)


# --- the worst jobs of a run ------------------------------------------------------------------


@frozen(kw_only=True)
class Lateness:
    """How bad a job is: by tardiness, then by response over deadline.

    Attributes:
        tardiness_ns, response_share: Of a job that never finished: at least.
        job: Index of its record; of a row of jobs that never finished: the first of them.
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
        """Index of the job whose events tell why: a row's are those of what it stood behind."""
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
    """Of each row of counted jobs that never finished: its first, how many, the job that it stood
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
    trace = _Text(text, int(table.header["epoch_ns"]))
    # a job and the row behind it have the same events
    every = {late.looked_at: _span(table, late) for late in worst_jobs(table, 2 * count)}
    spans = dict(islice(every.items(), count))
    events = trace.within(_around(span) for span in spans.values())
    jobs = []
    for job, span in spans.items():
        own = task_matcher(threads, int(table.jobs["task"][job]))
        cpus = _cpus(table, job)
        begin, end = _around(span)
        known = trace.begins_ns(cpus & set(lost_cpus))
        known = begin if known is None else max(begin, known)
        before = _before(trace, cpus, begin, known)
        first = bisect_left(events, known, key=_at)
        inside = [
            event
            for event in events[first : bisect_right(events, end, key=_at)]
            if event.cpu in cpus or _concerns(event, own)
        ]
        kept = _thinned(inside, own)
        jobs.append(
            JobTrace(
                job=job,
                events=(*before, *kept),
                lost=lost,
                left_out=len(inside) - sum(event.name != GAP for event in kept),
                totals=rebuild([*before, *inside], own, span),
            )
        )
    return RunTrace(threads=dict(threads), jobs=tuple(jobs))


def _at(event: TraceEvent) -> int:
    return event.at_ns


def _span(table: JobTable, late: Lateness) -> Span:
    record = table.jobs[late.looked_at]
    started = int(record["flags"]) & j.JOB_STARTED
    return Span(
        cpu=int(table.tasks[int(record["task"])]["cpu"]),
        release_ns=int(record["release_ns"]),
        start_ns=int(record["start_ns"]) if started else late.until_ns,
        finish_ns=late.until_ns,
    )


def _around(span: Span) -> tuple[int, int]:
    return span.release_ns - BEFORE_NS, span.finish_ns + AFTER_NS


def _cpus(table: JobTable, job: int) -> set[int]:
    """Where a job belongs, started and finished."""
    cpus = {int(table.tasks[int(table.jobs["task"][job])]["cpu"])}
    if len(table.details):
        cpus |= {int(table.details[job]["start_cpu"]), int(table.details[job]["finish_cpu"])}
    return cpus


def _before(trace: _Text, cpus: set[int], begin_ns: int, known_ns: int) -> list[TraceEvent]:
    """Who had the CPUs at first; a GAP where the events of that time are lost."""
    if known_ns > begin_ns:
        return [_gap(begin_ns)]
    return trace.standing(trace.offset(begin_ns), cpus)


def _gap(at_ns: int) -> TraceEvent:
    return TraceEvent(at_ns=at_ns, cpu=-1, name=GAP, thread="", pid=-1)


#: How the fields of an event name the threads it is about.
_NAMES = (("pid", "comm"), ("prev_pid", "prev_comm"), ("next_pid", "next_comm"))


def _concerns(event: TraceEvent, own: Own) -> bool:
    """Whether it is about the thread, or in its time."""
    if own(event.pid, event.thread):
        return True
    for number, name in _NAMES:
        pid = event.fields.get(number)
        if isinstance(pid, int) and own(pid, str(event.fields.get(name, ""))):
            return True
    return False


def _thinned(events: list[TraceEvent], own: Own) -> list[TraceEvent]:
    """At most EVENTS_PER_JOB: interrupts go first, then what lies in the shortest stretches between
    changes of the job's own thread; a GAP stands for each row of events that was left out."""
    if len(events) <= EVENTS_PER_JOB:
        return events
    events = [event for event in events if event.name.startswith("sched_")]
    marks = [0, *(i for i, e in enumerate(events) if _concerns(e, own)), len(events) - 1]
    spans = sorted(
        pairwise(marks),
        key=lambda span: events[span[0]].at_ns - events[span[1]].at_ns,
    )
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
