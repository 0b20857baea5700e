"""The sporadic model, against an exploration without any pruning and hand-made patterns."""

import random
import re
from fractions import Fraction
from functools import cache
from itertools import chain, combinations

import numpy as np
import pytest
from attrs import evolve
from helpers.sched import says

from deadbeat.base.model.errors import UsageError
from deadbeat.sched import Costs, Scheduler, TaskSystem, TimedTask, Verdict, _core, simulate
from deadbeat.sched.arrays import task_rows
from deadbeat.sched.simulator import core_options

State = tuple[tuple[int, int], ...]  # per task: remaining execution, time to the next release


def system(processors: int, *rows: tuple[int, int, int]) -> TaskSystem:
    """Tasks of (C, D, T)."""
    tasks = tuple(TimedTask(wcet=c, deadline=d, period=t) for c, d, t in rows)
    return TaskSystem(processors=processors, tasks=tasks)


def scaled(known: TaskSystem, factor: int) -> TaskSystem:
    rows = ((t.wcet * factor, t.deadline * factor, t.period * factor) for t in known.tasks)
    return system(known.processors, *rows)


# Research 4d: synchronous releases meet all deadlines, others do not.
O3 = system(2, (1, 1, 2), (1, 1, 3), (5, 6, 6))
O4 = system(2, (1, 2, 2), (1, 3, 3), (5, 6, 6))


@cache
def heavy(known: TaskSystem, policy: str) -> frozenset[int]:
    """Tasks before all others: Srinivasan and Baruah 2002 (EDF-US), Baruah 2004 (fpEDF)."""
    m, tasks = known.processors, known.tasks
    shares = [Fraction(task.wcet, task.period) for task in tasks]
    if policy == "edf-us":
        return frozenset(i for i, u in enumerate(shares) if u > Fraction(m, 2 * m - 1))
    if policy == "fpedf":
        order = sorted(range(len(tasks)), key=lambda i: (-shares[i], i))
        return frozenset(i for i in order[: m - 1] if shares[i] > Fraction(1, 2))
    return frozenset()


def tick(known: TaskSystem, policy: str, state: State, released: set[int]) -> tuple[State, bool]:
    """The state a unit of time later, and whether a job missed; ties by index."""
    cells = [list(cell) for cell in state]
    for i in released:
        assert cells[i] == [0, 0], "not a legal release"
        cells[i] = [known.tasks[i].wcet, known.tasks[i].period]

    def due(i: int) -> int:
        return cells[i][1] - known.tasks[i].period + known.tasks[i].deadline

    first = heavy(known, policy)

    def key(i: int) -> tuple[int, int]:
        major = known.tasks[i].period if policy == "g-fp" else due(i)
        return (-1 if i in first else major, i)

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


def replay(known: TaskSystem, verdict: Verdict) -> int:
    """The first miss of the releases that a verdict lists."""
    releases = list(map(tuple, verdict.releases.tolist()))
    assert releases == sorted(releases, key=lambda row: (row[1], row[0]))
    state: State = ((0, 0),) * len(known.tasks)
    for now in range(10_000):
        released = {task for task, release in releases if release == now}
        state, missed = tick(known, verdict.scheduler.policy, state, released)
        if missed:
            return now + 1
    raise AssertionError("no miss")


def in_words(verdict: Verdict) -> str:
    """An explored pattern as it is told: "task 0 at 0 3, task 2 at 0"."""
    tasks = sorted({task for task, _ in verdict.releases.tolist()})
    at = {i: [str(r) for task, r in verdict.releases.tolist() if task == i] for i in tasks}
    return ", ".join(f"task {i} at {' '.join(at[i])}" for i in tasks)


def require_replayed(known: TaskSystem, verdict: Verdict) -> None:
    """Miss, figures and records of a verdict are those of the releases that it lists."""
    assert verdict.first_miss == verdict.until == replay(known, verdict)
    counts = np.bincount(verdict.releases[:, 0], minlength=len(known.tasks))
    assert verdict.figures["released"].tolist() == counts.tolist()
    assert verdict.figures["missed"].sum() >= 1
    recorded = verdict.jobs[np.lexsort((verdict.jobs[:, 0], verdict.jobs[:, 2]))]
    assert recorded[:, [0, 2]].tolist() == verdict.releases.tolist()
    late = verdict.jobs[(verdict.jobs[:, 0] == verdict.first_miss_task)][-1]
    assert (late[1], late[5]) == (verdict.first_miss_job, verdict.first_miss)


