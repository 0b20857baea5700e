"""Fits of the generalised Pareto distribution, many samples at once (decision 0019).

A sample is a row. The fit is that of J. Zhang and M. A. Stephens ("A new and efficient estimation
method for the generalized Pareto distribution", Technometrics 51, 2009): an average over the
profile likelihood, nearly as efficient as its maximum and always there. The shape xi is positive
for a heavy tail.
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
    """Parameters of excesses over a threshold, one of each per sample: shape xi, scale sigma."""

    shape: Floats
    scale: Floats

    def one(self, index: int = 0) -> tuple[float, float]:
        """Shape and scale of a sample."""
        return float(self.shape[index]), float(self.scale[index])

    def survival(self, values: Floats) -> Floats:
        """Probability to exceed each of ``values`` (a row per sample, or one row for all)."""
        shape = np.where(np.abs(self.shape) < _FLAT, 0.0, self.shape)[:, None]
        reduced = np.atleast_2d(values) / self.scale[:, None]
        with np.errstate(all="ignore"):
            gone = np.minimum(1 / special.inv_boxcox(reduced, shape), 1.0)
        # Beyond the end point of a negative shape.
        return np.asarray(np.where(shape * reduced <= -1, 0.0, gone), dtype=np.float64)

    def exceeded_with(self, probability: float | Floats) -> Floats:
        """Value of each sample that is exceeded with ``probability``."""
        often = 1 / np.broadcast_to(np.asarray(probability, np.float64), self.shape.shape)
        return np.asarray(self.scale * special.boxcox(often, self.shape), dtype=np.float64)

    def draw(self, random: np.random.Generator, samples: int, many: int) -> Floats:
        """``samples`` rows of ``many`` values of the first sample's distribution."""
        shape, scale = self.one()
        often = np.exp(random.exponential(size=(samples, many)))
        return np.asarray(scale * special.boxcox(often, shape), dtype=np.float64)


def fit(excesses: Floats) -> Fit:
    """The distributions of rows of values above 0, at least five each."""
    rows = np.sort(np.atleast_2d(np.asarray(excesses, np.float64)), axis=1)
    many = rows.shape[1]
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
    return Fit(shape=shape, scale=-shape / mean)


def anderson_darling(fit: Fit, rows: Floats) -> Floats:
    """How far each sample is from its fit (T. W. Anderson and D. A. Darling, Annals of Mathematical
    Statistics 23, 1952)."""
    ordered = np.sort(np.atleast_2d(rows), axis=1)
    many = ordered.shape[1]
    above = np.clip(fit.survival(ordered), _LEAST, 1 - 1e-16)
    weights = 2 * np.arange(1, many + 1) - 1
    terms = np.log1p(-above) + np.log(above[:, ::-1])
    return np.asarray(-many - (weights * terms).sum(axis=1) / many, dtype=np.float64)


def fit_p(sample: Floats, *, random: np.random.Generator, draws: int = 199) -> float:
    """Probability of a sample at least so far from its own fit, by parametric bootstrap.

    Every drawn sample is fitted anew: critical values of known parameters would accept anything
    (M. A. Stephens, JASA 69, 1974).
    """
    found = fit(sample)
    seen = float(anderson_darling(found, sample)[0])
    drawn = found.draw(random, draws, len(sample))
    others = anderson_darling(fit(drawn), drawn)
    return float((np.count_nonzero(others >= seen) + 1) / (draws + 1))
