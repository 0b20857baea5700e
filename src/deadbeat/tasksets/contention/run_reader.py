"""Runs of a campaign read together with their plans, predicted beside measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.contention.figures import RunFigures, run_figures, without_overlapped
from deadbeat.tasksets.contention.late import Worst
from deadbeat.tasksets.contention.plan import class_unit, shares_objects
from deadbeat.tasksets.contention.run_parts import (
    EventStates,
    contended_plan,
    counter_figures,
    overlap_share,
    part_figures,
    shared_objects,
)
from deadbeat.tasksets.contention.spec import CampaignSpec, read_spec
from deadbeat.tasksets.contention.stress import Group
from deadbeat.tasksets.executors.metrics import Bools, Floats, JobColumns, job_columns, of_tasks
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.figures import SetFigures
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.prices.rates import NOTHING, RatesByRivals, paced, prepared, rates_of
from deadbeat.tasksets.prices.replay import ReplayTask, replay_releases
from deadbeat.tasksets.prices.stage import prices_in
from deadbeat.tasksets.prices.states import CHANGED, FAR, PairStates
from deadbeat.tasksets.prices.table import PriceTable
from deadbeat.tasksets.store.campaign import CampaignStore


@frozen(kw_only=True)
class Priced:
    """What task sets are replayed with. ``rates``: state -> how cores slow one another; of "":
    none does. ``states``: how the round trips of cores 0 and 1 are classed; None: unknown.
    ``pace``: how many times as long as calibrated jobs alone took."""

    calibration: Calibration
    rates: Mapping[str, RatesByRivals]
    states: PairStates | None = None
    pace: float = 1.0

    @classmethod
    def of(cls, store: CampaignStore, calibration: Calibration) -> Priced:
        table = prices_in(store) or PriceTable()
        pair = next((p.cpus[:2] for p in table.prices if len(p.cpus) == 2), ())
        return cls(calibration=calibration, rates=rates_of(table), states=table.states.get(pair))

    def at_pace(self, pace: float) -> Priced:
        """The same where jobs take ``pace`` times as long; without prices nothing can be slowed."""
        return evolve(self, pace=pace) if self.rates else self

    def usual(self, shares: Mapping[str, float]) -> str:
        """The state that stands for a slot without a known one."""
        known = [name for name in self.rates if name]
        return max(known, key=lambda name: shares.get(name, 0.0), default="")

    def slot_states(self, table: JobTable) -> NDArray[np.str_]:
        """The state of each slot, by the round trips at its begin and at that of the next;
        `CHANGED` where it changed, or is not known."""
        count = len(table.slots)
        trips = np.zeros(count + 1)
        rows = table.probes[
            (table.probes["kind"] == j.PROBE_ROUND_TRIP) & (table.probes["core_b"] == 1)
        ]
        rows = rows[rows["slot"] <= count]
        trips[rows["slot"]] = rows["value_ps"]
        if self.states is None or not trips.any():
            return np.full(count, CHANGED)
        return self.states.between(trips[:-1], trips[1:])


def is_plain(point: Point) -> bool:
    """Whether cores share nothing at it."""
    return not shares_objects(point.cores, point.sync_share_milli, point.contended_ratio_milli)


def pace_of(ratios: Iterable[Floats]) -> float:
    """The median of span alone over C of the tasks of sets that share nothing; 1 without any."""
    known = np.concatenate([np.empty(0), *ratios])
    known = known[known > 0]
    return float(np.median(known)) if len(known) else 1.0


def own_paces(columns: JobColumns, task_set: TaskSet, priced: Priced) -> Floats:
    """How many times as long as calibrated the jobs of each task took alone: the median in this
    run; of a task without one, the campaign's. Without prices nothing can be slowed."""
    found = columns.solo_median_ns / [task.cost_ps / 1000 for task in task_set.tasks]
    return np.where((found > 0) & bool(priced.rates), found, priced.pace)


def predicted_jobs(
    table: JobTable, columns: JobColumns, task_set: TaskSet, priced: Priced
) -> tuple[Floats, Floats]:
    """Start and finish of every job of a together slot by the replay, in the order of ``columns``;
    infinite for those that do not finish in it, NaN for what was not replayed."""
    start, finish = np.full((2, len(columns.task)), np.nan)
    states = priced.slot_states(table)
    shares = {name: float((states == name).mean()) for name in priced.rates}
    usual, known = priced.usual(shares), dict[str, tuple[tuple[ReplayTask, ...], Any]]()
    paces = own_paces(columns, task_set, priced).tolist()
    together = ~columns.solo
    for slot in np.unique(columns.slot[together]).tolist():
        where = np.flatnonzero((columns.slot == slot) & together)
        state = str(states[slot]) if str(states[slot]) in priced.rates else usual
        if state not in known:
            rates = priced.rates.get(state) or RatesByRivals((NOTHING,))
            tasks, _ = prepared(task_set, priced.calibration, rates.matrices[0])
            known[state] = paced(tasks, paces), rates
        tasks, rates = known[state]
        begin = int(columns.release_ns[where].min())
        releases = (columns.release_ns[where] - begin).tolist()
        owners = columns.task[where].tolist()
        longest = max(task.deadline_ns for task in tasks)
        jobs = replay_releases(
            tasks,
            rates,
            zip(releases, owners, strict=True),
            horizon_ns=max(releases) + 10 * longest,
        )
        place = dict(zip(zip(releases, owners, strict=True), where, strict=True))
        start[where] = finish[where] = np.inf
        for task, release, begun, ended in jobs:
            at = place[release, task]
            start[at], finish[at] = begun + begin, ended + begin
    return start, finish


