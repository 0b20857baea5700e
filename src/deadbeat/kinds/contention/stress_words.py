"""What a stress campaign found, in words."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.kinds.contention.facts import (
    Row,
    factor_of,
    figure,
    misses,
    noise_floor,
    nothing_decided,
    number,
)
from deadbeat.model.results import Summary
from deadbeat.report.document import percent

#: More shielded groups than this are read in the table.
_SHIELDED_SHOWN = 4


def group_answers(summary: Summary) -> dict[str, list[str]]:
    """Lines on the slowdown of each group, its misses and what is missing, in the order of rows."""
    by_group: dict[str, list[Row]] = {}
    for row in summary.rows:
        by_group.setdefault(str(row.get("group")), []).append(row)
    return {group: _group_lines(rows) for group, rows in by_group.items()}


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
    found = figure(row, "slowdown_mean")
    if found.value is None:
        return "Slowdown: undecided."
    ends = found.interval("{:.3f}".format)
    whose = " of the critical tasks" if number(row.get("critical_cores")) else ""
    return f"Mean slowdown{whose} {found.value:.3f} ({ends}); {_quantiles(row)}."


def _miss_line(row: Row, *, several: bool) -> str:
    share = figure(row, "miss_set_share")
    where = f"At D/C = {factor_of(row):g}: " if several else ""
    if share.value is None:
        return f"{where}Misses: undecided."
    if share.value == 0:
        none = "no set" if where else "No set"
        return f"{where}{none} missed a deadline{_at_most(row)}."
    words = f"{where}{percent(share.value)} of the sets missed a deadline"
    words += f" ({share.interval(percent)})"
    half = number(row.get("deadline_miss_p50_nonzero"))
    if half is not None:
        words += f"; half of these missed more than {percent(half)} of their jobs"
    return f"{words}; {percent(number(row.get('deadline_miss_ratio')) or 0.0)} of all jobs."


def _at_most(row: Row) -> str:
    high = figure(row, "miss_set_share").high
    return "" if high is None else f" (95 %: at most {percent(high)} of such sets would miss one)"


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


def stress_sentence(summary: Summary) -> str:
    """The answer: how slow and how late random task sets get, and how well critical ones fare."""
    decided = [row for row in summary.rows if number(row.get("slowdown_p50")) is not None]
    if not decided:
        return nothing_decided(summary)
    worst = max(decided, key=lambda row: float(row["slowdown_p95"]))
    first = decided[0]["deadline_factor"]
    sets = sum(int(row["task_sets"]) for row in decided if row["deadline_factor"] == first)
    floor = noise_floor(summary).share
    text = (
        f"Of {sets} task sets the slowest 5 %{_of_group(worst, decided)}"
        f" run at least {worst['slowdown_p95']:.2f} times as long as alone"
        f" (median {worst['slowdown_p50']:.2f}, worst {worst['slowdown_max']:.2f});"
    )
    late = [row for row in decided if row.get("miss_set_share")]
    if late:
        most = max(late, key=lambda row: float(row["miss_set_share"]))
        share = percent(float(most["miss_set_share"]))
        text += f" {share} of the sets{_of_group(most, decided)} miss a deadline{_beyond(most)}."
    else:
        text += " no set misses a deadline."
    return " ".join([text, *_doubt(worst, floor), *_shielding(decided)])


def _beyond(row: Row) -> str:
    """Whether the host alone may be to blame; "" where that was not measured."""
    if number(row.get("miss_excess")) is None:
        return ""
    more = "certainly" if misses(row) else "not certainly"
    return f" ({more} more jobs than miss alone)"


def _doubt(worst: Row, floor: float | None) -> list[str]:
    """What the smallest effect leaves of the answer."""
    if floor is None:
        return ["The smallest effect that can show is not known: too few sets share nothing."]
    if float(worst["slowdown_p95"]) <= 1 + floor:
        return ["The slowdown is no more than can be seen here."]
    return []


def _name(row: Row, rows: Sequence[Row]) -> str:
    levels = {other["deadline_factor"] for other in rows}
    return str(row["group"]) + (f" at T = {row['deadline_factor']:g} C" if len(levels) > 1 else "")


def _of_group(row: Row, rows: Sequence[Row]) -> str:
    return f" of group {_name(row, rows)}" if len(rows) > 1 else ""


def _shielding(rows: Sequence[Row]) -> list[str]:
    """How much of the interference reaches critical tasks, against the same sets unshielded."""
    open_rows = {
        (str(row["group"]), row["deadline_factor"]): row
        for row in rows
        if not row["critical_cores"]
    }
    found = []
    for row in rows:
        if not row["critical_cores"]:
            continue
        base = str(row["group"]).rsplit(" k=", 1)[0]
        slow = f"{row['slowdown_mean']:.3f} times as long as alone"
        text = f"With {_name(row, rows)} critical tasks run {slow}"
        other = open_rows.get((base, row["deadline_factor"]))
        if other is not None:
            text += f", {other['slowdown_mean']:.3f} times where nothing is shielded ({base})"
        found.append((float(row["slowdown_mean"]), text + "."))
    if len(found) <= _SHIELDED_SHOWN:
        return [text for _, text in found]
    return [f"Of {len(found)} shielded groups the worst:", max(found)[1]]
