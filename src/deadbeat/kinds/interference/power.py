"""Which effect a load test could have shown: how often the tests behind its verdicts would call a
remedy that takes away a share of the failures; pure.

Runs are made up by the failures that were seen without the remedy: occasions come as a Poisson
process, at a rate of each number of ordinary threads; the failures of so many occasions have the
mean and the scatter of those seen (at least that of geometric sizes, and a gamma distribution), and
where a share of all rounds fails, as much less of it (`estimates`). Where
runs differ by more than that, their rates do, by a gamma distribution; where by less than chance
explains (5 %), as failures that keep a beat do, the deviations of runs shrink as much. By how much
is known from few runs, so every made-up test has a ratio of its own (the chi-squared distribution
of a variance). With the remedy as many occasions less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.kinds.interference.estimates import Counted
from deadbeat.stats import special
from deadbeat.stats.binomial import at_most
from deadbeat.stats.intervals import t_quantile

Floats = NDArray[np.float64]

#: How often what could have been shown is found.
POWER = 0.8
_TESTS = 1000
#: Shares of the failures, in as many steps.
_STEPS = 20
_BY_CHANCE = 0.05


@frozen(kw_only=True)
class Found:
    """What would have been found.

    Attributes:
        share: Of the failures, the smallest whose removal is found with POWER; None: not even all.
        removal: How often the removal of all is found.
    """

    share: float | None
    removal: float


@frozen(kw_only=True)
class _Law:
    """How runs without the remedy fail.

    Attributes:
        expected: Occasions, of the run of every pair.
        size, scatter: Of an occasion: mean, and squared coefficient of variation.
        excess: The same of the rates of runs, beyond chance.
        regular: Variance of runs as a share of chance; 1 where it is more.
        degrees: Of freedom, of these two.
        free: Share of rounds that do not fail.
    """

    expected: Floats
    size: float
    scatter: float
    excess: float
    regular: float
    degrees: int
    free: float


def could_show(before: Mapping[int, Sequence[Counted]], *, level: float, seed: int) -> Found:
    """What a test of as many pairs of runs finds.

    Args:
        before: The runs without the remedy by number of ordinary threads; three or more in all, one
            failure or more.
        level: Of the verdict, after what the number of verdicts takes from it.
    """
    law = _law(list(before.values()))

    def found(share: float) -> float:
        return _found(law, share, level=level, seed=seed)

    removal = found(1.0)
    if removal < POWER:
        return Found(share=None, removal=removal)
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle / _STEPS) >= POWER else (middle, high)
    return Found(share=high / _STEPS, removal=removal)


def _law(groups: Sequence[Sequence[Counted]]) -> _Law:
    runs = [run for group in groups for run in group]
    sizes = np.array([size for run in runs for size in run.occasions], np.float64)
    size = float(sizes.mean())
    scatter = max(float((sizes**2).mean()) / size**2 - 1, 1 - 1 / size)
    free = 1 - sizes.sum() / max(sum(run.released for run in runs), sizes.sum())
    expected, seen, chance, weight = [], 0.0, 0.0, 0.0
    for group in groups:
        counts = np.array([run.failures for run in group], np.float64)
        mean = float(counts.mean())
        expected += [mean / size] * len(group)
        if mean and len(group) > 1:
            seen += (len(group) - 1) * float(counts.var(ddof=1))
            chance += (len(group) - 1) * mean * size * (1 + scatter) * free**2
            weight += (len(group) - 1) * mean**2
    degrees = sum(len(group) - 1 for group in groups if any(run.failures for run in group))
    return _Law(
        expected=np.array(expected),
        size=size,
        scatter=scatter,
        excess=max((seen - chance) / weight, 0.0) if weight else 0.0,
        regular=_regular(seen / chance, degrees) if chance else 1.0,
        degrees=degrees,
        free=float(free),
    )


def _regular(ratio: float, degrees: int) -> float:
    """The ratio of a variance to that by chance, where it is less by more than chance explains."""
    return ratio if special.chdtr(degrees, ratio * degrees) < _BY_CHANCE else 1.0


def _found(law: _Law, share: float, *, level: float, seed: int) -> float:
    """Share of tests in which the removal of ``share`` of the failures is found."""
    random = np.random.default_rng(seed)
    before = _drawn(law, law.expected, random)
    after = _drawn(law, law.expected * (1 - share), random)
    fewer = before - after
    pairs = fewer.shape[1]
    mean = fewer.mean(axis=1)
    error = fewer.std(axis=1, ddof=1) / math.sqrt(pairs)
    first, last = before.sum(axis=1), after.sum(axis=1)
    both = first + last
    size = law.size * (1 + law.scatter) * law.free**2
    chance = np.sqrt(both * size) / pairs
    called = (mean > 0) & (mean >= t_quantile(1 - level / 2, pairs - 1) * error)
    called &= mean >= NormalDist().inv_cdf(1 - level / 2) * chance
    whole, more = (np.floor(side / max(size, 1.0)) for side in (both, first))
    least = {total: _least(int(total), level) for total in np.unique(whole)}
    called &= more >= np.array([least[total] for total in whole])
    return float(called.mean())


def _drawn(law: _Law, expected: Floats, random: np.random.Generator) -> Floats:
    """Failures of every run of every test."""
    shape = (_TESTS, len(expected))
    rates = np.broadcast_to(expected, shape)
    if law.excess:
        # as far as so few runs tell it: each test has one of its own
        excess = law.excess * law.degrees / random.chisquare(law.degrees, (_TESTS, 1))
        rates = rates * random.gamma(1 / excess, excess, shape)
    counts = random.poisson(rates).astype(np.float64)
    failures = counts * law.size
    if law.scatter:
        drawn = random.gamma(np.maximum(counts / law.scatter, 1e-9)) * law.size * law.scatter
        failures = np.where(counts > 0, drawn, 0.0)
    kept: float | Floats = law.free
    if law.regular < 1:
        ratio = law.regular * law.degrees / random.chisquare(law.degrees, (_TESTS, 1))
        kept = law.free * np.sqrt(np.minimum(ratio, 1.0))
    mean = expected * law.size
    return np.asarray(mean + kept * (failures - mean), np.float64)


def _least(total: int, level: float) -> float:
    """Of so many occasions, how many on one side are no chance; infinite: there are too few."""
    low, high = total // 2, total
    if 2 * (1 - at_most(high - 1, total, 0.5)) > level:
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        enough = 2 * (1 - at_most(middle - 1, total, 0.5)) <= level
        low, high = (low, middle) if enough else (middle, high)
    return float(high)


__all__ = ["POWER", "Found", "could_show"]
