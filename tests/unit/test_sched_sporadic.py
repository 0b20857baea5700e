"""The sporadic model, against an exploration without any pruning and hand-made patterns."""

from __future__ import annotations

import random
import re
from itertools import chain, combinations

import pytest
from attrs import evolve

from deadbeat.model.errors import UsageError
from deadbeat.sched import Costs, Scheduler, TaskSystem, TimedTask, simulate

State = tuple[tuple[int, int], ...]  # per task: remaining execution, time to the next release


def system(processors: int, *rows: tuple[int, int, int]) -> TaskSystem:
    """Tasks of (C, D, T)."""
    tasks = tuple(TimedTask(wcet=c, deadline=d, period=t) for c, d, t in rows)
    return TaskSystem(processors=processors, tasks=tasks)


# Research 4d: synchronous releases meet all deadlines, others do not.
O3 = system(2, (1, 1, 2), (1, 1, 3), (5, 6, 6))
O4 = system(2, (1, 2, 2), (1, 3, 3), (5, 6, 6))


def tick(known: TaskSystem, policy: str, state: State, released: set[int]) -> tuple[State, bool]:
    """The state a unit of time later, and whether a job missed; ties by index."""
    cells = [list(cell) for cell in state]
    for i in released:
        assert cells[i] == [0, 0], "not a legal release"
        cells[i] = [known.tasks[i].wcet, known.tasks[i].period]

    def due(i: int) -> int:
        return cells[i][1] - known.tasks[i].period + known.tasks[i].deadline

    def key(i: int) -> tuple[int, int]:
        return (due(i) if policy == "g-edf" else known.tasks[i].period, i)

    ready = sorted((i for i, cell in enumerate(cells) if cell[0]), key=key)
    for i in ready[: known.processors]:
        cells[i][0] -= 1
    for cell in cells:
        cell[1] = max(0, cell[1] - 1)
    missed = any(cell[0] and due(i) <= 0 for i, cell in enumerate(cells))
    return tuple((c, p) for c, p in cells), missed


def misses_somehow(known: TaskSystem, policy: str) -> bool:
    start: State = ((0, 0),) * len(known.tasks)
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        free = [i for i, cell in enumerate(state) if cell == (0, 0)]
        for subset in chain.from_iterable(combinations(free, k) for k in range(len(free) + 1)):
            following, missed = tick(known, policy, state, set(subset))
            if missed:
                return True
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return False


def replay(known: TaskSystem, policy: str, pattern: str) -> int:
    """The first miss of an explored pattern ("task 0 at 0 3, task 2 at 0")."""
    releases = {
        int(found[1]): set(map(int, found[2].split()))
        for found in re.finditer(r"task (\d+) at ([\d ]+)", pattern)
    }
    state: State = ((0, 0),) * len(known.tasks)
    for now in range(1000):
        state, missed = tick(known, policy, state, {i for i, at in releases.items() if now in at})
        if missed:
            return now + 1
    raise AssertionError("no miss")


@pytest.mark.parametrize("known", [O3, O4])
def test_synchronous_releases_are_not_the_worst(known: TaskSystem) -> None:
    assert simulate(known).schedulable == "yes"
    verdict = simulate(known, model="sporadic")
    assert (verdict.schedulable, verdict.proved) == ("no", True)
    assert verdict.proof == "exploration"
    assert verdict.reference == "Baker and Cirinei, OPODIS 2007"
    assert verdict.first_miss_task is not None
    assert verdict.first_miss == replay(known, "g-edf", verdict.pattern)


