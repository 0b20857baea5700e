"""Evidence of studies: one scheduler against another, a trend, one mean against another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deadbeat import Count, Evidence, Mask, Mean, StudyResults, all_hold

#: Two-sided 95 % point of the standard normal distribution.
Z95 = 1.959963984540054
#: Shares that differ by less are the same.
NEGLIGIBLE = 0.05


def compare(a: Count, b: Count) -> int:
    """1: a's proportion is higher, -1: lower, 0: no difference shown at 95 %.

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
    return Count(only_a, only_a + only_b).leaning, only_a, only_b


def compare_means(a: Mean, b: Mean) -> int:
    """Compare independent means, like ``compare``."""
    if not (a.sets and b.sets):
        return 0
    half = math.hypot(a.half, b.half)
    if not math.isfinite(half):
        return 0
    beyond = a.value - b.value
    return 1 if beyond > half else -1 if beyond < -half else 0


def ratio(a: Mean, b: Mean) -> tuple[float, float]:
    """The 95 % interval of mean ``a`` by mean ``b``, both of values from 0 on: the delta method on
    its logarithm, as if they were independent; (0, inf) where too few sets tell."""
    if not math.isfinite(a.half + b.half) or not a.value > 0:
        return 0.0, math.inf
    if not b.value > 0:
        return (math.inf if a.value > a.half else 0.0), math.inf
    half = math.exp(min(math.hypot(a.half / a.value, b.half / b.value), 700.0))
    return a.value / b.value / half, a.value / b.value * half


def shown(found: int, wanted: int = 1) -> bool | None:
    """Whether an order as in ``compare`` is the one wanted; None where no difference is shown."""
    return found == wanted if found else None


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


def ordered(
    results: StudyResults, more: str, fewer: str, mask: Mask, variant: Mapping[str, str]
) -> Evidence:
    """Whether ``more`` schedules more of the same sets than ``fewer``; the sets in ``mask``."""
    inside = mask & results.decided(more) & results.decided(fewer)
    order, only_more, only_fewer = compare_paired(
        results.yes(more)[inside], results.yes(fewer)[inside]
    )
    a, b = (Count(int(np.sum(results.yes(x)[inside])), int(inside.sum())) for x in (more, fewer))
    return Evidence(
        variant=variant,
        holds=shown(order),
        figures=f"{more} {a.text()}, {fewer} {b.text()}; only {more} {only_more},"
        f" only {fewer} {only_fewer}{order_text(order, 1)}",
    )


def falling(
    counts: Mapping[str, Count], variant: Mapping[str, str], *, rising: bool = False
) -> Evidence:
    """Whether a share goes one way over ``counts``, in their order."""
    known = {name: count for name, count in counts.items() if count.total}
    sign = 1 if rising else -1
    values = list(known.values())
    ends = compare(values[-1], values[0]) if len(values) > 1 else 0
    back = [after for (_, a), (after, b) in pairwise(known.items()) if compare(b, a) == -sign]
    against = f"; turns back at {', '.join(back)}" if back else ""
    text = ", ".join(f"{name}: {100 * c.share:.1f} % of {c.total}" for name, c in known.items())
    return Evidence(
        variant=variant,
        holds=all_hold([shown(ends, sign), not back]),
        figures=f"{text}{against}{order_text(ends, sign)}",
    )


def differing(counts: Mapping[str, Count], variant: Mapping[str, str]) -> Evidence:
    """Whether a share depends on what ``counts`` are by: Pearson's chi-squared test; it does not
    where the 95 % interval of the largest difference ends below ``NEGLIGIBLE``."""
    known = sorted((count.share, name) for name, count in counts.items() if count.total)
    table = np.array(
        [(counts[name].yes, counts[name].total - counts[name].yes) for _, name in known]
    )
    varied = len(known) > 1 and bool(table.sum(axis=0).all())
    p = float(stats.chi2_contingency(table).pvalue) if varied else 1.0
    least, most = (counts[known[end][1]] for end in (0, -1))
    above, below = most.interval[1] - most.share, least.share - least.interval[0]
    ends = most.share - least.share + math.hypot(above, below)
    return Evidence(
        variant=variant,
        holds=True if p < 0.05 else False if ends < NEGLIGIBLE else None,
        figures=f"{known[0][1]}: {least.text()}, {known[-1][1]}: {most.text()}; p = {p:.2g} over"
        f" {len(known)} values; they differ by at most {100 * ends:.1f} points",
    )


def larger(
    name_a: str, a: Mean, name_b: str, b: Mean, variant: Mapping[str, str], *, unit: str = ""
) -> Evidence:
    """Whether mean ``a`` is larger than ``b``, shown at 95 %."""
    order = compare_means(a, b)
    return Evidence(
        variant=variant,
        holds=shown(order),
        figures=f"{name_a} {a.text(unit)}, {name_b} {b.text(unit)}{order_text(order, 1)}",
    )


def order_text(found: int, wanted: int) -> str:
    """Why it does not hold: the opposite is shown, or nothing that this many sets can tell."""
    if found == wanted:
        return ""
    return " (the opposite)" if found == -wanted else " (no difference shown at 95 %)"
