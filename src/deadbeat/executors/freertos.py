"""Runs task sets on FreeRTOS: emulated in virtual time, or hosted on this Linux.

Fragments that need more than a core port are refused by name; all others, the timetable, records
and calibration are those of Linux.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from attrs import evolve, frozen

from deadbeat.build.freertos import (
    HOSTED,
    VIRT,
    Board,
    kernel_words,
    task_set_program,
    toolchain_of,
)
from deadbeat.build.native import fragment_sources
from deadbeat.catalog import Catalog, lacking, load_catalog
from deadbeat.executors.base import RunSettings
from deadbeat.executors.onejob import OneJobExecutor
from deadbeat.executors.programs import usable_on
from deadbeat.host.environment import environment_of, platform_from_environment
from deadbeat.lab.bare import BareMachine
from deadbeat.lab.hosted import HostedMachine
from deadbeat.lab.qemu import find_qemu
from deadbeat.model.errors import UsageError
from deadbeat.model.platform import HOSTED_ON, Platform
from deadbeat.model.tasks import Entry
from deadbeat.model.words import nearest, shown
from deadbeat.targets.local import LocalTarget

WHERE = ("virtual", "hosted")
#: Of one core, the emulator's oldest version that counts instructions rightly.
_OLDEST_QEMU = 7
#: What a job may take on the host, s: a start and an end, and a second of its time.
_MARGIN_S, _SECOND_S = 60.0, 20.0
_CLOCK = "cycle counter: 1 ns of virtual time; sleeps end by a compare-match timer of 100 ns"


class JobMachine(Protocol):
    """What does one job of a program, and ends it."""

    def run(
        self, program: Path, words: Sequence[str], result: Path, *, timeout_s: float
    ) -> None: ...


@frozen(kw_only=True)
class FreeRTOS:
    """FreeRTOS on a board; see :class:`deadbeat.executors.onejob.OneJobSystem`.

    Attributes:
        board: What programs are built for. ``machine``: What runs them.
        facts: Its state.
        below: The Linux that hosts it; None: none.
    """

    board: Board
    machine: JobMachine
    facts: dict[str, object]
    below: LocalTarget | None = None

    def unavailable(self, catalog: Catalog) -> dict[str, str]:
        found = {name: lacking(each) for name, each in catalog.fragments.items()}
        return {name: f"{why}: not on FreeRTOS" for name, why in found.items() if why}

    def build(self, tables: str) -> Path:
        refused = self.unavailable(load_catalog())
        usable = [path for path in fragment_sources() if path.stem not in refused]
        return task_set_program(self.board, tables, usable)

    def calibrate(
        self, program: Path, entries: Sequence[Entry], result: Path, *, seconds: float
    ) -> None:
        words = ["calibrate", str(round(seconds * 1e9)), "1"]
        words += [word for each in entries for word in (each.fragment, str(each.size))]
        self.machine.run(program, words, result, timeout_s=_limit_s(seconds * 3 + 30))

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
        s = settings
        words = ("run", index, period_ppm, round(s.seconds * 1e9), s.slot_periods, s.warmup_jobs,
                 int(s.solo), int(s.overrun == "late"))  # fmt: skip
        limit_s = _limit_s(seconds)
        self.machine.run(program, [*map(str, words)], result, timeout_s=limit_s)

    def environment(self) -> dict[str, object]:
        """Of FreeRTOS; where it is hosted, with the state of the Linux below it."""
        if self.below is None:
            return dict(self.facts)
        return environment_of(self.below, now=datetime.now(UTC)) | self.facts


def freertos_executor(where: str, *, cpus: Sequence[int] | None) -> OneJobExecutor:
    """FreeRTOS ``virtual`` (QEMU's riscv64 board) or ``hosted`` (on a CPU of this machine).

    Args:
        where: "": virtual.
        cpus: The one that a hosted FreeRTOS gets; None: the last that may be used.

    Raises:
        UsageError: There is no such place, or CPU.
        BuildError, TargetError: The compiler, the kernel's source or the emulator is not to be had.
    """
    where = where or WHERE[0]
    if where not in WHERE:
        raise UsageError(f"--executor: freertos:{shown(where)} is unknown", nearest(where, WHERE))
    if where == "virtual" and tuple(cpus or (0,)) != (0,):
        raise UsageError("--cpus: FreeRTOS in virtual time has CPU 0 alone", "drop it")
    target = LocalTarget()
    try:
        if where == "virtual":
            return _virtual(target)
        allowed = usable_on(target)
        chosen = tuple(cpus or allowed[-1:])
        if len(chosen) != 1 or chosen[0] not in allowed:
            known = ", ".join(map(str, allowed))
            raise UsageError("--cpus: FreeRTOS runs on one CPU of this machine", f"one of {known}")
        return _hosted(target, chosen[0])
    except BaseException:
        target.close()
        raise


def _virtual(target: LocalTarget) -> OneJobExecutor:
    qemu = find_qemu("riscv64", oldest=_OLDEST_QEMU, target=target)
    toolchain, flags = toolchain_of(VIRT), " ".join(VIRT.words)
    identity = ("riscv64 virt", qemu.identification, toolchain.identification, flags)
    details: dict[str, object] = {
        "machine": "riscv64",
        "kernel": kernel_words(),
        "cpus_online": [0],
        "clock": _CLOCK,
        "emulator": qemu.identification,
    }
    platform = Platform(
        name="freertos",
        kind="virtual-time",
        machine="riscv64",
        soc=f"{qemu.identification} virt, an instruction a nanosecond",
        cpus=(0,),
        kernel=kernel_words(),
        preemption="full",
        governor="none",
        toolchain=toolchain.identification,
        flags=" ".join((*toolchain.flags, flags)),
        fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
        details=details,
    )
    system = FreeRTOS(board=VIRT, machine=BareMachine(qemu=qemu), facts=details)
    return OneJobExecutor(system=system, platform=platform, target=target)


def _hosted(target: LocalTarget, cpu: int) -> OneJobExecutor:
    toolchain = toolchain_of(HOSTED)
    found = platform_from_environment(
        environment_of(target, now=datetime.now(UTC)),
        cpus=(cpu,),
        toolchain=toolchain.identification,
        flags=" ".join((*toolchain.flags, *HOSTED.words)),
        kind=target.kind,
        name=f"{target.name}-freertos",
    )
    kernel = f"{kernel_words()} (POSIX port){HOSTED_ON}{found.kernel}"
    facts: dict[str, object] = {"kernel": kernel}
    system = FreeRTOS(
        board=HOSTED, machine=HostedMachine(target=target, cpu=cpu), facts=facts, below=target
    )
    platform = evolve(found, kernel=kernel, details={**found.details, **facts})
    return OneJobExecutor(system=system, platform=platform, target=target)


def _limit_s(seconds: float) -> float:
    return seconds * _SECOND_S + _MARGIN_S
