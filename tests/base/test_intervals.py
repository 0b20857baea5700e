"""Truth: Hall's transformation, printed tables, Clopper & Pearson, Zou & Donner's example."""

import math

import numpy as np
import pytest

from deadbeat.base.stats.binomial import at_most
from deadbeat.base.stats.intervals import (
    clopper_pearson,
    difference,
    mean_interval,
    own_interval,
    share_over_sets,
    student_half_width,
    t_quantile,
)
from deadbeat.base.stats.proportions import wilson
from deadbeat.base.stats.seeds import seed_of


def test_one_set_has_no_interval_over_sets() -> None:
    assert mean_interval(np.array([1.5])) is None
    assert mean_interval(np.array([])) is None
    assert share_over_sets(np.array([3.0]), np.array([10.0])) is None


def test_equal_sets_have_a_point_interval() -> None:
    assert mean_interval(np.full(5, 1.25)) == (1.25, 1.25)


@pytest.mark.parametrize("values", [[1.0, 1.6], [1.1, 1.2, 1.1], [1.0, 1.0, 1.1, 3.0]])
def test_few_sets_have_students_interval(values: list[float]) -> None:
    # Of three sets two are always nearer to each other: arms for that skewness would be absurd.
    known = np.array(values)
    half = student_half_width(known)
    assert mean_interval(known) == pytest.approx(
        (max(0.0, known.mean() - half), known.mean() + half)
    )


def hall(width: float, skewness: float, sets: int) -> float:
    """Hall's transformation of an error in standard deviations: what has no skewness."""
    cubic = skewness**2 * width**3 / 27
    return width + skewness * width**2 / 3 + cubic + skewness / (6 * sets)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.1, 1.2, 1.1, 4.0],
        [5.0, 5.1, 4.9, 5.0, 5.2, 8.0, 4.8],
        np.exp(np.random.default_rng(2).standard_normal(40)).tolist(),
    ],
)
def test_the_arm_of_a_long_tail_ends_where_halls_transformation_is_students_quantile(
    values: list[float],
) -> None:
    known, sets = np.array(values), len(values)
    mean, found = known.mean(), mean_interval(known)
    skewness = ((known - mean) ** 3).mean() / known.std() ** 3
    # The standard deviation of n - 1 degrees is that with which t is formed.
    width = (found[1] - mean) / known.std(ddof=1)
    bound = t_quantile(0.975, sets - 1) / math.sqrt(sets)
    assert hall(-width, skewness, sets) == pytest.approx(-bound)


def test_a_tail_below_lengthens_no_arm() -> None:
    values = np.array([5.0, 5.1, 4.9, 5.0, 5.2, 1.0, 4.8])
    half = student_half_width(values)
    assert mean_interval(values) == pytest.approx((values.mean() - half, values.mean() + half))


def test_the_end_of_a_mean_is_not_below_what_all_sets_suffered() -> None:
    values = np.array([36.0, 43.2, 4.3, 2.9, 2.5, 21.0])
    found = mean_interval(values)
    assert found[0] == pytest.approx(2.5)
    # Five sets lie above their median with probability 3 %, more than a tail has.
    five = mean_interval(values[:5])
    assert five[0] < 2.5
    # Nor is it known where sets are skewed to the left: their mean lies below their median.
    left = mean_interval(np.array([1.0, 1.0, 1.2, 9.0, 9.0, 9.0]))
    assert left[0] < 1.0


def test_an_error_that_sets_share_is_added_in_quadrature() -> None:
    values = np.array([1.0, 1.2, 1.1])
    half = student_half_width(values)
    both = math.hypot(half, 0.05 * 1.1)
    assert mean_interval(values, common=0.05) == pytest.approx((1.1 - both, 1.1 + both))
    # Of many sets that agree it is all that is left.
    assert mean_interval(np.full(50, 2.0), common=0.1) == pytest.approx((1.8, 2.2))
    assert own_interval(2.0, 0.0, 30, common=0.1) == pytest.approx((1.8, 2.2))


def test_one_set_has_an_interval_of_its_own_rounds() -> None:
    assert own_interval(1.5, 0.1, 10) == pytest.approx((1.5 - 0.22622, 1.5 + 0.22622), rel=1e-4)
    assert own_interval(1.5, None, 1) is None


