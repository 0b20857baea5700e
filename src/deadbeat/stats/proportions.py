"""Intervals and comparisons of proportions: closed formulas, sources named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.stats.binomial import Z95, at_most
from deadbeat.stats.intervals import Interval, difference, t_quantile


@frozen
class Count:
    """``yes`` of ``total`` sets."""

    yes: int
    total: int

    @property
    def share(self) -> float:
        """NaN of nothing."""
        return self.yes / self.total if self.total else math.nan

    @property
    def interval(self) -> Interval:
        return wilson(self.yes, self.total)

    def text(self) -> str:
        """``61.3 % [58.0, 64.5] of 450``."""
        if not self.total:
            return "no set"
        low, high = self.interval
        return f"{100 * self.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {self.total}"


def wilson(yes: int, total: int) -> Interval:
    """Score interval of a proportion (Wilson, JASA 22, 1927); (0, 1) of nothing."""
    if total == 0:
        return Interval(0.0, 1.0)
    share, square = yes / total, Z95 * Z95
    centre = (share + square / (2 * total)) / (1 + square / total)
    half = (
        Z95
        / (1 + square / total)
        * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    )
    # At the ends the formula is 0 and 1 up to rounding.
    low = 0.0 if yes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if yes == total else min(1.0, centre + half))


def compare(a: Count, b: Count) -> int:
    """1: a's proportion is higher, -1: lower, 0: not told apart at 95 %.

    By the interval of the difference of independent proportions (Newcombe, Statistics in
    Medicine 17, 1998, method 10: from the two Wilson intervals).
    """
    if not a.total or not b.total:
        return 0
    low, high = difference(a.share, a.interval, b.share, b.interval)
    return 1 if low > 0 else -1 if high < 0 else 0


def sign_test(only_a: int, only_b: int) -> float:
    """Two-sided p of ``only_a`` against ``only_b`` under even odds (exact binomial; McNemar)."""
    total, few = only_a + only_b, min(only_a, only_b)
    if total == 0:
        return 1.0
    return min(1.0, 2 * at_most(few, total, 0.5))


def compare_paired(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Order as in ``compare``, and on how many sets only a, only b says yes; the same sets."""
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    told = sign_test(only_a, only_b) < 0.05
    return (0 if not told else 1 if only_a > only_b else -1), only_a, only_b


@frozen
class Mean:
    """A mean over sets and the half-width of its 95 % interval (Student's t)."""

    value: float
    half: float
    sets: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Mean:
        count = len(values)
        if count == 0:
            return cls(math.nan, math.nan, 0)
        half = (
            t_quantile(0.975, count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
            if count > 1
            else math.inf
        )
        return cls(float(np.mean(values)), half, count)

    def text(self, unit: str = "", digits: int = 3) -> str:
        if not self.sets:
            return "no set"
        half = f" ± {self.half:.{digits}g}" if math.isfinite(self.half) else ""
        return f"{self.value:.{digits}g}{half}{unit} over {self.sets} sets"


def compare_means(a: Mean, b: Mean) -> int:
    """As ``compare``, of independent means."""
    if not (a.sets and b.sets):
        return 0
    half = math.hypot(a.half, b.half)
    if not math.isfinite(half):
        return 0
    beyond = a.value - b.value
    return 1 if beyond > half else -1 if beyond < -half else 0


def compare_strata(
    flag: NDArray[np.bool_], yes: NDArray[np.bool_], stratum: NDArray[np.int64]
) -> tuple[int, float, float, int]:
    """Whether ``yes`` is likelier where ``flag`` holds, within strata.

    Mantel and Haenszel's weighted difference of proportions; variance of independent binomials.

    Returns:
        Order as in ``compare``, the difference, the half-width of its 95 % interval, and how many
        sets were in a stratum with both kinds.
    """
    weights, differences, variances, counted = [], [], [], 0
    for known in np.unique(stratum):
        inside = stratum == known
        a, b = yes[inside & flag], yes[inside & ~flag]
        if not (len(a) and len(b)):
            continue
        counted += len(a) + len(b)
        weights.append(len(a) * len(b) / (len(a) + len(b)))
        differences.append(a.mean() - b.mean())
        # One more yes and no each: a share of 0 or 1 of a few sets has no variance else.
        p, q = ((x.sum() + 1) / (len(x) + 2) for x in (a, b))
        variances.append(p * (1 - p) / len(a) + q * (1 - q) / len(b))
    if not weights:
        return 0, math.nan, math.nan, 0
    weight = np.array(weights)
    mean = float(weight @ np.array(differences) / weight.sum())
    half = Z95 * math.sqrt(float(weight**2 @ np.array(variances))) / float(weight.sum())
    return (1 if mean > half else -1 if mean < -half else 0), mean, half, counted


def trend(points: Sequence[Count], *, rising: bool) -> bool:
    """Whether a proportion goes one way: last against first told apart, no step told back."""
    known = [point for point in points if point.total]
    sign = 1 if rising else -1
    if len(known) < 2 or compare(known[-1], known[0]) != sign:
        return False
    return all(compare(after, before) != -sign for before, after in pairwise(known))


def weighted_schedulability(loads: NDArray[np.float64], yes: NDArray[np.bool_]) -> float:
    """Sum of U times verdict by sum of U (Bastoni, Brandenburg and Anderson, OSPERT 2010)."""
    whole = float(loads.sum())
    return float(loads[yes].sum()) / whole if whole > 0 else math.nan
