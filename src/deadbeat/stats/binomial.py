"""Exact statements on shares and quantiles, for as many values as days of wake-ups give.

Probabilities come from the ratios of neighbouring terms, summed over all terms that are not
negligible: no special function, and exact to rounding for any number of values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Standard deviations around the mean beyond which terms are left out, and terms at least.
_DEVIATIONS, _TERMS = 40.0, 400
#: Error of a one-sided bound (95 %), and of a two-sided interval on each side.
ALPHA, TAIL = 0.05, 0.025


def _terms(values: int, share: float) -> tuple[Integers, Floats]:
    """Numbers of successes that are not negligible, and the probability of each (Binomial).

    The tails beyond 40 standard deviations (and 400 terms) weigh less than 1e-15.
    """
    mean = values * share
    reach = int(_DEVIATIONS * math.sqrt(mean * (1 - share))) + _TERMS
    low, high = max(0, math.floor(mean) - reach), min(values, math.ceil(mean) + reach)
    counts = np.arange(low, high + 1, dtype=np.int64)
    steps = np.log((values - counts[:-1]) / counts[1:]) + math.log(share) - math.log1p(-share)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return counts, weights / weights.sum()


def at_most(successes: int, values: int, share: float) -> float:
    """Probability of at most ``successes`` in ``values`` trials of probability ``share``."""
    if successes >= values:
        return 1.0
    if successes < 0 or share >= 1:
        return 0.0
    if share <= 0:
        return 1.0
    counts, weights = _terms(values, share)
    return float(weights[counts <= successes].sum())


def upper_bound(successes: int, values: float, *, alpha: float = ALPHA) -> float:
    """Upper bound of a share of which ``successes`` of ``values`` were seen (one-sided).

    C. J. Clopper and E. S. Pearson, Biometrika 26, 1934; without a success 1 - alpha**(1 / n),
    about 3 / n at 95 % (J. A. Hanley and A. Lippman-Hand, JAMA 249, 1983).

    Args:
        values: May be an effective number, then counted in whole ones where there are successes.
    """
    if values <= 0 or successes >= values:
        return 1.0
    if successes == 0:
        return -math.expm1(math.log(alpha) / values)
    whole = max(int(values), successes + 1)
    low, high = successes / whole, 1.0
    for _ in range(100):
        # The share spans many powers of ten: halving its logarithm finds it to rounding.
        middle = math.sqrt(low * high)
        low, high = (middle, high) if at_most(successes, whole, middle) > alpha else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return high


def values_for(share: float, *, alpha: float = ALPHA) -> float:
    """Values without a success that bound a share by ``share``: 2995 for 0.001 at 95 %."""
    return math.log(alpha) / math.log1p(-share)


def quantile_ranks(values: int, share: float) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the order statistics between which the ``share`` quantile lies with 95 %.

    Each side errs in 2.5 % of cases at most, whatever the distribution (H. A. David and H. N.
    Nagaraja, Order Statistics, 2003, section 7.1). None: no value is far enough out.
    """
    if values <= 0:
        return None, None
    counts, weights = _terms(values, share)
    below = np.cumsum(weights)
    # The k-th value exceeds the quantile iff fewer than k lie at or below it.
    low = int(counts[np.searchsorted(below, TAIL, side="right")])
    high = int(counts[min(int(np.searchsorted(below, 1 - TAIL, side="left")), len(counts) - 1)]) + 1
    return (low if low >= 1 else None), (high if high <= values else None)


# -- Poisson numbers, and chi-squared


def gamma_share(shape: float, value: float) -> float:
    """Probability that a gamma variable of this shape (scale 1) is at most ``value``.

    The series of the incomplete gamma function below the mean, else the continued fraction of its
    complement (M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 6.5.29, 6.5.31).
    """
    if value <= 0:
        return 0.0
    front = math.exp(shape * math.log(value) - value - math.lgamma(shape + 1))
    if value < shape + 1:
        term = total = 1.0
        place = shape
        while term > 1e-16 * total:
            place += 1
            term *= value / place
            total += term
        return min(1.0, front * total)
    below = value + 1 - shape
    c, d = 1e300, 1 / below
    fraction = d
    for number in range(1, 10_000):
        step = -number * (number - shape)
        below += 2
        d = 1 / (step * d + below or 1e-300)
        c = below + step / c
        change = c * d
        fraction *= change
        if abs(change - 1) < 1e-15:
            break
    return max(0.0, 1 - front * shape * fraction)


