"""Truth: intervals from tables, by hand, and by law."""

import numpy as np
import pytest

from deadbeat.base.stats.binomial import poisson_interval
from deadbeat.base.stats.estimate import mean_of
from deadbeat.latencies.load.estimates import (
    Counted,
    occasions,
    occasions_bound,
    rate_of,
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
def test_the_interval_of_a_poisson_count_is_that_of_the_tables(count: int, low: float, high: float):
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
    # 4 failures in 8 s, one a run: below the exact limit of a count of 4; above that of 4 / 1.3, as
    # sizes of a mean of 5 / 4 scatter by 1 - 4 / 5, and 1 + 2 / 4 times that
    found = rate_of(runs(*[(1,)] * 4, seconds=2.0))
    assert found.value == 0.5
    most = poisson_interval(4 / 1.3)[1] * 1.3
    assert (found.low, found.high) == pytest.approx((1.090 / 8, most / 8), rel=1e-3)


def test_a_burst_is_no_more_certain_than_one_occasion() -> None:
    # 2 occasions of 10 failures: below, of 2 / 1.9 (sizes scatter by 1 - 2 / 20); above, of
    # 2 / (1 + 2 * (1 - 2 / 21)) by 1 + 2 / 2 times that; of almost no round in all
    found = rate_of(runs((10,), (10,)))
    assert found.value == 10.0
    few, fewer = 2 / 1.9, 2 / (1 + 2 * 19 / 21)
    least, most = poisson_interval(few)[0] / few, poisson_interval(fewer)[1] / fewer
    assert (found.low, found.high) == pytest.approx((10 * least, 10 * most), rel=1e-3)
    assert 20 * most > 72.25  # two occasions of one certain size


def test_where_all_rounds_fail_only_runs_differ() -> None:
    found = rate_of(runs((99,), (100,), (101,), released=100))
    # mean 100, s = 1, t(0.975; 2) = 4.302653; and no more fail than there are
    assert found.low == pytest.approx(100 - 4.302653 / 3**0.5, rel=1e-3)
    assert found.high == 100


def test_runs_that_differ_widen_the_interval_by_students_t() -> None:
    found = mean_of([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high == pytest.approx(2 + 4.302653 / 3**0.5, rel=1e-5)


def test_intervals_are_cut_to_what_is_possible() -> None:
    assert mean_of([0.0, 0.0, 3.0], 0.0).low == 0.0
    assert mean_of([5.0], 0.0).low is None
    wide = mean_of([0.0, 0.98, 0.1], 0.0, 1.0)
    assert (wide.low, wide.high) == (0.0, 1.0)
    below = mean_of([-0.02, -0.01], 0.0, 1.0)
    assert below.low == below.value


def test_one_run_has_no_interval() -> None:
    assert mean_of([1.0]).low is None


def test_no_failure_on_either_side_bounds_occasions() -> None:
    # how many failures an occasion brings nobody has seen: 3 in 2 s at most
    assert occasions_bound(runs((), ()), runs((), ())) == 1.5


# --- how often intervals hold --------------------------------------------------------------------


def made_up(
    draw: np.random.Generator, occasions_a_run: float, size: float, count: int, scatter: float = 0.0
) -> list[Counted]:
    """Runs of 2 s: occasions of geometric size, whose rate differs between runs."""
    rates = occasions_a_run * (
        draw.gamma(1 / scatter, scatter, count) if scatter else np.ones(count)
    )
    sizes = [draw.geometric(1 / size, number).tolist() for number in draw.poisson(rates)]
    return runs(*map(tuple, sizes), seconds=2.0, released=2000)


def rates_hold(occasions_a_run: float, size: float, count: int, times: int, **more: float) -> float:
    """Share of rates whose interval holds the truth: where no failure was seen, of occasions."""
    draw = np.random.default_rng(round(100 * occasions_a_run + 10 * size + count))
    held = 0
    for _ in range(times):
        found = rate_of(made_up(draw, occasions_a_run, size, count, **more))
        truth = occasions_a_run / 2 * (size if found.value else 1)
        held += (found.low or 0.0) <= truth <= (found.high or 0.0)
    return held / times


def test_the_interval_of_a_rate_holds_it_also_for_bursts() -> None:
    assert rates_hold(0.5, 10, 5, 100) >= 0.9


@pytest.mark.statistical
@pytest.mark.parametrize("count", [2, 3, 5, 10, 20])
@pytest.mark.parametrize(
    ("occasions_a_run", "size"),
    [(0.2, 1), (2, 1), (0.5, 3), (1, 3), (0.1, 10), (0.5, 10), (0.5, 50), (2, 20), (10, 20)],
)
def test_intervals_of_rates_hold_for_bursts_of_any_size(
    occasions_a_run: float, size: float, count: int
) -> None:
    # 95 % of 1000, less three standard errors
    assert rates_hold(occasions_a_run, size, count, 1000) >= 0.93 - 0.01


@pytest.mark.statistical
@pytest.mark.parametrize(("count", "least"), [(2, 0.80), (3, 0.86), (5, 0.90), (10, 0.90)])
def test_where_runs_differ_intervals_of_rates_hold_as_often_as_the_documentation_says(
    count: int, least: float
) -> None:
    assert rates_hold(2, 20, count, 1000, scatter=1.0) >= least
