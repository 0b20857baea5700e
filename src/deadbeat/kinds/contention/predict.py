"""Predicted beside measured: the runs of the main job, simulated under the policy they ran with.

Every together slot is simulated with the releases that were recorded in it, each job taking
exactly its task's C, under partitioned SCHED_FIFO with the priorities of the run. What the
simulation leaves out is what the measurement is about: contention, wake-up latency, the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import JobColumns, quantiles
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.systems import TimedTask
from deadbeat.sched.simulator import simulate_jobs

Floats = NDArray[np.float64]
_FINISH, _RELEASE = 4, 2


@frozen(kw_only=True)
class TaskPrediction:
    """One task of a run; quantiles are over the same jobs on both sides. Times in ns.

    Attributes:
        jobs: Counted jobs of together slots.
        predicted_p50_ns, predicted_max_ns: Simulated response times; None: no job finished.
        measured_p50_ns, measured_max_ns: Measured ones.
        predicted_misses, measured_misses: Of ``jobs``; None: not all of them were simulated.
    """

    task: int
    core: int
    priority: int
    wcet_ns: int
    period_ns: int
    deadline_ns: int
    jobs: int
    predicted_p50_ns: float | None
    predicted_max_ns: float | None
    measured_p50_ns: float | None
    measured_max_ns: float | None
    predicted_misses: int | None
    measured_misses: int


def why_not(table: JobTable) -> str:
    """Why a run cannot be predicted, or ``""``."""
    if not int(table.header["flags"]) & j.RUN_REALTIME:
        return "it ran under SCHED_OTHER, whose decisions the simulator does not model"
    return ""


def predicted_response_ns(table: JobTable, columns: JobColumns) -> Floats:
    """Simulated response time of every job of a together slot, in the order of ``columns``.

    Infinite for those that do not finish in the simulation; NaN for what was not simulated: jobs of
    solo slots, and of slots whose releases are not all recorded.
    """
    predicted = np.full(len(columns.task), np.nan)
    known: dict[tuple[int, ...], NDArray[np.int64]] = {}
    skips = not int(table.header["flags"]) & j.RUN_LATE
    for where, offsets, horizon in _slots(table, columns):
        key = (*offsets, horizon)
        if key not in known:
            known[key] = _simulate(table, offsets, horizon, skips)
        jobs = known[key]
        order = where[np.lexsort((columns.release_ns[where], columns.task[where]))]
        same = len(jobs) == len(order) and (jobs[:, 0] == columns.task[order]).all()
        if not same:
            continue  # a damaged slot: releases are missing from the record
        response = (jobs[:, _FINISH] - jobs[:, _RELEASE]).astype(np.float64)
        predicted[order] = np.where(jobs[:, _FINISH] >= 0, response, np.inf)
    return predicted


def _slots(
    table: JobTable, columns: JobColumns
) -> Iterator[tuple[NDArray[np.intp], tuple[int, ...], int]]:
    """Jobs of each together slot, first releases relative to the earliest, and the length."""
    for slot in np.unique(columns.slot[~columns.solo]):
        where = np.flatnonzero((columns.slot == slot) & ~columns.solo)
        release, task = columns.release_ns[where], columns.task[where]
        begin = int(release.min())
        own = (release[task == index] for index in range(len(table.tasks)))
        first = tuple(int(times.min()) - begin if len(times) else -1 for times in own)
        # One past the last release: what is released later was not recorded.
        yield where, first, int(release.max()) - begin + 1


def _simulate(
    table: JobTable, offsets: tuple[int, ...], horizon: int, skips: bool
) -> NDArray[np.int64]:
    """Jobs released within ``horizon``; they are given time to finish behind it."""
    longest = int(max(table.tasks["deadline_ns"].max(), table.tasks["period_ns"].max()))
    present = [index for index, offset in enumerate(offsets) if offset >= 0]
    tasks = [
        TimedTask(
            home=int(row["core"]),
            priority=int(row["priority"]),
            wcet=max(1, int(row["wcet_ns"])),
            period=int(row["period_ns"]),
            deadline=int(row["deadline_ns"]),
            offset=offsets[index],
        )
        for index, row in enumerate(table.tasks)
        if offsets[index] >= 0
    ]
    cores = int(table.tasks["core"].max()) + 1
    jobs = simulate_jobs(tasks, cores=cores, horizon_ns=horizon + 2 * longest, skip_overruns=skips)
    jobs = jobs[jobs[:, _RELEASE] < horizon]
    jobs[:, 0] = np.array(present, dtype=np.int64)[jobs[:, 0]]
    return jobs


def predict_tasks(table: JobTable, columns: JobColumns) -> tuple[TaskPrediction, ...]:
    """Predicted and measured response times of every task of a run, over its counted jobs."""
    predicted = predicted_response_ns(table, columns)
    together = columns.counted & ~columns.solo
    found = []
    for index, row in enumerate(table.tasks):
        own = together & (columns.task == index)
        simulated, measured = predicted[own], columns.response_ns[own]
        late = int((simulated > row["deadline_ns"]).sum())
        p50, largest = quantiles(simulated[np.isfinite(simulated)], 0.5, 1.0)
        measured_p50, measured_largest = quantiles(measured[np.isfinite(measured)], 0.5, 1.0)
        names = ("core", "priority", "wcet_ns", "period_ns", "deadline_ns")
        found.append(
            TaskPrediction(
                task=index,
                **{name: int(row[name]) for name in names},
                jobs=len(simulated),
                predicted_p50_ns=p50,
                predicted_max_ns=largest,
                measured_p50_ns=measured_p50,
                measured_max_ns=measured_largest,
                predicted_misses=None if np.isnan(simulated).any() else late,
                measured_misses=int(columns.missed[own].sum()),
            )
        )
    return tuple(found)


def prediction_figures(
    table: JobTable, columns: JobColumns, *, chosen: NDArray[np.bool_] | None = None
) -> dict[str, float | int | None]:
    """Columns of sets.csv: the simulated counterparts of what was measured, over the same jobs.

    Args:
        columns: Of all tasks: the others hold the ``chosen`` ones up in the simulation as well.
        chosen: The tasks that the figures are about; None: all.
    """
    if why_not(table):
        return {}
    predicted = predicted_response_ns(table, columns)
    together = columns.counted & ~columns.solo
    if chosen is not None:
        together &= chosen[columns.task]
    cost = table.tasks["wcet_ns"].astype(np.float64)[columns.task]
    deadline = table.tasks["deadline_ns"].astype(np.float64)[columns.task]
    # Over the jobs that finished on both sides: a mean over others would compare different jobs.
    both = together & columns.finished & np.isfinite(predicted)
    if not both.any() or np.isnan(predicted[together]).any():
        return {}
    return {
        "response_ratio_predicted": float((predicted[both] / cost[both]).mean()),
        "deadline_misses_predicted": int((predicted > deadline)[together].sum()),
    }
