"""Exact statements on shares, quantiles and Poisson numbers, for as many values as days give."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

from deadbeat.base.stats import special

#: Error of a one-sided bound (95 %), and of a two-sided interval on each side.
ALPHA, TAIL = 0.05, 0.025
#: Two-sided 95 % point of the standard normal distribution.
Z95 = 1.959963984540054


def at_most(successes: int, values: int, share: float) -> float:
    """Probability of at most ``successes`` in ``values`` trials of probability ``share``."""
    if successes >= values or share <= 0:
        return 1.0 if successes >= 0 else 0.0
    if successes < 0 or share >= 1:
        return 0.0
    return float(special.betainc(values - successes, successes + 1, 1 - share))


def upper_bound(successes: int, values: float) -> float:
    """Upper bound of a share of which ``successes`` of ``values`` were seen (one-sided).

    C. J. Clopper and E. S. Pearson, Biometrika 26, 1934; without a success 1 - ALPHA**(1 / n),
    about 3 / n at 95 % (J. A. Hanley and A. Lippman-Hand, JAMA 249, 1983).

    Args:
        values: May be an effective number, then counted in whole ones where there are successes.
    """
    if values <= 0 or successes >= values:
        return 1.0
    if successes == 0:
        return -math.expm1(math.log(ALPHA) / values)
    whole = max(int(values), successes + 1)
    return float(special.betaincinv(successes + 1, whole - successes, 1 - ALPHA))


def quantile_ranks(values: int, share: float) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the order statistics between which the ``share`` quantile lies with 95 %.

    Each side errs in 2.5 % of cases at most, whatever the distribution (H. A. David and H. N.
    Nagaraja, Order Statistics, 2003, section 7.1). None: no value is far enough out.
    """
    if values <= 0:
        return None, None
    # The k-th value exceeds the quantile iff fewer than k lie at or below it.
    low = _first(values, share, lambda below: below > TAIL)
    high = _first(values, share, lambda below: below >= 1 - TAIL) + 1
    return (low if low >= 1 else None), (high if high <= values else None)


def _first(values: int, share: float, holds: Callable[[float], bool]) -> int:
    """Smallest number of successes for which the probability of at most that number holds."""
    return bisect_left(range(values), 1, key=lambda many: holds(at_most(many, values, share)))


def poisson_upper(seen: float, *, alpha: float = ALPHA) -> float:
    """Upper bound of the expectation of a Poisson number (F. Garwood, Biometrika 28, 1936).
    ``seen``: the number; between whole ones the bound is between theirs."""
    return float(special.gammaincinv(seen + 1, 1 - alpha))


def poisson_interval(seen: float) -> tuple[float, float]:
    """95 % interval of the expectation of a Poisson number: `poisson_upper` with 2.5 % a side."""
    low = float(special.gammaincinv(seen, TAIL)) if seen > 0 else 0.0
    return low, poisson_upper(seen, alpha=TAIL)


def compound_upper(sizes: Sequence[float], *, dispersion: float = 1.0) -> float:
    """Upper 95 % bound of the expectation of a sum of a Poisson number of independent values.

    Both are unknown, their number and their mean. The number is taken as Garwood takes it, the mean
    as that of exponential values is known: their sum over the mean is a gamma variable. The bound
    is the quantile of the ratio of the two (S. Weerahandi, JASA 88, 1993: a generalised interval).
    Values that vary more than exponential ones count correspondingly fewer; what vary less are
    bounded too generously, because few values do not tell how much they vary.

    Args:
        sizes: What was seen; at least one, all positive.
        dispersion: This number of them tells as much as one.
    """
    many, total = len(sizes), math.fsum(sizes)
    mean = total / many
    spread = math.fsum((size - mean) ** 2 for size in sizes) / (many - 1) if many > 1 else 0.0
    number = many / dispersion
    tells = number / max(1.0, spread / mean**2)
    # Quantile of the ratio of two gamma variables of these shapes; infinite beyond 1e12.
    rest = float(special.betaincinv(tells, number + 1, 1 - (1 - ALPHA)))
    ratio = (1 - rest) / rest if rest > 0 else math.inf
    return total / number * tells * (ratio if ratio <= 1e12 else math.inf)


def chi_squared_p(value: float, freedom: int) -> float:
    """Probability of at least ``value`` under chi-squared; 1 of no degree of freedom."""
    return float(special.chdtrc(freedom, value)) if freedom > 0 else 1.0


def chi_squared_low(freedom: int, share: float = ALPHA) -> float:
    """What chi-squared stays below with ``share``."""
    return 2 * float(special.gammaincinv(freedom / 2, share))
