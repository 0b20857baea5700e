"""Runs of a campaign read together with their plans."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.executors.metrics import Bools, Floats, JobColumns, job_columns, of_tasks
from deadbeat.kinds.contention.causes import part_figures
from deadbeat.kinds.contention.counters import EventStates, counter_figures
from deadbeat.kinds.contention.figures import RunFigures, run_figures
from deadbeat.kinds.contention.late import Worst
from deadbeat.kinds.contention.object_charts import shared_objects
from deadbeat.kinds.contention.overlap import contended_plan, overlap_share
from deadbeat.kinds.contention.plan import class_unit
from deadbeat.kinds.contention.predict import (
    Predicted,
    Priced,
    is_plain,
    pace_of,
    prediction_figures,
)
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.spec import CampaignSpec, read_spec
from deadbeat.kinds.contention.stress import Group
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DataError, DeadbeatError
from deadbeat.model.figures import SetFigures
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.prices.stage import prices_in
from deadbeat.prices.states import CHANGED, FAR
from deadbeat.store.campaign import CampaignStore


def spec_of(store: CampaignStore) -> CampaignSpec | None:
    """The stored parameters; None where this version cannot read them, as some tests' are."""
    try:
        return read_spec(store.spec)
    except DeadbeatError:
        return None


def factor_at(spec: CampaignSpec | None, point: Point) -> float | None:
    """T / C of the task sets at ``point``; None where T is drawn, or the campaign does not say."""
    if point.deadline_factor_milli:
        return point.deadline_factor_milli / 1000
    if spec is None or spec.by_utilisation or len(spec.tasks.deadline_factor) != 1:
        return None
    return float(spec.tasks.deadline_factor[0])


class PlanFigures(Predicted, total=False):
    """What is said of a set by its plan, as fields of `SetFigures`."""

    seed: int | None
    sync_share_real: float
    contended_ratio_real: float | None
    cost_half_width: float
    overlap_real: float | None
    shared_objects: str | None


