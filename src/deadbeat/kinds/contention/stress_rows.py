"""Groups of a stress campaign: task sets summarised by group and deadline factor.

The unit is the task set: quantiles are over sets, and intervals resample sets. Sets without a miss
are counted apart, because most sets have none and the rest would drown among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from deadbeat.executors.metrics import Floats, quantiles
from deadbeat.kinds.contention.figures import mean_of
from deadbeat.kinds.contention.point import (
    common_half_width,
    known,
    measured,
    miss_shares,
    summed,
    with_ends,
)
from deadbeat.model.figures import CellFigures, Figure, SetFigures
from deadbeat.stats.intervals import mean_interval, share_over_sets
from deadbeat.stats.proportions import wilson

_SHARES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0}


def group_cell(where: CellFigures, sets: Sequence[SetFigures]) -> CellFigures:
    """What the task sets of a group say together."""
    figures: dict[str, Figure] = {}
    for metric, shared in (("slowdown", 0.0), ("delay_ratio", common_half_width(sets))):
        figures |= _spread(metric, known(sets, f"{metric}_mean"), common=shared)
    figures |= measured(sets, groups=True) | set_misses(sets)
    jobs = sum(each.jobs for each in sets) if sets else None
    return evolve(summed(where, sets), jobs=jobs, figures=figures)


def _spread(metric: str, values: Floats, *, common: float) -> dict[str, Figure]:
    found = zip(_SHARES, quantiles(values, *_SHARES.values()), strict=True)
    return {
        f"{metric}_mean": with_ends(mean_of(values), mean_interval(values, common=common)),
        **{f"{metric}_{name}": Figure(value) for name, value in found},
    }


def set_misses(sets: Sequence[SetFigures]) -> dict[str, Figure]:
    """Jobs pooled, together and alone, with intervals over sets; and the sets that missed anything,
    apart from those that did not."""
    ran = [each for each in sets if each.released]
    released, missed = known(ran, "released"), known(ran, "deadline_misses")
    late = (missed / released)[missed > 0]
    p50, p95 = quantiles(late, 0.5, 0.95)
    sides = ((missed, released), (known(ran, "alone_misses"), known(ran, "alone_released")))
    shares = (
        with_ends(float(e.sum() / t.sum()) if t.any() else None, share_over_sets(e, t))
        for e, t in sides
    )
    share, ends = (len(late) / len(ran), wilson(len(late), len(ran))) if ran else (None, None)
    return {
        **miss_shares(*shares),
        "miss_set_share": with_ends(share, ends),
        "deadline_miss_p50_nonzero": Figure(p50),
        "deadline_miss_p95_nonzero": Figure(p95),
    }
