"""What a campaign takes, and how its runs are measured, with which calibration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import attrs
from attrs import frozen

from deadbeat.base.experiment.base import Kept, Lost, Outcome, Phase, Todo, Watcher
from deadbeat.base.model.errors import DataError, RunError
from deadbeat.base.model.jobs import JobTable
from deadbeat.machine.trace.jobs import worst_jobs
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.contention.place import (
    Batch,
    Generated,
    StoredPrograms,
    Supply,
    check_place,
    copy_programs,
)
from deadbeat.tasksets.contention.plan import (
    corners_first,
    group_of,
    is_complete,
    most_runs,
    offered,
    plan,
    planned_runs,
)
from deadbeat.tasksets.contention.precision import Allocation, Precision, precision_of, sample_of
from deadbeat.tasksets.contention.spec import CampaignSpec
from deadbeat.tasksets.contention.view import OWN_SECONDS
from deadbeat.tasksets.executors.base import SLOT_MIN_NS, Costing, Executor, RunOutcome, Session
from deadbeat.tasksets.executors.preparing import TaskSetExperiment, table_of
from deadbeat.tasksets.executors.tables import (
    SOLO_SAMPLE,
    RunTiming,
    rounds_for,
    rounds_min,
    slot_lengths,
)
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import Kind
from deadbeat.tasksets.store.campaign import OWN_COSTS_FILE, CampaignStore, estimate_bytes
from deadbeat.tasksets.synthesis import Synthesiser

#: Wall time of a simulated job and of the rest of its run (generate, store, summarise), generous.
_SECONDS_PER_JOB, _SECONDS_PER_RUN = 12e-6, 0.05
#: Wall time of a run beyond its timetable (start, set-up, commit), s.
_OVERHEAD_S = 0.05
#: Number of sets after which prices are measured again, each time for a part of their first time.
_PRICED_EVERY, _PARTS = 24, 4
#: Kept per task set beside its jobs: its tables in C, in the executable and in the index.
_PROGRAM_BYTES = 48 * 1024


@frozen(kw_only=True)
class CampaignCost:
    runs: int
    jobs: int
    bytes: int
    seconds: float


#: Boots that take as long as a run in the laboratory, and as a calibration.
BOOTS_RUN, BOOTS_CALIBRATION = 2, 3


def estimate(
    spec: CampaignSpec, *, calibrated: bool = False, simulated: bool = False
) -> CampaignCost:
    """What a resolved campaign takes, from its parameters alone; bytes are an upper bound.
    ``calibrated``: no calibration is to be made. ``simulated``: slots take no wall-clock time:
    jobs are computed."""
    keys = plan(spec)
    need = jobs = 0
    seconds = 0.0
    cells = Counter((key.point.per_core, key.point.cores, group_of(spec, key)) for key in keys)
    for (per_core, cores, group), runs in cells.items():
        # ``spec`` as if it had one row: that with ``per_core`` tasks a core; 0: the grid.
        row_tasks = spec.tasks
        if spec.loaded is not None and per_core:
            factors = (spec.loaded.deadline_factor,)
            row_tasks = attrs.evolve(row_tasks, per_core=per_core, deadline_factor=factors)
        row = attrs.evolve(spec, loaded=None, tasks=row_tasks)
        tasks = row.most_tasks(cores, group)
        sampled = min(tasks, SOLO_SAMPLE)
        length_s = run_length_s(row, tasks)
        slots = math.ceil(length_s * 1e9 / SLOT_MIN_NS)
        # one slot in 1 + sampled runs all tasks, the others one each
        running = (tasks + sampled) / (1 + sampled)
        # Mean release rate of a task, 1/s, or a bound on it.
        if row.by_utilisation:
            rate = 1e9 / row.tasks.period_min
        else:
            deadline_factors = row.tasks.deadline_factor
            rate = _inverse_wcet(row) * float(
                sum(1 / factor for factor in deadline_factors) / len(deadline_factors)
            )
        if group is not None and group.critical_cores and row.stress is not None:
            # A task alone on a core that is filled has the whole fill.
            rate = max(rate, _inverse_wcet(row) * float(row.stress.fill_utilisation))
        per_run = math.ceil(length_s * running * rate)
        jobs += runs * per_run
        seconds += runs * (length_s + _OVERHEAD_S)
        need += estimate_bytes(
            runs=runs,
            jobs=per_run,
            tasks=tasks,
            slots=slots,
            cores=cores,
            details=spec.run.causes,
            counted=slots * tasks if spec.run.counters else 0,
        )
        need += runs * _PROGRAM_BYTES * max(1, tasks // 2)
    runs = most_runs(spec)
    part = runs / len(keys)
    seconds, jobs, need = part * seconds, math.ceil(part * jobs), math.ceil(part * need)
    if simulated:
        seconds = jobs * _SECONDS_PER_JOB + runs * _SECONDS_PER_RUN
    else:
        priced = (not calibrated) + runs // _PRICED_EVERY / _PARTS
        seconds += (
            spec.calibration.about_seconds * (not calibrated) + spec.calibration.prices * priced
        )
    return CampaignCost(runs=runs, jobs=jobs, bytes=need, seconds=seconds)


def run_length_s(spec: CampaignSpec, tasks: int) -> float:
    """Length of the timetable of a run of this many tasks of the grid or the groups, s: the fewest
    rounds may take longer than what is asked. A bound: with slots of the slowest task there can be.
    """
    slowest_ns = int(spec.longest_period_ns)
    slowest = RunTiming(
        period_ns=slowest_ns, deadline_ns=slowest_ns, offset_ns=0, wcet_ns=slowest_ns // 10, core=0
    )
    slot_ns = slot_lengths([slowest], [slowest], spec.run.settings)
    round_ns = (1 + min(tasks, SOLO_SAMPLE)) * sum(slot_ns)
    rounds = max(rounds_min(tasks), rounds_for([slowest], slot_ns[1], spec.run.jobs))
    return max(spec.run.seconds, rounds * round_ns / 1e9)


def run_seconds(spec: CampaignSpec, *, simulated: bool) -> float:
    """Wall time of a run of a resolved specification before any is known."""
    whole = estimate(spec, calibrated=True, simulated=simulated)
    return whole.seconds / whole.runs


def _inverse_wcet(spec: CampaignSpec) -> float:
    """Mean of 1/C, 1/s; for non-uniform C its bound, that of the shortest C."""
    low, high, drawn = spec.tasks.wcet_min, spec.tasks.wcet_max, spec.stress
    if drawn is not None and drawn.wcet_min is not None:
        return 1e9 / drawn.wcet_min.smallest
    plain = drawn is None or (drawn.distribution or drawn.wcet_max) is None
    if plain and spec.tasks.distribution == "uniform" and high > low:
        # E[1/C] of a uniform C.
        return 1e9 * math.log(high / low) / (high - low)
    return 1e9 / low


#: What a run gave, and the identifier of the task set it was to run.
Measured = tuple[RunOutcome, str]


class CampaignExperiment(TaskSetExperiment[Measured]):
    """What ``store`` lacks of a campaign: everything that is neither committed nor failed.

    A batch always holds the same task sets, whatever of it is left to do: its program is the same
    in every session. ``spec``: resolved (``plan.resolve``). ``retry_failed``: whether failed runs
    are tried again. ``source``: the campaign that has the programs of ``store`` (it has an
    origin); may be None once they are all copied."""

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
    ) -> None:
        super().__init__(spec, executor, store, catalog, calibration=calibration)
        self._spec, self._source = spec, source
        self._retry = retry_failed
        self._precision = precision_of(spec, ())
        self._committed: set[RunKey] = set()
        self._lacking: set[RunKey] = set()
        self._attempted: set[RunKey] = set()

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """The campaign's calibration, made if need be, and its task sets. Raises CalibrationError:
        the calibration there is belongs to another platform or settings."""
        spec, store = self._spec, self._store
        origin = store.load_origin()
        borrowed = None
        if origin is not None:
            check_place(origin, self._executor.describe())
            copy_programs(self._source, store, origin)
            borrowed = store.load_calibration() or (
                self._source.load_calibration() if self._source else None
            )
            if borrowed is None:
                raise DataError(
                    f"{store.path} has no calibration yet, and the campaign it is taken from"
                    " is not known",
                    "repeat the command with --programs-from",
                )
        with self._calibrated(tell, borrowed=borrowed) as costs:
            self._keys = offered(spec, None if origin is None else store.programs.keys())
            self._supply: Supply = (
                Generated(spec=spec, synthesiser=Synthesiser(self._catalog, costs))
                if origin is None
                else StoredPrograms(store=store, origin=origin)
            )
            self._precision = precision_of(spec, self._keys)
            if origin is not None and origin.original.system != origin.platform.system:
                self._measure_own(costs, tell)
            yield

    def _measure_own(self, borrowed: Calibration, tell: Watcher) -> None:
        """What the shared objects of the sets take on this other system: its overheads."""
        if self._store.load_calibration(OWN_COSTS_FILE) is not None:
            return
        names = {entry.partition("/")[0] for entry in borrowed.costs}
        known = self._catalog.fragments.items()
        objects = {name: each for name, each in known if name in names and each.kind is Kind.SY}
        policy = self._spec.run.policy
        lacking = self._executor.unavailable(Catalog(fragments=objects), policy=policy)
        usable = {name: each for name, each in objects.items() if name not in lacking}
        if not usable:
            return
        tell(Phase(name="calibration"))
        self._store.save_calibration(
            self._executor.calibrate(
                Catalog(fragments=usable),
                Costing(
                    pool=borrowed.pool,
                    seconds=OWN_SECONDS,
                    basis=borrowed.basis,
                    policy=borrowed.policy,
                ),
                lambda share: tell(Phase(name="calibration", share=share)),
            ),
            name=OWN_COSTS_FILE,
        )

    def todo(self) -> Todo:
        self._committed = self._store.committed()
        # what failed keeps its record until it is committed, or fails again
        failed = {} if self._retry else self._store.failed()
        self._attempted = {*self._committed, *failed}
        self._lacking = {k for k in self._keys if k not in self._committed and k not in failed}
        total = min(len(self._keys), most_runs(self._spec))
        done = sum(key in self._committed for key in self._keys)
        bounded = isinstance(self._precision, Allocation)
        return Todo(
            total=total,
            done=done,
            left=min(len(self._lacking), total - done) if bounded else len(self._lacking),
            failed=len(failed),
        )

    def seconds(self, runs: int) -> float:
        if boot_s := self._executor.boot_s:
            return runs * BOOTS_RUN * boot_s
        simulated = self._executor.describe().made_up
        return runs * run_seconds(self._spec, simulated=simulated)

    def measure(self, tell: Watcher) -> Generator[Measured]:
        for name, batch in self._supply.batches(self._keys):
            yield from self._batch(name, batch, tell)

    def _batch(self, name: str, batch: Sequence[RunKey], tell: Watcher) -> Generator[Measured]:
        """Runs what is wanted of a batch; it is built only if there is any."""
        with ExitStack() as stack:
            opened: tuple[Session, Batch] | None = None
            for key in batch if self.budget_s is None else corners_first(self._spec, batch):
                precision = self._precision
                if precision is not None and not precision.wanted(key):
                    continue
                if precision is not None and key in self._committed:
                    precision.learn(key, sample_of(self._spec, key, self._store.table(key)))
                elif key in self._lacking:
                    if opened is None:
                        tell(Phase(name="build"))
                        opened = self._open(stack, name, batch)
                    session, supplied = opened
                    self._lacking.discard(key)
                    self._attempted.add(key)
                    self._price_again(session)
                    yield session.run(key), supplied.set_ids[key]

    def _price_again(self, session: Session) -> None:
        """Prices while the map is measured: the host's states of the whole time meet them."""
        times, rest = divmod(len(self._attempted), _PRICED_EVERY)
        if self.prices is not None and not rest and self.prices.batches <= times:
            session.rest()
            self.prices.more(self.price_s / _PARTS)

    def _open(self, stack: ExitStack, name: str, batch: Sequence[RunKey]) -> tuple[Session, Batch]:
        supplied = self._supply.batch(name, batch)
        settings = self._spec.run.settings
        session = stack.enter_context(
            self._executor.open(supplied.requests, settings, program=supplied.program)
        )
        ids = [supplied.set_ids[request.key] for request in supplied.requests]
        self._keep_program(name, session, supplied.requests, ids)
        return session, supplied

    def keep(self, result: Measured) -> Kept[RunKey] | Lost[RunKey]:
        """Whatever the host did meanwhile, it counts."""
        found, set_id = result
        try:
            table = table_of(found, set_id)
            self._store.commit(found.key, table, found.file)
            if self._precision is not None:
                self._precision.learn(found.key, sample_of(self._spec, found.key, table))
            self._keep_trace(found, table)
        except (RunError, DataError) as error:
            return Lost(found.key, error)
        return Kept(found.key)

    def decided(self) -> tuple[int, int] | None:
        """A balanced map has this many runs, of whichever points need them."""
        return self._precision.decided() if isinstance(self._precision, Precision) else None

    def expected_left(self) -> int:
        return self._precision.expected_left() if isinstance(self._precision, Precision) else 0

    def kept(self) -> str:
        stand = standing(self._spec, self._store)
        return f"{stand.done} of {stand.planned} {self.unit}"

    def outcome(self, found: Outcome[RunKey]) -> Outcome[RunKey]:
        if self._precision is not None:
            self._store.save_precision(self._precision.record())
        return standing(self._spec, self._store)

    def _keep_trace(self, found: RunOutcome, table: JobTable) -> None:
        if found.trace is None:
            return
        worst = worst_jobs(table, 1)
        if worst or found.trace.unavailable:
            severity = (worst[0].tardiness_ns, worst[0].response_share) if worst else (0, 0.0)
            self._store.save_trace(found.key, found.trace, severity)


def standing(spec: CampaignSpec, store: CampaignStore) -> Outcome[RunKey]:
    return Outcome(
        planned=planned_runs(spec, store),
        done=len(store.committed()),
        failed={key: str(record.get("reason", "")) for key, record in store.failed().items()},
        complete=is_complete(spec, store),
    )
