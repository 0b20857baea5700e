"""Observations 1 to 4: what a grid of profiles shows of one machine, core count by core count."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from deadbeat import CellFigures, Evidence, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import Campaign, Campaigns, PublishedObservation, undecided

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


def foreign_costs(result: Campaign) -> bool:
    """Whether C was measured on other hardware than the campaign ran on."""
    return _FOREIGN in result.labels


def metric_of(result: Campaign) -> tuple[str, str]:
    """Column and name of the ratio the paper reads.

    That is the delay ratio; where C is of another platform the slowdown, which does not need it.
    """
    if foreign_costs(result):
        return "slowdown", "slowdown (the costs come from another platform)"
    return "delay_ratio", "delay ratio"


def value(cell: CellFigures, metric: str) -> Value | None:
    """The mean of ``metric`` at a point; None where it was not measured."""
    mean, low, high, _ = cell.figure(f"{metric}_mean")
    return None if mean is None else Value(mean=mean, low=low, high=high)


def measured(result: Campaign, cores: int, metric: str) -> list[tuple[CellFigures, Value]]:
    """Points of one M, with the mean of ``metric`` there."""
    cells = [cell for cell in result.cells if cell.cores == cores]
    return [(cell, found) for cell in cells if (found := value(cell, metric)) is not None]


def at_end(known: Sequence[tuple[CellFigures, Value]]) -> Value | None:
    """The value at rho = alpha = 1; None where it was not measured."""
    return next((found for cell, found in known if place(cell) == (1, 1)), None)


def place(cell: CellFigures) -> tuple[float, float]:
    return cell.sync_share, cell.contended_ratio


def place_text(cell: CellFigures) -> str:
    return f"rho = {cell.sync_share:g}, alpha = {cell.contended_ratio:g}"


LOW, HIGH = 0.9, 1.1
#: Mean delay ratios that the paper calls close to that of one core, and sharply risen.
BOUND, SHARP = 1.2, 2.0
#: The largest rho and alpha of moderate contention.
MODERATE = 0.5
#: Core counts of observations 2, 3 and 4.
FEW, SEVERAL, MANY = 4, 8, 16


def decide_1(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    if foreign_costs(result):
        because = f"the costs of {result.name} are of another platform: C cannot be checked there"
        return undecided(because)
    metric, name = "delay_ratio", "delay ratio"
    known = measured(result, 1, metric)
    if not known:
        return undecided(f"{result.name} has no point at M = 1")
    holds = [
        None if found.low is None or found.high is None else _inside(found.low, found.high)
        for _, found in known
    ]
    means = [found.mean for _, found in known]
    row, furthest = max(known, key=lambda pair: abs(pair[1].mean - 1))
    return [
        Evidence(
            holds=all_hold(holds),
            figures=f"furthest from 1 at M = 1: {name} {furthest} at {place_text(row)}",
            details=(
                (f"mean {name}s at M = 1", f"{min(means):.3f} to {max(means):.3f}"),
                ("points", str(len(known))),
            ),
        )
    ]


def _inside(low: float, high: float) -> bool | None:
    if high < LOW or low > HIGH:
        return False
    return True if low >= LOW and high <= HIGH else None


def decide_2(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    metric, name = metric_of(result)
    known = measured(result, FEW, metric)
    end = at_end(known)
    if end is None:
        because = f"{result.name} has no result at M = {FEW}, rho = 1, alpha = 1"
        return undecided(because)
    row, largest = max(known, key=lambda pair: pair[1].mean)
    above = [found.above(BOUND) for _, found in known]
    return [
        Evidence(
            holds=all_hold([None if one is None else not one for one in above]),
            figures=f"largest at M = {FEW}: {name} {largest} at {place_text(row)}",
            details=(
                (f"{name} at rho = 1, alpha = 1", str(end)),
                (f"points above {BOUND} beyond doubt", f"{above.count(True)} of {len(above)}"),
            ),
        )
    ]


def decide_3(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    metric, name = metric_of(result)
    known = measured(result, SEVERAL, metric)
    end = at_end(known)
    if end is None:
        because = f"{result.name} has no result at M = {SEVERAL}, rho = 1, alpha = 1"
        return undecided(because)
    small = [found.mean <= BOUND for row, found in known if min(place(row)) > 0]
    most = 2 * sum(small) > len(small)
    return [
        Evidence(
            holds=all_hold([most, end.above(SHARP)]),
            figures=f"at M = {SEVERAL} {sum(small)} of {len(small)} contended points stay at or"
            f" below {BOUND}; at rho = 1, alpha = 1 the {name} is {end}",
            details=(
                (
                    f"points with contention and a mean {name} <= {BOUND}",
                    f"{sum(small)} of {len(small)}",
                ),
                (f"{name} at rho = 1, alpha = 1", str(end)),
                ("the paper's value there", "about 10"),
            ),
        )
    ]


def decide_4(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    metric, name = metric_of(result)
    known = measured(result, MANY, metric)
    moderate = [(row, found) for row, found in known if max(place(row)) <= MODERATE]
    if not any(place(row) == (MODERATE, MODERATE) for row, _ in moderate):
        because = f"{result.name} has no result at M = {MANY}, rho = alpha = {MODERATE}"
        return undecided(because)
    row, largest = max(moderate, key=lambda pair: pair[1].mean)
    end = at_end(known)
    return [
        Evidence(
            holds=largest.above(BOUND),
            figures=f"largest with rho, alpha <= {MODERATE} at M = {MANY}: {name} {largest} at"
            f" {place_text(row)}",
            details=((f"{name} at rho = 1, alpha = 1", str(end) if end else "not measured"),),
        )
    ]


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
