"""Intervals of means over task sets, and of shares: closed formulas, nothing is resampled.

The unit is the task set: jobs of one set share their fate. What each interval covers is measured:
docs/reference/metrics.md.
"""

from __future__ import annotations

import math

import numpy as np

from deadbeat.stats import special
from deadbeat.stats.binomial import ALPHA, TAIL
from deadbeat.stats.bootstrap import Floats, Interval, residuals, t_quantile

#: Fewer values tell noise, not skewness: three alike ones look nearly as skewed as three can.
SKEWNESS_SETS = 5
#: Number of sets from which on all of them lie above their median with less than 2.5 %.
ALL_ABOVE_SETS = 6


def mean_interval(values: Floats, *, common: float = 0.0) -> Interval | None:
    """95 % interval of the mean of ``values``, one per task set; None with fewer than two sets.

    Student's; where the values have a long tail above, the upper arm is that of P. Hall ("On the
    Removal of Skewness by Transformation", J. Royal Statistical Society B 54(1), 1992), which is
    longer. Where the mean is not below the median, it lies below all of n sets with probability
    2**-n at most: from six sets on the lower end is not below the smallest value.

    Args:
        common: Relative half width of an error that all sets share, which does not shrink with
            their number; it is added in quadrature.
    """
    if len(values) < 2:
        return None
    mean = float(values.mean())
    left, right = _arms(values - mean)
    if len(values) >= ALL_ABOVE_SETS and np.median(values) <= mean:
        left = min(left, mean - float(values.min()))
    shared = common * abs(mean)
    return max(0.0, mean - math.hypot(left, shared)), mean + math.hypot(right, shared)


def own_interval(
    value: float, error: float | None, rounds: int, *, common: float = 0.0
) -> Interval | None:
    """95 % interval of one set's figure from its own standard error over ``rounds``: Student's.

    Args: ``common`` as of `mean_interval`.
    """
    if error is None or rounds < 2:
        return None
    half = math.hypot(t_quantile(1 - TAIL, rounds - 1) * error, common * abs(value))
    return max(0.0, value - half), value + half


def _arms(off: Floats) -> Interval:
    """Lengths of the left and the right arm, from what each set adds to the error of the mean.

    Hall's transformation of W = t / sqrt(n) is W + g W**2 / 3 + g**2 W**3 / 27 + g / (6 n), with g
    the skewness of the values; it is monotone and solved here for W.
    """
    sets, spread = len(off), float(off.std())
    t = t_quantile(1 - TAIL, sets - 1)
    error = spread / math.sqrt(sets - 1)
    student = t * error
    if spread == 0.0 or sets < SKEWNESS_SETS:
        return student, student
    skewness = float(((off / spread) ** 3).mean())
    if skewness < 1e-6:
        return student, student
    root = math.sqrt(sets)
    inner = 1 + skewness * (-t / root - skewness / (6 * sets))
    hall = -3 / skewness * root * (math.cbrt(inner) - 1) * error
    return student, max(student, hall)


def share_over_sets(events: Floats, trials: Floats) -> Interval | None:
    """Interval of sum(events) / sum(trials) for sets like these, a pair per set, jobs pooled.

    Where no set (or every job of every set) has one, a set is one trial of Clopper and Pearson,
    one-sided: [0, 1 - 0.05**(1 / n)]. None of one set with some.
    """
    used = trials > 0
    events, trials = events[used], trials[used]
    sets = len(events)
    if sets == 0:
        return None
    if not events.any():
        return 0.0, 1 - ALPHA ** (1 / sets)
    if bool((events == trials).all()):
        return float(ALPHA ** (1 / sets)), 1.0
    if sets < 2:
        return None
    share = float(events.sum() / trials.sum())
    left, right = _arms(residuals(events, trials))
    return max(0.0, share - left), min(1.0, share + right)


def clopper_pearson(successes: float, trials: float) -> Interval:
    """Interval of a share of which ``successes`` of ``trials`` were seen (Biometrika 26, 1934).

    Each side errs in 2.5 % of cases at most; without a success, or with nothing else, the one end
    that is not known errs in 5 %.

    Args:
        successes, trials: May be effective numbers, not whole.
    """
    if trials <= 0:
        return 0.0, 1.0
    if successes <= 0:
        return 0.0, -math.expm1(math.log(ALPHA) / trials)
    if successes >= trials:
        return ALPHA ** (1 / trials), 1.0
    failures = trials - successes
    return (
        float(special.betaincinv(successes, failures + 1, TAIL)),
        float(special.betaincinv(successes + 1, failures, 1 - TAIL)),
    )


def difference(
    one: float, one_interval: Interval, other: float, other_interval: Interval
) -> Interval:
    """Interval of ``one`` - ``other``, independent, from their own intervals (method of variance
    estimates recovery: G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008)."""
    (low, high), (other_low, other_high) = one_interval, other_interval
    return (
        one - other - math.hypot(one - low, other_high - other),
        one - other + math.hypot(high - one, other - other_low),
    )
