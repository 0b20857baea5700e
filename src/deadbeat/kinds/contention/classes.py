"""A point of a balanced map: what each class of object says, and the point from all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from deadbeat.kinds.contention.figures import mean_of
from deadbeat.kinds.contention.point import Row, Rows, ends, known
from deadbeat.model.results import ClassFigures, PointFigures
from deadbeat.report.document import percent
from deadbeat.stats.intervals import Floats, Interval, stratified_interval

#: From this share of jobs on that did not finish before their next release a class is saturated.
SATURATED = 0.05


def is_saturated(unfinished_share: float | None) -> bool:
    return unfinished_share is not None and unfinished_share >= SATURATED


def by_class(sets: Rows) -> dict[str, ClassFigures]:
    """What the sets of each class say, by name."""
    names = sorted({row["class"] for row in sets if row["class"]})
    return {name: _class([row for row in sets if row["class"] == name]) for name in names}


def _class(sets: Rows) -> ClassFigures:
    released = sum(row["released"] for row in sets)
    late = sum(row["unfinished_share"] * row["released"] for row in sets if row["released"])
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


def _logs(sets: Rows) -> Floats:
    values = known(sets, "slowdown_mean")
    return np.log(values[values > 0])


def _geometric(groups: Iterable[Floats]) -> tuple[float | None, Interval | None]:
    """Geometric mean over groups, each weighing the same, and its 95 % interval."""
    filled = [values for values in groups if len(values)]
    if not filled:
        return None, None
    mean, interval = stratified_interval(filled)
    return math.exp(mean), interval and Interval(*map(math.exp, interval))


def point_slowdown(sets: Rows, classes: Mapping[str, ClassFigures]) -> Row:
    """Columns of the point: the geometric mean over the classes that are not saturated; none where
    half of them are."""
    kept = [name for name, each in classes.items() if not each.saturated]
    mean, interval = None, None
    if 2 * len(kept) > len(classes):
        mean, interval = _geometric(_logs([r for r in sets if r["class"] == n]) for n in kept)
    row = {"slowdown_mean": mean, **ends("slowdown_ci", interval)}
    return row | {"slowdown_ci_basis": "classes" if interval else None}


def point_figures(where: Row, row: Row, sets: Rows) -> PointFigures:
    """A point of ``results.points``; ``where``: its axes."""
    classes = by_class(sets)
    return PointFigures(
        **where,
        task_sets=len(sets),
        slowdown=row["slowdown_mean"],
        low=row["slowdown_ci_low"],
        high=row["slowdown_ci_high"],
        saturated=tuple(name for name, each in classes.items() if each.saturated),
        by_class=classes,
        far_share={
            "together": mean_of(known(sets, "far_share")),
            "alone": mean_of(known(sets, "far_share_alone")),
        },
    )
