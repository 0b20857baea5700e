"""Task sets on a system that does one job and ends: FreeRTOS, a kernel of the lab.

It has one core. What is the same for all: what is refused, calibrations, sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Protocol, Self

from attrs import evolve, frozen

from deadbeat.build.native import NO_TASK_SETS
from deadbeat.catalog import Catalog
from deadbeat.emit import emit_batch
from deadbeat.executors.base import (
    UNSCALED_PPM,
    Costing,
    Progress,
    RunOutcome,
    RunRequest,
    RunSettings,
    untold,
)
from deadbeat.executors.calibration import calibration_of, estimate_costs, read_samples, runnable
from deadbeat.executors.tables import plan_slots
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import RunError, TargetError, UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey
from deadbeat.model.tasks import Entry
from deadbeat.prices.table import PriceBatch
from deadbeat.prices.works import Pricing
from deadbeat.targets.local import LocalTarget

#: In virtual time an entry costs the same at every visit: a few are enough.
_CALIBRATION_MOST_S = 3.0


_ONE_CORE = "one core: nobody shares it"


class OneJobSystem(Protocol):
    """A system that does one job of a program, then ends; what comes of it becomes a file."""

    def unavailable(self, catalog: Catalog) -> dict[str, str]:
        """Fragment -> why it cannot run there."""

    def build(self, tables: str) -> Path:
        """The program of a batch, from its C text."""

    def calibrate(
        self, program: Path, entries: Sequence[Entry], result: Path, *, seconds: float
    ) -> None:
        """Samples (runtime/include/deadbeat/samples.h) of ``entries``, in so many seconds of its
        time. TargetError where there are none."""

    def measure(
        self,
        program: Path,
        index: int,
        settings: RunSettings,
        result: Path,
        *,
        period_ppm: int,
        seconds: float,
    ) -> None:
        """Records (records.h) of a task set of ``program``, which takes so many seconds of its
        time. TargetError where there are none."""

    def environment(self) -> dict[str, object]:
        """Its state now."""


@frozen(kw_only=True)
class OneJobExecutor:
    """Runs task sets on such a system; see :class:`deadbeat.executors.base.Executor`.

    Attributes:
        platform: As results tell it.
        target: This machine: its folder holds results until they are stored.
    """

    system: OneJobSystem
    platform: Platform
    target: LocalTarget

    def describe(self) -> Platform:
        return self.platform

    def environment(self) -> dict[str, object]:
        return self.system.environment()

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run there."""
        return self.system.unavailable(catalog)

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = untold
    ) -> Calibration:
        """Costs of a pool's entries, measured by the system itself."""
        _check_policy(self.platform, asked.policy)
        if asked.basis != "warm":
            raise UsageError(
                f"no {asked.basis} costs of {self.platform.kernel}", "an emulator has no caches"
            )
        began = monotonic()
        missing = self.system.unavailable(catalog)
        entries, refused = runnable(catalog, asked, missing)
        if self.platform.kind == "virtual-time":
            asked = evolve(asked, seconds=min(asked.seconds, _CALIBRATION_MOST_S))
        program = self.system.build(NO_TASK_SETS)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "samples"
            self.system.calibrate(program, entries, path, seconds=asked.seconds)
            samples = read_samples(path, cores=1)
        estimates = estimate_costs(samples, entries, kinds=(0,), cold=False)
        progress(1.0)
        return calibration_of(
            estimates, asked, platform=self.platform, refused=refused, began_s=began
        )

    def price(self, asked: Pricing, progress: Progress = untold) -> PriceBatch:
        """One core: nobody shares anything."""
        return PriceBatch(works=asked.works, errors=(_ONE_CORE,) * len(asked.works), slots=())

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
    ) -> OneJobSession:
        """Builds a batch, or takes the one given."""
        _check_policy(self.platform, settings.policy)
        for name in ("split", "counters", "causes"):
            if getattr(settings, name):
                raise UsageError(
                    f"--{name} is not recorded on {self.platform.kernel}", f"drop --{name}"
                )
        most = max(request.task_set.cores for request in requests)
        if most > 1:
            raise UsageError(
                f"a task set needs {most} cores, {self.platform.name} has one", "give --cores 1"
            )
        source = emit_batch([request.task_set for request in requests])
        built = program or self.system.build(source)
        return OneJobSession(self, requests, settings, source, built)

    def close(self) -> None:
        self.target.close()


class OneJobSession:
    """A built batch; see :class:`deadbeat.executors.base.Session`. Each run is a start of it."""

    def __init__(
        self,
        executor: OneJobExecutor,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        source: str,
        program: Path,
    ) -> None:
        self._executor, self._settings = executor, settings
        self._sets = {each.key: (index, each.task_set) for index, each in enumerate(requests)}
        self.source, self._program = source, program
        self._runs = 0

    @property
    def program(self) -> Path | None:
        """The built program."""
        return self._program

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        """Runs one task set; see the protocol."""
        index, task_set = self._sets[key]
        self._runs += 1
        result = Path(self._executor.target.folder) / f"{key.text}.{self._runs}.jobs"
        end_ns = plan_slots(task_set, self._settings, period_ppm=period_ppm)[-1]["end_ns"]
        try:
            self._executor.system.measure(
                self._program,
                index,
                self._settings,
                result,
                period_ppm=period_ppm,
                seconds=int(end_ns) / 1e9,
            )
        except TargetError as error:
            return RunOutcome(key=key, error=RunError(error.message, error.hint))
        return RunOutcome(key=key, file=result)

    def rest(self) -> None:
        """Each run is a start of its own."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _check_policy(platform: Platform, policy: str) -> None:
    if policy != "fifo":
        raise UsageError(
            f"on {platform.kernel} task sets run by fixed priorities alone", "drop --policy"
        )
