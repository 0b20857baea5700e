"""More cores than the machine has: task sets replayed by stored prices, labelled EXTRAPOLATED.

Nothing is run. Every use takes its cost at the rate that those beside it leave (`prices.rates`),
as in a prediction; costs are examples, so that only ratios of two spans mean anything. Each set is
replayed at both ends of the prices' intervals, too, where they step with the topology of the
machine, or grow with its cores as those of public machines do.
"""

from __future__ import annotations

import math
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import EXTRAPOLATED, SIMULATED_PRICES, Platform
from deadbeat.base.model.words import Json, inside, shown
from deadbeat.machine.host.environment import environment_of
from deadbeat.machine.targets.opening import open_target
from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.executors.base import Costing, Progress, RunSettings, unheard
from deadbeat.tasksets.executors.scheduled import counted, replayed_jobs, wait_for
from deadbeat.tasksets.executors.simulated import FakeExecutor, Rows, Timings
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.examples import example_calibration, example_entries
from deadbeat.tasksets.model.figures import is_saturated
from deadbeat.tasksets.model.tasks import Kind, TaskSet
from deadbeat.tasksets.prediction.engine import PricedMatrices, read_prices
from deadbeat.tasksets.prices.rates import GROWTH, RatesByRivals, prepared
from deadbeat.tasksets.prices.replay import UNKNOWN, ReplayTask
from deadbeat.tasksets.prices.table import PriceBatch
from deadbeat.tasksets.prices.topology import SharedCpus, read_topology
from deadbeat.tasksets.prices.works import Pricing

_OPTIONS: dict[str, Any] = {"cores": int, "growth": float}
CORES_MAX = 64
_HINT = "replay:RESULT,cores=16,growth=1.5 or replay:RESULT,cores=16,topology=MACHINE"
#: Ends of a range -> `RatesByRivals.bend`.
_ENDS = {j.PROBE_LOW: -1, j.PROBE_HIGH: 1}


