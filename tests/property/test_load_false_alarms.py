"""Truth: failures of one law on both sides; whatever is called a difference is a mistake."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.loads import MS, back_to_back, run_of

from deadbeat.analysis.load import Figures, _verdict, difference_of, figures_of

WINDOW_S = 2


def drawn(counts: list[int]) -> list[Figures]:
    """A run per count of failures."""
    found = []
    for repeat, count in enumerate(counts, 1):
        rounds = back_to_back([10 * MS] * 5 + [20 * MS] * count)
        run = run_of(rounds, repeat=repeat, window_ns=(0, WINDOW_S * 1_000_000_000))
        found.append(figures_of(run, deadline_ns=15 * MS, period_ns=None))
    return found


def alarms(*, rate: float, clustered: bool, runs: int, times: int) -> float:
    """Share of comparisons of a law with itself that are called a difference."""
    draw = np.random.default_rng(round(rate * 1000) + 10 * runs + clustered)
    called = 0
    for _ in range(times):
        # clustered: a stall of the host comes in one run of three and brings several failures
        mean = draw.gamma(0.5, 2 * rate, size=(2, runs)) if clustered else np.full((2, runs), rate)
        before, after = (drawn(row.tolist()) for row in draw.poisson(mean * WINDOW_S))
        any_failure = any(each.failures for each in (*before, *after))
        verdict = _verdict(difference_of(before, after), any_failure)
        called += verdict in ("fewer failures", "more failures")
    return called / times


def test_few_comparisons_of_a_law_with_itself_are_called_a_difference() -> None:
    assert alarms(rate=1.0, clustered=False, runs=5, times=100) <= 0.06


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("runs", [3, 5])
def test_at_most_one_in_twenty_is_called_a_difference(
    rate: float, clustered: bool, runs: int
) -> None:
    # 1000 comparisons: 5 % and three standard errors
    assert alarms(rate=rate, clustered=clustered, runs=runs, times=1000) <= 0.05 + 0.021


def test_a_real_difference_is_found() -> None:
    before, after = drawn([6, 7, 5, 8, 6]), drawn([0, 1, 0, 0, 1])
    assert _verdict(difference_of(before, after), any_failure=True) == "fewer failures"
