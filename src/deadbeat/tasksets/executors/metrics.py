"""The jobs of a run as columns, and what follows for each of them.

Meaning, formulas and weighting: docs/reference/campaign.md; its examples are tests.
Times are nanoseconds; ratios are plain numbers; what was not measured is None (NaN inside arrays).
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class JobColumns:
    """Jobs of one run as columns, in the order of the file (by task, then release).

    Attributes:
        task, slot, flags: From the file.
        release_ns, start_ns, finish_ns: From the file (NEVER where it did not happen).
        counted, solo, skipped, started, finished: The flags as truth values.
        span_ns: finish - start; NaN if not finished.
        response_ns: finish - release; NaN if not finished.
        delay_ratio: span / C. response_ratio: response / C.
        slowdown: span / median solo span of the task in this run; NaN without a solo job.
        missed: finished after the deadline, not finished, or never started.
        overrun: at its release an earlier job of its task was still unfinished.
        solo_median_ns: Per task, not per job: median solo span; NaN without a solo job.
    """

    task: Integers
    slot: Integers
    flags: Integers
    release_ns: Integers
    start_ns: Integers
    finish_ns: Integers
    counted: Bools
    solo: Bools
    skipped: Bools
    started: Bools
    finished: Bools
    span_ns: Floats
    response_ns: Floats
    delay_ratio: Floats
    response_ratio: Floats
    slowdown: Floats
    missed: Bools
    overrun: Bools
    solo_median_ns: Floats


def job_columns(table: JobTable) -> JobColumns:
    """The jobs of ``table`` with all that follows from one run alone."""
    jobs, tasks = table.jobs, table.tasks
    flags = jobs["flags"].astype(np.int64)
    owner = jobs["task"].astype(np.int64)
    release = np.ascontiguousarray(jobs["release_ns"])
    start, finish = (np.ascontiguousarray(jobs[name]) for name in ("start_ns", "finish_ns"))
    finished = flags & j.JOB_FINISHED != 0
    counted, solo = flags & j.JOB_COUNTED != 0, flags & j.JOB_SOLO != 0
    skipped = flags & j.JOB_SKIPPED != 0
    span = np.where(finished, finish - start, np.nan)
    response = np.where(finished, finish - release, np.nan)
    cost = tasks["wcet_ns"].astype(np.float64)[owner]
    reference = solo_medians(span, owner, counted & solo & finished, len(tasks))
    deadline = tasks["deadline_ns"].astype(np.float64)[owner]
    # Skipped, or released (policy late) while its predecessor in the slot was not finished.
    found = skipped.copy()
    if len(jobs) < 2:
        overruns = found
    else:
        before, after = jobs[:-1], jobs[1:]
        related = (before["task"] == after["task"]) & (before["slot"] == after["slot"])
        pending = ~finished[:-1] | (before["finish_ns"] > after["release_ns"])
        found[1:] |= related & pending & ~skipped[:-1]
        overruns = found
    return JobColumns(
        task=owner,
        slot=jobs["slot"].astype(np.int64),
        flags=flags,
        release_ns=release,
        start_ns=start,
        finish_ns=finish,
        counted=counted,
        solo=solo,
        skipped=skipped,
        started=flags & j.JOB_STARTED != 0,
        finished=finished,
        span_ns=span,
        response_ns=response,
        delay_ratio=span / cost,
        response_ratio=response / cost,
        slowdown=span / reference[owner],
        # A NaN compares as false: what did not finish is a miss.
        missed=~(response <= deadline),
        overrun=overruns,
        solo_median_ns=reference,
    )


def per_job(columns: JobColumns) -> dict[str, NDArray[Any]]:
    """Name -> column, of those that have a value for each job."""
    found = attrs.asdict(columns, recurse=False)
    del found["solo_median_ns"]
    return found


def of_tasks(columns: JobColumns, chosen: Bools) -> JobColumns:
    """The jobs of the ``chosen`` tasks alone; tasks keep their numbers, the others no solo span."""
    jobs = chosen[columns.task]
    kept = {name: column[jobs] for name, column in per_job(columns).items()}
    reference = np.where(chosen, columns.solo_median_ns, np.nan)
    return JobColumns(**kept, solo_median_ns=reference)


def solo_medians(span_ns: Floats, task: Integers, usable: Bools, tasks: int) -> Floats:
    """Median solo span of each task, ns; NaN where it has no usable solo job."""
    spans = np.split(span_ns[usable], np.searchsorted(task[usable], np.arange(1, tasks)))
    medians = np.array([np.median(each) if len(each) else np.nan for each in spans])
    # A span of 0 ns is below the clock: a ratio to it would be infinite.
    return np.where(medians > 0, medians, np.nan)


def quantiles(values: NDArray[Any], *shares: float) -> list[float | None]:
    """Quantiles with linear interpolation (type 7 of Hyndman and Fan 1996); None of nothing.

    By a full sort, which numpy does faster than it finds its own way to a few order statistics.
    """
    if len(values) == 0:
        return [None] * len(shares)
    ordered = np.sort(values)
    found: list[float | None] = []
    for share in shares:
        whole, part = divmod(share * (len(ordered) - 1), 1)
        low, high = ordered[int(whole)], ordered[min(int(whole) + 1, len(ordered) - 1)]
        found.append(float(low if part == 0 or low == high else low + (high - low) * part))
    return found
