"""Many systems at a time give what the general engine gives one by one: it is the slow twin."""

from collections.abc import Mapping

import numpy as np
import pytest
from attrs import evolve
from helpers import often
from numpy.typing import NDArray

from deadbeat import sched
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched import Recipe, TaskBatch, _core, analyze, generate, simulate_batch, test_batch
from deadbeat.sched.analysis import TEST_ANSWERS

#: What this machine has; the widest is also the default, "".
LANES = tuple(_core.lane_kinds())
#: Of few small numbers, so that instants and keys coincide often.
PERIODS = ((2, 3, 4, 6, 12), (4, 5, 8, 10, 20), (6, 9, 12, 18), (7, 10, 15, 30), (1, 2, 3))
#: The last one has no common divisor with the others' C, and does not fit 32 bits.
SCALES = (1, 1, 1, 10, 10**7, 2**40)


def random_system(random: np.random.Generator, most_processors: int, most_tasks: int):
    """Processors and rows of a synchronous system with D <= T, loaded up to about 120 %."""
    m = int(random.integers(1, most_processors + 1))
    n = int(random.integers(1, most_tasks + 1))
    period = random.choice(PERIODS[random.integers(len(PERIODS))], n)
    deadline = period if random.random() < 0.5 else random.integers((period + 1) // 2, period + 1)
    most = np.minimum(deadline, (period * min(1.0, 2.4 * m / n)).astype(np.int64))
    wcet = random.integers(1, np.maximum(most, 1) + 1)
    if random.random() < 0.02:
        wcet = wcet + 5  # also longer than its deadline
    scale = int(random.choice(SCALES))
    rows = np.zeros((n, 9), dtype=np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 5] = (
        wcet * scale,
        period * scale,
        deadline * scale,
        -1,
    )
    if scale > 1 and random.random() < 0.5:
        rows[:, 0] = np.maximum(1, rows[:, 0] - 1)
    rows[:, 4] = random.integers(1, 5, n)
    return m, rows


def random_batch(
    seed: int, count: int, *, most_processors: int = 8, most_tasks: int = 12
) -> TaskBatch:
    random = np.random.default_rng(seed)
    systems = [random_system(random, most_processors, most_tasks) for _ in range(count)]
    return TaskBatch(
        tasks=np.concatenate([rows for _, rows in systems]),
        starts=np.cumsum([0, *(len(rows) for _, rows in systems)], dtype=np.int64),
        processors=np.array([m for m, _ in systems], dtype=np.int32),
    )


def decide(
    batch: TaskBatch, lanes: str, threads: int = 1, **options: object
) -> Mapping[str, NDArray]:
    chosen = _core.Options()
    for name, value in options.items():
        setattr(chosen, name, value)
    return _core.decide_batch(
        batch.tasks, batch.starts, batch.processors, chosen, 0, threads, lanes
    )


def assert_equal(batch: TaskBatch, **options: object) -> None:
    engine = decide(batch, "none", **options)
    for lanes in LANES:
        found = decide(batch, lanes, **options)
        for name, column in engine.items():
            wrong = np.flatnonzero(column != found[name])
            assert not len(wrong), (
                f"{lanes} {options}: {name} of {batch.system(int(wrong[0]))} is "
                f"{found[name][wrong[0]]}, by the engine {column[wrong[0]]}"
            )


#: Policies whose systems lanes decide.
LANED = ("g-edf", "g-fp", "p-edf", "c-edf", "p-fp", "c-fp", "edf-us", "fpedf")


@pytest.mark.parametrize(
    ("policy", "seed", "count"),
    [
        ("g-edf", 1, 2000),
        *((policy, 8, 500) for policy in (*LANED[1:], "edzl")),
        *often(*((policy, seed, 6000) for policy in LANED for seed in range(10, 13))),
    ],
)
@pytest.mark.parametrize("stop_at_miss", [False, True], ids=["run-on", "stop"])
def test_lanes_equal_the_engine(policy: str, seed: int, count: int, stop_at_miss: bool) -> None:
    batch = random_batch(seed, count)
    for metrics in (False, True):
        assert_equal(batch, policy=policy, metrics=metrics, stop_at_miss=stop_at_miss)


@pytest.mark.parametrize("priorities", ["dm", "given"])
def test_lanes_follow_the_priorities(priorities: str) -> None:
    assert_equal(random_batch(9, 300), policy="g-fp", priorities=priorities)


@pytest.mark.parametrize("ties", ["reverse", "utilisation-desc", "wcet-asc"])
def test_lanes_follow_the_tie_rule(ties: str) -> None:
    assert_equal(random_batch(2, 400), ties=ties, metrics=True)


@pytest.mark.parametrize("horizon", [1, 7, 36, 1000])
def test_lanes_stop_at_the_horizon(horizon: int) -> None:
    assert_equal(random_batch(3, 400), horizon=horizon, metrics=True)
    assert_equal(random_batch(3, 400), horizon=horizon, metrics=True, stop_at_miss=False)


@pytest.mark.parametrize("policy", ["g-edf", "p-edf", "c-fp"])
@pytest.mark.parametrize("budget", [1, 2, 9, 30, 100])
def test_lanes_keep_the_budget(budget: int, policy: str) -> None:
    batch = random_batch(4, 300)
    assert_equal(batch, policy=policy, budget=budget, metrics=False)
    for stop_at_miss in (False, True):
        assert_equal(batch, policy=policy, budget=budget, stop_at_miss=stop_at_miss)


@pytest.mark.parametrize("policy", ["g-edf", "g-fp", "p-edf"])
@pytest.mark.parametrize("longest", [2_000, 10**6, 2**50, 2**60])
def test_lanes_equal_the_engine_where_the_hyperperiod_is_out_of_reach(longest: int, policy: str):
    batch = random_batch(12, 150)
    random = np.random.default_rng(longest)
    period = random.integers(longest // 3, longest + 1, len(batch.tasks))
    batch.tasks[:, 1] = period
    batch.tasks[:, 0] = np.maximum(1, (period * random.uniform(0, 0.9, len(period))).astype(int))
    batch.tasks[:, 2] = period - period // 20
    for metrics in (False, True):
        assert_equal(batch, policy=policy, budget=400, metrics=metrics)
        assert_equal(batch, policy=policy, budget=400, metrics=metrics, stop_at_miss=False)


@pytest.mark.parametrize("metrics", [False, True], ids=["verdict", "metrics"])
def test_lanes_equal_the_engine_on_many_processors(metrics: bool) -> None:
    batch = random_batch(5, 60, most_processors=80, most_tasks=100)
    assert_equal(batch, metrics=metrics)


def test_a_build_has_the_lanes_of_its_machine_or_ends_with_those_of_all() -> None:
    assert len(LANES) == 1 or LANES[-1] == "baseline"


def test_rows_do_not_depend_on_threads() -> None:
    batch = random_batch(6, 500)
    one, three = (decide(batch, "", threads, metrics=True) for threads in (1, 3))
    assert all((one[name] == three[name]).all() for name in one)


def test_offsets_and_late_deadlines_are_left_to_the_engine() -> None:
    batch = random_batch(7, 200)
    batch.tasks[::7, 3] = 1
    batch.tasks[::11, 2] *= 3
    assert_equal(batch, budget=20_000)


@pytest.mark.parametrize("protocol", ["inherit", "any"])
def test_a_batch_of_tests_is_the_tests_one_by_one_with_locks(protocol: str) -> None:
    recipe = Recipe(processors=2, tasks=6, utilisation=1.0, locks=2, section_high=4,
                    protocol=protocol)  # fmt: skip
    drawn = [generate(recipe, seed=3, count=40), generate(evolve(recipe, locks=0), seed=4, count=9)]
    odd = TaskSystem(processors=1, tasks=(evolve(drawn[1].system(0).tasks[0], jitter=1),))
    batch = TaskBatch.concatenate([*drawn, TaskBatch.of([*(b.system(0) for b in drawn), odd])])
    names = ["pinned-fifo-pi", "mpcp", "msrp", "fmlp-plus", "p-fp", "uni-rta"]
    answers = test_batch(batch, names)
    for i in range(len(batch)):
        results = {it.facts.name: it.answer for it in analyze(batch.system(i), names=names).results}
        assert [TEST_ANSWERS[a] for a in answers[i]] == [results[name] for name in names], i
    assert {0, 1, 3} <= {*answers.ravel().tolist()}
    assert test_batch(batch, []).shape == (len(batch), 0)
    assert (test_batch(batch.independent(), ["p-fp"])[:40, 0] != 3).all()
    with pytest.raises(UsageError, match="not applicable: pd2 ignores locks"):
        simulate_batch(batch, sched.Scheduler(policy="pd2"))
