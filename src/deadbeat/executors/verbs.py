"""Verbs of the runtime that need no task sets, for engines that measure with one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.executors.programs import LOCK_WAIT_S
from deadbeat.executors.toolchains import toolchain_of
from deadbeat.host.values import understood
from deadbeat.model.errors import RunError
from deadbeat.model.platform import Platform
from deadbeat.settings.tune import with_tuning
from deadbeat.targets.base import Target


class VerbEngine:
    """Measures with a verb on ``target``.

    Args:
        cross: What builds its programs; None: as found for the target.
        lock_wait: Seconds to wait while another measurement has the machine.
    """

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        self._target, self._lock_wait = target, lock_wait
        self._toolchain = toolchain_of(target, cross=cross)
        self._executor = self._on()

    def _on(self, cpus: Sequence[int] | None = None) -> HardwareExecutor:
        return HardwareExecutor(
            target=self._target, cpus=cpus, toolchain=self._toolchain, lock_wait=self._lock_wait
        )

    def cpus(self) -> tuple[int, ...]:
        """CPUs that may be used."""
        return self._executor.cpus

    def describe(self) -> Platform:
        """The machine as it stands now, with what was tuned on purpose."""
        return with_tuning(self._executor.describe(), self._target)

    def written(
        self,
        verb: str,
        policy: str,
        options: Mapping[str, str],
        *,
        timeout: float,
        extra: Sequence[str] = (),
    ) -> str:
        """What a verb leaves in its file; as `HardwareExecutor.converse`.

        Raises:
            RunError: It says anything but that it is done.
        """
        out = f"{self._target.folder}/{verb}"
        options = {**options, "--out": out}
        for line in self._executor.converse(verb, policy, options, timeout=timeout, extra=extra):
            if not line.startswith("done "):
                raise RunError(f"unexpected words of the program: {line[:80]}")
        with understood(self._target):
            return self._target.read_text(out) or ""
