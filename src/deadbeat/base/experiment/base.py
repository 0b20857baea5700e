"""What a kind of experiment is: it knows what is lacking, how to measure it, and where to keep it.

A kind implements `Experiment` for one invocation: a resolved specification, on one machine, with
one folder. `deadbeat.machine.targets.run` carries it out; nothing of that is written a second time.
The smallest kind there is: docs/examples/naps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, RunError
from deadbeat.base.model.run import StoredRun
from deadbeat.base.report.document import Table
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.runfolder import Key, RunFolder


@frozen(kw_only=True)
class Phase:
    """A step before the runs began, or went on: ``share`` of it is done."""

    name: str  #: such as prices, calibration or build
    share: float = 0.0


@frozen(kw_only=True)
class Known:
    """What is known before the runs began, in words and as a table."""

    words: str
    table: Table


@frozen(kw_only=True)
class Started:
    """The runs begin: ``done`` of ``total`` were there already, ``failed`` are left alone.

    Attributes:
        decided: Points that get no further run, and all points, where each stops when it is known;
            ``total`` is then the most there can be, after a run an estimate.
    """

    total: int
    done: int
    failed: int = 0
    eta_s: float
    decided: tuple[int, int] | None = None


@frozen(kw_only=True)
class RunDone:
    """A run was stored; ``decided`` as in `Started`.

    Attributes:
        doubt: Why it is invalid; "": it counts.
    """

    key: Any
    done: int
    total: int
    eta_s: float
    decided: tuple[int, int] | None = None
    doubt: str = ""


@frozen(kw_only=True)
class RunFailed:
    """A run has no result; the others go on."""

    key: Any
    reason: str


#: What a watcher gets; it gets nothing while a run is in progress.
Event = Phase | Known | Started | RunDone | RunFailed
Watcher = Callable[[Event], None]

K = TypeVar("K")
R = TypeVar("R")
RK = TypeVar("RK", bound=Key)
RR = TypeVar("RR", bound=StoredRun)


@frozen
class Lost(Generic[K]):
    """A run that gave no result."""

    key: K
    error: DeadbeatError


@frozen
class Kept(Generic[K]):
    """A run that is stored.

    Attributes:
        doubt: Why it is invalid; "": it counts.
        size: By how much what is done has grown.
    """

    key: K
    doubt: str = ""
    size: int = 1


@frozen(kw_only=True)
class Outcome(Generic[K]):
    """Where an experiment stands after a call that was not interrupted.

    Attributes:
        planned: Runs in all; where points stop when they are known, at most.
        done: Stored runs. ``invalid``: the invalid ones that this call stored.
        failed: Runs without a result -> why.
        complete: Nothing is left to run; False where the time was over first.
        beside: How often the program beside the runs was started, where more than once.
    """

    planned: int
    done: int
    invalid: int = 0
    failed: Mapping[K, str] = field(factory=dict)
    complete: bool = True
    beside: str = ""


@frozen(kw_only=True)
class Todo:
    """What a call finds: ``left`` of ``total`` runs are to be measured, ``done`` are stored,
    ``failed`` are left alone."""

    total: int
    done: int
    left: int
    failed: int = 0


class Experiment(ABC, Generic[K, R]):
    """One invocation of a kind: a resolved specification on a machine, with a folder.

    Attributes:
        unit: What is counted.
        budget_s: What all of this call may take; what comes before the first run takes a part of
            it. None: as long as it takes. ``left_s``: what is left of it for runs.
        paced: `seconds` goes by what was measured so far; infinite: unknown yet.
    """

    unit = "runs"
    paced = False
    budget_s: float | None = None
    left_s: Callable[[], float] = staticmethod(lambda: math.inf)

    @property
    @abstractmethod
    def store(self) -> OwnedFolder:
        """The folder; it is locked while the experiment runs."""

    def prepared(self, tell: Watcher) -> AbstractContextManager[None]:
        """What comes before the first run and after the last: calibration, snapshots."""
        return nullcontext()

    @abstractmethod
    def todo(self) -> Todo:
        """What there is to do; asked once, when all is prepared."""

    @abstractmethod
    def seconds(self, runs: int) -> float:
        """Time of this number of runs by the plan, before one was measured."""

    @abstractmethod
    def measure(self, tell: Watcher) -> Generator[R | Lost[K]]:
        """Yields the result of every run that is lacking, in the order of the plan, as it ends.

        It is closed where no further run may begin, and then leaves nothing behind.

        Raises:
            DeadbeatError: Nothing more can be measured; what is stored stays.
        """

    @abstractmethod
    def keep(self, result: R) -> Kept[K] | Lost[K]:
        """Stores a result, or says why it is none.
        Raises DeadbeatError: nothing more can be stored."""

    def lose(self, key: K, reason: str) -> None:
        """Notes that a run has no result."""

    def decided(self) -> tuple[int, int] | None:
        """Points that get no further run, and all points; None: nothing is decided on the way."""
        return None

    def expected_left(self) -> int:
        """Runs still to come, where something is decided on the way."""
        return 0

    def kept(self) -> str:
        """How much is stored, in words: ``3 of 8 runs``."""
        todo = self.todo()
        return f"{todo.done} of {todo.total} {self.unit}"

    def outcome(self, found: Outcome[K]) -> Outcome[K]:
        """What is said at the end, of what this call ``found``."""
        return found


@define(eq=False, slots=False, kw_only=True)
class FolderExperiment(Experiment[RK, RR]):
    """An experiment with a file for each run, in a `RunFolder`.

    Attributes:
        planned: Every run, in order. ``lacking``: the ones to be measured.
        retry_invalid: Whether stored runs that are invalid are measured again, and replaced.

    Raises:
        DataError: A run that is to be replaced is damaged.
    """

    _folder: RunFolder[RK, RR] = field(alias="store")
    planned: Sequence[RK]
    retry_invalid: bool = False
    lacking: tuple[RK, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lacking = self._folder.lacking(self.planned, retry_invalid=self.retry_invalid)

    @property
    def store(self) -> OwnedFolder:
        return self._folder

    def todo(self) -> Todo:
        total, left = len(self.planned), len(self.lacking)
        return Todo(total=total, done=total - left, left=left)

    def measure(self, tell: Watcher) -> Generator[RR | Lost[RK]]:
        """One run after the other; those that give no result do not end the others."""
        for key in self.lacking:
            try:
                yield self.one(key)
            except (DataError, RunError) as error:
                yield Lost(key, error)

    def one(self, key: RK) -> RR:
        """Measures a run, where `measure` is not the kind's own.

        Raises:
            DataError, RunError: It has no result.
        """
        raise NotImplementedError

    def kept(self) -> str:
        return f"{len(self._folder.committed())} of {len(self.planned)} {self.unit}"

    def keep(self, result: RR) -> Kept[RK] | Lost[RK]:
        self._folder.keep(result)
        doubts = (each.message for each in result.problems if each.severity == "invalid")
        return Kept(result.key, next(doubts, ""))

    def lose(self, key: RK, reason: str) -> None:
        self._folder.fail(key, reason)
