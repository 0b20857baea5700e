"""Shares of jobs beyond a limit, when jobs beyond it come in bursts.

Jobs of a burst share their fate, so n jobs say less than n. The interval of a share is that of E.
L. Korn and B. I. Graubard (Survey Methodology 24, 1998): Clopper and Pearson's with an effective
number of jobs, which comes from the variance of the share with rounds as clusters and task sets as
strata. It speaks of these task sets: what further sets would do is the matter of other intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from deadbeat.base.stats.binomial import TAIL
from deadbeat.base.stats.intervals import Floats, Interval, clopper_pearson, t_quantile

Integers = NDArray[np.int64]


@frozen
class Share:
    """A share of jobs and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high)


@define(eq=False)
class Jobs:
    """Values of the jobs of some task sets, by round.

    Attributes:
        values: A number per job; infinite: never finished.
        rounds: Round of each job, numbered through all sets.
        sets: Task set of each round.
    """

    values: Floats
    rounds: Integers
    sets: Integers

    @classmethod
    def of(cls, runs: Sequence[tuple[Floats, Integers]]) -> Jobs:
        """The jobs of a point's runs, from their values and rounds."""
        counts = [1 + int(own.max(initial=0)) for _, own in runs]
        first = np.cumsum([0, *counts]).tolist()
        rounds = [own + begin for (_, own), begin in zip(runs, first, strict=False)]
        return cls(
            np.concatenate([np.empty(0), *(values for values, _ in runs)]),
            np.concatenate([np.empty(0, np.int64), *rounds]),
            np.repeat(np.arange(len(counts)), counts),
        )

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(-self.values, kind="stable")

    @cached_property
    def _descending(self) -> Floats:
        return np.asarray(self.values[self._order])

    @cached_property
    def _per_round(self) -> Integers:
        return np.bincount(self.rounds, minlength=len(self.sets))

    @cached_property
    def _rounds_of_set(self) -> Integers:
        """Rounds with a job, per set."""
        return np.bincount(
            self.sets[self._per_round > 0], minlength=int(self.sets.max(initial=0)) + 1
        )

    def beyond(self, limit: float) -> Share | None:
        """Share of the jobs with a value above ``limit``; None: no jobs."""
        if not len(self):
            return None
        return self._share(int(np.searchsorted(-self._descending, -limit, side="left")))

    def _share(self, number: int) -> Share:
        """The share when the ``number`` largest are beyond the limit.

        What no round has shown may still befall a whole round: with every round as one trial, the
        upper end is not below that of no event, nor the lower end above that of nothing else.
        """
        value, rounds = number / len(self), int((self._per_round > 0).sum())
        rarest, commonest = clopper_pearson(0, rounds)[1], clopper_pearson(rounds, rounds)[0]
        if number in (0, len(self)):
            return Share(value, *((0.0, rarest) if number == 0 else (commonest, 1.0)))
        trials = self.effective_jobs(number)
        low, high = clopper_pearson(value * trials, trials)
        return Share(value, min(low, commonest), max(high, rarest))

    def effective_jobs(self, number: int) -> float:
        """Number of independent jobs that say as much of the share of the ``number`` largest: these
        are some and not all."""
        jobs, share = len(self), number / len(self)
        inside = np.bincount(self.rounds[self._order[:number]], minlength=len(self.sets))
        some = self._per_round > 0
        owner, rounds = self.sets[some], self._rounds_of_set
        off = (inside - share * self._per_round)[some]
        means = np.bincount(owner, weights=off, minlength=len(rounds)) / np.maximum(rounds, 1)
        # A set of one round has nothing to be compared with but the mean of all.
        off = off - np.where(rounds > 1, means, 0.0)[owner]
        correction = np.where(rounds > 1, rounds / np.maximum(rounds - 1, 1), 1.0)[owner]
        variance = float((correction * off**2).sum()) / jobs**2
        if variance <= 0:
            return float(jobs)
        degrees = max(1, int((rounds[rounds > 0] - 1).sum()))
        known = t_quantile(1 - TAIL, max(1, jobs - 1)) / t_quantile(1 - TAIL, degrees)
        return min(float(jobs), share * (1 - share) / variance) * known**2

    def limit(self, share: float) -> tuple[float | None, float | None, float | None]:
        """Smallest limit that at most ``share`` of the jobs exceed, and its interval.

        The interval inverts that of the share (R. S. Woodruff, JASA 47, 1952): ``low`` is the
        largest value at which surely more than ``share`` lie at or above, ``high`` the smallest
        limit that surely no more exceed.

        Returns:
            The limit, None where more than ``share`` of the jobs never finished; low; high, None
            where there are too few jobs to bound it, or too many never finished.
        """
        if not len(self):
            return None, None, None
        values = self._descending
        here = math.floor(share * len(self) + 1e-9)
        first = self._first(lambda number: self._share(number).low > share, here)
        low = values[first - 1] if first is not None else values[-1]
        beyond = self._first(lambda number: self._share(number).high > share, 0)
        most = len(self) if beyond is None else beyond - 1
        high = values[min(most, here)] if most >= 0 else math.inf
        finite = values[np.isfinite(values)]
        largest = float(finite[0]) if len(finite) else None
        return _finite(values[here]), _finite(low) if math.isfinite(low) else largest, _finite(high)

    def _first(self, holds: Callable[[int], bool], least: int) -> int | None:
        """Smallest number from ``least`` on for which the condition holds, looked for near it: it
        need not hold for all beyond, since bursts make fewer jobs effective."""
        if holds(least):
            return least
        low, high, step = least, least, 1
        while True:
            high = min(least + step, len(self))
            if holds(high):
                break
            if high == len(self):
                return None
            low, step = high, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
