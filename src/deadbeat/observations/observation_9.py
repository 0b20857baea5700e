"""Observation 9: real-time preemption misses fewer deadlines, but for the tail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deadbeat.model.errors import UsageError
from deadbeat.observations.base import (
    UNDECIDED,
    Evidence,
    Judgement,
    Observation,
    Result,
    Row,
    needs_kernels,
    number,
    verdict_of,
)
from deadbeat.observations.kernels import pair_text, plain_and_realtime

BULK = 0.95
RESAMPLES = 2000
_SEED = 9

Floats = NDArray[np.float64]


def _decide(evidence: Evidence) -> Judgement:
    pair = plain_and_realtime(evidence.results)
    if pair is None:
        because = "no two of the campaigns ran with and without real-time preemption"
        return Judgement(verdict=needs_kernels(2), because=because)
    plain, realtime = miss_ratios(*pair)
    bound = float(np.quantile([*plain, *realtime], BULK)) if len(plain) else 0.0
    if bound == 0:
        because = f"no deadline was missed in {100 * BULK:.0f} % of {len(plain)} task sets"
        return Judgement(verdict=UNDECIDED, because=because, figures=pair_text(*pair))
    capped = np.minimum(realtime, bound) - np.minimum(plain, bound)
    beyond = (np.maximum(realtime, bound) - np.maximum(plain, bound)).mean()
    low, high = interval(capped)
    less = f"{100 * capped.mean():+.3f} % [{100 * low:+.3f} %, {100 * high:+.3f} %]"
    lower = True if high < 0 else False if low >= 0 else None
    return Judgement(
        verdict=verdict_of([lower]),
        because=f"mean deadline miss ratio up to its {100 * BULK:.0f} % quantile"
        f" ({100 * bound:.3f} %), with real-time preemption less without: {less}",
        figures=(
            *pair_text(*pair),
            ("task sets run on both", str(len(plain))),
            ("difference of what lies beyond it (above 0 in the paper)", f"{100 * beyond:+.3f} %"),
        ),
        runs=(pair[0].name, pair[1].name),
    )


def miss_ratios(a: Result, b: Result) -> tuple[Floats, Floats]:
    """Deadline miss ratios of the task sets that both ran, in the same order.

    Raises:
        UsageError: A task set of the same name is another program.
    """
    rows = {row["key"]: row for row in a.sets}
    pairs = [(rows[row["key"]], row) for row in b.sets if row["key"] in rows]
    other = [mine["key"] for mine, theirs in pairs if mine["set_id"] != theirs["set_id"]]
    if other:
        raise UsageError(
            f"{a.name} and {b.name} ran different programs: {len(other)} of {len(pairs)} task sets"
            f" differ, {other[0]} for one",
            "run the programs of one on the other kernel: --programs-from",
        )
    known = [values for mine, theirs in pairs if None not in (values := _values(mine, theirs))]
    found = np.array(known, dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _values(mine: Row, theirs: Row) -> tuple[float | None, float | None]:
    return number(mine["deadline_miss_ratio"]), number(theirs["deadline_miss_ratio"])


def interval(differences: Floats) -> tuple[float, float]:
    """95 % interval of the mean difference: percentile bootstrap over task sets."""
    stream = np.random.default_rng(_SEED)
    chosen = stream.integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


OBSERVATION = Observation(
    number=9,
    title="PREEMPT_RT misses fewer deadlines in most cases",
    statement="Across 5000 generated task sets, below the 95 % quantile of the deadline miss ratio"
    " the chances of a miss are noticeably lower in PREEMPT_RT; in the extreme tail above it"
    " PREEMPT_RT misses more.",
    kernels=2,
    mode="stress",
    criterion=f"identical random task sets with and without real-time preemption; miss ratios above"
    f" the {100 * BULK:.0f} % quantile of both count as that quantile; confirmed: the interval of"
    " the difference of their means lies below 0; not confirmed: at or above 0. What lies beyond"
    " the quantile is printed, not judged",
    decide=_decide,
)
