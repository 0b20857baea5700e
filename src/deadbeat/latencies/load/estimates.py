"""Means over the runs of a load test, with intervals that hold for bursts.

The unit is the run: a stall of the host hits many rounds of one run and none of the next. Intervals
are Student's over runs, and never narrower than chance alone makes them within runs: failures in a
row are one occasion, and occasions come as a Poisson process. Where a share s of all rounds fails,
the variance of their number is (1 - s)^2 sum m^2 over occasions of m failures: exact for occasions
and pauses of exponential length (an alternating renewal process), the compound Poisson's where
failures are rare, and nothing where all rounds fail.

Few occasions say little of how much they differ in size, and the large ones are those not seen yet:
limits take sizes to scatter at least as geometric ones do (a squared coefficient of variation of 1
- 1 / mean; above, with one failure more than was seen and by 1 + 2 / number of occasions, which
makes up for a mean of few). What this covers stands in docs/reference/load.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.histogram import Integers
from deadbeat.base.stats.binomial import poisson_interval
from deadbeat.base.stats.estimate import Estimate, mean_of

#: -log(0.05): occasions of which none is seen in one case of twenty (the rule of three).
_NONE_SEEN = 3.0


@frozen(kw_only=True)
class Counted:
    """Failures of one run: how many on each occasion, of how many rounds, in which time."""

    occasions: tuple[int, ...]
    released: int
    seconds: float

    @property
    def failures(self) -> int:
        return sum(self.occasions)

    @property
    def per_s(self) -> float:
        return self.failures / self.seconds


def occasions(misses: Integers) -> tuple[int, ...]:
    """Sizes of stretches of rounds in a row that each missed one deadline or more."""
    edges = np.flatnonzero(np.diff((misses > 0).astype(np.int8), prepend=0, append=0))
    starts = edges[::2]
    sizes = np.add.reduceat(misses, starts) if len(starts) else misses[:0]
    return tuple(sizes.tolist())


def rate_of(runs: Sequence[Counted]) -> Estimate:
    """Failures per second; where none was seen the upper end is that of occasions. At most as many
    fail as rounds are released."""
    seconds = sum(run.seconds for run in runs)
    failures = sum(run.failures for run in runs)
    if not failures:
        return Estimate(value=0.0, low=0.0, high=_NONE_SEEN / seconds)
    rates = np.array([run.per_s for run in runs])
    found = mean_of(rates.tolist(), 0.0)
    if found.low is None or found.high is None:
        return found
    least, most = _within_runs(runs)
    spread = float(rates.var(ddof=1)) * len(rates)
    if spread > 0:
        # a sum of few is skewed: above, further than Student's interval reaches
        worth = failures**2 / (spread * (seconds / len(rates)) ** 2)
        most = max(most, poisson_interval(worth)[1] / worth)
    value = failures / seconds
    high = max(found.high, most * value)
    fastest = max(sum(run.released for run in runs) / seconds, found.value)
    return evolve(found, low=min(found.low, least * value), high=min(high, fastest))


def _within_runs(runs: Sequence[Counted]) -> tuple[float, float]:
    """Limits of the number of failures by chance within runs, as multiples of what was seen."""
    sizes = np.array([size for run in runs for size in run.occasions], np.float64)
    count, failures = len(sizes), float(sizes.sum())
    # Share of all rounds that do not fail.
    failed = sum(run.failures for run in runs)
    free = 1 - failed / max(sum(run.released for run in runs), failed, 1)
    if not free:
        return 1.0, 1.0
    seen = float((sizes**2).sum()) * count / failures**2 - 1
    below = free**2 * (1 + max(seen, 1 - count / failures))
    above = free**2 * (1 + max(seen, 1 - count / (failures + 1)) * (1 + 2 / count))
    fewest, most = count / below, count / above
    return poisson_interval(fewest)[0] / fewest, poisson_interval(most)[1] / most


def occasions_bound(before: Sequence[Counted], after: Sequence[Counted]) -> float:
    """Occasions of failure per second that either side has fewer of (95 %) where neither has any:
    how many failures one would bring is unknown."""
    return _NONE_SEEN / min(sum(run.seconds for run in side) for side in (before, after))


def ranked(ordered: Integers, percent: int) -> float:
    """The quantile of ascending values by nearest rank."""
    return float(ordered[-(-len(ordered) * percent // 100) - 1])
