"""Seeks the breakdown utilisation of every task set by bisection over runs of the same program.

One step of all sets after the other, each in a random order of its own, so that states of the host
meet all cells alike. What is asked next follows from the stored runs alone: a search that was
interrupted goes on the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

import attrs
import numpy as np
from attrs import define, field, frozen

from deadbeat.base.experiment.base import Kept, Lost, Phase, Todo, Watcher
from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError, RunError
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.breakdown.spec import (
    BreakdownSpec,
    SearchSpec,
    keys,
    parameters,
    period_ppm,
    run_key,
    set_of,
    set_seed,
    utilisation,
)
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.executors.base import Executor, RunOutcome, RunRequest, RunSettings
from deadbeat.tasksets.executors.metrics import Floats, job_columns
from deadbeat.tasksets.executors.preparing import TaskSetExperiment, table_of
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.synthesis import Synthesiser

_PROGRAM = "batch-000"
#: Length of the last run of a set, in which its tasks also run alone, over that of the others.
_LAST_LENGTH = 2


def misses(table: JobTable, *, solo: bool = False) -> tuple[int, int]:
    """Counted jobs that missed, and all counted jobs: of the slots together, or alone."""
    columns = job_columns(table)
    chosen = columns.counted & (columns.solo == solo)
    return int(columns.missed[chosen].sum()), int(chosen.sum())


@frozen
class Walk:
    """How far the bisection of a set is: it passed at level ``low`` and failed at ``high``, where
    it is asked for; the ends themselves are not asked.

    Where passing is not monotonic, as on a noisy host, the end lies where the answer turns.
    """

    low: int
    high: int

    @property
    def ends(self) -> bool:
        return self.high - self.low == 2

    @property
    def level(self) -> int:
        """What is asked next: half-way; after the last step the level between the two."""
        return (self.low + self.high) // 2


def walk(search: SearchSpec, passes: Callable[[int], bool | None]) -> Walk:
    """The bisection as far as ``passes`` knows levels; None: that one is not known yet."""
    at = Walk(0, 2 ** (search.steps + 1))
    while not at.ends:
        passed = passes(at.level)
        if passed is None:
            break
        at = Walk(at.level, at.high) if passed else Walk(at.low, at.level)
    return at


@define
class SearchResults:
    """What the ``stored`` runs say; each is read once."""

    spec: BreakdownSpec
    store: CampaignStore
    _known: dict[RunKey, bool] = field(factory=dict)
    stored: set[RunKey] = field(init=False)

    def __attrs_post_init__(self) -> None:
        planned = {*keys(self.spec)}
        self.stored = {run for run in self.store.committed() if set_of(run) in planned}

    def learn(self, run: RunKey, table: JobTable) -> None:
        self.stored.add(run)
        self._known[run] = self._meets(table)

    def walk(self, key: RunKey) -> Walk:
        return walk(self.spec.breakdown, lambda level: self._passes(run_key(self.spec, key, level)))

    def last(self, key: RunKey) -> RunKey | None:
        """The run at the breakdown that was found; None: the bisection has not ended."""
        at = self.walk(key)
        return run_key(self.spec, key, at.level) if at.ends else None

    def round_trips_ps(self, key: RunKey) -> Floats:
        """Between the first two cores: the median beside each stored run of a task set."""
        probes = [self.store.table(run).probes for run in self.stored if set_of(run) == key]
        chosen = [(p["kind"] == j.PROBE_ROUND_TRIP) & (p["core_b"] == 1) for p in probes]
        each = zip(probes, chosen, strict=True)
        return np.array([np.median(p["value_ps"][rows]) for p, rows in each if rows.any()])

    def lacking(self, key: RunKey) -> int:
        at = self.walk(key)
        if at.ends:
            return int(run_key(self.spec, key, at.level) not in self.stored)
        return (at.high - at.low).bit_length() - 1

    def _passes(self, run: RunKey) -> bool | None:
        if run not in self.stored:
            return None
        if run not in self._known:
            self._known[run] = self._meets(self.store.table(run))
        return self._known[run]

    def _meets(self, table: JobTable) -> bool:
        missed, jobs = misses(table)
        return missed <= self.spec.breakdown.miss_share * jobs


def planned(spec: BreakdownSpec) -> int:
    return len(keys(spec)) * (spec.breakdown.steps + 1)


def lacking(spec: BreakdownSpec, store: CampaignStore) -> int:
    results = SearchResults(spec, store)
    return sum(map(results.lacking, keys(spec)))


def settings(spec: BreakdownSpec, *, solo: bool) -> RunSettings:
    """How the runs of the bisection are carried out; ``solo``: the last run of each set, in which
    the tasks also run alone."""
    plain = spec.run.settings
    return attrs.evolve(plain, solo=solo, seconds=plain.seconds * (_LAST_LENGTH if solo else 1))


def estimate_seconds(spec: BreakdownSpec) -> float:
    """Wall time of a whole search without its calibration, about."""
    one = settings(spec, solo=False).seconds
    return len(keys(spec)) * one * (spec.breakdown.steps + _LAST_LENGTH) * 1.1


#: The run that was made, what it gave, of which task set, and its period.
Measured = tuple[RunKey, RunOutcome, RunRequest, int]


class BreakdownExperiment(TaskSetExperiment[Measured]):
    """All that a search (resolved) lacks; runs that failed are tried again by the same call."""

    def __init__(
        self,
        spec: BreakdownSpec,
        executor: Executor,
        store: CampaignStore,
        catalog: Catalog,
        *,
        calibration: Calibration | None = None,
    ) -> None:
        super().__init__(spec, executor, store, catalog, calibration=calibration)
        self._spec = spec
        self.results = SearchResults(spec, store)
        self._given_up: set[RunKey] = set()

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        spec = self._spec
        with self._calibrated(tell) as costs:
            synthesiser = Synthesiser(self._catalog, costs)
            self._requests = tuple(
                RunRequest(key, synthesiser.synthesise(parameters(spec, key), set_seed(spec, key)))
                for key in keys(spec)
            )
            yield

    def todo(self) -> Todo:
        total = planned(self._spec)
        left = sum(self.results.lacking(request.key) for request in self._requests)
        return Todo(total=total, done=total - left, left=left)

    def seconds(self, runs: int) -> float:
        return estimate_seconds(self._spec) * runs / planned(self._spec)

    def measure(self, tell: Watcher) -> Generator[Measured]:
        """All sets step by step; within a budget one set of every cell after the other: what has
        not ended when the time is over answers nothing."""
        last, waves = self._spec.breakdown.steps, [self._requests]
        if self.budget_s is not None:
            replicas = sorted({request.key.replica for request in self._requests})
            waves = [tuple(r for r in self._requests if r.key.replica == n) for n in replicas]
        for wave in waves:
            yield from self._all(wave, range(last), tell, solo=False)
            yield from self._all(wave, range(last, last + 1), tell, solo=True)

    def _lacking(self, request: RunRequest) -> int:
        """Runs that a set lacks and may still get: a set that has ended lacks its last one."""
        return 0 if request.key in self._given_up else self.results.lacking(request.key)

    def _all(
        self, wave: Sequence[RunRequest], steps: range, tell: Watcher, *, solo: bool
    ) -> Generator[Measured]:
        """These steps of a wave; the program is opened only if there is anything to run."""
        if not any(self._lacking(request) > int(not solo) for request in wave):
            return
        tell(Phase(name="build"))
        stored = next((program.elf for program in self._store.programs.all()), None)
        how, search = settings(self._spec, solo=solo), self._spec.breakdown
        with self._executor.open(self._requests, how, program=stored) as session:
            ids = [task_set_id(request.task_set) for request in self._requests]
            self._keep_program(_PROGRAM, session, self._requests, ids)
            for step in steps:
                for request in self._order(wave, step):
                    if self._lacking(request) == self._spec.breakdown.steps + 1 - step:
                        key, level = request.key, self.results.walk(request.key).level
                        ppm = period_ppm(request.task_set, utilisation(search, level))
                        found = session.run(key, period_ppm=ppm)
                        yield run_key(self._spec, key, level), found, request, ppm

    def _order(self, wave: Sequence[RunRequest], step: int) -> list[RunRequest]:
        begin = f"breakdown {self._spec.seed} {step}"
        return sorted(wave, key=lambda each: sha256(f"{begin} {each.key.text}".encode()).digest())

    def keep(self, result: Measured) -> Kept[RunKey] | Lost[RunKey]:
        run, found, request, ppm = result
        try:
            table = table_of(found, task_set_id(request.task_set))
            if int(table.header["period_ppm"]) != ppm:
                raise RunError(
                    f"run {request.key.text} came back with other periods than asked",
                    "this is a defect of the executor: report it",
                )
            if not misses(table)[1]:
                raise RunError(f"in run {request.key.text} no job counts", "a longer --duration")
            self._store.commit(run, table, found.file)
        except (RunError, DataError) as error:
            self._given_up.add(request.key)
            return Lost(run, error)
        self.results.learn(run, table)
        return Kept(run)

    def kept(self) -> str:
        total = planned(self._spec)
        return f"{total - lacking(self._spec, self._store)} of {total} {self.unit}"
