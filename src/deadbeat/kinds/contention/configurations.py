"""Configurations of a stress campaign: its groups, told apart by what a list let each set pick.

``--sync-share 0.2,0.8`` draws one of two shares for every task set of a group. Sets of 0.2 and of
0.8 are two configurations, and a curve over both would be of neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from deadbeat.kinds.contention import grids
from deadbeat.kinds.contention.facts import Level, levels
from deadbeat.kinds.contention.samples import SetSample, samples
from deadbeat.kinds.contention.stress_rows import set_misses
from deadbeat.model.figures import CellFigures, SetFigures
from deadbeat.model.results import Summary
from deadbeat.model.words import inside
from deadbeat.report.charts import COLOURS

#: Parameter and column of a task set, and what it is called.
_LISTED = {"sync_share": "ρ", "contended_ratio": "α"}


def groups(summary: Summary) -> tuple[str, ...]:
    """The groups in the order of their rows."""
    return tuple(dict.fromkeys(cell.group for cell in summary.cells))


def places(summary: Summary) -> tuple[str, ...]:
    """The groups, or ``M = 4`` of a profile, in order."""
    if summary.mode == "stress":
        return groups(summary)
    return tuple(f"M = {m}" for m in grids.cores_of(summary))


def place_of(summary: Summary, item: CellFigures | SetFigures) -> str:
    """That of a point, group or task set of such a campaign."""
    return item.group if summary.mode == "stress" else f"M = {item.cores}"


def group_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    """The task sets of each group at one deadline factor."""
    sets = level.of(summary.sets)
    return samples(sets, groups(summary), attrgetter("group"))


def configuration_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    """The task sets of each group at one deadline factor, those apart that picked other values from
    lists."""
    names = _configurations(summary)
    if not names:
        return group_samples(summary, level)
    return samples(level.of(summary.sets), names, lambda item: _label(summary, item))


def factor_cells(summary: Summary) -> Sequence[CellFigures]:
    """Misses of each configuration, named as a group, at each deadline factor."""
    if not _configurations(summary):
        return summary.cells
    return [
        CellFigures(group=each.label, deadline_factor=level.factor, figures=set_misses(each.sets))
        for level in levels(summary.cells)
        for each in configuration_samples(summary, level)
        if each.sets
    ]


def _configurations(summary: Summary) -> tuple[str, ...]:
    """The groups in order, each with the values that its sets picked from lists; none where they
    are the groups, or more than curves can be told apart."""
    if not _columns(summary):
        return ()
    known = {_label(summary, item): _key(summary, item) for item in summary.sets}
    names = tuple(sorted(known, key=lambda label: known[label]))
    return names if len(names) <= len(COLOURS) and names != groups(summary) else ()


def _columns(summary: Summary) -> tuple[str, ...]:
    """What each task set picked from a list of several values."""
    stress = inside(summary.meta, "parameters", "stress")
    if stress.get("per_task"):
        return ()
    picked = ((column, stress.get(column)) for column in _LISTED)
    return tuple(name for name, each in picked if isinstance(each, list | tuple) and len(each) > 1)


def _key(summary: Summary, item: SetFigures) -> tuple[float, ...]:
    order = groups(summary)
    place = order.index(item.group) if item.group in order else len(order)
    return (place, *(getattr(item, column) for column in _columns(summary)))


def _label(summary: Summary, item: SetFigures) -> str:
    values = ((name, getattr(item, name)) for name in _columns(summary))
    return ", ".join((item.group, *(f"{_LISTED[name]} = {value:g}" for name, value in values)))
