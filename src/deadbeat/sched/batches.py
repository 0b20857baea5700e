"""Simulation of many systems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.sched.arrays import TaskBatch
from deadbeat.sched.simulator import (
    ANSWERS,
    MODELS,
    Model,
    Scheduler,
    core_options,
    placed_by,
    require_number,
    simulate,
)

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core


def simulate_batch(
    batch: TaskBatch,
    scheduler: Scheduler | None = None,
    *,
    model: Model = "periodic-sync",
    budget: int = 5_000_000,
    run_on: bool = False,
    metrics: bool = False,
    threads: int = 1,
) -> dict[str, NDArray[Any]]:
    """Verdicts (0 no, 1 yes, 2 undecided) and sums of every system, a column per figure.

    The columns are the fields of ``BatchRow`` in core/include/deadbeat/sched/batch.hpp; of tasks
    with locks those of a study that runs on past misses. Raises UsageError as ``simulate``.
    """
    options = core_options(known := scheduler or Scheduler())
    if len(batch.sections) or len(batch.extras):
        return _one_by_one(batch, known, budget)
    options.budget = require_number("the budget", budget, least=1)
    options.stop_at_miss = not run_on
    options.metrics = metrics
    columns: dict[str, NDArray[Any]] = _core.decide_batch(
        batch.tasks, batch.starts, batch.processors, options, MODELS.index(model), threads
    )
    return columns


def _one_by_one(batch: TaskBatch, scheduler: Scheduler, budget: int) -> dict[str, NDArray[Any]]:
    """Systems with locks: each task is placed as without them."""
    names = ("judged", "missed", "response_max", "tardiness_max", "response_mean", "tardiness_mean")
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(batch)) for name in names}
    columns["answer"] = np.zeros(len(batch), dtype=np.int64)
    columns["placed"] = np.ones(len(batch), dtype=np.int64)
    for i in range(len(batch)):
        system = placed_by(scheduler, batch.system(i))
        if system is None:
            columns["placed"][i] = 0
            continue
        found = simulate(system, scheduler, budget=budget)
        columns["answer"][i] = ANSWERS.index(found.schedulable)
        for name in names:
            kind, _, of = name.partition("_")
            values = found.figures[f"{kind}_sum" if of == "mean" else name]
            jobs = max(1, found.figures["completed"].sum())
            total = values.max() if of == "max" else values.sum()
            columns[name][i] = total / jobs if of == "mean" else total
    return columns
