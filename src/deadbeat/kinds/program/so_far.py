"""What a measured program shows between its runs: response times and misses of every task."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.kinds.program.results import ProgramKey, ProgramStore
from deadbeat.report.document import CellMap


@define
class ProgramSoFar:
    """Remembers the longest responses and the misses of every task and CPU, run by run."""

    store: ProgramStore
    _seen: dict[tuple[int, str, int], list[tuple[int, int]]] | None = None

    def __call__(self, keys: Sequence[ProgramKey]) -> CellMap:
        if self._seen is None:
            self._seen, keys = {}, sorted(self.store.committed())
        for key in keys:
            run = self.store.load(key)
            for task in run.tasks if run.valid else ():
                known = self._seen.setdefault((task.task, task.name, task.cpu), [])
                known.append((task.response.max_ns or 0, task.misses))
        return CellMap(
            title="response times so far, ms",
            corner="task",
            columns=("runs", "max", "last", "missed"),
            rows=[f"{name[:30] or number} CPU {cpu}" for number, name, cpu in self._seen],
            cells=[
                (
                    str(len(known)),
                    f"{max(top for top, _ in known) / 1e6:,.3f}",
                    f"{known[-1][0] / 1e6:,.3f}",
                    str(sum(missed for _, missed in known)),
                )
                for known in self._seen.values()
            ],
            strength=[(0, 0, 0, 0)] * len(self._seen),
        )
