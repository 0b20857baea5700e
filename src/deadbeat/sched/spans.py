"""Jobs over a span of time: what a run of the main job is predicted to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.sched import _core
from deadbeat.sched.arrays import FIELDS


@frozen(kw_only=True)
class BoundTask:
    """A task of the main job on its ``core``; times in ns, a larger ``priority`` wins."""

    core: int
    priority: int
    wcet_ns: int
    period_ns: int
    deadline_ns: int
    offset_ns: int


def simulate_jobs(
    tasks: Sequence[BoundTask],
    *,
    cores: int,
    horizon_ns: int,
    skip_overruns: bool,
    policy: str = "p-fifo",
) -> NDArray[np.int64]:
    """The jobs released in [0, horizon) under ``policy``, sorted by task and job.

    Every job takes exactly its C; nothing else runs and nothing costs anything. A job that is still
    unfinished at the horizon has no finish.

    Args:
        policy: ``p-fifo`` is what the main job runs under: SCHED_FIFO, each task on its core.
        skip_overruns: A release that finds its predecessor unfinished never runs.

    Returns:
        int64, shape (jobs, 6), columns ``simulator.JOB_FIELDS``; -1 where start or finish are
        missing.
    """
    rows = np.zeros((len(tasks), len(FIELDS)), dtype=np.int64)
    for row, task in zip(rows, tasks, strict=True):
        row[:6] = (
            task.wcet_ns,
            task.period_ns,
            task.deadline_ns,
            task.offset_ns,
            task.priority,
            task.core,
        )
    options = _core.Options()
    options.policy = policy
    options.priorities = "given"
    options.unplaced = "least-loaded"  # overloaded cores are a question here, not an error
    options.stop_at_miss = False
    options.skip_overruns = skip_overruns
    options.metrics = False
    options.record_jobs = True
    found = _core.simulate(cores, rows, options, horizon_ns)
    jobs: NDArray[np.int64] = found["jobs"]
    jobs[jobs == np.iinfo(np.int64).max] = -1
    return jobs[np.lexsort((jobs[:, 1], jobs[:, 0]))]