@pytest.mark.parametrize("known", [O3, O4])
def test_synchronous_releases_are_not_the_worst(known: TaskSystem) -> None:
    assert simulate(known).schedulable == "yes"
    verdict = simulate(known, model="sporadic", record_jobs=True)
    says("no", verdict, proved=True, proof="exploration", pattern=in_words(verdict))
    assert verdict.reference == "Baker and Cirinei, OPODIS 2007"
    require_replayed(known, verdict)


@pytest.mark.parametrize("policy", ["g-edf", "g-fp", "edf-us", "fpedf"])
def test_exploration_agrees_with_one_that_prunes_nothing(policy: str) -> None:
    draw = random.Random(5)
    wanted = {"yes": 8, "no": 8}
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
        if policy in ("edf-us", "fpedf") and not heavy(known, policy):
            continue  # that is global EDF
        verdict = simulate(known, scheduler, model="sporadic", patterns=0, record_jobs=True)
        if not wanted[verdict.schedulable]:
            continue
        wanted[verdict.schedulable] -= 1
        assert verdict.schedulable == ("no" if misses_somehow(known, policy) else "yes")
        if verdict.schedulable == "no":
            require_replayed(known, verdict)
        else:
            chance = simulate(known, scheduler, model="sporadic", states=0, patterns=8)
            assert chance.schedulable != "no"


def test_sufficient_test_is_named() -> None:
    verdict = simulate(system(2, (1, 10, 10), (1, 10, 10), (1, 10, 10)), model="sporadic")
    says("yes", verdict, proved=True, proof="gfb", states=0)
    assert "Goossens" in verdict.reference


@pytest.mark.parametrize("policy", ["p-edf", "p-fp", "g-edf", "g-fp"])
def test_one_processor_needs_no_exploration(policy: str) -> None:
    """U = 1 with harmonic periods: EDF and rate-monotonic priorities both schedule it."""
    full = system(1, (1, 2, 2), (1, 4, 4), (2, 8, 8))
    says("yes", simulate(full, Scheduler(policy=policy), model="sporadic"), proof="one-processor")


def test_miss_with_synchronous_releases_is_a_miss() -> None:
    verdict = simulate(system(1, (1, 1, 2), (1, 1, 2)), model="sporadic")
    says("no", verdict, pattern="synchronous periodic", first_miss=1)


def test_offsets_of_the_file_mean_nothing_to_the_sporadic_model() -> None:
    tasks = (
        TimedTask(wcet=1, deadline=1, period=2),
        TimedTask(wcet=1, deadline=1, period=2, offset=1),
    )
    known = TaskSystem(processors=1, tasks=tasks)
    assert simulate(known).schedulable == "yes"
    verdict = simulate(known, model="sporadic")
    assert (verdict.schedulable, verdict.first_miss) == ("no", 1)
    assert "offsets mean nothing to the sporadic model" in " ".join(verdict.remarks)
    without = evolve(known, tasks=tuple(evolve(task, offset=0) for task in tasks))
    assert simulate(without, model="sporadic").remarks == ()


def test_deadlines_beyond_periods_are_accepted_refuted_or_open_never_explored() -> None:
    light = simulate(system(2, (1, 20, 10), (2, 30, 10), (1, 9, 8)), model="sporadic")
    says("yes", light, proved=True, states=0)
    over = simulate(system(2, (2, 6, 3), (2, 6, 3), (3, 6, 4)), model="sporadic")
    says("no", over, pattern="synchronous periodic")  # U > m
    one = simulate(system(1, (2, 6, 4), (3, 12, 6)), model="sporadic")
    says("yes", one, proof="one-processor")
    full = simulate(system(2, (2, 6, 3), (2, 6, 3), (2, 4, 3)), model="sporadic", patterns=4)
    says("undecided", full, "deadlines beyond periods", states=0)


def test_random_pattern_that_misses_can_be_repeated_by_its_seed() -> None:
    found = simulate(O4, model="sporadic", states=0)
    assert found.schedulable == "no"
    seed = int(re.search(r"seed (\d+)", found.pattern)[1])  # type: ignore[index]
    again = simulate(O4, model="sporadic", states=0, patterns=1, seed=seed)
    assert (again.pattern, again.first_miss) == (found.pattern, found.first_miss)


@pytest.mark.parametrize("seed", range(6))
def test_releases_of_a_random_pattern_are_those_that_miss(seed: int) -> None:
    found = simulate(O4, model="sporadic", states=0, patterns=64, seed=seed, record_jobs=True)
    assert found.schedulable == "no"
    require_replayed(O4, found)


def test_past_the_miss_an_explored_pattern_runs_to_its_last_deadline() -> None:
    stopped = simulate(O4, model="sporadic", record_jobs=True)
    verdict = simulate(O4, model="sporadic", run_on=True, record_jobs=True)
    assert verdict.first_miss == stopped.first_miss
    assert verdict.releases.tolist() == stopped.releases.tolist()
    assert verdict.until == max(verdict.jobs[:, 5]) > stopped.until
    late = verdict.jobs[verdict.jobs[:, 0] == 2][0]
    assert late[4] > late[5] == verdict.first_miss