class RunReader:
    """Reads runs of a campaign together with their plans.

    Attributes:
        solo_cost_ratios: Of the runs read so far: per task, median solo span / C.
        worst: Their worst jobs.
        overloaded: Those of them that ask more of a core than it has.
        long_slots: Those of these that ran late, in long slots.
    """

    def __init__(self, store: CampaignStore, calibration: Calibration | None) -> None:
        self._store = store
        self._calibration = calibration
        self._spec = spec_of(store)
        self.worst = Worst()
        self.prices = prices_in(store)
        self._priced = None if calibration is None else Priced.of(store, calibration)
        self._paced = False
        self.solo_cost_ratios: dict[RunKey, Floats] = {}
        self.overloaded: list[RunKey] = []
        self.long_slots: list[RunKey] = []
        self.events = EventStates()

    @property
    def balanced(self) -> bool:
        """Whether its sets have a class of object each."""
        return self._spec is not None and self._spec.grid is not None and self._spec.grid.balanced

    def deadline_factor(self, point: Point) -> float | None:
        """T / C of the task sets at ``point``; None where the campaign does not say."""
        return factor_at(self._spec, point)

    def tasks_per_core(self, point: Point) -> int | None:
        """N / M at ``point`` of a grid; None where the campaign does not say."""
        return point.per_core or (None if self._spec is None else self._spec.tasks.per_core)

    def read(self, key: RunKey, *, group: Group | None = None) -> tuple[RunFigures, SetFigures]:
        """Figures of the committed run ``key``, those of its set with what its plan says.

        Raises:
            DataError: Its file is damaged, or belongs to another task set than its program.
        """
        table, left_out = without_overlapped(self._store.table(key))
        self.worst.consider(key, table)
        everyone = job_columns(table)
        chosen = self._critical(key, table, group)
        columns = everyone if chosen is None else of_tasks(everyone, chosen)
        figures = run_figures(table, columns, chosen=chosen)
        self.solo_cost_ratios[key] = figures.solo_cost_ratio
        loads = table.tasks["wcet_ns"] / table.tasks["period_ns"]
        # T is a whole number of nanoseconds: a core that is exactly full may be beyond by rounding.
        if np.bincount(table.tasks["core"], weights=loads).max() > 1 + 1e-6:
            self.overloaded.append(key)
            if int(table.header["flags"]) & j.RUN_LATE:
                self.long_slots.append(key)
        solo = table.slots["kind"] == j.SLOT_SOLO
        states = None if self._priced is None else self._priced.slot_states(table)
        self.events.add(table)
        return figures, evolve(
            figures.of_set,
            key=key.text,
            group="" if group is None else group.name,
            cores=key.point.cores,
            critical_cores=0 if group is None else group.critical_cores,
            sync_share=key.point.sync_share,
            contended_ratio=key.point.contended_ratio,
            deadline_factor=self.deadline_factor(key.point),
            replica=key.replica,
            set_id=table.set_id,
            utilisation=float(loads.sum()),
            realtime=bool(int(table.header["flags"]) & j.RUN_REALTIME),
            left_out=left_out,
            began_ns=int(table.header["epoch_realtime_ns"]) or None,
            file=self._store.jobs_path(key).relative_to(self._store.path).as_posix(),
            object_class=None if self._spec is None else class_unit(self._spec, key) or None,
            far_share=_far_share(states, ~solo),
            far_share_alone=_far_share(states, solo),
            parts=part_figures(table, everyone, tasks=chosen),
            counters=counter_figures(table, tasks=chosen),
            **self._plan_figures(key, table, (everyone, columns), chosen),
        )

    def _critical(self, key: RunKey, table: JobTable, group: Group | None) -> Bools | None:
        """Which tasks the set is about; None: all of them."""
        if group is None or not group.critical_cores:
            return None
        planned = self._store.programs.planned(key)
        if planned is None or len(planned.task_set.tasks) != len(table.tasks):
            return np.asarray(table.tasks["core"] < group.critical_cores)
        return np.array([task.critical for task in planned.task_set.tasks])

    def _plan_figures(
        self,
        key: RunKey,
        table: JobTable,
        both: tuple[JobColumns, JobColumns],
        chosen: Bools | None,
    ) -> PlanFigures:
        """What needs the task set: its seed, the realised axes, the overlap, what is predicted.

        Args:
            both: The jobs of all tasks, and of the ``chosen`` ones.
        """
        everyone, columns = both
        planned = self._store.programs.planned(key)
        if planned is None:
            return {}
        task_set, path = planned.task_set, self._store.jobs_path(key)
        same_id = planned.set_id in ("", table.set_id)
        if not same_id or len(task_set.tasks) != len(table.tasks):
            raise DataError(
                f"job file {path} belongs to another task set than batch {planned.batch}",
                "delete it and repeat the campaign's command: only this run is measured again",
            )
        has_sync = task_set.sync_share_real > 0
        found: PlanFigures = {
            "seed": task_set.seed,
            "sync_share_real": task_set.sync_share_real,
            "contended_ratio_real": task_set.contended_ratio_real if has_sync else None,
        }
        if self._priced is not None:
            if not is_plain(key.point) and not self._paced:
                self._paced, known = True, self.solo_cost_ratios.items()
                pace = pace_of(ratios for plain, ratios in known if is_plain(plain.point))
                self._priced = self._priced.at_pace(pace)
            with suppress(DataError):  # a calibration that lacks an entry says nothing of it
                found = {
                    **found,
                    **prediction_figures(table, everyone, task_set, self._priced, chosen=chosen),
                }
        if self._calibration is not None:
            plan = contended_plan(task_set, self._calibration)
            # every set draws on the same costs: this part of a delay ratio's interval does not
            # shrink with the number of sets
            costs = [self._calibration.cost_uncertainty(task) for task in task_set.tasks]
            found["cost_half_width"] = float(np.mean(costs))
            found["overlap_real"] = overlap_share(columns, table.tasks, plan)
            found["shared_objects"] = shared_objects(task_set, plan)
        return found


def _far_share(states: NDArray[np.str_] | None, slots: Bools) -> float | None:
    """Share of these slots in which the CPUs were far apart; None: not known."""
    known = None if states is None else states[slots & (states != CHANGED)]
    return None if known is None or not len(known) else float((known == FAR).mean())
