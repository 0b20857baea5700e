"""Pooled quantities and their intervals against sums, sorted lists and known distributions."""

from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.model.histogram import QUANTILES_PPM, Histogram, pool, to_json
from deadbeat.latencies.latency.figures import distribution, order_interval

LISTS = st.lists(st.lists(st.integers(0, 10**12), max_size=30), min_size=1, max_size=5)


@given(LISTS)
def test_a_pool_is_the_sum(lists: list[list[int]]) -> None:
    each = [Histogram.of(values) for values in lists]
    assert to_json(pool(each)) == to_json(sum(each[1:], each[0]))
    assert to_json(pool(each)) == to_json(Histogram.of([v for values in lists for v in values]))


def test_a_pool_keeps_the_coarsest_step_and_all_that_overflowed() -> None:
    fine = Histogram.of([5_000, 7_000])
    coarse = evolve(
        fine, resolution_ns=1_000, overflow=2, overflow_from_ns=900_000, max_ns=2_000_000
    )
    both = pool([fine, coarse])
    assert (both.resolution_ns, both.overflow, both.total) == (1_000, 2, 6)
    assert pool([]).total == 0


@settings(deadline=None)  # the first imports scipy
@given(st.lists(st.integers(1, 10**9), min_size=6, max_size=200))
def test_ends_of_an_interval_are_order_statistics(values: list[int]) -> None:
    low, high = order_interval(Histogram.of(values), 500_000)
    ordered = sorted(values)
    assert low is not None and high is not None
    assert any(low <= value <= low * 1.001 + 1 for value in ordered)
    assert any(value <= high <= value * 1.001 + 1 for value in ordered)
    assert low <= ordered[(len(ordered) - 1) // 2] <= high


def test_a_step_widens_the_upper_end() -> None:
    one = Histogram.of([50_000] * 100)
    assert order_interval(one, 500_000) == (50_000, 50_000)
    low, high = order_interval(evolve(one, resolution_ns=1_000), 500_000)
    assert (low, high) == (50_000, 50_999)


def test_of_two_million_steady_values_every_percentile_has_both_ends() -> None:
    steady = Histogram.counted({1_000: 1_970_000, 1_500: 26_000, 2_000: 3_950, 2_040: 50})
    found = {each.name: each for each in distribution([steady] * 12).quantities}
    assert [found[name].value_ns for name in ("p50", "p99", "p99.9")] == [1_000, 1_500, 2_000]
    assert all(found[name].high_ns is not None for name in QUANTILES_PPM)


def test_order_intervals_cover_the_truth() -> None:
    """300 samples of 500 exponential values: the median's and p90's intervals miss in 5 %."""
    random = np.random.default_rng(11)
    held = {500_000: 0, 900_000: 0}
    for _ in range(300):
        sample = Histogram.of((1e6 * random.exponential(size=500)).astype(np.int64))
        for share_ppm in held:
            low, high = order_interval(sample, share_ppm)
            assert low is not None and high is not None
            held[share_ppm] += low <= -1e6 * np.log(1 - share_ppm / 1e6) <= high
    assert all(count >= 0.92 * 300 for count in held.values())


def drifting(random: np.random.Generator, runs: int) -> list[Histogram]:
    """Runs whose level scatters by 15 %: what wake-ups alone cannot tell."""
    return [
        Histogram.of(
            (1e4 * random.lognormal(0, 0.15) * random.lognormal(0, 0.3, 2_000)).astype(np.int64)
        )
        for _ in range(runs)
    ]


def rare(random: np.random.Generator, runs: int) -> list[Histogram]:
    """Runs whose late wake-ups (300 us on average) differ in number, as a gamma of 2."""
    return [
        Histogram.of(
            (
                1e4 * random.lognormal(0, 0.1, 4_000)
                + (random.random(4_000) < 0.01 * random.gamma(2, 0.5))
                * random.exponential(3e5, 4_000)
            ).astype(np.int64)
        )
        for _ in range(runs)
    ]


@given(LISTS)
def test_ends_are_possible_and_in_order(lists: list[list[int]]) -> None:
    """Within what was seen, around the value, no deeper percentile below another."""
    found = distribution([Histogram.of(values) for values in lists])
    whole = found.histogram
    before = found["p50"]
    for name in ("p50", "p90", "p99", "p99.9", "p99.99"):
        now = found[name]
        if now.low_ns is not None and now.value_ns is not None:
            assert (whole.min_ns or 0) <= now.low_ns <= now.value_ns
            assert now.low_ns >= (before.low_ns or 0)
        if now.high_ns is not None and now.value_ns is not None:
            assert now.value_ns <= now.high_ns <= (whole.max_ns or 0)
            assert before.high_ns is not None and before.high_ns <= now.high_ns
        before = now
    mean = found["mean"]
    assert mean.low_ns is None or (whole.min_ns or 0) <= mean.low_ns
    assert mean.high_ns is None or mean.high_ns <= (whole.max_ns or 0)


def test_two_runs_that_differ_claim_nothing_impossible() -> None:
    """The arms once reached from a thousandth of the least to a hundred times the greatest."""
    runs = [Histogram.of([10_000] * 3_000 + [40_000] * 30), Histogram.of([11_000] * 2_990)]
    runs[1] = runs[1] + Histogram.of([3_000_000] * 10)
    p99 = distribution(runs)["p99.9"]
    assert p99.low_ns is not None and p99.low_ns >= 10_000
    assert p99.high_ns is None


def stepped(random: np.random.Generator, runs: int) -> list[Histogram]:
    """Runs of an engine that cuts off to whole microseconds; on average 2,710 ns."""
    return [
        evolve(
            Histogram.of(
                (
                    np.floor(2 * random.lognormal(0, 0.1) + 0.7 * random.exponential(size=1_000))
                    * 1_000
                ).astype(np.int64)
            ),
            resolution_ns=1_000,
        )
        for _ in range(runs)
    ]


@pytest.mark.parametrize("runs", [2, 5, 10])
def test_means_of_what_was_cut_off_may_be_a_step_larger(runs: int) -> None:
    """Without the step an interval of ten runs never held; one of 40 in a row may fail."""
    held = 0
    for seed in range(40):
        found = distribution(stepped(np.random.default_rng(seed), runs))["mean"]
        assert found.low_ns is not None and found.value_ns is not None
        held += found.low_ns <= 2_710 and (found.high_ns is None or found.high_ns >= 2_710)
    assert held >= 39


def test_runs_without_scatter_have_no_interval_of_mean_and_maximum() -> None:
    """Nor does rounding put their geometric mean beyond them."""
    for step in (1, 1_000):
        runs = [evolve(Histogram.of([2_000] * 99 + [5_000]), resolution_ns=step)] * 5
        found = distribution(runs)
        assert found["max_of_a_run"].value_ns == 5_000
        for name in ("mean", "max_of_a_run"):
            assert (found[name].low_ns, found[name].high_ns) == (None, None)


def test_maxima_that_were_cut_off_may_be_a_step_larger() -> None:
    maxima = (20_000, 22_000, 21_000)
    fine, coarse = (
        distribution(
            [evolve(Histogram.of([2_000] * 99 + [top]), resolution_ns=step) for top in maxima]
        )["max_of_a_run"]
        for step in (1, 1_000)
    )
    assert fine.low_ns == coarse.low_ns and fine.high_ns is not None
    assert coarse.high_ns == pytest.approx(fine.high_ns + 999)


def test_a_mean_that_few_runs_decide_is_not_bounded_from_above() -> None:
    """Late wake-ups of one run of five: how late and how many others have is not known."""
    random = np.random.default_rng(8)
    runs = [Histogram.of((1e4 * random.lognormal(0, 0.1, 3_000)).astype(int)) for _ in range(5)]
    assert distribution(runs)["mean"].high_ns is not None
    found = distribution([*runs[1:], runs[0] + Histogram.of([3_000_000] * 100)])["mean"]
    assert found.low_ns is not None and found.high_ns is None
    level = [Histogram.of((1e4 * f * random.lognormal(0, 0.1, 3_000)).astype(int)) for f in
             (1, 1.1, 1.3, 0.9, 2)]  # fmt: skip
    assert distribution(level)["mean"].high_ns is not None


def test_runs_of_different_lengths_count_as_fewer() -> None:
    """Of a long and a short one the long one is nearly all: one run says nothing of runs."""
    random = np.random.default_rng(9)
    long, *short = (
        Histogram.of((1e4 * random.lognormal(0, 0.3, many)).astype(int))
        for many in (12_000, 500, 500)
    )
    found = distribution([long, short[0]])
    assert (found["p50"].low_ns, found["p50"].high_ns) == (found["p50"].low_ns, None)
    assert found["mean"].high_ns is None
    assert distribution(short)["p50"].high_ns is not None


def test_a_tail_that_one_run_carries_is_not_bounded_from_above() -> None:
    random = np.random.default_rng(4)
    runs = [
        Histogram.of((1e4 * random.lognormal(0, 0.3, 4_000)).astype(np.int64)) for _ in range(8)
    ]
    assert distribution(runs)["p99"].high_ns is not None
    late = Histogram.of((1e5 * random.lognormal(0, 0.3, 4_000)).astype(np.int64))
    assert distribution([*runs[1:], late])["p99"].high_ns is None


@pytest.mark.statistical
@pytest.mark.parametrize("runs", range(3, 11))
@pytest.mark.parametrize("kind", [drifting, rare])
def test_ends_of_percentiles_cover_what_all_runs_would_show(
    kind: Callable[[np.random.Generator, int], list[Histogram]], runs: int
) -> None:
    """Truth: the pool of 2,000 further runs. docs/reference/latency.md has the shares."""
    truth = pool(kind(np.random.default_rng(99), 2_000))
    wrong = dict.fromkeys(("p50", "p90", "p99", "p99.9", "mean"), 0)
    for seed in range(200):
        found = distribution(kind(np.random.default_rng(seed), runs))
        for name in wrong:
            known = found[name]
            value = truth.mean_ns if name == "mean" else truth.quantile(QUANTILES_PPM[name])
            assert value is not None and known.low_ns is not None
            above = known.high_ns is not None and known.high_ns < value
            wrong[name] += known.low_ns > value or above
    # 5 % of 200 and three standard deviations; of p90 12 % are told.
    assert max(wrong[name] for name in wrong if name != "p90") <= 24, wrong
    assert wrong["p90"] <= 36, wrong


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [3, 5, 10])
def test_intervals_between_runs_cover_what_all_runs_would_show(runs: int) -> None:
    """The median of all runs there could be is that of the product: 10 us."""
    held = 0
    for seed in range(200):
        found = distribution(drifting(np.random.default_rng(seed), runs))["p50"]
        assert found.low_ns is not None and found.high_ns is not None
        held += found.low_ns <= 10_000 <= found.high_ns
    assert held >= 0.91 * 200


def test_wake_ups_alone_would_claim_too_much() -> None:
    """A representative of the experiment above, beside intervals within runs alone."""
    between = within = 0
    for seed in range(30):
        runs = drifting(np.random.default_rng(seed), 5)
        found = distribution(runs)["p50"]
        assert found.low_ns is not None and found.high_ns is not None
        between += found.low_ns <= 10_000 <= found.high_ns
        low, high = order_interval(pool(runs), 500_000)
        assert low is not None and high is not None
        within += low <= 10_000 <= high
    assert between >= 26
    assert within <= 12
