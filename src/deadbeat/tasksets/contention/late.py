"""The worst jobs of a campaign: what each is put down to, the worst over time, and their events."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from operator import itemgetter

import attrs
import cattrs
import numpy as np
from cattrs.errors import BaseValidationError

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.lateness import LateJob, MissCause, counted
from deadbeat.base.model.traces import Activity, JobTrace, RunTrace, WorstMoment
from deadbeat.base.model.words import Json, inside, time_text
from deadbeat.base.report.building import moment_chart
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.perfetto import TraceRecord, record, span, trace_text
from deadbeat.base.report.perfetto import named as naming
from deadbeat.machine.trace.jobs import JOBS_PER_RUN, Lateness, worst_jobs
from deadbeat.machine.trace.timeline import IDLE, timeline
from deadbeat.tasksets.contention.blame import BlamedRun, blame_late, misses_of
from deadbeat.tasksets.contention.figures import without_overlapped
from deadbeat.tasksets.contention.spec import VERB
from deadbeat.tasksets.model.results import RunKey, Summary
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.serial import to_plain
from deadbeat.tasksets.store.traces import MOST

#: Jobs that are named, unless asked otherwise.
WORST = 20
_NOT_KEPT = (
    f"no events of {{}} of these jobs: kept are those of the {JOBS_PER_RUN} worst jobs of a run,"
    f" of the {MOST} runs with the worst jobs"
)


@attrs.define
class Worst:
    """The worst jobs of the runs seen so far, no more than ``count``; named only at the end."""

    count: int = WORST
    _worst: list[tuple[tuple[int, float], RunKey, Lateness]] = attrs.field(factory=list)
    _first: tuple[tuple[int, float], RunKey, Lateness, JobTable] | None = None

    def consider(self, key: RunKey, table: JobTable) -> None:
        """Takes the jobs of ``table`` that belong to the worst; of a run without any split
        response only for the moment."""
        flags = table.jobs["flags"]
        split = int(table.header["flags"]) & j.RUN_SPLIT or (flags & j.JOB_SPLIT).any()
        for late in worst_jobs(table, self.count):
            score = (late.tardiness_ns, late.response_share)
            if self._first is None or score > self._first[0]:
                self._first = score, key, late, table
            if split:
                self._worst.append((score, key, late))
        # among equals the first stays: runs come in a fixed order
        self._worst = heapq.nlargest(self.count, self._worst, key=itemgetter(0))

    def keys(self) -> set[RunKey]:
        return {key for _, key, _ in self._worst}

    def moment(self, store: CampaignStore) -> WorstMoment | None:
        """The worst job of all over time, whether its response was split or not. Raises DataError:
        a file of the campaign is damaged, other than those of events."""
        if self._first is None:
            return None
        _, key, late, table = self._first
        return moment_of(key.text, table, late, _trace_of(store, key)[0])

    def named(self, store: CampaignStore) -> LateJobs:
        """What each is put down to, the worst first, and what is to be known of their events.
        Raises DataError: a file of the campaign is damaged, other than those of events."""
        runs: dict[RunKey, BlamedRun] = {}
        damaged: list[str] = []
        found = []
        for _, key, late in self._worst:
            if key not in runs:
                trace, reason = _trace_of(store, key)
                damaged += [reason] if reason else []
                runs[key] = run_of(store, key, trace)
            run = runs[key]
            traces = {one.job: one for one in (run.trace.jobs if run.trace else ())}
            found.append(blame_late(run, late, traces))
        untraced = [run.text for run in runs.values() if run.trace is None]
        reason = _unavailable(store, some=len(untraced) < len(runs)) if untraced else ""
        none = [job for job in found if "events" not in job.details]
        if none and not reason and not damaged:
            damaged.append(_NOT_KEPT.format(len(none)))
        return LateJobs(jobs=found, unavailable=reason, notes=(*damaged, *_notes(found)))


@attrs.frozen(kw_only=True)
class LateJobs:
    """The worst jobs of a campaign. ``jobs``: the worst first. ``unavailable``: why there are no
    events, or none of some runs; "": there are. ``notes``: what else the events do not say: files
    that are damaged, events that were lost, and events that were left out. ``misses``: all misses
    of jobs beside others by cause, by the parts of their responses."""

    jobs: list[LateJob]
    unavailable: str = ""
    notes: tuple[str, ...] = ()
    misses: tuple[MissCause, ...] = ()


def late_of(store: CampaignStore, *, count: int = WORST) -> LateJobs:
    """The worst jobs of the campaign in ``store``. Raises DataError: a file of the campaign is
    damaged, other than those of events."""
    worst = Worst(count)
    misses = list[tuple[str, str, int, int]]()
    for key in sorted(store.committed()):
        table = _table(store, key)
        worst.consider(key, table)
        misses += misses_of(BlamedRun(key.text, table))
    return attrs.evolve(worst.named(store), misses=tuple(counted("", misses)))


def _trace_of(store: CampaignStore, key: RunKey) -> tuple[RunTrace | None, str]:
    try:
        return store.traces.load(key), ""
    except DataError as error:
        return None, f"no events of run {key.text}: {_inside(store, error)}"


def _inside(store: CampaignStore, error: DataError) -> str:
    """What is wrong, with the file's name within the campaign."""
    return error.message.replace(f"{store.path}/", "")


