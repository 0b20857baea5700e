"""Exact shares and ranks against sums of binomial coefficients and published values."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.stats.binomial import (
    at_most,
    compound_upper,
    poisson_upper,
    quantile_ranks,
    upper_bound,
)


def slow_at_most(successes: int, values: int, share: float) -> float:
    return sum(
        comb(values, k) * share**k * (1 - share) ** (values - k) for k in range(successes + 1)
    )


@settings(deadline=None)  # the first imports scipy
@given(st.integers(1, 200), st.floats(0.001, 0.999), st.data())
def test_the_distribution_is_the_sum_of_its_terms(values: int, share: float, data: st.DataObject):
    successes = data.draw(st.integers(0, values))
    assert at_most(successes, values, share) == pytest.approx(
        slow_at_most(successes, values, share), abs=1e-11
    )


@pytest.mark.parametrize(
    ("successes", "values", "bound"),
    # One-sided 95 %: the upper ends of two-sided 90 % intervals of Clopper and Pearson.
    [(0, 10, 0.25887), (0, 100, 0.029513), (1, 20, 0.21611), (5, 100, 0.10225), (10, 10, 1.0)],
)
def test_bounds_are_those_of_clopper_and_pearson(successes: int, values: int, bound: float) -> None:
    assert upper_bound(successes, values) == pytest.approx(bound, rel=1e-4)


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(100, 10_000_000))
def test_a_bound_is_where_so_few_become_improbable(successes: int, values: int) -> None:
    bound = upper_bound(successes, values)
    assert successes / values < bound
    assert at_most(successes, values, bound) == pytest.approx(0.05, rel=1e-6)


def test_ranks_err_rarely_enough_on_either_side_and_are_the_narrowest() -> None:
    for values, share in ((6, 0.5), (40, 0.9), (2_000, 0.99), (10_000, 0.999)):
        low, high = quantile_ranks(values, share)
        if low is not None:
            assert at_most(low - 1, values, share) <= 0.025 < at_most(low, values, share)
        if high is not None:
            assert 1 - at_most(high - 1, values, share) <= 0.025
            assert 1 - at_most(high - 2, values, share) > 0.025


@pytest.mark.parametrize(
    ("values", "share", "ranks"),
    # Median: the classic tables of the sign test. Tails: no value is far enough out before
    # share**n falls below 2.5 %.
    [
        (5, 0.5, (None, None)),
        (6, 0.5, (1, 6)),
        (10, 0.5, (2, 9)),
        (100, 0.5, (40, 61)),
        (3687, 0.999, (3679, None)),
        (3688, 0.999, (3680, 3688)),
        (0, 0.5, (None, None)),
    ],
)
def test_known_ranks(values: int, share: float, ranks: tuple[int | None, int | None]) -> None:
    assert quantile_ranks(values, share) == ranks


def test_a_sum_of_few_sizes_is_bounded_by_a_ratio_of_gammas() -> None:
    """Of shapes 2 and 1 by hand: P(ratio <= r) = (r / (1 + r))**2."""
    assert compound_upper([7.0]) == pytest.approx(7 / (0.95**-0.5 - 1))
    # Of many the number alone is not known, and their mean as well as exponential ones tell it.
    assert 1 < compound_upper([2.0] * 10_000) / 20_000 < 1.03
    assert compound_upper([2.0] * 100) > poisson_upper(100) * 2
    # Those that tell less are bounded less.
    calm, wild = compound_upper([5.0] * 10), compound_upper([1.0] * 9 + [41.0])
    assert calm < wild and calm < compound_upper([5.0] * 10, dispersion=2)
    assert compound_upper([5.0], dispersion=100) == float("inf")


def sums_held(samples: int, *, expected: float) -> float:
    """Of sums of geometric sizes, where there was one at all."""
    random = np.random.default_rng(3)
    held = 0
    for _ in range(samples):
        many = 0
        while not many:
            many = int(random.poisson(expected))
        held += compound_upper(random.geometric(0.05, many).tolist()) >= 20 * expected
    return held / samples


def test_a_sum_of_random_sizes_is_bounded_by_what_was_seen() -> None:
    """A representative: fewer than 107 of 120 would be seen once in 200 at 95 %."""
    assert sums_held(120, expected=3) >= 107 / 120


@pytest.mark.statistical
@pytest.mark.parametrize("expected", [0.5, 2, 10, 50])
def test_sums_are_bounded_however_many_sizes_there_are(expected: float) -> None:
    assert sums_held(1_000, expected=expected) >= 0.94
