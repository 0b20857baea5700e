"""Truth: schedules by events, with releases at random offsets and late within their jitter, and
jobs shorter than C. No age and no reaction passes its bound, and the bounds are near."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from random import Random
from statistics import median

import numpy as np
import pytest
from attrs import evolve
from helpers import seldom
from numpy.typing import NDArray

from deadbeat import sched
from deadbeat.base.model.systems import Chain, TaskSystem, TimedTask
from deadbeat.sched import chains as under_attack
from deadbeat.sched.answer import answer_of
from deadbeat.sched.chain_results import ChainResult, chain_results
from deadbeat.sched.chains import ChainBounds, chain_times

PERIODS = (5, 8, 10, 12, 15, 20, 25, 30, 40)
KINDS = ("sampled", "late", "triggered", "edf")
UNTIL = 400


Coming = list[tuple[int, int, int, int]]


def schedule(
    system: TaskSystem, rng: Random, *, edf: bool = False, coming: Coming | None = None
) -> NDArray[np.int64]:
    """Rows of JOB_FIELDS, by priority or by deadline on each processor. ``coming``: jobs as they
    are released, with task, number and arrival; None: any."""
    tasks, triggers = system.tasks, system.triggers
    late, short = rng.choice((0, 0, 1, 2)), rng.random() < 0.25 and coming is None
    coming = coming or [
        (at + (0, rng.randint(0, task.jitter), rng.choice((0, task.jitter)))[late], i, k, at)
        for i, task in enumerate(tasks)
        if i not in triggers
        for k, at in enumerate(range(task.offset, UNTIL, task.period))
    ]
    heapify(coming)
    ready: list[dict[tuple[int, int, int], list[int]]] = [{} for _ in range(system.processors)]
    now, rows = 0, list[list[int]]()
    while coming or any(ready):
        running = [(queue, min(queue)) for queue in ready if queue]
        ends = [now + queue[key][2] for queue, key in running]
        then = min([*ends, *(at for at, *_ in coming[:1])])
        for queue, key in running:
            job = queue[key]
            job[1] = now if job[1] < 0 and then > now else job[1]
            job[2] -= then - now
            if job[2] == 0:
                (_, i, k), (arrival, start, _) = key, queue.pop(key)
                rows.append([i, k, arrival, start, then, arrival + tasks[i].deadline])
                for to in (to for to, before in triggers.items() if before == i):
                    heappush(coming, (then, to, k, arrival))
        now = then
        while coming and coming[0][0] <= now:
            _, i, k, arrival = heappop(coming)
            rank = arrival + tasks[i].deadline if edf else -tasks[i].priority
            cost = rng.randint(1, tasks[i].wcet) if short else tasks[i].wcet
            ready[tasks[i].home or 0][rank, i, k] = [arrival, -1, cost]
    return np.array(rows, dtype=np.int64).reshape(-1, 6)


def drawn(rng: Random, kind: str) -> TaskSystem:
    processors = 1 if kind in ("late", "edf") else rng.choice((1, 2))
    tasks, releases = list[TimedTask](), dict[int, int]()
    count = rng.randint(2, 4) * processors
    for i, priority in enumerate(rng.sample(range(count), count)):
        period, late = rng.choice(PERIODS), 0
        if kind == "triggered" and i and rng.random() < 0.5:
            releases[i] = rng.randrange(i)
            period = tasks[releases[i]].period
        elif kind in ("late", "triggered") and rng.random() < 0.5:
            late = rng.randint(0, period // 2)
        late *= processors == 1 or kind == "triggered"
        due = rng.randint(1, 3) * period if kind == "triggered" else period
        wcet = rng.randint(1, max(1, period // 3))
        task = TimedTask(wcet=wcet, period=period, deadline=due + late, jitter=late)
        first = 0 if i in releases else rng.choice((0, rng.randrange(period)))
        home = rng.randrange(processors)
        tasks.append(evolve(task, priority=priority, home=home, offset=first))
    chains = []
    for _ in range(5):
        places = [rng.randrange(count)]
        while len(places) < 2 or (len(places) < count and rng.random() < 0.6):
            free = [i for i in range(count) if i not in places]
            after = [i for i in free if releases.get(i) == places[-1]]
            places.append(rng.choice(after if after and rng.random() < 0.7 else free))
        pairs = pairwise(places)
        links = ["triggered" if releases.get(b) == a else "sampled" for a, b in pairs]
        chains.append(Chain(tasks=tuple(places), links=tuple(links)))
    return TaskSystem(processors=processors, tasks=tuple(tasks), chains=tuple(chains))


def bounded(rng: Random, kind: str) -> tuple[TaskSystem, list[ChainResult]]:
    """A system that is proved schedulable, and what is known of its chains."""
    while True:
        system = drawn(rng, kind)
        name = "edf-response" if kind == "edf" else "p-fp" if system.processors > 1 else "uni-rta"
        found = chain_results(sched.analyze(system, names=[name], priorities="given"))
        if not any(each.reason for each in found):
            return system, found


def numbers(bounds: ChainBounds | None) -> list[int]:
    assert bounds
    return [bounds.age, bounds.reaction, bounds.from_event]


def passed(seen: list[int], bounds: ChainBounds | None) -> bool:
    return any(a > b for a, b in zip(seen, numbers(bounds), strict=True))


def attack(rng: Random, kind: str, chains: int, patterns: int = 4) -> tuple[int, list[list[float]]]:
    """How many chains pass a bound, and bounds over worst seen of each."""
    above, ratios = 0, list[list[float]]()
    while len(ratios) < chains:
        system, found = bounded(rng, kind)
        worst = [[0, 0, 0] for _ in found]
        over = [False for _ in found]
        for pattern in range(patterns):
            tasks = [evolve(t, offset=rng.randrange(t.period)) for t in system.tasks]
            moved = evolve(system, tasks=tuple(tasks)) if pattern else system
            jobs = schedule(moved, rng, edf=kind == "edf")
            for place, each in enumerate(found):
                times = chain_times(each.chain.tasks, jobs)
                every = (times.ages, times.reactions, times.from_events)
                seen = [int(max(values, default=0)) for values in every]
                over[place] |= passed(seen, each.bounds)
                over[place] |= not pattern and passed(seen, each.at_offsets)
                worst[place] = [*map(max, worst[place], seen)]
        above += sum(over)
        ratios += [
            [most / max(1, least) for most, least in zip(numbers(each.bounds), seen, strict=True)]
            for each, seen in zip(found, worst, strict=True)
        ]
    return above, ratios


@pytest.mark.parametrize("chains", [250, *seldom((25_000,))])
@pytest.mark.parametrize("kind", KINDS)
def test_no_age_and_no_reaction_passes_its_bound(kind, chains):
    above, ratios = attack(Random(7), kind, chains)
    medians = [median(each) for each in zip(*ratios, strict=True)]
    print(f"{kind}: {len(ratios)} chains, medians of age, reaction, from event: {medians}")
    assert (above, max(medians) <= 1.5) == (0, True)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_wait", lambda of: lambda run: of(run) - 2 * (run.response > 2)),
        ("_wait", lambda _: lambda run: run.jitter),
        ("_runs", lambda of: lambda stages: of([evolve(each, jitter=0) for each in stages])),
    ],
)
def test_what_bounds_are_made_of_is_needed(name: str, change: Callable, monkeypatch):
    monkeypatch.setattr(under_attack, name, change(getattr(under_attack, name)))
    assert sum(attack(Random(5), kind, 150)[0] for kind in KINDS) > 0


@pytest.mark.parametrize("systems", [40, *seldom((2000,))])
def test_the_simulator_releases_what_a_job_triggers_when_it_ends(systems):
    rng, seen = Random(11), 0
    for _ in range(systems):
        system = drawn(rng, "triggered")
        system = evolve(system, tasks=tuple(evolve(t, jitter=0) for t in system.tasks))
        verdict = sched.simulate(system, sched.Scheduler(policy="p-fp", priorities="given"))
        if system.triggers:
            seen += 1
            own = verdict.jobs[~np.isin(verdict.jobs[:, 0], list(system.triggers))]
            coming = [(at, i, k, at) for i, k, at in own[:, :3].tolist()]
            assert sorted(schedule(system, rng, coming=coming).tolist()) == sorted(
                verdict.jobs.tolist()
            )
    assert seen > systems / 4


@pytest.mark.parametrize("systems", [12, *seldom((400,))])
@pytest.mark.parametrize(
    ("policy", "test"), [("g-edf", "tardiness"), ("g-edf", "rta-edf"), ("g-fp", "rta-fp")]
)
def test_no_chain_passes_the_bounds_of_global_schedulers(policy, test, systems):
    rng, left = Random(5), systems
    while left:
        system = evolve(drawn(rng, "sampled"), processors=2)
        if test == "tardiness":
            system = evolve(system, tasks=tuple(evolve(t, offset=0) for t in system.tasks) * 2)
        found = chain_results(sched.analyze(system, names=[test], priorities="given"))
        if any(each.reason for each in found):
            continue
        left -= 1
        how = sched.Scheduler(policy=policy, priorities="given")
        verdict = sched.simulate(system, how, horizon=1000, run_on=True)
        for each, own in zip(found, answer_of(system, verdict, run_on=True)["chains"], strict=True):
            seen = [own[key] or 0 for key in ("age_max", "reaction_max", "from_event_max")]
            assert not passed(seen, each.bounds) and not passed(seen, each.at_offsets), each


@pytest.mark.parametrize("systems", [12, *seldom((400,))])
def test_what_the_simulator_measures_of_triggered_links_keeps_to_bounds(systems):
    rng = Random(3)
    for _ in range(systems):
        system, found = bounded(rng, "triggered")
        verdict = sched.simulate(system, sched.Scheduler(policy="p-fp", priorities="given"))
        assert verdict.schedulable != "no"
        figures = answer_of(system, verdict)["chains"]
        for each, own in zip(found, figures, strict=True):
            seen = [own[key] or 0 for key in ("age_max", "reaction_max", "from_event_max")]
            assert own["jobs"] and not passed(seen, each.bounds), (system, each, own)