def _gamma_quantile(shape: float, share: float) -> float:
    low, high = 0.0, shape + 1.0
    while gamma_share(shape, high) < share:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gamma_share(shape, middle) < share else (low, middle)
    return high


def poisson_upper(seen: float, *, alpha: float = ALPHA) -> float:
    """Upper bound of the expectation of a Poisson number (F. Garwood, Biometrika 28, 1936).

    Args:
        seen: The number; between whole ones the bound is between theirs.
    """
    return _gamma_quantile(seen + 1, 1 - alpha)


def compound_upper(sizes: Sequence[float], *, dispersion: float = 1.0) -> float:
    """Upper 95 % bound of the expectation of a sum of a Poisson number of independent values.

    Both are unknown, their number and their mean. The number is taken as Garwood takes it, the mean
    as that of exponential values is known: their sum over the mean is a gamma variable. The bound
    is the quantile of the ratio of the two (S. Weerahandi, JASA 88, 1993: a generalised interval).
    Values that vary more than exponential ones count correspondingly fewer; what vary less are
    bounded too generously, because few values do not tell how much they vary.

    Args:
        sizes: What was seen; at least one, all positive.
        dispersion: So many of them tell as much as one.
    """
    many, total = len(sizes), math.fsum(sizes)
    mean = total / many
    spread = math.fsum((size - mean) ** 2 for size in sizes) / (many - 1) if many > 1 else 0.0
    number = many / dispersion
    tells = number / max(1.0, spread / mean**2)
    return total / number * tells * _beta_prime_quantile(number + 1, tells, 1 - ALPHA)


def _beta_prime_quantile(above: float, below: float, share: float) -> float:
    """Of the ratio of two gamma variables of these shapes; infinite beyond 1e12."""
    low, high = 1e-12, 1e12
    if beta_share(above, below, high / (1 + high)) < share:
        return math.inf
    for _ in range(100):
        middle = math.sqrt(low * high)
        under = beta_share(above, below, middle / (1 + middle)) < share
        low, high = (middle, high) if under else (low, middle)
    return high


def beta_share(one: float, two: float, value: float) -> float:
    """Probability that a beta variable of these shapes is at most ``value``.

    The continued fraction of M. Abramowitz and I. A. Stegun, 26.5.8, on the side where it converges
    fast, by the method of W. J. Lentz (Applied Optics 15, 1976).
    """
    if not 0 < value < 1:
        return float(value >= 1)
    if value > (one + 1) / (one + two + 2):
        return 1 - beta_share(two, one, 1 - value)
    front = math.exp(
        math.lgamma(one + two)
        - math.lgamma(one)
        - math.lgamma(two)
        + one * math.log(value)
        + two * math.log1p(-value)
    )
    c, d = 1.0, 1 / (1 - (one + two) * value / (one + 1) or 1e-300)
    fraction = d
    for number in range(1, 10_000):
        place = one + 2 * number
        for step in (
            number * (two - number) * value / ((place - 1) * place),
            -(one + number) * (one + two + number) * value / (place * (place + 1)),
        ):
            d = 1 / (1 + step * d or 1e-300)
            c = 1 + step / c or 1e-300
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction / one


def chi_squared_p(value: float, freedom: int) -> float:
    """Probability of at least ``value`` under chi-squared; 1 of no degree of freedom."""
    return 1 - gamma_share(freedom / 2, value / 2) if freedom > 0 else 1.0


def chi_squared_low(freedom: int, *, alpha: float = ALPHA) -> float:
    """What chi-squared stays below with ``alpha``."""
    return 2 * _gamma_quantile(freedom / 2, alpha)
