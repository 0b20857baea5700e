"""Truth: Welch's own formulas worked by hand, tables of Student's t, and samples with a known
ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deadbeat.compare.run_ratio import FEW_RUNS, NO_SCATTER, run_ratio


def test_it_is_the_ratio_of_the_geometric_means():
    found = run_ratio([10.0, 1000.0, 100.0], [1.0, 100.0, 10.0])
    assert found.value == pytest.approx(10.0)
    assert found.low * found.high == pytest.approx(100.0)


def test_the_interval_is_welchs_by_hand():
    over = [math.exp(x) for x in (1.0, 2.0, 3.0)]
    under = [math.exp(x) for x in (0.0, 0.5, 1.0, 1.5)]
    # s^2/n: 1/3 and (5/12)/4; degrees 0.4375^2 / (0.1111/2 + 0.01085/3) = 3.23, rounded down to 3;
    # t(0.975, 3) = 3.182
    half = 3.18245 * math.sqrt(1 / 3 + (5 / 12) / 4)
    found = run_ratio(over, under)
    assert found.value == pytest.approx(math.exp(2.0 - 0.75))
    assert found.low == pytest.approx(math.exp(1.25 - half), rel=1e-4)
    assert found.high == pytest.approx(math.exp(1.25 + half), rel=1e-4)


def test_few_runs_have_a_ratio_but_no_interval():
    found = run_ratio([4.0, 4.0], [2.0, 2.0, 2.0])
    assert (found.value, found.low, found.high) == (pytest.approx(2.0), None, None)
    assert not found.differs
    assert run_ratio([], [1.0]).value is None
    assert run_ratio([None, 0.0, 3.0], [3.0, 3.0]).runs == (1, 2)


def test_runs_without_scatter_are_not_certain():
    found = run_ratio([4.0] * 3, [2.0] * 3)
    assert (found.low, found.value, found.high) == (None, pytest.approx(2.0), None)
    assert not found.differs


def test_what_the_engine_cut_off_is_in_the_interval():
    """2 us may have been 2.999 us."""
    found = run_ratio([3_000.0] * 3, [2_000.0] * 3, steps_ns=(1_000, 1_000))
    assert found.low == pytest.approx(3_000 / 2_999)
    assert found.high == pytest.approx(3_999 / 2_000)
    assert not run_ratio([3_000.0] * 3, [3_000.0] * 3, steps_ns=(1_000, 1)).differs


def test_values_far_apart_overflow_nothing():
    found = run_ratio([1e300, 1.1e300, 1e300], [1e-300, 1e-300, 1.2e-300])
    assert found.value is not None and math.isfinite(found.value) and found.differs
    assert run_ratio([1e300] * 3, [1e-300] * 3).low is None


def test_what_is_no_number_is_no_value():
    found = run_ratio([math.nan, math.inf, 3.0], [3.0, -1.0])
    assert (found.runs, found.left_out) == ((1, 1), 3)


def test_why_there_is_no_interval_is_told():
    assert run_ratio([4.0] * 5, [2.0] * 5).why == NO_SCATTER
    assert run_ratio([4.0], [2.0] * 5).why == FEW_RUNS
    assert run_ratio([4.0, 5.0, 6.0], [2.0, 3.0, 4.0]).why == ""


def test_p_and_the_interval_agree():
    rng = np.random.default_rng(3)
    for _ in range(100):
        over, under = (list(np.exp(rng.normal(shift, 0.3, 4)) * 100) for shift in (0.5, 0.0))
        found = run_ratio(over, under, steps_ns=(10, 10))
        assert (found.p < 0.05) == found.differs


def test_runs_without_a_value_are_told():
    assert run_ratio([None, 0.0, 3.0], [3.0, 3.0]).left_out == 2


def test_it_covers_the_true_ratio_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        over = np.exp(rng.normal(1.0, 0.8, 5))
        under = np.exp(rng.normal(0.0, 0.3, 6))
        found = run_ratio(list(over), list(under))
        covered += found.low <= math.e <= found.high
    # 95 % of 400 is 380; fewer than 366 has a probability below 0.001.
    assert covered >= 366
