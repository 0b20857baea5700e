"""Whether two figures of task sets go together, and which rows of a table are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.stats.binomial import Z95

#: Fewest pairs with an interval.
LEAST_PAIRS = 10


@frozen(kw_only=True)
class Correlation:
    """Spearman's rank correlation.

    Attributes:
        value: In [-1, 1]; None where one side does not vary, or there are fewer than two pairs.
        low, high: 95 % interval; None where there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    pairs: int

    @property
    def text(self) -> str:
        """``r_s = 0.42 [0.31, 0.52], n = 812``, or why there is none."""
        if self.value is None:
            return f"no correlation: does not vary, n = {self.pairs}"
        words = f"r_s = {self.value:.2f}"
        if self.low is not None and self.high is not None:
            words += f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{words}, n = {self.pairs}"


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Rank correlation; ties share their mean rank.

    The interval is Fisher's z with the variance (1 + r^2 / 2) / (n - 3) of D. Bonett and
    T. Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations", Psychometrika 65(1), 2000. Pairs are taken as independent: one per task set.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} values beside {len(y)}")
    count = len(x)
    if count < 2:
        return Correlation(value=None, low=None, high=None, pairs=count)
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    if scale == 0:
        return Correlation(value=None, low=None, high=None, pairs=count)
    value = max(-1.0, min(1.0, float(a @ b) / scale))
    if count < LEAST_PAIRS:
        return Correlation(value=value, low=None, high=None, pairs=count)
    # atanh(1) is infinite: the largest value that n distinct ranks can have below 1 bounds it.
    bound = 1 - 6 / (count * (count * count - 1))
    z = math.atanh(max(-bound, min(bound, value)))
    arm = Z95 * math.sqrt((1 + value * value / 2) / (count - 3))
    return Correlation(value=value, low=math.tanh(z - arm), high=math.tanh(z + arm), pairs=count)


def ranks(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    array = np.asarray(values, dtype=np.float64)
    _, place, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def leaf_order(features: NDArray[np.float64]) -> list[int]:
    """Numbers of the rows of ``features`` (n x m, n >= 1), alike ones side by side.

    Clusters by average linkage, leaves in the best order for them (Z. Bar-Joseph et al., "Fast
    optimal leaf ordering for hierarchical clustering", Bioinformatics 17, 2001), by scipy, which is
    imported when it is first used.
    """
    if len(features) < 3:
        return list(range(len(features)))
    hierarchy = import_module("scipy.cluster.hierarchy")
    tree = hierarchy.linkage(features, "average")
    return [
        int(row) for row in hierarchy.leaves_list(hierarchy.optimal_leaf_ordering(tree, features))
    ]
