"""Where the time of a job went: its response as a sum of parts.

What is measured around a job is its thread's CPU time and run delay, before and within; everything
else follows by subtraction (docs/explanation/why-late.md). The accounts are read just outside
[start, finish], so their sum may exceed what they must fit into by a few microseconds: each is cut
to what is left for it, in the order below, and own execution is the rest. So the parts always
sum exactly to the response time, and none is negative where release <= start <= finish.
"""

from __future__ import annotations

import numpy as np

from deadbeat.executors.metrics import Bools, Integers, JobColumns
from deadbeat.model import jobs as j
from deadbeat.model.figures import PART_COLUMNS
from deadbeat.model.jobs import JobTable
from deadbeat.model.traces import PARTS


def has_split(table: JobTable, columns: JobColumns) -> Bools:
    """Jobs whose response can be split: finished, and their thread's accounts were read."""
    read: Bools = columns.flags & j.JOB_SPLIT != 0
    return columns.finished & read


def split_parts(table: JobTable, columns: JobColumns) -> dict[str, Integers]:
    """Part -> ns per job, 0 where the response cannot be split (:func:`has_split`).

    ``wake_up``: from release to start, without what is core wait. ``core_wait``: ready, and not
    running. ``resource_wait``: asleep within the job. ``stall``: in no account of a thread that
    never slept, and with job details what computing uses took beyond their usual time, as far as
    it lies beyond C or in what else would be sleep. ``execution``: the rest.
    """
    known = has_split(table, columns)
    jobs = table.jobs
    before = np.where(known, columns.start_ns - columns.release_ns, 0)
    span = np.where(known, columns.finish_ns - columns.start_ns, 0)
    behind = np.minimum(behind_own(columns), before)
    waited_before = behind + np.clip(jobs["run_delay_before_ns"], 0, before - behind)
    waited_within = np.clip(jobs["run_delay_within_ns"], 0, span)
    cpu = np.clip(jobs["cpu_ns"], 0, span - waited_within)
    away = span - waited_within - cpu
    # A thread that never gave up its core did not sleep: what no account holds, its host or an
    # interrupt had (a paravirtual clock takes stolen time out of the CPU time).
    slept = np.where(jobs["voluntary_switches"] > 0, away, 0)
    stolen = away - slept
    cost = table.tasks["wcet_ns"].astype(np.int64)[columns.task]
    suspected = np.maximum(_stalls(table) - stolen, 0)
    within_cpu = np.minimum(suspected, np.maximum(cpu - cost, 0))
    within_sleep = np.minimum(suspected - within_cpu, slept)
    return {
        "wake_up": before - waited_before,
        "core_wait": waited_before + waited_within,
        "resource_wait": slept - within_sleep,
        "execution": cpu - within_cpu,
        "stall": stolen + within_cpu + within_sleep,
    }


def behind_own(columns: JobColumns) -> Integers:
    """How long after each job's release the job of its task before it still ran, ns: its core was
    held by its own past, which no account of the kernel says."""
    found = np.zeros(len(columns.task), np.int64)
    after, before = slice(1, None), slice(None, -1)
    related = (columns.task[after] == columns.task[before]) & columns.finished[before]
    related &= columns.slot[after] == columns.slot[before]
    late = columns.finish_ns[before][related] - columns.release_ns[after][related]
    found[after][related] = np.maximum(late, 0)
    return found


def _stalls(table: JobTable) -> Integers:
    """Suspected stall of each job, ns; 0 where no details were recorded."""
    if len(table.details) != len(table.jobs):
        return np.zeros(len(table.jobs), np.int64)
    stalls: Integers = np.maximum(table.details["stall_ns"], 0)
    return stalls


def part_figures(
    table: JobTable, columns: JobColumns, *, tasks: Bools | None = None
) -> dict[str, float | None]:
    """Mean of part / C over the counted, finished jobs of together slots; None without a split.

    They sum to the set's ``response_ratio_mean`` where every job was split.

    Args:
        tasks: The tasks that the figures are about; None: all.
    """
    chosen = columns.counted & ~columns.solo & has_split(table, columns)
    if tasks is not None:
        chosen &= tasks[columns.task]
    if not chosen.any():
        return dict.fromkeys(PART_COLUMNS)
    parts = split_parts(table, columns)
    cost = table.tasks["wcet_ns"].astype(np.float64)[columns.task[chosen]]
    return {f"{part}_ratio": float((parts[part][chosen] / cost).mean()) for part in PARTS}


def in_us(ns: int) -> str:
    """``85500 us``: how evidence writes a time."""
    return f"{ns / 1000:.0f} us"
