"""Intervals by resampling task sets, never jobs: jobs of one set share their fate.

Two intervals are joined, and of each side the further end counts. The first is the percentile
interval with its arms lengthened by sqrt(n / (n - 1)) t / z: the first factor undoes the narrowness
of resampling n values with replacement, the second is Student's for an unknown spread
(T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69(4),
2015, describes both shortcomings). The second is Student's after the transformation that removes
the skewness of its t (P. Hall, "On the Removal of Skewness by Transformation", J. Royal Statistical
Society B 54(1), 1992): its arm on the side of the long tail is longer, as sets that are rare and
heavy demand. What each covers is measured in docs/reference/metrics.md.

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

#: Bytes of index that one step of resampling may take.
_CHUNK_BYTES = 32 << 20
#: Fewer values tell noise, not skewness: three alike ones look nearly as skewed as three can.
SKEWNESS_SETS = 5


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


def mean_interval(
    values: Floats, *, seed: int, resamples: int = 2000, level: float = 0.95
) -> Interval | None:
    """Interval of the mean of ``values`` (one per task set); None with fewer than two sets.

    Where the mean is not below the median, it lies below all of n sets with probability 2**-n at
    most. So from the number on at which that is less than a tail (six, of 95 %), the lower end is
    not below the smallest value, if the values too have their mean at or above their median.
    """
    weights = np.ones_like(values)
    interval = ratio_interval(values, weights, seed=seed, resamples=resamples, level=level)
    if interval is None or 0.5 ** len(values) > (1 - level) / 2:
        return interval
    mean, least = float(values.mean()), float(values.min())
    if np.median(values) > mean:
        return interval
    return max(interval[0], min(least, mean)), interval[1]


def ratio_interval(
    numerators: Floats,
    denominators: Floats,
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval | None:
    """Interval of sum(numerators) / sum(denominators), a pair per task set; never below zero.

    None with fewer than two sets: one set says nothing about how sets differ.
    """
    sets = len(numerators)
    if sets < 2:
        return None
    statistics = np.empty(resamples)
    step = max(1, _CHUNK_BYTES // (8 * sets))
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        drawn = random_indices(rows * sets, below=sets, seed=seed, first=first * sets)
        drawn = drawn.reshape(rows, sets)
        above, below = numerators[drawn].sum(axis=1), denominators[drawn].sum(axis=1)
        statistics[first : first + rows] = above / below
    tail = (1 - level) / 2
    centre = float(numerators.sum() / denominators.sum())
    low, high = centre + arm_factor(sets, tail) * (
        np.quantile(statistics, [tail, 1 - tail]) - centre
    )
    left, right = _without_skewness(_residuals(numerators, denominators), tail)
    return max(0.0, min(float(low), centre - left)), max(float(high), centre + right)


def _residuals(numerators: Floats, denominators: Floats) -> Floats:
    """What each set adds to the error of the ratio (linearised); of a mean: value - mean."""
    centre = numerators.sum() / denominators.sum()
    residuals: Floats = (numerators - centre * denominators) / denominators.mean()
    return residuals


def _without_skewness(residuals: Floats, tail: float) -> Interval:
    """Lengths of the left and the right arm: Student's, of a t whose skewness was removed.

    Hall's transformation of W = t / sqrt(n) is W + g W**2 / 3 + g**2 W**3 / 27 + g / (6 n), with g
    the skewness of the values; it is monotone and solved here for W. Below `SKEWNESS_SETS` values
    the arms are Student's own.
    """
    sets = len(residuals)
    spread, t = float(residuals.std()), t_quantile(1 - tail, sets - 1)
    error = spread / math.sqrt(sets - 1)
    if spread == 0.0 or sets < SKEWNESS_SETS:
        return t * error, t * error
    skewness = float(((residuals / spread) ** 3).mean())
    if abs(skewness) < 1e-6:
        return t * error, t * error
    root = math.sqrt(sets)

    def transformed_back(value: float) -> float:
        inner = 1 + skewness * (value / root - skewness / (6 * sets))
        return 3 / skewness * root * (math.cbrt(inner) - 1)

    return transformed_back(t) * error, -transformed_back(-t) * error


def student_half_width(
    numerators: Floats, denominators: Floats | None = None, *, level: float = 0.95
) -> float:
    """Half of Student's interval of sum(numerators) / sum(denominators), of two sets or more.

    Without ``denominators`` of the mean. A ratio is linearised: its error is that of the mean of
    what each set is off.
    """
    below = np.ones_like(numerators) if denominators is None else denominators
    sets = len(numerators)
    error = float(_residuals(numerators, below).std()) / math.sqrt(sets - 1)
    return t_quantile((1 + level) / 2, sets - 1) * error


def arm_factor(sets: int, tail: float) -> float:
    """How much longer the arms of a percentile interval must be with ``sets`` values."""
    z = NormalDist().inv_cdf(1 - tail)
    return math.sqrt(sets / (sets - 1)) * t_quantile(1 - tail, sets - 1) / z


@functools.cache
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


def miss_interval(
    misses: Floats, released: Floats, *, seed: int, resamples: int = 2000, level: float = 0.95
) -> Interval | None:
    """Interval of the pooled miss ratio; misses and releases per task set.

    Where no set (or every job of every set) missed, resampling would claim certainty. The bound is
    then exact, of Clopper and Pearson, with the number of task sets as the number of trials: a set
    without a miss is one observation, however many jobs it has. No trial of n failing bounds the
    probability of a failing set, and so the mean miss ratio, by 1 - (1 - level)**(1 / n).
    """
    used = released > 0
    misses, released = misses[used], released[used]
    sets = len(misses)
    if sets == 0:
        return None
    if not misses.any():
        return 0.0, 1 - (1 - level) ** (1 / sets)
    if bool((misses == released).all()):
        return float((1 - level) ** (1 / sets)), 1.0
    interval = ratio_interval(misses, released, seed=seed, resamples=resamples, level=level)
    return (interval[0], min(1.0, interval[1])) if interval else None