def _unavailable(store: CampaignStore, *, some: bool) -> str:
    """Why there are no events; ``some``: there are some of other runs."""
    if not inside(store.spec, "run").get("causes"):
        verb = VERB[str(store.spec.get("mode") or "profile")]
        return (
            "they were not recorded; where the kernel can be traced (deadbeat doctor --abilities):"
            f" deadbeat {verb} --quick --causes"
        )
    try:
        refused = store.traces.unavailable()
    except DataError as error:
        refused = _inside(store, error)
    return f"{refused} (of some runs; others have events)" if refused and some else refused


def _notes(jobs: Sequence[LateJob]) -> Iterator[str]:
    """Events lost by the kernel, and left out by us: of how many jobs, how many of one at most."""
    lost, unknown, left_out = (
        [job.details.get(name, 0) for job in jobs]
        for name in ("events_lost", "unknown_ns", "events_left_out")
    )
    if any(lost):
        words = (
            f"the kernel's buffers lost events (up to {max(lost)} a run, the oldest) in the runs"
        )
        words += f" of {sum(map(bool, lost))} of these jobs"
        if any(unknown):
            words += f"; up to {time_text(max(unknown))} of a job are without events"
        yield words
    if any(left_out):
        yield (
            f"{sum(map(bool, left_out))} of these jobs lack events: up to"
            f" {max(left_out)} were left out; the sums that name the cause count all"
        )


def _table(store: CampaignStore, key: RunKey) -> JobTable:
    return without_overlapped(store.table(key))[0]


def run_of(store: CampaignStore, key: RunKey, trace: RunTrace | None) -> BlamedRun:
    table = _table(store, key)
    planned = store.programs.planned(key)
    return BlamedRun(key.text, table, trace, planned.task_set if planned else None)


def late_facts(store: CampaignStore, worst: Worst) -> dict[str, Json]:
    """``worst_job`` of a summary's meta; where responses were split also ``causes``,
    ``causes_unavailable`` and ``causes_notes``. Raises DataError: a file of the campaign is
    damaged, other than those of events."""
    late, moment = worst.named(store), worst.moment(store)
    drawn: dict[str, Json] = {"worst_job": to_plain(moment)} if moment else {}
    if not late.jobs:
        return drawn
    return {
        **drawn,
        "causes": [attrs.asdict(job) for job in late.jobs],
        "causes_unavailable": late.unavailable,
        "causes_notes": list(late.notes),
    }


