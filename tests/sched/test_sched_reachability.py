"""Truth: every schedule of tiny periodic systems, tick by tick, and tools of the authors."""

import json
from random import Random

import numpy as np
import pytest
from attrs import evolve
from helpers import seldom
from helpers.answers import answer_of
from oracles.ticks import schedules
from oracles.worked import worked

from deadbeat import sched
from deadbeat.base.model.systems import Dag, TaskSystem, TimedTask
from deadbeat.cli.main import main
from deadbeat.sched import simulate
from deadbeat.sched.analysis import TestResult


def of(processors: int, *tasks: TimedTask) -> TaskSystem:
    return TaskSystem(processors=processors, tasks=tasks)


#: Where what a job's start says of the release of others was lost, and of jitter cut in two; and
#: where a node ends as another starts, on another processor.
FOUND = (
    of(
        2,
        TimedTask(wcet=5, period=8, deadline=8, dag=Dag(nodes=(2, 1, 2), edges=((0, 1), (1, 2)))),
        TimedTask(
            wcet=5,
            period=8,
            deadline=8,
            dag=Dag(nodes=(1, 2, 1, 1), edges=((0, 1), (1, 3), (2, 3))),
        ),
        TimedTask(wcet=4, period=8, deadline=8, dag=Dag(nodes=(1, 1, 2), edges=((0, 1),))),
        TimedTask(wcet=2, period=8, deadline=8),
    ),
    of(
        3,
        TimedTask(wcet=2, period=4, deadline=4, jitter=1),
        TimedTask(wcet=2, period=4, deadline=4, jitter=3, dag=Dag(nodes=(1, 1))),
        TimedTask(
            wcet=6, period=4, deadline=4, dag=Dag(nodes=(2, 1, 2, 1), edges=((1, 2), (1, 3)))
        ),
    ),
    of(
        2,
        TimedTask(wcet=2, period=3, deadline=3, jitter=2),
        TimedTask(wcet=1, period=3, deadline=2),
    ),
)
TESTS = ("np-periodic-fp", "np-periodic-edf", "periodic-fp", "periodic-edf")


def drawn(rng: Random, *, preemptive: bool) -> TaskSystem:
    """Hyper-periods of at most 10; graphs in a third of the systems."""
    graphs, tasks = rng.random() < 0.33, []
    periods = rng.choice([(4, 8), (3, 6), (6,), (5, 10)])
    for i in range(rng.randint(2, 4)):
        period = rng.choice(periods)
        wcet, dag = rng.randint(1, 3), None
        if graphs and rng.random() < 0.6:
            nodes = tuple(rng.randint(1, 2) for _ in range(rng.randint(2, 4)))
            pairs = [(a, b) for b in range(len(nodes)) for a in range(b) if rng.random() < 0.4]
            wcet, dag = sum(nodes), Dag(nodes=nodes, edges=tuple(pairs))
        task = TimedTask(
            wcet=wcet,
            period=period,
            deadline=rng.choice((period, rng.randint(min(wcet, period), period))),
            priority=-i,
            jitter=rng.choice((0, rng.randint(0, 3))),
            bcet=0 if graphs and preemptive else rng.choice((0, rng.randint(1, wcet))),
            dag=dag,
        )
        tasks.append(task)
    if rng.random() < 0.3:  # due early: else no instant is without a job that is due
        tasks = [evolve(it, offset=rng.randint(0, 3), deadline=2, jitter=0) for it in tasks]
    return TaskSystem(processors=rng.randint(1, 3), tasks=tuple(tasks))


def asked(system: TaskSystem, test: str, budget: int = 50_000_000) -> TestResult:
    [found] = sched.analyze(system, names=[test], priorities="given", budget=budget).results
    return found


@pytest.mark.parametrize("sets", [25, *seldom((2500,))])
@pytest.mark.parametrize("test", TESTS)
def test_every_schedule_of_tiny_systems(test, sets):
    """Answers and bounds are the truth; with little budget no bound is below it."""
    rng, seen, left, found_before = Random(11), set(), sets, list(FOUND)
    preemptive = not test.startswith("np")
    while left:
        system = found_before.pop() if found_before else drawn(rng, preemptive=preemptive)
        every = list(schedules(system, edf="edf" in test, preemptive=preemptive, most=2000))
        found = asked(system, test)
        if not every or found.answer == "not applicable":
            continue
        left -= 1
        worst = tuple(np.max(every, axis=0).tolist())
        fits = all(a <= task.deadline for a, task in zip(worst, system.tasks, strict=True))
        vague = any(task.dag and task.bcet for task in system.tasks)
        if found.answer == "undecided":
            assert vague, system
            continue
        assert found.answer == ("accepted" if fits else "refuted"), system
        if fits and vague:
            assert all(a >= b for a, b in zip(found.bounds, worst, strict=True)), system
        else:
            assert found.bounds == (worst if fits else (None,) * len(worst)), system
        seen.add((system.processors, fits))
        for budget in (300, 1000, 3000, 10_000):
            little = asked(system, test, budget)
            assert little.answer in (found.answer, "undecided"), (budget, system)
            if little.answer == "accepted":
                pairs = zip(little.bounds, worst, strict=True)
                assert all(bound and bound >= time for bound, time in pairs), (budget, system)
    assert len(seen) == 6


@pytest.mark.parametrize("kind", ["np-periodic-global", "periodic-global"])
def test_tools_of_the_authors(kind, capsys, tmp_path):
    for example in worked(kind):
        expected, system = example["expected"], dict(example["system"])
        test = kind.removesuffix("global") + system.pop("scheduler")
        file = tmp_path / "system.json"
        file.write_text(json.dumps(system))
        main(("sched", "analyze", str(file), "--test", test, "--priorities", "given", "--json"))
        [found] = answer_of(capsys.readouterr().out)["tests"]
        assert found["answer"] == ("accepted" if expected["accepted"] else "refuted")
        truth = expected.get("every_schedule", expected["response"])
        assert found["bounds"] == (truth or [None] * len(system["tasks"])), example["id"]


