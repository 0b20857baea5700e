"""Runs what a campaign still lacks.

What exists in the store is never run again, so that the same call continues after any
interruption. A batch always holds the same task sets, whatever of it is left to do: its program is
the same in every session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from attrs import define, field, frozen

from deadbeat.catalog import Catalog
from deadbeat.executors.base import Executor, RunOutcome, Session
from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention import rounds
from deadbeat.kinds.contention.events import (
    Finished,
    Phase,
    RunDone,
    RunFailed,
    Started,
    Watcher,
)
from deadbeat.kinds.contention.programs import check_place, copy_programs
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.kinds.contention.stopping import FixedDesign, Stopping
from deadbeat.kinds.contention.supply import Batch, Generated, StoredPrograms, Supply
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import CalibrationError, DataError, RunError
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.jobfile import read_job_table
from deadbeat.synthesis import Synthesiser
from deadbeat.trace.jobs import worst_jobs


@frozen(kw_only=True)
class CampaignResult:
    """Where a campaign stands after a session that was not interrupted.

    Attributes:
        planned: Where points stop when they are known, at most, until all are decided.
        complete: Nothing is left to run; False where the time was over first.
    """

    planned: int
    done: int
    failed: dict[RunKey, str]
    complete: bool = True


def run_campaign(
    spec: CampaignSpec,
    executor: Executor,
    store: CampaignStore,
    catalog: Catalog,
    *,
    on_event: Watcher,
    calibration: Calibration | None = None,
    retry_failed: bool = False,
    source: CampaignStore | None = None,
    stopping: Callable[[Calibration, Sequence[RunKey]], Stopping] | None = None,
    budget_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> CampaignResult:
    """Calibrates if need be, then runs everything that is neither committed nor failed.

    Args:
        spec: Resolved (``plan.resolve``).
        on_event: Called between runs only.
        calibration: To be used instead of one made now; kept in the campaign.
        retry_failed: Whether failed runs are tried again.
        source: The campaign whose programs ``store`` was begun for (it has an origin); may be None
            once they are all copied.
        stopping: Makes what tells which of the runs on offer are still wanted; None: all are.
        budget_s: No run begins later than this after the call; what is left stays for another.
        clock: Seconds; for the estimate of what is left.

    Raises:
        CalibrationError: The calibration there is belongs to another platform or other settings.
        DeadbeatError: Whatever forbids every further run; what is committed stays.
        KeyboardInterrupt: Passed on after the running set was cleaned up; nothing is lost.
    """
    began = clock()
    with store.lock():
        origin = store.load_origin()
        if origin is None:
            known = known_calibration(spec, executor, store, calibration)
        else:
            check_place(origin, executor.describe())
            copy_programs(source, store, origin)
            known = store.load_calibration()
        number = store.next_session()
        store.save_session(number, "before", executor.environment())
        try:
            if known is not None:
                costs = known
            elif origin is not None:
                costs = _borrow(store, source)
            else:
                costs = calibrate(spec, executor, catalog, on_event)
            store.save_calibration(costs)
            keys = rounds.offered(spec, None if origin is None else store.planned())
            return _Work(
                spec=spec,
                keys=keys,
                executor=executor,
                store=store,
                supply=Generated(spec=spec, synthesiser=Synthesiser(catalog, costs))
                if origin is None
                else StoredPrograms(store=store, origin=origin),
                stopping=stopping(costs, keys) if stopping else FixedDesign(),
                ends=None if budget_s is None else began + budget_s,
                on_event=on_event,
                clock=clock,
                retry=retry_failed,
            ).finish()
        finally:
            store.save_session(number, "after", executor.environment())


def check_calibration(
    calibration: Calibration,
    spec: CampaignSpec,
    executor: Executor,
    *,
    called: str = "the calibration",
) -> None:
    """Refuses a calibration that cannot serve ``spec`` on this executor.

    Args:
        called: What it is called in messages.

    Raises:
        CalibrationError: Naming everything that does not agree, and the options that make it.
    """
    platform = executor.describe()
    made = calibration.platform
    if made.fingerprint != platform.fingerprint:
        raise CalibrationError(
            f"{called} belongs to {made.name} ({made.soc}), not to {platform.name}"
            f" ({platform.soc}) with its frequency policy and toolchain",
            "make one here with deadbeat calibrate, or begin a campaign anew with --fresh",
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
            f"run the campaign with {use}, or make another: deadbeat calibrate {make}",
        )


def known_calibration(
    spec: CampaignSpec, executor: Executor, store: CampaignStore, given: Calibration | None
) -> Calibration | None:
    """The campaign's own calibration, else the one given; None: it is to be made.

    Raises:
        CalibrationError: It cannot serve, or the two differ.
    """
    kept = store.load_calibration()
    if kept is not None and given is not None and given != kept:
        raise CalibrationError(
            f"{store.path} has another calibration already",
            "continue without --calibration, or begin anew with --fresh",
        )
    known = kept or given
    if known is not None:
        check_calibration(known, spec, executor)
    return known


def calibrate(
    spec: CampaignSpec, executor: Executor, catalog: Catalog, on_event: Watcher
) -> Calibration:
    on_event(Phase(name="calibration"))
    return executor.calibrate(
        catalog,
        pool=spec.calibration.pool,
        seconds=spec.calibration.seconds,
        basis=spec.calibration.basis,
        policy=spec.run.policy,
        layout=spec.run.layout,
        participants=max(map(spec.most_tasks, spec.core_counts)),
        progress=lambda share: on_event(Phase(name="calibration", share=share)),
    )


def _borrow(store: CampaignStore, source: CampaignStore | None) -> Calibration:
    """The costs of the campaign whose programs are run."""
    costs = source.load_calibration() if source else None
    if costs is None:
        raise DataError(
            f"{store.path} has no calibration yet, and the campaign it is taken from is not known",
            "repeat the command with --programs-from",
        )
    return costs


@define(kw_only=True)
class _Work:
    """One session's way through the plan."""

    spec: CampaignSpec
    keys: tuple[RunKey, ...]
    executor: Executor
    store: CampaignStore
    supply: Supply
    stopping: Stopping
    ends: float | None
    on_event: Watcher
    clock: Callable[[], float]
    retry: bool
    _is_late: bool = field(init=False, default=False)
    _total: int = field(init=False, default=0)
    _done: int = field(init=False, default=0)
    _left: int = field(init=False, default=0)
    _ended: int = field(init=False, default=0)
    _began: float = field(init=False, default=0.0)

    def finish(self) -> CampaignResult:
        """Runs all that is lacking, batch by batch, in the order of the plan."""
        keys = self.keys
        committed = self.store.committed()
        # what failed keeps its record until it is committed, or fails again
        failed = {} if self.retry else self.store.failed()
        lacking = {key for key in keys if key not in committed and key not in failed}
        self._total, self._left = min(len(keys), design.most_runs(self.spec)), len(lacking)
        self._done = sum(key in committed for key in keys)
        self._began = self.clock()
        self.on_event(
            Started(
                total=self._total,
                done=self._done,
                failed=len(failed),
                eta_s=self._eta_s(),
                decided=self.stopping.decided(),
            )
        )
        self._go_through(self.supply.batches(keys), committed, lacking)
        record = self.stopping.record()
        if record is not None:
            self.store.save_precision(record)
        result = standing(self.spec, self.store)
        self.on_event(Finished(done=result.done, failed=len(result.failed)))
        return result

    def _go_through(
        self,
        batches: Sequence[tuple[str, Sequence[RunKey]]],
        committed: set[RunKey],
        lacking: set[RunKey],
    ) -> None:
        for _ in range(self.stopping.passes):
            for name, batch in batches:
                if not self._is_late:
                    self._run_batch(name, batch, committed, lacking)

    def _run_batch(
        self, name: str, batch: Sequence[RunKey], committed: set[RunKey], lacking: set[RunKey]
    ) -> None:
        """Runs what is wanted of a batch; it is built only if there is any."""
        with ExitStack() as stack:
            opened: tuple[Session, Batch] | None = None
            for key in batch:
                if key in lacking and self.ends is not None and self.clock() >= self.ends:
                    self._is_late = True
                    return
                if not self.stopping.wanted(key):
                    continue
                if key in committed and self.stopping.recalls:
                    self.stopping.learn(key, self.store.table(key))
                elif key in lacking:
                    opened = opened or self._open(stack, name, batch)
                    session, supplied = opened
                    self._run(session, key, supplied.set_ids[key])
                    lacking.discard(key)

    def _open(self, stack: ExitStack, name: str, batch: Sequence[RunKey]) -> tuple[Session, Batch]:
        self.on_event(Phase(name="build"))
        supplied = self.supply.batch(name, batch)
        settings = design.settings(self.spec)
        session = stack.enter_context(
            self.executor.open(supplied.requests, settings, program=supplied.program)
        )
        self._keep_program(name, session, supplied)
        return session, supplied

    def _keep_program(self, name: str, session: Session, batch: Batch) -> None:
        """Kept once: a batch is the same in every session."""
        if any(program.batch == name for program in self.store.programs()):
            return
        self.store.save_program(
            name,
            session.source,
            [(request.key, request.task_set) for request in batch.requests],
            session.program,
            set_ids=[batch.set_ids[request.key] for request in batch.requests],
        )

    def _run(self, session: Session, key: RunKey, set_id: str) -> None:
        """Runs ``key`` once: whatever the host did meanwhile, it counts."""
        outcome = session.run(key)
        try:
            table = _table_of(outcome, set_id)
            self._commit(outcome, table)
            self._keep_trace(outcome, table)
        except (RunError, DataError) as error:
            self._fail(key, str(error))

    def _keep_trace(self, outcome: RunOutcome, table: JobTable) -> None:
        """The trace of a committed run; the store keeps those of the worst jobs."""
        if outcome.trace is None:
            return
        worst = worst_jobs(table, 1)
        if worst or outcome.trace.unavailable:
            severity = (worst[0].tardiness_ns, worst[0].response_share) if worst else (0, 0.0)
            self.store.save_trace(outcome.key, outcome.trace, severity)

    def _commit(self, outcome: RunOutcome, table: JobTable) -> None:
        if outcome.file is not None:
            self.store.commit_file(outcome.key, outcome.file)
        elif outcome.table is not None:
            self.store.commit_table(outcome.key, outcome.table)
        self.stopping.learn(outcome.key, table)
        self._done += 1
        self._ended += 1
        left, decided = self._expected_left(), self.stopping.decided()
        self.on_event(
            RunDone(
                key=outcome.key,
                done=self._done,
                total=self._total if decided is None else self._done + left,
                eta_s=self._eta_s(),
                decided=decided,
            )
        )

    def _fail(self, key: RunKey, reason: str) -> None:
        self.store.fail(key, reason)
        self._ended += 1
        self.on_event(
            RunFailed(
                key=key, reason=reason, done=self._done, total=self._total, eta_s=self._eta_s()
            )
        )

    def _eta_s(self) -> float:
        """Seconds left: by the pace of this session, before its first run by the plan alone."""
        if not self._ended:
            simulated = self.executor.describe().kind == "simulated"
            pace = design.run_seconds(self.spec, simulated=simulated)
        else:
            pace = (self.clock() - self._began) / self._ended
        return self._expected_left() * pace

    def _expected_left(self) -> int:
        """Runs still to come; where points stop when they are known, an estimate."""
        if self.stopping.decided() is None:
            return max(0, self._left - self._ended)
        return self.stopping.expected_left()


def standing(spec: CampaignSpec, store: CampaignStore) -> CampaignResult:
    """Where the campaign in ``store`` stands."""
    return CampaignResult(
        planned=rounds.planned(spec, store),
        done=len(store.committed()),
        failed={key: str(record.get("reason", "")) for key, record in store.failed().items()},
        complete=rounds.is_complete(spec, store),
    )


def _table_of(outcome: RunOutcome, set_id: str) -> JobTable:
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
