"""A point of a balanced map: what each class of object says, and the point from all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from deadbeat.report.document import percent
from deadbeat.stats.intervals import Floats, stratified_interval

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
#: From this share of jobs on that did not finish before their next release a class is saturated.
SATURATED = 0.05


def is_saturated(unfinished_share: float | None) -> bool:
    return unfinished_share is not None and unfinished_share >= SATURATED


def by_class(sets: Rows) -> dict[str, Row]:
    """Class -> its slowdown over its sets (geometric mean, 95 %), the share of its jobs that did
    not finish before their next release, and whether it is saturated: then ``at_least``."""
    names = sorted({row["class"] for row in sets if row["class"]})
    return {name: _class([row for row in sets if row["class"] == name]) for name in names}


def _class(sets: Rows) -> Row:
    released = sum(row["released"] for row in sets)
    late = sum(row["unfinished_share"] * row["released"] for row in sets if row["released"])
    share = late / released if released else None
    row: Row = {"sets": len(sets), "unfinished_share": share, "saturated": is_saturated(share)}
    values = logs_of(sets)
    if row["saturated"]:
        bounds = [row["slowdown_bound"] for row in sets if row["slowdown_bound"] is not None]
        least = float(np.exp(np.mean(np.log(bounds)))) if bounds else None
        return row | {"slowdown": None, "low": None, "high": None, "at_least": least}
    interval = stratified_interval([values])[1] if len(values) else None
    return row | {
        "slowdown": math.exp(values.mean()) if len(values) else None,
        "low": math.exp(interval.low) if interval else None,
        "high": math.exp(interval.high) if interval else None,
        "at_least": None,
    }


def class_words(row: Mapping[str, Any]) -> str:
    """``2.17 (1.90 to 2.48)``, ``saturated (84 % unfinished, at least 12 times)``."""
    if row["saturated"]:
        least = row["at_least"]
        bound = "" if least is None else f", at least {least:.3g} times"
        return f"saturated ({percent(row['unfinished_share'])} unfinished{bound})"
    if row["slowdown"] is None:
        return "undecided"
    ends = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f"{row['slowdown']:.2f}{ends}"


def logs_of(sets: Iterable[Mapping[str, Any]]) -> Floats:
    """Logarithms of the slowdowns that are known."""
    known = [row["slowdown_mean"] for row in sets if row["slowdown_mean"]]
    return np.log(np.array(known, np.float64))


def point_slowdown(sets: Rows, classes: Mapping[str, Row]) -> Row:
    """Columns of the point: the geometric mean over the classes that are not saturated, each
    weighing the same; none where half of them are."""
    saturated = [name for name, each in classes.items() if each["saturated"]]
    groups = [
        logs
        for name in classes
        if name not in saturated and len(logs := logs_of(r for r in sets if r["class"] == name))
    ]
    row: Row = dict.fromkeys(("slowdown_mean", "slowdown_ci_low", "slowdown_ci_high"))
    row["slowdown_ci_basis"] = None
    if not groups or 2 * len(saturated) >= len(classes):
        return row
    mean, interval = stratified_interval(groups)
    row["slowdown_mean"] = math.exp(mean)
    if interval is not None:
        ends = {
            "slowdown_ci_low": math.exp(interval.low),
            "slowdown_ci_high": math.exp(interval.high),
        }
        row |= ends | {"slowdown_ci_basis": "classes"}
    return row


def point_facts(where: Mapping[str, Any], row: Mapping[str, Any], sets: Rows) -> Row:
    """A point of ``results.points``."""
    classes = by_class(sets)
    states = {
        side: _mean(row_[column] for row_ in sets)
        for side, column in (("together", "far_share"), ("alone", "far_share_alone"))
    }
    return {
        **where,
        "task_sets": len(sets),
        "slowdown": row["slowdown_mean"],
        "low": row["slowdown_ci_low"],
        "high": row["slowdown_ci_high"],
        "saturated": [name for name, each in classes.items() if each["saturated"]],
        "by_class": classes,
        "far_share": states,
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
