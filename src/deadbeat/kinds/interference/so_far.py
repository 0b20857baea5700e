"""What a load test shows while it is measured: missed rounds so far, of every condition."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.kinds.interference.spec import LoadSpec
from deadbeat.kinds.interference.summarise import figures_of
from deadbeat.kinds.interference.words import condition_words
from deadbeat.model.load import REFERENCE, TRACED, LoadKey
from deadbeat.report.document import CellMap
from deadbeat.store.load import LoadStore


@define
class LoadSoFar:
    """Remembers runs, misses, rounds and the longest, by condition and number of threads."""

    store: LoadStore
    spec: LoadSpec
    _seen: dict[tuple[int, str], tuple[int, int, int, int]] | None = None

    def __call__(self, keys: Sequence[LoadKey]) -> CellMap:
        if self._seen is None:
            self._seen, keys = {}, sorted(self.store.committed())
        for key in keys:
            run = self.store.load(key)
            if not run.valid or key.condition in (REFERENCE, TRACED):
                continue
            deadline_ns = self.spec.deadline or 0
            found = figures_of(run, deadline_ns=deadline_ns, period_ns=self.spec.period)
            place = key.normal, key.condition
            runs, misses, rounds, longest = self._seen.get(place, (0, 0, 0, 0))
            took = run.rounds.response_ns[found.counted]
            self._seen[place] = (
                runs + 1,
                misses + sum(found.count.occasions),
                rounds + found.count.released,
                max(longest, int(took.max()) if len(took) else 0),
            )
        return CellMap(
            title="missed rounds so far, by ordinary threads and condition",
            corner="threads, condition",
            columns=("runs", "missed", "rounds", "max ms"),
            rows=[f"{normal} {condition_words(name)}" for normal, name in self._seen],
            cells=[
                (str(runs), str(misses), f"{rounds:,}", f"{longest / 1e6:.1f}")
                for runs, misses, rounds, longest in self._seen.values()
            ],
            strength=[(0, 0, 0, 0)] * len(self._seen),
        )