@pytest.mark.parametrize("policy", ["g-edf", "g-fp"])
def test_exploration_agrees_with_one_that_prunes_nothing(policy: str) -> None:
    draw = random.Random(5)
    wanted = {"yes": 12, "no": 12}
    while any(wanted.values()):
        rows = []
        for _ in range(draw.choice((3, 3, 4))):
            period = draw.randint(2, 5)
            wcet = draw.randint(1, period)
            rows.append((wcet, draw.randint(wcet, period), period))
        known = system(2, *rows)
        scheduler = Scheduler(policy=policy)
        if simulate(known, scheduler).schedulable != "yes":
            continue  # the synchronous pattern refutes it
        verdict = simulate(known, scheduler, model="sporadic", patterns=0)
        if not wanted[verdict.schedulable]:
            continue
        wanted[verdict.schedulable] -= 1
        assert verdict.schedulable == ("no" if misses_somehow(known, policy) else "yes")
        if verdict.schedulable == "no":
            assert verdict.first_miss == replay(known, policy, verdict.pattern)
        else:
            chance = simulate(known, scheduler, model="sporadic", states=0, patterns=8)
            assert chance.schedulable != "no"


def test_sufficient_test_is_named() -> None:
    verdict = simulate(system(2, (1, 10, 10), (1, 10, 10), (1, 10, 10)), model="sporadic")
    assert (verdict.schedulable, verdict.proved, verdict.proof) == ("yes", True, "gfb")
    assert "Goossens" in verdict.reference
    assert verdict.states == 0


@pytest.mark.parametrize("policy", ["p-edf", "p-fp", "g-edf", "g-fp"])
def test_one_processor_needs_no_exploration(policy: str) -> None:
    """U = 1 with harmonic periods: EDF and rate-monotonic priorities both schedule it."""
    verdict = simulate(
        system(1, (1, 2, 2), (1, 4, 4), (2, 8, 8)), Scheduler(policy=policy), model="sporadic"
    )
    assert (verdict.schedulable, verdict.proof) == ("yes", "one-processor")


def test_miss_with_synchronous_releases_is_a_miss() -> None:
    verdict = simulate(system(1, (1, 1, 2), (1, 1, 2)), model="sporadic")
    assert (verdict.schedulable, verdict.pattern) == ("no", "synchronous periodic")
    assert verdict.first_miss == 1


def test_offsets_of_the_file_mean_nothing_to_the_sporadic_model() -> None:
    tasks = (
        TimedTask(wcet=1, deadline=1, period=2),
        TimedTask(wcet=1, deadline=1, period=2, offset=1),
    )
    known = TaskSystem(processors=1, tasks=tasks)
    assert simulate(known).schedulable == "yes"
    assert simulate(known, model="sporadic").schedulable == "no"


def test_random_pattern_that_misses_can_be_repeated_by_its_seed() -> None:
    found = simulate(O4, model="sporadic", states=0)
    assert found.schedulable == "no"
    seed = int(re.search(r"seed (\d+)", found.pattern)[1])  # type: ignore[index]
    again = simulate(O4, model="sporadic", states=0, patterns=1, seed=seed)
    assert (again.pattern, again.first_miss) == (found.pattern, found.first_miss)


def test_random_offsets_that_miss_do_so_as_a_periodic_system() -> None:
    known = system(2, (3, 3, 3), (1, 2, 5), (3, 4, 6))
    assert simulate(known).schedulable == "yes"
    found = simulate(known, model="sporadic", states=0)
    assert found.pattern.startswith("periodic from offsets")
    offsets = map(int, found.pattern.split("offsets ")[1].split(" (")[0].split())
    tasks = tuple(evolve(t, offset=o) for t, o in zip(known.tasks, offsets, strict=True))
    periodic = simulate(evolve(known, tasks=tasks))
    assert (periodic.schedulable, periodic.first_miss) == ("no", found.first_miss)


def test_pd2_schedules_whatever_the_processors_can_carry() -> None:
    """Srinivasan and Anderson, STOC 2002: optimal up to U = m; no random pattern refutes it."""
    full = system(2, (2, 3, 3), (2, 3, 3), (2, 3, 3))
    verdict = simulate(full, Scheduler(policy="pd2"), model="sporadic")
    assert (verdict.schedulable, verdict.proof) == ("yes", "utilisation")
    assert simulate(full, model="sporadic").schedulable == "no"