@frozen(kw_only=True)
class ReplayExecutor(FakeExecutor):
    """A machine with ``cores`` cores, on which operations slow each other as in ``stored``.

    Attributes:
        growth: Factor of a price of sharing with each doubling of the cores beyond those measured;
            at both ends of the range at least `GROWTH`.
        topology: What the cores share; the measured pair is its CPUs 0 and 1. None: not known.
    """

    SETUP_NS: ClassVar[int] = 0

    stored: PricedMatrices = field(repr=False)
    growth: float = 1.0
    topology: SharedCpus | None = None
    contention: float = 0.0
    noise: float = 0.0

    def rates(self, cores: int, bend: int = 0) -> RatesByRivals:
        """How ``cores`` slow one another. ``bend``: see `prices.rates.Rates`."""
        if self.topology is not None:
            step = self.topology.factor(cores, bend)
        else:
            ends = (min(self.growth, GROWTH[0]), self.growth, max(self.growth, GROWTH[1]))
            known = 1 + self.stored.matrices[-1].rivals
            step = ends[bend + 1] ** max(0.0, math.log2(cores / known))
        return RatesByRivals(self.stored.matrices, bend, step=step)

    def describe(self) -> Platform:
        own = self.stored.platform
        place = f"growth {self.growth:g}" if self.topology is None else self.topology.name
        words = f"{self.stored.name}, {place}"
        return attrs.evolve(
            own,
            kind=EXTRAPOLATED,
            soc=f"{own.soc}, replayed from {words}{SIMULATED_PRICES * own.simulated}",
            cpus=tuple(range(self.cores)),
            fingerprint=f"replay:{own.fingerprint}:{words}:{self.cores}",
            details={},
        )

    def environment(self) -> dict[str, Json]:
        own, matrix = super().environment(), self.stored.matrices[0]
        ratios: dict[str, Json] = {}
        for at, work in enumerate(matrix.works):
            found = matrix.pairs.get((at, at))
            if found is not None and work.fragment not in ratios:
                ratios[work.fragment] = [found.value, *(found.interval or ())]
        place = "no topology" if self.topology is None else f"topology of {self.topology.name}"
        place += f", growth {self.growth:g}" * (self.topology is None)
        replay: Json = {"of": self.stored.name, "place": place, "ratios": ratios}
        return {**own, "hostname": self.stored.platform.name, "replay": replay}

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """What has no price too; computation where some of it has one."""
        known = {work.fragment for work in self.stored.matrices[0].works}
        computes = any(self.stored.matrices[0].computes)
        unknown = {
            each.name: f"has no price in {self.stored.name}: deadbeat contention"
            f" --set fragments={each.name} measures it"
            for each in catalog.fragments.values()
            if each.name not in known and (computes or each.kind is Kind.SY)
        }
        return unknown | super().unavailable(catalog, policy=policy, participants=participants)

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        found = super().calibrate(catalog, asked, progress)
        return attrs.evolve(found, platform=self.describe())

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
        """None: what it would measure it was given, as ratios."""
        return PriceBatch(works=(), errors=(), slots=())

    def probes(self, task_set: TaskSet, slots: Rows, timings: Timings) -> Rows:
        """With the mean spans at both ends of the range; at one where jobs do not finish there are
        none."""
        tasks, rows = self._tasks(task_set), [super().probes(task_set, slots, timings)]
        together = [slot for slot in slots if int(slot["kind"]) == j.SLOT_TOGETHER]
        for kind, bend in _ENDS.items():
            rates = self.rates(task_set.cores, bend)
            found = [replayed_jobs(tasks, timings, slot, rates) for slot in together]
            lost = np.mean(np.concatenate([part["flags"] & j.JOB_SKIPPED > 0 for part in found]))
            if bend < 0 or not is_saturated(float(lost)):
                rows += [_spans(part, kind, task_set) for part in found]
        return np.concatenate(rows)

    def simulated(
        self, task_set: TaskSet, settings: RunSettings, slots: Rows, timings: Timings
    ) -> Rows:
        """The jobs of one run: alone each takes its C, together what the replay says."""
        tasks, rates = self._tasks(task_set), self.rates(task_set.cores)
        whole = [evolve(task, uses=((UNKNOWN, task.cost_ns),)) for task in tasks]
        parts: list[Rows] = []
        for slot in slots:
            wait_for(parts, slots, slot)
            solo = int(slot["kind"]) == j.SLOT_SOLO
            part = replayed_jobs(whole if solo else tasks, timings, slot, rates)
            parts.append(counted(part, timings, slots, slot, settings))
        return np.concatenate(parts)

    def _tasks(self, task_set: TaskSet) -> tuple[ReplayTask, ...]:
        return prepared(task_set, _costs(task_set.cores), self.stored.matrices[0])[0]


def _spans(part: Rows, kind: int, task_set: TaskSet) -> Rows:
    """Rows of probes: the mean span of each task's jobs that started in a slot."""
    own = part[part["flags"] & j.JOB_STARTED > 0]
    spans = own["finish_ns"] - own["start_ns"]
    return np.array(
        [
            (slot, kind, task_set.tasks[task].core, task, 0, round(1000 * spans[jobs].mean()))
            for slot in np.unique(own["slot"])
            for task in np.unique(own["task"])
            for jobs in [own["task"] == task]
        ],
        dtype=j.PROBE_DTYPE,
    )


@cache
def _costs(cores: int) -> Calibration:
    return example_calibration(example_entries(load_catalog().fragments.values()), cores=cores)


def replay_executor(options: str, runs: Path) -> ReplayExecutor:
    """``RESULT,cores=16,growth=1.5`` or ``RESULT,cores=16,topology=MACHINE``: RESULT is
    any that has prices.

    Raises:
        UsageError: Anything else.
    """
    options, _, topology = options.partition(",topology=")
    name, *words = options.split(",")
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        try:
            given[key] = _OPTIONS[key](value)
        except (ValueError, KeyError):
            raise UsageError(f"--executor: {shown(word)} is unknown", _HINT) from None
    if not 1 <= given.get("cores", 16) <= CORES_MAX or not 1 <= given.get("growth", 1) <= 10:
        raise UsageError("--executor: cores are 1 to 64, growth 1 to 10", _HINT)
    stored = read_prices(runs, name)
    if topology:
        with closing(open_target(None)) as host:
            here = inside(environment_of(host, now=datetime.now(UTC)), "topology")
        given["topology"] = read_topology(topology, here, cores=given.get("cores", 16))
    return ReplayExecutor(stored=stored, name=stored.name, **{"cores": 16, **given})
