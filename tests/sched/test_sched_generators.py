"""Truth: the laws in closed form (inclusion and exclusion, exact fractions); rejection sampling.

Every draw is seeded: verdicts never change.
"""

import json
from collections import Counter
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from math import exp, lcm, log, sqrt
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.fixed_sum import (
    KS_LIMIT,
    assert_follows,
    distance,
    irwin_hall,
    marginal,
    marginal_of_task,
)
from helpers.sched import read_task_system

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.cli.main import main
from deadbeat.sched import (
    Recipe,
    TaskBatch,
    generate,
    period_samplers,
    sample_cfs,
    sample_utilisations,
    utilisation_samplers,
)

#: Standard deviations; a true law is beyond once in 15,000 times.
SIGMAS = 4.0
UNIFORM_OVER_THE_SLICE = ("cfs", "randfixedsum", "uunifast-discard")


def columns(batch: TaskBatch, tasks: int) -> dict[str, Any]:
    rows = batch.tasks.reshape(len(batch), tasks, -1)
    names = ("wcet", "period", "deadline", "offset")
    return {name: rows[:, :, i] for i, name in enumerate(names)}


@pytest.mark.parametrize("name", UNIFORM_OVER_THE_SLICE)
@pytest.mark.parametrize(
    ("tasks", "total", "low", "high"),
    [
        (2, "1.5", "0", "1"),
        (5, "2.2", "0", "1"),
        (10, "0.7", "0", "1"),
        (10, "3.2", "0.1", "0.9"),
        (20, "4", "0", "0.5"),
        (80, "6.4", "0", "1"),
    ],
)
def test_tasks_follow_the_exact_marginal_of_the_slice(name, tasks, total, low, high):
    total, low, high = map(Fraction, (total, low, high))
    recipe = Recipe(
        tasks=tasks, utilisation=float(total), low=float(low), high=float(high), utilisations=name
    )
    drawn = sample_utilisations(recipe, seed=1, count=6000)
    assert np.abs(drawn.sum(axis=1) - float(total)).max() < 1e-12 * tasks
    assert drawn.min() >= float(low) and drawn.max() <= float(high)
    top = min(float(high), float(total - (tasks - 1) * low))
    for task in {0, tasks // 2, tasks - 1}:
        assert_follows(
            drawn[:, task], lambda x: marginal(tasks, total, low, high, x), float(low), top
        )


@pytest.mark.parametrize("name", ("cfs", "randfixedsum"))
@pytest.mark.parametrize(
    ("tasks", "total"), [(10, "9.2"), (40, "39"), (80, "40"), (80, "0.5"), (150, "75")]
)
def test_samplers_that_do_not_discard_are_exact_at_the_edges_too(name, tasks, total):
    total = Fraction(total)
    recipe = Recipe(tasks=tasks, utilisation=float(total), utilisations=name)
    drawn = sample_utilisations(recipe, seed=2, count=2000)
    assert np.abs(drawn.sum(axis=1) - float(total)).max() < 1e-12 * tasks
    for task in (0, tasks - 1):
        assert_follows(drawn[:, task], lambda x: marginal(tasks, total, 0, 1, x), 0.0, 1.0, 30)


@pytest.mark.parametrize("name", UNIFORM_OVER_THE_SLICE)
def test_pairs_are_as_negatively_correlated_as_a_fixed_sum_makes_them(name):
    recipe = Recipe(tasks=6, utilisation=2.5, utilisations=name)
    drawn = sample_utilisations(recipe, seed=3, count=20_000)
    correlation = np.corrcoef(drawn.T)[np.triu_indices(6, 1)]
    # Exchangeable with a constant sum: exactly -1/(n - 1) each.
    assert np.abs(correlation + 1 / 5).max() < SIGMAS / sqrt(20_000)


def test_uunifast_follows_its_law_and_knows_no_bound():
    drawn = sample_utilisations(
        Recipe(tasks=8, utilisation=3.0, utilisations="uunifast"), seed=4, count=10_000
    )
    assert drawn.max() > 1
    for task in (0, 7):
        assert_follows(drawn[:, task], lambda x: 1 - float(1 - x / 3) ** 7, 0.0, 3.0)
    with pytest.raises(UsageError, match="uunifast has no bounds"):
        Recipe(utilisations="uunifast", high=0.9)


OWN_BOUNDS = {
    "tight": ([0.05, 0.1, 0, 0.2, 0, 0.3, 0.01, 0.15], [0.15, 0.3, 0.05, 0.9, 0.4, 0.45, 0.6, 0.25],
              1.9),
    "near the upper end": ([0, 0, 0, 0, 0], [0.31, 0.47, 0.11, 0.93, 0.07], 1.7),
    "a few tiny ones": ([0] * 6, [1e-5, 0.6180339, 0.001, 0.31415926, 1e-9, 0.4142], 0.7),
    "a common measure": ([0, 0.1, 0, 0.2], [0.3, 0.7, 0.9, 0.5], 1.1),
    "one fixed": ([0.25, 0, 0, 0], [0.25, 0.4, 1, 0.37], 0.9),
    "negative": ([-1, -0.3, 0, 0.2], [0.3, 0.7, 0.9, 1.5], 0.4),
    "twenty": ([0.01 * (i % 3) for i in range(20)],
               [round(0.12 + 0.037 * i, 3) for i in range(20)], 4.0),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_BOUNDS)
def test_cfs_with_bounds_of_their_own_follows_the_exact_marginals(name):
    lower, upper, total = OWN_BOUNDS[name]
    drawn = sample_cfs(lower, upper, total, seed=5, count=10_000)
    assert np.abs(drawn.sum(axis=1) - total).max() < 1e-12
    for task, (low, high) in enumerate(zip(lower, upper, strict=True)):
        assert drawn[:, task].min() >= low and drawn[:, task].max() <= high
        grid = (
            np.linspace(low, high, 30 if len(lower) < 10 else 10)[1:-1].tolist()
            if high > low
            else []
        )
        law = marginal_of_task(task, lower, upper, total, grid) if grid else []
        assert not grid or distance(drawn[:, task], grid, law) < KS_LIMIT


def test_cfs_agrees_with_rejection_in_two_dimensions_at_once():
    lower, upper, total = [0.0, 0.1, 0.0, 0.05], [0.37, 0.6, 0.291, 0.83], 1.0
    random = np.random.default_rng(6)
    tried = lower + random.dirichlet(np.ones(4), 400_000) * (total - sum(lower))
    kept = tried[(tried <= upper).all(axis=1)][:30_000]
    ours = sample_cfs(lower, upper, total, seed=6, count=30_000)
    assert len(kept) == 30_000
    for i, j in ((0, 1), (1, 2), (0, 3)):
        edges = [np.quantile(kept[:, k], np.linspace(0, 1, 9)) for k in (i, j)]
        for edge in edges:
            edge[0], edge[-1] = -1, 2
        theirs, _, _ = np.histogram2d(kept[:, i], kept[:, j], bins=edges)
        mine, _, _ = np.histogram2d(ours[:, i], ours[:, j], bins=edges)
        both = theirs + mine
        used = both > 0
        chi = ((theirs - mine)[used] ** 2 / both[used]).sum()
        freedom = used.sum() - 1
        assert chi < freedom + SIGMAS * sqrt(2 * freedom)


@pytest.mark.parametrize(
    ("lower", "upper", "total", "reason"),
    [
        ([0, 0], [1, 0.5], 1.6, "the sum 1.6 is outside of what the bounds allow, 0 to 1.5"),
        ([0.5, 0.5], [1, 1], 0.9, "outside of what the bounds allow, 1 to 2"),
        ([0, 0.7], [1, 0.5], 1.0, "task 1 has no range from 0.7 to 0.5"),
        ([0, float("nan")], [1, 1], 1.0, "task 1 has no range"),
        ([0], [1], float("inf"), "the sum inf"),
        ([], [], 0.0, "of one length, at least 1"),
        ([0] * 200, [0.5 + 0.0013 * i for i in range(200)], 50.0, "too many tasks for cfs"),
    ],
)
def test_cfs_says_why_there_is_no_vector(lower, upper, total, reason):
    with pytest.raises(SynthesisError, match=reason):
        sample_cfs(lower, upper, total, seed=1, count=1)


def test_independent_utilisations_follow_their_own_law_where_any_sum_will_do():
    free = Recipe(tasks=6, utilisation=2.0, low=0.1, high=0.9, tolerance=100.0)
    uniform = sample_utilisations(evolve(free, utilisations="uniform"), seed=8, count=8000)
    assert_follows(uniform[:, 2], lambda x: (float(x) - 0.1) / 0.8, 0.1, 0.9)
    exponential = sample_utilisations(
        evolve(free, utilisations="exponential", mean=0.25), seed=8, count=8000
    )
    mass = 1 - exp(-0.8 / 0.25)
    assert_follows(
        exponential[:, 5], lambda x: (1 - exp(-(float(x) - 0.1) / 0.25)) / mass, 0.1, 0.9
    )
    bimodal = sample_utilisations(
        evolve(free, utilisations="bimodal", heavy_share=0.25, split=0.5), seed=8, count=8000
    )
    heavy = bimodal >= 0.5
    assert abs(heavy.mean() - 0.25) < SIGMAS * sqrt(0.25 * 0.75 / bimodal.size)
    assert_follows(bimodal[heavy], lambda x: (float(x) - 0.5) / 0.4, 0.5, 0.9)


@pytest.mark.parametrize(("total", "tolerance"), [(3.2, 0.5), (1.0, 0.2), (4.6, 0.1)])
@pytest.mark.parametrize("name", ["uniform", "exponential"])
def test_sums_of_independent_utilisations_follow_the_law_within_the_tolerance(
    name, total, tolerance
):
    """f(s), or f(s) exp(-s / mean), f the density of a sum of five uniforms; mostly drawn by the
    direct way at the outer ones, by trying at the first."""
    mean = 0.2
    recipe = Recipe(
        tasks=5,
        utilisation=total,
        tolerance=tolerance,
        utilisations=name,
        mean=mean,
        attempts=10**6,
    )
    drawn = sample_utilisations(recipe, seed=9, count=4000)
    sums = drawn.sum(axis=1)
    assert np.abs(sums - total).max() <= tolerance + 1e-12
    edges = np.linspace(total - tolerance, total + tolerance, 201)
    steps = np.diff([float(irwin_hall(5, Fraction(float(x)))) for x in edges])
    if name == "exponential":
        steps *= np.exp(-(edges[:-1] + edges[1:]) / 2 / mean)
    law = np.cumsum(steps) / steps.sum()
    assert distance(sums, edges[1:], law) < KS_LIMIT


def test_the_exponential_given_its_sum_is_the_uniform_law_of_the_slice():
    """What docs/reference/generators.md says of the thesis's distribution."""
    recipe = Recipe(tasks=6, utilisation=2.0, utilisations="exponential", tolerance=1e-4, mean=0.11)
    drawn = sample_utilisations(recipe, seed=10, count=6000)
    law = Fraction(2)
    assert_follows(drawn[:, 3], lambda x: marginal(6, law, Fraction(0), Fraction(1), x), 0.0, 1.0)


def counted(periods: str, low: int, high: int, **others: Any) -> Counter[int]:
    recipe = Recipe(
        tasks=5, periods=periods, period_low=low, period_high=high, tolerance=9.0, **others
    )
    drawn = columns(generate(recipe, seed=11, count=8000), 5)["period"]
    return Counter(map(int, drawn.ravel()))


def assert_counts(found: Counter[int], law: dict[int, float]) -> None:
    assert set(found) <= set(law)
    total = found.total()
    chi = sum((found[t] - total * p) ** 2 / (total * p) for t, p in law.items())
    assert chi < len(law) - 1 + SIGMAS * sqrt(2 * (len(law) - 1))


def test_uniform_and_log_uniform_periods():
    multiples = range(20, 81, 5)
    assert_counts(
        counted("uniform", 18, 83, granularity=5), dict.fromkeys(multiples, 1 / len(multiples))
    )
    span = log(251 / 10)
    assert_counts(counted("log-uniform", 10, 250), {t: log((t + 1) / t) / span
                                                    for t in range(10, 251)})  # fmt: skip


def test_goossens_macq_periods_are_the_divisors_of_one_number():
    # 83160 has the most divisors (128) of all numbers below 100,000.
    divisors = [t for t in range(10, 251) if 83160 % t == 0]
    assert_counts(counted("goossens-macq", 10, 250), dict.fromkeys(divisors, 1 / len(divisors)))
    twelfths = [t for t in range(12, 251, 12) if 720 % (t // 12) == 0]
    assert_counts(
        counted("goossens-macq", 10, 250, granularity=12, lcm_limit=12 * 720 + 1),
        dict.fromkeys(twelfths, 1 / len(twelfths)),
    )


def test_harmonic_periods_divide_one_another():
    recipe = Recipe(tasks=7, periods="harmonic", granularity=2, tolerance=9.0)
    drawn = columns(generate(recipe, seed=12, count=500), 7)["period"]
    assert drawn.min() >= 10 and drawn.max() <= 250 and (drawn % 2 == 0).all()
    assert max(len(set(row)) for row in drawn.tolist()) >= 4
    for row in np.sort(drawn, axis=1).tolist():
        assert all(b % a == 0 for a, b in pairwise(row))


def in_turn(candidates: range, limit: int, tasks: int) -> dict[tuple[int, ...], float]:
    """The rule itself: each draw uniform, drawn again until the LCM is below the limit."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(tasks):
        following = {}
        for drawn, share in law.items():
            kept = [t for t in candidates if lcm(*drawn, t) < limit]
            for t in kept:
                following[(*drawn, t)] = share / len(kept)
        law = following
    return law


@pytest.mark.parametrize(
    ("low", "high", "limit"), [(2, 6, 13), (3, 9, 60), (2, 9, 9), (4, 7, 10_000), (2, 8, 25)]
)
def test_lcm_limited_periods_follow_the_rule(low, high, limit):
    law = in_turn(range(low, high + 1), limit, 3)
    recipe = Recipe(
        tasks=3, periods="lcm-limited", period_low=low, period_high=high, lcm_limit=limit,
        utilisation=1.0, tolerance=9.0,
    )  # fmt: skip
    drawn = columns(generate(recipe, seed=13, count=20_000), 3)["period"]
    numbers = {periods: i for i, periods in enumerate(law)}
    found = Counter(numbers[tuple(row)] for row in drawn.tolist())
    assert_counts(found, {numbers[periods]: share for periods, share in law.items()})


@pytest.mark.parametrize(
    ("deadlines", "low", "high"),
    [("implicit", None, None), ("constrained", None, None), ("constrained", 0.5, 0.75),
     ("arbitrary", None, None), ("arbitrary", 0.5, 3.0)],
)  # fmt: skip
@pytest.mark.parametrize("offsets", ["zero", "uniform"])
def test_deadlines_and_offsets(deadlines, low, high, offsets):
    recipe = Recipe(deadlines=deadlines, deadline_low=low, deadline_high=high, offsets=offsets)
    found = columns(generate(recipe, seed=15, count=1000), 10)
    c, t, d, o = (found[name] for name in ("wcet", "period", "deadline", "offset"))
    assert (c <= d).all() and (c <= t).all() and (c >= 1).all()
    if deadlines == "implicit":
        assert (d == t).all()
    elif deadlines == "constrained":
        place = ((d - c) / np.maximum(t - c, 1))[t > c]
        # Rounded to the next whole number inside, or to the nearer end where there is none.
        slack = (1 / np.maximum(t - c, 1))[t > c]
        assert (place >= (low or 0)).all() and (place <= (high or 1) + slack).all()
        assert abs(place[slack < 0.02].mean() - ((low or 0) + (high or 1)) / 2) < 0.02
    else:
        assert (d <= np.maximum((high or 2) * t, c)).all()
        assert (d >= np.minimum((low or 0) * t, t)).all() and (d > t).mean() > 0.3
    assert (o == 0).all() if offsets == "zero" else ((o >= 0) & (o < t)).all()
    assert offsets == "zero" or abs((o / t)[t > 50].mean() - 0.5) < 0.02


@pytest.mark.parametrize(
    ("law", "digest"),
    [((2, 0.25, 1, 1, 15), "e1383ca306c26b05"), ((8, 0.5, 4, 15, 100), "943cb5ec7aa1bc18"),
     ((1, 1.0, 9, 5, 1280), "7f05487e50a6ad39")],
)  # fmt: skip
def test_sections_follow_their_law_and_leave_the_tasks_alone(law, digest):
    locks, share, requests, low, high = law
    plain = Recipe(tasks=8, periods="log-uniform", period_low=10**6, period_high=10**7)
    shared = evolve(plain, locks=locks, lock_share=share, requests=requests, section_low=low,
                    section_high=high)  # fmt: skip
    batch = generate(shared, seed=7, count=400)
    assert (batch.tasks == generate(plain, seed=7, count=400).tasks).all()
    for found, least, most in zip(batch.sections.T[2:4], (1, low), (requests, high), strict=True):
        spread = (most - least + 1) / sqrt(12 * len(found))
        assert abs(found.mean() - (least + most) / 2) <= SIGMAS * spread
        assert found.min() >= 1 and found.max() <= most
    users = len(batch.sections) / (3200 * locks)
    assert abs(users - share) <= SIGMAS * sqrt(share * (1 - share) / (3200 * locks))
    assert sha256(batch.sections[:, :4].tobytes()).hexdigest()[:16] == digest, "the same everywhere"


def test_execution_times_are_the_nearest_whole_number_but_at_least_one():
    recipe = Recipe(tasks=12, utilisation=1.1, processors=2)
    shares = sample_utilisations(recipe, seed=16, count=50)
    for i, system in enumerate(shares):
        found = columns(generate(evolve(recipe, tolerance=9.0), seed=16, count=1, first=i), 12)
        period = found["period"][0]
        wanted = np.maximum(np.floor(system * period + 0.5), 1)
        assert (found["wcet"][0] == wanted).all()


#: SHA-256 of the first systems: a seed means the same on every machine, compiler and version. A
#: change of these is a change of every study ever made: it belongs into the changelog.
DIGESTS = {
    "bimodal/goossens-macq": "2f2ee5078e252603",
    "cfs/harmonic": "6dfb4af115f85e48",
    "exponential/lcm-limited": "bda0efc8461b34a9",
    "randfixedsum/log-uniform": "fee8211b804981e1",
    "uniform/uniform": "648108ec64b67348",
    "uunifast/goossens-macq": "34f18fff8a36f0c7",
    "uunifast-discard/harmonic": "daffe1e785d37c52",
}


def digest(utilisations: str, periods: str) -> str:
    # tolerance 0.3: sums of independent utilisations are also met by trying.
    recipe = Recipe(
        tasks=7, utilisation=2.6, utilisations=utilisations, periods=periods, tolerance=0.3,
        deadlines="arbitrary", offsets="uniform",
    )  # fmt: skip
    return sha256(generate(recipe, seed=20, count=100).tasks.tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", DIGESTS)
def test_a_seed_means_the_same_systems_everywhere(name):
    assert digest(*name.split("/")) == DIGESTS[name]


def test_every_distribution_is_pinned_and_described():
    pinned = {word for name in DIGESTS for word in name.split("/")}
    assert pinned == {*utilisation_samplers(), *period_samplers()}
    assert all(facts.title for facts in utilisation_samplers().values())
    assert {name for name, facts in utilisation_samplers().items() if facts.fixed_sum} == {
        "uunifast", *UNIFORM_OVER_THE_SLICE,
    }  # fmt: skip


def test_every_wrong_field_of_a_recipe_is_told_at_once():
    with pytest.raises(UsageError) as refused:
        Recipe(
            processors=0, tasks="ten", utilisation=-1.0, utilisations="uunifest", low=0.9, high=0.1,
            mean=float("nan"), heavy_share=2.0, periods="fixed", period_low=0, period_high=1 << 61,
            granularity=0, lcm_limit=1 << 70, deadlines="none", deadline_low=0.5,
            deadline_high=0.1, offsets="some", tolerance=-0.1, attempts=0,
        )  # fmt: skip
    for name in (
        *(
            "processors is 0",
            "tasks is \"?'?ten",
            "utilisation is -1",
            'utilisations is "uunifest"',
        ),
        *("low is above high", "mean is nan", "heavy_share is 2", 'periods is "fixed"'),
        *("period_low is 0", "period_high is", "granularity is 0", "lcm_limit is"),
        *('deadlines is "none"', "deadline_low is above", 'offsets is "some"', "tolerance is -0.1"),
        "attempts is 0",
    ):
        assert refused.match(name), name


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tasks": 4, "utilisation": 9.0}, "utilisation 9 of 4 tasks needs tasks above 1"),
        ({"low": 0.3}, "utilisation 2 of 10 tasks needs tasks below 0.3"),
        ({"high": 0.1, "utilisations": "uniform"}, "needs tasks above 0.1"),
        ({"tasks": 80, "utilisation": 0.2}, "is below 0.32, which C = 1 makes"),
        ({"period_low": 7, "period_high": 9, "granularity": 10}, "no multiple of 10 is within"),
        ({"period_low": 100_000, "period_high": 200_000}, "is below the limit of the hyper-period"),
        ({"period_high": 1 << 40, "lcm_limit": 1 << 50}, "at most 2\\^20 periods"),
        ({"periods": "goossens-macq", "period_low": 97, "period_high": 98}, "divides 83160"),
        ({"utilisations": "bimodal", "tasks": 80}, "sum to 33.2 on average, too far from 2"),
        ({"tasks": 60, "utilisation": 57.0, "utilisations": "uunifast-discard", "attempts": 99},
         "none of 99 vectors of UUniFast is within .* have the same law"),
        ({"utilisations": "cfs", "tasks": 2000, "utilisation": 900.0}, "too many tasks for cfs"),
        ({"tasks": 3, "period_high": 10, "utilisation": 1.01, "tolerance": 0.001, "attempts": 99},
         "none of 99 draws of 3 tasks has utilisation 1.01 within 0.001"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_the_reason(fields, reason):
    with pytest.raises(SynthesisError, match=reason):
        generate(Recipe(**fields), seed=1, count=1)


@pytest.mark.parametrize("numbers", [{"seed": -1, "count": 1}, {"seed": 2**64, "count": 1},
                                     {"seed": 1, "count": -1}, {"seed": 1, "count": 1, "first": -1},
                                     {"seed": 1, "count": 2, "first": 2**64 - 1}])  # fmt: skip
def test_numbers_out_of_range(numbers):
    with pytest.raises(UsageError):
        generate(Recipe(), **numbers)


def test_large_systems_and_periods():
    many = Recipe(processors=64, tasks=1000, utilisation=40.0, periods="uniform", period_high=10**6)
    assert abs(float(generate(many, seed=22, count=1).system(0).utilisation) - 40) <= 1.28
    long = Recipe(periods="log-uniform", period_low=1, period_high=1 << 60, offsets="uniform",
                  tolerance=1.0)  # fmt: skip
    drawn = columns(generate(long, seed=22, count=300), 10)
    assert drawn["period"].max() > 1 << 55 and (drawn["wcet"] <= drawn["period"]).all()
    assert len(generate(Recipe(), seed=2**64 - 1, count=1, first=2**64 - 1)) == 1


def test_generate_writes_files_that_simulate_reads(tmp_path, capsys):
    words = ("sched", "generate", "--processors", "4", "--tasks", "8", "--utilisation", "3.2",
             "--set", "locks=2")  # fmt: skip
    out = tmp_path / "systems"
    assert main((*words, "--count", "3", "--seed", "5", "--out", str(out))) == 0
    assert capsys.readouterr().out == f"{out}: system-00000.json to system-00002.json\n"
    expected = generate(Recipe(tasks=8, utilisation=3.2, locks=2), seed=5, count=3)
    for i in range(3):
        system = read_task_system(out / f"system-{i:05d}.json")
        assert evolve(system, name="") == expected.system(i)
        assert system.name == f"randfixedsum, lcm-limited, U 3.2, seed 5, system {i}"
    assert main((*words, "--out", str(out))) == 2
    assert "1 of the files exist" in capsys.readouterr().err
    assert main((*words, "--seed", "5", "--set", "first=2", "--count", "2", "--out", str(out),
                 "--force")) == 0  # fmt: skip
    assert evolve(read_task_system(out / "system-00002.json"), name="") == expected.system(2)


def test_generate_prints_one_system_as_a_file_and_several_as_lines(capsys):
    assert main(("sched", "generate", "--seed", "5")) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(("sched", "generate", "--seed", "5", "--count", "4")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and json.loads(lines[0]) == one


def test_generate_lists_distributions_and_says_what_is_wrong_in_one_line(capsys):
    assert main(("sched", "generate", "--list")) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in (*utilisation_samplers(), *period_samplers()))
    assert main(("sched", "generate", "--tasks", "4", "--utilisation", "9")) == 3
    assert "utilisation 9 of 4 tasks needs tasks above 1" in capsys.readouterr().err
    assert main(("sched", "generate", "--tasks", "0", "--set", "utilisation-min=2")) == 2
    error = capsys.readouterr().err
    assert "tasks is 0, must be 1 to 65535" in error and "low is 2" in error
