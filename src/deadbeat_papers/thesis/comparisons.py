"""Whether figures of sets of tasks are told apart at 95 %: closed formulas, sources named."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deadbeat import Count, Mask, Mean

#: Two-sided 95 % point of the standard normal distribution.
Z95 = 1.959963984540054


def compare(a: Count, b: Count) -> int:
    """1: a's proportion is higher, -1: lower, 0: not told apart at 95 %.

    By the interval of the difference of independent proportions (Newcombe, Statistics in
    Medicine 17, 1998, method 10: from the two Wilson intervals).
    """
    if not a.total or not b.total:
        return 0
    beyond, (low, high), (other_low, other_high) = a.share - b.share, a.interval, b.interval
    if beyond > math.hypot(a.share - low, other_high - b.share):
        return 1
    return -1 if -beyond > math.hypot(high - a.share, b.share - other_low) else 0


def compare_paired(a: Mask, b: Mask) -> tuple[int, int, int]:
    """Order as in ``compare``, and on how many sets only a, only b says yes; the same sets."""
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    # Exact binomial under even odds (McNemar): both tails together are rarer than 1 in 20.
    differ = only_a + only_b
    term = tail = 1
    for k in range(min(only_a, only_b)):
        term = term * (differ - k) // (k + 1)
        tail += term
    told = 2 * 20 * tail < 2**differ
    return (0 if not told else 1 if only_a > only_b else -1), only_a, only_b


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
    flag: Mask, yes: Mask, stratum: NDArray[np.int64]
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
