"""Truth: hosts that are made up, so that the effect is known."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.noisy_hosts import Host

from deadbeat.stats.intervals import mean_interval, own_interval

#: Without and with planted contention: every fifth job together takes four times as long.
NOISES = (0.0, 3.0, 10.0, 100.0)
SETS = 6


def coverage(host: Host, sets: int, points: int) -> tuple[float, float, float]:
    """Of points of six sets; of single sets by their own error; and the mean of all sets less the
    truth, in standard errors."""
    random = np.random.default_rng(20261122)
    runs = [host.run(random) for _ in range(sets)]
    values = np.array([run.value for run in runs])
    held = 0
    for _ in range(points):
        found = mean_interval(random.choice(values, SETS))
        assert found is not None
        held += found[0] <= values.mean() <= found[1]
    own = 0
    for run in runs:
        assert run.value is not None
        low, high = own_interval(run.value, run.error, run.rounds) or (np.nan, np.nan)
        own += low <= host.truth <= high
    off = (values.mean() - host.truth) / (values.std() / np.sqrt(sets))
    return held / points, own / sets, float(off)


def test_noise_widens_the_interval_and_does_not_move_the_estimate() -> None:
    points, own, off = coverage(Host(burst=10), sets=150, points=300)
    assert abs(off) < 3.5
    assert 0.91 <= points <= 0.99
    assert 0.89 <= own <= 0.99


@pytest.mark.statistical
@pytest.mark.parametrize("burst", NOISES)
def test_coverage_without_an_effect(burst: float) -> None:
    points, own, off = coverage(Host(burst=burst), sets=1500, points=4000)
    assert abs(off) < 3.5
    assert 0.93 <= points <= 0.97
    assert 0.93 <= own <= 0.98


@pytest.mark.statistical
@pytest.mark.parametrize("burst", NOISES)
def test_coverage_of_planted_contention(burst: float) -> None:
    points, own, off = coverage(Host(burst=burst, effect=3), sets=1500, points=4000)
    assert abs(off) < 3.5
    assert 0.92 <= points <= 0.98
    assert 0.92 <= own <= 0.98


@pytest.mark.statistical
def test_coverage_where_sets_suffer_unequally() -> None:
    points, own, _ = coverage(Host(burst=10, effect=3, differ=0.5), sets=1500, points=4000)
    assert points >= 0.92
    assert own < 0.6, "one set says nothing of the others"
