"""Observations 1 to 6: what a grid of profiles and random task sets show of one machine."""

from __future__ import annotations

from attrs import frozen

from deadbeat import CellFigures, Evidence, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import (
    CRITICAL_CORES,
    SHIELDED_CORES,
    Campaign,
    Campaigns,
    PublishedObservation,
    undecided,
)

#: Label of a campaign with C from other hardware: its delay ratios mean nothing alone.
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


def metric_of(result: Campaign) -> tuple[str, str]:
    """Column and name of the ratio the paper reads: the delay ratio; where C is of another platform
    the slowdown, which does not need it."""
    if _FOREIGN in result.summary.labels:
        return "slowdown", "slowdown (the costs come from another platform)"
    return "delay_ratio", "delay ratio"


def value(cell: CellFigures, metric: str) -> Value | None:
    """The mean of ``metric`` at a point; None where it was not measured."""
    mean, low, high, _ = cell.figure(f"{metric}_mean")
    return None if mean is None else Value(mean=mean, low=low, high=high)


def measured(result: Campaign, cores: int, metric: str) -> list[tuple[CellFigures, Value]]:
    cells = [cell for cell in result.cells if cell.cores == cores]
    return [(cell, found) for cell in cells if (found := value(cell, metric)) is not None]


def at(given: Campaigns, cores: int) -> tuple[str, list[tuple[CellFigures, Value]], Value | None]:
    """Name of the ratio, the points of one M, and the value at rho = alpha = 1."""
    metric, name = metric_of(given.results[0])
    known = measured(given.results[0], cores, metric)
    return name, known, next((found for cell, found in known if place(cell) == (1, 1)), None)


def _no_end(given: Campaigns, cores: int) -> str:
    return f"{given.results[0].name} has no result at M = {cores}, rho = 1, alpha = 1"


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
    if _FOREIGN in result.summary.labels:
        because = f"the costs of {result.name} are of another platform: C cannot be checked there"
        return undecided(because)
    known = measured(result, 1, "delay_ratio")
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
            figures=f"furthest from 1 at M = 1: delay ratio {furthest} at {place_text(row)}",
            details=(
                ("mean delay ratios at M = 1", f"{min(means):.3f} to {max(means):.3f}"),
                ("points", str(len(known))),
            ),
        )
    ]


def _inside(low: float, high: float) -> bool | None:
    if high < LOW or low > HIGH:
        return False
    return True if low >= LOW and high <= HIGH else None


def decide_2(given: Campaigns) -> list[Evidence]:
    name, known, end = at(given, FEW)
    if end is None:
        return undecided(_no_end(given, FEW))
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
    name, known, end = at(given, SEVERAL)
    if end is None:
        return undecided(_no_end(given, SEVERAL))
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
    name, known, end = at(given, MANY)
    moderate = [(row, found) for row, found in known if max(place(row)) <= MODERATE]
    if not any(place(row) == (MODERATE, MODERATE) for row, _ in moderate):
        where = f"M = {MANY}, rho = alpha = {MODERATE}"
        return undecided(f"{given.results[0].name} has no result at {where}")
    row, largest = max(moderate, key=lambda pair: pair[1].mean)
    return [
        Evidence(
            holds=largest.above(BOUND),
            figures=f"largest with rho, alpha <= {MODERATE} at M = {MANY}: {name} {largest} at"
            f" {place_text(row)}",
            details=((f"{name} at rho = 1, alpha = 1", str(end) if end else "not measured"),),
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
        return undecided(f"{because} (stress --critical-cores)")
    cell = max(fitting, key=lambda one: (one.critical_cores == CRITICAL_CORES, one.cores))
    found = value(cell, "slowdown")
    if found is None:
        return undecided(f"{cell.group} has no task set")
    above = found.above(NULL_BOUND)
    contended = cell.value("contended_ratio_real") or 0.0
    if above and contended:
        because = f"slowdown {found} in {cell.group}, but its critical tasks contend with one"
        because += f" another (alpha = {contended:.2f}): run it with --contended-ratio 0"
        return undecided(because)
    return [
        Evidence(
            holds=above,
            figures=f"critical tasks on {cell.critical_cores} of {cell.cores} cores,"
            f" computation on the others: slowdown {found} against each of them alone",
            details=(
                ("smallest slowdown that counts", f"{NULL_BOUND:.3f}"),
                ("deadline misses of the critical tasks", _misses(cell)),
                *_without(result.cells, cell),
            ),
        )
    ]


def _misses(cell: CellFigures) -> str:
    ratio, high = cell.miss_ratio.value, cell.miss_ratio.high
    if ratio is None:
        return "not measured"
    return f"{100 * ratio:.2f} %" + (f" (at most {100 * high:.2f} %)" if high is not None else "")


def _without(cells: tuple[CellFigures, ...], shielded: CellFigures) -> tuple[tuple[str, str], ...]:
    for cell in cells:
        same = cell.cores == shielded.cores and not cell.critical_cores
        found = value(cell, "slowdown") if same else None
        if found is not None:
            return (("slowdown of the same draws without shielding", str(found)),)
    return ()


LEAST_SETS = 30
_QUANTITIES = ("delay_ratio_p50", "delay_ratio_p95", "slowdown_p50", "slowdown_p95")


def decide_6(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    cells = result.cells
    planned = [cell.task_sets for cell in cells]
    known = [all(cell.value(name) is not None for name in _QUANTITIES) for cell in cells]
    enough: bool | None = True if cells and min(planned) >= LEAST_SETS else None
    return [
        Evidence(
            holds=all_hold([enough, all(known)]),
            figures=f"{sum(planned)} task sets in {len(cells)} distribution"
            f"{'s' if len(cells) != 1 else ''}: {'; '.join(map(_words, cells))}",
            details=tuple(figure for cell in cells for figure in _figures(cell)),
        )
    ]


def _words(cell: CellFigures) -> str:
    return f"{cell.group} slowdown p50 {_text(cell, 'slowdown_p50')}"


def _figures(cell: CellFigures) -> tuple[tuple[str, str], ...]:
    group = cell.group
    return (
        (f"{group}: delay ratio p50, p95", _pair(cell, "delay_ratio")),
        (f"{group}: slowdown p50, p95", _pair(cell, "slowdown")),
        (f"{group}: deadline miss ratio", _text(cell, "deadline_miss_ratio", ".2%")),
        (f"{group}: sets that missed anything", _text(cell, "miss_set_share", ".0%")),
    )


def _pair(cell: CellFigures, metric: str) -> str:
    return f"{_text(cell, f'{metric}_p50')}, {_text(cell, f'{metric}_p95')}"


def _text(cell: CellFigures, column: str, form: str = ".3f") -> str:
    found = cell.value(column)
    return "not measured" if found is None else format(found, form)


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
