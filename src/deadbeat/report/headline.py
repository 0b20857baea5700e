"""The answer in words: where it starts to slow down, and where it starts to miss.

A slowdown counts when the low end of its interval lies above 1 by more than the noise floor. A
point comes before another when its rho is smaller, or at the same rho its alpha.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from deadbeat.model.results import Summary
from deadbeat.report.facts import (
    factor_of,
    factors,
    holds_no_run,
    noise_floor,
    number,
    percent,
)
from deadbeat.report.grids import METRICS, NOT_MEASURED, UNDECIDED, Grid, cores_of, grid
from deadbeat.report.stress_table import stress_sentence

Row = Mapping[str, Any]


@frozen(kw_only=True)
class CoreAnswer:
    """What was found at one M.

    Attributes:
        cores: M.
        slowdown: Sentence on the slowdown.
        misses: Sentence on deadline misses.
        open_points: Sentence on points without an answer; "" when there are none.
        slow_points: Points whose slowdown counts.
        miss_points: Points with at least one miss.
    """

    cores: int
    slowdown: str
    misses: str
    open_points: str
    slow_points: int
    miss_points: int


#: An upper bound above this is no answer: the sets differ too much for their number.
WIDEST_BOUND = 0.5


@frozen(kw_only=True)
class Headline:
    """The answer of a campaign: one sentence, and one entry per M."""

    sentence: str
    per_cores: tuple[CoreAnswer, ...]


def headline(summary: Summary) -> Headline:
    """Says where a campaign starts to slow down and to miss, or how bad a stress campaign gets."""
    if summary.mode == "stress":
        return Headline(sentence=stress_sentence(summary), per_cores=())
    every = factors(summary.rows)
    if len(every) > 1:
        return _at_the_shortest(summary, every)
    floor = noise_floor(summary).share
    answers = tuple(
        _answer(grid(summary, METRICS[0], cores), _rows_of(summary, cores), floor)
        for cores in cores_of(summary)
    )
    return Headline(sentence=_sentence(summary, answers, floor), per_cores=answers)


def _at_the_shortest(summary: Summary, every: Sequence[float]) -> Headline:
    """The answer at the shortest deadlines, and from where on none was missed."""
    rows = tuple(row for row in summary.rows if factor_of(row) == every[0])
    own = headline(evolve(summary, rows=rows))
    missed = [
        factor
        for factor in every
        if any(
            number(row.get("deadline_miss_ratio"))
            for row in summary.rows
            if factor_of(row) == factor
        )
    ]
    words = f"At D/C = {every[0]:g}, the shortest of {len(every)}: "
    words += own.sentence[:1].lower() + own.sentence[1:]
    if missed and missed[-1] == every[-1]:
        words += f" Deadlines are still missed at D/C = {every[-1]:g}."
    elif missed:
        after = every[every.index(missed[-1]) + 1]
        words += f" From D/C = {after:g} on none was missed."
    return Headline(sentence=words, per_cores=own.per_cores)


def place(row: Row) -> str:
    """A point inside its M, in words."""
    return f"ρ = {row['sync_share']:g}, α = {row['contended_ratio']:g}"


def interval(row: Row, low: str, high: str, *, scale: float = 1.0, digits: int = 3) -> str:
    """``95 % interval a to b``, or that there is none."""
    ends = number(row.get(low)), number(row.get(high))
    if ends[0] is None or ends[1] is None:
        return "no interval"
    return f"95 % interval {ends[0] * scale:.{digits}f} to {ends[1] * scale:.{digits}f}"


def slows(row: Row, floor: float | None) -> bool:
    """Whether the slowdown's interval excludes 1 by more than the noise floor."""
    low = number(row.get("slowdown_ci_low"))
    return low is not None and low > 1 + (floor or 0.0)


def misses(row: Row) -> bool:
    """Whether the interval of the miss ratio excludes zero: not one stall of the host, say."""
    return (number(row.get("deadline_miss_ci_low")) or 0) > 0


def _answer(whole: Grid, rows: Sequence[Row], floor: float | None) -> CoreAnswer:
    slow = [row for row in rows if slows(row, floor)]
    missed = [row for row in rows if (number(row.get("deadline_miss_ratio")) or 0) > 0]
    return CoreAnswer(
        cores=whole.cores,
        slowdown=_slowdown_words(rows, slow, floor),
        misses=_miss_words(rows, missed),
        open_points=_open_words(whole),
        slow_points=len(slow),
        miss_points=sum(map(misses, missed)),
    )


def _slowdown_words(rows: Sequence[Row], slow: Sequence[Row], floor: float | None) -> str:
    known = [row for row in rows if number(row.get("slowdown_mean")) is not None]
    if not known:
        return "Slowdown: no point has an answer."
    if not slow:
        return _no_effect_words(known, floor)
    first, worst = slow[0], max(slow, key=lambda row: float(row["slowdown_mean"]))
    words = f"Slows down from {place(first)}: {_slowdown_value(first)}; {len(slow)} of "
    words += f"{len(known)} points."
    if worst is not first:
        words += f" Worst at {place(worst)}: {_slowdown_value(worst)}."
    return words


