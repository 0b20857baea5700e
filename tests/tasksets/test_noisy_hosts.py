"""Truth: hosts that are made up, so that the effect is known."""

import numpy as np
import pytest
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.stats.intervals import mean_interval, own_interval
from deadbeat.tasksets.contention.figures import RoundSums, RunMean

Floats = NDArray[np.float64]


@frozen(kw_only=True)
class Host:
    """Two thirds of the variance of a span are new with every job, the rest forgets within 10 ms;
    one job in a hundred takes almost twice as long; a neighbour may take a part of each CPU half of
    the time. Times are milliseconds.

    Attributes:
        burst: Mean time that a neighbour runs, and that it rests; 0: there is none.
        effect: What every fifth job together takes more, as a multiple of its span.
        differ: Standard deviation of the logarithm of the effect between sets.
    """

    burst: float = 0.0
    effect: float = 0.0
    differ: float = 0.0

    @property
    def truth(self) -> float:
        return 1 + self.effect / 5

    def run(self, random: np.random.Generator, *, tasks: int = 2, rounds: int = 33) -> RunMean:
        """One set's slowdown: slots of five jobs at T = 1, after a warm-up of one."""
        period, jobs = 1.0, 5
        kinds = np.array([random.permutation(tasks + 1) for _ in range(rounds)]).ravel()
        begin = np.arange(len(kinds)) * (jobs + 1) * period
        numbers = np.repeat(np.arange(rounds), tasks + 1)
        effect = self.effect * random.lognormal(-(self.differ**2) / 2, self.differ)
        shared, single = np.zeros((2, tasks, rounds))
        for task in range(tasks):
            mine = (kinds == 0) | (kinds == task + 1)
            at = begin[mine, None] + (1 + np.arange(jobs)) * period + random.uniform(0, period)
            together = np.repeat(kinds[mine] == 0, jobs)
            spans = self._spans(random, at.ravel())
            hit = together & (random.random(len(spans)) < 0.2)
            spans = np.where(hit, spans * (1 + effect), spans)
            place = np.repeat(numbers[mine], jobs)
            np.add.at(shared[task], place[together], spans[together])
            np.add.at(single[task], place[~together], spans[~together])
        counts = np.full((tasks, rounds), float(jobs))
        return RoundSums(together=(shared, counts), alone=(single, counts)).slowdown()

    def _spans(self, random: np.random.Generator, at: Floats) -> Floats:
        new, kept = random.standard_normal(len(at)), np.zeros(len(at))
        weights = np.exp(-np.diff(at, prepend=-1e9) / 10)
        for i, weight in enumerate(weights):
            kept[i] = weight * kept[i - 1] + np.sqrt(1 - weight**2) * new[i]
        spans = np.exp(0.03 * random.standard_normal(len(at)) + 0.02 * kept)
        spans *= np.where(random.random(len(at)) < 0.01, 1 + random.exponential(0.8, len(at)), 1)
        if self.burst:
            spans *= np.where(self._busy(random, at), 1 + random.random(len(at)), 1)
        return spans

    def _busy(self, random: np.random.Generator, at: Floats) -> NDArray[np.bool_]:
        changes = random.exponential(self.burst, 20 + int(2 * at[-1] / self.burst))
        ends = np.cumsum(changes) - random.uniform(0, 2 * self.burst)
        return np.searchsorted(ends, at) % 2 == 1


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
@pytest.mark.parametrize(("effect", "low", "high"), [(0, 0.93, 0.97), (3, 0.92, 0.98)])
def test_coverage_of_planted_contention(burst: float, effect: int, low: float, high: float) -> None:
    points, own, off = coverage(Host(burst=burst, effect=effect), sets=1500, points=4000)
    assert abs(off) < 3.5
    assert low <= points <= high
    assert low <= own <= 0.98


@pytest.mark.statistical
def test_coverage_where_sets_suffer_unequally() -> None:
    points, own, _ = coverage(Host(burst=10, effect=3, differ=0.5), sets=1500, points=4000)
    assert points >= 0.92
    assert own < 0.6, "one set says nothing of the others"
