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
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.stats.intervals import t_quantile

Floats = NDArray[np.float64]

#: What a block is for.
ENDS, LOOK, PROOF = "ends", "look", "proof"
#: Probability with which a commit is named; that of no change below which it is sought.
SURE, NONE = 0.95, 0.01
#: Blocks of the ends before anything is said; of a proof, and of a commit between two changes.
FIRST_BLOCKS, PROOF_BLOCKS, BETWEEN_BLOCKS = 4, 8, 8
#: Relative difference of the ends that is none.
EQUAL = 0.01
#: Of the whole difference: what a change that is one of two has at least, and a proved one.
_PART, _PROVED_PART = 0.2, 0.5
#: Sides of intervals: of what is said; of a proof; of two changes, for which many are asked.
_TAIL, _PROVED_TAIL, _BETWEEN_TAIL = 0.025, 0.005, 0.0005
#: Noise that no figure is without.
_LEAST = 1e-4
#: Values farther from the levels of the ends are clipped, in (scaled) median absolute deviations.
_CLIP, _MAD = 3.0, 1.4826


@frozen
class Block:
    """Runs in a row: of each its commit, by its place, and its figure."""

    kind: str
    commits: tuple[int, ...]
    values: tuple[float, ...]


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


@frozen(kw_only=True)
class Next:
    """What to do: a block of a ``kind``, of ``commits``; or no more, and ``why``."""

    kind: str = ""
    commits: tuple[int, ...] = ()
    why: str = ""


