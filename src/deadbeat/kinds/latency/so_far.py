"""What a matrix shows while it is measured: the latest maximum beside every load."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.kinds.latency.words import load_order, load_words
from deadbeat.model.latency import LatencyKey, LoadPoint
from deadbeat.report.document import CellMap
from deadbeat.store.latency import LatencyStore


@define
class LatencySoFar:
    """Remembers of every load its runs that count, their largest latency, and that of the last."""

    store: LatencyStore
    _seen: dict[LoadPoint, list[int]] | None = None

    def __call__(self, keys: Sequence[LatencyKey]) -> CellMap:
        if self._seen is None:
            self._seen, keys = {}, sorted(self.store.committed())
        for key in keys:
            run = self.store.load(key)
            if run.valid:
                top = max(cpu.honest.max_ns or 0 for cpu in run.cpus)
                self._seen.setdefault(key.load, []).append(top)
        rows = sorted(self._seen, key=load_order)
        return CellMap(
            title="latest wake-up so far, µs",
            corner="load",
            columns=("runs", "max", "last"),
            rows=[load_words(load) for load in rows],
            cells=[
                (str(len(tops)), f"{max(tops) / 1000:,.1f}", f"{tops[-1] / 1000:,.1f}")
                for tops in map(self._seen.__getitem__, rows)
            ],
            strength=[(0, 0, 0)] * len(rows),
        )
