"""Truth: issue 47, part 4: several graphs on shared processors, against all their schedules."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import seldom
from helpers.answers import Capture, answer_of
from oracles.ticks import Job, finish

from deadbeat.base.model.systems import Dag, TaskSystem, TimedTask
from deadbeat.cli.main import main
from deadbeat.sched import analyze

#: What explores all schedules of periodic tasks.
EXACT = {"dag-fp": "periodic-fp", "dag-edf": "periodic-edf", "dag-capacity": "periodic-edf"}


def drawn(draw: random.Random) -> TaskSystem:
    tasks = []
    for _ in range(draw.randint(1, 3)):
        period = draw.choice([4, 6, 8, 12])
        nodes = tuple(draw.randint(1, 2) for _ in range(draw.randint(1, 4)))
        ends = range(len(nodes))
        edges = tuple((a, b) for a in ends for b in ends[a + 1 :] if draw.random() < 0.4)
        due = period if draw.random() < 0.6 else draw.randint(period // 2, period)
        dag = Dag(nodes=nodes, edges=edges) if len(nodes) > 1 else None
        offset = draw.choice([0, 0, draw.randrange(period)])
        tasks.append(
            TimedTask(wcet=sum(nodes), period=period, deadline=due, offset=offset, dag=dag)
        )
    if not any(task.dag for task in tasks):
        return drawn(draw)
    return TaskSystem(processors=draw.randint(2, 3), tasks=tuple(tasks))


@pytest.mark.parametrize("seeds", [range(1500), *seldom((range(1500, 100_000),))])
def test_no_schedule_is_beyond_a_bound(seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        system = drawn(random.Random(seed))
        results = analyze(system, names=[*EXACT, *EXACT.values()], budget=200_000).results
        found = {each.facts.name: each for each in results}
        for test, exact in EXACT.items():
            mine, all_schedules = found[test], found[exact]
            if mine.answer != "accepted" or all_schedules.answer == "not applicable":
                continue
            assert all_schedules.answer == "accepted", (test, seed)
            if test != "dag-capacity":
                pairs = zip(mine.bounds, all_schedules.bounds, strict=True)
                assert all(bound >= longest for bound, longest in pairs), (test, seed)
                seen[f"{test} tight"] += mine.bounds == all_schedules.bounds
            seen[test] += 1
    assert all(seen[test] > len(seeds) / 10 for test in EXACT)
    assert seen["dag-fp tight"] and seen["dag-edf tight"]


def busy(draw: random.Random) -> TaskSystem:
    """Short periods, and a task that waits for them."""
    periods = [draw.choice([4, 5, 6]) for _ in range(draw.randint(2, 3))]
    tasks = []
    for period in [*periods, draw.choice([10, 12, 20, 30])]:
        nodes = tuple(draw.randint(1, 3 if period > 6 else 2) for _ in range(draw.randint(1, 3)))
        ends = range(len(nodes))
        edges = tuple((a, b) for a in ends for b in ends[a + 1 :] if draw.random() < 0.4)
        dag = Dag(nodes=nodes, edges=edges)
        tasks.append(TimedTask(wcet=sum(nodes), period=period, deadline=period, dag=dag))
    return TaskSystem(processors=2, tasks=tuple(tasks))


def released(system: TaskSystem, draw: random.Random, *, edf: bool) -> list[int]:
    """The worst response of each task where releases come as they may."""
    horizon, jobs, of = 40, list[Job](), list[tuple[int, int]]()
    for i, task in enumerate(system.tasks):
        arrival = draw.randrange(task.period)
        while arrival < horizon:
            first = len(jobs)
            assert task.dag is not None
            for n, cost in enumerate(task.dag.nodes):
                before = {first + a for a, b in task.dag.edges if b == n}
                rank = (arrival + task.deadline, i) if edf else (task.period, i)
                jobs.append((arrival, cost, (*rank, n), before))
                of.append((i, arrival))
            arrival += task.period + (draw.random() < 0.3) * draw.randrange(4)
    worst = [0] * len(system.tasks)
    for x, end in finish(jobs, system.processors).items():
        i, arrival = of[x]
        worst[i] = max(worst[i], end - arrival)
    return worst


@pytest.mark.parametrize("seeds", [range(400), *seldom((range(400, 20_000),))])
def test_no_pattern_of_releases_is_beyond_a_bound(seeds: range) -> None:
    met = 0
    for seed in seeds:
        draw = random.Random(seed)
        system = busy(draw)
        for result in analyze(system, names=["dag-fp", "dag-edf"]).results:
            if result.answer == "accepted":
                for _ in range(12):
                    worst = released(system, draw, edf=result.facts.name == "dag-edf")
                    pairs = zip(result.bounds, worst, strict=True)
                    assert all(bound >= seen for bound, seen in pairs), (seed, worst)
                    met += tuple(worst) == tuple(result.bounds)
    assert met or len(seeds) < 1000


def test_what_is_in_the_way_of_a_graph_is_counted(tmp_path: Path, capsys: Capture) -> None:
    """By hand: a forks, length 4, volume 6: alone 4 + 2 / 2. Its first job may be late, so two of
    its jobs are in the way of b: 6 + (6 + 6) / 2."""
    graph = {"nodes": [2, 2, 2], "edges": [[0, 1], [0, 2]]}
    tasks: list[dict[str, Any]] = [
        {"name": "a", "wcet": 6, "period": 10, "dag": graph},
        {"name": "b", "wcet": 6, "period": 20},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"processors": 2, "tasks": tasks}))
    assert main(["sched", "analyze", str(path), "--test", "dag-fp", "--json"]) == 0
    (result,) = answer_of(capsys.readouterr().out)["tests"]
    assert (result["answer"], result["bounds"]) == ("accepted", [5, 12])
