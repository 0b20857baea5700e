"""How the runs of a campaign are measured, and with which calibration."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from deadbeat.catalog import Catalog
from deadbeat.executors.base import Executor, RunOutcome, Session
from deadbeat.experiment.base import Experiment, Kept, Lost, Outcome, Phase, Todo, Watcher
from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention import rounds
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

#: What a run gave, and the identifier of the task set it was to run.
Measured = tuple[RunOutcome, str]
#: Of the jobs of a campaign so much is kept in memory until it is summarised.
_TABLES_BYTES = 64_000_000


class CampaignExperiment(Experiment[RunKey, Measured]):
    """What ``store`` lacks of a campaign: everything that is neither committed nor failed.

    A batch always holds the same task sets, whatever of it is left to do: its program is the same
    in every session.

    Args:
        spec: Resolved (``plan.resolve``).
        calibration: To be used instead of one made now; kept in the campaign.
        retry_failed: Whether failed runs are tried again.
        source: The campaign whose programs ``store`` was begun for (it has an origin); may be None
            once they are all copied.
        stopping: Makes what tells which of the runs on offer are still wanted; None: all are.
    """

    def __init__(
        self,
        spec: CampaignSpec,
        executor: Executor,
        store: CampaignStore,
        catalog: Catalog,
        *,
        calibration: Calibration | None = None,
        retry_failed: bool = False,
        source: CampaignStore | None = None,
        stopping: Callable[[Calibration, Sequence[RunKey]], Stopping] | None = None,
    ) -> None:
        self._spec, self._executor, self._store = spec, executor, store
        self._catalog, self._calibration, self._source = catalog, calibration, source
        self._retry, self._begin_stopping = retry_failed, stopping
        self._stopping: Stopping = FixedDesign()
        self._committed: set[RunKey] = set()
        self._lacking: set[RunKey] = set()

    @property
    def store(self) -> CampaignStore:
        return self._store

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """The campaign's calibration, made if need be, and its task sets.

        Raises:
            CalibrationError: The calibration there is belongs to another platform or settings.
        """
        spec, store, executor = self._spec, self._store, self._executor
        origin = store.load_origin()
        if origin is None:
            known = known_calibration(spec, executor, store, self._calibration)
        else:
            check_place(origin, executor.describe())
            copy_programs(self._source, store, origin)
            known = store.load_calibration()
        store.remember(_TABLES_BYTES)
        with recorded(store, executor):
            if known is not None:
                costs = known
            elif origin is not None:
                costs = _borrow(store, self._source)
            else:
                costs = calibrate(spec, executor, self._catalog, tell)
            store.save_calibration(costs)
            self._keys = rounds.offered(spec, None if origin is None else store.planned())
            self._supply: Supply = (
                Generated(spec=spec, synthesiser=Synthesiser(self._catalog, costs))
                if origin is None
                else StoredPrograms(store=store, origin=origin)
            )
            if self._begin_stopping is not None:
                self._stopping = self._begin_stopping(costs, self._keys)
            yield

    def todo(self) -> Todo:
        self._committed = self._store.committed()
        # what failed keeps its record until it is committed, or fails again
        failed = {} if self._retry else self._store.failed()
        self._lacking = {k for k in self._keys if k not in self._committed and k not in failed}
        return Todo(
            total=min(len(self._keys), design.most_runs(self._spec)),
            done=sum(key in self._committed for key in self._keys),
            left=len(self._lacking),
            failed=len(failed),
        )

    def seconds(self, runs: int) -> float:
        simulated = self._executor.describe().kind == "simulated"
        return runs * design.run_seconds(self._spec, simulated=simulated)

    def measure(self, tell: Watcher) -> Generator[Measured]:
        batches = self._supply.batches(self._keys)
        for _ in range(self._stopping.passes):
            for name, batch in batches:
                yield from self._batch(name, batch, tell)

    def _batch(self, name: str, batch: Sequence[RunKey], tell: Watcher) -> Generator[Measured]:
        """Runs what is wanted of a batch; it is built only if there is any."""
        with ExitStack() as stack:
            opened: tuple[Session, Batch] | None = None
            for key in batch:
                if not self._stopping.wanted(key):
                    continue
                if key in self._committed and self._stopping.recalls:
                    self._stopping.learn(key, self._store.table(key))
                elif key in self._lacking:
                    if opened is None:
                        tell(Phase(name="build"))
                        opened = self._open(stack, name, batch)
                    session, supplied = opened
                    self._lacking.discard(key)
                    yield session.run(key), supplied.set_ids[key]

    def _open(self, stack: ExitStack, name: str, batch: Sequence[RunKey]) -> tuple[Session, Batch]:
        supplied = self._supply.batch(name, batch)
        settings = design.settings(self._spec)
        session = stack.enter_context(
            self._executor.open(supplied.requests, settings, program=supplied.program)
        )
        # Kept once: a batch is the same in every session.
        if not any(program.batch == name for program in self._store.programs()):
            self._store.save_program(
                name,
                session.source,
                [(request.key, request.task_set) for request in supplied.requests],
                session.program,
                set_ids=[supplied.set_ids[request.key] for request in supplied.requests],
            )
        return session, supplied

    def keep(self, result: Measured) -> Kept[RunKey] | Lost[RunKey]:
        """Whatever the host did meanwhile, it counts."""
        found, set_id = result
        try:
            table = table_of(found, set_id)
            commit(self._store, found.key, found, table)
            self._stopping.learn(found.key, table)
            self._keep_trace(found, table)
        except (RunError, DataError) as error:
            return Lost(found.key, error)
        return Kept(found.key)

    def lose(self, key: RunKey, reason: str) -> None:
        self._store.fail(key, reason)

    def decided(self) -> tuple[int, int] | None:
        return self._stopping.decided()

    def expected_left(self) -> int:
        return self._stopping.expected_left()

    def kept(self) -> str:
        stand = standing(self._spec, self._store)
        return f"{stand.done} of {stand.planned} {self.unit}"

    def outcome(self, found: Outcome[RunKey]) -> Outcome[RunKey]:
        record = self._stopping.record()
        if record is not None:
            self._store.save_precision(record)
        return standing(self._spec, self._store)

    def _keep_trace(self, found: RunOutcome, table: JobTable) -> None:
        """The trace of a committed run; the store keeps those of the worst jobs."""
        if found.trace is None:
            return
        worst = worst_jobs(table, 1)
        if worst or found.trace.unavailable:
            severity = (worst[0].tardiness_ns, worst[0].response_share) if worst else (0, 0.0)
            self._store.save_trace(found.key, found.trace, severity)


@contextmanager
def recorded(store: CampaignStore, executor: Executor) -> Iterator[None]:
    """Keeps what the machine is like before and after a session."""
    number = store.next_session()
    store.save_session(number, "before", executor.environment())
    try:
        yield
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


def standing(spec: CampaignSpec, store: CampaignStore) -> Outcome[RunKey]:
    """Where the campaign in ``store`` stands."""
    return Outcome(
        planned=rounds.planned(spec, store),
        done=len(store.committed()),
        failed={key: str(record.get("reason", "")) for key, record in store.failed().items()},
        complete=rounds.is_complete(spec, store),
    )


def commit(store: CampaignStore, key: RunKey, outcome: RunOutcome, table: JobTable) -> None:
    """Stores ``table``, the jobs of an outcome, as run ``key``."""
    if outcome.file is not None:
        store.commit_file(key, outcome.file, table)
    else:
        store.commit_table(key, table)


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
