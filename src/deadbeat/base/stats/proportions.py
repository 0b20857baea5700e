"""Intervals of proportions and means over sets: closed formulas, sources named."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.stats import special
from deadbeat.base.stats.binomial import Z95, chi_squared_low
from deadbeat.base.stats.intervals import Interval, clopper_pearson, difference, student_half_width

#: Fewer runs than this may all have a burst of events by chance, and none on the other side.
COUNTED_MIN = 5


@frozen
class Count:
    """``yes`` of ``total`` sets."""

    yes: int
    total: int

    @property
    def share(self) -> float:
        """NaN of nothing."""
        return self.yes / self.total if self.total else math.nan

    @property
    def interval(self) -> Interval:
        return wilson(self.yes, self.total)

    @property
    def leaning(self) -> int:
        """1: more yes than no, -1: fewer, beyond chance: exact binomial under even odds (McNemar),
        both tails together rarer than 1 in 20; else 0."""
        no = self.total - self.yes
        by_chance = 2 * special.bdtr(min(self.yes, no), self.total, 0.5)
        return 0 if by_chance >= 0.05 else 1 if self.yes > no else -1

    def text(self) -> str:
        """``61.3 % [58.0, 64.5] of 450``."""
        if not self.total:
            return "no set"
        low, high = self.interval
        return f"{100 * self.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {self.total}"


@frozen(eq=False)
class RareCounts:
    """Shares of rare events on two sides: events and trials, divided by the design effect, which is
    how much more they scatter than by chance (J. N. K. Rao and A. J. Scott, Biometrics 48, 1992):
    within runs as far as events come in bursts, between runs of a side as far as is seen. A dozen
    runs hardly tell: it is taken so large that it is larger in one case of four. Of fewer than
    `COUNTED_MIN` (``few``) nothing is known of the scatter between runs, and Student's test of the
    runs must agree."""

    seen: NDArray[np.float64]
    of: NDArray[np.float64]
    few: bool = False

    @classmethod
    def over(
        cls,
        events: NDArray[np.float64],
        trials: NDArray[np.float64],
        bursts: NDArray[np.float64] | float = 1.0,
    ) -> RareCounts:
        """From what each run saw: [side, run]. ``bursts``: see `Observation`."""
        # of occasions and pauses of exponential length (an alternating renewal process)
        free = 1 - events.sum(axis=1) / trials.sum(axis=1)
        within = float(free**2 @ (events * bursts).sum(axis=1) / max(events.sum(), 1))
        few = events.shape[1] < COUNTED_MIN
        design = max(1.0, within, 1.0 if few else cls._between(events, trials))
        return cls(events.sum(axis=1) / design, trials.sum(axis=1) / design, few)

    @staticmethod
    def _between(events: NDArray[np.float64], trials: NDArray[np.float64]) -> float:
        shares = (events.sum(axis=1) / trials.sum(axis=1))[:, None]
        chance = trials * shares * (1 - shares)
        some = chance > 0
        square = float(((events - trials * shares)[some] ** 2 / chance[some]).sum())
        freedom = int(some.any(axis=1).sum()) * (events.shape[1] - 1)
        return square / chi_squared_low(freedom, 0.25) if freedom else 1.0

    @property
    def off(self) -> float:
        """How much larger the second share is."""
        return float((self.seen / self.of) @ (-1, 1))

    @property
    def error(self) -> float:
        """What chance alone makes of ``off``; with an event more a side, as none is no proof."""
        return float(np.sqrt(((self.seen + 1) / self.of**2).sum()))

    @property
    def p(self) -> float:
        """Two-sided, of equal rates: given their sum, Poisson numbers are binomial (J. Przyborowski
        and H. Wilenski, Biometrika 31, 1940)."""
        one, two = self.seen
        share = self.of[1] / self.of.sum()
        above = float(special.betainc(two, one + 1, share)) if two else 1.0
        below = float(special.betainc(one, two + 1, 1 - share)) if one else 1.0
        return min(1.0, 2 * min(above, below))

    @property
    def interval(self) -> Interval:
        """95 % of ``off``."""
        low, high = map(clopper_pearson, self.seen, self.of)
        return difference(self.seen[1] / self.of[1], high, self.seen[0] / self.of[0], low)


def wilson(yes: int, total: int) -> Interval:
    """Score interval of a proportion (Wilson, JASA 22, 1927); (0, 1) of nothing."""
    if total == 0:
        return Interval(0.0, 1.0)
    share, square = yes / total, Z95 * Z95
    centre = (share + square / (2 * total)) / (1 + square / total)
    error = math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    half = Z95 / (1 + square / total) * error
    # At the ends the formula is 0 and 1 up to rounding.
    low = 0.0 if yes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if yes == total else min(1.0, centre + half))


@frozen
class Mean:
    """A mean over sets and the half-width of its 95 % interval (Student's t)."""

    value: float
    half: float
    sets: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Mean:
        count = len(values)
        if count == 0:
            return cls(math.nan, math.nan, 0)
        half = student_half_width(values) if count > 1 else math.inf
        return cls(float(np.mean(values)), half, count)

    def text(self, unit: str = "", digits: int = 3) -> str:
        if not self.sets:
            return "no set"
        half = f" ± {self.half:.{digits}g}" if math.isfinite(self.half) else ""
        return f"{self.value:.{digits}g}{half}{unit} over {self.sets} sets"


def crossing(
    places: Sequence[float], counts: Sequence[Count], level: float
) -> tuple[float, Interval]:
    """Where a share first rises above ``level``, straight between ``places``; ends: where the upper
    and where the lower ends of its intervals do. -inf: before the first place; inf: nowhere."""

    def first(values: Sequence[float]) -> float:
        at = next((i for i, value in enumerate(values) if value > level), None)
        if not at:
            return math.inf if at is None else -math.inf
        return float(np.interp(level, values[at - 1 : at + 1], places[at - 1 : at + 1]))

    lows, highs = zip(*(count.interval for count in counts), strict=True)
    return first([count.share for count in counts]), Interval(first(highs), first(lows))


def weighted_schedulability(loads: NDArray[np.float64], yes: NDArray[np.bool_]) -> float:
    """Sum of U times verdict by sum of U (Bastoni, Brandenburg and Anderson, OSPERT 2010)."""
    whole = float(loads.sum())
    return float(loads[yes].sum()) / whole if whole > 0 else math.nan
