"""Truth: simulation. No test accepts what a simulated schedule refutes, at any ties and offsets.

And no exact or necessary test refutes what releases from time 0 on prove schedulable: all of them
claim that those are a worst case.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from helpers import often
from numpy.typing import NDArray

from deadbeat import sched
from deadbeat.sched import Scheduler, TaskBatch
from deadbeat.sched.analysis import ANY_SCHEDULER, ASKED_ONLY, GIVEN_TIES, TEST_ANSWERS

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
    """Tests of hard deadlines about ``policy``; those that explore all states are met by all
    schedules in test_sched_reachability.py."""
    return [
        name
        for name, facts in sched.tests().items()
        if facts.kind != "bound"
        and facts.cost < ASKED_ONLY
        and facts.scheduler in (policy, ANY_SCHEDULER)
    ]


#: Schedulers with locks or a reservation are attacked in test_locks_attack.py.
POLICIES = sorted({facts.scheduler for facts in sched.tests().values()} & {*sched.policies()})


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


# --- placements ---------------------------------------------------------------------------------


def placeable(batch: TaskBatch, policy: str) -> NDArray[np.bool_]:
    """Whether some placement meets all deadlines of each system, by trying all: which subsets of
    its tasks one processor can have, by simulation, then how few of those make up the whole."""
    lengths = np.diff(batch.starts)
    tasks = np.concatenate(
        [
            batch.tasks[start : start + length][picked]
            for start, length in zip(batch.starts[:-1], lengths, strict=True)
            for picked in subsets(length)
        ]
    )
    sizes = np.concatenate([[sum(picked) for picked in subsets(length)] for length in lengths])
    alone = TaskBatch(
        tasks=tasks,
        starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        processors=np.ones(len(sizes), np.int32),
    )
    found = sched.simulate_batch(
        alone, Scheduler(policy=policy, priorities="dm"), model="periodic-sync", budget=100_000
    )
    assert (found["answer"] != 2).all(), "a simulation of one processor is always decided"
    fits = np.split(found["answer"] == 1, np.cumsum(2**lengths - 1)[:-1])
    return np.array(
        [
            _covers(fit, length) <= processors
            for fit, length, processors in zip(fits, lengths, batch.processors, strict=True)
        ]
    )


def subsets(length: int) -> NDArray[np.bool_]:
    """[mask - 1, task]: every subset but the empty one."""
    return (np.arange(1, 2**length)[:, None] >> np.arange(length)) % 2 == 1


def _covers(fits: NDArray[np.bool_], length: int) -> float:
    """The fewest fitting subsets that make up the whole; inf where none do."""
    fewest = [0.0] + [np.inf] * (2**length - 1)
    for mask in range(1, 2**length):
        lowest, part = mask & -mask, mask
        while part:
            if part & lowest and fits[part - 1]:
                fewest[mask] = min(fewest[mask], 1 + fewest[mask ^ part])
            part = (part - 1) & mask
    return fewest[-1]


@pytest.mark.parametrize(
    ("count", "seed"), [(500, 21), *often(*((1_000, 1_000 + seed) for seed in range(50)))]
)
def test_only_what_no_placement_meets_is_refuted(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for deadlines in ("implicit", "constrained"):
        batch = random_batch(rng, count, deadlines, most_processors=3)
        batch = chosen(batch, np.diff(batch.starts) <= 6)
        for policy in ("p-fp", "p-edf"):
            names = names_about(policy)
            answers = sched.test_batch(batch, names, priorities="dm")
            possible = placeable(batch, policy)
            refuted = (answers == REFUTED).any(axis=1)
            accepted = (answers == ACCEPTED).any(axis=1)
            assert refuted.sum() > count / 50 and accepted.sum() > count / 10
            for wrong in (refuted & possible, accepted & ~possible):
                found = np.nonzero(wrong)[0]
                assert not len(found), (policy, batch.system(int(found[0])))


# --- bounds hold ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ("g-edf", ("bcl-iter", "rta-edf")),
        ("g-fp", ("rta-fp", "rta-fp-guan", "uni-rta")),
        ("edf-us", ("edf-us-light",)),
        ("fpedf", ("fpedf-light",)),
    ],
)
def test_no_response_is_above_its_bound(policy: str, names: tuple[str, ...]) -> None:
    rng = np.random.default_rng(3)
    seen = dict.fromkeys(names, 0)
    for most in (1, 4):
        batch = random_batch(rng, 150, "constrained", most_processors=most)
        for index in range(len(batch)):
            system = batch.system(index)
            analysis = sched.analyze(system, names=names, ties="index", priorities="dm")
            if not any(result.answer == "accepted" for result in analysis.results):
                continue
            verdict = sched.simulate(system, Scheduler(policy=policy, priorities="dm"))
            for result in analysis.results:
                if result.answer == "accepted" and None not in result.bounds:
                    assert (verdict.figures["response_max"] <= np.array(result.bounds)).all()
                    seen[result.facts.name] += 1
    assert min(seen.values()) >= 20, seen


def test_responses_of_one_processor_are_attained() -> None:
    """Exact, so the largest response of synchronous releases is the bound."""
    rng = np.random.default_rng(4)
    seen = 0
    for deadlines in ("constrained", "arbitrary"):
        batch = random_batch(rng, 300, deadlines, most_processors=1)
        for index in range(len(batch)):
            system = batch.system(index)
            result = sched.analyze(system, names=["uni-rta"]).result("uni-rta")
            if result.answer == "accepted":
                verdict = sched.simulate(system, Scheduler(policy="g-fp"))
                assert verdict.figures["response_max"].tolist() == list(result.bounds)
                seen += 1
    assert seen >= 100


def test_no_job_is_later_than_the_tardiness_bound() -> None:
    """Over some hyper-periods with U up to m, past misses."""
    rng = np.random.default_rng(5)
    batch = random_batch(rng, 600, "implicit")
    late = 0
    for index in range(len(batch)):
        system = batch.system(index)
        result = sched.analyze(system, names=["tardiness"]).result("tardiness")
        if result.answer == "accepted":
            verdict = sched.simulate(system, horizon=1200, run_on=True)
            tardiness = verdict.figures["tardiness_max"]
            assert (tardiness <= np.array(result.bounds)).all(), system
            late += int(tardiness.max() > 0)
    assert late >= 20


# --- what accepts more than what ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weaker", "stronger", "deadlines"),
    [
        ("bcl", "bcl-iter", "constrained"),
        ("bcl-iter", "rta-edf", "constrained"),
        ("gfb", "ff-dbf", "constrained"),
        ("load", "ff-dbf", "constrained"),
        ("rta-fp", "rta-fp-guan", "constrained"),
        ("edf-us-bound", "edf-us-light", "implicit"),
        ("ll-rm", "hyperbolic", "implicit"),
        ("hyperbolic", "uni-rta", "implicit"),
    ],
)
def test_a_stronger_test_accepts_all_the_weaker_does(weaker: str, stronger: str, deadlines: str):
    """By construction, as docs/reference/schedulability-tests.md argues."""
    batch = random_batch(np.random.default_rng(6), 6_000, deadlines)
    below, above = sched.test_batch(batch, [weaker, stronger]).T == ACCEPTED
    assert below.sum() >= 30
    assert not (below & ~above).any()
    assert (above & ~below).any()


def test_ff_dbf_is_gfb_for_implicit_deadlines() -> None:
    """F_i(t, s) <= u_i t with equality at deadlines: only the slope at s = max u is left."""
    batch = random_batch(np.random.default_rng(7), 6_000, "implicit")
    gfb, ff_dbf = sched.test_batch(batch, ["gfb", "ff-dbf"]).T
    assert (gfb == ff_dbf).all()
    assert (gfb == ACCEPTED).sum() >= 100


def test_one_processor_of_a_partition_is_that_processor() -> None:
    """p-edf and p-fp with m = 1 are QPA and the uniprocessor response times."""
    rng = np.random.default_rng(8)
    for deadlines in ("implicit", "constrained", "arbitrary"):
        batch = random_batch(rng, 2_000, deadlines, most_processors=1)
        for names in (["qpa", "p-edf"], ["uni-rta", "p-fp"]):
            one, partition = sched.test_batch(batch, names).T
            assert (one == partition).all()
            assert set(one) == {ACCEPTED, REFUTED}


def test_edf_is_optimal_on_one_processor() -> None:
    """What fixed priorities schedule, EDF does (Dertouzos 1974); LOAD and FF-DBF see it too."""
    rng = np.random.default_rng(9)
    batch = random_batch(rng, 4_000, "constrained", most_processors=1)
    names = ["uni-rta", "qpa", "load", "ff-dbf"]
    fixed, edf, load, ff_dbf = sched.test_batch(batch, names, priorities="dm").T == ACCEPTED
    assert not (fixed & ~edf).any()
    assert (load == edf).all()
    assert (ff_dbf == edf).all()


# --- metamorphic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [3, 2**41 + 7])
def test_scaling_time_changes_no_answer_of_tests_in_fractions(factor: int) -> None:
    """Tests that count whole instants may gain from a finer unit; the others may not change."""
    names = ["gfb", "bak", "bcl", "load", "ff-dbf", "qpa", "uni-rta", "p-edf", "p-fp", "necessary"]
    names += ["edf-us-bound", "fpedf-bound"]
    for deadlines in ("implicit", "constrained"):
        batch = random_batch(np.random.default_rng(12), 1_500, deadlines)
        rows = batch.tasks.copy()
        rows[:, :3] *= factor
        scaled = TaskBatch(tasks=rows, starts=batch.starts, processors=batch.processors)
        assert (sched.test_batch(batch, names) == sched.test_batch(scaled, names)).all()
