"""A point of a balanced map: what each class of object says, and the point from all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from deadbeat.kinds.contention.figures import mean_of
from deadbeat.kinds.contention.point import Sets, known, with_ends
from deadbeat.model.figures import CellFigures, Figure
from deadbeat.model.results import ClassFigures, PointFigures
from deadbeat.report.document import percent
from deadbeat.stats.intervals import Floats, Interval, stratified_interval

#: From this share of jobs on that did not finish before their next release a class is saturated.
SATURATED = 0.05
_AXES = ("cores", "sync_share", "contended_ratio", "deadline_factor")


def is_saturated(unfinished_share: float | None) -> bool:
    return unfinished_share is not None and unfinished_share >= SATURATED


def by_class(sets: Sets) -> dict[str, ClassFigures]:
    """What the sets of each class say, by name."""
    names = sorted({each.object_class for each in sets if each.object_class})
    return {name: _class(_of_class(sets, name)) for name in names}


def _of_class(sets: Sets, name: str) -> Sets:
    return [each for each in sets if each.object_class == name]


def _class(sets: Sets) -> ClassFigures:
    released = sum(each.released for each in sets)
    late = sum((each.unfinished_share or 0.0) * each.released for each in sets)
    share = late / released if released else None
    if is_saturated(share):
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


def _logs(sets: Sets) -> Floats:
    values = known(sets, "slowdown_mean")
    return np.log(values[values > 0])


def _geometric(groups: Iterable[Floats]) -> tuple[float | None, Interval | None]:
    """Geometric mean over groups, each weighing the same, and its 95 % interval."""
    filled = [values for values in groups if len(values)]
    if not filled:
        return None, None
    mean, interval = stratified_interval(filled)
    return math.exp(mean), interval and Interval(*map(math.exp, interval))


def class_mean(sets: Sets, classes: Mapping[str, ClassFigures]) -> Figure:
    """Slowdown of the point: the geometric mean over the classes that are not saturated; none where
    half of them are."""
    kept = [name for name, each in classes.items() if not each.saturated]
    if 2 * len(kept) <= len(classes):
        return Figure()
    return with_ends(*_geometric(_logs(_of_class(sets, name)) for name in kept), "classes")


def point_figures(cell: CellFigures, sets: Sets) -> PointFigures:
    """A point of ``results.points``."""
    classes = by_class(sets)
    slowdown = cell.slowdown
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
