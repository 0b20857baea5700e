"""Many means at once: corrected p-values, and variances that lean on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.stats import special

Floats = NDArray[np.float64]

#: Fewer samples with a variance than this say nothing on how alike variances are.
_ALIKE_MIN = 4


@frozen(kw_only=True)
class Spread:
    """What other samples say of the variance of one: as much as ``degrees`` more values."""

    variance: float
    degrees: float


def common_spread(samples: Sequence[Floats]) -> Spread | None:
    """How alike the variances of ``samples`` are; None where that is unknown.

    By the moments of their logarithms (G. K. Smyth, "Linear models and empirical Bayes methods",
    Statistical Applications in Genetics and Molecular Biology 3(1), 2004, section 6.2). Samples as
    alike as chance allows give infinite degrees: one variance for all.
    """
    known = [
        (len(values) - 1, float(values.var(ddof=1)))
        for values in samples
        if len(values) > 1 and np.ptp(values) > 0
    ]
    if len(known) < _ALIKE_MIN:
        return None
    shifted = np.array([math.log(v) - special.digamma(d / 2) + math.log(d / 2) for d, v in known])
    excess = float(shifted.var(ddof=1) - np.mean([_trigamma(d / 2) for d, _ in known]))
    level = float(shifted.mean())
    if excess <= 0:
        return Spread(variance=math.exp(level), degrees=math.inf)
    # By bisection of a function that falls from infinity to 0.
    low, high = 1e-8, 1e8
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _trigamma(middle) > excess else (low, middle)
    half = math.sqrt(low * high)
    return Spread(
        variance=math.exp(level + float(special.digamma(half)) - math.log(half)), degrees=2 * half
    )


def moderated(variance: float, degrees: int, spread: Spread | None, most: int) -> tuple[float, int]:
    """Variance and degrees of freedom with what the other samples say. ``most``: degrees of freedom
    of all samples together, which no sample can exceed."""
    if spread is None:
        return variance, degrees
    if math.isinf(spread.degrees):
        return spread.variance, max(degrees, most)
    whole = spread.degrees + degrees
    mixed = (spread.degrees * spread.variance + degrees * variance) / whole
    return mixed, max(degrees, min(math.floor(whole), most))


def _trigamma(x: float) -> float:
    return float(special.zeta(2, x))


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p-values that control the chance of any false rejection.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.
    """
    order = sorted(range(len(values)), key=lambda index: values[index])
    adjusted = [1.0] * len(values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = largest
    return adjusted