def test_without_a_listed_pattern_there_are_no_releases() -> None:
    easy, full = system(1, (1, 2, 2)), system(1, (1, 1, 2), (1, 1, 2))
    assert simulate(easy, model="sporadic").releases.shape == (0, 2)
    assert simulate(full, model="sporadic").releases.shape == (0, 2)  # synchronous periodic
    assert simulate(full).releases.shape == (0, 2)


@pytest.mark.parametrize("policy", ["g-edf", "g-np-edf", "edzl", "lc-edf", "pd2"])
def test_listed_releases_of_the_periodic_pattern_give_its_schedule(policy: str) -> None:
    known = system(2, (2, 3, 3), (2, 4, 4), (3, 6, 6))
    options = core_options(Scheduler(policy=policy))
    options.stop_at_miss = False
    options.record_jobs = options.record_segments = True
    rows = task_rows(known.tasks)
    periodic = _core.simulate(2, rows, options, 48)
    options.arrival = _core.Arrival.listed
    options.releases = [list(range(0, 48, task.period)) for task in known.tasks]
    rows[:, 3] = 7  # whatever the offsets are
    listed = _core.simulate(2, rows, options, 48)
    for name in ("jobs", "segments"):
        assert listed[name].tolist() == periodic[name].tolist()
    assert listed["first_miss"] == periodic["first_miss"]


def test_jobs_of_listed_releases_wait_behind_each_other() -> None:
    """D > T, one processor, C = 4: released at 0, 3, 6, 20 they run from 0, 4, 8 and 20 on."""
    known = system(1, (4, 20, 3))
    options = core_options(Scheduler())
    options.record_jobs = True
    options.arrival = _core.Arrival.listed
    options.releases = [[0, 3, 6, 20]]
    jobs = _core.simulate(1, task_rows(known.tasks), options, 30)["jobs"]
    assert jobs[:, 2:5].tolist() == [[0, 0, 4], [3, 4, 8], [6, 8, 12], [20, 20, 24]]


@pytest.mark.parametrize("releases", [[[0, 2]], [[-1]], [], [[0], [1]]])
def test_listed_releases_that_are_not_legal_are_refused(releases: list[list[int]]) -> None:
    options = core_options(Scheduler())
    options.arrival = _core.Arrival.listed
    options.releases = releases
    with pytest.raises(ValueError, match="releases"):
        _core.simulate(1, task_rows(system(1, (1, 3, 3)).tasks), options, 30)


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
    says("undecided", verdict, "budget of 3 states", proved=False)


def test_coarse_grid_refutes_but_does_not_accept() -> None:
    """Parameters in hundreds: releases between the hundreds are legal as well."""
    refuted = simulate(scaled(O4, 100), model="sporadic", states=1000, patterns=0)
    says("no", refuted, first_miss=600)
    fine = system(2, (3, 3, 3), (2, 4, 6), (2, 3, 3))  # U = m: beyond every sufficient test
    assert simulate(fine, model="sporadic", states=1000, patterns=0).proof == "exploration"
    says("undecided", simulate(scaled(fine, 100), model="sporadic", states=1000, patterns=0))


def test_costs_are_never_proved_sporadic() -> None:
    costly = Scheduler(costs=Costs(migration=1))
    says("undecided", simulate(system(2, (1, 10, 10)), costly, model="sporadic"), proved=False)


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
    halves = scaled(known, 2)
    says("no", simulate(halves, scheduler, model="sporadic", patterns=0), proof="exploration")


def test_a_test_for_any_instants_is_named_first() -> None:
    light = system(2, (1, 20, 20), (1, 30, 30), (1, 50, 50))
    assert "integer instants" not in simulate(light, model="sporadic").because


def test_every_cluster_s_proof_is_named() -> None:
    """Where the name of one test is part of another's too."""
    rows = [(1, 7, 0), (1, 8, 0), (7, 9, 0), (1, 5, 0)]
    tasks = [TimedTask(wcet=c, deadline=t, period=t, home=home) for c, t, home in rows]
    for c, d, t in [(1, 6, 6), (1, 6, 6), (2, 4, 6), (4, 6, 8)]:
        tasks.append(TimedTask(wcet=c, deadline=d, period=t, home=1))
    known = TaskSystem(processors=4, tasks=tuple(tasks))
    verdict = simulate(known, Scheduler(policy="c-edf", cluster_size=2), model="sporadic")
    assert (verdict.schedulable, verdict.proof) == ("yes", "bcl-iter, bcl")
