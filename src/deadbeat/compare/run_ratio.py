"""How many times as large a quantity of a run is on one side as on another. Pure.

Runs are the unit: wake-ups of a run share what the machine did in that minute. The quantity of a
run (its maximum, its mean) is compared on a logarithmic scale by B. L. Welch's interval for two
means whose spreads differ (Biometrika 34, 1947, degrees of freedom after F. E. Satterthwaite,
Biometrics Bulletin 2, 1946, rounded down), so that the ratio is that of the geometric means.

What an engine cut off widens the interval. Runs of one session share what the machine was that
day: the interval is of these two sessions, and does not tell a drift between them from an effect;
`deadbeat compare` with repeats of the baseline (--aa) does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import evolve, frozen

from deadbeat.stats.bootstrap import t_cdf, t_quantile

#: Below, a spread is a guess.
RUNS_MIN = 3
#: Why there is no interval.
FEW_RUNS = f"fewer than {RUNS_MIN} runs a side"
NO_SCATTER = "runs are all alike, which says nothing of how much others differ"
#: Logarithms beyond this are none that a float has.
_FAR = 700.0


@frozen(kw_only=True)
class Ratio:
    """A ratio of geometric means over runs.

    Attributes:
        value: None where a side has no run.
        low, high: 95 % interval between these sessions; None: fewer than RUNS_MIN runs on a side,
            or runs without any scatter, which say nothing of it (``why``).
        runs: Of either side, with a value.
        left_out: Runs without one, of both sides.
        p: Chance of a ratio as far from 1 where there is none; 1 without an interval.
        why: There is no interval, in words; "" of one.
    """

    value: float | None
    low: float | None
    high: float | None
    runs: tuple[int, int]
    left_out: int = 0
    p: float = 1.0
    why: str = ""

    @property
    def differs(self) -> bool:
        """Whether 1 lies outside the interval."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def run_ratio(
    over: Sequence[float | None],
    under: Sequence[float | None],
    *,
    level: float = 0.95,
    steps_ns: tuple[int, int] = (1, 1),
) -> Ratio:
    """The ratio ``over`` / ``under``, a value for each run; None, 0, NaN and infinity are none.

    Args:
        steps_ns: Of the engine on either side: a value may be up to one step less one larger.
    """
    one, two = _logs(over), _logs(under)
    runs = (len(one), len(two))
    left_out = len(over) + len(under) - sum(runs)
    if not all(runs):
        return Ratio(value=None, low=None, high=None, runs=runs, left_out=left_out, why=FEW_RUNS)
    difference = _mean(one) - _mean(two)
    found = Ratio(
        value=_exp(difference), low=None, high=None, runs=runs, left_out=left_out, why=FEW_RUNS
    )
    if min(runs) < RUNS_MIN:
        return found
    first, second = _variance(one) / len(one), _variance(two) / len(two)
    both = first + second
    hidden = [
        _mean(_logs(values, step - 1)) - _mean(_logs(values))
        for values, step in zip((over, under), steps_ns, strict=True)
    ]
    if both <= 0 and not any(hidden):
        return evolve(found, why=NO_SCATTER)
    half, surely = 0.0, max(difference - hidden[1], -difference - hidden[0], 0.0)
    p = float(surely <= 0)
    if both > 0:
        share = first**2 / (len(one) - 1) + second**2 / (len(two) - 1)
        degrees = max(1, math.floor(both**2 / share))
        half = t_quantile((1 + level) / 2, degrees) * math.sqrt(both)
        p = max(2 * (1 - t_cdf(surely / math.sqrt(both), degrees)), 0.0)
    low, high = difference - half - hidden[1], difference + half + hidden[0]
    return evolve(found, low=_exp(low), high=_exp(high), p=p, why="")


def _exp(value: float) -> float:
    return math.exp(min(max(value, -_FAR), _FAR))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _logs(values: Sequence[float | None], more: int = 0) -> list[float]:
    return [math.log(value + more) for value in values if value and 0 < value < math.inf]


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
