"""How many times as large a quantity of a run is on one side as on another. Pure.

Runs are the unit: wake-ups of a run share what the machine did in that minute. The quantity of a
run (its maximum, its mean) is compared on a logarithmic scale by B. L. Welch's interval for two
means whose spreads differ (Biometrika 34, 1947, degrees of freedom after F. E. Satterthwaite,
Biometrics Bulletin 2, 1946, rounded down), so that the ratio is that of the geometric means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from deadbeat.analysis.bootstrap import t_quantile

#: Below, a spread is a guess.
RUNS_MIN = 3


@frozen(kw_only=True)
class Ratio:
    """A ratio of geometric means over runs.

    Attributes:
        value: None where a side has no run.
        low, high: 95 % interval; None: fewer than RUNS_MIN runs on a side.
        runs: Of either side.
    """

    value: float | None
    low: float | None
    high: float | None
    runs: tuple[int, int]

    @property
    def differs(self) -> bool:
        """Whether 1 lies outside the interval."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def run_ratio(
    over: Sequence[float | None], under: Sequence[float | None], *, level: float = 0.95
) -> Ratio:
    """The ratio ``over`` / ``under``, a value for each run; None and 0 are no values."""
    one, two = _logs(over), _logs(under)
    runs = (len(one), len(two))
    if not all(runs):
        return Ratio(value=None, low=None, high=None, runs=runs)
    difference = sum(one) / len(one) - sum(two) / len(two)
    value = math.exp(difference)
    if min(runs) < RUNS_MIN:
        return Ratio(value=value, low=None, high=None, runs=runs)
    first, second = _variance(one) / len(one), _variance(two) / len(two)
    both = first + second
    if not both:
        return Ratio(value=value, low=value, high=value, runs=runs)
    degrees = both**2 / (first**2 / (len(one) - 1) + second**2 / (len(two) - 1))
    half = t_quantile((1 + level) / 2, max(1, math.floor(degrees))) * math.sqrt(both)
    return Ratio(
        value=value, low=math.exp(difference - half), high=math.exp(difference + half), runs=runs
    )


def _logs(values: Sequence[float | None]) -> list[float]:
    return [math.log(value) for value in values if value]


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
