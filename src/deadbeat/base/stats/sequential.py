"""Whether a share of late jobs is allowed, judged at any time and as often as one likes.

A mixture of likelihood ratios against the allowed share is a test martingale: that it ever reaches
1 / ALPHA has at most the probability ALPHA where the share is the allowed one (J. Ville, 1939;
H. Robbins, Ann. Math. Stat. 41, 1970). To look after each run, to stop where it is decided, or to
repeat it until it passes adds nothing to that; a bound of Clopper and Pearson at each look would.

Late jobs come in bursts: D = sum s^2 / sum s over bursts of s jobs is the factor by which their
number varies more than that of independent ones, so that all is judged of 1 / D of the jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

from attrs import frozen

from deadbeat.base.stats.binomial import ALPHA

#: Weight of bursts where nothing says how long they are.
UNKNOWN_WEIGHT = 12.0
#: Bursts that tell how long others are.
_TELLING = 10
#: Shares that are tried against the allowed one, as parts of it: so far below, or above.
_BELOW = ((0.0, 0.3), (1 / 16, 0.1), (1 / 4, 0.2), (1 / 2, 0.3), (3 / 4, 0.1))
_ABOVE = tuple((ratio, 1 / 6) for ratio in (1.25, 1.5, 2.0, 4.0, 16.0, 64.0))
_ENOUGH = -math.log(ALPHA)
_STEPS, _NEVER = 60, 1e12


@frozen
class Bursts:
    """A ``number`` of bursts of late ``jobs``: the ``squares`` of their sizes, and the longest."""

    number: int = 0
    jobs: int = 0
    squares: int = 0
    longest: int = 0

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Self:
        squares = sum(size * size for size in sizes)
        return cls(len(sizes), sum(sizes), squares, max(sizes, default=0))

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.number + other.number,
            self.jobs + other.jobs,
            self.squares + other.squares,
            max(self.longest, other.longest),
        )

    @property
    def weight(self) -> float:
        """How many late jobs count as one."""
        return self.squares / self.jobs if self.jobs else 1.0


def weight(seen: Bursts, known: Bursts) -> tuple[float, bool]:
    """How many late jobs count as one, and whether that is assumed. ``known``: bursts of earlier
    results."""
    if known.number < _TELLING:
        return max(seen.weight, UNKNOWN_WEIGHT), seen.weight <= UNKNOWN_WEIGHT
    before = known.weight * (1 + 2 / math.sqrt(known.number))  # as far as so few can err
    return max(seen.weight, before), False


def decided(late: float, jobs: float, allowed: float) -> bool | None:
    """Whether the share of late jobs is at most ``allowed``; None: not decided yet. Both numbers
    are effective ones."""
    if _against(late, jobs, allowed, _BELOW) >= _ENOUGH:
        return True
    return False if _against(late, jobs, allowed, _ABOVE) >= _ENOUGH else None


def at_most(late: float, jobs: float) -> float:
    """The smallest share that more than it is excluded (95 %, at any time)."""
    low, high = (late / jobs if jobs > 0 else 1.0), 1.0
    if low >= 1:
        return 1.0
    for _ in range(_STEPS):
        middle = math.sqrt(max(low, 1e-15) * high)
        excluded = _against(late, jobs, middle, _BELOW) >= _ENOUGH
        low, high = (low, middle) if excluded else (middle, high)
    return high


def jobs_until(late: float, jobs: float, allowed: float, share: float) -> float:
    """Further effective jobs until it is decided, one way or the other, if this ``share`` of them
    is late; infinite: it never is."""

    def open_after(more: float) -> bool:
        return decided(late + share * more, jobs + more, allowed) is None

    if not open_after(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while open_after(high):
        low, high = high, 2 * high
        if high > _NEVER:
            return math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if open_after(middle) else (low, middle)
    return high


def _against(
    late: float, jobs: float, allowed: float, shares: Iterable[tuple[float, float]]
) -> float:
    """Logarithm of the mixture of likelihood ratios against ``allowed``."""
    if not 0 < allowed < 1:
        return -math.inf
    found = []
    for ratio, part in shares:
        share = ratio * allowed
        if share >= 1 or (ratio == 0 and late > 0):
            continue
        hit = late * math.log(ratio) if ratio else 0.0
        missed = (jobs - late) * (math.log1p(-share) - math.log1p(-allowed))
        found.append(math.log(part) + hit + missed)
    most = max(found, default=-math.inf)
    return most + math.log(sum(math.exp(each - most) for each in found)) if found else most
