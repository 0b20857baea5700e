"""Tests and intervals of paired differences by sign flips, their corrections and their power.

Under "no difference" the two results of one program are exchangeable, so that every sign of every
difference was as likely as the other: the distribution of the mean under all sign patterns is the
null distribution, without an assumption on its shape (R. A. Fisher, The Design of Experiments,
1935, section 21). The interval that belongs to it is that of the means of all subsets (J. A.
Hartigan, "Using subsample values as typical values", JASA 64, 1969): a shift lies below the mean
of the flipped values exactly when flipping them makes the shifted mean larger.

With few pairs no sign pattern is rare enough to survive a correction for many cells; then Student's
paired t takes over (`cell_method`), chosen by the number of pairs and cells alone, never by data.
Its variance leans on that of the other cells as far as they are alike (`common_spread`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.stats.bootstrap import random_indices, t_cdf, t_quantile

Floats = NDArray[np.float64]

SIGN_FLIP, STUDENT = "sign-flip", "student"
#: Up to so many units every one of the 2**n sign patterns is visited.
EXACT_MAX = 13
#: Power for which a smallest effect is stated.
POWER = 0.8
#: Fewer cells with a variance than this say nothing on how alike cells are.
_CELLS_ALIKE = 4
_CHUNK_BYTES = 16 << 20
#: Signs that one random number gives.
_WORD = 32


@frozen(kw_only=True)
class Estimate:
    """A mean difference and what is known of it.

    Attributes:
        mean: Weighted mean of the differences.
        p: Two-sided, of mean 0.
        low, high: 95 % interval; infinite where there are too few units for one.
        low90, high90: 90 % interval: what an equivalence test at 5 % looks at.
        error: Standard error of ``mean``.
        degrees: Degrees of freedom of ``error``.
        hidden: How far ``mean`` may be off because values are cut off.
    """

    mean: float
    p: float
    low: float
    high: float
    low90: float
    high90: float
    error: float
    degrees: int
    hidden: float = 0.0


def all_patterns(units: int) -> NDArray[np.bool_]:
    """All 2**units sign patterns, a row each, True is flipped; the first flips nothing."""
    numbers = np.arange(1 << units)[:, None]
    return np.asarray((numbers >> np.arange(units)) & 1, dtype=np.bool_)


def resolution(units: int, *, resamples: int) -> float:
    """Smallest p that sign flips of so many units can give."""
    return 2.0 ** (1 - units) if units <= EXACT_MAX else max(2.0 ** (1 - units), 1 / resamples)


def sign_flip(
    values: Floats, weights: Floats, unit: NDArray[np.int64], *, resamples: int, seed: int
) -> Estimate:
    """The weighted mean of ``values`` against 0; all values of one unit are flipped together.

    Args:
        values: Differences; at least one.
        weights: Their weights, positive; scaled to sum 1 here.
        unit: Number of each value's unit, 0 to n - 1, every one in use.
    """
    weights = weights / weights.sum()
    units = int(unit.max()) + 1
    sums = np.bincount(unit, weights=weights * values, minlength=units).astype(np.float64)
    masses = np.bincount(unit, weights=weights, minlength=units).astype(np.float64)
    mean = float(sums.sum())
    flipped, mass = _flipped(sums, masses, resamples=resamples, seed=seed)
    # Rounding must not tell apart what is equal on paper, such as a pattern and its complement.
    extreme = np.abs(mean - 2 * flipped) >= abs(mean) * (1 - 1e-9) - 1e-15
    exact = units <= EXACT_MAX
    p = (int(extreme.sum()) + (0 if exact else 1)) / (len(flipped) + (0 if exact else 1))
    typical = np.sort(flipped[mass > 0] / mass[mass > 0])
    low, high = _typical_interval(typical, len(flipped), 0.05, exact=exact)
    low90, high90 = _typical_interval(typical, len(flipped), 0.10, exact=exact)
    return Estimate(
        mean=mean,
        p=min(1.0, p),
        low=low,
        high=high,
        low90=low90,
        high90=high90,
        error=_error(sums, masses, mean),
        degrees=units - 1,
    )


def _flipped(sums: Floats, masses: Floats, *, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """Per pattern: sum and mass of what it flips."""
    units = len(sums)
    if units <= EXACT_MAX:
        chosen = all_patterns(units).astype(np.float64)
        return chosen @ sums, chosen @ masses
    found = np.empty((resamples, 2))
    both = np.stack([sums, masses], axis=1)
    words = -(-units // _WORD)
    step = max(1, _CHUNK_BYTES // (8 * units))
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        drawn = random_indices(rows * words, below=1 << _WORD, seed=seed, first=first * words)
        octets = drawn.astype("<u4").view(np.uint8).reshape(rows, words * _WORD // 8)
        bits = np.unpackbits(octets, axis=1, count=units)
        found[first : first + rows] = bits.astype(np.float64) @ both
    return found[:, 0], found[:, 1]


def _typical_interval(
    typical: Floats, count: int, alpha: float, *, exact: bool
) -> tuple[float, float]:
    """Both tails of alpha / 2 cut off the sorted subset means, the k outermost of either side.

    Of 2**n patterns, or of R random ones and the observed: n typical values divide the line into
    equally likely parts, so the k-th from the end is exceeded with probability k / count.
    """
    rank = math.floor((count if exact else count + 1) * alpha / 2 + 1e-9)
    if rank < 1 or rank > len(typical):
        return -math.inf, math.inf
    return float(typical[rank - 1]), float(typical[-rank])


def _error(sums: Floats, masses: Floats, mean: float) -> float:
    """Standard error of a weighted mean from its units (ratio estimator, n / (n - 1))."""
    units = len(sums)
    if units < 2:
        return math.inf
    residual = sums - masses * mean
    return math.sqrt(float((residual**2).sum()) * units / (units - 1))


@frozen(kw_only=True)
class Spread:
    """What the other cells say of the variance of one: as much as ``degrees`` more values."""

    variance: float
    degrees: float


def common_spread(cells: Sequence[Floats]) -> Spread | None:
    """How alike the variances of ``cells`` are; None where that cannot be told.

    By the moments of their logarithms (G. K. Smyth, "Linear models and empirical Bayes methods",
    Statistical Applications in Genetics and Molecular Biology 3(1), 2004, section 6.2). Cells as
    alike as chance allows give infinite degrees: one variance for all.
    """
    known = [
        (len(values) - 1, float(values.var(ddof=1)))
        for values in cells
        if len(values) > 1 and np.ptp(values) > 0
    ]
    if len(known) < _CELLS_ALIKE:
        return None
    shifted = np.array([math.log(v) - _digamma(d / 2) + math.log(d / 2) for d, v in known])
    excess = float(shifted.var(ddof=1) - np.mean([_trigamma(d / 2) for d, _ in known]))
    level = float(shifted.mean())
    if excess <= 0:
        return Spread(variance=math.exp(level), degrees=math.inf)
    half = _inverse_trigamma(excess)
    return Spread(variance=math.exp(level + _digamma(half) - math.log(half)), degrees=2 * half)


def student(values: Floats, spread: Spread | None = None, *, most: int = 1000) -> Estimate:
    """The mean of ``values`` against 0 by Student's t.

    Args:
        spread: Of the other cells; None: nothing but the values themselves.
        most: Degrees of freedom of all cells together, which no cell can exceed.
    """
    n, mean = len(values), float(values.mean())
    if n < 2:
        wide = math.inf
        return Estimate(
            mean=mean, p=1.0, low=-wide, high=wide, low90=-wide, high90=wide, error=wide, degrees=0
        )
    variance, degrees = moderated(float(values.var(ddof=1)), n - 1, spread, most)
    error = math.sqrt(variance / n)
    half, half90 = (t_quantile(level, degrees) * error for level in (0.975, 0.95))
    return Estimate(
        mean=mean,
        p=_student_p(mean, error, degrees),
        low=mean - half,
        high=mean + half,
        low90=mean - half90,
        high90=mean + half90,
        error=error,
        degrees=degrees,
    )


def student_of_units(values: Floats, weights: Floats, unit: NDArray[np.int64]) -> Estimate:
    """The weighted mean of ``values`` against 0 by Student's t of whole units.

    For fewer units than sign flips can decide with; arguments as of `sign_flip`.
    """
    weights = weights / weights.sum()
    sums = np.bincount(unit, weights=weights * values).astype(np.float64)
    masses = np.bincount(unit, weights=weights).astype(np.float64)
    mean, degrees = float(sums.sum()), len(sums) - 1
    error = _error(sums, masses, mean)
    half, half90 = (
        t_quantile(level, degrees) * error if degrees else math.inf for level in (0.975, 0.95)
    )
    return Estimate(
        mean=mean,
        p=_student_p(mean, error, degrees) if degrees else 1.0,
        low=mean - half,
        high=mean + half,
        low90=mean - half90,
        high90=mean + half90,
        error=error,
        degrees=degrees,
    )


def cut_off(estimate: Estimate, hidden: float, units: int) -> Estimate:
    """``estimate`` of values that are cut off: each end as far out as that can have moved it.

    Args:
        hidden: How far the mean may be off, all values cut off to the same side.
        units: Values in the mean; what is cut off scatters too, evenly from 0 to ``hidden``.
    """
    if not hidden:
        return estimate
    error = math.hypot(estimate.error, hidden / math.sqrt(3 * max(units, 1)))
    left = max(abs(estimate.mean) - hidden, 0.0)
    p = _student_p(left, error, estimate.degrees) if estimate.degrees else 1.0
    return evolve(
        estimate,
        p=max(estimate.p, p),
        low=estimate.low - hidden,
        high=estimate.high + hidden,
        low90=estimate.low90 - hidden,
        high90=estimate.high90 + hidden,
        error=error,
        hidden=hidden,
    )


def moderated(variance: float, degrees: int, spread: Spread | None, most: int) -> tuple[float, int]:
    """Variance and degrees of freedom with what the other cells say."""
    if spread is None:
        return variance, degrees
    if math.isinf(spread.degrees):
        return spread.variance, max(degrees, most)
    whole = spread.degrees + degrees
    mixed = (spread.degrees * spread.variance + degrees * variance) / whole
    return mixed, max(degrees, min(math.floor(whole), most))


def _digamma(x: float) -> float:
    """Abramowitz & Stegun 6.3.18, after recurrence up to 8."""
    found = 0.0
    while x < 8:
        found -= 1 / x
        x += 1
    square = 1 / (x * x)
    return found + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))


def _trigamma(x: float) -> float:
    """Abramowitz & Stegun 6.4.12, after recurrence up to 8."""
    found = 0.0
    while x < 8:
        found += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))
    return found + 1 / x + square / 2 + square / x * series


def _inverse_trigamma(value: float) -> float:
    """By bisection of a function that falls from infinity to 0."""
    low, high = 1e-8, 1e8
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _trigamma(middle) > value else (low, middle)
    return math.sqrt(low * high)


def _student_p(mean: float, error: float, degrees: int) -> float:
    if error <= abs(mean) * 1e-12:
        return 1.0 if mean == 0 else 0.0
    return max(0.0, 2 * (1 - t_cdf(abs(mean) / error, degrees)))


def cell_method(units: int, cells: int, *, level: float, resamples: int) -> str:
    """SIGN_FLIP where its p can be a quarter of what Holm asks first; else STUDENT."""
    fine = 4 * cells * resolution(units, resamples=resamples) <= level
    return SIGN_FLIP if fine else STUDENT


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


def critical(error: float, degrees: int, *, level: float) -> float:
    """What a mean must exceed to differ from 0 at ``level`` (two-sided); may be inf."""
    if degrees < 1 or not math.isfinite(error):
        return math.inf
    return t_quantile(1 - level / 2, degrees) * error


def units_needed(error: float, units: int, *, level: float, effect: float) -> int:
    """Units with which ``effect`` would be found with probability POWER (normal approximation)."""
    normal = NormalDist()
    deviation = error * math.sqrt(units)
    z = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)
    return math.ceil((z * deviation / effect) ** 2)
