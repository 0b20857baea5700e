"""The core decides and counts as its slow twin does (oracles.schedule)."""

from collections import Counter
from itertools import pairwise

import pytest
from attrs import evolve
from helpers.sched import (
    BALANCES,
    PRIORITIES,
    TIES,
    Draw,
    compare_answers,
    compare_runs,
    defined,
    missing_policies,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import schedule as reference

from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched import Costs, Scheduler, TaskBatch, simulate_batch
from deadbeat.sched.simulator import simulate_jobs

POLICIES = sorted(reference.POLICIES)

#: Systems per policy that are decided, and of those how many are also run on past misses.
QUICK, QUICK_RUNS = 60, 40
MANY = 100_000


def test_core_and_twin_know_the_same_policies() -> None:
    assert missing_policies() == set()


@pytest.mark.parametrize("policy", POLICIES)
def test_verdicts_equal_the_twins(policy: str) -> None:
    draw = Draw(1, POLICIES.index(policy))
    said = Counter(compare_answers(*draw.case(policy)).schedulable for _ in range(QUICK))
    # Neither answer is rare, so that agreement means something.
    assert min(said["yes"], said["no"]) > QUICK / 25 and not said["undecided"], said


@pytest.mark.parametrize("policy", POLICIES)
def test_jobs_segments_and_figures_equal_the_twins(policy: str) -> None:
    draw = Draw(2, POLICIES.index(policy))
    late = 0
    for _ in range(QUICK_RUNS):
        system, scheduler = draw.case(policy)
        late += compare_runs(system, scheduler, draw.between(1, 150)).first_miss is not None
    assert late > QUICK_RUNS / 20, late


@pytest.mark.parametrize("policy", POLICIES)
def test_costs_are_charged_as_the_twin_charges_them(policy: str) -> None:
    draw = Draw(3, POLICIES.index(policy))
    for _ in range(QUICK_RUNS // 2):
        system, scheduler = draw.case(policy)
        compare_runs(system, evolve(scheduler, costs=draw.costs()), draw.between(1, 150))


UNDECIDED = 2

#: Of a batch's columns those that are sums, or extremes, of what the twin counts per task.
SUMS = (
    "judged",
    "missed",
    "completed",
    "preemptions",
    "migrations",
    "cross_cluster",
    "task_migrations",
)


@pytest.mark.parametrize("run_on", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_batches_answer_and_count_as_the_twin(policy: str, run_on: bool) -> None:
    """Systems without offsets, as studies have them: what of it the lanes take, they get right."""
    draw = Draw(6, POLICIES.index(policy), run_on)
    systems, decisions = [], []
    _, scheduler = draw.case(policy)
    scheduler = evolve(scheduler, unplaced="least-loaded", cluster_size=1)
    while len(systems) < 32:
        system, _ = draw.case(policy)
        system = without_homes_and_offsets(system)
        decided = reference.decide(system, scheduler)
        if decided.schedulable != "undecided":
            systems.append(system)
            decisions.append(decided)
    # A backlog that grows never repeats: run on only so far.
    budget = 300 if run_on else 1_000_000
    rows = simulate_batch(
        TaskBatch.of(systems), scheduler, budget=budget, run_on=run_on, metrics=True
    )
    for index, (system, decided) in enumerate(zip(systems, decisions, strict=True)):
        row = {name: column[index].item() for name, column in rows.items()}
        case = (system, scheduler, row)
        miss = decided.first_miss
        if row["answer"] != UNDECIDED:
            assert row["answer"] == ("no", "yes").index(decided.schedulable), case
        seen = miss is not None and miss.time <= row["until"]
        assert row["first_miss"] == (miss.time if miss and seen else -1), case
        assert run_on or row["answer"] != UNDECIDED, case
        figures = reference.run(system, scheduler, until=row["until"]).figures
        assert {name: row[name] for name in SUMS} == {name: sum(figures[name]) for name in SUMS}, (
            case
        )
        assert row["jobs"] == sum(figures["released"]), case
        assert row["response_max"] == max(figures["response_max"]), case
        assert row["tardiness_max"] == max(figures["tardiness_max"]), case


def without_homes_and_offsets(system: TaskSystem) -> TaskSystem:
    return evolve(system, tasks=tuple(evolve(it, home=None, offset=0) for it in system.tasks))


@pytest.mark.parametrize("policy", [name for name in POLICIES if name[:2] not in ("c-", "lc")])
def test_spans_with_skipped_jobs_equal_the_twins(policy: str) -> None:
    """What measured runs are predicted by: given priorities, and a core for each task."""
    draw = Draw(7, POLICIES.index(policy))
    skipped = 0
    for _ in range(60):
        system = within_periods(draw.system(implicit=policy == "pd2"))
        cores = [draw.between(0, system.processors - 1) for _ in system.tasks]
        tasks = zip(system.tasks, cores, strict=True)
        system = evolve(system, tasks=tuple(evolve(it, home=core) for it, core in tasks))
        horizon, skip = draw.between(1, 100), draw.chance(0.8)
        jobs = simulate_jobs(
            [
                TimedTask(
                    home=core,
                    priority=it.priority,
                    wcet=it.wcet,
                    period=it.period,
                    deadline=it.deadline,
                    offset=it.offset,
                )
                for it, core in zip(system.tasks, cores, strict=True)
            ],
            cores=system.processors,
            horizon_ns=horizon,
            skip_overruns=skip,
            policy=policy,
        )
        scheduler = Scheduler(policy=policy, priorities="given", unplaced="least-loaded")
        finding = reference.run(system, scheduler, until=horizon, skip_overruns=skip)
        assert list(map(tuple, jobs.tolist())) == finding.jobs, (system, policy, horizon, skip)
        # A predecessor ended while the job that met it never began.
        skipped += skip and any(
            start < 0 and later_finish >= 0
            for (task, _, _, start, _, _), (other, _, _, _, later_finish, _) in pairwise(
                finding.jobs
            )
            if task == other
        )
    assert skipped > 0


def within_periods(system: TaskSystem) -> TaskSystem:
    """Servers take no deadlines after the next release."""
    return evolve(
        system, tasks=tuple(evolve(it, deadline=min(it.deadline, it.period)) for it in system.tasks)
    )


@pytest.mark.statistical
@pytest.mark.parametrize("policy", POLICIES)
def test_many_verdicts_and_runs_equal_the_twins(policy: str) -> None:
    draw = Draw(4, POLICIES.index(policy))
    for round_ in range(MANY):
        system, scheduler = draw.case(policy)
        compare_answers(system, scheduler)
        if round_ % 10 == 0:
            costs = draw.costs() if draw.chance(0.5) else Costs()
            compare_runs(system, evolve(scheduler, costs=costs), draw.between(1, 150))


@st.composite
def systems(draw: st.DrawFn) -> TaskSystem:
    """Smallest first: one processor, one task, C = T = D = 1."""
    hyperperiod = draw(st.sampled_from([1, 2, 4, 6, 12, 24]))
    periods = [d for d in range(1, hyperperiod + 1) if hyperperiod % d == 0]
    tasks = []
    for _ in range(draw(st.integers(1, 6))):
        period = draw(st.sampled_from(periods))
        wcet = draw(st.integers(1, period))
        tasks.append(
            TimedTask(
                wcet=wcet,
                period=period,
                deadline=draw(st.one_of(st.just(period), st.integers(1, 2 * period))),
                offset=draw(st.integers(0, period)),
                priority=draw(st.integers(0, 3)),
            )
        )
    return TaskSystem(processors=draw(st.integers(1, 4)), tasks=tuple(tasks))


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(system=systems(), data=st.data())
def test_any_small_system_runs_as_in_the_twin(policy: str, system: TaskSystem, data: st.DataObject):
    scheduler = Scheduler(
        policy=policy,
        ties=data.draw(st.sampled_from(TIES)),
        priorities=data.draw(st.sampled_from(PRIORITIES)),
        unplaced=data.draw(st.sampled_from(["reject", "least-loaded"])),
        balance=data.draw(st.sampled_from(BALANCES)),
        cluster_size=data.draw(st.integers(1, 4)),
    )
    if defined(system, scheduler):
        compare_answers(system, scheduler)
        compare_runs(system, scheduler, data.draw(st.integers(1, 60)))
