"""Predicted beside measured: every together slot of a run replayed with the prices of its state.

The releases are those of the slot's timetable, costs are calibrated, prices those of the price
stage: nothing comes from the jobs of the set. A host that is slower than when it was calibrated
makes all jobs longer, so that they meet more often: the sets of the campaign that share nothing say
by how much. What the replay leaves out is what is found: wake-ups, the kernel, caches that
preemption empties, more than two cores at one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypedDict

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import JobColumns, job_columns, quantiles
from deadbeat.kinds.contention.plan import shares_objects
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point
from deadbeat.model.tasks import TaskSet
from deadbeat.prices.rates import NOTHING, RatesByRivals, paced, prepared, rates_of
from deadbeat.prices.replay import ReplayTask, replay_releases
from deadbeat.prices.stage import prices_in
from deadbeat.prices.states import CHANGED, PairStates
from deadbeat.prices.table import PriceTable
from deadbeat.store.campaign import CampaignStore

Floats = NDArray[np.float64]


@frozen(kw_only=True)
class TaskPrediction:
    """One task of a run; quantiles are over the same jobs on both sides. Times in ns.

    Attributes:
        jobs: Counted jobs of together slots.
        predicted_p50_ns, predicted_max_ns: Replayed response times; None: no job finished.
        measured_p50_ns, measured_max_ns: Measured ones.
        predicted_misses, measured_misses: Of ``jobs``; None: not all of them were replayed.
    """

    task: int
    core: int
    priority: int
    wcet_ns: int
    period_ns: int
    deadline_ns: int
    jobs: int
    predicted_p50_ns: float | None
    predicted_max_ns: float | None
    measured_p50_ns: float | None
    measured_max_ns: float | None
    predicted_misses: int | None
    measured_misses: int


@frozen(kw_only=True)
class Priced:
    """What task sets are replayed with.

    Attributes:
        rates: State -> how cores slow one another; of "": nobody does.
        states: How the round trips of cores 0 and 1 are told apart; None: not known.
        pace: How many times as long as calibrated jobs alone took.
    """

    calibration: Calibration
    rates: Mapping[str, RatesByRivals]
    states: PairStates | None = None
    pace: float = 1.0

    @classmethod
    def of(cls, store: CampaignStore, calibration: Calibration) -> Priced:
        """With the prices of a campaign."""
        table = prices_in(store) or PriceTable()
        pair = next((p.cpus[:2] for p in table.prices if len(p.cpus) == 2), ())
        return cls(calibration=calibration, rates=rates_of(table), states=table.states.get(pair))

    def at_pace(self, pace: float) -> Priced:
        """The same where jobs take so many times as long; without prices nothing can be slowed."""
        return evolve(self, pace=pace) if self.rates else self

    def usual(self, shares: Mapping[str, float]) -> str:
        """The state that stands for a slot whose own is not known."""
        known = [name for name in self.rates if name]
        return max(known, key=lambda name: shares.get(name, 0.0), default="")

    def slot_states(self, table: JobTable) -> NDArray[np.str_]:
        """The state of each slot; `CHANGED` where it changed, or is not known."""
        return slot_states(table, self.states)


def slot_states(table: JobTable, states: PairStates | None) -> NDArray[np.str_]:
    """By the round trips at the begin of each slot and of the next; `CHANGED`: not one state."""
    count = len(table.slots)
    trips = np.zeros(count + 1)
    rows = table.probes[
        (table.probes["kind"] == j.PROBE_ROUND_TRIP) & (table.probes["core_b"] == 1)
    ]
    rows = rows[rows["slot"] <= count]
    trips[rows["slot"]] = rows["value_ps"]
    if states is None or not trips.any():
        return np.full(count, CHANGED)
    return states.between(trips[:-1], trips[1:])


def is_plain(point: Point) -> bool:
    """Whether cores share nothing at it."""
    return not shares_objects(point.cores, point.sync_share_milli, point.contended_ratio_milli)


def pace_of(ratios: Iterable[Floats]) -> float:
    """The median of span alone over C of the tasks of sets that share nothing; 1 without any."""
    known = np.concatenate([np.empty(0), *ratios])
    known = known[known > 0]
    return float(np.median(known)) if len(known) else 1.0


def pace_in(store: CampaignStore) -> float:
    """Of all sets of a campaign that share nothing."""
    tables = (store.table(key) for key in sorted(store.committed()) if is_plain(key.point))
    return pace_of(
        job_columns(without_overlapped(table)[0]).solo_median_ns / table.tasks["wcet_ns"]
        for table in tables
    )


def why_not(table: JobTable) -> str:
    """Why a run cannot be predicted, or ``""``."""
    flags = int(table.header["flags"])
    if not flags & j.RUN_REALTIME:
        return "it ran under SCHED_OTHER, whose decisions the replay does not model"
    return "late jobs pile up (--overrun late), which is not modelled" if flags & j.RUN_LATE else ""


def predicted_jobs(
    table: JobTable, columns: JobColumns, task_set: TaskSet, priced: Priced
) -> tuple[Floats, Floats]:
    """Start and finish of every job of a together slot by the replay, in the order of ``columns``;
    infinite for those that do not finish in it, NaN for what was not replayed."""
    start, finish = np.full((2, len(columns.task)), np.nan)
    states = priced.slot_states(table)
    shares = {name: float((states == name).mean()) for name in priced.rates}
    usual, known = priced.usual(shares), dict[str, tuple[tuple[ReplayTask, ...], Any]]()
    for where, slot in _slots(columns):
        state = str(states[slot]) if str(states[slot]) in priced.rates else usual
        if state not in known:
            rates = priced.rates.get(state) or RatesByRivals((NOTHING,))
            tasks, _ = prepared(task_set, priced.calibration, rates.matrices[0])
            known[state] = paced(tasks, priced.pace), rates
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


def _slots(columns: JobColumns) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Jobs of each together slot, and its number."""
    together = ~columns.solo
    for slot in np.unique(columns.slot[together]):
        yield np.flatnonzero((columns.slot == slot) & together), int(slot)


