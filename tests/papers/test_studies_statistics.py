"""Intervals and comparisons against published and hand-computed values."""

import math

import numpy as np
import pytest

from deadbeat.base.stats.proportions import Count, Mean, crossing, weighted_schedulability, wilson
from deadbeat_papers.thesis.telling import compare, compare_means, compare_paired, compare_strata


def test_wilson_is_newcombes_table_1998() -> None:
    # Newcombe, Statistics in Medicine 17, 857-872, table I, method 3 (score).
    for yes, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(yes, total) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_everything_mirrors_that_of_nothing() -> None:
    low, high = wilson(20, 20)
    assert (low, high) == pytest.approx((1 - 0.1611, 1.0), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


def test_newcombes_difference_tells_apart_as_in_his_table() -> None:
    # Newcombe, Statistics in Medicine 17, 873-890, table II: 56/70 - 48/80 is (0.0524, 0.3339),
    # 9/10 - 3/10 (0.1705, 0.8090), 6/7 - 2/7 (0.0582, 0.8062), 5/56 - 0/29 (-0.0381, 0.1926).
    assert compare(Count(56, 70), Count(48, 80)) == 1
    assert compare(Count(3, 10), Count(9, 10)) == -1
    assert compare(Count(6, 7), Count(2, 7)) == 1
    assert compare(Count(5, 56), Count(0, 29)) == 0
    assert compare(Count(0, 0), Count(3, 5)) == 0


def test_paired_comparison_tells_apart_as_the_sign_test() -> None:
    # Critical values of the two-sided sign test at 5 %, by n.
    for n, most in ((6, 0), (20, 5), (50, 17), (100, 39)):
        for fewer, order in ((most, 1), (most + 1, 0)):
            only_a = np.arange(n) >= fewer
            assert compare_paired(only_a, ~only_a) == (order, n - fewer, fewer)
    half = np.arange(40_000) % 2 == 0
    assert compare_paired(half, ~half)[0] == 0


def test_means_of_one_set_are_never_told_apart() -> None:
    one = Mean.of(np.array([5.0]))
    many = Mean.of(np.array([1.0, 1.1, 0.9, 1.0]))
    assert math.isinf(one.half)
    assert compare_means(one, many) == 0
    assert compare_means(Mean.of(np.array([2.0, 2.1, 1.9])), many) == 1
    assert Mean.of(np.array([])).sets == 0


def test_an_interval_of_few_sets_is_students() -> None:
    # 1, 2, 3: deviation 1, t of 2 degrees 4.3027.
    assert Mean.of(np.array([1.0, 2.0, 3.0])).half == pytest.approx(4.3027 / math.sqrt(3), rel=1e-3)


def test_strata_do_not_fall_for_simpsons_paradox() -> None:
    # Within each stratum the flagged do better; pooled they would do worse.
    flag = np.array([True] * 20 + [False] * 180 + [True] * 180 + [False] * 20)
    yes = np.array(
        [True] * 20 + [True] * 140 + [False] * 40 + [True] * 80 + [False] * 100 + [False] * 20
    )
    stratum = np.array([0] * 200 + [1] * 200)
    told, difference, half, counted = compare_strata(flag, yes, stratum)
    assert yes[flag].mean() < yes[~flag].mean()
    # Weights 18 and 18; differences 1 - 140/180 and 80/180 - 0.
    assert difference == pytest.approx((40 / 180 + 80 / 180) / 2)
    assert told == 1
    assert 0 < half < difference
    assert counted == 400


def test_where_a_share_crosses_a_level_by_hand() -> None:
    """Shares 0, 0, 0.5, 1 of 10: 0.25 lies in the middle of 0.6 and 0.7."""
    places, counts = (0.5, 0.6, 0.7, 0.8), [Count(yes, 10) for yes in (0, 0, 5, 10)]
    value, (low, high) = crossing(places, counts, 0.25)
    assert value == pytest.approx(0.65)
    # The upper end of 0 of 10 is above 0.25 already, the lower end of 5 of 10 is 0.237.
    assert low == -math.inf
    assert 0.7 < high < 0.71
    assert crossing(places[:2], counts[:2], 0.25)[0] == math.inf
    assert crossing(places, [Count(10 * it.yes, 100) for it in counts], 0.25)[1].low > 0.6


def test_weighted_schedulability_by_hand() -> None:
    # Bastoni, Brandenburg and Anderson 2010, W = sum(U S) / sum(U): (1.0 + 3.0) / (1 + 2 + 3 + 4).
    loads = np.array([1.0, 2.0, 3.0, 4.0])
    assert weighted_schedulability(loads, np.array([True, False, True, False])) == pytest.approx(
        0.4
    )
    assert weighted_schedulability(loads, np.ones(4, dtype=bool)) == 1.0
