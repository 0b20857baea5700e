"""Observations 1 to 5: what a grid of profiles and shielded task sets show of one machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np
from attrs import frozen
from scipy import stats

from deadbeat import UNDECIDED, CellFigures, Evidence, LackingError, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import (
    CRITICAL_CORES,
    SHIELDED_CORES,
    Campaign,
    Campaigns,
    PublishedObservation,
    Value,
    needs_cores,
    rank_correlation,
    undecided,
)
from deadbeat_papers.premises import off

#: Label of a campaign with C from other hardware: its delay ratios mean nothing alone.
_FOREIGN = "foreign costs"


LOW, HIGH = 0.9, 1.1
#: Mean delay ratios that the paper calls close to that of one core, and sharply risen.
BOUND, SHARP = 1.2, 2.0
#: rho and alpha of moderate contention.
MODERATE = 0.5
#: Slope of the delay ratio over rho on one core that is none.
SLOPE = 0.05
#: "In most cases", and "sharply" beside four cores.
MOST, TIMES = 0.5, 5
#: Core counts of observations 2, 3 and 4.
FEW, SEVERAL, MANY = 4, 8, 16


#: D / C of the paper. Steps of an interpolated surface.
_FACTOR, _FINE = 10.0, 200
#: What the task sets of a point have in common with it; what those of a group.
_POINT = attrgetter("cores", "sync_share", "contended_ratio", "deadline_factor")
_GROUP = attrgetter("group", "deadline_factor")


def metric_of(result: Campaign) -> tuple[str, str]:
    """Column and name of the ratio the paper reads: the delay ratio; where C is of another platform
    or hour the slowdown, which does not need it."""
    if _FOREIGN in result.summary.labels:
        return "slowdown", "slowdown (the costs come from another platform)"
    if result.extrapolated:
        return "slowdown", "replayed slowdown"
    if why := off(result):
        return "slowdown", f"slowdown ({why})"
    return "delay_ratio", "delay ratio"


def value(result: Campaign, cell: CellFigures, metric: str) -> Value | None:
    """The mean of ``metric`` at a point; None where it was not measured."""
    found, column = cell.figure(f"{metric}_mean"), f"{metric}_mean"
    mean, low, high, _ = found
    of_sets = low is not None and high is None and not found.unbounded
    if found.unbounded:
        high = math.inf
    elif of_sets:
        same = _GROUP if cell.group else _POINT
        own = [each for each in result.sets if same(each) == same(cell)]
        high = max((getattr(each, column) or 0.0 for each in own), default=math.inf)
    return None if mean is None else Value(mean=mean, low=low, high=high, of_sets=of_sets)


def measured(result: Campaign, cores: int, metric: str) -> list[tuple[CellFigures, Value]]:
    cells = [cell for cell in result.cells if cell.cores == cores]
    return [(cell, found) for cell in cells if (found := value(result, cell, metric)) is not None]


@frozen(kw_only=True)
class Surface:
    """The means of a grid at one M: ``name`` of the ratio, and its value at (rho, alpha)."""

    name: str
    cores: int
    factor: float
    points: Mapping[tuple[float, float], Value]

    @property
    def end(self) -> Value | None:
        """Where all is contended."""
        return self.points.get((1.0, 1.0))

    @property
    def largest(self) -> tuple[tuple[float, float], Value]:
        return max(self.points.items(), key=lambda pair: pair[1].mean)

    def area(self, bound: float = BOUND) -> Value | None:
        """Share of 0 < rho, alpha <= 1 where the ratio is at most ``bound``; None: the grid does
        not reach from 0 to 1, or lacks a point.

        1 / ratio is interpolated: rivals that wait for one another are active for a share s / F of
        the time, so s = 1 / (1 - k rho alpha (M - 1) / F) is bilinear in its inverse, and the area
        does not depend on the step of the grid.
        """
        axes = [sorted({key[axis] for key in self.points}) for axis in (0, 1)]
        nodes = [[self.points.get((rho, alpha)) for alpha in axes[1]] for rho in axes[0]]
        if any((axis[0], axis[-1]) != (0.0, 1.0) for axis in axes):
            return None
        if any(node is None for row in nodes for node in row):
            return None
        fine = (np.arange(_FINE) + 0.5) / _FINE

        def share(end: str) -> float | None:
            values = [[getattr(node, end) for node in row] for row in nodes]
            if any(value is None for row in values for value in row):
                return None
            inverse = 1 / np.maximum(values, 1e-9)
            along = np.array([np.interp(fine, axes[1], row) for row in inverse])
            whole = np.array([np.interp(fine, axes[0], column) for column in along.T])
            return float((whole >= 1 / bound).mean())

        return Value(mean=share("mean") or 0.0, low=share("high"), high=share("low"))

    def rival(self, bound: float) -> tuple[tuple[str, str], ...]:
        """Excess k beside one rival that never pauses, by the formula of `area`: here, at the
        bound, and the factor of the price that turns the verdict."""
        if self.end is None:
            return ()
        ends = [self.end.low, self.end.mean, self.end.high]
        here = [None if each is None else self._excess(each) for each in ends]
        needed, mean = self._excess(bound), here[1] or 0.0
        known = None not in (here[0], here[2])
        k = Value(mean=mean, low=here[0] if known else None, high=here[2] if known else None)
        turns = f"{needed / mean:.2f} times the price" if mean > 0 else "no price does"
        return (
            (f"k beside one rival at M = {self.cores}", str(k)),
            (f"k at {self.name} {bound:g}; what turns it", f"{needed:.2f}; {turns}"),
        )

    def _excess(self, ratio: float) -> float:
        return (1 - 1 / max(ratio, 1e-9)) * self.factor / (self.cores - 1)


def surface(given: Campaigns, cores: int, *, relative: bool = False) -> Surface:
    """The surface of one M. ``relative``: delay ratios over those of one core with the same rho,
    as slowdowns are over the tasks alone. Raises LackingError: it has no end, or one core is not
    there."""
    result = given.results[0]
    metric, name = metric_of(result)
    known = measured(result, cores, metric)
    if relative and metric == "delay_ratio":
        name += " relative to one core"
        alone = grouped_means(measured(result, 1, metric))
        if lacking := [cell for cell, _ in known if cell.sync_share not in alone]:
            because = f"{result.name} has no result at M = 1, rho = {lacking[0].sync_share:g}"
            raise LackingError("needs a baseline at M = 1", because)
        known = [(cell, found.over(alone[cell.sync_share])) for cell, found in known]
    factor = next((cell.deadline_factor for cell, _ in known if cell.deadline_factor), _FACTOR)
    points = {place(cell): found for cell, found in known}
    found = Surface(name=name, cores=cores, factor=factor, points=points)
    if found.end is None:
        because = f"{result.name} has no result at M = {cores}, rho = 1, alpha = 1"
        raise LackingError(UNDECIDED, because)
    return found


def grouped_means(known: Sequence[tuple[CellFigures, Value]]) -> dict[float, Value]:
    """Mean over alpha for each rho."""
    return {
        rho: Value.mean_of([found for cell, found in known if cell.sync_share == rho])
        for rho in {cell.sync_share for cell, _ in known}
    }


def place(cell: CellFigures) -> tuple[float, float]:
    return cell.sync_share, cell.contended_ratio


def place_text(cell: CellFigures) -> str:
    return at_text(place(cell))


def at_text(where: tuple[float, float]) -> str:
    return f"rho = {where[0]:g}, alpha = {where[1]:g}"


def decide_1(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    if _FOREIGN in result.summary.labels or result.extrapolated:
        because = f"the costs of {result.name} are of another platform: C cannot be checked there"
        return undecided(because)
    known = measured(result, 1, "delay_ratio")
    if not known:
        return undecided(f"{result.name} has no point at M = 1")
    holds = [
        None
        if found.low is None or found.high is None
        else Value(mean=found.low, low=found.low, high=found.high).within(LOW, HIGH)
        for _, found in known
    ]
    means = [found.mean for _, found in known]
    slope = _slope([(cell.sync_share, found.mean) for cell, found in known])
    row, furthest = max(known, key=lambda pair: abs(pair[1].mean - 1))
    return [
        Evidence(
            holds=all_hold([*holds, slope.within(-SLOPE, SLOPE)]),
            figures=f"furthest from 1 at M = 1: delay ratio {furthest} at {place_text(row)};"
            f" slope over rho {slope}",
            details=(
                ("mean delay ratios at M = 1", f"{min(means):.3f} to {max(means):.3f}"),
                ("points", str(len(known))),
            ),
        )
    ]


def _slope(points: Sequence[tuple[float, float]]) -> Value:
    """Slope of a straight line through ``points``, with its 95 % interval (Student)."""
    x, y = np.array(points).T
    if len({*x}) < 2:
        return Value(mean=0.0, low=None, high=None)
    found = stats.linregress(x, y)
    if len(x) < 3:
        return Value(mean=float(found.slope), low=None, high=None)
    half = float(stats.t.ppf(0.975, len(x) - 2) * np.nan_to_num(found.stderr))
    return Value(mean=float(found.slope), low=found.slope - half, high=found.slope + half)


def decide_2(given: Campaigns) -> list[Evidence]:
    """From fewer cores one side only: more cores never help."""
    most = max((count for count in given.results[0].cores if 1 < count <= FEW), default=FEW)
    found = surface(given, most, relative=True)
    above = [each.above(BOUND) for each in found.points.values()]
    if most < FEW and True not in above:
        because = f"{given.results[0].name} holds at most M = {most}, and nothing there is above"
        raise LackingError(needs_cores(FEW), f"{because} {BOUND} beyond doubt")
    where, largest = found.largest
    return [
        Evidence(
            holds=all_hold([None if one is None else not one for one in above]),
            figures=f"largest at M = {most}: {found.name} {largest} at {at_text(where)}"
            + f" (from M = {most}; assumes that more cores never help)" * (most < FEW),
            details=(
                (f"{found.name} at rho = 1, alpha = 1", str(found.end)),
                (f"points above {BOUND} beyond doubt", f"{above.count(True)} of {len(above)}"),
                *found.rival(BOUND),
            ),
        )
    ]


def decide_3(given: Campaigns) -> list[Evidence]:
    found, few = surface(given, SEVERAL), surface(given, FEW)
    area = _area(given, found)
    # Excess of one end over that of the other; both ends of both intervals.
    one, other = found.end, few.end
    assert one is not None and other is not None

    def ratio(above: float | None, below: float | None) -> float | None:
        if above is None or below is None:
            return None
        return max(0.0, above - 1) / (below - 1) if below > 1 else math.inf

    mean = ratio(one.mean, other.mean)
    low, high = ratio(one.low, other.high), ratio(one.high, other.low)
    times = Value(mean=mean or 0.0, low=low, high=high)
    assert found.end is not None
    return [
        Evidence(
            holds=all_hold([area.above(MOST), found.end.above(SHARP), times.above(TIMES)]),
            figures=f"at M = {SEVERAL} {area} of the contended area stays at or below {BOUND}; at"
            f" rho = 1, alpha = 1 the {found.name} is {found.end}, its excess {times} times that"
            f" at M = {FEW}",
            details=(("the paper's value there", "about 10"), *found.rival(SHARP)),
        )
    ]


def _area(given: Campaigns, found: Surface) -> Value:
    """Raises LackingError: the grid does not show it."""
    area = found.area()
    if area is None:
        because = f"the grid of {given.results[0].name} at M = {found.cores} lacks points of 0 to 1"
        raise LackingError(UNDECIDED, because)
    return area


def decide_4(given: Campaigns) -> list[Evidence]:
    found, several = surface(given, MANY), surface(given, SEVERAL)
    moderate = found.points.get((MODERATE, MODERATE))
    if moderate is None:
        where = f"M = {MANY}, rho = alpha = {MODERATE}"
        return undecided(f"{given.results[0].name} has no result at {where}")
    less, before = _area(given, found), _area(given, several)
    return [
        Evidence(
            holds=all_hold([moderate.above(BOUND), before.minus(less).above(0)]),
            figures=f"at M = {MANY}, rho = alpha = {MODERATE} the {found.name} is {moderate};"
            f" at or below {BOUND} stays {less} of the contended area, at M = {SEVERAL} {before}",
            details=(
                (f"{found.name} at rho = 1, alpha = 1", str(found.end)),
                *found.rival(BOUND),
            ),
        )
    ]


#: Rank correlation above which misses follow the ratio; where the paper's begin.
FOLLOWS, MISSES_FROM = 0.8, 8


def decide_5_misses(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    metric, name = metric_of(result)
    known = [
        (found.mean, ratio, cell)
        for cores in result.cores
        for cell, found in measured(result, cores, metric)
        if cores > 1 and (ratio := cell.miss_ratio.value) is not None
    ]
    first = min((cell.cores for *_, cell in known if cell.misses), default=None)
    if first is None:
        return undecided(f"no point of {result.name} certainly misses more than its tasks alone")
    rank = rank_correlation([(value, ratio) for value, ratio, _ in known])
    begins = all(count in result.cores for count in (FEW, SEVERAL)) or None
    return [
        Evidence(
            holds=all_hold([rank.above(FOLLOWS), begins and first == MISSES_FROM]),
            figures=f"rank correlation of miss ratio and {name} over {len(known)} points {rank};"
            f" misses beyond those alone begin at M = {first}",
        )
    ]


#: Slowdown that `deadbeat doctor --prove` accepts of tasks that share nothing. The campaign's own
#: null sets are no measure here: they are the sets that are judged.
NULL_BOUND = 1.02


def decide_5(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    shielded = [cell for cell in result.cells if cell.critical_cores]
    fitting = [cell for cell in shielded if cell.cores >= SHIELDED_CORES]
    if not fitting:
        because = f"{result.name} has no group with critical cores at M = {SHIELDED_CORES}"
        return undecided(f"{because} (contention --random --set critical-cores=N)")
    cell = max(fitting, key=lambda one: (one.critical_cores == CRITICAL_CORES, one.cores))
    found = value(result, cell, "slowdown")
    if found is None:
        return undecided(f"{cell.group} has no task set")
    above = found.above(NULL_BOUND)
    contended = cell.value("contended_ratio_real") or 0.0
    if above and contended:
        because = f"slowdown {found} in {cell.group}, but its critical tasks contend with one"
        because += f" another (alpha = {contended:.2f}): run it with --contended-ratio 0"
        return undecided(because)
    if above is False and result.extrapolated:
        because = f"replayed slowdown {found}: computation without a price slows nothing there"
        return undecided(because)
    ratio, high = cell.miss_ratio.value, cell.miss_ratio.high
    if ratio is None:
        misses = "not measured"
    else:
        misses = f"{100 * ratio:.2f} %" + (
            f" (at most {100 * high:.2f} %)" if high is not None else ""
        )
    return [
        Evidence(
            holds=above,
            figures=f"critical tasks on {cell.critical_cores} of {cell.cores} cores,"
            f" computation on the others: slowdown {found} against each of them alone",
            details=(
                ("smallest slowdown that counts", f"{NULL_BOUND:.3f}"),
                ("deadline misses of the critical tasks", misses),
                *_without(result, cell),
            ),
        )
    ]


def _without(result: Campaign, shielded: CellFigures) -> tuple[tuple[str, str], ...]:
    for cell in result.cells:
        same = cell.cores == shielded.cores and not cell.critical_cores
        found = value(result, cell, "slowdown") if same else None
        if found is not None:
            return (("slowdown of the same draws without shielding", str(found)),)
    return ()


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