@pytest.mark.parametrize(("sets", "bound"), [(1, 0.95), (10, 0.2589), (30, 0.0950), (59, 0.0495)])
def test_no_event_is_bounded_by_the_number_of_trials(sets: int, bound: float) -> None:
    # One-sided 95 % bounds of Clopper and Pearson for no success in n trials: 1 - 0.05 ** (1 / n).
    released = np.full(sets, 100_000.0)
    assert share_over_sets(np.zeros(sets), released) == (0.0, pytest.approx(bound, abs=1e-4))
    assert clopper_pearson(0, sets) == (0.0, pytest.approx(bound, abs=1e-4))
    assert clopper_pearson(sets, sets) == (pytest.approx(1 - bound, abs=1e-4), 1.0)
    assert share_over_sets(released, released) == (pytest.approx(1 - bound, abs=1e-4), 1.0)


def test_sets_without_a_release_say_nothing_about_misses() -> None:
    assert share_over_sets(np.array([0.0]), np.array([0.0])) is None


def test_some_misses_have_students_interval_of_their_residuals() -> None:
    # 10 of 100, 40 of 200, 10 of 300: ratio 0.1, off by 0, 20 and -20 of 200 releases each.
    misses, released = np.array([10.0, 40.0, 10.0] * 10), np.array([100.0, 200.0, 300.0] * 10)
    half = 2.0452 * 0.1 * math.sqrt(2 / 3 / 29)
    found = share_over_sets(misses, released)
    assert found == pytest.approx((0.1 - half, 0.1 + half), rel=1e-4)


@pytest.mark.parametrize(("successes", "trials"), [(1, 10), (4, 40), (85, 2377), (9, 10)])
def test_clopper_and_pearsons_ends_leave_a_fortieth_on_each_side(successes: int, trials: int):
    low, high = clopper_pearson(successes, trials)
    assert at_most(successes, trials, high) == pytest.approx(0.025, rel=1e-6)
    assert at_most(successes - 1, trials, low) == pytest.approx(0.975, rel=1e-6)


def test_clopper_and_pearsons_interval_takes_effective_numbers() -> None:
    between = clopper_pearson(4.5, 45.0)
    for end in (0, 1):
        ends = sorted((clopper_pearson(4, 40)[end], clopper_pearson(5, 50)[end]))
        assert ends[0] <= between[end] <= ends[1]
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_the_interval_of_a_difference_takes_the_arms_that_face_each_other() -> None:
    # Newcombe, Statistics in Medicine 17, 1998, table II: 56 of 70 less 48 of 80, method 10.
    low, high = difference(0.8, wilson(56, 70), 0.6, wilson(48, 80))
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))


@pytest.mark.statistical
@pytest.mark.parametrize("sets", [3, 6, 10, 30])
def test_coverage_of_normal_sets_is_95_percent(sets: int) -> None:
    random = np.random.default_rng(20260101)
    covered = 0
    for _ in range(4000):
        found = mean_interval(random.normal(1.0, 0.05, sets))
        covered += found[0] <= 1.0 <= found[1]
    # Four thousand trials know the coverage to +- 0.007 (two standard errors).
    assert covered / 4000 == pytest.approx(0.955, abs=0.015)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.706), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (10, 2.2281), (30, 2.0423),
     (120, 1.9799), (1000, 1.9623), (2000, 1.9612)],
)  # fmt: skip
def test_t_quantiles_are_those_of_the_printed_table(degrees: int, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, rel=3e-5)


def test_a_seed_is_of_all_its_parts() -> None:
    assert seed_of(1, 2, "a") == seed_of(1, 2, "a") != seed_of(1, 2, "b")


def test_students_width_of_a_ratio_is_that_of_its_residuals() -> None:
    values = np.array([1.0, 2.0, 4.0])
    expected = 4.3027 * values.std(ddof=1) / math.sqrt(3)
    assert student_half_width(values) == pytest.approx(expected, rel=1e-4)
    same = student_half_width(values * 500, np.full(3, 500.0))
    assert same == pytest.approx(expected, rel=1e-4)
    # 10 of 100, 40 of 200, 10 of 300: ratio 0.1, off by 0, 20 and -20 of 200 releases each.
    above, below = np.array([10.0, 40.0, 10.0]), np.array([100.0, 200.0, 300.0])
    assert student_half_width(above, below) == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
