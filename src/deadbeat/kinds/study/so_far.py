"""What a study shows while it is computed: the task sets that each contender accepted so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field

from deadbeat.kinds.study.chunks import row_type
from deadbeat.kinds.study.results import StudyResults
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.report.document import CellMap
from deadbeat.store.study import StudyStore


@define
class StudySoFar:
    """Remembers yes and decided of every contender and test, by utilisation per processor."""

    store: StudyStore
    spec: StudySpec
    _began: bool = False
    _seen: dict[tuple[str, int], tuple[int, int]] = field(factory=dict)

    def __call__(self, keys: Sequence[int]) -> CellMap:
        if not self._began:
            self._began, keys = True, sorted(self.store.finished())
        for number in keys:
            self._add(StudyResults(self.spec, self.store.rows(number, row_type(self.spec))))
        loads = sorted({cell.load for cell in self.spec.cells})
        labels = [*self.spec.contenders, *self.spec.tests]
        found = [[self._seen.get((label, load), (0, 0)) for load in loads] for label in labels]
        return CellMap(
            title="accepted so far, % of the task sets; columns: utilisation per processor",
            corner="",
            columns=[f"{load / 1000:g}" for load in loads],
            rows=[label[:30] for label in labels],
            cells=[[f"{100 * y / n:.0f}" if n else "·" for y, n in row] for row in found],
            strength=[[round(4 * (1 - y / n)) if n else 0 for y, n in row] for row in found],
        )

    def _add(self, results: StudyResults) -> None:
        for load in np.unique(results.load).tolist():
            here = results.load == load
            for label in results.labels():
                yes, decided = self._seen.get((label, load), (0, 0))
                count = results.count(label, here)
                self._seen[label, load] = yes + count.yes, decided + count.total
