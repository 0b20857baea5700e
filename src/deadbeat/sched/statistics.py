"""Figures of a simulated system, per task and in all, from what the core counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.model.systems import TaskSystem
from deadbeat.sched.simulator import JOB_FIELDS, PolicyFacts, Scheduler, Verdict

#: Fields of Scheduler that some policies look at and others do not.
POLICY_OPTIONS = (
    *("priorities", "partition", "order", "admission", "unplaced"),
    *("cluster_size", "balance", "threshold"),
)

#: Of response times, by nearest rank: the least value that this share of the jobs does not exceed.
PERCENTILES = (50, 90, 95, 99)

_RELEASE, _FINISH = JOB_FIELDS.index("release"), JOB_FIELDS.index("finish")
_NONE = np.iinfo(np.int64).max


@frozen(kw_only=True)
class TaskStatistics:
    """Of the jobs of one task in [0, until); None where no job tells.

    Attributes:
        response_percentiles: By name (``p50``); None where jobs were not recorded.
        slack_min, slack_mean: Deadline minus completion; negative where late.
    """

    task: int
    label: str
    released: int
    completed: int
    judged: int
    missed: int
    response_min: int | None
    response_mean: float | None
    response_max: int | None
    response_percentiles: dict[str, int] | None
    tardiness_mean: float | None
    tardiness_max: int | None
    slack_min: int | None
    slack_mean: float | None
    preemptions: int
    migrations: int
    cross_cluster: int
    task_migrations: int


def task_statistics(
    system: TaskSystem,
    verdict: Verdict,
    responses: Sequence[NDArray[np.int64]] | None = None,
) -> tuple[TaskStatistics, ...]:
    """A row per task; empty where nothing was simulated.

    Args:
        responses: Response times of each task, ascending, for percentiles.
    """
    figures = verdict.figures
    if len(figures.get("released", ())) != len(system.tasks):
        return ()
    return tuple(
        _of_task(system, index, figures, None if responses is None else responses[index])
        for index in range(len(system.tasks))
    )


def _of_task(
    system: TaskSystem, index: int, figures: Any, responses: NDArray[np.int64] | None
) -> TaskStatistics:
    count = int(figures["completed"][index])

    def whole(name: str) -> int:
        return int(figures[name][index])

    def extreme(name: str) -> int | None:
        return whole(name) if count and whole(name) != _NONE else None

    def mean(name: str) -> float | None:
        return float(figures[name][index]) / count if count else None

    return TaskStatistics(
        task=index,
        label=system.label(index),
        released=whole("released"),
        completed=count,
        judged=whole("judged"),
        missed=whole("missed"),
        response_min=extreme("response_min"),
        response_mean=mean("response_sum"),
        response_max=extreme("response_max"),
        response_percentiles=None if responses is None else percentiles(responses),
        tardiness_mean=mean("tardiness_sum"),
        tardiness_max=extreme("tardiness_max"),
        slack_min=extreme("slack_min"),
        slack_mean=mean("slack_sum"),
        preemptions=whole("preemptions"),
        migrations=whole("migrations"),
        cross_cluster=whole("cross_cluster"),
        task_migrations=whole("task_migrations"),
    )


def percentiles(values: NDArray[np.int64]) -> dict[str, int] | None:
    """Nearest-rank percentiles of sorted ``values``; None of none."""
    if not len(values):
        return None
    return {f"p{p}": int(values[-(-p * len(values) // 100) - 1]) for p in PERCENTILES}


def response_times(jobs: NDArray[np.int64], tasks: int) -> list[NDArray[np.int64]]:
    """Of the completed among ``jobs`` (JOB_FIELDS), per task, ascending."""
    done = jobs[jobs[:, _FINISH] >= 0]
    times = done[:, _FINISH] - done[:, _RELEASE]
    order = np.lexsort((times, done[:, 0]))
    bounds = np.searchsorted(done[order, 0], np.arange(tasks + 1))
    return [times[order[bounds[i] : bounds[i + 1]]] for i in range(tasks)]


def total(rows: Iterable[TaskStatistics], name: str) -> int:
    """Sum of a count over the tasks."""
    return sum(int(getattr(row, name)) for row in rows)


def looked_at(facts: PolicyFacts) -> list[str]:
    """Those of POLICY_OPTIONS that the policy looks at."""
    used = {
        "priorities": facts.fixed_priority,
        **dict.fromkeys(("partition", "order", "admission", "unplaced"), facts.partitions),
        "cluster_size": facts.clusters,
        "balance": facts.name == "lc-edf",
        "threshold": facts.name == "edf-us",
    }
    return [name for name in POLICY_OPTIONS if used[name]]


def relevant_options(verdict: Verdict) -> dict[str, object]:
    """Options of the scheduler that the policy looks at, by name."""
    scheduler = verdict.scheduler
    chosen = {name: getattr(scheduler, name) for name in looked_at(verdict.facts)}
    if "threshold" in chosen:
        chosen["threshold"] = _threshold(scheduler)
    if scheduler.costs:
        chosen["costs"] = {
            name: getattr(scheduler.costs, name)
            for name in ("context_switch", "migration", "cache_reload")
        }
    return chosen


def _threshold(scheduler: Scheduler) -> str:
    if scheduler.threshold is None:
        return "m/(2m-1)"
    return "/".join(map(str, scheduler.threshold))