def test_jitter_of_many_instants_is_bounded_in_segments():
    """In nanoseconds: no instant is tried by itself. Bounds are those in a unit of 1000."""
    rng, decided = Random(3), 0
    for _ in range(12):
        tasks = [
            TimedTask(
                wcet=rng.randint(1, 5),
                period=(period := rng.choice((20, 40))),
                deadline=period,
                priority=-i,
                jitter=rng.choice((0, 3)),
            )
            for i in range(4)
        ]
        coarse = TaskSystem(processors=2, tasks=tuple(tasks))
        names = ("wcet", "period", "deadline", "jitter")
        grown = [evolve(it, **{n: 1000 * getattr(it, n) for n in names}) for it in tasks]
        for test in ("periodic-fp", "np-periodic-fp"):
            small, large = asked(coarse, test), asked(evolve(coarse, tasks=tuple(grown)), test)
            assert {small.answer, large.answer} == {"accepted"}
            pairs = list(zip(small.bounds, large.bounds, strict=True))
            # finer releases: a unit of jitter and one of each job more, at most, by few segments
            assert all(a and b and 1000 * a <= b <= 1000 * (a + 8) for a, b in pairs)
            decided += 1
    assert decided == 24


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([{"wcet": 1, "period": 4, "offset": 1}, {"wcet": 1, "period": 4}], "always due"),
        ([{"wcet": 1, "period": 4, "deadline": 5}], "a deadline is longer than a period"),
        (
            [{"wcet": 65, "period": 99, "dag": {"nodes": [1] * 65}}],
            "a graph has more than 64 nodes",
        ),
        ([{"wcet": 2, "bcet": 1, "period": 9, "dag": {"nodes": [1, 1]}}], "ignores bcet"),
    ],
)
def test_what_is_not_explored_is_said(tasks, says, capsys, tmp_path):
    file = tmp_path / "system.json"
    file.write_text(json.dumps({"processors": 2, "tasks": tasks}))
    main(("sched", "analyze", str(file), "--test", "periodic-fp", "--json"))
    [found] = answer_of(capsys.readouterr().out)["tests"]
    assert (found["answer"], says in found["reason"]) == ("not applicable", True)


@pytest.mark.parametrize("test", TESTS)
def test_what_begins_after_a_hyper_period_is_explored(test, capsys, tmp_path):
    """By hand: both have jobs at 5, the second one's waits for 1 and is due after 1."""
    tasks = [{"wcet": 1, "period": 4, "deadline": 1, "offset": at} for at in (1, 5)]
    file = tmp_path / "system.json"
    file.write_text(json.dumps({"processors": 1, "tasks": tasks}))
    main(("sched", "analyze", str(file), "--test", test, "--priorities", "given", "--json"))
    [found] = answer_of(capsys.readouterr().out)["tests"]
    assert found["answer"] == "refuted"


# --- sporadic: what other tests are measured by ---------------------------------------------------


def test_exact_sporadic_tests_say_what_simulation_proves():
    rng, seen = Random(5), set()
    for _ in range(60):
        rows = []
        for i in range(rng.randint(2, 4)):
            period = rng.randint(1, 6)
            wcet = rng.randint(1, period)
            due = rng.randint(wcet, period)
            rows.append(TimedTask(wcet=wcet, period=period, deadline=due, priority=-i))
        system = TaskSystem(processors=2, tasks=tuple(rows))
        for word in ("edf", "fp"):
            scheduler = sched.Scheduler(policy=f"g-{word}", priorities="given")
            truth = simulate(system, scheduler, model="sporadic", patterns=0).schedulable
            found = asked(system, f"sporadic-{word}").answer
            assert found == {"yes": "accepted", "no": "refuted"}[truth], system
            seen.add((word, found))
            # which raises where two tests contradict each other
            names = [name for name, it in sched.tests().items() if it.scheduler == f"g-{word}"]
            assert sched.analyze(system, names=names, priorities="given").results
    assert len(seen) == 4


def test_a_study_says_what_sufficient_tests_accept_of_the_schedulable(capsys, tmp_path):
    """Share of rta-edf among what sporadic-edf accepts; a test of another scheduler has none."""
    words = "--processors 2 --tasks 2,4 --utilisation 0.6,0.9 --sets 40 --periods uniform"
    words += " --set generator.period_low=2 --set generator.period_high=6"
    words += " --set generator.tolerance=0.3 --test sporadic-edf,rta-edf,gfb,rta-fp --no-figures"
    main(("sched", "study", *words.split(), "--runs", str(tmp_path), "--name", "small", "--json"))
    answers = {row["label"]: row for row in answer_of(capsys.readouterr().out)["answers"]}
    exact = answers["sporadic-edf"]["schedulable"]
    for name in ("rta-edf", "gfb"):
        row = answers[name]
        assert row["share_of_schedulable"] == row["schedulable"] / exact
        assert row["low_of_schedulable"] < row["share_of_schedulable"] < 1
    assert not any("share_of_schedulable" in answers[name] for name in ("rta-fp", "sporadic-edf"))
    header, *rows = (tmp_path / "small" / "cells.csv").read_text().splitlines()
    column = header.split(",").index("share_of_schedulable")
    shares = {row.split(",")[column] for row in rows if ",rta-edf," in row}
    assert "1" in shares
    assert len(shares) > 1