def prediction_figures(
    found: SetFigures,
    table: JobTable,
    columns: JobColumns,
    task_set: TaskSet,
    priced: Priced,
    *,
    chosen: NDArray[np.bool_] | None = None,
) -> SetFigures:
    """``found`` with the replayed counterparts of what was measured, over the same jobs.
    ``columns``: columns of all tasks: the others hold up the ``chosen`` ones in the replay as well.
    ``chosen``: the tasks that the figures are about; None: all."""
    flags = int(table.header["flags"])
    if not flags & j.RUN_REALTIME or flags & j.RUN_LATE:  # the replay models neither
        return found
    start, finish = predicted_jobs(table, columns, task_set, priced)
    together = columns.counted & ~columns.solo
    if chosen is not None:
        together &= chosen[columns.task]
    if not together.any():
        return found
    cost = np.array([task.cost_ps / 1000 for task in task_set.tasks])
    response = finish - columns.release_ns
    span = np.where(np.isfinite(finish), finish, np.nan) - start
    done = together & np.isfinite(finish)
    both = done & columns.finished
    period, deadline = (
        table.tasks[f"{name}_ns"].astype(np.float64)[columns.task]
        for name in ("period", "deadline")
    )
    own = [done & (columns.task == index) for index in range(len(cost))]
    alone = cost * own_paces(columns, task_set, priced)
    taken = [span[jobs].mean() / alone[index] for index, jobs in enumerate(own) if jobs.any()]
    ratios = response[both] / cost[columns.task[both]]
    return evolve(
        found,
        slowdown_predicted=float(np.mean(taken)) if taken else None,
        unfinished_predicted=float((~(response <= period))[together].mean()),
        response_ratio_predicted=float(ratios.mean()) if both.any() else None,
        deadline_misses_predicted=int((response > deadline)[together].sum()),
    )


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


class RunReader:
    """Reads runs of a campaign together with their plans.

    Attributes:
        solo_cost_ratios: Per task, median solo span / C, from the runs read so far.
        worst: Their worst jobs.
        overloaded: The ones that ask more of a core than it has.
        long_slots: The overloaded ones that ran late, in long slots.
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
        if self._spec is None or self._spec.task_count is not None:
            return point.per_core or None
        return point.per_core or self._spec.tasks.per_core

    def read(self, key: RunKey, *, group: Group | None = None) -> tuple[RunFigures, SetFigures]:
        """Figures of the committed run ``key``, those of its set with what its plan says. Raises
        DataError: its file is damaged, or belongs to another task set than its program."""
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
        known = evolve(
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
        )
        return figures, self._with_plan(known, key, table, (everyone, columns), chosen)

    def _critical(self, key: RunKey, table: JobTable, group: Group | None) -> Bools | None:
        """Which tasks the set is about; None: all of them."""
        if group is None or not group.critical_cores:
            return None
        planned = self._store.programs.planned(key)
        if planned is None or len(planned.task_set.tasks) != len(table.tasks):
            return np.asarray(table.tasks["core"] < group.critical_cores)
        return np.array([task.critical for task in planned.task_set.tasks])

    def _with_plan(
        self,
        found: SetFigures,
        key: RunKey,
        table: JobTable,
        both: tuple[JobColumns, JobColumns],
        chosen: Bools | None,
    ) -> SetFigures:
        """With what needs the task set: its seed, the realised axes, overlap, what is predicted.
        ``both``: the jobs of all tasks, and of the ``chosen`` ones."""
        everyone, columns = both
        planned = self._store.programs.planned(key)
        if planned is None:
            return found
        task_set, path = planned.task_set, self._store.jobs_path(key)
        same_id = planned.set_id in ("", table.set_id)
        if not same_id or len(task_set.tasks) != len(table.tasks):
            raise DataError(
                f"job file {path} belongs to another task set than batch {planned.batch}",
                "delete it and repeat the campaign's command: only this run is measured again",
            )
        has_sync = task_set.sync_share_real > 0
        found = evolve(
            found,
            seed=task_set.seed,
            sync_share_real=task_set.sync_share_real,
            contended_ratio_real=task_set.contended_ratio_real if has_sync else None,
        )
        if self._priced is not None:
            if not is_plain(key.point) and not self._paced:
                self._paced, known = True, self.solo_cost_ratios.items()
                pace = pace_of(ratios for plain, ratios in known if is_plain(plain.point))
                self._priced = self._priced.at_pace(pace)
            with suppress(DataError):  # a calibration that lacks an entry says nothing of it
                found = prediction_figures(
                    found, table, everyone, task_set, self._priced, chosen=chosen
                )
        if self._calibration is not None:
            plan = contended_plan(task_set, self._calibration)
            # every set draws on the same costs: this part of a delay ratio's interval does not
            # shrink with the number of sets
            costs = [self._calibration.cost_uncertainty(task) for task in task_set.tasks]
            found = evolve(
                found,
                cost_half_width=float(np.mean(costs)),
                overlap_real=overlap_share(columns, table.tasks, plan),
                shared_objects=shared_objects(task_set, plan),
            )
        return found


def _far_share(states: NDArray[np.str_] | None, slots: Bools) -> float | None:
    """Share of these slots in which the CPUs were far apart; None: not known."""
    known = None if states is None else states[slots & (states != CHANGED)]
    return None if known is None or not len(known) else float((known == FAR).mean())
