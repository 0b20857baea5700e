"""More cores than the machine has: task sets replayed by stored prices, labelled EXTRAPOLATED.

Nothing is run. Every use takes its cost at the rate that those beside it leave (`prices.rates`),
as in a prediction; costs are examples, so that only ratios of two spans mean anything.
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import evolve, field, frozen

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.executors.base import Costing, Progress, RunSettings, unheard
from deadbeat.executors.scheduled import counted, replayed_jobs, wait_for
from deadbeat.executors.simulated import FakeExecutor, Rows, Timings
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.examples import example_calibration, example_entries
from deadbeat.model.platform import EXTRAPOLATED, SIMULATED_PRICES, Platform
from deadbeat.model.tasks import Entry, Kind, TaskSet
from deadbeat.model.words import Json, shown
from deadbeat.prediction.engine import StoredMatrix, read_matrix
from deadbeat.prices.rates import RatesByRivals, SizedWork, prepared
from deadbeat.prices.replay import UNKNOWN
from deadbeat.prices.works import PriceWork

#: End of the matrix's intervals -> `RatesByRivals.bend`.
_ENDS = {"low": -1, "mid": 0, "high": 1}
_WORDS = {bend: word for word, bend in _ENDS.items()}
_OPTIONS: dict[str, Any] = {
    "cores": int,
    "end": _ENDS.__getitem__,
    "growth": float,
}
CORES_MAX = 64
_HINT = "replay:RESULT,cores=16,end=low|mid|high,growth=1.5"


@frozen(kw_only=True)
class ReplayExecutor(FakeExecutor):
    """A machine with ``cores`` cores, on which operations slow each other as in ``stored``.

    Attributes:
        bend: -1, 0, 1: low end, middle or high end of the intervals of the matrix.
        growth: Factor of a price of sharing with each doubling of the cores beyond those measured.
    """

    SETUP_NS: ClassVar[int] = 0

    stored: StoredMatrix = field(repr=False)
    bend: int = 0
    growth: float = 1.0
    contention: float = 0.0
    noise: float = 0.0

    @cached_property
    def rates(self) -> RatesByRivals:
        return RatesByRivals(self.stored.matrices, self.bend, self.growth)

    def describe(self) -> Platform:
        own = self.stored.platform
        words = f"{self.stored.name}:{_WORDS[self.bend]}:{self.growth:g}"
        return attrs.evolve(
            own,
            kind=EXTRAPOLATED,
            soc=f"{own.soc}, replayed from {words}{SIMULATED_PRICES * own.simulated}",
            cpus=tuple(range(self.cores)),
            fingerprint=f"replay:{own.fingerprint}:{words}:{self.cores}",
            details={},
        )

    def environment(self) -> dict[str, Json]:
        return {**super().environment(), "hostname": self.stored.platform.name}

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Objects without a price too."""
        known = {work.fragment for work in self.stored.matrices[0].works}
        lacking = f"has no price in {self.stored.name}"
        unknown = {
            each.name: lacking
            for each in catalog.fragments.values()
            if each.kind is Kind.SY and each.name not in known
        }
        return unknown | super().unavailable(catalog, policy=policy, participants=participants)

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        found = super().calibrate(catalog, asked, progress)
        return attrs.evolve(found, platform=self.describe())

    def true_price_ns(self, work: PriceWork, beside: int) -> float:
        """Time of a call beside other cores at the same, by the matrix."""
        entry = Entry(work.object, work.size)
        own = example_calibration({entry: Kind.SY}, cores=1).costs[str(entry)][0].repeat_ps / 1000
        matrix = self.stored.matrices[0]
        place, _ = matrix.place(SizedWork(work.object, work.size, work.shared))
        return own if place == UNKNOWN else own * self.rates({place: beside + 1})[place]

    def simulated(
        self, task_set: TaskSet, settings: RunSettings, slots: Rows, timings: Timings
    ) -> Rows:
        """The jobs of one run: alone each takes its C, together what the replay says."""
        tasks, _ = prepared(task_set, _costs(task_set.cores), self.stored.matrices[0])
        whole = [evolve(task, uses=((UNKNOWN, task.cost_ns),)) for task in tasks]
        parts: list[Rows] = []
        for slot in slots:
            wait_for(parts, slots, slot)
            solo = int(slot["kind"]) == j.SLOT_SOLO
            part = replayed_jobs(whole if solo else tasks, timings, slot, self.rates)
            parts.append(counted(part, timings, slots, slot, settings))
        return np.concatenate(parts)


@cache
def _costs(cores: int) -> Calibration:
    return example_calibration(example_entries(load_catalog().fragments.values()), cores=cores)


def replay_executor(options: str, runs: Path) -> ReplayExecutor:
    """``RESULT,cores=16,end=high,growth=1.5``: RESULT is an interference matrix, or any result with
    prices.

    Raises:
        UsageError: Anything else.
    """
    name, *words = options.split(",")
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        try:
            given["bend" if key == "end" else key] = _OPTIONS[key](value)
        except (ValueError, KeyError):
            raise UsageError(f"--executor: {shown(word)} is unknown", _HINT) from None
    if not 1 <= given.get("cores", 16) <= CORES_MAX or not 1 <= given.get("growth", 1) <= 10:
        raise UsageError("--executor: cores are 1 to 64, growth 1 to 10", _HINT)
    stored = read_matrix(runs, name)
    return ReplayExecutor(stored=stored, name=stored.name, **{"cores": 16, **given})
