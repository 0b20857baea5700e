"""Where a figure changes among commits in a row: the posterior of one change, and what to run next.

Runs come in blocks; each block has a level of its own, so that what drifts from block to block is
nothing. Within it, logarithms of runs before the change and from it on differ by one effect, with
normal noise. Neither is known before: the noise is integrated out with Jeffreys' prior, the effect
with a normal one as wide as the noise of a run (A. Zellner, 1986), which makes the posterior of "no
change" a proper one. Levels of the ends that are taken for known confirm themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.stats.intervals import t_quantile
from deadbeat.program.bisect.results import BisectRun

Floats = NDArray[np.float64]

#: What a block is for.
ENDS, LOOK, PROOF = "ends", "look", "proof"
#: Probability with which a commit is named; that of no change below which it is sought.
SURE, NONE = 0.95, 0.01
#: Blocks of the ends before anything is said; of a proof, and of a commit between two changes.
FIRST_BLOCKS, PROOF_BLOCKS, BETWEEN_BLOCKS = 4, 8, 8
#: Relative difference of the ends that is none.
EQUAL = 0.01
#: Of the whole difference: what a change that is one of two has at least.
_PART = 0.2
#: Sides of intervals: of what is said; of a proof; of two changes, for which many are asked.
_TAIL, _PROVED_TAIL, _BETWEEN_TAIL = 0.025, 0.005, 0.0005
#: Noise that no figure is without.
_LEAST = 1e-4
#: Values farther from the levels of the ends are clipped, in (scaled) median absolute deviations.
_CLIP, _MAD = 3.0, 1.4826


@frozen
class Shift:
    """A relative difference, 0.1 of 10 % more, and its interval (95 %)."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """Sign of the difference; 0: the interval holds 0."""
        return (self.low > 0) - (self.high < 0)


@define(kw_only=True, eq=False, slots=False)
class Search:
    """All that is known.

    Attributes:
        count: Commits in a row; the first is good, the last is bad.
        runs: Blocks, and why a commit cannot be measured.
        sign: Of the difference of bad from good.
        low, high: Places between which the change is sought: where there are several, others lie
            outside.
    """

    count: int
    runs: Sequence[BisectRun]
    sign: int = 1
    low: int = 0
    high: int = field()

    @high.default
    def _last(self) -> int:
        return self.count - 1

    @cached_property
    def _values(self) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Commit, logarithm (clipped) and block of each run between the ends."""
        sizes = [len(block.commits) for block in self.runs]
        commits = np.array([c for block in self.runs for c in block.commits], int)
        logs = np.log([v for block in self.runs for v in block.values])
        number = np.repeat(np.arange(len(sizes)), sizes)
        inside = (commits >= self.low) & (commits <= self.high)
        commits, logs, number = commits[inside], logs[inside], number[inside]
        ends = [logs[commits == end] for end in (self.low, self.high)]
        if all(map(len, ends)):
            levels = [float(np.median(end)) for end in ends]
            off = np.concatenate([abs(end - at) for end, at in zip(ends, levels, strict=True)])
            room = _CLIP * max(_MAD * float(np.median(off)), _LEAST)
            logs = np.clip(logs, min(levels) - room, max(levels) + room)
        return commits, logs, number

    @cached_property
    def chances(self) -> Floats:
        """Probability of each place that it is the first bad one; at 0: that none is."""
        commits, logs, number = self._values
        weights, firsts = np.zeros(self.count), np.arange(self.low + 1, self.high + 1)
        weights[0], weights[firsts] = 0.5, 0.5 / len(firsts)
        if len(number):
            begins = np.flatnonzero(np.diff(number, prepend=-1))
            sizes = np.diff(begins, append=len(number))

            def centred(values: Floats) -> Floats:
                means = np.add.reduceat(values, begins, axis=-1) / sizes
                return np.asarray(values - np.repeat(means, sizes, axis=-1))

            y, x = centred(logs), centred((commits >= firsts[:, None]).astype(float))
            sxx, sxy = (x * x).sum(axis=1), x @ y
            syy, degrees = y @ y + _LEAST**2 * len(y), len(y) - len(begins)
            found = -degrees / 2 * np.log(syy - sxy**2 / (1 + sxx)) - np.log1p(sxx) / 2
            found = np.append(-degrees / 2 * np.log(syy), found - math.log(len(firsts)))
            found = np.exp(found - found.max())
            weights[[0, *firsts]] = found / found.sum()
        return weights

    def differences(self, before: int, after: int, *kinds: str) -> list[float]:
        """By how much the figure at one place is above that at another (logarithms), in each block
        of both."""
        commits, logs, number = self._values
        found = []
        for each in np.intersect1d(number[commits == before], number[commits == after]):
            if self.runs[each].kind in kinds:
                at, own = commits[number == each], logs[number == each]
                found.append(float(own[at == after].mean() - own[at == before].mean()))
        return found

    def effect(self, before: int, after: int, *kinds: str, tail: float = _TAIL) -> Shift | None:
        """The mean of `differences`; None: of fewer than two."""
        found = self.differences(before, after, *kinds)
        if len(found) < 2:
            return None
        error = max(float(np.std(found, ddof=1)), _LEAST) / math.sqrt(len(found))
        half, mean = t_quantile(1 - tail, len(found) - 1) * error, float(np.mean(found))
        return Shift(*(math.expm1(value) for value in (mean, mean - half, mean + half)))

    @cached_property
    def ends(self) -> Shift | None:
        """By how much the bad end is above the good one."""
        return self.effect(self.low, self.high, ENDS, LOOK)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """From the first to the last commit between which nothing can be distinguished."""
        unfit = {int(place) for run in self.runs for place in run.unfit}
        fit = [each for each in range(self.low, self.high + 1) if each not in unfit]
        return [(a + 1, b) for a, b in pairwise(fit)]

    @cached_property
    def likely(self) -> tuple[int, int, float]:
        """The steps in a row that have the change with `SURE`, as much being before as behind
        them, and their probability."""
        steps = self.steps
        each = np.cumsum([self.chances[a : b + 1].sum() for a, b in steps])
        ends = np.searchsorted(each, each[-1] * np.array([1 - SURE, 1 + SURE]) / 2)
        first, last = steps[ends[0]][0], steps[ends[1]][1]
        return first, last, float(self.chances[first : last + 1].sum())

    @property
    def certain(self) -> bool:
        """Whether one step has the change."""
        return self.likely[2] >= SURE and self.likely[:2] in self.steps

    def proof(self, tail: float = _TAIL) -> Shift | None:
        """By how much the last likely commit is above what comes before, in turns alone."""
        first, last, _ = self.likely
        return self.effect(first - 1, last, PROOF, tail=tail)

    @property
    def turns(self) -> int:
        """Blocks of the proof."""
        first, last, _ = self.likely
        return len(self.differences(first - 1, last, PROOF))

    def narrowed(self) -> Search:
        """Between the ends of the larger one of two changes, where a commit lies between them."""
        commits, _, number = self._values
        found: list[tuple[float, Search]] = []
        for place in {*commits.tolist()} - {self.low, self.high}:
            if len({*number[commits == place].tolist()}) < BETWEEN_BLOCKS:
                continue
            pairs = ((self.low, place), (place, self.high))
            sides = [self.effect(a, b, ENDS, LOOK, tail=_BETWEEN_TAIL) for a, b in pairs]
            known = [side for side in sides if side is not None and side.sign == self.sign]
            sizes = [abs(side.value) for side in known]
            if len(known) == 2 and min(sizes) >= _PART * sum(sizes):
                low, high = pairs[sizes.index(max(sizes))]
                found.append((min(sizes), evolve(self, low=low, high=high)))
        return max(found, key=lambda pair: pair[0])[1].narrowed() if found else self

    @cached_property
    def ended(self) -> str:
        """Why no more is to be run: ``proved``, ``equal`` or ``wrong``; "": it goes on."""
        none, ends = self.chances[0], self.ends
        if len(self.runs) < FIRST_BLOCKS or ends is None:
            return ""
        if none <= NONE and ends.sign == -self.sign:
            return "wrong"
        same = none >= SURE or (none > NONE and -EQUAL < ends.low <= ends.high < EQUAL)
        effect = self.proof(_PROVED_TAIL)
        if self.certain and effect and effect.sign == self.sign and not self.turns % PROOF_BLOCKS:
            return "proved"
        return "equal" if same else ""

    def next(self) -> tuple[str, tuple[int, ...]]:
        """Kind and commits of the block to run."""
        if len(self.runs) < FIRST_BLOCKS or self.chances[0] > NONE:
            return ENDS, (self.low, self.low, self.high, self.high)
        if self.certain:
            first, last, _ = self.likely
            return PROOF, (first - 1, last)
        place = self._most_open()
        return LOOK, (self.low, place, place, self.high)

    def _most_open(self) -> int:
        """The commit of which it is least known whether it is bad; one that is built where that is
        half as open."""
        bad = np.cumsum(np.append(0, self.chances[1:]))
        bad = np.clip(bad / bad[-1], 1e-12, 1 - 1e-12)
        unknown = -bad * np.log(bad) - (1 - bad) * np.log(1 - bad)
        inner = [last for _, last in self.steps[:-1]]
        best = max(inner, key=lambda place: unknown[place])
        built = {place for block in self.runs for place in block.commits}
        near = max(
            (place for place in inner if place in built),
            default=best,
            key=lambda place: unknown[place],
        )
        return near if unknown[near] >= unknown[best] / 2 else best
