"""Breakdown utilisations beside each other: a cell is a point of the curves, a run a task set."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from deadbeat.base.model.comparison import ComparedLook, Vocabulary
from deadbeat.base.model.observations import Cell, Metric, Observation, observed
from deadbeat.tasksets.breakdown.results import Breakdown
from deadbeat.tasksets.model.results import RunKey

METRICS = (
    Metric(
        name="breakdown",
        title="Breakdown utilisation",
        text="breakdown utilisation",
        unit="share",
        minimum=0.02,
        log=False,
        higher_is_better=True,
        of=attrgetter("breakdown"),
    ),
)
WORDS = Vocabulary(
    results="searches",
    one="search",
    find_lost="see which task sets have no result (deadbeat show)",
    lost="of the task sets were lost",
    more="task sets (--sets)",
    rare="more --sets would show more",
    units="task sets",
)
LOOK = ComparedLook(called="Breakdown searches", groups=("By point", "point"))


def observe(found: Breakdown) -> Iterator[Observation]:
    """Where each task set breaks down: sets of a number come from one seed."""
    for each in found.sets:
        of, replica = each.cell, RunKey.parse(each.run).replica
        variant = f"{of.tasks_per_core} tasks a core, {of.priorities}"
        group = f"M = {of.cores}, ρ = {of.sync_share:g}, α = {of.contended_ratio:g}, {variant}"
        yield from observed(
            METRICS, each, run=f"{group} {replica}", cell=Cell(group), block=f"{replica:04d}"
        )
