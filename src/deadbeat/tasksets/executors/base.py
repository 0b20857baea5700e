"""The seam between a campaign and whatever runs task sets: hardware, a simulator, a fake.

A campaign opens a session for a batch of requests and runs them one by one, sleeping while a run is
in progress. An executor writes no results of its own: it hands back a table, or a file the campaign
moves into the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from attrs import field, frozen

from deadbeat.base.model.errors import RunError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.traces import RunTrace
from deadbeat.base.model.words import Json
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import TaskSet

if TYPE_CHECKING:
    from deadbeat.base.model.jobs import JobTable
    from deadbeat.tasksets.catalog import Catalog
    from deadbeat.tasksets.prices.table import PriceBatch
    from deadbeat.tasksets.prices.works import Pricing

#: Periods as they are.
UNSCALED_PPM = 1_000_000
#: No slot is shorter (runtime/src/core/plan.c).
SLOT_MIN_NS = 5_000_000

#: Called with the share done in [0, 1]; never while something is being measured.
Progress = Callable[[float], None]


def unheard(_share: float) -> None:
    """Progress without a listener."""


def needing_fifo(catalog: Catalog) -> dict[str, str]:
    """Fragment -> the words of what it needs a real-time policy for."""
    needs = {"priority-ceiling", "priority-inheritance", "realtime-policy"}
    words = {each.name: sorted(needs & set(each.requires)) for each in catalog.fragments.values()}
    return {name: ", ".join(found) for name, found in words.items() if found}


@frozen(kw_only=True)
class Costing:
    """What a calibration is asked: costs of the entries of ``pool``, in about ``seconds``.

    Attributes:
        basis, policy, layout: See `Calibration`; those of the runs that they are for.
        participants: Tasks that will share one object at most.
    """

    pool: str
    seconds: float
    basis: str = "warm"
    policy: str = "fifo"
    layout: str = "default"
    participants: int = 1


@frozen(kw_only=True)
class RunSettings:
    """How every run of a session is carried out.

    Attributes:
        seconds: Length of a run's timetable, s; a run of many or slow tasks takes what the fewest
            rounds take (``executors.tables``).
        jobs: Counted releases that each task has at least, together; the run is as long as that
            takes, also beyond ``seconds``.
        slot_periods: Length of a slot in periods of its slowest task; 0: by the rule.
        warmup_jobs: Periods of its slowest task that count nowhere, at the start of a slot.
        solo: Whether each task also runs alone.
        overrun: ``skip`` (a release while the predecessor still runs is a miss) or ``late``.
        policy: ``fifo`` (SCHED_FIFO) or ``other`` (marks every result).
        split: Whether CPU time, run delays and context switches are read around each job.
        layout: ``default``: a process per core; ``shared-address-space``: one for all tasks.
        counters: Whether perf events of each task are counted in each slot.
        causes: Whether it is recorded why jobs were late: implies ``split``; also the time of
            every use (job details), and scheduling events of the worst jobs where the machine
            lets itself be traced.
    """

    seconds: float
    jobs: int = 0
    slot_periods: int = 0
    warmup_jobs: int = 1
    solo: bool = True
    overrun: Literal["skip", "late"] = "skip"
    policy: Literal["fifo", "other"] = "fifo"
    split: bool = False
    layout: Literal["default", "shared-address-space"] = "default"
    counters: bool = False
    causes: bool = False


@frozen
class RunRequest:
    """A task set that a session will be asked to run under ``key``."""

    key: RunKey
    task_set: TaskSet


@frozen(kw_only=True)
class RunOutcome:
    """What came of one run: its jobs, as a table, a result file (records.h) or both, or an error.

    Attributes:
        trace: What happened around its worst jobs; None where nothing was asked for.
    """

    key: RunKey
    table: JobTable | None = field(default=None, eq=False)
    file: Path | None = None
    error: RunError | None = None
    trace: RunTrace | None = field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        jobs = self.table is not None or self.file is not None
        if jobs == (self.error is not None):
            raise ValueError(f"outcome of {self.key.text}: either jobs or an error")


@frozen(kw_only=True)
class ControlResult:
    """A control: ``negative`` must show nothing, ``positive`` must be recovered.

    Attributes:
        passed: None: undecided.
        low, high: Accepted range of ``value``, in ``unit``.
    """

    name: str
    kind: str
    passed: bool | None
    value: float | None
    low: float
    high: float
    unit: str
    message: str


@frozen(kw_only=True)
class SelftestResult:
    """What the controls of a machine showed.

    Attributes:
        cores: What each (``core``, ``cpu``) loses to others while it only looks at the clock:
            ``lost_share``, ``longest_gap_ns``.
    """

    seconds: float
    cores: tuple[dict[str, float], ...]
    checks: tuple[ControlResult, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed is not False for check in self.checks)


class Session(Protocol):
    """A built batch, ready to run. Leaving it removes everything it put on the machine."""

    @property
    def source(self) -> str:
        """The generated C, as it is kept with the results."""

    @property
    def program(self) -> Path | None:
        """The built program, or None where nothing is built."""

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        """Runs one request of the batch, blocking; may be called again for the same key.

        Args:
            period_ppm: Periods, deadlines and offsets of all tasks are multiplied by it and divided
                by a million: the same programs at another utilisation. The job table holds the
                periods that were used.

        A run that fails is an outcome with an error. Raises TargetError when nothing more can be
        run at all (permission lost, machine gone). An interrupt (KeyboardInterrupt) is passed on
        after the run's processes are gone.
        """

    def rest(self) -> None:
        """Lets go of the machine until the next run."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class StartedForEach:
    """A session of runs that are a start each: between them it has nothing on the machine."""

    def rest(self) -> None:
        """Nothing was taken."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was left."""


class Executor(Protocol):
    """What a campaign, ``calibrate`` and ``fragments`` need of a machine."""

    @property
    def boot_s(self) -> float:
        """Time of a boot, where every run has one of its own; 0: none has."""

    def describe(self) -> Platform:
        """The platform; ``kind`` tells hardware from simulation."""

    def environment(self) -> dict[str, Json]:
        """State of the machine now, JSON values; recorded before and after every session."""

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run here under ``policy``, or with an object that cannot serve
        ``participants`` tasks: name -> reason of one line."""

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        """Costs of the entries of a pool on every core.

        A fragment that cannot run here is in ``refused`` with its reason; noise refuses none.

        Raises:
            CalibrationError: Nothing can run.
        """

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
        """What operations take alone and shared."""

    def open(
        self, requests: Sequence[RunRequest], settings: RunSettings, *, program: Path | None = None
    ) -> Session:
        """Builds ``requests`` (at most 1000) into one program.

        Args:
            program: One that was built of exactly these requests, in this order: it is run as it
                is, nothing is built.

        Raises:
            BuildError, TargetError: It cannot be built, or not be run here.
        """

    def close(self) -> None:
        """Removes everything it put on the machine; nothing else may be asked of it after."""
