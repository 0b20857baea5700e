"""Truth: worked by hand, brute force over all sign patterns, published examples."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deadbeat.stats.permutation import (
    SIGN_FLIP,
    STUDENT,
    Estimate,
    Spread,
    _digamma,
    _inverse_trigamma,
    _trigamma,
    cell_method,
    common_spread,
    holm,
    resolution,
    sign_flip,
    student,
    units_needed,
)


def flips(values: list[float], **options: int) -> Estimate:
    data = np.array(values)
    chosen = {"resamples": 999, "seed": 1, **options}
    return sign_flip(data, np.ones(len(data)), np.arange(len(data)), **chosen)


def test_three_values_by_hand() -> None:
    # Sums over the eight patterns of 1, 2, 3: 6, 4, 2, 0 and their negatives; |sum| >= 6 in two.
    found = flips([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.p == 2 / 8
    # 4 in 8 patterns reach |sum| >= 4: -1 + 2 + 3 and its complement, and the two above.
    assert flips([-1.0, 2.0, 3.0]).p == 4 / 8


def test_the_interval_is_of_subset_means_by_hand() -> None:
    # Six values: 63 subsets; 2.5 % of 64 is 1.6, so the first and the last subset mean remain.
    found = flips([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (found.low, found.high) == (1.0, 6.0)
    # 5 % of 64 is 3.2: the third from either end. Means: 1, 1.5, 2 (twice), ... and 6, 5.5, 5.
    assert (found.low90, found.high90) == (2.0, 5.0)


def test_too_few_values_have_no_interval() -> None:
    found = flips([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.low == -math.inf and found.high == math.inf
    assert math.isfinite(found.low90)


@pytest.mark.parametrize("seed", range(5))
def test_exact_p_against_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    values, weights = random.normal(0.3, 1, 9), random.uniform(0.5, 2, 9)
    unit = np.array([0, 0, 1, 2, 2, 3, 4, 5, 5])
    found = sign_flip(values, weights, unit, resamples=999, seed=1)
    weights = weights / weights.sum()
    seen = abs(float((weights * values).sum()))
    reached = [
        abs(sum(signs[u] * w * v for u, w, v in zip(unit, weights, values, strict=True)))
        >= seen - 1e-12
        for signs in itertools.product((1, -1), repeat=6)
    ]
    assert found.p == pytest.approx(sum(reached) / 64, abs=1e-15)


@pytest.mark.parametrize("shift", [-0.2, 0.05, 0.4])
def test_the_interval_inverts_the_test(shift: float) -> None:
    values = np.random.default_rng(3).normal(0.2, 0.5, 10)
    whole = flips(values.tolist())
    inside = whole.low < shift < whole.high
    assert (flips((values - shift).tolist()).p > 0.05) == inside


def test_many_values_are_drawn_and_stay_the_same() -> None:
    values = np.random.default_rng(4).normal(0.1, 0.2, 40).tolist()
    first, again, other = flips(values), flips(values), flips(values, seed=2)
    assert first == again
    assert first.p != other.p or first.low != other.low
    assert first.p == pytest.approx(student(np.array(values)).p, abs=0.02)
    assert first.low == pytest.approx(student(np.array(values)).low, abs=0.02)


def test_no_random_p_is_zero() -> None:
    assert flips([1.0] * 30).p == 1 / 1000


def test_zero_differences_are_no_evidence() -> None:
    assert flips([0.0] * 8).p == 1.0
    assert flips([0.0, 0.0, 0.0, 1.0]).p == 1.0


def test_student_against_a_published_example() -> None:
    # W. S. Gosset, "The probable error of a mean", Biometrika 6, 1908: sleep, the two drugs.
    differences = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
    found = student(differences)
    assert found.mean == pytest.approx(1.58)
    assert found.mean / found.error == pytest.approx(4.0621, abs=1e-4)
    assert found.p == pytest.approx(0.00283, abs=1e-5)
    assert (found.low, found.high) == pytest.approx((0.7001, 2.4599), abs=1e-4)


def test_student_of_one_value_knows_nothing() -> None:
    found = student(np.array([0.5]))
    assert found.p == 1.0 and found.low == -math.inf


def test_student_of_equal_values() -> None:
    assert student(np.zeros(4)).p == 1.0
    assert student(np.full(4, 0.5)).p == 0.0


def test_polygamma_against_known_values() -> None:
    # Abramowitz & Stegun, tables 6.1 and 6.2: psi(1) = -gamma, psi'(1) = pi**2 / 6.
    assert _digamma(1.0) == pytest.approx(-0.5772156649, abs=1e-9)
    assert _digamma(2.5) == pytest.approx(0.7031566406, abs=1e-9)
    assert _trigamma(1.0) == pytest.approx(math.pi**2 / 6, abs=1e-9)
    assert _trigamma(0.5) == pytest.approx(math.pi**2 / 2, abs=1e-9)
    assert _inverse_trigamma(_trigamma(3.7)) == pytest.approx(3.7, rel=1e-6)


def test_cells_that_are_alike_share_their_variance() -> None:
    random = np.random.default_rng(6)
    found = common_spread([random.normal(0, 0.02, 6) for _ in range(200)])
    assert found is not None
    assert math.sqrt(found.variance) == pytest.approx(0.02, rel=0.05)
    assert found.degrees > 50


def test_cells_that_differ_do_not() -> None:
    # Variances drawn with 4 degrees of freedom around 0.02**2.
    random = np.random.default_rng(7)
    deviations = 0.02 * np.sqrt(4 / random.chisquare(4, 2000))
    found = common_spread([random.normal(0, deviation, 8) for deviation in deviations])
    assert found is not None
    assert found.degrees == pytest.approx(4, rel=0.2)
    assert math.sqrt(found.variance) == pytest.approx(0.02, rel=0.05)


def test_few_cells_say_nothing_of_each_other() -> None:
    assert common_spread([np.array([1.0, 2.0])] * 3) is None
    assert common_spread([np.array([1.0, 1.0])] * 9) is None


def test_the_moderated_t_by_hand() -> None:
    # s**2 = 1 with 2 degrees, prior 4 with 6: (6 x 4 + 2 x 1) / 8 = 3.25.
    found = student(np.array([1.0, 2.0, 3.0]), Spread(variance=4.0, degrees=6.0), most=100)
    assert found.error == pytest.approx(math.sqrt(3.25 / 3))
    assert found.degrees == 8
    alike = student(np.array([1.0, 2.0, 3.0]), Spread(variance=4.0, degrees=math.inf), most=20)
    assert alike.error == pytest.approx(math.sqrt(4 / 3)) and alike.degrees == 20


@pytest.mark.parametrize("deviations", [(0.02,), (0.01, 0.02, 0.05)])
def test_cells_without_an_effect_are_rarely_called_different(deviations: tuple[float, ...]) -> None:
    random, alarms = np.random.default_rng(8), 0
    for _ in range(400):
        cells = [random.normal(0, deviations[n % len(deviations)], 6) for n in range(18)]
        spread = common_spread(cells)
        alarms += min(holm([student(cell, spread, most=90).p for cell in cells])) <= 0.05
    # 400 families at 5 %: 20 expected, and 37 exceeded once in ten thousand.
    assert alarms <= 37


def test_holm_by_hand() -> None:
    # 0.01 x 4, 0.013 x 3, 0.014 x 2, 0.19 x 1, each at least the one before it.
    assert holm([0.01, 0.014, 0.19, 0.013]) == pytest.approx([0.04, 0.04, 0.19, 0.04])
    assert holm([0.005, 0.011, 0.02, 0.04, 0.13]) == pytest.approx([0.025, 0.044, 0.06, 0.08, 0.13])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_few_pairs_go_to_student() -> None:
    assert resolution(6, resamples=9999) == 1 / 32
    assert cell_method(6, 9, level=0.0083, resamples=9999) == STUDENT
    assert cell_method(30, 4, level=0.0083, resamples=9999) == SIGN_FLIP
    # However many pairs: 9,999 patterns cannot resolve what Holm asks of 2,000 cells.
    assert cell_method(30, 2000, level=0.0083, resamples=9999) == STUDENT


def test_units_needed_by_hand() -> None:
    # (1.95996 + 0.84162)**2 = 7.8489 per (sigma / effect)**2: the textbook's 7.85.
    assert units_needed(0.1, 100, level=0.05, effect=1.0) == 8
    assert units_needed(0.1, 100, level=0.05, effect=0.1) == 785
