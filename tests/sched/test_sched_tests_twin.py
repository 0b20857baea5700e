"""Truth: the slow twins of the schedulability tests, in exact fractions."""

import pytest
from attrs import evolve
from helpers import often
from helpers.sched import Draw
from oracles import rate_monotonic  # noqa: F401  registers its twins
from oracles.schedulability import TWINS, Question
from oracles.schedule.partition import ADMISSIONS, HEURISTICS, ORDERS

from deadbeat import sched
from deadbeat.base.model.systems import TRIGGERED, TaskSystem
from deadbeat.sched.analysis import ASKED_ONLY


def drawn(seed: int) -> Question:
    """A small system of any class of deadlines, and options."""
    draw = Draw(seed)
    system = draw.system(implicit=draw.chance(0.3), offsets=False)
    if draw.chance(0.3):  # exact tests of one processor
        system = TaskSystem(processors=1, tasks=system.tasks[:3])
    if draw.chance(0.1):  # what no test may take for granted
        system = evolve(
            system,
            tasks=tuple(evolve(task, wcet=task.wcet + draw.between(0, 4)) for task in system.tasks),
        )
    if draw.chance(0.3):
        system = draw.with_homes(system, system.processors)
    return Question(
        system=system,
        ties=draw.one_of(sched.tie_rules()),
        priorities=draw.one_of(("rm", "dm", "given")),
        partition=draw.one_of(HEURISTICS),
        order=draw.one_of(tuple(ORDERS)),
        admission=draw.one_of(ADMISSIONS),
        blocking=draw.between(0, 2) if draw.chance(0.3) else 0,
    )


def compare(seeds: range) -> dict[tuple[str, str], int]:
    """Asserts that core and twins agree on every test; how often each answer was given."""
    seen: dict[tuple[str, str], int] = {}
    for seed in seeds:
        question = drawn(seed)
        analysis = sched.analyze(
            question.system,
            ties=question.ties,
            priorities=question.priorities,
            partition=question.partition,
            order=question.order,
            admission=question.admission,
            blocking=question.blocking,
        )
        for result in analysis.results:
            name = result.facts.name
            if name not in TWINS:
                continue
            finding = TWINS[name](question)
            assert result.answer == finding.answer, (seed, name, question)
            if finding.bounds is not None:
                assert result.bounds == finding.bounds, (seed, name, question)
            seen[name, result.answer] = seen.get((name, result.answer), 0) + 1
    return seen


def test_every_test_has_a_twin() -> None:
    """Those of locks and the like have worked examples (test_lock_oracles.py), those that explore
    all states all schedules (test_sched_reachability.py)."""
    plain = {
        name
        for name, facts in sched.tests().items()
        if {*facts.models} <= {"affinity sets", TRIGGERED} and facts.cost < ASKED_ONLY
    }
    assert plain | {"uni-rta", "qpa", "necessary"} == set(TWINS)


@pytest.mark.parametrize("seeds", [range(300), *often((range(300, 100_000),))])
def test_twins_agree(seeds: range) -> None:
    seen = compare(seeds)
    for name, facts in sched.tests().items():
        if name not in TWINS:
            continue
        positive = "refuted" if facts.kind == "necessary" else "accepted"
        negative = {"exact": "refuted"}.get(facts.kind, "not accepted")
        assert seen.get((name, positive), 0) >= 10, name
        assert seen.get((name, negative), 0) >= 10, name
