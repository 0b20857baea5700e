"""The answer in words: what sharing costs, what slows down, where deadlines begin to be missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.facts import (
    deadline_words,
    factors,
    grid_of,
    loaded_cells,
    loads,
    noise_floor,
    nothing_decided,
    price_table,
)
from deadbeat.kinds.contention.grids import axis_of, point_words
from deadbeat.kinds.contention.predicted import predicted_words
from deadbeat.kinds.contention.stress_words import stress_sentence
from deadbeat.model.figures import CellFigures, Figure
from deadbeat.model.results import PointFigures, Summary
from deadbeat.report.document import percent
from deadbeat.report.prices import price_words

Cells = Sequence[CellFigures]


def headline(summary: Summary) -> tuple[str, ...]:
    """The answer in sentences: where a campaign starts to miss and to slow down, or how bad a
    stress campaign gets."""
    if summary.mode == "stress":
        return (stress_sentence(summary),)
    if not summary.cells:
        return ("Nothing was measured yet.",)
    if not any(_having(summary.cells, name) for name in ("slowdown_mean", "deadline_miss_ratio")):
        return (nothing_decided(summary),)
    own = grid_of(summary)
    ordered = sorted(own.cells, key=_ORDER)
    every = factors(ordered)
    cells = [cell for cell in ordered if cell.factor == every[0]]
    floor = noise_floor(summary).share
    places = len(axis_of(own, "sync_share")) * len(axis_of(own, "contended_ratio"))
    prices = price_table(summary)
    lines = (
        *(price_words(prices) if prices else ()),
        _shared_words(summary) if summary.points else _slowdown_words(cells, floor),
        _miss_words(cells) + _longer_words(ordered, every),
        *(_loaded_words(found) for found in loads(loaded_cells(summary))),
        predicted_words(summary),
        _open_words(cells, places * len({cell.cores for cell in cells}), _sharing_points(summary)),
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


_ORDER = attrgetter("cores", "sync_share", "contended_ratio", "factor")


def _having(cells: Cells, name: str) -> list[CellFigures]:
    return [cell for cell in cells if cell.value(name) is not None]


# -- misses


def _miss_words(cells: Cells) -> str:
    known = _having(cells, "deadline_miss_ratio")
    if not known:
        return "Misses: no point has an answer."
    deadline = deadline_words(known[0])
    compared = _having(known, "miss_excess")
    if not compared:
        worst = facts.most(known, "deadline_miss_ratio")
        return (
            f"At {deadline} most jobs miss at {point_words(worst)}: {_missed(worst)}; how many the"
            " machine causes by itself is unknown."
        )
    certain = [cell for cell in compared if cell.misses]
    if not certain:
        ends = [cell.figure("miss_excess").high for cell in compared]
        most = max((end for end in ends if end is not None), default=None)
        bound = "" if most is None else f" (at most {percent(most)} of the jobs)"
        return f"At {deadline}, running together causes no certain extra misses{bound}."
    first, worst = certain[0], facts.most(certain, "miss_excess")
    words = f"At {deadline}, running together causes extra misses from {point_words(first)} on:"
    words += f" {_missed(first)}"
    if worst is not first:
        words += f"; most at {point_words(worst)}: {_missed(worst)}"
    return f"{words}."


def _missed(cell: CellFigures) -> str:
    text = f"{_share(cell)} of jobs"
    alone = cell.value("alone_miss_ratio")
    return text if alone is None else f"{text}, alone {percent(alone)}"


def _longer_words(cells: Cells, every: Sequence[float]) -> str:
    """From which deadline factor on nothing is missed beyond the host's own; "" for one factor."""
    if len(every) < 2:
        return ""
    missed = [f for f in every if any(cell.misses for cell in cells if cell.factor == f)]
    if not missed:
        return ""
    if missed[-1] == every[-1]:
        return f" They are still missed at D = {every[-1]:g} C."
    after = every[every.index(missed[-1]) + 1]
    return f" From D = {after:g} C on there are no certain extra misses."


def _loaded_words(cells: Cells) -> str:
    """A row of points with a number of tasks a core of its own."""
    known = _having(cells, "deadline_miss_ratio")
    start = f"With {load_words(cells[0])}"
    if not known:
        return f"{start} no point has an answer."
    worst = facts.most(known, "deadline_miss_ratio")
    words = f"{start}, {_share(worst)} of the jobs miss at {point_words(worst)}"
    calm = [cell for cell in known if cell.cores == worst.cores and not cell.contended_ratio]
    if calm and worst.contended_ratio:
        words += f", {_share(calm[-1])} where nothing is contended (α = 0)"
    fewest = min(cell.cores for cell in known)
    if fewest != worst.cores:
        least = [cell for cell in known if cell.cores == fewest]
        most = facts.most(least, "deadline_miss_ratio")
        words += f"; {_share(most)} already at M = {fewest}"
    return f"{words}."


def load_words(cell: CellFigures, joint: str = " and ") -> str:
    """``2 tasks a core and D = 2 C``."""
    tasks = cell.tasks_per_core or 1
    return f"{tasks} task{'s' if tasks > 1 else ''} a core{joint}{deadline_words(cell)}"


def _share(cell: CellFigures) -> str:
    return percent(cell.miss_ratio.value or 0.0)


# -- slowdown


def slows(cell: CellFigures, floor: float | None) -> bool:
    """Whether the slowdown's interval excludes 1 by more than the smallest effect."""
    low = cell.slowdown.low
    return low is not None and low > 1 + (floor or 0.0)


def _slowdown_words(cells: Cells, floor: float | None) -> str:
    known = _having(cells, "slowdown_mean")
    if not known:
        return "Slowdown: no point has an answer."
    worst = facts.most(known, "slowdown_mean")
    slow = [cell for cell in known if slows(cell, floor)]
    found = worst.slowdown
    digits, most = _digits(found), found.value or 0.0
    words = f"The largest slowdown (time together / alone) is {digits(most)}"
    words += f" ({found.interval(digits)}), at {point_words(worst)}. "
    if slow:
        words += f"{len(slow)} of {len(known)} points are certainly slowed down, the first is"
        words += f" {point_words(slow[0])}; "
    elif floor is not None and most > 1 + floor:
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


def _open_words(cells: Cells, places: int, sharing: Sequence[PointFigures]) -> str:
    """A point of the grid that has no row is missing, too; one with half of its objects saturated
    has its answer."""
    undecided = sum(1 for cell in cells if cell.slowdown.value is None)
    undecided -= sum(
        1 for p in sharing if p.slowdown is None and 2 * len(p.saturated) >= len(p.by_class)
    )
    parts = ((undecided, "undecided"), (places - len(cells), "not measured"))
    missing = [f"{count} {state}" for count, state in parts if count > 0]
    return f"Without an answer: {', '.join(missing)}, of {places} points." if missing else ""
