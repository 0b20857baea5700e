"""A point of a campaign: from its task sets and their jobs to a row of summary.csv."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from deadbeat.executors.metrics import quantiles
from deadbeat.kinds.contention.figures import Responses, RunFigures, mean_of
from deadbeat.model.measures import MEASURES
from deadbeat.model.results import NEEDED_SHARES, PART_COLUMNS
from deadbeat.stats.exceedance import Jobs, Share
from deadbeat.stats.intervals import (
    Floats,
    Interval,
    clopper_pearson,
    difference,
    mean_interval,
    own_interval,
    t_quantile,
)

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

#: Fewer null sets do not tell how much sets differ without an effect.
NULL_SETS_MIN = 3
_SHARING = "that share neither an object nor a core"
#: Means over sets that have no interval: what the sets were made of, and the parts of a response.
REALISED = ("sync_share_real", "contended_ratio_real", "overlap_real", *PART_COLUMNS)
_SUMS = ("miss_episodes", "released", "overruns", "left_out")


def point_row(sets: Rows, runs: Sequence[RunFigures]) -> Row:
    """The row of a point without its axes: means over sets, quantiles over jobs.

    The means' intervals are over sets; those of a single set rest on its rounds, and
    ``slowdown_ci_basis`` says which. Those of misses and of needed deadlines are of these sets.
    """
    p50, p95, largest = quantiles(_joined(run.delay_ratio for run in runs), 0.5, 0.95, 1.0)
    return {
        "task_sets": len(sets),
        "jobs": sum(row["jobs"] for row in sets),
        **_mean_of("delay_ratio", sets, common=mean_of(known(sets, "cost_half_width")) or 0.0),
        "delay_ratio_p50": p50,
        "delay_ratio_p95": p95,
        "delay_ratio_max": largest,
        **_mean_of("slowdown", sets),
        "slowdown_p50": quantiles(_joined(run.slowdown for run in runs), 0.5)[0],
        **measured(sets, groups=False),
        **_miss_columns(sets, runs),
        **needed_columns(runs),
        **{column: sum(row[column] for row in sets) if sets else None for column in _SUMS},
    }


def _mean_of(metric: str, sets: Rows, *, common: float = 0.0) -> Row:
    """Mean over sets and its interval: over sets, or over the rounds of a single set."""
    found = [row for row in sets if row[f"{metric}_mean"] is not None]
    values = known(found, f"{metric}_mean")
    interval, basis = mean_interval(values, common=common), "sets"
    if len(found) == 1:
        own, basis = found[0], "rounds"
        error, rounds = own[f"{metric}_error"], own["rounds"]
        interval = own_interval(own[f"{metric}_mean"], error, rounds, common=common)
    return {
        f"{metric}_mean": mean_of(values),
        **ends(f"{metric}_ci", interval),
        f"{metric}_ci_basis": basis if interval else None,
    }


def measured(sets: Rows, *, groups: bool) -> Row:
    """Means over sets of what MEASURES and REALISED name, with intervals where there are some."""
    row: Row = {column: mean_of(known(sets, column)) for column in REALISED}
    for measure in MEASURES:
        if groups and not measure.groups:
            continue
        values = known(sets, measure.name)
        row[measure.name] = mean_of(values)
        if measure.interval:
            row |= ends(f"{measure.name}_ci", mean_interval(values))
    return row


def _miss_columns(sets: Rows, runs: Sequence[RunFigures]) -> Row:
    """Misses together, the sets that have one, misses alone, and what is beyond those."""
    together, alone = _misses(run.together for run in runs), _misses(run.alone for run in runs)
    ran = [row for row in sets if row["released"]]
    missing = sum(row["deadline_misses"] > 0 for row in ran)
    over_sets = clopper_pearson(missing, len(ran)) if ran else None
    return {
        **miss_shares(
            *((side.value, side.interval) if side else (None, None) for side in (together, alone))
        ),
        "miss_sets": missing if ran else None,
        **ends("miss_sets_ci", over_sets),
    }


#: A share and its interval; None: not known.
ShareOf = tuple[float | None, Interval | None]


def miss_shares(together: ShareOf, alone: ShareOf) -> Row:
    """Columns of the misses together and alone, and of what is beyond those alone."""
    (one, of_one), (other, of_other) = together, alone
    excess = apart = None
    if one is not None and other is not None:
        excess = one - other
        apart = difference(one, of_one, other, of_other) if of_one and of_other else None
    return {
        "deadline_miss_ratio": one,
        **ends("deadline_miss_ci", of_one),
        "alone_miss_ratio": other,
        **ends("alone_miss_ci", of_other),
        "miss_excess": excess,
        **ends("miss_excess_ci", apart),
    }


def _misses(side: Iterable[Responses]) -> Share | None:
    return Jobs.of([(run.of_deadline, run.clusters) for run in side]).beyond(1.0)


def needed_columns(runs: Sequence[RunFigures]) -> Row:
    """Smallest deadline over C that all but a share of the jobs meet, together and alone."""
    row: Row = {}
    together, alone = [run.together for run in runs], [run.alone for run in runs]
    for side, own in (("", together), ("alone_", alone)):
        jobs = Jobs.of([(each.of_cost, each.clusters) for each in own])
        for name, share in NEEDED_SHARES.items():
            value, low, high = jobs.limit(share)
            column = f"{side}deadline_needed_{name}"
            row |= {column: value, **ends(column, (low, high))}
        largest = float(jobs.values.max(initial=0.0))
        decided = len(jobs) > 0 and math.isfinite(largest)
        row[f"{side}deadline_needed_all"] = largest if decided else None
    return row


def ends(name: str, interval: tuple[float | None, float | None] | None) -> Row:
    """``name``_low and ``name``_high."""
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def known(sets: Iterable[Mapping[str, object]], column: str) -> Floats:
    """The values of the sets that have one."""
    return np.array([row[column] for row in sets if row[column] is not None], dtype=np.float64)


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


# -- what shows without an effect


def pool_plain(rows: Sequence[Row], sets: Rows) -> None:
    """Gives the points of a balanced map that share nothing, a few sets each, the interval of their
    mean by what sets differ by within all such points of as many cores and tasks a core."""
    axes = ("cores", "sync_share", "contended_ratio", "deadline_factor")
    groups: dict[tuple[int, int], list[tuple[Row, Floats]]] = {}
    for row in rows:
        if row["cores"] == 1 or not row["sync_share"] or not row["contended_ratio"]:
            tasks = row["cores"] * row["tasks_per_core"]
            own = [each for each in sets if each["tasks"] == tasks]
            own = [each for each in own if all(each[axis] == row[axis] for axis in axes)]
            place = row["cores"], row["tasks_per_core"]
            groups.setdefault(place, []).append((row, known(own, "slowdown_mean")))
    for points in groups.values():
        degrees = sum(max(0, len(values) - 1) for _, values in points)
        if not degrees:
            continue
        squares = sum(float(((v - v.mean()) ** 2).sum()) for _, v in points if len(v))
        for row, values in points:
            if len(values):
                half = t_quantile(0.975, degrees) * math.sqrt(squares / degrees / len(values))
                interval = Interval.around(float(values.mean()), half, least=0.0)
                row.update(ends("slowdown_ci", interval), slowdown_ci_basis="pooled")


def noise_floor(rows: Rows, sets: Rows) -> dict[str, object]:
    """The smallest slowdown effect that a point can show, from the campaign's own null sets.

    Sets of one core, or without a contended object (alpha 0), are parallel by construction if no
    core has two of their tasks, which preempt one another: what they differ by is noise. With s
    their standard deviation about the mean of their M (or group), of d degrees of freedom, the mean
    of n sets without an effect lies within t(d) s / sqrt(n) of the truth in 95 % of cases; n is the
    median number of sets of a point. Their own mean is no part of it: at M > 1 it holds what the
    machine does under load, which is a result.
    """
    null: dict[tuple[Any, ...], list[float]] = {}
    for row in sets:
        parallel = row["cores"] == 1 or row["contended_ratio"] == 0
        if parallel and row["tasks"] <= row["cores"] and row["slowdown_mean"] is not None:
            cell = row.get("group"), row["cores"]
            null.setdefault(cell, []).append(row["slowdown_mean"])
    values = [value for cell in null.values() for value in cell]
    degrees = len(values) - len(null)
    found: dict[str, Any] = {"smallest_effect": None, "sets": len(values), "mean": None, "sd": None}
    if degrees < NULL_SETS_MIN - 1:
        return found | {"basis": f"{len(values)} sets {_SHARING}: too few to tell"}
    squares = sum(float(((np.array(cell) - np.mean(cell)) ** 2).sum()) for cell in null.values())
    spread = math.sqrt(squares / degrees)
    number = float(np.median([row["task_sets"] for row in rows if row["task_sets"]]))
    return found | {
        "smallest_effect": t_quantile(0.975, degrees) * spread / math.sqrt(number),
        "basis": f"{len(values)} sets of the campaign {_SHARING}",
        "mean": float(np.mean(values)),
        "sd": spread,
    }
