"""The seam between a campaign and whatever runs task sets: hardware, a simulator, a fake.

A campaign opens a session for a batch of requests and runs them one by one, sleeping while a run is
in progress. An executor writes no results of its own: it hands back a table, or a file the campaign
moves into the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from attrs import field, frozen

from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import RunError
from deadbeat.model.jobs import JobTable
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey
from deadbeat.model.tasks import TaskSet
from deadbeat.model.traces import RunTrace

if TYPE_CHECKING:
    from deadbeat.catalog import Catalog

#: Called with the share done in [0, 1]; never while something is being measured.
Progress = Callable[[float], None]


@frozen(kw_only=True)
class RunSettings:
    """How every run of a session is carried out.

    Attributes:
        seconds: Length of the together windows of one run, summed.
        solo_seconds: Length of the solo windows of one run, summed over its tasks.
        windows: Together windows the run is divided into, solo windows interleaved between them.
        warmup_jobs: Jobs of each task at the start of a window that are run but not counted.
        overrun: ``skip`` (a release while the predecessor still runs is a miss) or ``late``.
        policy: ``fifo`` (SCHED_FIFO) or ``other`` (marks every result).
        split: Whether CPU time, run delays and context switches are read around each job.
        layout: ``default``: a process per core; ``shared-address-space``: one for all tasks.
        quiet_ps: Yardstick of each logical core when the host is quiet; empty: not known, and no
            window is repeated.
        tolerance: Relative distance from it that still is quiet.
        extra_windows: Windows off the quiet mode that are done again, per run.
        wait_seconds: How long, per run, windows may wait for the quiet mode.
        counters: Whether perf events of each task are counted in each window.
        causes: Whether it is recorded why jobs were late: implies ``split``; also the time of
            every use (job details), and scheduling events of the worst jobs where the machine
            lets itself be traced.
    """

    seconds: float
    solo_seconds: float
    windows: int
    warmup_jobs: int
    overrun: Literal["skip", "late"] = "skip"
    policy: Literal["fifo", "other"] = "fifo"
    split: bool = False
    layout: Literal["default", "shared-address-space"] = "default"
    quiet_ps: tuple[int, ...] = ()
    tolerance: float = 0.02
    extra_windows: int = 0
    wait_seconds: float = 0.0
    counters: bool = False
    causes: bool = False


@frozen(kw_only=True)
class Hog:
    """A thread above all tasks that spins on logical core ``core``, for ``length_ns`` of every
    ``period_ns``, the first time ``start_ns`` after the start of a window."""

    core: int
    start_ns: int = 0
    length_ns: int
    period_ns: int


@frozen(kw_only=True)
class Move:
    """Task ``task`` is moved to the next CPU for the second half of every ``period_ns``."""

    task: int
    period_ns: int


@frozen(kw_only=True)
class Injection:
    """What a positive control does to the tasks on purpose; only while all of them run together.

    Attributes:
        delay_ns: Added to every job of task ``delay_task``.
        hog: Spins above all tasks.
        move: Moves a task.
        fair_core: Logical core on which a best-effort thread spins beside the tasks.
    """

    delay_ns: int = 0
    delay_task: int = 0
    hog: Hog | None = None
    move: Move | None = None
    fair_core: int | None = None


@frozen(kw_only=True)
class References:
    """What the host probes show while the machine is quiet.

    Attributes:
        yardstick_ps: Per logical core.
        cache_line_ps: Round trip per pair "a-b".
    """

    yardstick_ps: tuple[int, ...]
    cache_line_ps: dict[str, int]


@frozen
class RunRequest:
    """A task set that a session will be asked to run under ``key``."""

    key: RunKey
    task_set: TaskSet


@frozen(kw_only=True)
class RunOutcome:
    """What came of one run: exactly one of a table, a result file (records.h), or an error.

    Attributes:
        trace: What happened around its worst jobs; None where nothing was asked for.
    """

    key: RunKey
    table: JobTable | None = field(default=None, eq=False)
    file: Path | None = None
    error: RunError | None = None
    trace: RunTrace | None = field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        given = [part for part in (self.table, self.file, self.error) if part is not None]
        if len(given) != 1:
            raise ValueError(
                f"outcome of {self.key.text}: one of table, file, error; {len(given)} given"
            )


class Session(Protocol):
    """A built batch, ready to run. Leaving it removes everything it put on the machine."""

    @property
    def source(self) -> str:
        """The generated C, as it is kept with the results."""

    @property
    def program(self) -> Path | None:
        """The built program, or None where nothing is built."""

    def run(self, key: RunKey) -> RunOutcome:
        """Runs one request of the batch, blocking; may be called again for the same key.

        A run that fails is an outcome with an error. Raises TargetError when nothing more can be
        run at all (permission lost, machine gone). An interrupt (KeyboardInterrupt) is passed on
        after the run's processes are gone.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Executor(Protocol):
    """What a campaign, ``calibrate``, ``fragments`` and ``selftest`` need of a machine."""

    def describe(self) -> Platform:
        """The platform; ``kind`` tells hardware from simulation."""

    def environment(self) -> dict[str, Any]:
        """State of the machine now, JSON values; recorded before and after every session."""

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run here under ``policy``, or whose object cannot serve as many as
        ``participants`` tasks: name -> reason of one line."""

    def calibrate(
        self,
        catalog: Catalog,
        *,
        pool: str,
        seconds: float,
        basis: str,
        policy: str,
        progress: Progress,
        layout: str = "default",
        participants: int = 1,
    ) -> Calibration:
        """Costs of the entries of ``pool`` on every core, in about ``seconds``.

        A fragment that cannot run here is in ``refused`` with its reason; noise refuses none.

        Args:
            layout: The process layout of the runs they are for.
            participants: Tasks that will share one object at most.

        Raises:
            CalibrationError: Nothing can run.
        """

    def noise(self, calibration: Calibration, *, seconds: float) -> dict[str, Any]:
        """The noise floor, JSON values.

        Keys: ``seconds`` it took; ``smallest_effect``, the smallest slowdown above 1 that can be
        seen (None: undecided); ``basis``, one line on what that rests on; ``cores``, one dict per
        core with ``core``, ``cpu``, ``lost_share`` (share of time in gaps), ``longest_gap_ns``;
        ``controls``, a list of the dicts described under ``selftest``.
        """

    def selftest(
        self,
        catalog: Catalog,
        calibration: Calibration | None,
        *,
        seconds: float,
        progress: Progress,
    ) -> dict[str, Any]:
        """Controls whose answer is known, JSON values.

        Keys: ``passed`` (False when any check failed), ``seconds``, ``noise`` (as above) and
        ``checks``: dicts with ``name``, ``kind`` (``negative``: must show nothing; ``positive``:
        must be recovered), ``passed`` (None: undecided), ``value``, ``low``, ``high`` (accepted
        range, in ``unit``), ``unit`` and ``message``, one line. ``calibration`` None: it makes its
        own short one.
        """

    def references(self, catalog: Catalog, *, seconds: float, policy: str) -> References:
        """The host probes on the quiet machine, for programs whose calibration is not its own.

        Raises:
            CalibrationError: The machine was not quiet long enough.
            TargetError: Nothing can be run at all.
        """

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
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