_JOB, _TASKS, _OTHERS, _HANDLERS = (
    "this job",
    "other tasks of the set",
    "other threads",
    "interrupts",
)
_WAITS = "released, not started"
_KINDS = (_JOB, _TASKS, _OTHERS, _HANDLERS, _WAITS)
_TRACED = "Drawn from the kernel's events."
_RECORDED = (
    "Drawn from the recorded starts and finishes: a started job may be waiting or preempted. With"
    " --causes, where the kernel can be traced, it shows who had each CPU."
)
#: Stretches that are kept, the longest: more cannot be distinguished.
_MOST = 600


def moment_of(run: str, table: JobTable, late: Lateness, trace: RunTrace | None) -> WorstMoment:
    """From the kernel's events where they are kept, else from the jobs of its run."""
    jobs = table.jobs
    release, task = int(jobs["release_ns"][late.job]), int(jobs["task"][late.job])
    response = late.until_ns - release
    deadline = int(table.tasks["deadline_ns"][task])
    kept = next((one for one in (trace.jobs if trace else ()) if one.job == late.looked_at), None)
    if trace and kept and kept.events:
        found = sorted(set(_traced(kept, trace, task, release, response)))
    else:
        kept, found = None, list(_recorded(table, late, release, response))
    # CPU 2 before CPU 10
    names = sorted({n for _, n, *_ in found}, key=lambda n: ([*map(int, _DIGITS.findall(n))], n))
    stretches = [
        Activity(row=names.index(name), kind=kind, begin_ns=begin, end_ns=end, text=text)
        for kind, name, begin, end, text in found
    ]
    stretches.sort(key=lambda each: each.begin_ns - each.end_ns)
    ended = "" if late.finished else "at least "
    marks = {"release": 0, "deadline": deadline} | ({"finish": response} if late.finished else {})
    return WorstMoment(
        what=f"Job {late.job} of task t{task}, run {run}: {ended}{time_text(response)} after its"
        f" release, deadline {time_text(deadline)}",
        rows=tuple(names),
        stretches=tuple(sorted(stretches[:_MOST], key=lambda each: _KINDS.index(each.kind))),
        marks=dict(sorted(marks.items(), key=lambda mark: mark[1])),
        source=_TRACED if kept else _RECORDED,
    )


_DIGITS = re.compile(r"\d+")
_Found = tuple[str, str, int, int, str]


def _traced(
    kept: JobTrace, trace: RunTrace, task: int, release: int, response: int
) -> Iterator[_Found]:
    for begin_ns, end_ns, cpu, pid, text in _pieces(kept, release + response):
        begin, end = max(begin_ns - release, 0), min(end_ns - release, response)
        of = None if pid is None else trace.threads.get(pid)
        kind = _JOB if of == task else _TASKS if of is not None else _OTHERS
        if end > begin and pid != IDLE:
            name = f"CPU {cpu}" + ", interrupts" * (pid is None)
            yield _HANDLERS if pid is None else kind, name, begin, end, text


def _recorded(table: JobTable, late: Lateness, release: int, response: int) -> Iterator[_Found]:
    """Every job that was there meanwhile, on the row of its task."""
    jobs, tasks = table.jobs, table.tasks
    started = jobs["flags"] & j.JOB_STARTED != 0
    finished = jobs["flags"] & j.JOB_FINISHED != 0
    until = np.where(finished, jobs["finish_ns"], release + response)
    there = started & (jobs["release_ns"] < release + response) & (until > release)
    there &= jobs["slot"] == jobs["slot"][late.job]
    there[late.job] = True
    for place in np.flatnonzero(there):
        task = int(jobs["task"][place])
        name = f"t{task}, core {int(tasks['core'][task])}"
        kind = _JOB if place == late.job else _TASKS
        begin = int(jobs["start_ns"][place]) - release if started[place] else response
        due, end = int(jobs["release_ns"][place]) - release, int(until[place]) - release
        text = f"job {place} of t{task}"
        for what, low, high in ((_WAITS, due, begin), (kind, begin, end)):
            if min(high, response) > max(low, 0):
                yield what, name, max(low, 0), min(high, response), text


