"""Quantities of pooled histograms with intervals: exact within the runs, Student's between them.

Wake-ups of one run share what the machine did in that minute; an interval from wake-ups alone is
far too narrow. So the run is the unit too, and of each side the further end counts. One run says
nothing of how runs differ: it has no interval.

The share of wake-ups above a value is a mean over runs: its interval is Student's, of the ratio of
two sums, on the scale of log odds. The values with a share that may be that of a percentile are the
percentile's interval (R. S. Woodruff, "Confidence intervals for medians and other position
measures", JASA 47, 1952): it lies within what was seen, and ends of deeper percentiles never lie
below those of others. Upwards runs also scatter beyond the largest of them: there the interval
reaches at least as far as Student's of the logarithms of the runs' own percentiles. An end that
would lie above the latest wake-up of all is not one that was measured: it is open. Runs that differ
in length count as fewer, and values that an engine cut off may have been a step larger.
docs/reference/latency.md has what this covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.histogram import QUANTILES_PPM, Histogram, bucket_high, bucket_of, pool
from deadbeat.base.stats import special
from deadbeat.base.stats.binomial import ALPHA, TAIL, chi_squared_p, quantile_ranks
from deadbeat.base.stats.intervals import t_quantile
from deadbeat.latencies.latency.summary import Distribution, Quantity

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
_OPEN: Ends = (None, None)

#: Below, the spread of the maxima of runs is a guess.
_MAXIMA_MIN = 3
#: Runs that must carry a tail, from this percentile on, before it is bounded from above: which runs
#: are the late ones is chance where fewer do. Only where runs differ more than chance would make.
CARRYING_MIN, TAIL_PPM = 5.0, 900_000
#: Means differ by late wake-ups where less than this of their variance stays without the latest
#: tenth; the latest hundredth shows whether few runs carry them.
OF_BODY, LATE_PPM = 0.25, 990_000
#: Exponents beyond overflow.
_EXPONENT_MAX = 700.0


def distribution(runs: Sequence[Histogram]) -> Distribution:
    """The quantities of ``runs`` (a histogram per run), pooled."""
    whole = pool(runs)
    between = _between(runs, whole)

    def quantity(
        name: str, of: Callable[[Histogram], float | None], ends: Ends = _OPEN
    ) -> Quantity:
        """An end is never on the wrong side of the value: pooled and run by run differ."""
        value, (low, high) = of(whole), ends
        return Quantity(
            name=name,
            value_ns=value,
            low_ns=low if value is None else _further(min, low, value),
            high_ns=high if value is None else _further(max, high, value),
            runs_ns=tuple(map(of, runs)),
        )

    def quantile(name: str, ppm: int) -> Quantity:
        """Quantile with the further ends of its intervals within and between runs."""
        low, high = order_interval(whole, ppm)
        lower, higher = between.quantile(ppm) if between else _OPEN
        ends = _further(min, low, lower), _further(max, high, higher)
        return quantity(name, lambda histogram: histogram.quantile(ppm), ends)

    # A deeper percentile is at least the others: so is either end of its interval. Beyond one
    # that is not bounded from above none is.
    quantiles = [quantile(name, ppm) for name, ppm in QUANTILES_PPM.items()]
    lows = np.array([-math.inf if q.low_ns is None else q.low_ns for q in quantiles], float)
    highs = np.array([math.inf if q.high_ns is None else q.high_ns for q in quantiles], float)
    highs[np.maximum.accumulate(np.isinf(highs))] = math.inf
    least = np.maximum.accumulate(lows).tolist()
    most = np.minimum.accumulate(highs[::-1])[::-1].tolist()
    in_order = [
        evolve(
            each,
            low_ns=low if math.isfinite(low) else None,
            high_ns=high if math.isfinite(high) else None,
        )
        for each, low, high in zip(quantiles, least, most, strict=True)
    ]
    return Distribution(
        histogram=whole,
        quantities=(
            quantity("min", attrgetter("min_ns")),
            quantity("mean", attrgetter("mean_ns"), between.mean() if between else _OPEN),
            *in_order,
            quantity("max", attrgetter("max_ns")),
            _max_of_a_run(runs, whole),
        ),
    )


def _further(choose: Callable[..., float], one: float | None, two: float | None) -> float | None:
    """Further one of two ends, of which one may be open."""
    return None if one is None or two is None else choose(one, two)


def order_interval(histogram: Histogram, share_ppm: int) -> Ends:
    """Exact 95 % interval of a quantile from independent values: order statistics.

    Each end is the outer edge of its bucket, and of what the resolution cut off. None where no
    value is far enough out, or it overflowed.
    """
    if not len(histogram.counts):
        return _OPEN
    low, high = quantile_ranks(histogram.total, share_ppm / 1e6)
    upper = None if high is None else histogram.at_rank(high)
    return (
        None if low is None else histogram.low_at_rank(low),
        None if upper is None else upper + histogram.resolution_ns - 1,
    )


def _max_of_a_run(runs: Sequence[Histogram], whole: Histogram) -> Quantity:
    """Geometric mean of the maxima of runs with Student's interval of their logarithms.

    A run's latest wake-up is not below the least latency of all: neither is the interval. What the
    engine cut off is in its upper end. Runs without scatter have none: they say nothing of it.
    """
    maxima = tuple(run.max_ns for run in runs)
    known = [float(value) for value in maxima if value and value > 0]
    if not known or whole.exceeds_ns is not None:
        return Quantity(name="max_of_a_run", value_ns=None, runs_ns=maxima)
    logs = np.log(known)
    middle, low, high = float(logs.mean()), None, None
    # Rounding must not put it beyond all of them.
    value = min(max(math.exp(middle), min(known)), max(known))
    if len(logs) >= _MAXIMA_MIN and len(set(known)) > 1:
        half = t_quantile(1 - TAIL, len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
        low = min(max(math.exp(middle - half), float(whole.min_ns or 0)), value)
        high = max(math.exp(min(middle + half, _EXPONENT_MAX)), value) + whole.resolution_ns - 1
    return Quantity(name="max_of_a_run", value_ns=value, low_ns=low, high_ns=high, runs_ns=maxima)


# ---------- between runs ----------


@frozen(kw_only=True, eq=False)
class Between:
    """Runs of a cell, and what of them every bound is made of.

    Attributes:
        runs: Runs with a wake-up, two at least.
        totals: Wake-ups of each.
        whole: All of them pooled.
        student: The 97.5 % point of Student's t; infinite where fewer than two runs count: a ratio
            of sums is mostly that of the longest runs (L. Kish, Survey Sampling, 1965).
        low, high: Bounds of the share of wake-ups above each bucket of ``whole``.
    """

    runs: tuple[Histogram, ...]
    totals: Floats
    whole: Histogram
    student: float
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)

    def quantile(self, share_ppm: int) -> Ends:
        """95 % interval of a percentile."""
        value = self.whole.quantile(share_ppm)
        if value is None:
            return _OPEN
        above = np.flatnonzero(self.low >= 1 - share_ppm / 1e6)
        low = self.whole.low_of(int(above[-1]) + 1 if len(above) else 0)
        return low, self._upper(share_ppm, value)

    def _upper(self, share_ppm: int, value: int) -> float | None:
        below = np.flatnonzero(self.high <= 1 - share_ppm / 1e6)
        if not len(below) or (share_ppm >= TAIL_PPM and self._carried_by_few(value)):
            return None
        top = bucket_high(int(self.whole.buckets[below[0]]))
        reach = value * math.exp(self._arm([run.quantile(share_ppm) for run in self.runs]))
        return self._within(max(top, reach))

    def _within(self, end_ns: float) -> float | None:
        """None where it lies above the latest wake-up: nothing there was measured."""
        latest = self.whole.max_ns
        known = latest is not None and end_ns <= latest + self.whole.resolution_ns - 1
        return end_ns if known else None

    def mean(self) -> Ends:
        """95 % interval of the mean, by the ratio of sums on the scale of logarithms."""
        sums = np.array([run.sum_ns for run in self.runs], dtype=np.float64)
        centre = float(sums.sum() / self.totals.sum())
        if centre <= 0:
            return _OPEN
        many = len(self.runs)
        residuals = (sums - centre * self.totals) / self.totals.mean()
        error = math.sqrt(float((residuals**2).sum()) / (many * (many - 1)))
        if error <= 1e-12 * centre:
            return _OPEN  # runs without scatter say nothing of it
        factor = math.exp(min(self.student * error / centre, _EXPONENT_MAX))
        high = centre * factor + self.whole.resolution_ns - 1
        return (
            max(centre / factor, float(self.whole.min_ns or 0)),
            None if self._mean_is_of_few() else self._within(high),
        )

    def _mean_is_of_few(self) -> bool:
        """Whether late wake-ups, which few runs carry, decide how means differ."""
        late, cut = self.whole.quantile(LATE_PPM), self.whole.quantile(TAIL_PPM)
        if late is None or cut is None or not self._carried_by_few(late):
            return False
        means = [run.mean_ns or 0.0 for run in self.runs]
        # Values above the cut taken for it.
        body = [
            float((np.minimum(run.lows_ns(), cut) * run.counts).sum() / run.counts.sum())
            for run in self.runs
        ]
        return float(np.var(body)) < OF_BODY * float(np.var(means))

    def _arm(self, values: Sequence[float | None]) -> float:
        """Half of Student's interval of the mean logarithm; infinite where a value is unknown."""
        known = [float(value) for value in values if value and value > 0]
        if len(known) < len(values):
            return math.inf if None in values else 0.0
        spread = float(np.std(np.log(known), ddof=1))
        return min(self.student * spread / math.sqrt(len(self.runs)), _EXPONENT_MAX)

    def _carried_by_few(self, value: int) -> bool:
        """Whether runs differ, and so few of them have nearly all that is later than ``value``."""
        bucket = bucket_of(value)
        counts = self.totals - [float(run.counts[run.buckets < bucket].sum()) for run in self.runs]
        share = counts.sum() / self.totals.sum()
        if not 0 < share < 1:
            return False
        expected = self.totals * share
        surplus = float(((counts - expected) ** 2 / (expected * (1 - share))).sum())
        differ = chi_squared_p(surplus, len(counts) - 1) < ALPHA
        return differ and float(counts.sum() ** 2 / (counts**2).sum()) < CARRYING_MIN


