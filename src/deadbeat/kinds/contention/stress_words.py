"""What a stress campaign found, in words."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from deadbeat.kinds.contention.facts import most, noise_floor, nothing_decided
from deadbeat.model.figures import CellFigures
from deadbeat.model.results import Summary
from deadbeat.report.document import percent

_FACTOR = attrgetter("factor")
#: More shielded groups than this are read in the table.
_SHIELDED_SHOWN = 4


def group_answers(summary: Summary) -> dict[str, list[str]]:
    """Lines on the slowdown of each group, its misses and what is missing, in order."""
    by_group: dict[str, list[CellFigures]] = {}
    for cell in summary.cells:
        by_group.setdefault(cell.group, []).append(cell)
    return {group: _group_lines(cells) for group, cells in by_group.items()}


def _quantiles(cell: CellFigures) -> str:
    """``median slowdown 1.02, 5 % of the sets above 1.31, worst 2.4``."""
    parts = []
    for column, words in (
        ("slowdown_p50", "median slowdown {}"),
        ("slowdown_p95", "5 % of the sets above {}"),
        ("slowdown_max", "worst {}"),
    ):
        value = cell.value(column)
        if value is not None:
            parts.append(words.format(f"{value:.3g}" if value >= 10 else f"{value:.3f}"))
    return ", ".join(parts) or f"slowdown {cell.slowdown.value:.3f}"


def _group_lines(cells: Sequence[CellFigures]) -> list[str]:
    first = min(cells, key=_FACTOR)
    count = first.task_sets
    if not count:
        return ["No task set has a result."]
    levels = f", {len(cells)} deadline factors each" if len(cells) > 1 else ""
    lines = [f"{count:,} task sets{levels}. {_slowdown_line(first)}"]
    lines.append(_miss_line(first, several=len(cells) > 1))
    if len(cells) > 1:
        lines.append(_until(cells))
    return lines


def _slowdown_line(cell: CellFigures) -> str:
    found = cell.slowdown
    if found.value is None:
        return "Slowdown: undecided."
    ends = found.interval("{:.3f}".format)
    whose = " of the critical tasks" if cell.critical_cores else ""
    return f"Mean slowdown{whose} {found.value:.3f} ({ends}); {_quantiles(cell)}."


def _miss_line(cell: CellFigures, *, several: bool) -> str:
    share = cell.figure("miss_set_share")
    where = f"At D/C = {cell.factor:g}: " if several else ""
    if share.value is None:
        return f"{where}Misses: undecided."
    if share.value == 0:
        none = "no set" if where else "No set"
        return f"{where}{none} missed a deadline{_at_most(cell)}."
    words = f"{where}{percent(share.value)} of the sets missed a deadline"
    words += f" ({share.interval(percent)})"
    half = cell.value("deadline_miss_p50_nonzero")
    if half is not None:
        words += f"; half of these missed more than {percent(half)} of their jobs"
    return f"{words}; {percent(cell.miss_ratio.value or 0.0)} of all jobs."


def _at_most(cell: CellFigures) -> str:
    high = cell.figure("miss_set_share").high
    return "" if high is None else f" (95 %: at most {percent(high)} of such sets would miss one)"


def _until(cells: Sequence[CellFigures]) -> str:
    ordered = sorted(cells, key=_FACTOR)
    missed = [cell for cell in ordered if cell.miss_ratio.value]
    if not missed:
        return "No level has a miss."
    last = missed[-1]
    if last is ordered[-1]:
        return f"Deadlines are still missed at the longest, D/C = {last.factor:g}."
    after = ordered[ordered.index(last) + 1]
    return f"From D/C = {after.factor:g} on no set missed a deadline{_at_most(after)}."


def stress_sentence(summary: Summary) -> str:
    """The answer: how slow and how late random task sets get, and how well critical ones fare."""
    decided = [cell for cell in summary.cells if cell.value("slowdown_p50") is not None]
    if not decided:
        return nothing_decided(summary)
    worst = most(decided, "slowdown_p95")
    p50, p95, slowest = (worst.value(f"slowdown_{name}") or 0.0 for name in ("p50", "p95", "max"))
    first = decided[0].deadline_factor
    sets = sum(cell.task_sets for cell in decided if cell.deadline_factor == first)
    floor = noise_floor(summary).share
    text = (
        f"Of {sets} task sets the slowest 5 %{_of_group(worst, decided)}"
        f" run at least {p95:.2f} times as long as alone (median {p50:.2f}, worst {slowest:.2f});"
    )
    late = [cell for cell in decided if cell.value("miss_set_share")]
    if late:
        worse = most(late, "miss_set_share")
        share = percent(worse.value("miss_set_share") or 0.0)
        text += f" {share} of the sets{_of_group(worse, decided)} miss a deadline{_beyond(worse)}."
    else:
        text += " no set misses a deadline."
    return " ".join([text, *_doubt(p95, floor), *_shielding(decided)])


def _beyond(cell: CellFigures) -> str:
    """Whether the host alone may be to blame; "" where that was not measured."""
    if cell.value("miss_excess") is None:
        return ""
    more = "certainly" if cell.misses else "not certainly"
    return f" ({more} more jobs than miss alone)"


def _doubt(slowdown: float, floor: float | None) -> list[str]:
    """What the smallest effect leaves of the answer."""
    if floor is None:
        return ["The smallest effect that can show is not known: too few sets share nothing."]
    if slowdown <= 1 + floor:
        return ["The slowdown is no more than can be seen here."]
    return []


def _name(cell: CellFigures, cells: Sequence[CellFigures]) -> str:
    several = len({other.deadline_factor for other in cells}) > 1
    return cell.group + (f" at T = {cell.factor:g} C" if several else "")


def _of_group(cell: CellFigures, cells: Sequence[CellFigures]) -> str:
    return f" of group {_name(cell, cells)}" if len(cells) > 1 else ""


def _shielding(cells: Sequence[CellFigures]) -> list[str]:
    """How much of the interference reaches critical tasks, against the same sets unshielded."""
    unshielded = {
        (cell.group, cell.deadline_factor): cell for cell in cells if not cell.critical_cores
    }
    found = []
    for cell in cells:
        if not cell.critical_cores:
            continue
        base = cell.group.rsplit(" k=", 1)[0]
        slow = f"{cell.slowdown.value:.3f} times as long as alone"
        text = f"With {_name(cell, cells)} critical tasks run {slow}"
        other = unshielded.get((base, cell.deadline_factor))
        if other is not None:
            text += f", {other.slowdown.value:.3f} times where nothing is shielded ({base})"
        found.append((cell.slowdown.value or 0.0, text + "."))
    if len(found) <= _SHIELDED_SHOWN:
        return [text for _, text in found]
    return [f"Of {len(found)} shielded groups the worst:", max(found)[1]]
