"""Pooled quantities and their intervals against sums, sorted lists and known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from helpers.latency_series import MS, cpu_of, run_of
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.analysis.latency_figures import distribution, order_interval, pool
from deadbeat.analysis.latency_summary import summarise_latency
from deadbeat.model.histogram import Histogram, to_json

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
    assert to_json(both) == to_json(fine + coarse)
    assert (both.resolution_ns, both.overflow, both.total) == (1_000, 2, 6)
    assert pool([]).total == 0


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


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [3, 5, 10])
def test_intervals_between_runs_cover_what_all_runs_would_show(runs: int) -> None:
    """The median of all runs there could be is that of the product: 10 us."""
    held = 0
    for seed in range(200):
        found = distribution(drifting(np.random.default_rng(seed), runs), seed=seed)["p50"]
        assert found.low_ns is not None and found.high_ns is not None
        held += found.low_ns <= 10_000 <= found.high_ns
    assert held >= 0.91 * 200


def test_wake_ups_alone_would_claim_too_much() -> None:
    """A representative of the experiment above, beside intervals within runs alone."""
    between = within = 0
    for seed in range(30):
        runs = drifting(np.random.default_rng(seed), 5)
        found = distribution(runs, seed=seed)["p50"]
        assert found.low_ns is not None and found.high_ns is not None
        between += found.low_ns <= 10_000 <= found.high_ns
        low, high = order_interval(pool(runs), 500_000)
        assert low is not None and high is not None
        within += low <= 10_000 <= high
    assert between >= 26
    assert within <= 12


def test_long_runs_keep_fewer_and_longer_stretches() -> None:
    """Days are thousands of runs: the series is as long, its memory is not."""
    values = np.arange(1, 4097)
    short = run_of(cpu_of(values), repeat=0)
    long = evolve(short, seconds=300.0)
    for run, stretches in ((short, "4,096 stretches of 1 ms"), (long, "512 stretches of 8 ms")):
        (peaks, _) = summarise_latency([run]).cells[0].whole.extrapolations
        assert peaks.gates[0].text == stretches
    assert long.interval_ns == MS
