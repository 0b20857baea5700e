"""Studies beside each other: a cell is a scenario and who answers; a run is a part of its sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deadbeat.kinds.study.document import LABEL, StudyAnswers
from deadbeat.kinds.study.results import answered
from deadbeat.model.comparison import ComparedLook, Vocabulary
from deadbeat.model.observations import Cell, Metric, Observation

#: The sets of a scenario, in their order, are cut into this number of parts.
_PARTS = 10
METRICS = (
    Metric(
        name="schedulable",
        title="Schedulable share",
        text="schedulable share",
        unit="share",
        minimum=0.01,
        log=False,
        higher_is_better=True,
        cellwise=True,
    ),
)
WORDS = Vocabulary(
    results="studies",
    one="study",
    find_lost="see which task sets are undecided (deadbeat show)",
    lost="of the task sets were lost",
    units="parts of the sets",
    more="parts of the sets (--sets)",
    rare="more --sets would show more",
)
LOOK = ComparedLook(called="Studies", groups=("By scenario", "scenario"))


def labels(found: StudyAnswers) -> tuple[str, ...]:
    return (LABEL,)


def observe(found: StudyAnswers) -> Iterator[Observation]:
    """The share of the decided sets that is schedulable, in each part of a scenario."""
    for each in answered(found.results):
        sets, cell = each.results, each.cell
        decided, yes = sets.decided(each.label), sets.yes(each.label)
        where = f"m = {cell.processors}, n = {cell.tasks}, U/m = {cell.load / 1000:g}"
        group = f"{each.title}, {where}, {cell.source}"
        for part, rows in enumerate(np.array_split(np.arange(len(decided)), _PARTS)):
            inside = np.zeros(len(decided), np.bool_)
            inside[rows] = True
            total = sets.sets(decided & inside)
            yield Observation(
                run=f"{group} {part}",
                cell=Cell(group),
                block=f"{part}",
                metric="schedulable",
                value=sets.sets(yes & inside) / total if total else None,
            )
