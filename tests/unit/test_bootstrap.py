"""Truth: printed tables of Student's t, the published splitmix64, a loop, and Clopper & Pearson."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deadbeat.analysis import bootstrap
from deadbeat.analysis.bootstrap import (
    arm_factor,
    mean_interval,
    miss_interval,
    random_indices,
    ratio_interval,
    seed_of,
    student_half_width,
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


def test_resampling_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(1.0, 1.0, 50)
    whole = mean_interval(values, seed=3, resamples=100)
    # Pieces of seven resamplings; the last one holds two.
    monkeypatch.setattr(bootstrap, "_CHUNK_BYTES", 8 * 50 * 7)
    assert mean_interval(values, seed=3, resamples=100) == whole


def hall(width: float, skewness: float, sets: int) -> float:
    """Hall's transformation of an error in standard deviations: what has no skewness."""
    cubic = skewness**2 * width**3 / 27
    return width + skewness * width**2 / 3 + cubic + skewness / (6 * sets)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.1, 1.2, 1.1, 4.0],
        [5.0, 5.1, 4.9, 5.0, 5.2, 1.0, 4.8],
        np.exp(np.random.default_rng(2).standard_normal(40)).tolist(),
    ],
)
def test_an_end_lies_where_halls_transformation_is_students_quantile(values: list[float]) -> None:
    known, sets = np.array(values), len(values)
    spread, mean = known.std(), known.mean()
    skewness = ((known - mean) ** 3).mean() / spread**3
    bound = t_quantile(0.975, sets - 1) / math.sqrt(sets)
    longer = bootstrap._without_skewness(known - mean, 0.025)
    # The standard deviation of n - 1 degrees is that with which t is formed.
    sample_spread = known.std(ddof=1)
    assert hall(longer[0] / sample_spread, skewness, sets) == pytest.approx(bound)
    assert hall(-longer[1] / sample_spread, skewness, sets) == pytest.approx(-bound)
    found = mean_interval(known, seed=1)
    assert found is not None
    assert found[0] <= max(known.min(), mean - longer[0])
    assert found[1] >= mean + longer[1]


def test_the_arm_on_the_side_of_the_long_tail_is_longer() -> None:
    values = np.array([1.0, 1.0, 1.1, 1.1, 1.2, 1.2, 1.3, 3.0])
    found, mirrored = mean_interval(values, seed=1), mean_interval(10 - values, seed=1)
    assert found is not None
    assert mirrored is not None
    assert found[1] - values.mean() > 2 * (values.mean() - found[0])
    assert (10 - values.mean()) - mirrored[0] == pytest.approx(found[1] - values.mean(), rel=0.05)


@pytest.mark.parametrize("values", [[1.0, 1.6], [1.1, 1.2, 1.1], [1.0, 1.0, 1.1, 3.0]])
def test_few_sets_are_not_told_to_be_skewed(values: list[float]) -> None:
    # Of three sets two are always nearer to each other: arms for that skewness would be absurd.
    known = np.array(values)
    found = mean_interval(known, seed=1)
    assert found is not None
    half = student_half_width(known)
    assert found[0] <= max(0.0, known.mean() - half)
    assert known.mean() + half <= found[1] <= known.mean() + 1.5 * half


def test_the_end_of_a_mean_is_not_below_what_all_sets_suffered() -> None:
    values = np.array([36.0, 43.2, 4.3, 2.9, 2.5, 21.0])
    found = mean_interval(values, seed=1)
    assert found is not None
    assert found[0] == 2.5
    # Five sets lie above their median with probability 3 %, more than a tail has.
    five = mean_interval(values[:5], seed=1)
    assert five is not None
    assert five[0] < 2.5
    # Nor is it known where sets are skewed to the left: their mean lies below their median.
    left = mean_interval(np.array([1.0, 1.0, 1.2, 9.0, 9.0, 9.0]), seed=1)
    assert left is not None
    assert left[0] < 1.0


def test_students_width_of_a_ratio_is_that_of_its_residuals() -> None:
    values = np.array([1.0, 2.0, 4.0])
    expected = 4.3027 * values.std(ddof=1) / math.sqrt(3)
    assert student_half_width(values) == pytest.approx(expected, rel=1e-4)
    same = student_half_width(values * 500, np.full(3, 500.0))
    assert same == pytest.approx(expected, rel=1e-4)
    # 10 of 100, 40 of 200, 10 of 300: ratio 0.1, off by 0, 20 and -20 of 200 releases each.
    above, below = np.array([10.0, 40.0, 10.0]), np.array([100.0, 200.0, 300.0])
    assert student_half_width(above, below) == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)


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
