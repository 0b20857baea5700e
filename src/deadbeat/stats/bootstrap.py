"""Seeds, and Student's t."""

from __future__ import annotations

import math
from hashlib import sha256
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deadbeat.stats import special

Interval = tuple[float, float]
Floats = NDArray[np.float64]


def seed_of(*parts: object) -> int:
    """A seed of 64 bits from anything with a stable text, such as a campaign's seed and a point."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:8], "big")


def residuals(numerators: Floats, denominators: Floats) -> Floats:
    """What each set adds to the error of the ratio (linearised); of a mean: value - mean."""
    centre = numerators.sum() / denominators.sum()
    off: Floats = (numerators - centre * denominators) / denominators.mean()
    return off


def student_half_width(
    numerators: Floats, denominators: Floats | None = None, *, level: float = 0.95
) -> float:
    """Half of Student's interval of sum(numerators) / sum(denominators), of two sets or more.

    Without ``denominators`` of the mean. A ratio is linearised: its error is that of the mean of
    what each set is off.
    """
    below = np.ones_like(numerators) if denominators is None else denominators
    sets = len(numerators)
    error = float(residuals(numerators, below).std()) / math.sqrt(sets - 1)
    return t_quantile((1 + level) / 2, sets - 1) * error


def arm_factor(sets: int, tail: float) -> float:
    """How much longer the arms of a percentile interval must be with ``sets`` values."""
    z = NormalDist().inv_cdf(1 - tail)
    return math.sqrt(sets / (sets - 1)) * t_quantile(1 - tail, sets - 1) / z


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t for ``probability``."""
    return float(special.stdtrit(degrees, probability))


def t_cdf(value: float, degrees: int) -> float:
    """Distribution function of Student's t."""
    return float(special.stdtr(degrees, value))