def test_policy_without_a_procedure_is_undecided() -> None:
    verdict = simulate(system(2, (1, 4, 4)), Scheduler(policy="g-np-fp"), model="sporadic")
    assert (verdict.schedulable, verdict.proved) == ("undecided", False)


def test_without_budget_it_is_undecided() -> None:
    verdict = simulate(O4, model="sporadic", states=3, patterns=0)
    assert (verdict.schedulable, verdict.proved) == ("undecided", False)
    assert "budget of 3 states" in verdict.because


def test_coarse_grid_refutes_but_does_not_accept() -> None:
    """Parameters in hundreds: releases between the hundreds are legal as well."""

    def hundreds(known: TaskSystem) -> TaskSystem:
        rows = ((t.wcet * 100, t.deadline * 100, t.period * 100) for t in known.tasks)
        return system(known.processors, *rows)

    refuted = simulate(hundreds(O4), model="sporadic", states=1000, patterns=0)
    assert (refuted.schedulable, refuted.first_miss) == ("no", 600)
    fine = system(2, (3, 3, 3), (2, 4, 6), (2, 3, 3))  # U = m: beyond every sufficient test
    assert simulate(fine, model="sporadic", states=1000, patterns=0).proof == "exploration"
    open_ = simulate(hundreds(fine), model="sporadic", states=1000, patterns=0)
    assert open_.schedulable == "undecided"


def test_costs_are_never_proved_sporadic() -> None:
    light = system(2, (1, 10, 10))
    verdict = simulate(light, Scheduler(costs=Costs(migration=1)), model="sporadic")
    assert (verdict.schedulable, verdict.proved) == ("undecided", False)


def test_overload_is_no() -> None:
    verdict = simulate(system(1, (1, 10**6, 2), (501, 10**6, 1000)), model="sporadic", budget=10)
    assert (verdict.schedulable, verdict.proof) == ("no", "overload")


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"states": -1}, {"patterns": -1}])
def test_sporadic_values_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        simulate(O4, model="sporadic", **arguments)  # type: ignore[arg-type]


# Found by exploring at halves what was accepted at integers.
@pytest.mark.parametrize(
    ("known", "scheduler", "proof"),
    [
        (
            system(2, (1, 1, 2), (1, 2, 2), (1, 2, 2), (1, 2, 3)),
            Scheduler(policy="g-edf", ties="reverse"),
            "bar",
        ),
        (
            system(2, (1, 1, 2), (1, 2, 2), (1, 2, 2), (1, 2, 3)),
            Scheduler(policy="g-fp", ties="reverse", priorities="dm"),
            "rta-fp-guan",
        ),
        (
            system(2, (1, 3, 3), (1, 2, 2), (2, 2, 2)),
            Scheduler(policy="g-edf", ties="utilisation-asc"),
            "exploration",
        ),
    ],
)
def test_releases_between_integers_can_miss_and_the_verdict_leaves_them_out(
    known: TaskSystem, scheduler: Scheduler, proof: str
) -> None:
    coarse = simulate(known, scheduler, model="sporadic")
    assert (coarse.schedulable, coarse.proof) == ("yes", proof)
    assert "releases at integer instants" in coarse.because
    halves = TaskSystem(
        processors=known.processors,
        tasks=tuple(
            TimedTask(wcet=2 * task.wcet, deadline=2 * task.deadline, period=2 * task.period)
            for task in known.tasks
        ),
    )
    fine = simulate(halves, scheduler, model="sporadic", patterns=0)
    assert (fine.schedulable, fine.proof) == ("no", "exploration")


def test_a_test_for_any_instants_is_named_first() -> None:
    light = system(2, (1, 20, 20), (1, 30, 30), (1, 50, 50))
    assert "integer instants" not in simulate(light, model="sporadic").because
