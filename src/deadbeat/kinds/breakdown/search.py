"""Seeks the breakdown utilisation of every task set by bisection over runs of the same program.

One step of all sets after the other, each in a random order of its own, so that states of the host
meet all cells alike. What is asked next follows from the stored runs alone: a search that was
interrupted goes on the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import attrs
from attrs import define, field, frozen

from deadbeat.catalog import Catalog
from deadbeat.emit import task_set_id
from deadbeat.executors.base import Executor, RunRequest, RunSettings, Session
from deadbeat.executors.metrics import job_columns
from deadbeat.kinds.breakdown.spec import (
    BreakdownSpec,
    SearchSpec,
    keys,
    parameters,
    period_ppm,
    run_key,
    set_seed,
    utilisation,
)
from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention.events import Phase, RunDone, RunFailed, Started, Watcher
from deadbeat.kinds.contention.runner import calibrate, known_calibration
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DataError, RunError
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.store.campaign import BreakdownStore
from deadbeat.store.jobfile import read_job_table
from deadbeat.synthesis import Synthesiser

_PROGRAM = "batch-000"
#: Length of the last run of a set, in which its tasks also run alone, over that of the others.
_LAST_LENGTH = 2


@frozen
class Misses:
    """Counted jobs of one kind of slot of a run, and those of them that missed."""

    missed: int
    jobs: int


def misses(table: JobTable, *, solo: bool = False) -> Misses:
    """Of the slots together, or of the slots alone."""
    columns = job_columns(table)
    chosen = columns.counted & (columns.solo == solo)
    return Misses(int(columns.missed[chosen].sum()), int(chosen.sum()))


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
class Results:
    """What the stored runs say; each is read once."""

    spec: BreakdownSpec
    store: BreakdownStore
    _known: dict[RunKey, bool] = field(factory=dict)
    _stored: set[RunKey] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._stored = self.store.committed()

    def learn(self, run: RunKey, table: JobTable) -> None:
        """A run that was just stored."""
        self._stored.add(run)
        self._known[run] = self._meets(table)

    def has(self, run: RunKey) -> bool:
        """Whether it is stored."""
        return run in self._stored

    def walk(self, key: RunKey) -> Walk:
        """Of one task set."""
        return walk(self.spec.search, lambda level: self._passes(run_key(self.spec, key, level)))

    def last(self, key: RunKey) -> RunKey | None:
        """The run at the breakdown that was found; None: the bisection has not ended."""
        at = self.walk(key)
        return run_key(self.spec, key, at.level) if at.ends else None

    def lacking(self, key: RunKey) -> int:
        """Runs that a task set still lacks."""
        at = self.walk(key)
        if at.ends:
            return int(not self.has(run_key(self.spec, key, at.level)))
        return (at.high - at.low).bit_length() - 1

    def _passes(self, run: RunKey) -> bool | None:
        if run not in self._stored:
            return None
        if run not in self._known:
            self._known[run] = self._meets(self.store.table(run))
        return self._known[run]

    def _meets(self, table: JobTable) -> bool:
        found = misses(table)
        return found.missed <= self.spec.search.miss_share * found.jobs


def planned(spec: BreakdownSpec) -> int:
    """Runs of a whole search."""
    return len(keys(spec)) * (spec.search.steps + 1)


def lacking(spec: BreakdownSpec, store: BreakdownStore) -> int:
    """Runs that are still to be made."""
    results = Results(spec, store)
    return sum(map(results.lacking, keys(spec)))


def settings(spec: BreakdownSpec, *, solo: bool) -> RunSettings:
    """How the runs of the bisection are carried out; ``solo``: the last run of each set, in which
    the tasks also run alone."""
    plain = design.settings(spec.campaign)
    return attrs.evolve(plain, solo=solo, seconds=plain.seconds * (_LAST_LENGTH if solo else 1))


def estimate_seconds(spec: BreakdownSpec) -> float:
    """Wall time of a whole search without its calibration, about."""
    one = settings(spec, solo=False).seconds
    return len(keys(spec)) * one * (spec.search.steps + _LAST_LENGTH) * 1.1


def run_search(
    spec: BreakdownSpec,
    executor: Executor,
    store: BreakdownStore,
    catalog: Catalog,
    *,
    on_event: Watcher,
    calibration: Calibration | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> dict[RunKey, str]:
    """Runs all that a search lacks, in about `estimate_seconds`.

    Args:
        spec: Resolved.
        on_event: Called between runs only.
        calibration: To be used instead of one made now.

    Returns:
        Runs that failed now, and why; the same call tries them again.

    Raises:
        CalibrationError: The calibration there is belongs to another platform or other settings.
        DeadbeatError: Whatever forbids every further run; what is stored stays.
        KeyboardInterrupt: Passed on; nothing is lost.
    """
    with store.lock():
        known = known_calibration(spec.campaign, executor, store, calibration)
        number = store.next_session()
        store.save_session(number, "before", executor.environment())
        try:
            costs = known or calibrate(spec.campaign, executor, catalog, on_event)
            store.save_calibration(costs)
            synthesiser = Synthesiser(catalog, costs)
            requests = tuple(
                RunRequest(key, synthesiser.synthesise(parameters(spec, key), set_seed(spec, key)))
                for key in keys(spec)
            )
            return _Search(
                results=Results(spec, store),
                executor=executor,
                requests=requests,
                on_event=on_event,
                clock=clock,
            ).finish()
        finally:
            store.save_session(number, "after", executor.environment())


@define(kw_only=True)
class _Search:
    """One session's way through what is lacking."""

    results: Results
    executor: Executor
    requests: tuple[RunRequest, ...]
    on_event: Watcher
    clock: Callable[[], float]
    _failed: dict[RunKey, str] = field(factory=dict)
    _given_up: set[RunKey] = field(factory=set)
    _left: int = 0
    _ended: int = 0
    _began: float = 0.0

    @property
    def spec(self) -> BreakdownSpec:
        return self.results.spec

    @property
    def store(self) -> BreakdownStore:
        return self.results.store

    def finish(self) -> dict[RunKey, str]:
        total = planned(self.spec)
        self._left = sum(self.results.lacking(request.key) for request in self.requests)
        left_s = estimate_seconds(self.spec) * self._left / total
        self.on_event(Started(total=total, done=total - self._left, failed=0, eta_s=left_s))
        last = self.spec.search.steps
        self._all(range(last), solo=False)
        self._all(range(last, last + 1), solo=True)
        return self._failed

    def _lacking(self, request: RunRequest) -> int:
        """Runs that a set lacks and may still get: a set that has ended lacks its last one."""
        return 0 if request.key in self._given_up else self.results.lacking(request.key)

    def _all(self, steps: range, *, solo: bool) -> None:
        """These steps of all sets; the program is opened only if there is anything to run."""
        if not any(self._lacking(request) > int(not solo) for request in self.requests):
            return
        self.on_event(Phase(name="build"))
        stored = next((program.elf for program in self.store.programs()), None)
        how = settings(self.spec, solo=solo)
        with self.executor.open(self.requests, how, program=stored) as session:
            self._keep_program(session)
            if not self._ended:
                self._began = self.clock()  # building is not how long runs take
            for step in steps:
                for request in self._order(step):
                    if self._lacking(request) == self.spec.search.steps + 1 - step:
                        self._run(session, request)

    def _order(self, step: int) -> list[RunRequest]:
        seed = self.spec.campaign.seed

        def rank(request: RunRequest) -> bytes:
            return sha256(f"breakdown {seed} {step} {request.key.text}".encode()).digest()

        return sorted(self.requests, key=rank)

    def _keep_program(self, session: Session) -> None:
        if self.store.programs():
            return
        sets = [(request.key, request.task_set) for request in self.requests]
        ids = [task_set_id(task_set) for _, task_set in sets]
        self.store.save_program(_PROGRAM, session.source, sets, session.program, set_ids=ids)

    def _run(self, session: Session, request: RunRequest) -> None:
        level = self.results.walk(request.key).level
        run = run_key(self.spec, request.key, level)
        ppm = period_ppm(request.task_set, utilisation(self.spec.search, level))
        try:
            outcome = session.run(request.key, period_ppm=ppm)
            if outcome.error is not None:
                raise outcome.error
            if outcome.file is not None:
                table = read_job_table(outcome.file)
                _check(table, request, ppm)
                self.store.commit_file(run, outcome.file)
            else:
                assert outcome.table is not None
                table = outcome.table
                _check(table, request, ppm)
                self.store.commit_table(run, table)
        except (RunError, DataError) as error:
            self._failed[run] = str(error)
            self._given_up.add(request.key)
            self.store.fail(run, str(error))
            self.on_event(RunFailed(key=run, reason=str(error), **self._progress()))
        else:
            self.results.learn(run, table)
            self._ended += 1
            self.on_event(RunDone(key=run, **self._progress()))

    def _progress(self) -> dict[str, Any]:
        total, left = planned(self.spec), self._left - self._ended
        pace = (self.clock() - self._began) / max(1, self._ended)
        return {"done": total - left, "total": total, "eta_s": left * pace}


def _check(table: JobTable, request: RunRequest, ppm: int) -> None:
    """Raises RunError where the jobs are not those that were asked for."""
    if table.set_id != task_set_id(request.task_set) or int(table.header["period_ppm"]) != ppm:
        raise RunError(
            f"run {request.key.text} came back with other jobs than asked",
            "this is a defect of the executor: report it",
        )
    if not misses(table).jobs:
        raise RunError(f"in run {request.key.text} no job counts", "a longer --seconds")
