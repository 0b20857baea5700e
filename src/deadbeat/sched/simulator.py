"""Simulate a task system under a policy, and say what that proves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.sched import _core
from deadbeat.sched.arrays import TaskBatch, task_rows

Answer = Literal["yes", "no", "undecided"]
Model = Literal["periodic-sync", "periodic-offset", "sporadic"]
Method = Literal["exact", "thesis"]

MODELS: tuple[Model, ...] = ("periodic-sync", "periodic-offset", "sporadic")
_ANSWERS: tuple[Answer, ...] = ("no", "yes", "undecided")
_NEVER = np.iinfo(np.int64).max

JOB_FIELDS = ("task", "job", "release", "start", "finish", "deadline")
SEGMENT_FIELDS = ("task", "job", "processor", "start", "end")


@frozen(kw_only=True)
class Costs:
    """Time added to the job that causes it, in the system's unit. Above zero nothing is proved.

    Attributes:
        context_switch: A processor takes up another job than it ran last.
        migration: A job resumes, or a task continues, on another processor.
        cache_reload: A job resumes on its processor after another one ran there.
    """

    context_switch: int = 0
    migration: int = 0
    cache_reload: int = 0

    def __bool__(self) -> bool:
        return self != Costs()


@frozen(kw_only=True)
class Scheduler:
    """A policy and its options; ``policies()`` lists which policy looks at which."""

    policy: str = "g-edf"
    ties: str = "index"
    priorities: str = "rm"
    partition: str = "first-fit"
    order: str = "utilisation-desc"
    admission: str = "utilisation"
    unplaced: str = "reject"
    balance: str = "both"
    cluster_size: int = 2
    threshold: tuple[int, int] | None = None
    costs: Costs = field(factory=Costs)


@frozen(kw_only=True)
class PolicyFacts:
    """What a policy declares of itself (core/include/deadbeat/sched/policy.hpp)."""

    name: str
    title: str
    reference: str
    memoryless: bool
    predictable: bool
    predictable_reason: str
    clusters: bool
    partitions: bool
    fixed_priority: bool
    implicit_only: bool


@frozen(kw_only=True)
class Verdict:
    """What was found, and what it rests on.

    Attributes:
        schedulable: The answer for ``model``; ``undecided`` is never a guess.
        proved: Whether it holds for the model, not only for what was simulated.
        because: The argument, or what one lacks; one line.
        first_miss: The earliest deadline that a job missed, or None.
        first_miss_task, first_miss_job: Whose (indices from 0), or None.
        until: [0, until) was simulated.
        repeat: The instants between which the schedule repeats, where that was looked for.
        figures: Per task, a column per figure: see ``TaskMetrics`` in engine.hpp.
        jobs: int64, a row per job (JOB_FIELDS), -1 for what did not happen; empty unless recorded.
        segments: int64, a row per stretch of execution (SEGMENT_FIELDS); likewise.
        truncated: More was to record than asked for.
        placed: Cluster of each task; empty where tasks are not bound.
    """

    schedulable: Answer
    proved: bool
    because: str
    model: Model
    method: Method
    scheduler: Scheduler
    facts: PolicyFacts
    first_miss: int | None
    first_miss_task: int | None
    first_miss_job: int | None
    until: int
    events: int
    repeat: tuple[int, int] | None
    placed: tuple[int, ...]
    remarks: tuple[str, ...]
    truncated: bool
    figures: Mapping[str, NDArray[Any]] = field(eq=False, repr=False)
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    segments: NDArray[np.int64] = field(eq=False, repr=False)


@cache
def policies() -> Mapping[str, PolicyFacts]:
    """Every policy of the core by name."""
    return {entry["name"]: PolicyFacts(**entry) for entry in _core.policies()}


@cache
def tie_rules() -> tuple[str, ...]:
    return tuple(_core.tie_rules())


def default_model(system: TaskSystem) -> Model:
    """``periodic-sync`` unless a task has an offset."""
    return "periodic-offset" if any(task.offset for task in system.tasks) else "periodic-sync"


def simulate(
    system: TaskSystem,
    scheduler: Scheduler | None = None,
    *,
    model: Model | None = None,
    method: Method = "exact",
    horizon: int | None = None,
    budget: int = 100_000_000,
    run_on: bool = False,
    record_jobs: bool = False,
    record_segments: bool = False,
) -> Verdict:
    """Simulates ``system`` as long as the verdict for ``model`` needs.

    Args:
        scheduler: Policy and options; global EDF, ties by index, unless given.
        model: Arrival model; by default ``default_model``.
        method: ``exact``, or ``thesis``: two hyper-periods, states compared at their ends.
        horizon: Simulate no longer than this.
        budget: Events (scheduling points) after which the answer is ``undecided``.
        run_on: Go on after a miss, for figures; late jobs keep their priority.

    Raises:
        UsageError: An unknown policy, rule or option, or a model the system does not fit.
    """
    known = scheduler or Scheduler()
    chosen = model or default_model(system)
    if chosen == "periodic-sync":
        late = next((i for i, task in enumerate(system.tasks) if task.offset), None)
        if late is not None:
            raise UsageError(
                f"{system.label(late)} has an offset, the model periodic-sync has none",
                "use the model periodic-offset",
            )
    options = core_options(known)
    options.horizon = horizon or 0
    options.budget = budget
    options.stop_at_miss = not run_on
    options.record_jobs = record_jobs
    options.record_segments = record_segments
    found = _core.decide(
        system.processors,
        task_rows(system.tasks),
        options,
        MODELS.index(chosen),
        method == "thesis",
    )
    return _verdict(found, known, chosen, method)


def simulate_batch(
    batch: TaskBatch,
    scheduler: Scheduler | None = None,
    *,
    model: Model = "periodic-sync",
    budget: int = 100_000_000,
    run_on: bool = False,
    metrics: bool = False,
    threads: int = 1,
) -> dict[str, NDArray[Any]]:
    """Verdicts (0 no, 1 yes, 2 undecided) and sums of every system, a column per figure.

    The columns are the fields of ``BatchRow`` in core/include/deadbeat/sched/batch.hpp.
    """
    options = core_options(scheduler or Scheduler())
    options.budget = budget
    options.stop_at_miss = not run_on
    options.metrics = metrics
    columns: dict[str, NDArray[Any]] = _core.decide_batch(
        batch.tasks, batch.starts, batch.processors, options, MODELS.index(model), threads
    )
    return columns


def core_options(scheduler: Scheduler) -> _core.Options:
    """The core's options of ``scheduler``. Raises UsageError for an unknown policy or tie rule."""
    if scheduler.policy not in policies():
        raise UsageError(
            f'there is no policy "{scheduler.policy}"', "one of " + ", ".join(policies())
        )
    if scheduler.ties not in tie_rules():
        raise UsageError(
            f'there is no tie rule "{scheduler.ties}"', "one of " + ", ".join(tie_rules())
        )
    options = _core.Options()
    for name in (
        "policy",
        "ties",
        "priorities",
        "partition",
        "order",
        "admission",
        "unplaced",
        "balance",
        "cluster_size",
    ):
        setattr(options, name, getattr(scheduler, name))
    if scheduler.threshold is not None:
        options.threshold_numerator, options.threshold_denominator = scheduler.threshold
    costs = _core.Costs()
    costs.context_switch = scheduler.costs.context_switch
    costs.migration = scheduler.costs.migration
    costs.cache_reload = scheduler.costs.cache_reload
    options.costs = costs
    return options


def _verdict(found: dict[str, Any], scheduler: Scheduler, model: Model, method: Method) -> Verdict:
    missed = found["first_miss"] >= 0
    jobs = found["jobs"]
    jobs[jobs == _NEVER] = -1
    return Verdict(
        schedulable=_ANSWERS[found["answer"]],
        proved=found["proved"],
        because=found["because"],
        model=model,
        method=method,
        scheduler=scheduler,
        facts=policies()[scheduler.policy],
        first_miss=found["first_miss"] if missed else None,
        first_miss_task=found["first_miss_task"] if missed else None,
        first_miss_job=found["first_miss_job"] if missed else None,
        until=found["until"],
        events=found["events"],
        repeat=(found["repeat_from"], found["repeat_to"]) if found["repeat_to"] >= 0 else None,
        placed=tuple(map(int, found["placed"])),
        remarks=tuple(found["remarks"]),
        truncated=found["truncated"],
        figures=found["metrics"],
        jobs=jobs,
        segments=found["segments"],
    )
