"""Points of a grid as observations ask for them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from deadbeat.observations.base import Result, Row, number

#: Label of a campaign whose C was measured on other hardware: its delay ratios mean nothing alone.
_FOREIGN = "foreign costs"


@frozen(kw_only=True)
class Value:
    """A mean with its interval; the ends are None where there is none."""

    mean: float
    low: float | None
    high: float | None

    def above(self, bound: float) -> bool | None:
        """Whether it lies above ``bound``; None where the interval holds it, or there is none."""
        if self.low is None or self.high is None:
            return None
        return True if self.low > bound else False if self.high <= bound else None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f} (no interval)"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def foreign_costs(result: Result) -> bool:
    """Whether C was measured on other hardware than the campaign ran on."""
    return _FOREIGN in result.labels


def metric_of(result: Result) -> tuple[str, str]:
    """Column and name of the ratio the paper reads.

    That is the delay ratio; where C is of another platform the slowdown, which does not need it.
    """
    if foreign_costs(result):
        return "slowdown", "slowdown (the costs are of another platform)"
    return "delay_ratio", "delay ratio"


def value(row: Row, metric: str) -> Value | None:
    """The mean of ``metric`` at a point; None where it was not measured."""
    mean = number(row.get(f"{metric}_mean"))
    if mean is None:
        return None
    low, high = number(row.get(f"{metric}_ci_low")), number(row.get(f"{metric}_ci_high"))
    return Value(mean=mean, low=low, high=high)


def at_cores(result: Result, cores: int) -> tuple[Row, ...]:
    """All points of one M."""
    return tuple(row for row in result.rows if row["cores"] == cores)


def extreme(rows: Sequence[Row]) -> Row | None:
    """The point rho = 1, alpha = 1; None where the grid has none."""
    return next((row for row in rows if place(row) == (1, 1)), None)


def place(row: Row) -> tuple[float, float]:
    return float(row["sync_share"]), float(row["contended_ratio"])


def place_text(row: Row) -> str:
    return f"rho = {row['sync_share']:g}, alpha = {row['contended_ratio']:g}"


def worst(rows: Sequence[Row], metric: str) -> tuple[Row, Value] | None:
    """The point with the largest mean; None where nothing was measured."""
    known = [(row, found) for row in rows if (found := value(row, metric)) is not None]
    return max(known, key=lambda pair: pair[1].mean, default=None)
