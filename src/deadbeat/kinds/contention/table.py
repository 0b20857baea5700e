"""The compact rows a terminal shows; drawing them is the CLI's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.kinds.contention.grids import METRICS, Metric, cell_text, state_of
from deadbeat.kinds.contention.headline import load_words
from deadbeat.kinds.contention.stress_table import STRESS_TERMINAL_COLUMNS, stress_rows
from deadbeat.model.results import Summary
from deadbeat.report.charts import SHOWN
from deadbeat.report.facts import grid_of, loaded_rows, loads, misses, number, ratio

#: Keys of a row, in order, with the heading of each column.
TERMINAL_COLUMNS: tuple[tuple[str, str], ...] = (
    ("cores", "M"),
    ("sync_share", "rho"),
    ("contended_ratio", "alpha"),
    ("task_sets", "sets"),
    ("slowdown", "slowdown\nmean [95 %]"),
    ("deadline_needed", "deadline\nneeded"),
    ("miss_ratio", "miss %\n[95 %]"),
)
#: What stands below the table of a profile, and of a stress campaign.
NOTE = (
    "deadline needed: by all but 1 in 1000 jobs, as a multiple of C\n"
    "+ after a miss %: surely more than the same tasks miss alone"
)
STRESS_NOTE = (
    "slowdowns are of task sets: median, 5 % above, mean [95 %]\n"
    "+ after a miss %: surely more than the same tasks miss alone"
)
_SLOWDOWN, _NEEDED, _MISS, _ = METRICS


@frozen(kw_only=True)
class Section:
    """Rows of one table: keys as in `terminal_columns`.

    Attributes:
        title: What its points have in common; "" of a stress campaign.
    """

    title: str
    rows: tuple[dict[str, str], ...]


def terminal_columns(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Keys of a row, in order, with the heading of each column."""
    return STRESS_TERMINAL_COLUMNS if summary.mode == "stress" else TERMINAL_COLUMNS


def terminal_sections(summary: Summary) -> tuple[Section, ...]:
    """Points in order, those of each deadline factor and number of tasks a core for themselves.

    A point without an answer says ``undecided`` where its slowdown would stand.
    """
    if summary.mode == "stress":
        return (Section(title="", rows=stress_rows(summary)),)
    groups = [*loads(grid_of(summary).rows).values(), *loads(loaded_rows(summary)).values()]
    return tuple(
        Section(title=load_words(rows[0], ", "), rows=tuple(map(_row, sorted(rows, key=_place))))
        for rows in groups
    )


def loaded_sections(summary: Summary) -> tuple[Section, ...]:
    """Those of `terminal_sections` whose points are none of the grid's."""
    count = len(loads(loaded_rows(summary)))
    return terminal_sections(summary)[-count:] if count else ()


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["cores"], row["sync_share"], row["contended_ratio"]


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "cores": str(row["cores"]),
        "sync_share": f"{row['sync_share']:.2f}",
        "contended_ratio": f"{row['contended_ratio']:.2f}",
        "task_sets": str(row.get("task_sets") or 0),
        "slowdown": _with_interval(row, _SLOWDOWN),
        "deadline_needed": _or_dash(row, _NEEDED, cell_text(row, _NEEDED)),
        "miss_ratio": _miss(row),
    }


def _with_interval(row: Mapping[str, Any], metric: Metric) -> str:
    value = number(row.get(metric.column))
    if value is None:
        return state_of(row, metric)
    digits = _percent if metric.scale == 100 else ratio
    text = digits(value * metric.scale)
    low, high = (number(row.get(end)) for end in (metric.low, metric.high))
    if low is None or high is None:
        return text
    of_one = " one set" if row.get(f"{metric.id}_ci_basis") == "rounds" else ""
    return f"{text} [{digits(low * metric.scale)}, {digits(high * metric.scale)}]{of_one}"


def _percent(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1}f}"


def _or_dash(row: Mapping[str, Any], metric: Metric, text: str) -> str:
    return text if state_of(row, metric) == SHOWN else "-"


def _miss(row: Mapping[str, Any]) -> str:
    if not number(row.get(_MISS.column)):
        return _or_dash(row, _MISS, cell_text(row, _MISS)) + " "
    return _with_interval(row, _MISS) + ("+" if misses(row) else " ")
