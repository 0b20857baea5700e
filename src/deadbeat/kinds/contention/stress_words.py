"""What a stress campaign found, in words, and its tables as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from deadbeat.model.results import Summary
from deadbeat.report.facts import factor_of, factors, number, percent

Row = Mapping[str, Any]


@frozen(kw_only=True)
class GroupAnswer:
    """One group in words: ``lines`` on its slowdown, its misses and what is missing."""

    group: str
    lines: tuple[str, ...]


def group_answers(summary: Summary) -> tuple[GroupAnswer, ...]:
    """An entry for each group, in the order of the rows."""
    by_group: dict[str, list[Row]] = {}
    for row in summary.rows:
        by_group.setdefault(str(row.get("group")), []).append(row)
    return tuple(
        GroupAnswer(group=group, lines=tuple(_group_lines(rows)))
        for group, rows in by_group.items()
    )


def _quantiles(row: Row) -> str:
    """``median slowdown 1.02, 5 % of the sets above 1.31, worst 2.4``."""
    parts = []
    for column, words in (
        ("slowdown_p50", "median slowdown {}"),
        ("slowdown_p95", "5 % of the sets above {}"),
        ("slowdown_max", "worst {}"),
    ):
        value = number(row.get(column))
        if value is not None:
            parts.append(words.format(f"{value:.3g}" if value >= 10 else f"{value:.3f}"))
    return ", ".join(parts) or f"slowdown {row['slowdown_mean']:.3f}"


def _group_lines(rows: Sequence[Row]) -> list[str]:
    first = min(rows, key=factor_of)
    count = int(number(first.get("task_sets")) or 0)
    if not count:
        return ["No task set has a result."]
    levels = f", {len(rows)} deadline factors each" if len(rows) > 1 else ""
    lines = [f"{count:,} task sets{levels}. {_slowdown_line(first)}"]
    lines.append(_miss_line(first, several=len(rows) > 1))
    if len(rows) > 1:
        lines.append(_until(rows))
    return lines


def _slowdown_line(row: Row) -> str:
    value = number(row.get("slowdown_mean"))
    if value is None:
        return "Slowdown: undecided."
    low, high = number(row.get("slowdown_ci_low")), number(row.get("slowdown_ci_high"))
    ends = "no interval"
    if low is not None and high is not None:
        ends = f"95 % interval {low:.3f} to {high:.3f}"
    whose = " of the critical tasks" if number(row.get("critical_cores")) else ""
    return f"Mean slowdown{whose} {value:.3f} ({ends}); {_quantiles(row)}."


def _miss_line(row: Row, *, several: bool) -> str:
    share = number(row.get("miss_set_share"))
    where = f"At D/C = {factor_of(row):g}: " if several else ""
    if share is None:
        return f"{where}Misses: undecided."
    if share == 0:
        none = "no set" if where else "No set"
        return f"{where}{none} missed a deadline{_at_most(row)}."
    words = f"{where}{percent(share)} of the sets missed a deadline{_ends(row)}"
    half = number(row.get("deadline_miss_p50_nonzero"))
    if half is not None:
        words += f"; half of these missed more than {percent(half)} of their jobs"
    return f"{words}; {percent(number(row.get('deadline_miss_ratio')) or 0.0)} of all jobs."


def _at_most(row: Row) -> str:
    high = number(row.get("miss_set_share_ci_high"))
    return "" if high is None else f" (95 %: at most {percent(high)} of such sets would miss one)"


def _ends(row: Row) -> str:
    low, high = (number(row.get(f"miss_set_share_ci_{end}")) for end in ("low", "high"))
    if low is None or high is None:
        return " (no interval)"
    return f" (95 % interval {percent(low)} to {percent(high)})"


def _until(rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=factor_of)
    missed = [row for row in ordered if number(row.get("deadline_miss_ratio"))]
    if not missed:
        return "No level has a miss."
    last = missed[-1]
    if last is ordered[-1]:
        return f"Deadlines are still missed at the longest, D/C = {factor_of(last):g}."
    after = ordered[ordered.index(last) + 1]
    return f"From D/C = {factor_of(after):g} on no set missed a deadline{_at_most(after)}."


def interval_text(row: Row, column: str, ends: str = "", scale: float = 1.0) -> str:
    """A value with its interval; ``undecided`` where sets were run and nothing is known."""
    value = number(row.get(column))
    if value is None:
        return "undecided"
    digits = 2 if scale == 100 else 3
    low, high = (number(row.get(f"{ends}_{end}")) if ends else None for end in ("low", "high"))
    text = f"{value * scale:.{digits}f}"
    if low is None or high is None:
        return text
    if value == 0 and high:
        return f"< {high * scale:.2g} (none seen)"
    return f"{text} [{low * scale:.{digits}f}, {high * scale:.{digits}f}]"


#: Column of STRESS_COLUMNS, its heading, ends of its interval, scale.
GROUP_TABLE: tuple[tuple[str, str, str, float], ...] = (
    ("slowdown_mean", "slowdown", "slowdown_ci", 1.0),
    ("slowdown_p5", "p5", "", 1.0),
    ("slowdown_p50", "p50", "", 1.0),
    ("slowdown_p95", "p95", "", 1.0),
    ("slowdown_p99", "p99", "", 1.0),
    ("slowdown_max", "max", "", 1.0),
    ("delay_ratio_mean", "delay ratio", "delay_ratio_ci", 1.0),
    ("delay_ratio_p50", "p50", "", 1.0),
    ("delay_ratio_p95", "p95", "", 1.0),
    ("delay_ratio_max", "max", "", 1.0),
    ("response_ratio_mean", "response ratio", "", 1.0),
    ("deadline_miss_ratio", "miss ratio %", "deadline_miss_ci", 100.0),
    ("miss_set_share", "sets with a miss %", "miss_set_share_ci", 100.0),
    ("deadline_miss_p50_nonzero", "their median %", "", 100.0),
    ("deadline_miss_p95_nonzero", "their p95 %", "", 100.0),
    ("sync_share_real", "ρ real", "", 1.0),
    ("contended_ratio_real", "α real", "", 1.0),
    ("overlap_real", "overlap %", "", 100.0),
)
_COUNTS = (
    ("task_sets", "task sets"),
    ("jobs", "jobs"),
    ("miss_episodes", "miss episodes"),
    ("overruns", "overruns"),
)


def group_table(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and texts of the table of groups: every figure of summary.csv."""
    several = len(factors(summary.rows)) > 1
    head = ("group", *(["D/C"] if several else []), *(name for _, name in _COUNTS))
    head += tuple(name for _, name, _, _ in GROUP_TABLE)
    aimed = any(row.get("stopped") for row in summary.rows)
    head += ("half width", "stopped because") if aimed else ()
    lines = []
    for row in summary.rows:
        start = (str(row.get("group")), *([f"{factor_of(row):g}"] if several else []))
        counts = (_count(row.get(column)) for column, _ in _COUNTS)
        values = (
            "–" if number(row.get(column)) is None else interval_text(row, column, ends, scale)
            for column, _, ends, scale in GROUP_TABLE
        )
        lines.append((*start, *counts, *values, *(_reached(row) if aimed else ())))
    return head, lines


def _reached(row: Row) -> tuple[str, str]:
    """How well a group is known where a precision was asked for, and why it stopped."""
    half = number(row.get("half_width"))
    return "–" if half is None else f"{half:.3f}", str(row.get("stopped") or "–")


def _count(value: Any) -> str:
    known = number(value)
    return "–" if known is None else f"{int(known):,}"
