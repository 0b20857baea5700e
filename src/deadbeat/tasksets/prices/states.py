"""States of a pair of CPUs: groups of the round trips of a word between them.

Two virtual CPUs are near or far for seconds at a time, and nothing but the round trip shows it
(docs/decisions, prices). No limit comes from another machine: two groups are two where they lie
apart, by their own spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEADY, NEAR, FAR, CHANGED = "steady", "near", "far", "changed"
#: Two groups lie apart by this number of their scatters, and by this ratio at least.
_APART, _RATIO = 4.0, 1.6
#: At most this share of the smaller group lies half way between them.
_BETWEEN = 0.25


@frozen(kw_only=True)
class PairStates:
    """How round trips of one pair give its state. ``limit_ps``: between near and far; None: one
    group. ``trips_ps``: typical round trip of each state (median), by name."""

    limit_ps: float | None
    trips_ps: dict[str, float]

    def of(self, trips_ps: Floats) -> NDArray[np.str_]:
        """The state of each round trip; "": none was measured."""
        if self.limit_ps is None:
            return np.where(trips_ps > 0, STEADY, "")
        found = np.where(trips_ps < self.limit_ps, NEAR, FAR)
        return np.where(trips_ps > 0, found, "")

    def between(self, before_ps: Floats, after_ps: Floats) -> NDArray[np.str_]:
        """The state of what lies between two round trips; `CHANGED` where they differ."""
        before, after = self.of(before_ps), self.of(after_ps)
        either = np.where(before == "", after, before)
        same = (before == after) | (before == "") | (after == "")
        return np.where(same & (either != ""), either, CHANGED)


def pair_states(trips_ps: Iterable[float]) -> PairStates:
    """One or two groups (N. Otsu, IEEE Transactions SMC 9(1), 1979, on logarithms)."""
    trips = np.sort([trip for trip in trips_ps if trip > 0])
    limit = _limit(np.log(trips)) if len(trips) > 3 else None
    if limit is None:
        known = {STEADY: float(np.median(trips))} if len(trips) else {}
        return PairStates(limit_ps=None, trips_ps=known)
    near, far = trips[trips < limit], trips[trips >= limit]
    return PairStates(
        limit_ps=limit, trips_ps={NEAR: float(np.median(near)), FAR: float(np.median(far))}
    )


def _limit(logs: Floats) -> float | None:
    """Where the two groups part, in ps; None: there is one."""
    count = np.arange(1, len(logs))
    low = np.cumsum(logs)[:-1] / count
    high = (logs.sum() - np.cumsum(logs)[:-1]) / (len(logs) - count)
    place = int(np.argmax(count * (len(logs) - count) * (high - low) ** 2))
    below, above = logs[: place + 1], logs[place + 1 :]
    one, other = float(np.median(below)), float(np.median(above))
    scatter = max(_scatter(below), _scatter(above))
    width = other - one
    middle = (logs > one + 0.35 * width) & (logs < other - 0.35 * width)
    few = min(len(below), len(above))
    if few < 2:  # an outlier is no state
        return None
    if width < max(math.log(_RATIO), _APART * scatter) or middle.sum() > _BETWEEN * few:
        return None
    return math.exp((one + other) / 2)


def _scatter(logs: Floats) -> float:
    """Half of the width of the middle 80 %."""
    low, high = np.quantile(logs, [0.1, 0.9])
    return float(high - low) / 2
