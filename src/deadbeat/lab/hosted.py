"""Runs a FreeRTOS program that is hosted on this Linux (runtime/port/freertos/hosted)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from deadbeat.build.native import verb_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.model.errors import TargetError
from deadbeat.targets.base import Target

_GUARD_MARGIN_S = 30.0
_LOCK_WAIT_S = 10.0


@frozen(kw_only=True)
class HostedMachine:
    """One CPU of this machine, under the runtime's guard: what it starts ends with us.

    Attributes:
        target: This machine. ``cpu``: On which all tasks take turns.
        policy: ``fifo`` (SCHED_FIFO, memory locked) or ``other``.
    """

    target: Target
    cpu: int
    policy: str = "fifo"

    def run(
        self, program: Path, words: Sequence[str], result: Path, *, timeout_s: float = 600.0
    ) -> None:
        """As `BareMachine.run`; nobody else measures on this machine meanwhile."""
        guard = verb_program(Toolchain.find())
        bounds = ("--bound-ns", str(round(timeout_s * 1e9)), "--lock", "1")
        waits = ("--lock-wait-ns", str(round(_LOCK_WAIT_S * 1e9)))
        done = self.target.run(
            [str(guard), "guard", *bounds, *waits, "--", str(program), str(self.cpu), self.policy,
             str(result), *words],
            timeout=timeout_s + _LOCK_WAIT_S + _GUARD_MARGIN_S,
        )  # fmt: skip
        if done.returncode != 0:
            raise _refusal(done.stderr)


def _refusal(said: str) -> TargetError:
    lines = said.strip().splitlines() or ["it ended without a word"]
    if lines[0].startswith("error busy"):
        return TargetError(
            f"another deadbeat measurement has this machine (process {lines[0].split()[-1]})",
            "wait for it to end; two at once would measure each other",
        )
    hint = "run as root, or give CAP_SYS_NICE and CAP_IPC_LOCK" if "refused" in lines[-1] else ""
    return TargetError(f"FreeRTOS on this Linux: {lines[-1][:300]}", hint)
