"""A stress campaign in the terminal: a row per group and deadline factor, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deadbeat.model.results import Summary
from deadbeat.report.facts import holds_no_run, misses, noise_floor, number, percent, ratio

Row = Mapping[str, Any]

#: Keys of a row, in order, with the heading of each column.
STRESS_TERMINAL_COLUMNS: tuple[tuple[str, str], ...] = (
    ("group", "group"),
    ("deadline_factor", "D/C"),
    ("task_sets", "sets"),
    ("slowdown_p50", "slowdown\np50"),
    ("slowdown_p95", "p95"),
    ("slowdown", "mean [95 %]"),
    ("miss_ratio", "miss %\nof jobs"),
    ("miss_sets", "of\nsets"),
)


#: More shielded groups than this are read in the table.
_SHIELDED_SHOWN = 4


def stress_rows(summary: Summary) -> tuple[dict[str, str], ...]:
    """One dict of texts per group, keys as in STRESS_TERMINAL_COLUMNS."""
    return tuple(_row(row) for row in summary.rows)


def _row(row: Row) -> dict[str, str]:
    return {
        "group": str(row["group"]),
        "deadline_factor": _text(row.get("deadline_factor"), ".3g"),
        "task_sets": str(row.get("task_sets") or 0),
        "slowdown_p50": _ratio(row.get("slowdown_p50")),
        "slowdown_p95": _ratio(row.get("slowdown_p95")),
        "slowdown": _interval(row, "slowdown"),
        "miss_ratio": _text(row.get("deadline_miss_ratio"), ".2f", scale=100)
        + ("+" if misses(row) else " "),
        "miss_sets": _text(row.get("miss_set_share"), ".1f", scale=100),
    }


def _text(value: Any, form: str, *, scale: float = 1) -> str:
    known = number(value)
    return "-" if known is None else format(known * scale, form)


def _ratio(value: Any) -> str:
    known = number(value)
    return "-" if known is None else ratio(known)


def _interval(row: Row, metric: str) -> str:
    mean = number(row.get(f"{metric}_mean"))
    low, high = (number(row.get(f"{metric}_ci_{end}")) for end in ("low", "high"))
    if mean is None:
        return "undecided"
    text = ratio(mean)
    return text if low is None or high is None else f"{text} [{ratio(low)}, {ratio(high)}]"


def stress_sentence(summary: Summary) -> str:
    """The answer: how slow and how late random task sets get, and how well critical ones fare."""
    decided = [row for row in summary.rows if number(row.get("slowdown_p50")) is not None]
    if not decided and holds_no_run(summary):
        return "No run is stored: nothing is decided."
    if not decided:
        return "No task set has a result: nothing is decided."
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
    more = "surely" if misses(row) else "not surely"
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
