"""Quantities of pooled histograms with intervals: exact within the runs, Student's between them.

Wake-ups of one run share what the machine did in that minute; an interval from wake-ups alone is
far too narrow. So runs are told apart too (`latency_between`), and of each side the further end
counts. One run says nothing of how runs differ: it has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from attrs import evolve

from deadbeat.kinds.latency.between import OPEN, Interval, between_runs
from deadbeat.model.histogram import Histogram, bucket_low
from deadbeat.model.latency import QUANTILES_PPM
from deadbeat.model.latency_summary import Distribution, Quantity
from deadbeat.stats.binomial import TAIL, quantile_ranks
from deadbeat.stats.intervals import t_quantile

#: Below, the spread of the maxima of runs is a guess.
_MAXIMA_MIN = 3


def pool(histograms: Sequence[Histogram]) -> Histogram:
    """All values of all of them: their sum, also of thousands."""
    if not histograms:
        return Histogram()
    buckets, place = np.unique(
        np.concatenate([each.buckets for each in histograms]), return_inverse=True
    )
    counts = np.zeros(len(buckets), np.int64)
    np.add.at(counts, place, np.concatenate([each.counts for each in histograms]))

    def known(name: str) -> list[int]:
        found = (getattr(each, name) for each in histograms)
        return [value for value in found if value is not None]

    return Histogram(
        buckets=buckets,
        counts=counts,
        min_ns=min(known("min_ns"), default=None),
        max_ns=max(known("max_ns"), default=None),
        sum_ns=sum(each.sum_ns for each in histograms),
        resolution_ns=max(each.resolution_ns for each in histograms),
        overflow=sum(each.overflow for each in histograms),
        overflow_from_ns=min(known("overflow_from_ns"), default=None),
    )


def distribution(runs: Sequence[Histogram]) -> Distribution:
    """The quantities of ``runs`` (a histogram per run), pooled."""
    whole = pool(runs)
    between = between_runs(runs, whole)
    intervals = {
        name: OPEN if between is None else between.quantile(share_ppm)
        for name, share_ppm in QUANTILES_PPM.items()
    }
    return Distribution(
        histogram=whole,
        quantities=(
            _exact("min", whole.min_ns, [each.min_ns for each in runs]),
            _mean(runs, whole, OPEN if between is None else between.mean()),
            *_in_order(
                [
                    _quantile(name, share_ppm, runs, whole, intervals[name])
                    for name, share_ppm in QUANTILES_PPM.items()
                ]
            ),
            _exact("max", whole.max_ns, [each.max_ns for each in runs]),
            _max_of_a_run(runs, whole),
        ),
    )


def _in_order(quantiles: Sequence[Quantity]) -> list[Quantity]:
    """A deeper percentile is at least the others: so is either end of its interval.

    Beyond one that is not bounded from above none is.
    """
    least: float | None = None
    is_open = False
    found: list[Quantity] = []
    for quantity in quantiles:
        is_open = is_open or quantity.high_ns is None
        if quantity.low_ns is not None:
            least = quantity.low_ns if least is None else max(least, quantity.low_ns)
        high = None if is_open else quantity.high_ns
        found.append(evolve(quantity, low_ns=least, high_ns=high))
    highs = [math.inf if each.high_ns is None else each.high_ns for each in found]
    return [
        each if each.high_ns is None else evolve(each, high_ns=min(highs[place:]))
        for place, each in enumerate(found)
    ]


def _exact(name: str, value: int | None, each: Sequence[int | None]) -> Quantity:
    return Quantity(name=name, value_ns=value, runs_ns=tuple(each))


def _mean(runs: Sequence[Histogram], whole: Histogram, between: Interval) -> Quantity:
    value = whole.mean_ns
    return Quantity(
        name="mean",
        value_ns=value,
        low_ns=_outer(min, between[0], value),
        high_ns=_outer(max, between[1], value),
        runs_ns=tuple(run.mean_ns for run in runs),
    )


def _outer(
    pick: Callable[[float, float], float], bound: float | None, value: float | None
) -> float | None:
    """An interval's end, never on the wrong side of the value: pooled and run by run differ."""
    return bound if bound is None or value is None else pick(bound, value)


def _quantile(
    name: str, share_ppm: int, runs: Sequence[Histogram], whole: Histogram, between: Interval
) -> Quantity:
    low, high = order_interval(whole, share_ppm)
    low = None if low is None or between[0] is None else min(low, between[0])
    high = None if high is None or between[1] is None else max(high, between[1])
    value = whole.quantile(share_ppm)
    return Quantity(
        name=name,
        value_ns=value,
        low_ns=_outer(min, low, value),
        high_ns=_outer(max, high, value),
        runs_ns=tuple(run.quantile(share_ppm) for run in runs),
    )


def order_interval(histogram: Histogram, share_ppm: int) -> Interval:
    """Exact 95 % interval of a quantile from independent values: order statistics.

    Each end is the outer edge of its bucket, and of what the resolution cut off. None where no
    value is far enough out, or it overflowed.
    """
    low, high = quantile_ranks(histogram.total, share_ppm / 1e6)
    upper = None if high is None else histogram.at_rank(high)
    return (
        None if low is None else _low_at(histogram, low),
        None if upper is None else upper + histogram.resolution_ns - 1,
    )


def _low_at(histogram: Histogram, rank: int) -> int | None:
    """The ``rank``-th smallest value as the bottom of its bucket, at least ``min_ns``."""
    if rank > histogram.total - histogram.overflow:
        return histogram.overflow_from_ns
    place = int(np.searchsorted(np.cumsum(histogram.counts), rank))
    low = bucket_low(int(histogram.buckets[place]))
    return low if histogram.min_ns is None else max(low, histogram.min_ns)


def _max_of_a_run(runs: Sequence[Histogram], whole: Histogram) -> Quantity:
    """Geometric mean of the maxima of runs with Student's interval of their logarithms.

    A run's latest wake-up is not below the least latency of all: neither is the interval. What the
    engine cut off is in its upper end. Runs without scatter have none: they say nothing of it.
    """
    maxima = tuple(run.max_ns for run in runs)
    logs = np.log([float(value) for value in maxima if value])
    if not len(logs):
        return Quantity(name="max_of_a_run", value_ns=None, runs_ns=maxima)
    middle = float(logs.mean())
    known = [value for value in maxima if value]
    # Rounding must not put it beyond all of them.
    value = min(max(math.exp(middle), float(min(known))), float(max(known)))
    low = high = None
    if len(logs) >= _MAXIMA_MIN and len(set(known)) > 1:
        half = t_quantile(1 - TAIL, len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
        low = min(max(math.exp(middle - half), float(whole.min_ns or 0)), value)
        high = max(math.exp(min(middle + half, 700.0)), value) + whole.resolution_ns - 1
    return Quantity(
        name="max_of_a_run",
        value_ns=value,
        low_ns=low,
        high_ns=high,
        runs_ns=maxima,
    )
