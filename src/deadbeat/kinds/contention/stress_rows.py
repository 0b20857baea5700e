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
from deadbeat.kinds.contention.figures import mean_of
from deadbeat.kinds.contention.point import ends, known, measured, miss_shares
from deadbeat.stats.intervals import mean_interval, share_over_sets
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
    row |= set_misses(sets)
    row |= {column: sum(item[column] for item in sets) if sets else None for column in _SUMS}
    return row


def _spread(metric: str, values: Floats, *, common: float) -> dict[str, object]:
    found = {"mean": mean_of(values)}
    found |= dict(zip(_SHARES, quantiles(values, *_SHARES.values()), strict=True))
    named: dict[str, object] = {f"{metric}_{name}": value for name, value in found.items()}
    return named | ends(f"{metric}_ci", mean_interval(values, common=common))


def set_misses(sets: Sets) -> dict[str, object]:
    """Jobs pooled, together and alone, with intervals over sets; and the sets that missed anything,
    apart from those that did not.

    Args: as of `group_row`.
    """
    ran = [row for row in sets if row["released"]]
    released, missed = known(ran, "released"), known(ran, "deadline_misses")
    late = (missed / released)[missed > 0]
    p50, p95 = quantiles(late, 0.5, 0.95)
    sides = ((missed, released), (known(ran, "alone_misses"), known(ran, "alone_released")))
    shares = (
        (float(e.sum() / t.sum()) if t.any() else None, share_over_sets(e, t)) for e, t in sides
    )
    return {
        **miss_shares(*shares),
        "miss_set_share": len(late) / len(ran) if ran else None,
        **ends("miss_set_share_ci", wilson(len(late), len(ran)) if ran else None),
        "deadline_miss_p50_nonzero": p50,
        "deadline_miss_p95_nonzero": p95,
    }
