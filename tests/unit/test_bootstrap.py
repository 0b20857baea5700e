"""Truth: printed tables of Student's t, the published splitmix64, a loop, and Clopper & Pearson."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deadbeat.analysis.bootstrap import (
    arm_factor,
    mean_interval,
    miss_interval,
    random_indices,
    ratio_interval,
    seed_of,
    t_quantile,
)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.706), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (10, 2.2281), (30, 2.0423),
     (120, 1.9799), (1000, 1.9623), (2000, 1.9612)],
)  # fmt: skip
def test_t_quantiles_are_those_of_the_printed_table(degrees: int, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, rel=3e-5)


def test_random_numbers_are_splitmix64() -> None:
    # First outputs for seed 0, S. Vigna's splitmix64.c.
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    drawn = random_indices(3, below=2**32, seed=0)
    assert drawn.tolist() == [value >> 32 for value in published]
    assert random_indices(1, below=2**32, seed=0, first=2).tolist() == drawn[2:].tolist()


def splitmix64(seed: int, number: int) -> int:
    mask = 2**64 - 1
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_the_interval_is_that_of_a_loop() -> None:
    above, below = [1.0, 5.0, 2.0, 8.0, 3.0], [10.0, 20.0, 10.0, 40.0, 5.0]
    seed, resamples, sets = 2**63 + 5, 50, 5
    statistics = []
    for row in range(resamples):
        drawn = [(splitmix64(seed, row * sets + i) >> 32) * sets >> 32 for i in range(sets)]
        statistics.append(sum(above[i] for i in drawn) / sum(below[i] for i in drawn))
    statistics.sort()
    # Quantile 0.025 of 50 values lies at place 0.025 * 49, between the second and the third.
    quantile = statistics[1] + 0.225 * (statistics[2] - statistics[1])
    centre = 19 / 85
    arm = math.sqrt(5 / 4) * 2.7764451 / 1.9599640 * (centre - quantile)
    found = ratio_interval(np.array(above), np.array(below), seed=seed, resamples=resamples)
    assert found is not None
    assert found[0] == pytest.approx(max(0.0, centre - arm))


def test_few_sets_lengthen_the_arms() -> None:
    assert arm_factor(10**6, 0.025) == pytest.approx(1.0, abs=1e-4)
    assert arm_factor(10, 0.025) == pytest.approx(math.sqrt(10 / 9) * 2.2622 / 1.95996, rel=1e-4)
    assert arm_factor(2, 0.025) == pytest.approx(math.sqrt(2) * 12.706 / 1.95996, rel=1e-4)


def test_one_set_has_no_interval() -> None:
    assert mean_interval(np.array([1.5]), seed=1) is None
    assert mean_interval(np.array([]), seed=1) is None
    assert miss_interval(np.array([3.0]), np.array([10.0]), seed=1) is None


def test_equal_sets_have_a_point_interval() -> None:
    assert mean_interval(np.full(5, 1.25), seed=1) == (1.25, 1.25)


def test_the_seed_decides_and_nothing_else() -> None:
    values = np.random.default_rng(1).normal(size=12)
    assert mean_interval(values, seed=4) == mean_interval(values, seed=4)
    assert mean_interval(values, seed=4) != mean_interval(values, seed=5)
    assert seed_of(1, 2, "a") == seed_of(1, 2, "a") != seed_of(1, 2, "b")


def test_resampling_in_pieces_changes_nothing() -> None:
    # 1000 resamplings of 9000 sets take three pieces of 32 MB of indices.
    sets, resamples = 9000, 1000
    many = np.random.default_rng(1).normal(1.0, 1.0, sets)
    drawn = random_indices(sets * resamples, below=sets, seed=3).reshape(resamples, sets)
    arms = np.quantile(many[drawn].mean(axis=1), [0.025, 0.975]) - many.mean()
    expected = many.mean() + arm_factor(sets, 0.025) * arms
    assert mean_interval(many, seed=3, resamples=resamples) == pytest.approx(tuple(expected))


@pytest.mark.parametrize(("sets", "bound"), [(1, 0.95), (10, 0.2589), (30, 0.0950), (59, 0.0495)])
def test_no_miss_is_bounded_by_the_number_of_sets(sets: int, bound: float) -> None:
    # One-sided 95 % bounds of Clopper and Pearson for no success in n trials: 1 - 0.05 ** (1 / n).
    released = np.full(sets, 100_000.0)
    low_high = miss_interval(np.zeros(sets), released, seed=1)
    assert low_high == (0.0, pytest.approx(bound, abs=1e-4))


def test_nothing_but_misses_is_bounded_from_below() -> None:
    assert miss_interval(np.full(10, 7.0), np.full(10, 7.0), seed=1) == (
        pytest.approx(0.7411, abs=1e-4),
        1.0,
    )


def test_sets_without_a_release_say_nothing_about_misses() -> None:
    assert miss_interval(np.array([0.0]), np.array([0.0]), seed=1) is None


def test_some_misses_are_resampled_by_set() -> None:
    misses, released = np.array([0.0, 0, 0, 40]), np.array([100.0] * 4)
    low_high = miss_interval(misses, released, seed=1)
    assert low_high is not None
    assert low_high[0] == 0.0
    assert 0.2 < low_high[1] <= 1.0


@pytest.mark.statistical
@pytest.mark.parametrize("sets", [3, 5, 10, 30])
def test_coverage_of_normal_sets_is_95_percent(sets: int) -> None:
    random = np.random.default_rng(20260101)
    covered = 0
    for trial in range(2000):
        found = mean_interval(random.normal(1.0, 0.05, sets), seed=trial, resamples=800)
        assert found is not None
        covered += found[0] <= 1.0 <= found[1]
    # Two thousand trials know the coverage to +- 0.01 (two standard errors).
    assert covered / 2000 == pytest.approx(0.95, abs=0.02)
