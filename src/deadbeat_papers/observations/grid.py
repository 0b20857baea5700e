"""Observations 1 to 4: what a grid of profiles shows of one machine, core count by core count."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from deadbeat import Evidence, all_hold
from deadbeat_papers.observations.base import (
    Campaign,
    Campaigns,
    PublishedObservation,
    Row,
    number,
    undecided,
)

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


def value(row: Row, metric: str) -> Value | None:
    """The mean of ``metric`` at a point; None where it was not measured."""
    mean = number(row.get(f"{metric}_mean"))
    if mean is None:
        return None
    low, high = number(row.get(f"{metric}_ci_low")), number(row.get(f"{metric}_ci_high"))
    return Value(mean=mean, low=low, high=high)


def measured(result: Campaign, cores: int, metric: str) -> list[tuple[Row, Value]]:
    """Points of one M, with the mean of ``metric`` there."""
    rows = [row for row in result.rows if row["cores"] == cores]
    return [(row, found) for row in rows if (found := value(row, metric)) is not None]


def at_end(known: Sequence[tuple[Row, Value]]) -> Value | None:
    """The value at rho = alpha = 1; None where it was not measured."""
    return next((found for row, found in known if place(row) == (1, 1)), None)


def place(row: Row) -> tuple[float, float]:
    return float(row["sync_share"]), float(row["contended_ratio"])


def place_text(row: Row) -> str:
    return f"rho = {row['sync_share']:g}, alpha = {row['contended_ratio']:g}"


LOW, HIGH = 0.9, 1.1
#: Mean delay ratios that the paper calls close to that of one core, and sharply risen.
BOUND, SHARP = 1.2, 2.0
#: The largest rho and alpha of moderate contention.
MODERATE = 0.5
#: Core counts of observations 2, 3 and 4.
FEW, SEVERAL, MANY = 4, 8, 16


def _decide_1(given: Campaigns) -> list[Evidence]:
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


OBSERVATION_1 = PublishedObservation(
    id="observation-1",
    number=1,
    title="Tasks are generated as the parameters ask",
    says="The benchmark framework can correctly generate tasks from the specified model"
    " parameters: in the single-core configuration the average delay ratio is close to 1.0.",
    campaign="grid",
    confirmed=f"confirmed: at M = 1 the interval of every point's mean delay ratio lies within"
    f" {LOW} to {HIGH}; not confirmed: some lies outside",
    check=_decide_1,
)


def _decide_2(given: Campaigns) -> list[Evidence]:
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


OBSERVATION_2 = PublishedObservation(
    id="observation-2",
    number=2,
    title="Scalability is excellent while cores are few",
    says="In the quad-core configuration the average delay ratio remains close to the"
    " single-core baseline; the maximum does not exceed 1.2, even under the most extreme contended"
    " condition.",
    cores=FEW,
    campaign="grid",
    confirmed=f"confirmed: at M = {FEW} the interval of every point's mean delay ratio ends at or"
    f" below {BOUND}; not confirmed: some begins above it",
    check=_decide_2,
)


def _decide_3(given: Campaigns) -> list[Evidence]:
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


OBSERVATION_3 = PublishedObservation(
    id="observation-3",
    number=3,
    title="Heavy synchronisation begins to hurt at eight cores",
    says="In the 8-core configuration the delay is still ignorable in most cases, but unlike"
    " the quad-core setting the ratio rises sharply (to about 10) under synchronization-intensive"
    " conditions.",
    cores=SEVERAL,
    campaign="grid",
    confirmed=f"confirmed: at M = {SEVERAL} more than half of the points with rho > 0 and alpha > 0"
    f" have a mean delay ratio of at most {BOUND}, and at rho = alpha = 1 its interval begins above"
    f" {SHARP:g}; not confirmed: one of the two is refuted",
    check=_decide_3,
)


def _decide_4(given: Campaigns) -> list[Evidence]:
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


OBSERVATION_4 = PublishedObservation(
    id="observation-4",
    number=4,
    title="Many cores are a severe bottleneck",
    says="In the 16-core configuration delays emerge significantly even under moderate"
    " contention levels: efficiency declines rapidly in the many-core regime.",
    cores=MANY,
    campaign="grid",
    confirmed=f"confirmed: at M = {MANY} with rho and alpha of at most {MODERATE} the interval of"
    f" the largest mean delay ratio begins above {BOUND}; not confirmed: it ends at or below",
    check=_decide_4,
)
