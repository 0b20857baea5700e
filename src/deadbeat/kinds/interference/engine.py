"""The seam between a load test and what runs its threads: this machine, or a made-up one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from attrs import field, frozen

from deadbeat.model.load import Gaps, LoadKey, Rounds
from deadbeat.model.platform import Platform
from deadbeat.model.tuning import Setting, Standing
from deadbeat.targets.readings import Readings

#: With it begins the reason of every setting that a load test changes.
REASON = "deadbeat load"


@frozen(kw_only=True)
class LoadRequest:
    """How one run is done.

    Attributes:
        normal: Ordinary threads.
        real_time: False: without the real-time thread.
        seconds: Length of the window.
        units: Work of a round, thousands of additions.
        unit_ps: What one takes undisturbed.
        period_ns: 0: back to back.
        cpus: CPUs that all threads may use.
        pin: CPU the real-time thread is bound to.
        normal_cpus: CPUs the ordinary threads keep to; None: ``cpus``.
        trace: Whether the kernel's events are recorded meanwhile.
        seed: Of engines that make their figures up.
    """

    key: LoadKey
    normal: int
    real_time: bool
    seconds: float
    units: int
    unit_ps: int
    period_ns: int
    policy: str
    priority: int
    cpus: tuple[int, ...]
    pin: int | None = None
    normal_cpus: tuple[int, ...] | None = None
    trace: bool = False
    seed: int = 0


@frozen(kw_only=True)
class Seen:
    """What a run showed; fields as in `deadbeat.model.load.LoadRun`."""

    window_ns: tuple[int, int]
    sampled_ns: tuple[int, int]
    rounds: Rounds = field(factory=Rounds)
    gaps: Gaps = field(factory=Gaps)
    gaps_lost: int = 0
    normal_units: tuple[int, ...] = ()
    policy: str = ""
    priority: int | None = None
    cpu: int | None = None
    unit_ps: int | None = None
    trace: dict[str, Any] = field(factory=dict)


class LoadEngine(Protocol):
    """Runs the threads of a load test.

    Attributes:
        kind: ``hardware``, ``emulated`` or ``simulated``.
        process: On the machine: its CPU time, with that of its children that have ended, is the
            test's own; None: not known.
    """

    @property
    def kind(self) -> str: ...

    @property
    def process(self) -> int | None: ...

    def cpus(self) -> tuple[int, ...]:
        """CPUs that may be used."""

    def describe(self) -> Platform:
        """The machine as it stands now, with what was tuned on purpose."""

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        """What a thousand additions take undisturbed.

        Args:
            policy, priority: Of the real-time thread: what refuses it refuses this.

        Raises:
            TargetError: It cannot be measured: permission, a machine that is in use.
        """

    def read(self, paths: Sequence[str]) -> Readings:
        """Files of the machine."""

    def holding(
        self, settings: Sequence[Setting], *, reason: str
    ) -> AbstractContextManager[dict[str, str]]:
        """The settings, for a block: journalled, written, read back, and put back at its end.

        Gives path -> what it holds.

        Raises:
            TargetError: One is not possible here, or was not back at the end.
        """

    def standing(self) -> tuple[Standing, ...]:
        """Changed settings that have not been put back, whoever changed them."""

    def run(self, ask: LoadRequest) -> Seen:
        """One run. The caller sleeps meanwhile.

        Raises:
            RunError: It has no result; others may.
            TargetError: No run of this kind is possible here.
        """

    def close(self) -> None:
        """Leaves nothing behind."""
