"""Truth: intervals from tables, by hand, and by law."""

from __future__ import annotations

import numpy as np
import pytest

from deadbeat.analysis.load_estimates import (
    Counted,
    count_of,
    difference_of,
    mean_of,
    occasions,
    p99_difference,
    p99_of,
    poisson_interval,
    rate_of,
    share_of,
)


def runs(*sizes: tuple[int, ...], seconds: float = 1.0, released: int = 100_000) -> list[Counted]:
    return [Counted(occasions=each, seconds=seconds, released=released) for each in sizes]


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # F. Garwood's limits, as in tables of the Poisson distribution
    [
        (0, 0.0, 3.689),
        (1, 0.0253, 5.572),
        (4, 1.090, 10.242),
        (10, 4.795, 18.390),
        (100, 81.36, 121.63),
    ],
)
def test_the_interval_of_a_poisson_count_is_that_of_the_tables(
    count: int, low: float, high: float
) -> None:
    assert poisson_interval(count) == pytest.approx((low, high), rel=1e-3)


def test_there_is_no_step_where_the_approximation_begins() -> None:
    before, after = poisson_interval(499.0), poisson_interval(501.0)
    assert before == pytest.approx((after[0] - 1.96, after[1] - 2.04), abs=0.1)


def test_misses_in_a_row_are_one_occasion() -> None:
    assert occasions(np.array([0, 1, 3, 0, 1])) == (4, 1)
    assert occasions(np.array([1, 1])) == (2,)
    assert occasions(np.array([], np.int64)) == ()


def test_no_failure_is_bounded_by_the_rule_of_three() -> None:
    found = rate_of(runs(*[()] * 5))
    assert (found.value, found.low, found.high) == (0.0, 0.0, 3 / 5)


def test_runs_that_are_all_alike_are_no_certainty() -> None:
    # 4 failures in 8 s, one a run: the exact limits of a count of 4 over 8 s
    found = rate_of(runs(*[(1,)] * 4, seconds=2.0))
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((1.090 / 8, 10.242 / 8), rel=1e-3)


def test_a_burst_is_no_more_certain_than_one_occasion() -> None:
    # 20 failures on two occasions of ten: two occasions' limits (0.242, 7.225), ten times
    found = rate_of(runs((10,), (10,)))
    assert found.value == 10.0
    assert (found.low, found.high) == pytest.approx((2.42 / 2, 72.25 / 2), rel=1e-2)


def test_where_all_rounds_fail_only_runs_differ() -> None:
    found = rate_of(runs((99,), (100,), (101,), released=100))
    # mean 100, s = 1, t(0.975; 2) = 4.302653
    assert found.high == pytest.approx(100 + 4.302653 / 3**0.5, rel=1e-3)
    before, after = runs((99,), (100,), (101,), released=101), runs((), (), ())
    assert difference_of(before, after).p < 0.001


def test_runs_that_differ_widen_the_interval_by_students_t() -> None:
    found = mean_of([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high == pytest.approx(2 + 4.302653 / 3**0.5, rel=1e-5)


def test_intervals_are_cut_to_what_is_possible() -> None:
    assert count_of([0.0, 0.0, 3.0]).low == 0.0
    assert count_of([5.0]).low is None
    wide = share_of([0.0, 0.98, 0.1])
    assert (wide.low, wide.high) == (0.0, 1.0)
    below = share_of([-0.02, -0.01])
    assert below.low == below.value


def test_one_run_has_no_interval() -> None:
    assert mean_of([1.0]).low is None
    assert difference_of(runs((1,)), runs(())).p == 1.0


def test_a_difference_is_of_pairs() -> None:
    found = difference_of(runs(*[(1, 1, 1)] * 3), runs((), (), ()))
    assert found.estimate.value == -3.0
    assert found.estimate.high is not None
    assert found.estimate.high < 0
    # 9 to 0: 2 * 0.5^9, and 9 standard deviations of sqrt(9)
    assert found.p == pytest.approx(2 * 0.5**9, rel=0.5)


def test_bursts_are_not_taken_for_many_failures() -> None:
    found = difference_of(runs((50,), (50,), (50,)), runs((), (), ()))
    assert found.p == pytest.approx(2 * 0.5**3)


def test_no_failures_anywhere_is_no_difference() -> None:
    found = difference_of(runs((), ()), runs((), ()))
    estimate = found.estimate
    assert (estimate.value, estimate.low, estimate.high, found.p) == (0.0, -1.5, 1.5, 1.0)


def test_p99_lies_between_ranks() -> None:
    found = p99_of(np.arange(1, 1001))
    # ranks by the binomial distribution of 1000 and 0.99
    assert (found.value, found.low, found.high) == (990.0, 983.0, 997.0)
    assert p99_of(np.arange(1, 101)).high is None


def test_p99_of_few_rounds_has_no_interval() -> None:
    few = [np.arange(1, 51)] * 3
    assert p99_difference(few, few, seed=1).low is None


def test_p99_of_runs_that_are_alike_is_no_certainty() -> None:
    side = [np.arange(1, 501)] * 3
    found = p99_difference(side, side, seed=1)
    assert found.value == 0.0
    assert found.low is not None
    assert found.low < -2
    assert found.high is not None
    assert found.high > 2


def test_the_interval_of_a_rate_holds_it_also_for_bursts() -> None:
    draw = np.random.default_rng(4)
    missed = 0
    for _ in range(100):
        # six occasions of ten failures expected in all, over four runs of 2 s: 7.5 per second
        some = [(10,) * number for number in draw.poisson(1.5, 4)]
        found = rate_of(runs(*some, seconds=2.0))
        missed += not (found.low or 0.0) <= 7.5 <= (found.high or 0.0) and any(some)
    assert missed <= 5
