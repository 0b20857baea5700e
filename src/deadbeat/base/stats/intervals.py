"""Student's t, and intervals of means and shares: closed formulas, nothing is resampled.

Where the unit is the task set, jobs of one set share their fate. What each interval covers is
measured: docs/reference/campaign.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.stats import special
from deadbeat.base.stats.binomial import ALPHA, TAIL

Floats = NDArray[np.float64]

#: Fewer values tell noise, not skewness: three alike ones look nearly as skewed as three can.
SKEWNESS_SETS = 5
#: Task sets from which on their mean has an upper end: fewer lack a kind that one set in ten is of
#: with more than 0.9**30 = 4 %, and nothing else in them tells.
SETS_LEAST = 30
#: Draws of `bounded_interval`.
_DRAWS = 10_000
#: Number of sets from which on all of them lie above their median with less than 2.5 %.
ALL_ABOVE_SETS = 6


class Interval(NamedTuple):
    """Where a value lies with 95 %, unless its source says otherwise."""

    low: float
    high: float

    @classmethod
    def around(
        cls,
        value: float,
        left: float,
        right: float | None = None,
        *,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> Interval:
        """From ``left`` below ``value`` to ``right`` above it (as far), within ``least`` and
        ``most``."""
        return cls(max(least, value - left), min(most, value + (left if right is None else right)))


def residuals(numerators: Floats, denominators: Floats) -> Floats:
    """What each set adds to the error of the ratio (linearised); of a mean: value - mean."""
    centre = numerators.sum() / denominators.sum()
    return np.asarray((numerators - centre * denominators) / denominators.mean())


def student_half_width(numerators: Floats, denominators: Floats | None = None) -> float:
    """Half of Student's 95 % interval of sum(numerators) / sum(denominators), of two sets or more.

    Without ``denominators`` of the mean. A ratio is linearised: its error is that of the mean of
    what each set is off.
    """
    below = np.ones_like(numerators) if denominators is None else denominators
    sets = len(numerators)
    error = float(residuals(numerators, below).std()) / math.sqrt(sets - 1)
    return t_quantile(0.975, sets - 1) * error


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> Interval | None:
    """Interval of the geometric mean of ``above[i] / below[i]``: Student's, of
    the logarithms. None: fewer than two pairs, or a value that is not above 0."""
    if len(above) < 2 or min(*above, *below) <= 0:
        return None
    logs = np.log(np.asarray(above) / np.asarray(below))
    mean = float(logs.mean())
    half = t_quantile(0.975, len(logs) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return Interval(math.exp(mean - half), math.exp(mean + half))


@lru_cache(4096)
def t_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t for ``probability``."""
    return float(special.stdtrit(degrees, probability))


def t_cdf(value: float, degrees: int) -> float:
    """Distribution function of Student's t."""
    return float(special.stdtr(degrees, value))


def mean_interval(values: Floats, *, common: float = 0.0) -> Interval | None:
    """95 % interval of the mean of ``values``, one per task set; None with fewer than two sets.

    Student's; where the values have a long tail above, the upper arm is that of P. Hall ("On the
    Removal of Skewness by Transformation", J. Royal Statistical Society B 54(1), 1992), which is
    longer. Where the mean is not below the median, it lies below all of n sets with probability
    2**-n at most: from six sets on the lower end is not below the smallest value. ``common``:
    relative half width of an error that all sets share, which does not shrink with their number; it
    is added in quadrature.
    """
    if len(values) < 2:
        return None
    mean = float(values.mean())
    left, right = _arms(values - mean)
    if len(values) >= ALL_ABOVE_SETS and np.median(values) <= mean:
        left = min(left, mean - float(values.min()))
    shared = common * abs(mean)
    return Interval.around(mean, math.hypot(left, shared), math.hypot(right, shared), least=0.0)


def sets_interval(values: Floats, *, common: float = 0.0) -> Interval | None:
    """`mean_interval` of a ratio that some kinds of task sets have far above the others, and none
    far below: its upper end is infinite for fewer than SETS_LEAST of them."""
    found = mean_interval(values, common=common)
    return found and (found._replace(high=math.inf) if len(values) < SETS_LEAST else found)


def bounded_interval(values: Floats, *, least: float, most: float) -> Interval:
    """95 % interval of the mean of what lies within ``least`` and ``most``, however few ``values``
    there are and however it is distributed.

    Quantiles of their mean with random weights, the spacings of uniform values, of which one is the
    bound's (N. Gaffke, Mathematical Methods of Statistics 14, 2005; that it always covers is
    conjectured: E. Learned-Miller and P. Thomas, arXiv:1905.06208, 2019).
    """
    weights = np.random.default_rng(1).dirichlet(np.ones(len(values) + 1), _DRAWS)
    low, high = (weights @ np.append(values, bound) for bound in (least, most))
    return Interval(float(np.quantile(low, TAIL)), float(np.quantile(high, 1 - TAIL)))