@define(kw_only=True, eq=False, slots=False)
class Search:
    """All that is known.

    Attributes:
        count: Commits in a row; the first is good, the last is bad.
        unfit: Places of those that cannot be measured.
        sign: Of the difference of bad from good.
        low, high: Places between which the change is sought: where there are several, others lie
            outside.
    """

    count: int
    blocks: Sequence[Block]
    unfit: AbstractSet[int] = frozenset()
    sign: int = 1
    low: int = 0
    high: int = field()

    @high.default
    def _last(self) -> int:
        return self.count - 1

    @cached_property
    def _runs(self) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Commit, logarithm (clipped) and block of each run between the ends."""
        sizes = [len(block.commits) for block in self.blocks]
        commits = np.array([c for block in self.blocks for c in block.commits], int)
        logs = np.log([v for block in self.blocks for v in block.values])
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
        commits, logs, number = self._runs
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

    def effect(
        self, before: int, after: int, kinds: Sequence[str] = (ENDS, LOOK), tail: float = _TAIL
    ) -> Shift | None:
        """By how much the figure at one place is above that at another, from blocks of both."""
        commits, logs, number = self._runs
        found = []
        for each in np.intersect1d(number[commits == before], number[commits == after]):
            if self.blocks[each].kind in kinds:
                at, own = commits[number == each], logs[number == each]
                found.append(own[at == after].mean() - own[at == before].mean())
        if len(found) < 2:
            return None
        error = max(float(np.std(found, ddof=1)), _LEAST) / math.sqrt(len(found))
        half, mean = t_quantile(1 - tail, len(found) - 1) * error, float(np.mean(found))
        return Shift(*(math.expm1(value) for value in (mean, mean - half, mean + half)))

    def levels(self) -> dict[int, Shift]:
        """By how much each commit that was run is above the good end: of all blocks together."""
        commits, logs, number = self._runs
        places = [each for each in np.unique(commits).tolist() if each != self.low]
        x = (commits[:, None] == places).astype(float)
        for each in np.unique(number):
            x[number == each] -= x[number == each].mean(axis=0)
        free = len(logs) - len(np.unique(number)) - len(places)
        if free < 1:
            return {}
        y = logs - (np.bincount(number, logs) / np.maximum(np.bincount(number), 1))[number]
        inverse = np.linalg.pinv(x.T @ x)
        means = inverse @ x.T @ y
        spread = max(float(np.sum((y - x @ means) ** 2)) / free, _LEAST**2)
        halves = t_quantile(1 - _TAIL, free) * np.sqrt(spread * np.diag(inverse))
        each = zip(places, means, halves, strict=True)
        return {p: Shift(*map(math.expm1, (m, m - h, m + h))) for p, m, h in each}

    @cached_property
    def ends(self) -> Shift | None:
        """By how much the bad end is above the good one."""
        return self.effect(self.low, self.high)

    def proof(self, first: int, last: int, tail: float = _TAIL) -> Shift | None:
        """By how much ``last`` is above what comes before ``first``, in turns alone."""
        return self.effect(first - 1, last, (PROOF,), tail)

    def _turns(self, before: int, after: int) -> int:
        pair = {before, after}
        return sum(block.kind == PROOF and {*block.commits} == pair for block in self.blocks)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """From the first to the last commit between which nothing can be distinguished."""
        fit = [each for each in range(self.low, self.high + 1) if each not in self.unfit]
        return [(a + 1, b) for a, b in pairwise(fit)]

    @cached_property
    def likely(self) -> tuple[int, int, float]:
        """The fewest steps in a row that have the change with `SURE`, and their probability."""
        steps = self.steps
        each = [self.chances[a : b + 1].sum() for a, b in steps]
        whole = np.concatenate([[0.0], np.cumsum(each)])
        for length in range(1, len(steps) + 1):
            sums = whole[length:] - whole[:-length]
            at = int(np.argmax(sums))
            if sums[at] >= SURE * whole[-1]:
                break
        return steps[at][0], steps[at + length - 1][1], float(sums[at])

    @property
    def certain(self) -> bool:
        """Whether one step has the change."""
        return self.likely[2] >= SURE and self.likely[:2] in self.steps

    @property
    def proved(self) -> bool:
        """Whether one step has, and turns have shown it, with enough of the whole difference."""
        first, last, _ = self.likely
        if not self.certain or self._turns(first - 1, last) % PROOF_BLOCKS:
            return False
        effect = self.proof(first, last, _PROVED_TAIL)
        if effect is None or self.ends is None or effect.sign != self.sign:
            return False
        most = max(self.sign * effect.low, self.sign * effect.high)
        return most >= _PROVED_PART * self.sign * self.ends.value

    def narrowed(self) -> Search:
        """Between the ends of the larger one of two changes, where a commit lies between them."""
        commits, _, number = self._runs
        found: list[tuple[float, Search]] = []
        for place in {*commits.tolist()} - {self.low, self.high}:
            if len({*number[commits == place].tolist()}) < BETWEEN_BLOCKS:
                continue
            pairs = ((self.low, place), (place, self.high))
            sides = [self.effect(a, b, tail=_BETWEEN_TAIL) for a, b in pairs]
            known = [side for side in sides if side is not None and side.sign == self.sign]
            sizes = [abs(side.value) for side in known]
            if len(known) == 2 and min(sizes) >= _PART * sum(sizes):
                low, high = pairs[sizes.index(max(sizes))]
                found.append((min(sizes), evolve(self, low=low, high=high)))
        return max(found, key=lambda pair: pair[0])[1].narrowed() if found else self

    def next(self, built: AbstractSet[int], *, dear: bool, over: bool) -> Next:
        """What to do.

        Args:
            built: Places of commits that are built. ``dear``: to build one takes long.
            over: The time is.
        """
        low, high = self.low, self.high
        if why := self._ended() or "over" * over:
            return Next(why=why)
        if self.blocks and (proof := self._unfinished) is not None:
            return proof
        if len(self.blocks) < FIRST_BLOCKS or self.ends is None or self.chances[0] > NONE:
            return Next(kind=ENDS, commits=(low, low, high, high))
        if self.certain:
            first, last, _ = self.likely
            return Next(kind=PROOF, commits=(first - 1, first - 1, last, last))
        place = self._most_open(built, dear=dear)
        return Next(kind=LOOK, commits=(low, place, place, high))

    def _ended(self) -> str:
        """Why no more is to be run; "": it goes on."""
        none, ends = self.chances[0], self.ends
        if len(self.blocks) < FIRST_BLOCKS or ends is None:
            return ""
        if none <= NONE and ends.sign == -self.sign:
            return "wrong"
        same = none >= SURE or (none > NONE and -EQUAL < ends.low <= ends.high < EQUAL)
        return "proved" if self.proved else "equal" if same else ""

    @property
    def _unfinished(self) -> Next | None:
        last = self.blocks[-1]
        pair = min(last.commits), max(last.commits)
        if last.kind != PROOF or not self._turns(*pair) % PROOF_BLOCKS or self.unfit & {*pair}:
            return None
        return Next(kind=PROOF, commits=tuple(sorted(last.commits)))

    def _most_open(self, built: AbstractSet[int], *, dear: bool) -> int:
        """The commit of which it is least known whether it is bad."""
        bad = np.cumsum(np.append(0, self.chances[1:]))
        bad = np.clip(bad / bad[-1], 1e-12, 1 - 1e-12)
        unknown = -bad * np.log(bad) - (1 - bad) * np.log(1 - bad)
        inner = [each for each in range(self.low + 1, self.high) if each not in self.unfit]
        best = max(inner, key=lambda place: unknown[place])
        if dear and (known := [place for place in inner if place in built]):
            near = max(known, key=lambda place: unknown[place])
            return near if unknown[near] >= unknown[best] / 2 else best
        return best
