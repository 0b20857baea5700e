"""An experiment that measures built task sets: with which costs they are made, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import attrs

from deadbeat.base.experiment.base import Experiment, Phase, Watcher
from deadbeat.base.model.errors import CalibrationError, RunError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.platform import Platform, other_target
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.base import (
    Costing,
    Executor,
    Progress,
    RunOutcome,
    RunRequest,
    Session,
)
from deadbeat.tasksets.executors.tasksets import TaskSetSpec
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.prices.page import known_prices
from deadbeat.tasksets.prices.stage import PriceStage
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.jobfile import read_job_table
from deadbeat.tasksets.store.serial import given_calibration

S = TypeVar("S", bound=CampaignStore)
M = TypeVar("M")
#: Size of a campaign's jobs kept in memory until they are summarised.
_TABLES_BYTES = 64_000_000
#: Parts of a budget that come before the first run, at most.
_PRICES, _CALIBRATION = 0.12, 0.15


class TaskSetExperiment(Experiment[RunKey, M]):
    """What ``store`` lacks of the runs of task sets. ``spec``: as it fits the machine.
    ``calibration``: used instead of a new one; kept in the folder."""

    def __init__(
        self,
        spec: TaskSetSpec,
        executor: Executor,
        store: CampaignStore,
        catalog: Catalog,
        *,
        calibration: Calibration | None = None,
    ) -> None:
        self._asked, self._executor, self._store = spec, executor, store
        self._catalog, self._calibration = catalog, calibration

    @property
    def store(self) -> CampaignStore:
        return self._store

    @contextmanager
    def _calibrated(
        self, tell: Watcher, *, borrowed: Calibration | None = None
    ) -> Iterator[Calibration]:
        """The costs, made if need be, or ``borrowed`` with the programs. What the
        machine is like before and after is recorded."""
        store = self._store
        known = borrowed or self._known()
        store.remember(_TABLES_BYTES)
        number = store.next_session()
        store.save_session(number, "before", self._executor.environment())
        try:
            self._price(tell)
            costs = known or self._calibrate(tell)
            store.save_calibration(costs)
            yield costs
        finally:
            store.save_session(number, "after", self._executor.environment())

    @cached_property
    def prices(self) -> PriceStage | None:
        """Prices of what the sets can share; None: none are asked for."""
        spec = self._asked
        if not spec.calibration.prices:
            return None
        most = max(map(spec.most_tasks, spec.core_counts))
        return PriceStage(
            self._executor,
            self._catalog,
            self._store,
            pool=spec.calibration.pool,
            cores=max(spec.core_counts),
            layout=spec.run.layout,
            policy=spec.run.policy,
            seed=spec.seed,
            refused=self._executor.unavailable(
                self._catalog, policy=spec.run.policy, participants=most
            ),
        )

    @property
    def price_s(self) -> float:
        """What the first prices take; of a budget not much."""
        return self._within(self._asked.calibration.prices, _PRICES)

    def _within(self, seconds: float, part: float) -> float:
        return min(seconds, max(1.0, part * (self.budget_s or math.inf)))

    def _price(self, tell: Watcher) -> None:
        """Before the first run, unless they are there: said as soon as they are known."""
        if self.prices is None or self.prices.stored() is not None:
            return
        tell(Phase(name="prices"))
        tell(known_prices(self.prices.begin(self.price_s)))

    def _known(self) -> Calibration | None:
        """The folder's own calibration, else the one given."""
        kept, given = self._store.load_calibration(), self._calibration
        if kept is not None and given is not None and given != kept:
            raise CalibrationError(
                f"{self._store.path} has another calibration already",
                "continue without --calibration, or start again with --fresh",
            )
        known = kept or given
        if known is not None:
            check_calibration(known, self._asked, self._executor)
        return known

    def _calibrate(self, tell: Watcher) -> Calibration:
        spec = self._asked
        tell(Phase(name="calibration"))
        asked = Costing(
            pool=spec.calibration.pool,
            seconds=self._within(spec.calibration.seconds, _CALIBRATION),
            basis=spec.calibration.basis,
            policy=spec.run.policy,
            layout=spec.run.layout,
            participants=max(map(spec.most_tasks, spec.core_counts)),
        )
        uses = 0 if self.budget_s else spec.calibration.uses
        return calibrated(
            self._executor,
            self._catalog,
            asked,
            lambda share: tell(Phase(name="calibration", share=share)),
            uses=uses,
        )

    def _keep_program(
        self, name: str, session: Session, requests: Sequence[RunRequest], ids: Sequence[str]
    ) -> None:
        """Kept once: a batch is the same in every session."""
        if not any(program.batch == name for program in self._store.programs.all()):
            sets = [(request.key, request.task_set) for request in requests]
            self._store.programs.save(name, session.source, sets, session.program, set_ids=ids)

    def lose(self, key: RunKey, reason: str) -> None:
        self._store.fail(key, reason)


