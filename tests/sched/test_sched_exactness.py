"""Verdicts of random small systems: the procedures agree wherever several of them apply."""

import random
from collections.abc import Iterator

import pytest
from attrs import evolve

from deadbeat.sched import Scheduler, TaskSystem, TimedTask, policies, simulate, tie_rules

PERIODS = (2, 3, 4, 5, 6, 8, 10, 12)


def constrained_systems(seed: int, count: int) -> Iterator[TaskSystem]:
    """Synchronous, D <= T, utilisation between m/2 and m plus a little, two processors or four."""
    draw = random.Random(seed)
    while count > 0:
        processors = draw.choice((2, 4))
        tasks = []
        for _ in range(draw.randint(processors, processors + 4)):
            period = draw.choice(PERIODS)
            wcet = draw.randint(1, period)
            deadline = draw.choice((period, draw.randint(wcet, period)))
            tasks.append(TimedTask(wcet=wcet, period=period, deadline=deadline))
        system = TaskSystem(processors=processors, tasks=tuple(tasks))
        if processors / 2 <= system.utilisation <= processors * 1.1:
            count -= 1
            yield system


def applicable(policy: str, system: TaskSystem) -> TaskSystem:
    """``system`` as the policy takes it."""
    if not policies()[policy].implicit_only:
        return system
    return evolve(system, tasks=tuple(evolve(t, deadline=t.period) for t in system.tasks))


@pytest.mark.parametrize("policy", sorted(policies()))
def test_thesis_agrees_with_one_hyperperiod_or_repetition(policy: str) -> None:
    """Also that static ties make the second hyper-period a copy of the first."""
    answers = set()
    for number, drawn in enumerate(constrained_systems(seed=1, count=150)):
        system = applicable(policy, drawn)
        scheduler = Scheduler(policy=policy, ties=tie_rules()[number % len(tie_rules())])
        exact = simulate(system, scheduler)
        thesis = simulate(system, scheduler, method="thesis")
        assert (thesis.schedulable, thesis.first_miss) == (exact.schedulable, exact.first_miss)
        assert exact.schedulable != "undecided"
        answers.add(exact.schedulable)
    assert "yes" in answers


@pytest.mark.parametrize("policy", sorted(policies()))
def test_one_hyperperiod_agrees_with_repetition_after_a_common_offset(policy: str) -> None:
    for number, drawn in enumerate(constrained_systems(seed=2, count=100)):
        system = applicable(policy, drawn)
        scheduler = Scheduler(policy=policy, ties=tie_rules()[number % len(tie_rules())])
        shift = (1, 7, 1000)[number % 3]
        late = evolve(system, tasks=tuple(evolve(t, offset=shift) for t in system.tasks))
        first, later = simulate(system, scheduler), simulate(late, scheduler)
        assert later.schedulable == first.schedulable
        if first.first_miss is not None:
            assert later.first_miss == first.first_miss + shift


@pytest.mark.parametrize("policy", sorted(policies()))
def test_unit_of_time_changes_nothing(policy: str) -> None:
    for drawn in constrained_systems(seed=3, count=50):
        system = applicable(policy, drawn)
        factor = 999_983
        large = evolve(
            system,
            tasks=tuple(
                evolve(
                    t, wcet=t.wcet * factor, period=t.period * factor, deadline=t.deadline * factor
                )
                for t in system.tasks
            ),
        )
        small, scaled = (simulate(s, Scheduler(policy=policy)) for s in (system, large))
        assert scaled.schedulable == small.schedulable
        assert scaled.first_miss == (
            None if small.first_miss is None else small.first_miss * factor
        )
        assert scaled.events == small.events


@pytest.mark.parametrize("policy", sorted(policies()))
def test_sporadic_yes_covers_every_periodic_pattern(policy: str) -> None:
    draw = random.Random(4)
    for drawn in constrained_systems(seed=4, count=25):
        system = applicable(policy, drawn)
        scheduler = Scheduler(policy=policy)
        sporadic = simulate(system, scheduler, model="sporadic", patterns=2, states=2000)
        assert simulate(system, scheduler).schedulable in (sporadic.schedulable, "yes")
        late = evolve(
            system, tasks=tuple(evolve(t, offset=draw.randrange(t.period)) for t in system.tasks)
        )
        if sporadic.schedulable == "yes":
            assert simulate(late, scheduler, budget=20_000).schedulable != "no"
