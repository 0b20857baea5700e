"""What must stay equal, or only get better, when a question is asked in another way.

Proofs are short or cited; nothing here is compared with stored answers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from helpers.sched import Draw, joined
from oracles import schedule as reference
from oracles.schedule.partition import edf_fits, fixed_priority_fits
from oracles.schedule.state import tie_rank

from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched import Scheduler, Verdict, policies, simulate

SYSTEMS = 60

TIMES = ("wcet", "period", "deadline", "offset", "budget", "server_period", "server_deadline")


def decide(system: TaskSystem, scheduler: Scheduler, **arguments: Any) -> Verdict:
    model = "periodic-offset" if any(task.offset for task in system.tasks) else None
    return simulate(system, scheduler, model=model, **arguments)


def scaled(task: TimedTask, factor: int) -> TimedTask:
    times = {name: getattr(task, name) for name in TIMES}
    return evolve(
        task, **{name: None if time is None else time * factor for name, time in times.items()}
    )


def constrained(system: TaskSystem) -> TaskSystem:
    return evolve(
        system,
        tasks=tuple(
            evolve(task, deadline=min(task.deadline, task.period)) for task in system.tasks
        ),
    )


def implicit_servers(system: TaskSystem) -> TaskSystem:
    tasks = (
        evolve(task, server_deadline=task.server_period or task.period) for task in system.tasks
    )
    return evolve(system, tasks=tuple(tasks))


def synchronous(system: TaskSystem) -> TaskSystem:
    return evolve(system, tasks=tuple(evolve(task, offset=0) for task in system.tasks))


def bound(system: TaskSystem, homes: tuple[int, ...]) -> TaskSystem:
    """Every task where ``homes`` says."""
    tasks = zip(system.tasks, homes, strict=True)
    return evolve(system, tasks=tuple(evolve(task, home=home) for task, home in tasks))


# --- another unit ----------------------------------------------------------------------------


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


# --- another order of the file ---------------------------------------------------------------


def distinct(draw: Draw) -> TaskSystem:
    """Utilisations, and so ranks under utilisation-desc, that differ pairwise."""
    while True:
        system = draw.system()
        if len({task.utilisation for task in system.tasks}) == len(system.tasks):
            return system


@pytest.mark.parametrize("policy", sorted(set(policies()) - {"pd2"}))
def test_the_order_of_the_file_matters_only_through_ties(policy: str) -> None:
    """Ties and placement by utilisation, which differ; PD2 has its own test of U <= m."""
    draw = Draw(21, sorted(policies()).index(policy))
    for _ in range(SYSTEMS):
        system = distinct(draw)
        _, scheduler = draw.case(policy)
        size = draw.one_of([c for c in (1, 2, 3, 4) if system.processors % c == 0])
        if policy.endswith("-cbs"):
            system = constrained(system)  # servers take no more
        if policy == "lc-edf":
            # Homes by hand: moves between clusters go to the earlier of equally good tasks.
            clusters = system.processors // size
            homes = tuple(draw.between(0, clusters - 1) for _ in system.tasks)
            system = bound(system, homes)
        scheduler = evolve(
            scheduler,
            ties="utilisation-desc",
            order="utilisation-desc",
            cluster_size=size,
            # Jobs that wake at one instant join clusters in the order of the file.
            balance=draw.one_of(["none", "offline", "pull", "both"]),
        )
        order = draw.rng.permutation(len(system.tasks))
        shuffled = evolve(system, tasks=tuple(system.tasks[i] for i in order))
        before, after = decide(system, scheduler), decide(shuffled, scheduler)
        case = (system, scheduler, order)
        assert after.schedulable == before.schedulable, case
        assert after.first_miss == before.first_miss, case
        assert after.placed == tuple(before.placed[i] for i in order if before.placed), case


# --- less work, more freedom -----------------------------------------------------------------


@pytest.mark.parametrize("policy", ["g-edf", "g-fp", "c-edf", "c-fp", "p-edf", "p-fp"])
def test_shorter_jobs_keep_a_system_schedulable(policy: str) -> None:
    """Ha and Liu 1994: priorities fixed per job, preemption, independent jobs: predictable.

    Jobs of one task are independent where D <= T and all is on time. Ties and clusters are those of
    the longer jobs: index and homes.
    """
    draw = Draw(22, len(policy), ord(policy[0]))
    kept = 0
    while kept < SYSTEMS // 2:
        system = constrained(draw.system())
        size = draw.one_of([c for c in (1, 2, 3, 4) if system.processors % c == 0])
        scheduler = Scheduler(
            policy=policy,
            ties=draw.one_of(["index", "reverse", "period-asc", "period-desc"]),
            priorities=draw.one_of(["rm", "dm", "given"]),
            unplaced="least-loaded",
            cluster_size=size,
        )
        before = decide(system, scheduler)
        if before.schedulable != "yes":
            continue
        kept += 1
        assert before.facts.predictable
        if before.placed:
            system = bound(system, before.placed)
        shorter = evolve(
            system,
            tasks=tuple(evolve(task, wcet=draw.between(1, task.wcet)) for task in system.tasks),
        )
        assert decide(shorter, scheduler).schedulable == "yes", (system, shorter, scheduler)


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


def test_no_job_ends_later_in_loose_clusters_than_in_clusters() -> None:
    draw = Draw(33)
    for _ in range(SYSTEMS):
        system, scheduler = draw.case("lc-edf")
        at_home = reference.run(system, evolve(scheduler, balance="none"), until=90)
        loose = reference.run(
            bound(system, at_home.placed), evolve(scheduler, balance="pull"), until=90
        )
        assert not later(finishes(at_home), finishes(loose)), (system, scheduler)


@pytest.mark.parametrize(("loose", "bound_to"), [("pull", "none"), ("both", "offline")])
def test_loose_clusters_do_what_clusters_do(loose: str, bound_to: str) -> None:
    """What guests execute only shortens their jobs at home, and homes run as in clustered EDF.

    So by predictability (above) every job ends no later than at home alone.
    """
    draw = Draw(23, len(loose))
    kept = gained = 0
    while kept < SYSTEMS:
        system = evolve(constrained(draw.system()), processors=draw.one_of([2, 3, 4]))
        scheduler = evolve(draw.case("lc-edf")[1], unplaced="least-loaded")
        clusters = draw.one_of([k for k in (2, 3, 4) if system.processors % k == 0])
        scheduler = evolve(scheduler, cluster_size=system.processors // clusters)
        strict = decide(system, evolve(scheduler, balance=bound_to))
        free = decide(system, evolve(scheduler, balance=loose))
        assert free.placed == strict.placed, (system, scheduler)
        at_home = decide(bound(system, strict.placed), evolve(scheduler, policy="c-edf"))
        assert (at_home.schedulable, at_home.first_miss) == (strict.schedulable, strict.first_miss)
        kept += strict.schedulable == "yes"
        gained += (strict.schedulable, free.schedulable) == ("no", "yes")
        assert free.schedulable == "yes" or strict.schedulable == "no", (system, scheduler)
    assert gained > 0


# --- one and the same ------------------------------------------------------------------------


def test_on_one_processor_every_kind_of_edf_is_the_optimal_one() -> None:
    """Dertouzos 1974; and the demand-bound test of Baruah, Rosier and Howell 1990 is exact."""
    draw = Draw(24)
    said = set()
    for _ in range(SYSTEMS):
        system = synchronous(evolve(draw.system(), processors=1))
        if not draw.chance(0.5):
            system = evolve(system, tasks=system.tasks[:2])
        fits = edf_fits(system.tasks)
        expected = ("yes", None) if fits else ("no", decide(system, Scheduler()).first_miss)
        said.add(fits)
        for policy in ("g-edf", "p-edf", "c-edf", "lc-edf", "fpedf", "edf-us"):
            scheduler = Scheduler(
                policy=policy, cluster_size=1, unplaced="least-loaded", threshold=(1, 1)
            )
            verdict = decide(system, scheduler)
            assert (verdict.schedulable, verdict.first_miss) == expected, (system, policy)
        # A job at zero laxity that has to wait is late: only which one is first may differ.
        assert decide(system, Scheduler(policy="edzl")).schedulable == expected[0], system
    assert said == {True, False}


@pytest.mark.parametrize("policy", ["g-fp", "p-fp", "c-fp"])
def test_on_one_processor_fixed_priorities_are_as_response_times_say(policy: str) -> None:
    """Lehoczky 1990: the synchronous release is the worst, also for D > T."""
    draw = Draw(25, len(policy))
    said = set()
    for _ in range(SYSTEMS):
        system = synchronous(evolve(draw.system(), processors=1))
        system = evolve(system, tasks=system.tasks[: draw.between(1, 4)])
        scheduler = Scheduler(
            policy=policy,
            ties=draw.one_of(["index", "reverse", "wcet-desc"]),
            priorities=draw.one_of(["rm", "dm"]),
            unplaced="least-loaded",
            cluster_size=1,
        )
        key = "period" if scheduler.priorities == "rm" else "deadline"
        rank = tie_rank(system, scheduler.ties)
        order = sorted(range(len(rank)), key=lambda i: (getattr(system.tasks[i], key), rank[i]))
        fits = fixed_priority_fits([system.tasks[i] for i in order])
        said.add(fits)
        answer = "yes" if fits else "no"
        assert decide(system, scheduler).schedulable == answer, (system, scheduler)
    assert said == {True, False}


def test_pd2_schedules_what_any_policy_can() -> None:
    """Implicit deadlines: schedulable if and only if U <= m and every u <= 1."""
    draw = Draw(26)
    said = set()
    for _ in range(2 * SYSTEMS):
        system, scheduler = draw.case("pd2")
        fits = system.utilisation <= system.processors
        said.add(fits)
        assert decide(system, scheduler).schedulable == ("yes" if fits else "no"), system
    assert said == {True, False}


#: Policies and options of which the second is the first with nothing to choose.
SAME = [
    (Scheduler(policy="g-edf"), Scheduler(policy="c-edf"), "one cluster"),
    (Scheduler(policy="g-edf"), Scheduler(policy="lc-edf", balance="pull"), "one cluster"),
    (Scheduler(policy="g-fp"), Scheduler(policy="c-fp"), "one cluster"),
    (Scheduler(policy="p-edf"), Scheduler(policy="c-edf"), "clusters of one"),
    (Scheduler(policy="p-edf"), Scheduler(policy="lc-edf", balance="none"), "clusters of one"),
    (Scheduler(policy="p-fp"), Scheduler(policy="c-fp"), "clusters of one"),
    (Scheduler(policy="g-edf"), Scheduler(policy="edf-us", threshold=(1, 1)), ""),
]


def until(verdict: Verdict, instant: int) -> list[tuple[int, ...]]:
    """The segments in [0, ``instant``)."""
    return joined(
        [
            [task, job, processor, start, min(end, instant)]
            for task, job, processor, start, end in verdict.segments.tolist()
            if start < instant
        ]
    )


@pytest.mark.parametrize(("first", "second", "clusters"), SAME)
def test_a_policy_without_a_choice_is_the_simpler_one(
    first: Scheduler, second: Scheduler, clusters: str
) -> None:
    draw = Draw(27, SAME.index((first, second, clusters)))
    for _ in range(SYSTEMS):
        system = draw.system()
        options = {"ties": draw.case("g-edf")[1].ties, "unplaced": "least-loaded"}
        size = system.processors if clusters == "one cluster" else 1
        horizon = draw.between(1, 120)
        ran = [
            simulate(
                system,
                evolve(scheduler, **options, cluster_size=size),
                horizon=horizon,
                run_on=True,
                record_segments=True,
            )
            for scheduler in (first, second)
        ]
        # Who declares no memory stops at the hyper-period, the other once its state repeats.
        common = min(verdict.until for verdict in ran)
        assert until(ran[0], common) == until(ran[1], common), (system, options)
        assert ran[0].first_miss == ran[1].first_miss, (system, options)


#: Placed alike: exact admission is each policy's own.
ALIKE = {"unplaced": "least-loaded", "admission": "utilisation"}


def test_servers_with_what_their_tasks_need_are_plain_edf() -> None:
    """Q = C, P = T: every job finds a full runtime, and its own deadline as the server's."""
    draw = Draw(28)
    for _ in range(SYSTEMS):
        system = constrained(draw.system())
        ties = draw.one_of(["index", "reverse"])
        for served, plain in (("g-cbs", "g-edf"), ("p-cbs", "p-edf")):
            verdicts = [
                decide(system, Scheduler(policy=policy, ties=ties, **ALIKE))
                for policy in (served, plain)
            ]
            assert verdicts[0].first_miss == verdicts[1].first_miss, (system, served)
            assert verdicts[0].schedulable == verdicts[1].schedulable, (system, served)


def test_fifo_of_distinct_levels_is_fixed_priority() -> None:
    draw = Draw(29)
    for _ in range(SYSTEMS):
        system = draw.system()
        levels = draw.rng.permutation(len(system.tasks))
        tasks = zip(system.tasks, levels, strict=True)
        system = evolve(
            system, tasks=tuple(evolve(task, priority=int(level)) for task, level in tasks)
        )
        options = {"priorities": "given", **ALIKE}
        fifo = decide(system, Scheduler(policy="p-fifo", **options))
        fixed = decide(system, Scheduler(policy="p-fp", **options))
        assert fifo.first_miss == fixed.first_miss, system