def calibrated(
    machine: Executor, catalog: Catalog, asked: Costing, progress: Progress, *, uses: int
) -> Calibration:
    """Costs from at least ``uses`` uses of every fragment: where the time that is asked gives
    fewer, calibrates again for as long as they take at that pace."""
    found = machine.calibrate(catalog, asked, progress)
    costs = (cost for each in found.costs.values() for cost in each)
    fewest = min((cost.samples + cost.rejected for cost in costs), default=0)
    if fewest >= uses:
        return found
    seconds = asked.seconds * uses / max(1, fewest)
    return machine.calibrate(catalog, attrs.evolve(asked, seconds=seconds), progress)


def begun_elsewhere(store: CampaignStore, platform: Platform) -> Iterator[str]:
    """Why what is in ``store`` is not continued on ``platform``, as a predicate."""
    first = next(iter(store.sessions()), None)
    if first is not None and first.before is not None:
        yield from other_target(first.before, platform.details)


def usable_calibration(
    file: Path | None, spec: TaskSetSpec, executor: Executor, catalog: Catalog
) -> Calibration | None:
    """The calibration in ``file``, if any; it and fragments are refused where they cannot serve
    ``spec``."""
    given = given_calibration(file)
    if given is not None:
        check_calibration(given, spec, executor, called=f"the calibration in {file}")
    for name in spec.tasks.fragments:
        catalog.fragment(name)
    return given


def check_calibration(
    calibration: Calibration,
    spec: TaskSetSpec,
    executor: Executor,
    *,
    called: str = "the calibration",
) -> None:
    """Refuses a calibration that cannot serve ``spec`` on this executor. ``called``: what it is
    called in messages. Raises CalibrationError: naming everything that does not agree, and the
    options that make it."""
    platform = executor.describe()
    made = calibration.platform
    if made.fingerprint != platform.fingerprint:
        raise CalibrationError(
            f"{called} belongs to {made.name} ({made.soc}), not to {platform.name}"
            f" ({platform.soc}) with its frequency policy and toolchain",
            "make one here (deadbeat contention --calibrate), or start a new result: --fresh",
        )
    cpus, asked_cpus = (",".join(map(str, each)) for each in (made.cpus, spec.cpus or made.cpus))
    rows = [
        ("policy", "--policy", calibration.policy, spec.run.policy),
        ("cost basis", "--cost-basis", calibration.basis, spec.calibration.basis),
        ("pool", "--pool", calibration.pool, spec.calibration.pool),
        ("layout", "--layout", calibration.layout, spec.run.layout),
        ("CPUs", "--cpus", cpus, asked_cpus),
    ]
    wrong = [row for row in rows if row[2] != row[3]]
    if wrong:
        has = ", ".join(f"{what} {found} where {asked} is asked" for what, _, found, asked in wrong)
        use = " ".join(f"{option} {found}" for _, option, found, _ in wrong)
        make = " ".join(f"{option} {asked}" for _, option, _, asked in wrong)
        raise CalibrationError(
            f"{called} has {has}",
            f"run the campaign with {use}, or make another: deadbeat contention --calibrate {make}",
        )


def table_of(outcome: RunOutcome, set_id: str) -> JobTable:
    """The jobs of an outcome. Raises RunError or DataError when there are none to be trusted."""
    if outcome.error is not None:
        raise outcome.error
    table = outcome.table
    if table is None and outcome.file is not None:
        table = read_job_table(outcome.file)
    assert table is not None
    if table.set_id != set_id:
        raise RunError(
            f"run {outcome.key.text} came back with jobs of another task set",
            "this is a defect of the executor: report it",
        )
    return table