def _between(runs: Sequence[Histogram], whole: Histogram) -> Between | None:
    """None with fewer than two runs that have a wake-up: one says nothing of how runs differ.

    The sums alone are kept, for days of runs.
    """
    filled = tuple(run for run in runs if run.total)
    size = len(whole.buckets)
    if len(filled) < 2 or not size:
        return None
    first, second, mixed = np.zeros((3, size))
    totals = np.array([run.total for run in filled], dtype=np.float64)
    for run, total in zip(filled, totals, strict=True):
        counts = np.zeros(size)
        counts[np.searchsorted(whole.buckets, run.buckets)] = run.counts
        above = total - np.cumsum(counts)
        first += above
        second += above**2
        mixed += above * total
    many = len(filled)
    share = first / totals.sum()
    squares = second - 2 * share * mixed + share**2 * (totals**2).sum()
    error = np.sqrt(np.maximum(squares, 0.0) / (many * (many - 1))) / totals.mean()
    freedom = math.floor(float(totals.sum() ** 2 / (totals**2).sum()) + 1e-9) - 1
    student = t_quantile(1 - TAIL, freedom) if freedom >= 1 else math.inf
    # Beyond the latest wake-up nothing is known.
    inside = (share > 0) & (share < 1) & math.isfinite(student)
    odds = np.where(inside, share, 0.5)
    arm = np.where(inside, student if freedom >= 1 else 0.0, 0.0) * error / (odds * (1 - odds))
    low, high = (special.expit(special.logit(odds) + sign * arm) for sign in (-1, 1))
    low = np.minimum.accumulate(np.where(inside, low, 0.0))
    high = np.where(inside, high, 1.0)
    return Between(runs=filled, totals=totals, whole=whole, student=student, low=low, high=high)