def _no_effect_words(known: Sequence[Row], floor: float | None) -> str:
    """The bound is the largest upper end of an interval: what may still hide in the data."""
    ends = [number(row.get("slowdown_ci_high")) for row in known]
    bounds = [end - 1 for end in ends if end is not None]
    if len(bounds) < len(known):
        return "No effect seen, but not every point has an interval: no bound can be given."
    bound = max([*bounds, floor or 0.0, 0.0])
    if bound > WIDEST_BOUND:
        most = max(known, key=lambda row: float(row["slowdown_mean"]))
        return (
            f"No slowdown beyond doubt, but the intervals are wide (up to {1 + bound:.3g}): more"
            f" replicas are needed. Largest mean at {place(most)}: {_slowdown_value(most)}."
        )
    return f"No effect larger than {percent(bound)} seen at any of {len(known)} points."


def _slowdown_value(row: Row) -> str:
    return f"{row['slowdown_mean']:.3f} ({interval(row, 'slowdown_ci_low', 'slowdown_ci_high')})"


def _miss_words(rows: Sequence[Row], missed: Sequence[Row]) -> str:
    known = [row for row in rows if number(row.get("deadline_miss_ratio")) is not None]
    if not known:
        return "Misses: no point has an answer."
    if not missed:
        uppers = [number(row.get("deadline_miss_ci_high")) for row in known]
        bounds = [upper for upper in uppers if upper is not None]
        if not bounds:
            return "No deadline missed."
        return f"No deadline missed (miss ratio below {percent(max(bounds))} at every point)."
    worst = max(missed, key=lambda row: float(row["deadline_miss_ratio"]))
    certain = [row for row in missed if misses(row)]
    if not certain:
        return (
            f"Deadlines were missed at {len(missed)} of {len(known)} points, at none beyond doubt;"
            f" most at {place(worst)}: {_miss_value(worst)}."
        )
    first, missed = certain[0], certain
    words = f"Misses begin at {place(first)}: {_miss_value(first)}; {len(missed)} of {len(known)} "
    words += "points."
    if worst is not first:
        words += f" Worst at {place(worst)}: {_miss_value(worst)}."
    return words


def _miss_value(row: Row) -> str:
    ends = number(row.get("deadline_miss_ci_low")), number(row.get("deadline_miss_ci_high"))
    text = f"{percent(float(row['deadline_miss_ratio']))} of jobs"
    if ends[0] is None or ends[1] is None:
        return text + " (no interval)"
    return f"{text} (95 % interval {percent(ends[0])} to {percent(ends[1])})"


def _open_words(grid: Grid) -> str:
    """Counts over the whole grid of the campaign: a point that has no row is missing too."""
    states = Counter(state for line in grid.states for state in line)
    missing = [f"{states[state]} {state}" for state in (UNDECIDED, NOT_MEASURED) if states[state]]
    if not missing:
        return ""
    return f"Without an answer: {', '.join(missing)}, of {states.total()} points."


def _sentence(summary: Summary, answers: Sequence[CoreAnswer], floor: float | None) -> str:
    if not answers:
        return "Nothing was measured yet."
    if not any(_known(row) for row in summary.rows):
        if holds_no_run(summary):
            return "No run is stored: nothing is decided."
        return "No task set has a result: nothing is decided."
    missing = [answer.cores for answer in answers if answer.miss_points]
    slow = [answer.cores for answer in answers if answer.slow_points]
    if missing:
        row = _first_miss(summary, missing[0])
        words = f"It starts to miss deadlines at M = {missing[0]}, {place(row)}"
    elif any((number(row.get("deadline_miss_ratio")) or 0) > 0 for row in summary.rows):
        words = "Deadlines were missed, but at no point beyond doubt (too few task sets agree)"
    else:
        words = "No deadline was missed"
    if slow:
        words += f"; tasks slow each other down from M = {slow[0]} on."
    else:
        words += f"; {_quiet_words(summary, floor)}."
    if floor is None:
        words += " The noise floor is not known: a small effect may be noise."
    return words


def _known(row: Row) -> bool:
    columns = ("slowdown_mean", "deadline_miss_ratio")
    return any(number(row.get(column)) is not None for column in columns)


def _quiet_words(summary: Summary, floor: float | None) -> str:
    known = [row for row in summary.rows if number(row.get("slowdown_mean")) is not None]
    if not known:
        return "no slowdown could be determined"
    words = _no_effect_words(known, floor)
    return words[0].lower() + words[1:].rstrip(".")


def _first_miss(summary: Summary, cores: int) -> Row:
    rows = _rows_of(summary, cores)
    return next(row for row in rows if misses(row))


def _rows_of(summary: Summary, cores: int) -> list[Row]:
    rows: Iterable[Row] = (row for row in summary.rows if int(row["cores"]) == cores)
    return sorted(rows, key=lambda row: (row["sync_share"], row["contended_ratio"]))
