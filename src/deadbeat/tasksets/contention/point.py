"""A point, a class at a point, or a group: from its task sets and jobs to a row of summary.csv."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import numpy as np
from attrs import evolve

from deadbeat.base.model.grouping import grouped
from deadbeat.base.report.document import percent
from deadbeat.base.stats.binomial import quantile_ranks
from deadbeat.base.stats.exceedance import Jobs, Share
from deadbeat.base.stats.intervals import (
    Floats,
    Interval,
    clopper_pearson,
    difference,
    own_interval,
    sets_interval,
    share_over_sets,
    stratified_interval,
    t_quantile,
)
from deadbeat.base.stats.proportions import wilson
from deadbeat.tasksets.contention.figures import Responses, RunFigures, mean_of
from deadbeat.tasksets.executors.metrics import quantiles
from deadbeat.tasksets.model.figures import (
    BOUND,
    MEASURES,
    NEEDED_SHARES,
    PART_COLUMNS,
    RANGE,
    CellFigures,
    Figure,
    SetFigures,
    is_saturated,
)
from deadbeat.tasksets.model.results import ClassFigures, NoiseFacts, PointFigures

Sets = Sequence[SetFigures]

#: Fewer null sets do not tell how much sets differ without an effect.
NULL_SETS_MIN = 3
#: Where a point or task set lies.
_AXES = ("cores", "sync_share", "contended_ratio", "deadline_factor")
_PLACE = attrgetter(*_AXES)
_SHARING = "that share neither an object nor a core"
#: Means over sets that have no interval: what the sets were made of, and the parts of a response.
REALISED = ("sync_share_real", "contended_ratio_real", "overlap_real", *PART_COLUMNS)
_SUMS = ("miss_episodes", "released", "overruns", "left_out")


def point_cell(where: CellFigures, sets: Sets, runs: Sequence[RunFigures]) -> CellFigures:
    """A point from its axes: means over sets, quantiles over jobs.

    The means' intervals are over sets; those of a single set rest on its rounds, and ``basis`` says
    which. Those of misses and of needed deadlines are of these sets. A job that never finished lies
    above every quantile; a point that is `is_censored` has no mean.
    """
    never = np.full(sum(each.released - each.jobs for each in sets), np.inf)
    delays = quantiles(_joined([*(run.delay_ratio for run in runs), never]), 0.5, 0.95, 1.0)
    slow = quantiles(_joined([*(run.slowdown for run in runs), never]), 0.5)
    # Misses together, the sets that have one, misses alone, and what is beyond those.
    together, alone = _misses(run.together for run in runs), _misses(run.alone for run in runs)
    ran = [each for each in sets if each.released]
    missing = sum(each.deadline_misses > 0 for each in ran)
    over_sets = clopper_pearson(missing, len(ran)) if ran else None
    sides = (with_ends(e.value, e.interval) if e else Figure() for e in (together, alone))
    miss_figures = {
        **miss_shares(*sides),
        "miss_sets": with_ends(missing if ran else None, over_sets),
    }
    figures = {
        "delay_ratio_mean": _mean_of("delay_ratio", sets, common=common_half_width(sets)),
        "delay_ratio_p50": _finite(delays[0]),
        "delay_ratio_p95": _finite(delays[1]),
        "delay_ratio_max": _finite(delays[2]),
        "slowdown_mean": _mean_of("slowdown", sets),
        "slowdown_p50": _finite(slow[0]),
        **measured(sets, groups=False),
        **miss_figures,
        **needed_figures(runs),
    }
    return evolve(summed(where, sets), jobs=sum(each.jobs for each in sets), figures=figures)


def _finite(value: float | None) -> Figure:
    return Figure(None if value is None or math.isinf(value) else value)


def summed(where: CellFigures, sets: Sets) -> CellFigures:
    """The axes of a point or group with what is counted over its sets."""
    sums = {name: sum(getattr(each, name) for each in sets) for name in _SUMS} if sets else {}
    return evolve(where, task_sets=len(sets), **sums)


def common_half_width(sets: Sets) -> float:
    """What the costs, which all sets share, add to the interval of a mean delay ratio."""
    return mean_of(known(sets, "cost_half_width")) or 0.0


def is_censored(sets: Sets) -> bool:
    """Whether a mean over the jobs that finished would be one over survivors: a task of a set has
    none, or 5 % of the jobs did not finish before their next release, which then never ran."""
    lost = sum(each.released - each.jobs for each in sets) > 0
    starved = any(each.starved_tasks for each in sets)
    return starved or (lost and is_saturated(unfinished_share(sets)))


def unfinished_share(sets: Sets) -> float | None:
    """Jobs that did not finish before their next release, of all."""
    released = sum(each.released for each in sets)
    late = sum((each.unfinished_share or 0.0) * each.released for each in sets)
    return late / released if released else None


def _mean_of(metric: str, sets: Sets, *, common: float = 0.0) -> Figure:
    """Mean over sets and its interval: over sets, or over the rounds of a single set; where jobs
    did not finish the low end of what it is at least."""
    if is_censored(sets):
        interval = sets_interval(known(sets, f"{metric}_bound"), common=common)
        return Figure(None, interval and interval.low, None, BOUND)
    values = known(sets, f"{metric}_mean")
    interval, basis = sets_interval(values, common=common), "sets"
    if len(values) == 1:
        (own,) = (each for each in sets if each.column(f"{metric}_mean") is not None)
        error, basis = own.column(f"{metric}_error"), "rounds"
        interval = own_interval(float(values[0]), error, own.rounds or 0, common=common)
    return with_ends(mean_of(values), interval, basis)


def with_ends(
    value: float | None,
    interval: tuple[float | None, float | None] | None,
    basis: str | None = None,
) -> Figure:
    """A figure with its interval, of which an end may be open; without one it has no basis."""
    if not interval:
        return Figure(value)
    return Figure(value, interval[0], None if interval[1] == math.inf else interval[1], basis)


def ranged(cell: CellFigures, sets: Sets) -> CellFigures:
    """With intervals that hold both ends of a replay's prices: those over sets, times the geometric
    mean of what each set changes by."""
    known_sets = [each for each in sets if each.slowdown_low and each.slowdown_bound]
    if not known_sets:
        return cell
    usual = np.log(known(known_sets, "slowdown_bound"))
    lows, highs = (np.log(known(known_sets, f"slowdown_{end}")) for end in ("low", "high"))
    down = math.exp(min(0.0, float((lows - usual).mean())))
    up = math.exp(max(0.0, float((highs - usual).mean()))) if len(highs) == len(usual) else None
    found = {}
    for name in ("slowdown_mean", "slowdown_p50", "slowdown_p95"):
        own = cell.figures.get(name, Figure())
        low = own.low if own.low is not None else own.value
        low = None if low is None else low * down
        top = own.high if own.high is not None else own.value
        high = None if up is None or top is None else top * up
        basis = own.basis if own.value is None else RANGE
        found[name] = Figure(own.value, low, high, basis)
    return cell.with_figures(**{name: each for name, each in found.items() if name in cell.figures})


def measured(sets: Sets, *, groups: bool) -> dict[str, Figure]:
    """Means over sets of what MEASURES and REALISED name, with intervals where there are some."""
    found = {column: Figure(mean_of(known(sets, column))) for column in REALISED}
    censored = is_censored(sets)
    for measure in MEASURES:
        if measure.groups or not groups:
            values = known(sets if measure.always or not censored else (), measure.name)
            interval = sets_interval(values) if measure.interval else None
            found[measure.name] = with_ends(mean_of(values), interval)
    return found


def miss_shares(together: Figure, alone: Figure) -> dict[str, Figure]:
    """The misses together and alone, and what is beyond those alone."""
    excess = apart = None
    if together.value is not None and alone.value is not None:
        excess = together.value - alone.value
        if together.ends and alone.ends:
            apart = difference(
                together.value, Interval(*together.ends), alone.value, Interval(*alone.ends)
            )
    return {
        "deadline_miss_ratio": together,
        "alone_miss_ratio": alone,
        "miss_excess": with_ends(excess, apart),
    }


def _misses(side: Iterable[Responses]) -> Share | None:
    return Jobs.of([(run.of_deadline, run.clusters) for run in side]).beyond(1.0)


def needed_figures(runs: Sequence[RunFigures]) -> dict[str, Figure]:
    """Smallest deadline over C that all but a share of the jobs meet, together and alone."""
    found: dict[str, Figure] = {}
    together, alone = [run.together for run in runs], [run.alone for run in runs]
    for side, own in (("", together), ("alone_", alone)):
        jobs = Jobs.of([(each.of_cost, each.clusters) for each in own])
        for name, share in NEEDED_SHARES.items():
            found[f"{side}deadline_needed_{name}"] = Figure(*jobs.limit(share))
        largest = float(jobs.values.max(initial=0.0))
        decided = len(jobs) > 0 and math.isfinite(largest)
        found[f"{side}deadline_needed_all"] = Figure(largest if decided else None)
    return found


def known(sets: Iterable[SetFigures], column: str) -> Floats:
    values = (each.column(column) for each in sets)
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


# -- what shows without an effect


def pool_plain(
    cells: Sequence[CellFigures], sets: Sets, column: str = "slowdown_mean"
) -> list[CellFigures]:
    """Gives the points of a balanced map that share nothing, a few sets each, the interval of their
    mean of ``column`` by what sets differ by within all such points of as many cores and tasks a
    core."""
    groups: dict[tuple[int, int], dict[int, Floats]] = {}
    for place, cell in enumerate(cells):
        if cell.cores == 1 or not cell.sync_share or not cell.contended_ratio:
            tasks = cell.cores * cell.tasks_per_core
            own = [
                each
                for each in sets
                if each.tasks == (tasks or each.tasks) and _PLACE(each) == _PLACE(cell)
            ]
            values = known(own, column)
            groups.setdefault((cell.cores, cell.tasks_per_core), {})[place] = values
    found = list(cells)
    for every in groups.values():
        points = {place: values for place, values in every.items() if len(values)}
        degrees = sum(len(values) - 1 for values in points.values())
        squares = sum(float(((v - v.mean()) ** 2).sum()) for v in points.values())
        for place, values in points.items() if degrees else ():
            half = t_quantile(0.975, degrees) * math.sqrt(squares / degrees / len(values))
            interval = Interval.around(float(values.mean()), half, least=0.0)
            mean = with_ends(cells[place].value(column), interval, "pooled")
            found[place] = cells[place].with_figures(**{column: mean})
    return found


def noise_floor(cells: Sequence[CellFigures], sets: Sets) -> NoiseFacts:
    """The smallest slowdown effect that a point can show, from the campaign's own null sets.

    Sets of one core, or without a contended object (alpha 0), are parallel by construction if no
    core has two of their tasks, which preempt one another: what they differ by is noise. With s
    their standard deviation about the mean of their M (or group), of d degrees of freedom, the mean
    of n sets without an effect lies within t(d) s / sqrt(n) of the truth in 95 % of cases; n is the
    median number of sets of a point. Their own mean is no part of it: at M > 1 it holds what the
    machine does under load, which is a result.
    """
    alone = [each for each in sets if each.tasks <= each.cores and each.slowdown_mean is not None]
    parallel = (each for each in alone if each.cores == 1 or each.contended_ratio == 0)
    groups = grouped(parallel, attrgetter("group", "cores")).values()
    null = [known(own, "slowdown_mean") for own in groups]
    values = _joined(null)
    degrees = len(values) - len(null)
    if degrees < NULL_SETS_MIN - 1:
        basis = f"{len(values)} sets {_SHARING}: too few to tell"
        return NoiseFacts(sets=len(values), basis=basis)
    squares = sum(float(((own - own.mean()) ** 2).sum()) for own in null)
    spread = math.sqrt(squares / degrees)
    number = float(np.median([cell.task_sets for cell in cells if cell.task_sets]))
    return NoiseFacts(
        smallest_effect=t_quantile(0.975, degrees) * spread / math.sqrt(number),
        sets=len(values),
        mean=float(np.mean(values)),
        sd=spread,
        basis=f"{len(values)} sets of the campaign {_SHARING}",
    )


def by_class(sets: Sets) -> dict[str, ClassFigures]:
    """What the sets of each class say, by name."""
    names = sorted({each.object_class for each in sets if each.object_class})
    return {name: _class(_of_class(sets, name)) for name in names}


def _of_class(sets: Sets, name: str) -> Sets:
    return [each for each in sets if each.object_class == name]


def _class(sets: Sets) -> ClassFigures:
    share = unfinished_share(sets)
    if is_saturated(share) or is_censored(sets):
        bounds = known(sets, "slowdown_bound")
        return ClassFigures(
            sets=len(sets),
            unfinished_share=share,
            saturated=True,
            at_least=math.exp(np.log(bounds).mean()) if len(bounds) else None,
        )
    mean, interval = _geometric([_logs(sets)])
    low, high = interval or (None, None)
    return ClassFigures(sets=len(sets), slowdown=mean, low=low, high=high, unfinished_share=share)


def class_words(found: ClassFigures) -> str:
    """``2.17 (1.90 to 2.48)``, ``saturated (84 % unfinished, at least 12 times)``."""
    if found.saturated:
        bound = "" if found.at_least is None else f", at least {found.at_least:.3g} times"
        return f"saturated ({percent(found.unfinished_share or 0.0)} unfinished{bound})"
    if found.slowdown is None:
        return "undecided"
    narrow = found.low is not None and found.high is not None
    return f"{found.slowdown:.2f}" + (f" ({found.low:.2f} to {found.high:.2f})" if narrow else "")


def _logs(sets: Sets, column: str = "slowdown_mean") -> Floats:
    values = known(sets, column)
    return np.log(values[values > 0])


def _geometric(groups: Iterable[Floats]) -> tuple[float | None, Interval | None]:
    """Geometric mean over groups, each weighing the same, and its 95 % interval."""
    filled = [values for values in groups if len(values)]
    if not filled:
        return None, None
    mean, interval = stratified_interval(filled)
    return math.exp(mean), interval and Interval(*map(math.exp, interval))


def class_mean(
    sets: Sets, classes: Mapping[str, ClassFigures], column: str = "slowdown_mean"
) -> Figure:
    """A ratio of the point: the geometric mean over the classes that are not saturated; none where
    half of them are."""
    kept = [name for name, each in classes.items() if not each.saturated]
    if 2 * len(kept) <= len(classes):
        return Figure()
    logs = (_logs(_of_class(sets, name), column) for name in kept)
    return with_ends(*_geometric(logs), "classes")


def class_bound(classes: Mapping[str, ClassFigures]) -> Figure:
    """The geometric mean over all classes, of saturated ones of what they are at least."""
    least = [each.at_least if each.saturated else each.slowdown for each in classes.values()]
    logs = [math.log(each) for each in least if each]
    return Figure(math.exp(np.mean(logs)) if logs else None)


def point_figures(cell: CellFigures, sets: Sets) -> PointFigures:
    """A point of ``results.points``."""
    classes = by_class(sets)
    slowdown = Figure() if cell.slowdown.bounds else cell.slowdown
    return PointFigures(
        **{name: getattr(cell, name) for name in _AXES},
        tasks_per_core=cell.tasks_per_core or None,
        task_sets=len(sets),
        slowdown=slowdown.value,
        low=slowdown.low,
        high=slowdown.high,
        saturated=tuple(name for name, each in classes.items() if each.saturated),
        by_class=classes,
        far_share={
            "together": mean_of(known(sets, "far_share")),
            "alone": mean_of(known(sets, "far_share_alone")),
        },
    )


_SHARES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "max": 1.0}

#: Quantiles shown with their interval, whatever the distribution.
_WITH_ENDS = ("p50", "p95")


def group_cell(where: CellFigures, sets: Sequence[SetFigures]) -> CellFigures:
    """What the task sets of a group say together."""
    figures: dict[str, Figure] = {}
    for metric, shared in (("slowdown", 0.0), ("delay_ratio", common_half_width(sets))):
        figures |= _spread(metric, sets, common=shared)
    figures |= measured(sets, groups=True) | set_misses(sets)
    jobs = sum(each.jobs for each in sets) if sets else None
    return evolve(summed(where, sets), jobs=jobs, figures=figures)


def _spread(metric: str, sets: Sets, *, common: float) -> dict[str, Figure]:
    """Mean and quantiles over sets; a censored set lies above every quantile."""
    finished = [each for each in sets if not each.censored]
    values = np.append(
        known(finished, f"{metric}_mean"), np.full(len(sets) - len(finished), np.inf)
    )
    least = values if len(finished) == len(sets) else known(sets, f"{metric}_bound")
    shares = [*_SHARES.values()]
    found = zip(_SHARES, quantiles(values, *shares), quantiles(least, *shares), strict=True)
    ordered = np.sort(values)

    def quantile(name: str, value: float | None, at_least: float | None) -> Figure:
        if value is None or not math.isfinite(value):
            return Figure(None, at_least, None, BOUND)
        low, high = quantile_ranks(len(values), _SHARES[name])
        if name not in _WITH_ENDS or low is None or high is None:
            return Figure(value)
        ends = float(ordered[low - 1]), float(ordered[high - 1])
        return Figure(value, ends[0], ends[1] if math.isfinite(ends[1]) else None, "sets")

    return {
        f"{metric}_mean": _mean_of(metric, sets, common=common),
        **{f"{metric}_{name}": quantile(name, *both) for name, *both in found},
    }


def set_misses(sets: Sequence[SetFigures]) -> dict[str, Figure]:
    """Jobs pooled, together and alone, with intervals over sets; and the sets that missed anything,
    apart from those that did not."""
    ran = [each for each in sets if each.released]
    released, missed = known(ran, "released"), known(ran, "deadline_misses")
    late = (missed / released)[missed > 0]
    p50, p95 = quantiles(late, 0.5, 0.95)
    sides = ((missed, released), (known(ran, "alone_misses"), known(ran, "alone_released")))
    shares = (
        with_ends(float(e.sum() / t.sum()) if t.any() else None, share_over_sets(e, t))
        for e, t in sides
    )
    share, ends = (len(late) / len(ran), wilson(len(late), len(ran))) if ran else (None, None)
    return {
        **miss_shares(*shares),
        "miss_set_share": with_ends(share, ends),
        "deadline_miss_p50_nonzero": Figure(p50),
        "deadline_miss_p95_nonzero": Figure(p95),
    }