def predict_tasks(
    table: JobTable, columns: JobColumns, task_set: TaskSet, priced: Priced
) -> tuple[TaskPrediction, ...]:
    """Predicted and measured response times of every task of a run, over its counted jobs."""
    predicted = predicted_jobs(table, columns, task_set, priced)[1] - columns.release_ns
    together = columns.counted & ~columns.solo
    found = []
    for index, row in enumerate(table.tasks):
        own = together & (columns.task == index)
        simulated, measured = predicted[own], columns.response_ns[own]
        late = int((simulated > row["deadline_ns"]).sum())
        p50, largest = quantiles(simulated[np.isfinite(simulated)], 0.5, 1.0)
        measured_p50, measured_largest = quantiles(measured[np.isfinite(measured)], 0.5, 1.0)
        names = ("core", "priority", "wcet_ns", "period_ns", "deadline_ns")
        found.append(
            TaskPrediction(
                task=index,
                **{name: int(row[name]) for name in names},
                jobs=len(simulated),
                predicted_p50_ns=p50,
                predicted_max_ns=largest,
                measured_p50_ns=measured_p50,
                measured_max_ns=measured_largest,
                predicted_misses=None if np.isnan(simulated).any() else late,
                measured_misses=int(columns.missed[own].sum()),
            )
        )
    return tuple(found)


class Predicted(TypedDict, total=False):
    """Replayed counterparts of what was measured of a set."""

    slowdown_predicted: float | None
    unfinished_predicted: float
    response_ratio_predicted: float | None
    deadline_misses_predicted: int


def prediction_figures(
    table: JobTable,
    columns: JobColumns,
    task_set: TaskSet,
    priced: Priced,
    *,
    chosen: NDArray[np.bool_] | None = None,
) -> Predicted:
    """Fields of `SetFigures`: the replayed counterparts of what was measured, over the same jobs.

    Args:
        columns: Of all tasks: the others hold the ``chosen`` ones up in the replay as well.
        chosen: The tasks that the figures are about; None: all.
    """
    if why_not(table):
        return {}
    start, finish = predicted_jobs(table, columns, task_set, priced)
    together = columns.counted & ~columns.solo
    if chosen is not None:
        together &= chosen[columns.task]
    if not together.any():
        return {}
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
    taken = [span[jobs].mean() / cost[index] for index, jobs in enumerate(own) if jobs.any()]
    return {
        "slowdown_predicted": float(np.mean(taken)) / priced.pace if taken else None,
        "unfinished_predicted": float((~(response <= period))[together].mean()),
        "response_ratio_predicted": float((response[both] / cost[columns.task[both]]).mean())
        if both.any()
        else None,
        "deadline_misses_predicted": int((response > deadline)[together].sum()),
    }
