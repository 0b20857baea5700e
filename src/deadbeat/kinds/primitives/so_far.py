"""What timed primitives show between runs."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.kinds.primitives.cases import PrimitiveCase, PrimitiveKey
from deadbeat.kinds.primitives.document import short_time
from deadbeat.kinds.primitives.results import PrimitivesStore, cell_of
from deadbeat.report.document import CellMap


@define
class PrimitivesSoFar:
    """The median and the longest sample of every case, run by run."""

    store: PrimitivesStore
    _seen: dict[PrimitiveCase, tuple[float, int]] | None = None

    def __call__(self, keys: Sequence[PrimitiveKey]) -> CellMap:
        if self._seen is None:
            self._seen, keys = {}, sorted(self.store.committed())
        for key in keys:
            row = cell_of(key.case, [self.store.load(key)])
            _, longest = self._seen.get(key.case, (0.0, 0))
            self._seen[key.case] = (
                row.quantile_ns(500_000),
                max(longest, row.times.max_ns or 0),
            )
        known = sorted(self._seen.items())
        return CellMap(
            title="times so far",
            corner="primitive",
            columns=("median", "max"),
            rows=[case.text for case, _ in known],
            cells=[(short_time(median), short_time(longest)) for _, (median, longest) in known],
            strength=[(0, 0)] * len(known),
        )
