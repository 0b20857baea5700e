"""Means and differences over the runs of a load test, with intervals that hold for bursts.

The unit is the run: a stall of the host hits many rounds of one run and none of the next. Intervals
are Student's over runs (of pairs of runs of one repeat where two conditions are compared), and
never narrower than chance alone makes them within runs: failures in a row are one occasion, and
occasions come as a Poisson process. Where a share s of all rounds fails, the variance of their
number is (1 - s)^2 sum m^2 over occasions of m failures: exact for occasions and pauses of
exponential length (an alternating renewal process), the compound Poisson's where failures are rare,
and nothing where all rounds fail.

Few occasions say little of how much they differ in size, and the large ones are those not seen yet:
limits take sizes to scatter at least as geometric ones do (a squared coefficient of variation of 1
- 1 / mean; above, with one failure more than was seen and by 1 + 2 / number of occasions, which
makes up for a mean of few). What this covers stands in docs/reference/load.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.model.load_summary import Estimate
from deadbeat.stats.binomial import at_most, poisson_interval, quantile_ranks
from deadbeat.stats.intervals import arm_factor, student_half_width, t_cdf

Integers = NDArray[np.int64]

_TAIL = 0.025
#: -log(0.05): occasions of which none is seen in one case of twenty (the rule of three).
_NONE_SEEN = 3.0
_RESAMPLES = 2000
_P99 = 0.99


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


@frozen(kw_only=True)
class PairedDifference:
    """After - before, and the chance of one as large where nothing differs."""

    estimate: Estimate
    p: float


def occasions(misses: Integers) -> tuple[int, ...]:
    """Sizes of stretches of rounds in a row that each missed one deadline or more."""
    edges = np.flatnonzero(np.diff((misses > 0).astype(np.int8), prepend=0, append=0))
    starts = edges[::2]
    sizes = np.add.reduceat(misses, starts) if len(starts) else misses[:0]
    return tuple(sizes.tolist())


def mean_of(values: Sequence[float]) -> Estimate:
    """Mean over runs."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(value=mean)
    half = student_half_width(array)
    return Estimate(value=mean, low=mean - half, high=mean + half)


def count_of(values: Sequence[float]) -> Estimate:
    """Mean of what cannot be below 0."""
    return within(mean_of(values), 0.0, math.inf)


def share_of(values: Sequence[float]) -> Estimate:
    """Mean of shares of a whole."""
    return within(mean_of(values), 0.0, 1.0)


def within(estimate: Estimate, least: float, most: float) -> Estimate:
    """Its interval cut to what is possible; it still holds the value, which was seen."""
    if estimate.low is None or estimate.high is None:
        return estimate
    low, high = min(estimate.value, least), max(estimate.value, most)
    return evolve(estimate, low=max(estimate.low, low), high=min(estimate.high, high))


def _variance(runs: Sequence[Counted]) -> float:
    """Of the number of failures of all runs, by chance within them."""
    return _free(runs) ** 2 * sum(size * size for run in runs for size in run.occasions)


def _free(runs: Sequence[Counted]) -> float:
    """Share of all rounds that do not fail."""
    failures = sum(run.failures for run in runs)
    return 1 - failures / max(sum(run.released for run in runs), failures, 1)


def rate_of(runs: Sequence[Counted]) -> Estimate:
    """Failures per second; where none was seen the upper end is that of occasions. At most as many
    fail as rounds are released."""
    seconds = sum(run.seconds for run in runs)
    failures = sum(run.failures for run in runs)
    if not failures:
        return Estimate(value=0.0, low=0.0, high=_NONE_SEEN / seconds)
    rates = np.array([run.per_s for run in runs])
    found = count_of(rates.tolist())
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
    free = _free(runs)
    if not free:
        return 1.0, 1.0
    seen = float((sizes**2).sum()) * count / failures**2 - 1
    below = free**2 * (1 + max(seen, 1 - count / failures))
    above = free**2 * (1 + max(seen, 1 - count / (failures + 1)) * (1 + 2 / count))
    fewest, most = count / below, count / above
    return poisson_interval(fewest)[0] / fewest, poisson_interval(most)[1] / most


