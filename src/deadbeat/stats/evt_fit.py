"""Fits of the two families of extreme values, many samples at once (decision 0019).

A sample is a row. The generalised Pareto distribution is fitted as J. Zhang and M. A. Stephens do
("A new and efficient estimation method for the generalized Pareto distribution", Technometrics 51,
2009): an average over the profile likelihood, nearly as efficient as its maximum and always there.
The generalised extreme value distribution is fitted by probability-weighted moments (J. R. M.
Hosking, J. R. Wallis and E. F. Wood, Technometrics 27, 1985), which small samples suit best. The
shape xi is positive for a heavy tail, in both.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.stats import special

Floats = NDArray[np.float64]

#: Shapes nearer to 0 than this are 0.
_FLAT = 1e-9
#: ln F and ln (1 - F) are no smaller than that of this.
_LEAST = 1e-300


@frozen(kw_only=True, eq=False)
class Fit:
    """Parameters of a family, one of each per sample.

    Attributes:
        family: ``pareto`` (of excesses over a threshold, location 0) or ``extreme``.
        shape, scale, location: xi, sigma, mu.
    """

    family: str
    shape: Floats
    scale: Floats
    location: Floats

    def one(self, index: int = 0) -> tuple[float, float, float]:
        """Shape, scale and location of a sample."""
        return (
            float(self.shape[index]),
            float(self.scale[index]),
            float(self.location[index]),
        )

    def survival(self, values: Floats) -> Floats:
        """Probability to exceed each of ``values`` (a row per sample, or one row for all)."""
        shape, scale, location = (each[:, None] for each in (self.shape, self.scale, self.location))
        shape = np.where(np.abs(shape) < _FLAT, 0.0, shape)
        reduced = (np.atleast_2d(values) - location) / scale
        with np.errstate(all="ignore"):
            hazard = 1 / special.inv_boxcox(reduced, shape)
            # Beyond the end point of a negative shape, or below that of a positive one.
            hazard = np.where(shape * reduced <= -1, np.where(shape < 0, 0.0, np.inf), hazard)
        gone = np.minimum(hazard, 1.0) if self.family == "pareto" else -np.expm1(-hazard)
        return np.asarray(gone, dtype=np.float64)

    def exceeded_with(self, probability: float | Floats) -> Floats:
        """Value of each sample that is exceeded with ``probability``."""
        rest = np.broadcast_to(np.asarray(probability, np.float64), self.shape.shape)
        often = 1 / rest if self.family == "pareto" else -1 / np.log1p(-rest)
        reduced = special.boxcox(often, self.shape)
        return np.asarray(self.location + self.scale * reduced, dtype=np.float64)

    def draw(self, random: np.random.Generator, samples: int, many: int) -> Floats:
        """``samples`` rows of ``many`` values of the first sample's distribution."""
        shape, scale, location = self.one()
        hazard = random.exponential(size=(samples, many))
        often = np.exp(hazard) if self.family == "pareto" else 1 / hazard
        return np.asarray(location + scale * special.boxcox(often, shape), dtype=np.float64)


def fit_pareto(excesses: Floats) -> Fit:
    """Generalised Pareto distributions of rows of values above 0, at least five each."""
    rows = np.sort(np.atleast_2d(np.asarray(excesses, np.float64)), axis=1)
    samples, many = rows.shape
    points = 20 + int(math.sqrt(many))
    quartile = rows[:, int(many / 4 + 0.5) - 1][:, None]
    steps = 1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    theta = 1 / rows[:, -1][:, None] + steps[None, :] / (3 * quartile)
    theta = np.where(np.abs(theta) < 1e-300, 1e-300, theta)
    # k is minus the shape; the profile likelihood of theta = k / sigma.
    k = -np.log1p(-theta[:, :, None] * rows[:, None, :]).mean(axis=2)
    likelihood = many * (np.log(theta / k) + k - 1)
    weights = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    mean = (theta * weights).sum(axis=1) / weights.sum(axis=1)
    shape = np.log1p(-mean[:, None] * rows).mean(axis=1)
    return Fit(family="pareto", shape=shape, scale=-shape / mean, location=np.zeros(samples))


def fit_extreme(maxima: Floats) -> Fit:
    """Generalised extreme value distributions of rows of maxima, at least five each."""
    rows = np.sort(np.atleast_2d(np.asarray(maxima, np.float64)), axis=1)
    many = rows.shape[1]
    rank = np.arange(many, dtype=np.float64)
    b0 = rows.mean(axis=1)
    b1 = (rows * rank).sum(axis=1) / (many * (many - 1))
    b2 = (rows * rank * (rank - 1)).sum(axis=1) / (many * (many - 1) * (many - 2))
    l2, l3 = 2 * b1 - b0, 6 * b2 - 6 * b1 + b0
    skewness = np.divide(l3, l2, out=np.zeros_like(l3), where=l2 > 0)
    k = _hosking_k(skewness)
    flat = np.abs(k) < 1e-6
    safe = np.where(flat, 1.0, k)
    gamma = special.gamma(1 + np.maximum(safe, -0.999))
    scale = np.where(flat, l2 / math.log(2), l2 * safe / ((1 - np.exp2(-safe)) * gamma))
    location = b0 - np.where(flat, np.euler_gamma * scale, scale * (1 - gamma) / safe)
    return Fit(family="extreme", shape=-k, scale=scale, location=location)


def _hosking_k(skewness: Floats) -> Floats:
    """Minus the shape from the L-skewness: 2 (1 - 3^-k) / (1 - 2^-k) - 3, by bisection.

    The ratio falls as k grows.
    """
    low, high = np.full_like(skewness, -0.999), np.full_like(skewness, 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        middle = np.where(np.abs(middle) < 1e-12, 1e-12, middle)
        ratio = 2 * np.expm1(-middle * math.log(3)) / np.expm1(-middle * math.log(2)) - 3
        above = ratio > skewness
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2, dtype=np.float64)


def anderson_darling(fit: Fit, rows: Floats) -> Floats:
    """How far each sample is from its fit (T. W. Anderson and D. A. Darling, Annals of Mathematical
    Statistics 23, 1952)."""
    ordered = np.sort(np.atleast_2d(rows), axis=1)
    many = ordered.shape[1]
    above = np.clip(fit.survival(ordered), _LEAST, 1 - 1e-16)
    weights = 2 * np.arange(1, many + 1) - 1
    terms = np.log1p(-above) + np.log(above[:, ::-1])
    return np.asarray(-many - (weights * terms).sum(axis=1) / many, dtype=np.float64)


def fit(family: str, rows: Floats) -> Fit:
    """By the name of the family."""
    return fit_pareto(rows) if family == "pareto" else fit_extreme(rows)


def fit_p(family: str, sample: Floats, *, random: np.random.Generator, draws: int = 199) -> float:
    """Probability of a sample at least so far from its own fit, by parametric bootstrap.

    Every drawn sample is fitted anew: critical values of known parameters would accept anything
    (M. A. Stephens, JASA 69, 1974).
    """
    found = fit(family, sample)
    seen = float(anderson_darling(found, sample)[0])
    drawn = found.draw(random, draws, len(sample))
    others = anderson_darling(fit(family, drawn), drawn)
    return float((np.count_nonzero(others >= seen) + 1) / (draws + 1))
