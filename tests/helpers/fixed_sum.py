"""Exact laws of vectors uniform over a slice of a box, and how far samples may be from a law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Kolmogorov's distribution: a true law gives more than this over sqrt(n) once in 5,000 times.
KS_LIMIT = 2.15


def irwin_hall(n: int, s: Fraction) -> Fraction:
    """P(sum of n uniforms in [0, 1] <= s), times n!: by inclusion and exclusion, exact."""
    return sum(
        ((-1) ** k * comb(n, k) * (s - k) ** n for k in range(n + 1) if s > k), start=Fraction(0)
    )


def marginal(n: int, total: Fraction, low: Fraction, high: Fraction, x: Fraction) -> float:
    """P(x_1 <= x), x uniform over {low <= x_i <= high, sum x = total}; exact before rounding."""
    width = high - low
    rest, at = (total - n * low) / width, (x - low) / width
    above, below = irwin_hall(n - 1, rest), irwin_hall(n - 1, rest - 1)
    return float((above - irwin_hall(n - 1, rest - at)) / (above - below))


def marginal_of_task(
    task: int, lower: Sequence[float], upper: Sequence[float], total: float, xs: Sequence[float]
) -> list[float]:
    """The same with bounds of their own, over all corners of the box; a dozen tasks at most."""
    widths = [Fraction(high) - Fraction(low) for low, high in zip(lower, upper, strict=True)]
    others = [width for i, width in enumerate(widths) if i != task and width]
    rest = Fraction(total) - sum(map(Fraction, lower))
    corners = [
        ((-1) ** sum(corner), sum(w for w, taken in zip(others, corner, strict=True) if taken))
        for corner in product((0, 1), repeat=len(others))
    ]

    def volume(s: Fraction) -> Fraction:
        return sum(
            (sign * (s - edge) ** len(others) for sign, edge in corners if s > edge),
            start=Fraction(0),
        )

    above, below = volume(rest), volume(rest - widths[task])
    origin = Fraction(lower[task])
    return [float((above - volume(rest - Fraction(x) + origin)) / (above - below)) for x in xs]


def distance(sample: Floats, grid: Sequence[float], law: Sequence[float]) -> float:
    """Largest difference of the sample's distribution from ``law`` on ``grid``, times sqrt(n)."""
    below = np.searchsorted(np.sort(sample), grid, side="right") / len(sample)
    return float(np.abs(below - np.asarray(law)).max() * sqrt(len(sample)))


def assert_follows(
    sample: Floats, cdf: Callable[[Fraction], float], low: float, high: float, points: int = 60
) -> None:
    """``sample`` follows ``cdf`` as far as so many values can tell."""
    grid = [Fraction(low) + (Fraction(high) - Fraction(low)) * k / points for k in range(1, points)]
    assert distance(sample, [float(x) for x in grid], [cdf(x) for x in grid]) < KS_LIMIT
