"""What counted events have to do with the delay of task sets (contention paper, Figure 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat import Evidence, all_hold
from deadbeat_papers.observations.base import Value, rank_correlation

#: Share of the task sets that are called those with very high delay.
TOP = 0.25
_RESAMPLES, _SEED = 2000, 11

Floats = NDArray[np.float64]


def events(
    results: Sequence[Any], *, event: str, low: float, high: float, shape: str = ""
) -> Iterable[Evidence]:
    """The rank correlation of an event with the delay ratio over the sets on several cores lies
    within ``low`` to ``high``. ``shape``: ``logarithm``, the delay follows the logarithm of the
    count better than the count; ``not at the top``, it follows it less among the slowest sets."""
    every = [
        (each.column(f"counter_{event}_per_job"), each.delay_ratio_mean)
        for each in results[0].summary.sets
        if each.cores > 1
    ]
    known = np.array([pair for pair in every if None not in pair], np.float64).reshape(-1, 2)
    rank = rank_correlation(known.tolist())
    parts, text = [rank.within(low, high)], f"rank correlation over {len(known)} sets {rank}"
    if shape == "logarithm":
        better = _logarithm(*known[known[:, 0] > 0].T)
        parts.append(better.above(0))
        text += f"; correlation with the logarithm less that with the count {better}"
    elif shape:
        slowest = known[known[:, 1] >= np.quantile(known[:, 1], 1 - TOP)] if len(known) else known
        top = rank_correlation(slowest.tolist())
        parts.append(rank.minus(top).above(0))
        text += f", over the slowest {TOP:.0%} {top}".replace("%", " %")
    yield Evidence(holds=all_hold(parts), figures=f"{event.replace('_', ' ')}: {text}")


def _logarithm(counts: Floats, delays: Floats) -> Value:
    """How much better the logarithm of a count correlates than the count (Pearson), with its 95 %
    interval: percentile bootstrap over sets."""
    if len(counts) < 5:
        return Value(mean=0.0, low=None, high=None)
    chosen = np.random.default_rng(_SEED).integers(0, len(counts), (_RESAMPLES, len(counts)))
    logs = np.log(counts)
    found = [_pearson(logs[at], delays[at]) - _pearson(counts[at], delays[at]) for at in chosen]
    low, high = np.nanquantile(found, [0.025, 0.975])
    mean = _pearson(logs, delays) - _pearson(counts, delays)
    return Value(mean=mean, low=float(low), high=float(high))


def _pearson(one: Floats, two: Floats) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(one, two)[0, 1])
