"""What the schedulability lab predicts of a task set: up to which utilisation it meets deadlines.

``simulated`` applies the criterion of the runs to the releases of a run: every job takes exactly
its cost, and at most a share of the jobs may miss. (No hyperperiod: periods in ns have none of any
use.) ``proved`` is exact response-time analysis (Joseph and Pandya 1986; Audsley et al. 1993), core
by core: no job misses, whatever the releases. Both are bisected over the scaling of T = D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs
import numpy as np
from numpy.typing import NDArray

from deadbeat.executors.metrics import JobColumns
from deadbeat.executors.tables import RunTiming
from deadbeat.kinds.breakdown.spec import SearchSpec, period_ppm
from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.model.tasks import TaskSet
from deadbeat.sched import analyze
from deadbeat.sched.simulator import simulate_jobs

Floats = NDArray[np.float64]
#: The runs have 6 by default: this is 64 times finer.
_HALVINGS = 12
_FINISH, _DEADLINE = 4, 5


def calibrated(task_set: TaskSet) -> tuple[float, ...]:
    """C of each task by calibration, ns."""
    return tuple(task.cost_ps / 1000 for task in task_set.tasks)


def _timed(task_set: TaskSet, used: Fraction, costs_ns: Sequence[float]) -> list[TimedTask]:
    """The tasks at a utilisation of ``used``."""
    ppm = period_ppm(task_set, used)
    timings = [RunTiming.of(task, ppm) for task in task_set.tasks]
    return [
        TimedTask(
            home=task.core,
            priority=task.priority,
            wcet=max(1, round(cost_ns)),
            period=timing.period_ns,
            deadline=timing.deadline_ns,
            offset=timing.offset_ns,
        )
        for task, timing, cost_ns in zip(task_set.tasks, timings, costs_ns, strict=True)
    ]


def simulated(
    task_set: TaskSet, search: SearchSpec, costs_ns: Sequence[float], *, seconds: float
) -> float:
    """Predicted breakdown utilisation under partitioned SCHED_FIFO, in terms of calibrated C.

    Args:
        costs_ns: What a job of each task takes; C, or C inflated.
        seconds: Length of the simulated run.
    """
    end_ns, cores = round(seconds * 1e9), task_set.cores

    def meets(used: Fraction) -> bool:
        tasks = _timed(task_set, used, costs_ns)
        horizon_ns = end_ns + 2 * max(task.deadline for task in tasks)
        found = simulate_jobs(tasks, cores=cores, horizon_ns=horizon_ns, skip_overruns=True)
        found = found[found[:, _DEADLINE] <= end_ns]
        late = (found[:, _FINISH] < 0) | (found[:, _FINISH] > found[:, _DEADLINE])
        return bool(late.sum() <= search.miss_share * len(found))

    return _bisect(search, meets)


def proved(task_set: TaskSet, search: SearchSpec) -> float | None:
    """Utilisation up to which response-time analysis proves that no job misses; None where tasks of
    one core have the same priority, which it does not order as SCHED_FIFO does."""
    ranks = [(task.core, task.priority) for task in task_set.tasks]
    if len(set(ranks)) < len(ranks):
        return None

    def meets(used: Fraction) -> bool:
        tasks = (
            attrs.evolve(task, offset=0) for task in _timed(task_set, used, calibrated(task_set))
        )
        system = TaskSystem(processors=task_set.cores, tasks=tuple(tasks), unit="ns")
        return analyze(system, names=["p-fp"], priorities="given").results[0].answer == "accepted"

    return _bisect(search, meets)


def _bisect(search: SearchSpec, meets: Callable[[Fraction], bool]) -> float:
    low, high = search.low, search.high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return float((low + high) / 2)


def own_time_ns(columns: JobColumns, core: Sequence[int]) -> Floats:
    """Time each finished job had its core, NaN of others: of several jobs that have begun on a
    core, the one that began last has it.

    Args:
        core: Of each task.
    """
    own = columns.span_ns.copy()
    where = np.array(core)[columns.task]
    order = np.lexsort((columns.start_ns, where))
    begun: list[int] = []
    for index in order[columns.finished[order]]:
        start, finish = columns.start_ns[index], columns.finish_ns[index]
        while begun and (where[begun[-1]] != where[index] or columns.finish_ns[begun[-1]] <= start):
            begun.pop()
        if begun:
            own[begun[-1]] -= min(finish, columns.finish_ns[begun[-1]]) - start
        begun.append(int(index))
    return own


def inflation(columns: JobColumns, task_set: TaskSet) -> tuple[float, ...] | None:
    """Mean time a job of each task had its core while all ran, over C by calibration; None: of some
    task no job counts."""
    own = own_time_ns(columns, [task.core for task in task_set.tasks])
    used = columns.counted & ~columns.solo & columns.finished
    of_task = [own[used & (columns.task == index)] for index in range(len(task_set.tasks))]
    if not all(map(len, of_task)):
        return None
    pairs = zip(of_task, calibrated(task_set), strict=True)
    return tuple(float(times.mean()) / cost_ns for times, cost_ns in pairs)
