"""What must stay equal, or only get better, when a question is asked in another way.

Proofs are short or cited; nothing here is compared with stored answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from helpers.sched import Draw
from oracles import schedule as reference

from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.sched import Scheduler, Verdict, policies, simulate, tie_rules

SYSTEMS = 60

TIMES = ("wcet", "period", "deadline", "offset", "budget", "server_period", "server_deadline")


def decide(system: TaskSystem, scheduler: Scheduler) -> Verdict:
    model = "periodic-offset" if any(task.offset for task in system.tasks) else None
    return simulate(system, scheduler, model=model)


def scaled(task: TimedTask, factor: int) -> TimedTask:
    times = {name: getattr(task, name) for name in TIMES}
    return evolve(
        task, **{name: None if time is None else time * factor for name, time in times.items()}
    )


def implicit_servers(system: TaskSystem) -> TaskSystem:
    tasks = (
        evolve(task, server_deadline=task.server_period or task.period) for task in system.tasks
    )
    return evolve(system, tasks=tuple(tasks))


@pytest.mark.parametrize("policy", sorted(policies()))
def test_scaling_all_times_scales_the_first_miss(policy: str) -> None:
    """Also by a large prime; PD2's quantum follows, by its contract.

    What Linux grants constrained servers is rounded to the unit, so these are left out.
    """
    draw = Draw(20, sorted(policies()).index(policy))
    missed = 0
    for _ in range(SYSTEMS):
        system, scheduler = draw.case(policy)
        if policy.endswith("-cbs"):
            system = implicit_servers(system)
        factor = draw.one_of([2, 7, 60, 1_000_003])
        larger = evolve(system, tasks=tuple(scaled(task, factor) for task in system.tasks))
        before, after = decide(system, scheduler), decide(larger, scheduler)
        expected = before.first_miss and before.first_miss * factor
        case = (system, scheduler, factor)
        assert after.schedulable == before.schedulable, case
        assert after.first_miss == expected, case
        assert after.first_miss_task == before.first_miss_task, case
        missed += before.first_miss is not None
    assert missed > SYSTEMS / 25


def finishes(finding: reference.Finding) -> dict[tuple[int, ...], int]:
    """By (task, job): when it ended, -1 where it did not."""
    return {row[:2]: row[4] for row in finding.jobs}


def later(before: dict[tuple[int, ...], int], after: dict[tuple[int, ...], int]) -> list[Any]:
    """Jobs that ended before and end later now, or not at all."""
    return [job for job, end in before.items() if end >= 0 and not 0 <= after[job] <= end]


def early(draw: Draw, system: TaskSystem) -> Callable[[int, int], int]:
    """Execution times of jobs: some of C, some of less, each the same whenever asked for."""
    share = draw.one_of([0.3, 0.6, 0.9])

    @cache
    def execution(task: int, job: int) -> int:
        wcet = system.tasks[task].wcet
        return wcet if draw.chance(share) else draw.between(1, wcet)

    return execution


@pytest.mark.parametrize(
    "policy", [name for name, facts in sorted(policies().items()) if facts.predictable]
)
def test_no_job_of_a_predictable_policy_ends_later_when_jobs_need_less(policy: str) -> None:
    """What the answers for execution times up to C rest on; whatever the deadlines, also late."""
    draw = Draw(31, sorted(policies()).index(policy))
    kept = 0
    while kept < SYSTEMS:
        system, scheduler = draw.case(policy)
        full = reference.run(system, scheduler, until=90)
        if full.refused:
            continue
        kept += 1
        less = reference.run(system, scheduler, until=90, execution=early(draw, system))
        assert not later(finishes(full), finishes(less)), (system, scheduler)


@pytest.mark.parametrize("balance", ["none", "offline", "pull", "both"])
def test_loose_clusters_are_predictable_where_they_say_so(balance: str) -> None:
    draw = Draw(32, len(balance))
    for _ in range(SYSTEMS // 2):
        system, scheduler = draw.case("lc-edf")
        scheduler = evolve(scheduler, balance=balance)
        full = reference.run(system, scheduler, until=90)
        less = reference.run(system, scheduler, until=90, execution=early(draw, system))
        assert not later(finishes(full), finishes(less)), (system, scheduler)


def constrained(policy: str, seed: int, count: int) -> Iterator[tuple[Draw, TaskSystem]]:
    """Synchronous systems on two processors or four, D <= T, or D = T where the policy needs it."""
    draw = Draw(seed)
    for _ in range(count):
        system = draw.system(implicit=policies()[policy].implicit_only, offsets=False)
        tasks = tuple(
            evolve(task, deadline=min(task.deadline, task.period)) for task in system.tasks
        )
        yield draw, evolve(system, processors=draw.one_of((2, 4)), tasks=tasks)


@pytest.mark.parametrize("policy", sorted(policies()))
def test_thesis_agrees_with_one_hyperperiod_or_repetition(policy: str) -> None:
    """Also that static ties make the second hyper-period a copy of the first."""
    answers = set()
    for draw, system in constrained(policy, seed=1, count=150):
        scheduler = Scheduler(policy=policy, ties=draw.one_of(tie_rules()))
        exact = simulate(system, scheduler)
        thesis = simulate(system, scheduler, method="thesis")
        assert (thesis.schedulable, thesis.first_miss) == (exact.schedulable, exact.first_miss)
        assert exact.schedulable != "undecided"
        answers.add(exact.schedulable)
    assert answers == {"yes", "no"}


@pytest.mark.parametrize("policy", sorted(policies()))
def test_sporadic_yes_covers_every_periodic_pattern(policy: str) -> None:
    for draw, system in constrained(policy, seed=4, count=25):
        scheduler = Scheduler(policy=policy)
        sporadic = simulate(system, scheduler, model="sporadic", patterns=2, states=2000)
        assert simulate(system, scheduler).schedulable in (sporadic.schedulable, "yes")
        late = (evolve(task, offset=draw.between(0, task.period - 1)) for task in system.tasks)
        if sporadic.schedulable == "yes":
            moved = evolve(system, tasks=tuple(late))
            assert simulate(moved, scheduler, budget=20_000).schedulable != "no"
