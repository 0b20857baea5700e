"""What runs tell of the percentiles and the mean of all runs there could be. Pure.

Wake-ups of one run share what the machine did in that minute, so the run is the unit. The share of
wake-ups above a value is a mean over runs: its interval is Student's, of the ratio of two sums, on
the scale of log odds. The values whose share may be that of a percentile are the percentile's
interval (R. S. Woodruff, "Confidence intervals for medians and other position measures", JASA 47,
1952): it lies within what was seen, and ends of deeper percentiles never lie below those of others.
Upwards runs also scatter beyond the largest of them: there the interval reaches at least as far as
Student's of the logarithms of the runs' own percentiles. An end that would lie above the latest
wake-up of all is not one that was measured: it is open. Runs that differ in length count as fewer,
and values that an engine cut off may have been a step larger. docs/reference/latency-summary.md has
what this covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.histogram import Histogram, bucket_high, bucket_low, bucket_of
from deadbeat.stats.binomial import ALPHA, TAIL, chi_squared_p
from deadbeat.stats.intervals import t_quantile

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Interval = tuple[float | None, float | None]
OPEN: Interval = (None, None)

#: Runs that must carry a tail, from this percentile on, before it is bounded from above: which runs
#: are the late ones is chance where fewer do. Only where runs differ more than chance would make.
CARRYING_MIN, TAIL_PPM = 5.0, 900_000
#: Means differ by late wake-ups where less than this of their variance stays without the latest
#: tenth; whether few runs carry them is told by the latest hundredth.
OF_BODY, LATE_PPM = 0.25, 990_000


@frozen(kw_only=True, eq=False)
class Between:
    """Runs of a cell, and what of them every bound is made of.

    Attributes:
        runs: Those with a wake-up.
        whole: All of them pooled.
        low, high: Bounds of the share of wake-ups above each bucket of ``whole``.
    """

    runs: tuple[Histogram, ...]
    whole: Histogram
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)

    def quantile(self, share_ppm: int) -> Interval:
        """95 % interval of a percentile."""
        value = self.whole.quantile(share_ppm)
        if value is None:
            return OPEN
        target = 1 - share_ppm / 1e6
        above = np.flatnonzero(self.low >= target)
        place = int(above[-1]) + 1 if len(above) else 0
        return self._least(place), self._upper(share_ppm, value)

    def _least(self, place: int) -> float | None:
        """Least value of a bucket by its place; beyond them all, of what overflowed."""
        if place >= len(self.whole.buckets):
            return self.whole.overflow_from_ns
        return max(bucket_low(int(self.whole.buckets[place])), self.whole.min_ns or 0)

    def _upper(self, share_ppm: int, value: int) -> float | None:
        below = np.flatnonzero(self.high <= 1 - share_ppm / 1e6)
        if not len(below) or (share_ppm >= TAIL_PPM and self._carried_by_few(value)):
            return None
        top = bucket_high(int(self.whole.buckets[below[0]]))
        reach = value * math.exp(self._arm([run.quantile(share_ppm) for run in self.runs]))
        return within(max(top, reach), self.whole)

    def mean(self) -> Interval:
        """95 % interval of the mean, by the ratio of sums on the scale of logarithms."""
        totals = np.array([run.total for run in self.runs], dtype=np.float64)
        sums = np.array([run.sum_ns for run in self.runs], dtype=np.float64)
        centre = float(sums.sum() / totals.sum())
        if centre <= 0:
            return OPEN
        many = len(self.runs)
        residuals = (sums - centre * totals) / totals.mean()
        error = math.sqrt(float((residuals**2).sum()) / (many * (many - 1)))
        if error <= 1e-12 * centre:
            return OPEN  # runs without scatter say nothing of it
        arm = student(totals) * error / centre
        low = centre * math.exp(-min(arm, 700.0))
        high = centre * math.exp(min(arm, 700.0)) + self.whole.resolution_ns - 1
        return (
            max(low, float(self.whole.min_ns or 0)),
            None if self._mean_is_of_few() else within(high, self.whole),
        )

    def _mean_is_of_few(self) -> bool:
        """Whether late wake-ups, which few runs carry, decide how means differ."""
        late = self.whole.quantile(LATE_PPM)
        cut = self.whole.quantile(TAIL_PPM)
        if late is None or cut is None or not self._carried_by_few(late):
            return False
        means = [run.mean_ns or 0.0 for run in self.runs]
        body = [_mean_below(run, cut) for run in self.runs]
        return float(np.var(body)) < OF_BODY * float(np.var(means))

    def _arm(self, values: Sequence[float | None]) -> float:
        """Of Student's interval of the mean logarithm; infinite where one is not known."""
        if not all(values):
            return math.inf if None in values else 0.0
        spread = float(np.std(np.log([float(v) for v in values if v]), ddof=1))
        many = len(self.runs)
        totals = np.array([run.total for run in self.runs], dtype=np.float64)
        return min(student(totals) * spread / math.sqrt(many), 700.0)

    def _carried_by_few(self, value: int) -> bool:
        """Whether runs differ, and so few of them have nearly all that is later than ``value``."""
        counts = np.array([_from_bucket(run, bucket_of(value)) for run in self.runs], np.float64)
        totals = np.array([run.total for run in self.runs], dtype=np.float64)
        share = counts.sum() / totals.sum()
        if not 0 < share < 1:
            return False
        expected = totals * share
        surplus = float(((counts - expected) ** 2 / (expected * (1 - share))).sum())
        degrees = len(counts) - 1
        differ = chi_squared_p(surplus, degrees) < ALPHA
        return differ and float(counts.sum() ** 2 / (counts**2).sum()) < CARRYING_MIN


