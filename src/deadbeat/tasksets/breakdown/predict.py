"""What is predicted of a task set: up to which utilisation it meets its deadlines.

`miss_curve` replays it with the prices of sharing and the machine's overheads, and applies the
criterion of the runs; `Model.predict` says what a bisection makes of it beside the host's pace.
``proved`` is exact response-time analysis (Joseph and Pandya 1986; Audsley et al. 1993), core by
core: no job misses, whatever the releases; of C alone. All are over the scaling of T = D.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched import analyze
from deadbeat.tasksets.breakdown.search import SearchResults
from deadbeat.tasksets.breakdown.spec import (
    SearchSpec,
    built_utilisation,
    period_ppm,
    set_of,
    shares,
    utilisation,
)
from deadbeat.tasksets.executors.metrics import Bools, Floats, job_columns
from deadbeat.tasksets.executors.tables import RunTiming
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.prices.rates import (
    NOTHING,
    RatesByRivals,
    prepared,
    rates_of,
    scaled,
    works_of,
)
from deadbeat.tasksets.prices.replay import Overheads, ReplayTask, Slowdowns, alone, replay
from deadbeat.tasksets.prices.table import PriceTable


@frozen(kw_only=True)
class Host:
    """The machine during a search: what it adds where nothing is shared, on the jobs of the sets of
    one core and of those without contention, while all tasks of a set run.

    Attributes:
        overheads: Medians over all jobs of sets that share nothing.
        paces: Such a set -> of each of its runs the pace of every slot: how many times as long as
            overhead and C the jobs of its most urgent tasks had their core.
    """

    overheads: Overheads
    paces: Mapping[RunKey, Sequence[Floats]]


def host_of(results: SearchResults) -> Host:
    woken, waited, sums = [], [], []
    for run in sorted(results.stored):
        if not shares(run):
            table = results.store.table(run)
            columns, tasks = job_columns(table), table.tasks
            # How long each job that started did so after its release, or after the end of the job
            # before it on its core where that was later; which ones those are.
            core = tasks["core"][columns.task]
            late, after = np.full(len(core), np.nan), np.zeros(len(core), np.bool_)
            for each in np.unique(core):
                own = np.flatnonzero((core == each) & columns.started)
                ends = np.sort(columns.finish_ns[(core == each) & columns.finished])
                places = np.searchsorted(ends, columns.start_ns[own], "right")
                before = np.concatenate(([j.NEVER], ends))[places]
                after[own] = before > columns.release_ns[own]
                late[own] = columns.start_ns[own] - np.maximum(before, columns.release_ns[own])
            together = columns.started & ~columns.solo
            woken.append(late[together & ~after])
            waited.append(late[together & after])
            used = most_urgent(tasks)[columns.task] & columns.finished & ~columns.solo
            cost = tasks["wcet_ns"][columns.task]
            parts = [(late + columns.span_ns)[used], cost[used], used[used]]
            slots, place = np.unique(columns.slot[used], return_inverse=True)
            sums.append((set_of(run), [np.bincount(place, each, len(slots)) for each in parts]))
    wake, switch = (
        float(np.median(np.concatenate(found))) if any(map(len, found)) else 0.0
        for found in (woken, waited)
    )
    paces: dict[RunKey, list[Floats]] = {}
    for key, (taken, cost, jobs) in sums:
        if len(taken):
            paces.setdefault(key, []).append(taken / (cost + jobs * wake))
    return Host(overheads=Overheads(wake_up_ns=wake, switch_ns=switch), paces=paces)


def most_urgent(tasks: NDArray[Any]) -> Bools:
    """Tasks that no other one of their core preempts."""
    most = [tasks["priority"][tasks["core"] == core].max() for core in tasks["core"]]
    return np.asarray(tasks["priority"] == most)


#: The runs have 6 by default: this is 64 times finer.
_HALVINGS = 12
#: Points of a curve, which takes a replay each, of this many jobs.
_REPLAYS, _JOBS = 8, 800


@frozen(eq=False)
class MissCurve:
    """Share of the jobs of a set that miss, by utilisation, on a machine as calibrated: ``used``
    and ``missed`` of what was replayed, in order; ``breakdown``: where it turns."""

    used: Floats
    missed: Floats
    breakdown: float

    def limits(self, runs: Sequence[Floats], search: SearchSpec) -> Floats:
        """Up to which utilisation runs meet their deadlines that have these paces, slot by slot: a
        pace stretches C and overheads, as a higher utilisation does."""
        slots = np.array([len(run) for run in runs])
        first, paces = np.cumsum(slots) - slots, np.concatenate(runs)
        low, high = (np.full(len(runs), float(end)) for end in (search.low, search.high))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            missed = np.interp(np.repeat(middle, slots) * paces, self.used, self.missed)
            meets = np.add.reduceat(missed, first) <= float(search.miss_share) * slots
            low, high = np.where(meets, middle, low), np.where(meets, high, middle)
        return np.asarray((low + high) / 2)


@lru_cache(maxsize=1000)
def miss_curve(
    tasks: tuple[ReplayTask, ...],
    built: Fraction,
    slowdowns: Slowdowns,
    search: SearchSpec,
    overheads: Overheads,
) -> MissCurve:
    """By replay, with the criterion of the runs; the periods of ``tasks`` are of a utilisation of
    ``built``."""
    known = {2.0 * float(search.high): 1.0}

    def meets(used: Fraction) -> bool:
        at = scaled(tasks, float(built / used))
        horizon_ns = _JOBS / sum(1 / task.period_ns for task in at)
        found = replay(at, slowdowns, horizon_ns=horizon_ns, overheads=overheads)
        jobs = max(1, sum(each.jobs for each in found))
        missed = known[float(used)] = sum(each.missed for each in found) / jobs
        return missed <= search.miss_share

    turn = _bisect(search, meets, _REPLAYS)
    used = np.array(sorted(known))
    return MissCurve(used, np.array([known[each] for each in used]), turn)


@frozen(kw_only=True)
class Model:
    """What sets are predicted with; without ``prices`` nothing is slowed."""

    search: SearchSpec
    calibration: Calibration
    task_sets: Mapping[RunKey, TaskSet]
    prices: PriceTable | None
    host: Host

    @cached_property
    def rates(self) -> dict[str, RatesByRivals]:
        return rates_of(self.prices)

    def predict(self, key: RunKey, trips_ps: Floats) -> dict[str, float]:
        """Columns of a `SetResult`; ``trips_ps``: round trips between the first two cores beside
        runs of the set."""
        met = self._states(trips_ps) if self.rates and shares(key) else {"": 1.0}
        curves = [(share, self._curve(key, name)) for name, share in met.items()]
        weights, runs = self._runs_like(key)
        limits = [(weights * share, curve.limits(runs, self.search)) for share, curve in curves]
        calm = sum(share * curve.breakdown for share, curve in curves)
        return {"predicted_calm": calm, **_outlook(self.search, limits)}

    def _runs_like(self, key: RunKey) -> tuple[Floats, list[Floats]]:
        """Weights and paces of the runs of other sets. A slow host stretches each work in its own
        way: a run counts by how much of its time and of this set's goes to the same fragments."""
        mine = self._mixes[key]
        alike: list[float] = []
        runs: list[Floats] = []
        for other, own in self.host.paces.items():
            if other != key:
                theirs = self._mixes[other]
                alike += [sum(min(mine[name], theirs[name]) for name in mine)] * len(own)
                runs += own
        if not runs:
            return np.ones(1), [np.ones(1)]
        weights = np.array(alike) if any(alike) else np.ones(len(runs))
        return weights / weights.sum(), runs

    @cached_property
    def _mixes(self) -> dict[RunKey, dict[str, float]]:
        """Share of each fragment in the utilisation of each set."""
        found: dict[RunKey, dict[str, float]] = {}
        for key, task_set in self.task_sets.items():
            mix = found[key] = defaultdict(float)
            whole = sum(task.cost_ps / task.period_ns for task in task_set.tasks) / 1000
            works = works_of(task_set, self.calibration)
            for task, own in zip(task_set.tasks, works, strict=True):
                for work, ns in own:
                    mix[work.fragment] += ns / task.period_ns / whole
        return found

    def _states(self, trips_ps: Floats) -> dict[str, float]:
        """How often each priced state was met; of none the usual one."""
        assert self.prices is not None
        states = next(iter(self.prices.states.values()), None)
        names = states.of(trips_ps).tolist() if states else []
        met = Counter(name for name in names if name in self.rates) or {self.prices.usual(): 1}
        return {name: count / sum(met.values()) for name, count in met.items()}

    def _curve(self, key: RunKey, state: str) -> MissCurve:
        rates, task_set = self.rates.get(state), self.task_sets[key]
        matrix = rates.matrices[0] if rates else NOTHING
        return miss_curve(
            prepared(task_set, self.calibration, matrix)[0],
            built_utilisation(task_set),
            rates or alone,
            self.search,
            self.host.overheads,
        )


