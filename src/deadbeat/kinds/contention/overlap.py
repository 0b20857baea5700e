"""How much of the contended synchronisation really overlapped: an estimate.

The runtime records when a job started and finished, not where inside it each use lay. A use is
placed by the plan: its calibrated cost, linearly, between the job's measured start and finish. So
preemption and contention stretch all uses of a job alike.

Of a run with very many jobs, evenly spread slices of its time are used: a share of a set needs no
more, and the whole would cost as much as the rest of the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import JobColumns
from deadbeat.model.calibration import Calibration
from deadbeat.model.tasks import Task, TaskSet

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


#: Jobs of a run beyond which slices are used, and the length of a slice in longest periods: long
#: beside a job, so that the jobs cut off from their neighbours at its ends (about 1 %) do not show.
JOBS_MAX = 2000
SLICE_PERIODS = 16


@frozen(eq=False)
class ContendedUses:
    """Where one task is inside one contended object, as shares of its span (low < high)."""

    task: int
    low: Floats
    high: Floats


#: Contended object (index of the set's resources) -> the tasks that use it.
Plan = Mapping[int, list[ContendedUses]]


def contended_plan(task_set: TaskSet, calibration: Calibration) -> Plan:
    """Where the tasks of ``task_set`` are inside contended objects.

    Raises:
        DataError: ``calibration`` does not hold an entry that is used.
    """
    contended = {
        index for index, resource in enumerate(task_set.resources) if resource.core is None
    }
    plan: dict[int, list[ContendedUses]] = {}
    for index, task in enumerate(task_set.tasks):
        for resource, intervals in _task_intervals(task, contended, calibration).items():
            shares = np.array(intervals)
            uses = ContendedUses(index, shares[:, 0], shares[:, 1])
            plan.setdefault(resource, []).append(uses)
    return plan


def _task_intervals(
    task: Task, contended: set[int], calibration: Calibration
) -> dict[int, list[tuple[float, float]]]:
    """Intervals of [0, 1] in which ``task`` is inside each object; neighbours are one."""
    found: dict[int, list[tuple[int, int]]] = {}
    position = 0
    for segment, costs in zip(task.segments, calibration.job_costs_ps(task), strict=True):
        for use, cost in zip(segment.uses, costs, strict=True):
            end = position + cost
            if use.resource in contended:
                intervals = found.setdefault(use.resource, [])
                follows = intervals and intervals[-1][1] == position
                intervals.append((intervals.pop()[0] if follows else position, end))
            position = end
    return {
        resource: [(low / position, high / position) for low, high in intervals]
        for resource, intervals in found.items()
    }


def overlap_share(
    columns: JobColumns, tasks: NDArray[Any], plan: Plan, *, jobs_max: int = JOBS_MAX
) -> float | None:
    """Share of the time inside contended objects in which another core is inside the same one.

    Args:
        columns: Jobs of the run; all finished jobs of together slots are used, warm-up included,
            since they contend too.
        tasks: Task rows of the run.
        plan: From `contended_plan`.
        jobs_max: Jobs beyond which slices of the time are used.

    Returns:
        In [0, 1]; None if no time was spent inside contended objects.
    """
    if not plan:
        return None
    used = _slices(columns, tasks, jobs_max)
    owners = columns.task[used]
    starts, finishes = columns.start_ns[used], columns.finish_ns[used]
    bounds = np.searchsorted(owners, np.arange(len(tasks) + 1))
    inside = shared = 0
    for users in plan.values():
        by_core: dict[int, list[tuple[Integers, Integers]]] = {}
        for uses in users:
            own = slice(bounds[uses.task], bounds[uses.task + 1])
            placed = _place(uses, starts[own], finishes[own])
            by_core.setdefault(int(tasks["core"][uses.task]), []).append(placed)
        busy, overlapped = _sweep(_union(intervals) for intervals in by_core.values())
        inside, shared = inside + busy, shared + overlapped
    return shared / inside if inside else None


def _slices(columns: JobColumns, tasks: NDArray[Any], jobs_max: int) -> Integers:
    """Indices of the finished jobs of together slots; if they are many, of those that start in
    every k-th slice of time, k such that about ``jobs_max`` remain."""
    used = np.flatnonzero(columns.finished & ~columns.solo)
    step = -(-len(used) // jobs_max)
    if step <= 1:
        return used
    starts = columns.start_ns[used]
    length = SLICE_PERIODS * int(tasks["period_ns"].max())
    chosen: Integers = used[(starts - starts.min()) // length % step == 0]
    return chosen


def _place(
    uses: ContendedUses, starts_ns: Integers, finishes_ns: Integers
) -> tuple[Integers, Integers]:
    """Absolute times of the uses of all jobs of a task, ascending; those under 1 ns are none."""
    spans = (finishes_ns - starts_ns)[:, None]
    enter = starts_ns[:, None] + (spans * uses.low).astype(np.int64)
    leave = starts_ns[:, None] + (spans * uses.high).astype(np.int64)
    real = leave > enter
    return enter[real], leave[real]


def _edges(intervals: Iterable[tuple[Integers, Integers]]) -> Integers:
    """Sorted edges, twice the time, odd where something begins: an end sorts before a beginning
    at the same moment. Plain integers sort several times faster than indices."""
    parts = []
    for enter, leave in intervals:
        parts += [2 * enter + 1, 2 * leave]
    edges = np.concatenate(parts) if parts else np.empty(0, np.int64)
    edges.sort()
    return edges


def _depth(edges: Integers) -> Integers:
    """How many intervals are open after each edge."""
    return np.cumsum(2 * (edges & 1) - 1)


def _union(intervals: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Disjoint intervals that cover the same time: a core is inside an object or it is not, even if
    one of its tasks preempted another there."""
    enter, leave = intervals[0]
    if len(intervals) == 1 and (enter[1:] >= leave[:-1]).all():
        return enter, leave
    edges = _edges(intervals)
    depth = _depth(edges)
    begins = edges[(depth == 1) & (edges & 1 == 1)]
    ends = edges[depth == 0]
    return begins >> 1, ends >> 1


def _sweep(unions: Iterable[tuple[Integers, Integers]]) -> tuple[int, int]:
    """Core-nanoseconds inside an object, and those of them with another core inside it too."""
    edges = _edges(unions)
    if len(edges) == 0:
        return 0, 0
    depth = _depth(edges)[:-1]
    inside = np.diff(edges >> 1) * depth
    return int(inside.sum()), int(inside[depth >= 2].sum())
