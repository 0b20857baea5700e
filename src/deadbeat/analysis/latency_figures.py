"""Quantities of pooled histograms with intervals: exact within the runs, resampled between them.

Wake-ups of one run share what the machine did in that minute; an interval from wake-ups alone is
far too narrow. So whole runs are resampled too (`bootstrap` says how the arms are lengthened for
few runs), and of each side the further end counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deadbeat.analysis.binomial import TAIL, quantile_ranks
from deadbeat.analysis.bootstrap import arm_factor, random_indices, seed_of, t_quantile
from deadbeat.model.histogram import Histogram, bucket_low, bucket_lows
from deadbeat.model.latency import QUANTILES_PPM
from deadbeat.model.latency_summary import Distribution, Quantity

Floats = NDArray[np.float64]
Interval = tuple[float | None, float | None]

RESAMPLES = 999
_CHUNK_BYTES = 32 << 20


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


def distribution(runs: Sequence[Histogram], *, seed: int) -> Distribution:
    """The quantities of ``runs`` (a histogram per run), pooled.

    Args:
        seed: Of the resampling of runs.
    """
    whole = pool(runs)
    between = _resampled(runs, seed=seed_of("latency", seed)) if len(runs) > 1 else {}
    return Distribution(
        histogram=whole,
        quantities=(
            _exact("min", runs, whole.min_ns, [each.min_ns for each in runs]),
            _mean(runs, whole, between.get("mean")),
            *(
                _quantile(name, share_ppm, runs, whole, between.get(name))
                for name, share_ppm in QUANTILES_PPM.items()
            ),
            _exact("max", runs, whole.max_ns, [each.max_ns for each in runs]),
            _max_of_a_run(runs),
        ),
    )


def _exact(
    name: str, runs: Sequence[Histogram], value: int | None, each: Sequence[int | None]
) -> Quantity:
    return Quantity(name=name, value_ns=value, runs_ns=tuple(each))


def _mean(runs: Sequence[Histogram], whole: Histogram, between: Interval | None) -> Quantity:
    low, high = between or (None, None)
    each = tuple(run.mean_ns for run in runs)
    return Quantity(name="mean", value_ns=whole.mean_ns, low_ns=low, high_ns=high, runs_ns=each)


def _quantile(
    name: str,
    share_ppm: int,
    runs: Sequence[Histogram],
    whole: Histogram,
    between: Interval | None,
) -> Quantity:
    low, high = order_interval(whole, share_ppm)
    if between is not None:
        low = None if low is None or between[0] is None else min(low, between[0])
        high = None if high is None or between[1] is None else max(high, between[1])
    value = whole.quantile(share_ppm)
    return Quantity(
        name=name,
        value_ns=value,
        low_ns=low if low is None or value is None else min(low, value),
        high_ns=high if high is None or value is None else max(high, value),
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


def _max_of_a_run(runs: Sequence[Histogram]) -> Quantity:
    """Geometric mean of the maxima of runs with Student's interval of their logarithms."""
    maxima = tuple(run.max_ns for run in runs)
    logs = np.log([float(value) for value in maxima if value])
    if not len(logs):
        return Quantity(name="max_of_a_run", value_ns=None, runs_ns=maxima)
    middle = float(logs.mean())
    low = high = None
    if len(logs) > 1:
        half = t_quantile(1 - TAIL, len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
        low, high = math.exp(middle - half), math.exp(middle + half)
    return Quantity(
        name="max_of_a_run",
        value_ns=math.exp(middle),
        low_ns=low,
        high_ns=high,
        runs_ns=maxima,
    )


# -- between runs


def _resampled(runs: Sequence[Histogram], *, seed: int) -> dict[str, Interval]:
    """Name of a quantity -> its interval when whole runs are drawn with replacement."""
    counts, tops = _table(runs)
    if not counts.size:
        return {}
    found = _draws(runs, counts, tops, seed=seed)
    centres = _statistics(np.ones((1, len(runs))), runs, counts, tops)
    factor = arm_factor(len(runs), TAIL)
    return {
        name: _lengthened(float(centres[name][0]), values, factor) for name, values in found.items()
    }


def _table(runs: Sequence[Histogram]) -> tuple[Floats, Floats]:
    """Counts per run and bucket of any of them, and the top of each bucket; overflow is last."""
    buckets = np.unique(np.concatenate([run.buckets for run in runs]))
    counts = np.zeros((len(runs), len(buckets) + 1))
    for row, run in enumerate(runs):
        counts[row, np.searchsorted(buckets, run.buckets)] = run.counts
        counts[row, -1] = run.overflow
    tops = bucket_lows(buckets + 1) - 1
    return counts, np.array([*tops, math.inf], dtype=np.float64)


def _draws(
    runs: Sequence[Histogram], counts: Floats, tops: Floats, *, seed: int
) -> dict[str, Floats]:
    """Each quantity of every resample."""
    many = len(runs)
    drawn = random_indices(RESAMPLES * many, below=many, seed=seed).reshape(RESAMPLES, many)
    times = np.stack([np.bincount(row, minlength=many) for row in drawn])
    # Few runs have few resamples that differ: 35 of four, 462 of six.
    distinct, place = np.unique(times, axis=0, return_inverse=True)
    step = max(1, _CHUNK_BYTES // (8 * counts.shape[1]))
    parts = [
        _statistics(distinct[first : first + step].astype(np.float64), runs, counts, tops)
        for first in range(0, len(distinct), step)
    ]
    return {name: np.concatenate([part[name] for part in parts])[place] for name in parts[0]}


def _statistics(
    times: Floats, runs: Sequence[Histogram], counts: Floats, tops: Floats
) -> dict[str, Floats]:
    """Mean and quantiles of each row of ``times`` (how often each run counts)."""
    below = np.cumsum(times @ counts, axis=1)
    totals = below[:, -1]
    sums = times @ np.array([float(run.sum_ns) for run in runs])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = {"mean": sums / totals}
    for name, share_ppm in QUANTILES_PPM.items():
        ranks = np.maximum(np.ceil(totals * (share_ppm / 1e6) - 1e-6), 1.0)
        places = (below < ranks[:, None]).sum(axis=1)
        found[name] = tops[np.minimum(places, len(tops) - 1)]
    return found


def _lengthened(centre: float, values: Floats, factor: float) -> Interval:
    """Percentile interval with longer arms, on the scale of logarithms: latencies are positive."""
    if not centre > 0 or not math.isfinite(centre):
        return None, None
    with np.errstate(divide="ignore"):
        # Of infinities (overflow) no mean of neighbours is taken.
        low, high = np.quantile(np.log(values / centre), [TAIL, 1 - TAIL], method="nearest")
    ends = [centre * math.exp(factor * float(arm)) for arm in (low, high) if math.isfinite(arm)]
    if math.isfinite(low) and math.isfinite(high):
        return ends[0], ends[1]
    return (ends[0] if math.isfinite(low) else None), (ends[-1] if math.isfinite(high) else None)