def _outlook(search: SearchSpec, limits: Sequence[tuple[Floats, Floats]]) -> dict[str, float]:
    """What a bisection of runs finds, each of which meets its deadlines up to one of ``limits``
    (chances and values): mean, standard deviation, and 95 of 100 searches."""
    chances = {(0, 2 ** (search.steps + 1)): 1.0}
    for _ in range(search.steps):
        found: dict[tuple[int, int], float] = {}
        for (low, high), chance in chances.items():
            middle = (low + high) // 2
            used = float(utilisation(search, middle))
            meets = min(1.0, sum(float(share[each >= used].sum()) for share, each in limits))
            found[low, middle], found[middle, high] = chance * (1 - meets), chance * meets
        chances = found
    at = np.array([float(utilisation(search, sum(ends) // 2)) for ends in chances])
    share = np.array([*chances.values()])
    mean = float(share @ at)
    low, high = at[np.searchsorted(np.cumsum(share), [0.025, 0.975])]
    return {
        "predicted": mean,
        "predicted_low": float(low),
        "predicted_high": float(high),
        "predicted_deviation": float(share @ (at - mean) ** 2) ** 0.5,
    }


def proved(task_set: TaskSet, search: SearchSpec) -> float | None:
    """Utilisation up to which response-time analysis proves that no job misses; None where tasks of
    one core have the same priority, which it does not order as SCHED_FIFO does."""
    ranks = [(task.core, task.priority) for task in task_set.tasks]
    if len(set(ranks)) < len(ranks):
        return None

    def meets(used: Fraction) -> bool:
        timings = [RunTiming.of(task, period_ppm(task_set, used)) for task in task_set.tasks]
        tasks = (
            TimedTask(
                home=task.core,
                priority=task.priority,
                wcet=max(1, round(task.cost_ps / 1000)),
                period=timing.period_ns,
                deadline=timing.deadline_ns,
            )
            for task, timing in zip(task_set.tasks, timings, strict=True)
        )
        system = TaskSystem(processors=task_set.cores, tasks=tuple(tasks), unit="ns")
        return analyze(system, names=["p-fp"], priorities="given").results[0].answer == "accepted"

    return _bisect(search, meets, _HALVINGS)


def _bisect(search: SearchSpec, meets: Callable[[Fraction], bool], halvings: int) -> float:
    low, high = search.low, search.high
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return float((low + high) / 2)
