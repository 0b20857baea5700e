"""Student's t, for intervals from few values."""

from __future__ import annotations

import math

# Two-sided 95 % (Abramowitz & Stegun, table 26.10); the expansion below is exact enough from 5 on.
_SMALL = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764}


def t_quantile_975(degrees: int) -> float:
    """97.5 % quantile of Student's t, by the expansion of Abramowitz & Stegun 26.7.5.

    Args:
        degrees: Degrees of freedom, >= 1.

    Returns:
        The quantile within 0.1 %.
    """
    if degrees in _SMALL:
        return _SMALL[degrees]
    z, n = 1.959963984540054, degrees
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / n ** (power + 1) for power, term in enumerate(terms))
