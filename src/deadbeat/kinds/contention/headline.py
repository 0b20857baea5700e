"""The answer in words: what sharing costs, what slows down, where deadlines begin to be missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deadbeat.kinds.contention.facts import (
    Figure,
    Row,
    deadline_words,
    factor_of,
    factors,
    figure,
    grid_of,
    loaded_rows,
    loads,
    misses,
    noise_floor,
    nothing_decided,
    number,
    price_table,
)
from deadbeat.kinds.contention.grids import axis_of, point_words
from deadbeat.kinds.contention.predicted import predicted_words
from deadbeat.kinds.contention.stress_words import stress_sentence
from deadbeat.model.results import PointFigures, Summary
from deadbeat.report.document import percent
from deadbeat.report.prices import price_words

Rows = Sequence[Row]


def headline(summary: Summary) -> tuple[str, ...]:
    """The answer in sentences: where a campaign starts to miss and to slow down, or how bad a
    stress campaign gets."""
    if summary.mode == "stress":
        return (stress_sentence(summary),)
    if not summary.rows:
        return ("Nothing was measured yet.",)
    if not any(_having(summary.rows, name) for name in ("slowdown_mean", "deadline_miss_ratio")):
        return (nothing_decided(summary),)
    own = grid_of(summary)
    ordered = sorted(own.rows, key=_order)
    every = factors(ordered)
    rows = [row for row in ordered if factor_of(row) == every[0]]
    floor = noise_floor(summary).share
    cells = len(axis_of(own, "sync_share")) * len(axis_of(own, "contended_ratio"))
    prices = price_table(summary)
    lines = (
        *(price_words(prices) if prices else ()),
        _shared_words(summary) if summary.points else _slowdown_words(rows, floor),
        _miss_words(rows) + _longer_words(ordered, every),
        *(_loaded_words(found) for found in loads(loaded_rows(summary)).values()),
        predicted_words(summary),
        _open_words(rows, cells * len({row["cores"] for row in rows}), _sharing_points(summary)),
    )
    return tuple(filter(None, lines))


def _sharing_points(summary: Summary) -> list[PointFigures]:
    """Points of a balanced grid whose sets share objects."""
    usual = min((point.tasks_per_core or 1 for point in summary.points), default=1)
    return [p for p in summary.points if p.by_class and (p.tasks_per_core or 1) == usual]


def _shared_words(summary: Summary) -> str:
    """Where most time is spent on shared objects: the point, its ends, and what is saturated."""
    grid = _sharing_points(summary)
    if not grid:
        return "No point shares objects between cores."
    worst = max(grid, key=lambda p: (p.cores, p.sync_share, p.contended_ratio))
    share = worst.sync_share * worst.contended_ratio
    start = f"With {'all' if share == 1 else percent(share) + ' of the'} time spent on objects"
    start += f" shared by {worst.cores} cores"
    left = [
        f"{name}: saturated, {percent(worst.by_class[name].unfinished_share or 0)} of its jobs"
        " unfinished"
        for name in worst.saturated
    ]
    if worst.slowdown is None:
        why = f"{len(left)} of {len(worst.by_class)} objects are saturated" if left else "undecided"
        return f"{start}, there is no mean slowdown: {why}."
    both = Figure(worst.slowdown, worst.low, worst.high).ends
    ends = f" ({both[0]:.2f} to {both[1]:.2f})" if both else ""
    ordered = sorted((c.slowdown, name) for name, c in worst.by_class.items() if c.slowdown)
    (low, cheap), (high, dear) = ordered[0], ordered[-1]
    words = f"{start}, sets take {worst.slowdown:.2f} times as long{ends}:"
    words += f" {cheap} {low:.2f}, {dear} {high:.2f}"
    return f"{words}; left out: {'; '.join(left)}." if left else f"{words}."


def _order(row: Row) -> tuple[float, ...]:
    return (row["cores"], row["sync_share"], row["contended_ratio"], factor_of(row))


def _having(rows: Rows, column: str) -> list[Row]:
    return [row for row in rows if number(row.get(column)) is not None]


# -- misses


def _miss_words(rows: Rows) -> str:
    known = _having(rows, "deadline_miss_ratio")
    if not known:
        return "Misses: no point has an answer."
    deadline = deadline_words(known[0])
    compared = _having(known, "miss_excess")
    if not compared:
        worst = max(known, key=lambda row: float(row["deadline_miss_ratio"]))
        return (
            f"At {deadline} most jobs miss at {point_words(worst)}: {_missed(worst)}; how many the"
            " machine causes by itself is unknown."
        )
    certain = [row for row in compared if misses(row)]
    if not certain:
        ends = [number(row.get("miss_excess_ci_high")) for row in compared]
        most = max((end for end in ends if end is not None), default=None)
        bound = "" if most is None else f" (at most {percent(most)} of the jobs)"
        return f"At {deadline}, running together causes no certain extra misses{bound}."
    first, worst = certain[0], max(certain, key=lambda row: float(row["miss_excess"]))
    words = f"At {deadline}, running together causes extra misses from {point_words(first)} on:"
    words += f" {_missed(first)}"
    if worst is not first:
        words += f"; most at {point_words(worst)}: {_missed(worst)}"
    return f"{words}."


def _missed(row: Row) -> str:
    text = f"{percent(float(row['deadline_miss_ratio']))} of jobs"
    alone = number(row.get("alone_miss_ratio"))
    return text if alone is None else f"{text}, alone {percent(alone)}"


def _longer_words(rows: Rows, every: Sequence[float]) -> str:
    """From which deadline factor on nothing is missed beyond the host's own; "" for one factor."""
    if len(every) < 2:
        return ""
    missed = [f for f in every if any(misses(row) for row in rows if factor_of(row) == f)]
    if not missed:
        return ""
    if missed[-1] == every[-1]:
        return f" They are still missed at D = {every[-1]:g} C."
    after = every[every.index(missed[-1]) + 1]
    return f" From D = {after:g} C on there are no certain extra misses."


