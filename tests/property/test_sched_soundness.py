"""Truth: simulation. No test accepts what a simulated schedule refutes, at any ties and offsets.

And no exact or necessary test refutes what releases from time 0 on prove schedulable: all of them
claim that those are a worst case.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from attrs import evolve
from helpers.sched import Draw
from numpy.typing import NDArray
from oracles.schedulability import TWINS, Question
from oracles.schedule.partition import ADMISSIONS, HEURISTICS, ORDERS

from deadbeat import sched
from deadbeat.model.systems import TaskSystem
from deadbeat.sched import Scheduler, TaskBatch
from deadbeat.sched.analysis import ANY_SCHEDULER, GIVEN_TIES, TEST_ANSWERS

#: Hyper-periods of at most 120: a simulation is short, and utilisations have many denominators.
PERIODS = np.array([2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30])
ACCEPTED = TEST_ANSWERS.index("accepted")
REFUTED = TEST_ANSWERS.index("refuted")
#: What each test must be shown to accept, of 1000 systems of a class it takes, to have been tested.
ACCEPTED_SHARE = 5


def random_batch(
    rng: np.random.Generator, count: int, deadlines: str, most_processors: int = 8
) -> TaskBatch:
    """Systems of 1 to 8 processors, up to 7 tasks more, utilisation 0.2 m to 1.05 m."""
    processors = rng.integers(1, most_processors + 1, count)
    tasks = processors + rng.integers(0, 8, count)
    starts = np.concatenate(([0], np.cumsum(tasks)))
    system = np.repeat(np.arange(count), tasks)
    periods = rng.choice(PERIODS, starts[-1])
    weights = rng.exponential(1.0, starts[-1])
    shares = weights / np.bincount(system, weights, count)[system]
    aim = rng.uniform(0.2, 1.05, count) * processors
    wcets = np.clip(np.rint(shares * aim[system] * periods), 1, periods).astype(np.int64)
    place = rng.random(starts[-1])
    ends = {
        "implicit": periods,
        "constrained": wcets + np.rint(place * (periods - wcets)),
        "arbitrary": np.maximum(wcets, np.rint((0.6 + 1.9 * place) * periods)),
    }
    rows = np.zeros((starts[-1], 9), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2] = wcets, periods, ends[deadlines]
    rows[:, 4] = rng.integers(0, 5, starts[-1])
    rows[:, 5] = -1
    return TaskBatch(
        tasks=rows, starts=starts.astype(np.int64), processors=processors.astype(np.int32)
    )


def with_offsets(batch: TaskBatch, rng: np.random.Generator) -> TaskBatch:
    rows = batch.tasks.copy()
    rows[:, 3] = rng.integers(0, rows[:, 1])
    return TaskBatch(tasks=rows, starts=batch.starts, processors=batch.processors)


def chosen(batch: TaskBatch, which: NDArray[np.bool_]) -> TaskBatch:
    """The systems of ``batch`` that ``which`` marks."""
    lengths = np.diff(batch.starts)
    return TaskBatch(
        tasks=batch.tasks[np.repeat(which, lengths)],
        starts=np.concatenate(([0], np.cumsum(lengths[which]))).astype(np.int64),
        processors=batch.processors[which],
    )


def names_about(policy: str) -> list[str]:
    """Tests of hard deadlines about ``policy``."""
    return [
        name
        for name, facts in sched.tests().items()
        if facts.kind != "bound" and facts.scheduler in (policy, ANY_SCHEDULER)
    ]


POLICIES = sorted({facts.scheduler for facts in sched.tests().values()} - {ANY_SCHEDULER})


def check(batch: TaskBatch, policy: str, ties: str, offsets: TaskBatch | None) -> NDArray[np.int64]:
    """Asserts that tests and simulation do not contradict each other; acceptances per test."""
    names = names_about(policy)
    options = {"priorities": "dm", "admission": "exact"}
    answers = sched.test_batch(batch, names, ties=ties, **options)
    judged = ((answers == ACCEPTED) | (answers == REFUTED)).any(axis=1)
    simulated = sched.simulate_batch(
        chosen(offsets or batch, judged),
        Scheduler(policy=policy, ties=ties, **options),
        model="periodic-offset" if offsets else "periodic-sync",
        budget=100_000,
    )
    no = np.zeros(len(batch), bool)
    yes = np.zeros(len(batch), bool)
    no[judged] = simulated["answer"] == 0
    yes[judged] = (simulated["answer"] == 1) & (simulated["proved"] == 1)
    for column, name in enumerate(names):
        wrong = (answers[:, column] == ACCEPTED) & no
        if offsets is None:
            wrong |= (answers[:, column] == REFUTED) & yes
        found = np.nonzero(wrong)[0]
        assert not len(found), (name, policy, ties, (offsets or batch).system(int(found[0])))
    return np.count_nonzero(answers == ACCEPTED, axis=0)


def cases(count: int, seed: int) -> Iterator[tuple[TaskBatch, np.random.Generator]]:
    """``count`` systems in all, a third of them on one processor."""
    rng = np.random.default_rng(seed)
    for deadlines in ("implicit", "constrained", "arbitrary"):
        yield random_batch(rng, count * 2 // 9, deadlines), rng
        yield random_batch(rng, count // 9, deadlines, most_processors=1), rng


@pytest.mark.parametrize("policy", POLICIES)
def test_no_test_accepts_what_simulation_refutes(policy: str) -> None:
    """A rule of ties per batch; all of them, and more systems, in the statistical test."""
    rules = sched.tie_rules()
    accepted = np.zeros(len(names_about(policy)), np.int64)
    for round_, (batch, rng) in enumerate(cases(5_000, seed=11)):
        accepted += check(batch, policy, rules[round_ % len(rules)], None)
        check(batch, policy, rules[(round_ + 1) % len(rules)], with_offsets(batch, rng))
    for name, count in zip(names_about(policy), accepted, strict=True):
        assert count >= ACCEPTED_SHARE or sched.tests()[name].kind == "necessary", name


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(10))
def test_no_test_accepts_what_simulation_refutes_in_a_million(seed: int) -> None:
    for policy in POLICIES:
        for batch, rng in cases(100_000, seed=100 + seed):
            facts = [sched.tests()[name] for name in names_about(policy)]
            fixed = any(fact.ties == GIVEN_TIES for fact in facts)
            for ties in sched.tie_rules()[:2] if fixed else sched.tie_rules():
                check(batch, policy, ties, None)
            check(batch, policy, "index", with_offsets(batch, rng))


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
            finding = TWINS[name](question)
            assert result.answer == finding.answer, (seed, name, question)
            if finding.bounds is not None:
                assert result.bounds == finding.bounds, (seed, name, question)
            seen[name, result.answer] = seen.get((name, result.answer), 0) + 1
    return seen


def test_every_test_has_a_twin() -> None:
    assert set(TWINS) == set(sched.tests())


def test_twins_agree() -> None:
    seen = compare(range(2000))
    for name, facts in sched.tests().items():
        positive = "refuted" if facts.kind == "necessary" else "accepted"
        negative = {"exact": "refuted"}.get(facts.kind, "not accepted")
        assert seen.get((name, positive), 0) >= 10, name
        assert seen.get((name, negative), 0) >= 10, name


@pytest.mark.statistical
def test_twins_agree_often() -> None:
    compare(range(2000, 100_000))
