"""Seeds, random indices for resampling, and Student's t.

The random numbers are splitmix64 of a counter: the same seed gives the same interval with every
version of numpy.
"""

from __future__ import annotations

import functools
import math
from hashlib import sha256
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]
Floats = NDArray[np.float64]


def seed_of(*parts: object) -> int:
    """A seed of 64 bits from anything with a stable text, such as a campaign's seed and a point."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:8], "big")


def random_indices(count: int, *, below: int, seed: int, first: int = 0) -> NDArray[np.int64]:
    """Draws ``first`` to ``first + count`` - 1 of the stream ``seed``, uniform in [0, below).

    Args:
        below: At most 2**32; the bias of the multiply-shift reduction is under below / 2**32.
    """
    with np.errstate(over="ignore"):
        z = np.arange(first + 1, first + count + 1, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (((z >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32)).astype(np.int64)


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


@functools.lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t for ``probability`` in (0.5, 1), by bisection of `t_cdf`.

    Beyond 1000 degrees by the first term of its expansion in 1 / degrees (Abramowitz & Stegun,
    26.7.5), which is then exact to six digits.
    """
    if degrees > 1000:
        z = NormalDist().inv_cdf(probability)
        return z + (z**3 + z) / (4 * degrees)
    low, high = 0.0, 2.0
    while t_cdf(high, degrees) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def t_cdf(value: float, degrees: int) -> float:
    """Distribution function of Student's t for value >= 0: the finite series of
    Abramowitz & Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    term, total = 1.0, 1.0
    first = 3 if degrees % 2 else 2
    if degrees % 2:
        term = cosine
        total = cosine
    for k in range(first, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if degrees % 2 == 0:
        return 0.5 + 0.5 * sine * total
    if degrees == 1:
        return 0.5 + angle / math.pi
    return 0.5 + (angle + sine * total) / math.pi
