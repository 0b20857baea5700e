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
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from attrs import evolve, frozen

from deadbeat.kinds.load.lost import Floats, student_above
from deadbeat.model.histogram import Integers
from deadbeat.model.load import Estimate
from deadbeat.stats import special
from deadbeat.stats.binomial import at_most, poisson_interval, quantile_ranks
from deadbeat.stats.intervals import arm_factor, student_half_width, t_cdf, t_quantile

_TAIL = 0.025
#: -log(0.05): occasions of which none is seen in one case of twenty (the rule of three).
_NONE_SEEN = 3.0
_RESAMPLES = 2000
_P99 = 0.99
#: How often what could have been shown is found, and shares of the failures in as many steps.
POWER, _STEPS = 0.8, 20
#: Runs that scatter less than chance would have it: at which chance that is more than chance.
_BY_CHANCE = 0.05


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


def mean_of(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Estimate:
    """Mean over runs; its interval is cut to what is possible, and still holds the value, which was
    seen."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(value=mean)
    half = student_half_width(array)
    low, high = max(mean - half, min(mean, least)), min(mean + half, max(mean, most))
    return Estimate(value=mean, low=low, high=high)


def _variance(runs: Sequence[Counted]) -> float:
    """Variance of the number of failures of all runs, by chance within them."""
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

    The chance is the larger of Student's over pairs and the exact one of the occasions on one
    side (decision 0029). The interval is the wider of two at each end: Student's over pairs, and by
    chance within runs that of both sides joined by their squares (R. G. Newcombe, Statistics in
    Medicine 17, 1998). A side without a failure may have as many occasions as one with none, of the
    other side's size.
    Without any failure there is none: see `occasions_bound`.
    """
    values = np.array([b.per_s - a.per_s for a, b in zip(before, after, strict=True)])
    mean = float(values.mean())
    first, last = (sum(run.failures for run in side) for side in (before, after))
    if len(values) < 2 or not first + last:
        return PairedDifference(estimate=Estimate(value=mean), p=1.0)
    size = max((_variance(before) + _variance(after)) / (first + last), 1.0)
    above = student_above(values)
    p = max(2 * min(above, 1 - above), _sides_p(first, last, size))
    half = student_half_width(values)
    one, other = _arms(before, after), _arms(after, before)
    down, up = math.hypot(one[1], other[0]), math.hypot(one[0], other[1])
    estimate = Estimate(value=mean, low=mean - max(half, down), high=mean + max(half, up))
    return PairedDifference(estimate=estimate, p=p)


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
    how many failures one would bring is unknown."""
    return _NONE_SEEN / min(sum(run.seconds for run in side) for side in (before, after))


def _sides_p(first: int, last: int, size: float) -> float:
    """Chance of such a surplus of occasions on one side (exact, two-sided)."""
    total = math.floor((first + last) / size)
    more = math.floor(max(first, last) / size)
    return min(2 * (1 - at_most(more - 1, total, 0.5)), 1.0) if more > 0 else 1.0


# ---------- what a test could have shown ----------


@frozen(kw_only=True)
class Found:
    """What a test would have found: the smallest share of the failures with a removal that is found
    with `POWER` (None: not even that of all), and how often the removal of all is."""

    share: float | None
    removal: float


def could_show(before: Mapping[int, Sequence[Counted]], *, level: float) -> Found:
    """What the tests behind a verdict find in as many pairs of runs.

    Runs with the remedy are taken to have that many failures less, and to scatter as those without
    it: by chance within runs, times what they were seen to scatter beyond it; below it, where they
    keep a beat, only if chance does not explain that (5 %).

    Args:
        before: The runs without the remedy by number of ordinary threads; three or more in all, one
            failure or more.
        level: Level of the verdict, after what the number of verdicts takes from it.
    """
    runs = [run for group in before.values() for run in group]
    failures = sum(run.failures for run in runs)
    spread = _spread(runs)
    seen = chance = 0.0
    degrees = 0
    for group in before.values():
        counts = np.array([run.failures for run in group], np.float64)
        if counts.any() and len(group) > 1:
            seen += float(((counts - counts.mean()) ** 2).sum())
            chance += (len(group) - 1) * float(counts.mean()) * spread
            degrees += len(group) - 1
    ratio = seen / chance if chance else 1.0
    if ratio < 1 and special.chdtr(degrees, ratio * degrees) >= _BY_CHANCE:
        ratio = 1.0

    def found(share: float) -> float:
        """By each of the two tests of `difference_of`, the lesser of both."""
        both, occasion = (2 - share) * failures, max(spread, 1.0)
        error = math.sqrt(ratio * both * spread)
        fewest = _least(both / occasion, level)
        if not error:
            return float(failures >= fewest * occasion)
        wanted = t_quantile(1 - level / 2, len(runs) - 1)
        return min(
            t_cdf(share * failures / error - wanted, len(runs) - 1),
            NormalDist().cdf(2 * (failures - (fewest - 0.5) * occasion) / error),
        )

    shares = (step / _STEPS for step in range(1, _STEPS + 1))
    enough = next((share for share in shares if found(share) >= POWER), None)
    return Found(share=enough, removal=found(1.0))


def _spread(runs: Sequence[Counted]) -> float:
    """Variance of the number of failures by chance, per failure; sizes scatter at least as
    geometric ones."""
    sizes = np.array([size for run in runs for size in run.occasions], np.float64)
    mean = float(sizes.mean())
    scatter = max(float((sizes**2).mean()) / mean**2 - 1, 1 - 1 / mean)
    return mean * (1 + scatter) * _free(runs) ** 2


def _least(total: float, level: float) -> int:
    """Least number on one side of ``total`` occasions that is no chance; if none can be, that
    number."""
    count = max(math.floor(total), math.ceil(math.log2(2 / level)))
    sides = range(count // 2, count + 1)
    return next(more for more in sides if 2 * (1 - at_most(more - 1, count, 0.5)) <= level)


# ---------- a quantile of the response time ----------


def p99_of(values: Integers) -> Estimate:
    """The 99 % quantile of rounds by nearest rank, with the ranks between which it lies; an end is
    None where no round is far enough out."""
    ordered = np.sort(values)
    low, high = quantile_ranks(len(ordered), _P99)
    return Estimate(
        value=ranked(ordered, 99),
        low=None if low is None else float(ordered[low - 1]),
        high=None if high is None else float(ordered[high - 1]),
    )


def ranked(ordered: Integers, percent: int) -> float:
    """The quantile of ascending values by nearest rank."""
    return float(ordered[-(-len(ordered) * percent // 100) - 1])


def p99_difference(before: Sequence[Integers], after: Sequence[Integers], *, seed: int) -> Estimate:
    """Difference of the 99 % quantiles of all rounds of the runs, after - before, ns.

    Its interval is the wider of two at each end: within runs by ranks, both sides joined by their
    squares (R. G. Newcombe, Statistics in Medicine 17, 1998), and between runs by drawing pairs
    again, with arms as in `stats.bootstrap`. Without a rank far enough out there is none.
    """
    one, other = p99_of(np.concatenate(before)), p99_of(np.concatenate(after))
    value = other.value - one.value
    ends = [end for side in (one, other) for end in (side.low, side.high) if end is not None]
    if len(before) < 2 or len(ends) < 4:
        return Estimate(value=value)
    low, high, other_low, other_high = ends
    down = math.hypot(high - one.value, other.value - other_low)
    up = math.hypot(one.value - low, other_high - other.value)
    drawn = _drawn(before, after, seed=seed)
    factor = arm_factor(len(before), _TAIL)
    least, most = np.quantile(drawn, [_TAIL, 1 - _TAIL]).tolist()
    return Estimate(
        value=value,
        low=value - max(down, factor * (value - least)),
        high=value + max(up, factor * (most - value)),
    )


def _drawn(before: Sequence[Integers], after: Sequence[Integers], *, seed: int) -> Floats:
    pairs = len(before)
    known: dict[tuple[int, ...], float] = {}
    picks = np.random.default_rng(seed).integers(pairs, size=(_RESAMPLES, pairs))
    found = []
    for row in np.sort(picks, axis=1).tolist():
        pick = tuple(row)
        if pick not in known:
            sides = (np.sort(np.concatenate([side[i] for i in pick])) for side in (before, after))
            first, last = (ranked(side, 99) for side in sides)
            known[pick] = last - first
        found.append(known[pick])
    return np.array(found)
