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
from deadbeat.stats.intervals import difference, mean_interval, share_over_sets
from deadbeat.stats.proportions import wilson

Floats = NDArray[np.float64]
Sets = Sequence[Mapping[str, Any]]

_SHARES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0}
_SUMS = ("jobs", "released", "miss_episodes", "overruns", "left_out")


def group_row(sets: Sets) -> dict[str, object]:
    """What the task sets of a group say together; the columns that say which group are not in it.

    Args:
        sets: Rows of sets.csv.
    """
    row: dict[str, object] = {"task_sets": len(sets)}
    common = mean_of(known(sets, "cost_half_width")) or 0.0
    for metric, shared in (("slowdown", 0.0), ("delay_ratio", common)):
        row |= _spread(metric, known(sets, f"{metric}_mean"), common=shared)
    row |= measured(sets, groups=True)
    row |= miss_shares(sets)
    row |= {column: sum(item[column] for item in sets) if sets else None for column in _SUMS}
    return row


def _spread(metric: str, values: Floats, *, common: float) -> dict[str, object]:
    found = {"mean": mean_of(values)}
    found |= dict(zip(_SHARES, quantiles(values, *_SHARES.values()), strict=True))
    named: dict[str, object] = {f"{metric}_{name}": value for name, value in found.items()}
    return named | ends(f"{metric}_ci", mean_interval(values, common=common))


def miss_shares(sets: Sets) -> dict[str, object]:
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
    ratios = [float(e.sum() / t.sum()) if t.any() else None for e, t in shares.values()]
    intervals = [share_over_sets(events, trials) for events, trials in shares.values()]
    row: dict[str, object] = {}
    for name, ratio, interval in zip(shares, ratios, intervals, strict=True):
        row |= {f"{name}_ratio": ratio, **ends(f"{name}_ci", interval)}
    (one, other), (of_one, of_other) = ratios, intervals
    excess = apart = None
    if one is not None and other is not None:
        excess = one - other
        if of_one and of_other:
            apart = difference(one, of_one, other, of_other)
    return row | {
        "miss_excess": excess,
        **ends("miss_excess_ci", apart),
        "miss_set_share": len(late) / len(ran) if ran else None,
        **ends("miss_set_share_ci", wilson(len(late), len(ran)) if ran else None),
        "deadline_miss_p50_nonzero": p50,
        "deadline_miss_p95_nonzero": p95,
    }
