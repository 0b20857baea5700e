"""What others than a task set took of its jobs, by the kernel's word."""

from __future__ import annotations

import numpy as np

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.executors.metrics import Bools, Floats, JobColumns


def has_split(table: JobTable, columns: JobColumns) -> Bools:
    """Jobs that finished and have their thread's accounts: their response can be split."""
    return np.asarray(columns.finished & (columns.flags & j.JOB_SPLIT != 0))


def taken_by_others(table: JobTable, columns: JobColumns) -> Floats:
    """What others than the set's tasks took out of each job's span, ns; NaN where its thread's
    accounts are not known. ``columns``: of all jobs of ``table``.

    Run delay, less the CPU time of more urgent jobs of its core that began within it; and what no
    account of a thread holds (stolen by the host, interrupts), where no job of the run slept:
    sleeping looks the same.
    """
    jobs, core = table.jobs, table.tasks["core"]
    known = has_split(table, columns)
    if not int(table.header["flags"]) & j.RUN_REALTIME and len(np.unique(core)) < len(core):
        known[:] = False  # tasks of a core take turns
    delayed = np.where(known, jobs["run_delay_within_ns"], np.nan)
    taken = delayed.copy()
    for task, other in np.argwhere(_more_urgent(table)).tolist():
        mine, theirs = columns.task == task, (columns.task == other) & columns.started
        spent = np.append(0, np.cumsum(jobs["cpu_ns"][theirs]))
        begun, before = (
            np.searchsorted(columns.start_ns[theirs], at[mine])
            for at in (columns.finish_ns, columns.start_ns)
        )
        taken[mine] -= spent[begun] - spent[before]
    taken = np.maximum(taken, 0.0)
    if not jobs["voluntary_switches"][known].any():
        taken += np.maximum(columns.span_ns - jobs["cpu_ns"] - delayed, 0.0)
    return np.minimum(taken, columns.span_ns)


def _more_urgent(table: JobTable) -> Bools:
    """[task, other] whether the other is more urgent, on the same core."""
    core, priority = table.tasks["core"], table.tasks["priority"]
    return np.asarray((core[:, None] == core) & (priority[:, None] < priority))


def unfinished(table: JobTable, columns: JobColumns, taken: Floats) -> Bools:
    """Jobs that do not finish before their next release, though others take nothing of them, as far
    as that is known (``taken``); skipped ones, if that of their task before still ran."""
    alone = np.flatnonzero(~_more_urgent(table).any(axis=1))
    first = np.isin(columns.task, alone)  # none of the set makes them wait
    waited = np.where(np.isfinite(taken) & first, table.jobs["run_delay_before_ns"], 0)
    end = np.where(columns.finished, columns.finish_ns - np.nan_to_num(taken) - waited, np.inf)
    period = table.tasks["period_ns"].astype(np.int64)[columns.task]
    place = np.where(columns.started, np.arange(len(end)), 0)
    last = np.maximum.accumulate(place)
    same = (columns.task[last] == columns.task) & (columns.slot[last] == columns.slot)
    ran = same & columns.skipped & (columns.finish_ns[last] > columns.release_ns)
    blocked = ~ran | (end[last] > columns.release_ns)
    return np.where(columns.started, end > columns.release_ns + period, blocked)