def difference_of(before: Sequence[Counted], after: Sequence[Counted]) -> PairedDifference:
    """Failures per second of pairs in their order.

    Its interval is the wider of two at each end: Student's over pairs, and by chance within runs
    that of both sides joined by their squares (R. G. Newcombe, Statistics in Medicine 17, 1998). A
    side without a failure may have as many occasions as one with none, of the other side's size.
    Without any failure there is none: see `occasions_bound`.
    """
    values = np.array([b.per_s - a.per_s for a, b in zip(before, after, strict=True)])
    mean = float(values.mean())
    first, last = (sum(run.failures for run in side) for side in (before, after))
    if len(values) < 2 or not first + last:
        return PairedDifference(estimate=Estimate(value=mean), p=1.0)
    seconds = sum(run.seconds for run in (*before, *after)) / 2
    variance = _variance(before) + _variance(after)
    floor = math.sqrt(variance) / seconds
    size = max(variance / (first + last), 1.0)
    chances = [_student_p(values), _normal_p(mean, floor), _sides_p(first, last, size)]
    half = student_half_width(values)
    one, other = _arms(before, after), _arms(after, before)
    down, up = math.hypot(one[1], other[0]), math.hypot(one[0], other[1])
    estimate = Estimate(value=mean, low=mean - max(half, down), high=mean + max(half, up))
    return PairedDifference(estimate=estimate, p=max(chances))


def _arms(runs: Sequence[Counted], others: Sequence[Counted]) -> tuple[float, float]:
    """How far failures per second may be below and above, by chance within runs."""
    seconds = sum(run.seconds for run in runs)
    failures = sum(run.failures for run in runs)
    if failures:
        least, most = _within_runs(runs)
        return failures * (1 - least) / seconds, failures * (most - 1) / seconds
    sizes = [size for run in others for size in run.occasions]
    size = max(_free(others) * sum(sizes) / len(sizes), 1.0)
    return 0.0, poisson_interval(0.0)[1] * size / seconds


def occasions_bound(before: Sequence[Counted], after: Sequence[Counted]) -> float:
    """Occasions of failure per second that either side has fewer of (95 %) where neither has any:
    how many failures one would bring nobody has seen."""
    return _NONE_SEEN / min(sum(run.seconds for run in side) for side in (before, after))


def _student_p(values: NDArray[np.float64]) -> float:
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = abs(float(values.mean()))
    if error <= mean * 1e-12:
        return 1.0 if mean == 0 else 0.0
    return max(0.0, 2 * (1 - t_cdf(mean / error, len(values) - 1)))


def _normal_p(mean: float, error: float) -> float:
    if not error:
        return 0.0 if mean else 1.0
    return 2 * NormalDist().cdf(-abs(mean) / error)


def _sides_p(first: int, last: int, size: float) -> float:
    """Chance that of as many occasions so many more are on one side (exact, two-sided)."""
    total = math.floor((first + last) / size)
    more = math.floor(max(first, last) / size)
    return min(2 * (1 - at_most(more - 1, total, 0.5)), 1.0) if more > 0 else 1.0


# --- a quantile of the response time -------------------------------------------------------------


def p99_of(values: Integers) -> Estimate:
    """The 99 % quantile of rounds by nearest rank, with the ranks between which it lies; an end is
    None where no round is far enough out."""
    ordered = np.sort(values)
    low, high = quantile_ranks(len(ordered), _P99)
    return Estimate(
        value=_p99(ordered),
        low=None if low is None else float(ordered[low - 1]),
        high=None if high is None else float(ordered[high - 1]),
    )


def _p99(ordered: Integers) -> float:
    return float(ordered[-(-len(ordered) * 99 // 100) - 1])


def p99_difference(before: Sequence[Integers], after: Sequence[Integers], *, seed: int) -> Estimate:
    """Difference of the 99 % quantiles of all rounds of the runs, after - before, ns.

    Its interval is the wider of two at each end: within runs by ranks, both sides joined by their
    squares (R. G. Newcombe, Statistics in Medicine 17, 1998), and between runs by drawing pairs
    anew, with arms as in `stats.bootstrap`. Without a rank far enough out there is none.
    """
    one, other = p99_of(np.concatenate(before)), p99_of(np.concatenate(after))
    value = other.value - one.value
    if len(before) < 2 or None in (one.low, one.high, other.low, other.high):
        return Estimate(value=value)
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    down = math.hypot(one.high - one.value, other.value - other.low)
    up = math.hypot(one.value - one.low, other.high - other.value)
    drawn = _drawn(before, after, seed=seed)
    factor = arm_factor(len(before), _TAIL)
    least, most = np.quantile(drawn, [_TAIL, 1 - _TAIL]).tolist()
    return Estimate(
        value=value,
        low=value - max(down, factor * (value - least)),
        high=value + max(up, factor * (most - value)),
    )


def _drawn(
    before: Sequence[Integers], after: Sequence[Integers], *, seed: int
) -> NDArray[np.float64]:
    pairs = len(before)
    known: dict[tuple[int, ...], float] = {}
    picks = np.random.default_rng(seed).integers(pairs, size=(_RESAMPLES, pairs))
    found = []
    for row in np.sort(picks, axis=1).tolist():
        pick = tuple(row)
        if pick not in known:
            sides = (np.sort(np.concatenate([side[i] for i in pick])) for side in (before, after))
            first, last = (_p99(side) for side in sides)
            known[pick] = last - first
        found.append(known[pick])
    return np.array(found)
