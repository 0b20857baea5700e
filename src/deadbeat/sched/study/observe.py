"""Studies beside each other: a cell is a scenario and who answers; a run is a part of its sets."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import numpy as np
from attrs import frozen

from deadbeat.base.model.comparison import ComparedLook, Vocabulary
from deadbeat.base.model.observations import Cell, Metric, Observation, observed
from deadbeat.sched.study.document import LABEL, StudyAnswers
from deadbeat.sched.study.results import Mask, StudyResults, answered

#: The sets of a scenario, in their order, are cut into this number of parts.
_PARTS = 10


@frozen
class PartOfSets:
    """Some of the sets of a scenario, and who answers on them."""

    results: StudyResults
    label: str
    inside: Mask

    @property
    def schedulable(self) -> float | None:
        """Their share of those that are decided."""
        decided, yes = self.results.decided(self.label), self.results.yes(self.label)
        total = self.results.sets(decided & self.inside)
        return self.results.sets(yes & self.inside) / total if total else None

    @property
    def of_schedulable(self) -> float | None:
        """Share that a sufficient test accepts, of those that an exact one does."""
        count = self.results.of_schedulable(self.label, self.inside)
        return count.share if count.total else None


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
        of=attrgetter("schedulable"),
    ),
    Metric(
        name="share_of_schedulable",
        title="Accepted share of the schedulable sets",
        text="accepted share of the schedulable sets",
        unit="share",
        minimum=0.01,
        log=False,
        higher_is_better=True,
        cellwise=True,
        of=attrgetter("of_schedulable"),
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
    """Figures of each part of a scenario."""
    for each in answered(found.results):
        sets, cell = each.results, each.cell
        where = f"m = {cell.processors}, n = {cell.tasks}, U/m = {cell.load / 1000:g}"
        group = f"{each.title}, {where}, {cell.source}"
        many = len(sets.everything)
        for number, rows in enumerate(np.array_split(np.arange(many), _PARTS)):
            part = PartOfSets(sets, each.label, np.isin(np.arange(many), rows))
            yield from observed(
                METRICS, part, run=f"{group} {number}", cell=Cell(group), block=f"{number}"
            )
