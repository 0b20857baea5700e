"""Configurations of a stress campaign: its groups, told apart by what a list let each set pick.

``--sync-share 0.2,0.8`` draws one of two shares for every task set of a group. Sets of 0.2 and of
0.8 are two configurations, and a curve over both would be of neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deadbeat.kinds.contention.facts import Level, Row, levels, number
from deadbeat.kinds.contention.samples import SetSample, samples
from deadbeat.kinds.contention.stress_rows import set_misses
from deadbeat.model.results import Summary
from deadbeat.report.charts import COLOURS

#: Parameter and column of a task set, and what it is called.
_LISTED = {"sync_share": "ρ", "contended_ratio": "α"}


def groups(summary: Summary) -> tuple[str, ...]:
    """The groups in the order of their rows."""
    return tuple(dict.fromkeys(str(row.get("group")) for row in summary.rows))


def configurations(summary: Summary) -> tuple[str, ...]:
    """The groups in order, each with the values that its sets picked from lists.

    More of them than curves can be told apart are not separated.
    """
    found = _configurations(summary)
    return found if found and len(found) <= len(COLOURS) else groups(summary)


def separated(summary: Summary) -> bool:
    """Whether a configuration is less than a group."""
    return configurations(summary) != groups(summary)


def group_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    """The task sets of each group at one deadline factor."""
    sets = level.of(summary.sets)
    return samples(sets, groups(summary), lambda item: str(item.get("group")))


def configuration_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    """The task sets of each configuration at one deadline factor."""
    if not separated(summary):
        return group_samples(summary, level)
    sets = level.of(summary.sets)
    return samples(sets, configurations(summary), lambda item: _label(summary, item))


def factor_rows(summary: Summary) -> Sequence[Row]:
    """Misses of each configuration at each deadline factor, as rows with its name as ``group``."""
    if not separated(summary):
        return summary.rows
    return [
        {"group": each.label, "deadline_factor": level.factor, **set_misses(each.sets)}
        for level in levels(summary.rows)
        for each in configuration_samples(summary, level)
        if each.sets
    ]


def _configurations(summary: Summary) -> tuple[str, ...]:
    if not _columns(summary):
        return ()
    known = {_label(summary, item): _key(summary, item) for item in summary.sets}
    return tuple(sorted(known, key=lambda label: known[label]))


def _columns(summary: Summary) -> tuple[str, ...]:
    """What each task set picked from a list of several values."""
    parameters = summary.meta.get("parameters")
    stress = parameters.get("stress") if isinstance(parameters, Mapping) else None
    if not isinstance(stress, Mapping) or stress.get("per_task"):
        return ()
    return tuple(
        column
        for column in _LISTED
        if isinstance(stress.get(column), list | tuple) and len(stress[column]) > 1
    )


def _key(summary: Summary, item: Row) -> tuple[Any, ...]:
    order = groups(summary)
    group = str(item.get("group"))
    place = order.index(group) if group in order else len(order)
    return (place, *(number(item.get(column)) or 0.0 for column in _columns(summary)))


def _label(summary: Summary, item: Row) -> str:
    values = ((name, number(item.get(name))) for name in _columns(summary))
    picked = [f"{_LISTED[name]} = {value:g}" for name, value in values if value is not None]
    return ", ".join((str(item.get("group")), *picked))
