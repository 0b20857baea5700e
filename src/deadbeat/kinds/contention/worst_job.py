"""The worst job of a campaign over time: who had which CPU from its release to its finish."""

from __future__ import annotations

import re
from collections.abc import Iterator

import cattrs
import numpy as np
from cattrs.errors import BaseValidationError

from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Summary
from deadbeat.model.traces import Activity, JobTrace, RunTrace, WorstMoment
from deadbeat.model.words import time_text
from deadbeat.report.building import moment_chart
from deadbeat.report.charts import Chart
from deadbeat.trace.jobs import Lateness
from deadbeat.trace.timeline import IDLE, timeline

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
#: Stretches that are kept, the longest: more cannot be told apart.
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
    names = sorted({name for _, name, *_ in found}, key=_numbered)
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


def _numbered(name: str) -> tuple[list[int], str]:
    """CPU 2 before CPU 10."""
    return [int(digits) for digits in re.findall(r"\d+", name)], name


_Found = tuple[str, str, int, int, str]


def _traced(
    kept: JobTrace, trace: RunTrace, task: int, release: int, response: int
) -> Iterator[_Found]:
    lines = timeline(kept.events, lambda _pid, _name: False, until_ns=release + response)
    for cpu, slices in lines.slices.items():
        for each in slices:
            of = trace.threads.get(each.thread.pid)
            kind = _JOB if of == task else _TASKS if of is not None else _OTHERS
            begin, end = max(each.begin_ns - release, 0), min(each.end_ns - release, response)
            if end > begin and each.thread.pid != IDLE:
                yield kind, f"CPU {cpu}", begin, end, each.thread.text
    for cpu, handlers in lines.handlers.items():
        for one in handlers:
            begin, end = max(one.begin_ns - release, 0), min(one.end_ns - release, response)
            if end > begin:
                yield _HANDLERS, f"CPU {cpu}, interrupts", begin, end, one.text


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