def stratified_interval(groups: Sequence[Floats]) -> tuple[float, Interval | None]:
    """Mean over groups of their means, each group weighing the same, and its 95 % interval.

    The variance is that of the groups' means; the degrees of freedom are Satterthwaite's (F. E.
    Satterthwaite, Biometrics Bulletin 2(6), 1946). Groups get values for what they scatter by, so
    those that have few are those that looked narrow: each scatters at least as it does with two
    more values of the spread that the groups have on average (without, 95 % cover 91 to 93: tests/
    tasksets/test_prices_coverage.py). None where no group has two values.
    """
    mean = float(np.mean([values.mean() for values in groups]))
    spreads = [float(values.var(ddof=1)) if len(values) > 1 else 0.0 for values in groups]
    weights = [len(values) - 1 for values in groups]
    if not any(weights):
        return mean, None
    usual = float(np.average(spreads, weights=weights))
    parts = [
        max(own, (weight * own + 2 * usual) / (weight + 2)) / (weight + 1)
        for own, weight in zip(spreads, weights, strict=True)
    ]
    whole = sum(parts)
    if whole == 0:
        return mean, Interval(mean, mean)
    below = sum(part**2 / max(1, weight) for part, weight in zip(parts, weights, strict=True))
    degrees = max(1.0, whole**2 / below)
    half = float(special.stdtrit(degrees, 0.975)) * math.sqrt(whole) / len(groups)
    return mean, Interval.around(mean, half)


def own_interval(
    value: float, error: float | None, rounds: int, *, common: float = 0.0
) -> Interval | None:
    """95 % interval of one set's figure from its own standard error over ``rounds``: Student's.
    ``common``: see `mean_interval`."""
    if error is None or rounds < 2:
        return None
    half = math.hypot(t_quantile(1 - TAIL, rounds - 1) * error, common * abs(value))
    return Interval.around(value, half, least=0.0)


def _arms(off: Floats) -> tuple[float, float]:
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
    one-sided: [0, 1 - 0.05**(1 / n)]. None of one set with some; of few see `bounded_interval`.
    """
    used = trials > 0
    events, trials = events[used], trials[used]
    sets = len(events)
    if sets == 0:
        return None
    if not events.any():
        return Interval(0.0, 1 - ALPHA ** (1 / sets))
    if bool((events == trials).all()):
        return Interval(float(ALPHA ** (1 / sets)), 1.0)
    if sets < 2:
        return None
    share = float(events.sum() / trials.sum())
    if sets < SETS_LEAST:
        low, high = bounded_interval(events / trials, least=0.0, most=1.0)
        return Interval(min(low, share), max(high, share))
    left, right = _arms(residuals(events, trials))
    return Interval.around(share, left, right, least=0.0, most=1.0)


def clopper_pearson(successes: float, trials: float) -> Interval:
    """Interval of a share of which ``successes`` of ``trials`` were seen (Biometrika 26, 1934).

    Each side errs in 2.5 % of cases at most; without a success, or with nothing else, the one end
    that is not known errs in 5 %. Both numbers may be effective ones, not whole.
    """
    if trials <= 0:
        return Interval(0.0, 1.0)
    if successes <= 0:
        return Interval(0.0, -math.expm1(math.log(ALPHA) / trials))
    if successes >= trials:
        return Interval(ALPHA ** (1 / trials), 1.0)
    failures = trials - successes
    return Interval(
        float(special.betaincinv(successes, failures + 1, TAIL)),
        float(special.betaincinv(successes + 1, failures, 1 - TAIL)),
    )


def difference(
    one: float, one_interval: Interval, other: float, other_interval: Interval
) -> Interval:
    """Interval of ``one`` - ``other``, independent, from their own intervals (method of variance
    estimates recovery: G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008)."""
    (low, high), (other_low, other_high) = one_interval, other_interval
    left = math.hypot(one - low, other_high - other)
    return Interval.around(one - other, left, math.hypot(high - one, other - other_low))


def fewest(level: float) -> int:
    """Number of calibration cases below which `quantile` cannot state an interval."""
    return math.ceil(level / (1 - level) - 1e-9)


def quantile(scores: Sequence[float], level: float) -> float | None:
    """What the score of a further case does not exceed with ``level``; None: too few cases.

    Split conformal prediction (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random
    World, 2005; J. Lei and others, JASA 113, 2018): of cases that come like the calibration cases
    a share of ``level`` lies inside, whatever the model and the distribution.

    Args:
        scores: How far each calibration case was off, by any rule that does not look at them.
    """
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return sorted(scores)[rank - 1] if 1 <= rank <= len(scores) else None
