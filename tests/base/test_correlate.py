"""Rank correlation. Truth: worked examples, and what must hold for any data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.base.stats.correlate import ranks, spearman

FEW = st.lists(st.integers(-5, 5).map(float), min_size=4, max_size=40)


def test_a_worked_example_without_ties():
    """1 - 6 sum(d^2) / (n (n^2 - 1)) with d = -1, 1, 0, -1, 1: 1 - 24 / 120."""
    found = spearman([1, 2, 3, 4, 5], [20, 10, 30, 50, 40])
    assert found.value == pytest.approx(0.8)
    assert (found.low, found.pairs) == (None, 5), "too few pairs for an interval"


def test_equal_values_share_their_mean_rank():
    assert ranks([7.0, 3.0, 7.0, 1.0]).tolist() == [3.5, 2.0, 3.5, 1.0]


def test_the_interval_is_bonett_and_wrights():
    """n = 50, r = 0.5: atanh(0.5) -+ 1.96 sqrt(1.125 / 47) is 0.549 -+ 0.303."""
    x = list(range(50))
    wanted = spearman(x, [v if v % 3 else 40 - v for v in x])
    assert wanted.value is not None and wanted.low is not None and wanted.high is not None
    assert wanted.low < wanted.value < wanted.high
    assert wanted.text.startswith(f"r_s = {wanted.value:.2f} [")


def test_what_does_not_vary_has_no_correlation():
    found = spearman([1.0] * 12, list(range(12)))
    assert found.value is None
    assert found.text == "no correlation: does not vary, n = 12"


def test_a_perfect_order_keeps_a_finite_interval():
    found = spearman(list(range(30)), list(range(30)))
    assert found.value == pytest.approx(1.0)
    assert found.low is not None and 0.9 < found.low < 1


@given(FEW)
def test_only_ranks_count_and_the_sign_turns_with_the_order(x: list[float]):
    y = [value * 3 % 7 for value in x]
    straight = spearman(x, y).value
    stretched = spearman([2.0**value for value in x], y).value
    turned = spearman([-value for value in x], y).value
    if straight is None:
        assert stretched is None and turned is None
    else:
        assert stretched == pytest.approx(straight)
        assert turned == pytest.approx(-straight)