def _loaded_words(rows: Rows) -> str:
    """A row of points with a number of tasks a core of its own."""
    known = _having(rows, "deadline_miss_ratio")
    start = f"With {load_words(rows[0])}"
    if not known:
        return f"{start} no point has an answer."
    worst = max(known, key=lambda row: float(row["deadline_miss_ratio"]))
    words = f"{start}, {_share(worst)} of the jobs miss at {point_words(worst)}"
    calm = [row for row in known if row["cores"] == worst["cores"] and not row["contended_ratio"]]
    if calm and worst["contended_ratio"]:
        words += f", {_share(calm[-1])} where nothing is contended (α = 0)"
    fewest = min(int(row["cores"]) for row in known)
    if fewest != worst["cores"]:
        least = [row for row in known if int(row["cores"]) == fewest]
        most = max(least, key=lambda row: float(row["deadline_miss_ratio"]))
        words += f"; {_share(most)} already at M = {fewest}"
    return f"{words}."


def load_words(row: Row, joint: str = " and ") -> str:
    """``2 tasks a core and D = 2 C``."""
    tasks = int(number(row.get("tasks_per_core")) or 1)
    return f"{tasks} task{'s' if tasks > 1 else ''} a core{joint}{deadline_words(row)}"


def _share(row: Row) -> str:
    return percent(float(row["deadline_miss_ratio"]))


# -- slowdown


def slows(row: Row, floor: float | None) -> bool:
    """Whether the slowdown's interval excludes 1 by more than the smallest effect."""
    low = figure(row, "slowdown_mean").low
    return low is not None and low > 1 + (floor or 0.0)


def _slowdown_words(rows: Rows, floor: float | None) -> str:
    known = _having(rows, "slowdown_mean")
    if not known:
        return "Slowdown: no point has an answer."
    worst = max(known, key=lambda row: float(row["slowdown_mean"]))
    slow = [row for row in known if slows(row, floor)]
    found = figure(worst, "slowdown_mean")
    digits = _digits(found)
    words = f"The largest slowdown (time together / alone) is {digits(worst['slowdown_mean'])}"
    words += f" ({found.interval(digits)}), at {point_words(worst)}. "
    if slow:
        words += f"{len(slow)} of {len(known)} points are certainly slowed down, the first is"
        words += f" {point_words(slow[0])}; "
    elif floor is not None and float(worst["slowdown_mean"]) > 1 + floor:
        return f"{words}None is certain: no interval lies wholly above {1 + floor:.3f}."
    else:
        words += "No point is certainly slowed down; "
    if floor is None:
        return f"{words}how small an effect could be seen is unknown: too few sets share nothing."
    return f"{words}only slowdowns of {percent(floor)} or more could be seen."


def _digits(found: Figure) -> Callable[[float], str]:
    """Three decimals, where the value is small or the interval narrow enough for them to count."""
    narrow = found.ends is not None and found.ends[1] - found.ends[0] < 0.1
    return lambda value: f"{value:.{3 if narrow or value < 10 else 1}f}"


def _open_words(rows: Rows, cells: int, sharing: Sequence[PointFigures]) -> str:
    """A point of the grid that has no row is missing, too; one with half of its objects saturated
    has its answer."""
    undecided = sum(1 for row in rows if number(row.get("slowdown_mean")) is None)
    undecided -= sum(
        1 for p in sharing if p.slowdown is None and 2 * len(p.saturated) >= len(p.by_class)
    )
    parts = ((undecided, "undecided"), (cells - len(rows), "not measured"))
    missing = [f"{count} {state}" for count, state in parts if count > 0]
    return f"Without an answer: {', '.join(missing)}, of {cells} points." if missing else ""
