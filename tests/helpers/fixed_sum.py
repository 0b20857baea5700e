"""Exact laws of vectors uniform over a slice of a box, and how far samples may be from a law."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, lcm, sqrt

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
    """The same with bounds of their own, over all corners of the box.

    Numbers are taken as they are written: corners of decimals share few places, and are counted.
    """
    low, high, at = ([Fraction(repr(float(x))) for x in values] for values in (lower, upper, xs))
    widths = [b - a for a, b in zip(low, high, strict=True)]
    others = [width for i, width in enumerate(widths) if i != task and width]
    rest = Fraction(repr(float(total))) - sum(low)
    corners = {Fraction(0): 1}
    for width in others:
        for edge, sign in [*corners.items()]:
            corners[edge + width] = corners.get(edge + width, 0) - sign
    # Whole multiples of one unit, so that powers are of integers.
    unit = lcm(*(x.denominator for x in (*widths, *at, *low, rest)))
    places = [(int(edge * unit), sign) for edge, sign in corners.items() if sign]

    def volume(s: Fraction) -> int:
        end, power = int(s * unit), len(others)
        return sum(sign * (end - edge) ** power for edge, sign in places if edge < end)

    above, below = volume(rest), volume(rest - widths[task])
    return [float(Fraction(above - volume(rest - x + low[task]), above - below)) for x in at]


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
