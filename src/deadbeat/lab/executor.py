"""Runs task sets on a Linux kernel in a machine of the lab, a boot for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve

from deadbeat.base.model.errors import UsageError
from deadbeat.build.toolchain import toolchain_for
from deadbeat.lab.guest import require_room
from deadbeat.lab.target import GuestTarget, lab_target
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.base import Costing, Progress, RunRequest, RunSettings, unheard
from deadbeat.tasksets.executors.calibration import VIRTUAL_MOST_S
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.executors.session import HardwareSession
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.prices.table import PriceBatch
from deadbeat.tasksets.prices.works import Pricing


class GuestExecutor(HardwareExecutor):
    """Runs task sets on a kernel of the lab; see :class:`tasksets.executors.base.Executor`."""

    def __init__(self, target: GuestTarget) -> None:
        self._guest, self.boot_s = target.guest, target.boot_s
        super().__init__(
            target=target,
            cpus=tuple(range(self._guest.cpus)),
            toolchain=toolchain_for(self._guest.kernel.machine),
        )

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        if asked.basis != "warm":
            hint = "an emulator has no caches: drop --set cost-basis"
            raise UsageError(f"the lab measures no {asked.basis} costs", hint)
        asked = evolve(asked, seconds=min(asked.seconds, VIRTUAL_MOST_S))
        return super().calibrate(catalog, asked, progress)

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
        """None where processors take long turns: nothing is shared at a time."""
        if self._guest.mode == "virtual-time" and self._guest.cpus > 1:
            return PriceBatch(
                works=asked.works, errors=("processors take turns",) * len(asked.works), slots=()
            )
        return super().price(asked, progress)

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
        inject: Mapping[str, str] | None = None,
    ) -> HardwareSession:
        """Refuses what the lab has no room, or no means, for."""
        for name in ("causes", "counters"):
            if getattr(settings, name):
                raise UsageError(f"--{name} does not exist in the lab", f"drop --{name}")
        for request in requests:
            wanted = float(sum(task.utilisation for task in request.task_set.tasks))
            cores = request.task_set.cores
            require_room(self._guest.mode, wanted, cores, what=f"task set {request.key.text}")
        return super().open(requests, settings, program=program, inject=inject)


def lab_executor(words: str) -> GuestExecutor:
    """What runs task sets on `lab_target`."""
    return GuestExecutor(lab_target(words))
