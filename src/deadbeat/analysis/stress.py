"""Rows of a stress campaign: task sets summarised by group and deadline factor.

The unit is the task set: quantiles are over sets, and intervals resample sets. Sets without a miss
are counted apart, because most sets have none and the rest would drown among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.analysis.bootstrap import mean_interval, miss_interval
from deadbeat.analysis.metrics import quantiles
from deadbeat.model.results import PART_COLUMNS
from deadbeat.studies.statistics import wilson

Floats = NDArray[np.float64]
Sets = Sequence[Mapping[str, Any]]

_SHARES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0}
_MEANS = (
    "response_ratio_mean",
    "sync_share_real",
    "contended_ratio_real",
    "overlap_real",
    *PART_COLUMNS,
)
_SUMS = ("jobs", "released", "miss_episodes", "overruns")


def group_row(sets: Sets, *, seed: int, resamples: int) -> dict[str, Any]:
    """What the task sets of a group say together; the columns that say which group are not in it.

    Args:
        sets: Rows of sets.csv.
        seed: Of the resampling.
        resamples: Resamplings of the sets for an interval.
    """
    row: dict[str, Any] = {"task_sets": len(sets)}
    for metric in ("slowdown", "delay_ratio"):
        row |= _spread(metric, _known(sets, f"{metric}_mean"), seed=seed, resamples=resamples)
    row |= miss_shares(sets, seed=seed, resamples=resamples)
    row |= {column: _mean(_known(sets, column)) for column in _MEANS}
    row |= {column: sum(item[column] for item in sets) if sets else None for column in _SUMS}
    return row


def _spread(metric: str, values: Floats, *, seed: int, resamples: int) -> dict[str, Any]:
    interval = mean_interval(values, seed=seed, resamples=resamples)
    low, high = interval or (None, None)
    found = {"mean": _mean(values), "ci_low": low, "ci_high": high}
    found |= dict(zip(_SHARES, quantiles(values, *_SHARES.values()), strict=True))
    return {f"{metric}_{name}": value for name, value in found.items()}


def miss_shares(sets: Sets, *, seed: int, resamples: int) -> dict[str, Any]:
    """Jobs pooled; and the sets that missed anything, apart from those that did not.

    Args: as of `group_row`.
    """
    ran = [row for row in sets if row["released"]]
    released, missed = _known(ran, "released"), _known(ran, "deadline_misses")
    interval = miss_interval(missed, released, seed=seed, resamples=resamples)
    late = (missed / released)[missed > 0]
    p50, p95 = quantiles(late, 0.5, 0.95)
    low, high = interval or (None, None)
    share_low, share_high = wilson(len(late), len(ran)) if ran else (None, None)
    return {
        "deadline_miss_ratio": float(missed.sum() / released.sum()) if ran else None,
        "deadline_miss_ci_low": low,
        "deadline_miss_ci_high": high,
        "miss_set_share": len(late) / len(ran) if ran else None,
        "miss_set_share_ci_low": share_low,
        "miss_set_share_ci_high": share_high,
        "deadline_miss_p50_nonzero": p50,
        "deadline_miss_p95_nonzero": p95,
    }


def _known(sets: Sets, column: str) -> Floats:
    return np.array([float(row[column]) for row in sets if row[column] is not None])


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