def worst_job_charts(summary: Summary) -> list[Chart]:
    """The worst job over time; nothing where no job was recorded."""
    plain = summary.meta.get("worst_job")
    try:
        moment = cattrs.structure(plain, WorstMoment)
    except (BaseValidationError, TypeError, ValueError):
        return []
    if not moment.stretches or any(s.row not in range(len(moment.rows)) for s in moment.stretches):
        return []
    return [moment_chart(moment, name="worst-job", title="The worst job over time")]


#: Perfetto: first track of the CPUs, of their interrupts, and of the tasks.
_CPUS, _INTERRUPTS, _OF_TASKS = 0, 10_000, 20_000


def perfetto(store: CampaignStore, jobs: Sequence[LateJob]) -> str:
    """Trace of ``jobs`` with kept events. Raises UsageError: none has; DataError: a file of the
    campaign is damaged."""
    runs = dict.fromkeys(job.run for job in jobs if job.traced)
    if not runs:
        hint = "run it with --causes where the kernel can be traced: deadbeat doctor"
        raise UsageError(f"{store.path.name} has no trace", hint)
    return trace_text(
        each
        for process, run in enumerate(runs, start=1)
        for each in _run(store, process, run, [job for job in jobs if job.run == run])
    )


def _run(
    store: CampaignStore, process: int, run: str, jobs: Sequence[LateJob]
) -> Iterator[TraceRecord]:
    key = RunKey.parse(run)
    trace, table = store.traces.load(key), store.table(key)
    yield record("M", process, 0, "process_name", args={"name": f"run {run}"})
    named: dict[int, str] = {}
    wanted = {job.job: job for job in jobs}
    every = trace.jobs if trace else ()
    until: dict[int, int] = {}
    pieces = {
        (begin, end, cpu + (_INTERRUPTS if pid is None else _CPUS), name)
        for kept in every
        for begin, end, cpu, pid, name in _pieces(
            kept, max((event.at_ns for event in kept.events), default=0)
        )
    }
    for begin_ns, end_ns, track, name in sorted(pieces):
        begin = max(begin_ns, until.get(track, begin_ns))  # what is kept of two jobs may overlap
        if begin <= end_ns:
            until[track] = end_ns
            cpu = f"CPU {track % _INTERRUPTS}"
            named.setdefault(track, cpu + " interrupts" * (track >= _INTERRUPTS))
            yield span(process, track, name, begin, end_ns)
    for kept in every:
        late = wanted.get(kept.job)
        if late is None:
            continue
        track = _OF_TASKS + late.task
        named.setdefault(track, f"task t{late.task}")
        release_ns = int(table.jobs["release_ns"][kept.job])
        yield span(
            process, track, f"job {kept.job}: {late.cause}", release_ns,
            release_ns + late.response_ns,
            deadline_us=late.deadline_ns / 1e3, evidence=late.evidence,
        )  # fmt: skip
        deadline_us = (release_ns + late.deadline_ns) / 1e3
        yield record("i", process, track, "deadline", ts=deadline_us, s="t")
    for track, name in named.items():
        yield from naming(process, track, name)


def _pieces(kept: JobTrace, until_ns: int) -> Iterator[tuple[int, int, int, int | None, str]]:
    """Begin, end, CPU, thread (None: an interrupt) and name of what each CPU did around a job."""
    lines = timeline(kept.events, lambda _pid, _name: False, until_ns=until_ns)
    for cpu, slices in lines.slices.items():
        for each in slices:
            yield each.begin_ns, each.end_ns, cpu, each.thread.pid, each.thread.text
    for cpu, handlers in lines.handlers.items():
        for handler in handlers:
            yield handler.begin_ns, handler.end_ns, cpu, None, handler.text
