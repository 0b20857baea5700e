"""Rows of a stress campaign: task sets summarised by group and deadline factor.

The unit is the task set: quantiles are over sets, and intervals resample sets. Sets without a miss
are counted apart, because most sets have none and the rest would drown among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.executors.metrics import quantiles
from deadbeat.kinds.contention.point import ends, known, mean_of, measured
from deadbeat.stats.intervals import Interval, difference, mean_interval, share_over_sets
from deadbeat.stats.proportions import wilson

Floats = NDArray[np.float64]
Sets = Sequence[Mapping[str, Any]]

_SHARES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0}
_SUMS = ("jobs", "released", "miss_episodes", "overruns", "left_out")


def group_row(sets: Sets) -> dict[str, Any]:
    """What the task sets of a group say together; the columns that say which group are not in it.

    Args:
        sets: Rows of sets.csv.
    """
    row: dict[str, Any] = {"task_sets": len(sets)}
    common = mean_of(known(sets, "cost_half_width")) or 0.0
    for metric, shared in (("slowdown", 0.0), ("delay_ratio", common)):
        row |= _spread(metric, known(sets, f"{metric}_mean"), common=shared)
    row |= measured(sets, groups=True)
    row |= miss_shares(sets)
    row |= {column: sum(item[column] for item in sets) if sets else None for column in _SUMS}
    return row


def _spread(metric: str, values: Floats, *, common: float) -> dict[str, Any]:
    found = {"mean": mean_of(values)}
    found |= dict(zip(_SHARES, quantiles(values, *_SHARES.values()), strict=True))
    named: dict[str, Any] = {f"{metric}_{name}": value for name, value in found.items()}
    return named | ends(f"{metric}_ci", mean_interval(values, common=common))


def miss_shares(sets: Sets) -> dict[str, Any]:
    """Jobs pooled, together and alone, with intervals over sets; and the sets that missed anything,
    apart from those that did not.

    Args: as of `group_row`.
    """
    ran = [row for row in sets if row["released"]]
    released, missed = known(ran, "released"), known(ran, "deadline_misses")
    late = (missed / released)[missed > 0]
    p50, p95 = quantiles(late, 0.5, 0.95)
    shares = {
        "deadline_miss": (missed, released),
        "alone_miss": (known(ran, "alone_misses"), known(ran, "alone_released")),
    }
    row: dict[str, Any] = {}
    for name, (events, trials) in shares.items():
        row[f"{name}_ratio"] = float(events.sum() / trials.sum()) if trials.any() else None
        row |= ends(f"{name}_ci", share_over_sets(events, trials))
    return row | {
        **_excess(row),
        "miss_set_share": len(late) / len(ran) if ran else None,
        **ends("miss_set_share_ci", wilson(len(late), len(ran)) if ran else None),
        "deadline_miss_p50_nonzero": p50,
        "deadline_miss_p95_nonzero": p95,
    }


def _excess(row: Mapping[str, Any]) -> dict[str, Any]:
    """Misses together beyond those alone."""
    one, other = row["deadline_miss_ratio"], row["alone_miss_ratio"]
    intervals = [
        Interval(row[f"{name}_ci_low"], row[f"{name}_ci_high"])
        for name in ("deadline_miss", "alone_miss")
    ]
    decided = None not in (one, other, *intervals[0], *intervals[1])
    return {
        "miss_excess": one - other if None not in (one, other) else None,
        **ends(
            "miss_excess_ci",
            difference(one, intervals[0], other, intervals[1]) if decided else None,
        ),
    }
