"""The compact rows a terminal shows; drawing them is the CLI's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deadbeat.model.results import Summary
from deadbeat.report.facts import factor_of, factors, number
from deadbeat.report.grids import METRICS, Metric, cell_text, state_of
from deadbeat.report.stress_table import STRESS_TERMINAL_COLUMNS, stress_rows

#: Keys of a row, in order, with the heading of each column.
TERMINAL_COLUMNS: tuple[tuple[str, str], ...] = (
    ("cores", "M"),
    ("sync_share", "rho"),
    ("contended_ratio", "alpha"),
    ("task_sets", "sets"),
    ("slowdown_p50", "slowdown p50"),
    ("slowdown", "slowdown mean [95 %]"),
    ("delay_ratio", "delay ratio"),
    ("miss_ratio", "miss % [95 %]"),
)


def terminal_columns(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Keys of a row, in order, with the heading of each column."""
    if summary.mode == "stress":
        return STRESS_TERMINAL_COLUMNS
    if len(factors(summary.rows)) < 2:
        return TERMINAL_COLUMNS
    return (*TERMINAL_COLUMNS[:3], ("deadline_factor", "T/C"), *TERMINAL_COLUMNS[3:])


def rows_for_terminal(summary: Summary) -> tuple[dict[str, str], ...]:
    """One dict of texts per point or group, keys as in `terminal_columns`, points in order.

    A point without an answer says ``undecided`` or ``not measured`` where its value would stand.
    """
    if summary.mode == "stress":
        return stress_rows(summary)
    ordered = sorted(
        summary.rows,
        key=lambda row: (
            row["cores"],
            row["sync_share"],
            row["contended_ratio"],
            factor_of(row),
        ),
    )
    keys = [key for key, _ in terminal_columns(summary)]
    return tuple({key: texts[key] for key in keys} for texts in map(_terminal_row, ordered))


def _terminal_row(row: Mapping[str, Any]) -> dict[str, str]:
    slowdown, delay, miss = METRICS
    p50 = number(row.get("slowdown_p50"))
    return {
        "cores": str(row["cores"]),
        "sync_share": f"{row['sync_share']:.2f}",
        "contended_ratio": f"{row['contended_ratio']:.2f}",
        "deadline_factor": f"{factor_of(row):g}",
        "task_sets": str(row.get("task_sets") or 0),
        "slowdown_p50": "-" if p50 is None else f"{p50:.3f}",
        "slowdown": _with_interval(row, slowdown, digits=3),
        "delay_ratio": _value_or_state(row, delay.column, cell_text(row, delay, 3)),
        "miss_ratio": _miss(row, miss),
    }


def _value_or_state(row: Mapping[str, Any], column: str, text: str) -> str:
    return state_of(row, column) if number(row.get(column)) is None else text


def _with_interval(row: Mapping[str, Any], metric: Metric, *, digits: int) -> str:
    value, ends = number(row.get(metric.column)), (row.get(metric.low), row.get(metric.high))
    if value is None:
        return state_of(row, metric.column)
    text = f"{value * metric.scale:.{digits}f}"
    low, high = (number(end) for end in ends)
    if low is None or high is None:
        return text
    return f"{text} [{low * metric.scale:.{digits}f}, {high * metric.scale:.{digits}f}]"


def _miss(row: Mapping[str, Any], metric: Metric) -> str:
    if number(row.get(metric.column)):
        return _with_interval(row, metric, digits=2)
    return _value_or_state(row, metric.column, cell_text(row, metric))