def student(lengths: Floats) -> float:
    """The 97.5 % point of Student's t of so many runs; infinite where fewer than two count.

    A ratio of sums is mostly that of the longest runs (L. Kish, Survey Sampling, 1965).
    """
    freedom = math.floor(float(lengths.sum() ** 2 / (lengths**2).sum()) + 1e-9) - 1
    return t_quantile(1 - TAIL, freedom) if freedom >= 1 else math.inf


def within(end_ns: float, whole: Histogram) -> float | None:
    """``end_ns``, or None where it lies above the latest wake-up: nothing there was measured."""
    if whole.max_ns is None or end_ns > whole.max_ns + whole.resolution_ns - 1:
        return None
    return end_ns


def _mean_below(run: Histogram, cut_ns: int) -> float:
    """Mean of the values, those above ``cut_ns`` taken for it."""
    return float((np.minimum(run.lows_ns(), cut_ns) * run.counts).sum()) / float(run.counts.sum())


def _from_bucket(run: Histogram, bucket: int) -> int:
    """Values in ``bucket`` and above."""
    return run.total - int(run.counts[: int(np.searchsorted(run.buckets, bucket))].sum())


def between_runs(runs: Sequence[Histogram], whole: Histogram) -> Between | None:
    """None with fewer than two runs that have a wake-up: one says nothing of how runs differ."""
    filled = tuple(run for run in runs if run.total)
    if len(filled) < 2 or not whole.buckets.size:
        return None
    low, high = _shares(filled, whole)
    return Between(runs=filled, whole=whole, low=low, high=high)


def _shares(runs: Sequence[Histogram], whole: Histogram) -> tuple[Floats, Floats]:
    """Bounds of the share above each bucket; the sums alone are kept, for days of runs."""
    size = len(whole.buckets)
    first, second, mixed = np.zeros(size), np.zeros(size), np.zeros(size)
    totals = np.array([run.total for run in runs], dtype=np.float64)
    for run, total in zip(runs, totals, strict=True):
        counts = np.zeros(size)
        counts[np.searchsorted(whole.buckets, run.buckets)] = run.counts
        above = total - np.cumsum(counts)
        first += above
        second += above**2
        mixed += above * total
    many = len(runs)
    share = first / totals.sum()
    squares = second - 2 * share * mixed + share**2 * (totals**2).sum()
    error = np.sqrt(np.maximum(squares, 0.0) / (many * (many - 1))) / totals.mean()
    inside = (share > 0) & (share < 1)
    odds = np.where(inside, share, 0.5)
    quantile = student(totals)
    if math.isinf(quantile):
        return np.zeros(size), np.ones(size)
    arm = quantile * error / (odds * (1 - odds))
    logit = np.log(odds / (1 - odds))
    with np.errstate(over="ignore"):
        low, high = 1 / (1 + np.exp(arm - logit)), 1 / (1 + np.exp(-arm - logit))
    # Beyond the latest wake-up nothing is known.
    low, high = np.where(inside, low, 0.0), np.where(inside, high, 1.0)
    return np.minimum.accumulate(low), high
