"""Runs task sets on FreeRTOS: emulated in virtual time, or hosted on this Linux.

It has one core, or in virtual time up to `MOST_HARTS` with a FreeRTOS each; it does one job of a
program, then ends. Fragments that need more than a core port
are refused by name; all others, the timetable, records and calibration are those of Linux.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import ClassVar, Protocol

from attrs import evolve, frozen

from deadbeat import (
    HOSTED_ON,
    NO_TASK_SETS,
    UNSCALED_PPM,
    VIRTUAL_MOST_S,
    Calibration,
    Catalog,
    Costing,
    Json,
    Lab,
    LocalTarget,
    Platform,
    PriceBatch,
    Pricing,
    Progress,
    RunError,
    RunKey,
    RunOutcome,
    RunRequest,
    RunSettings,
    StartedForEach,
    TargetError,
    UsageError,
    calibration_of,
    emit_batch,
    environment_of,
    find_qemu,
    fragment_sources,
    load_catalog,
    plan_slots,
    platform_from_environment,
    read_samples,
)
from deadbeat import lacking_in_port as lacking
from deadbeat import nearest_word as nearest
from deadbeat import no_progress as unheard
from deadbeat import quoted as shown
from deadbeat import runnable_fragments as runnable
from deadbeat import usable_cpus as usable_on
from deadbeat_freertos.build import (
    HOSTED,
    MOST_HARTS,
    TURNS_NS,
    VIRT,
    Board,
    kernel_words,
    task_set_program,
    toolchain_of,
)
from deadbeat_freertos.machines import BareMachine, HostedMachine

#: Place -> number of cores.
WHERE = {"virtual": 1, f"virtual,cores={MOST_HARTS}": MOST_HARTS, "hosted": 1}
#: Oldest version of the emulator that counts the instructions of one core correctly.
_OLDEST_QEMU = 7
#: Oldest that gives each core its turn.
_OLDEST_IN_TURNS = 10
#: What a job may take on the host, s: a start and an end, and a second of its time.
_MARGIN_S, _SECOND_S = 60.0, 20.0
_CLOCK = "cycle counter: 1 ns of virtual time; sleeps end by a compare-match timer of 100 ns"
_ONE_CORE = "one core: nothing is shared"
_UNPRICED = "prices between cores are not measured on FreeRTOS"
#: Objects of the kernel (runtime/include/deadbeat/port_sync.h): tasks of one kernel share them.
_OF_ONE_KERNEL = ("mq_posix", "mq_posix_scarce", "mutex_inherit", "semaphore_posix",
                  "semaphore_posix_scarce")  # fmt: skip


class JobMachine(Protocol):
    """What does one job of a program, and ends it."""

    def run(
        self, program: Path, words: Sequence[str], result: Path, *, timeout_s: float
    ) -> None: ...


@frozen(kw_only=True)
class FreeRTOSExecutor:
    """Runs task sets on FreeRTOS; see :class:`deadbeat.tasksets.executors.base.Executor`.

    Attributes:
        board: What programs are built for. ``machine``: What runs them.
        platform: The platform for results.
        target: This machine: its folder holds results until they are stored.
    """

    boot_s: ClassVar[float] = 0.0

    board: Board
    machine: JobMachine
    platform: Platform
    target: LocalTarget

    def describe(self) -> Platform:
        return self.platform

    def environment(self) -> dict[str, Json]:
        """Environment of FreeRTOS; where it is hosted, with the state of the Linux below it."""
        if self.board is not HOSTED:
            return dict(self.platform.details)
        below = environment_of(self.target, now=datetime.now(UTC))
        return below | {"kernel": self.platform.kernel}

    def unavailable(
        self, catalog: Catalog, *, policy: str = "fifo", participants: int = 1
    ) -> dict[str, str]:
        """Fragments that cannot run there."""
        found = {name: lacking(each) for name, each in catalog.fragments.items()}
        found = {name: f"{why}: not on FreeRTOS" for name, why in found.items() if why}
        shared = _OF_ONE_KERNEL if len(self.platform.cpus) > 1 else ()
        return found | dict.fromkeys(shared, "needs one kernel: here each core has its own")

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        """Costs of a pool's entries, measured by the system itself."""
        self._check_policy(asked.policy)
        if asked.basis != "warm":
            raise UsageError(
                f"no {asked.basis} costs of {self.platform.kernel}", "an emulator has no caches"
            )
        began = monotonic()
        entries, refused = runnable(catalog, asked, self.unavailable(catalog))
        if self.board is not HOSTED:
            asked = evolve(asked, seconds=min(asked.seconds, VIRTUAL_MOST_S))
        words = ["calibrate", str(round(asked.seconds * 1e9)), "1"]
        words += [word for each in entries for word in (each.fragment, str(each.size))]
        alone = self
        if isinstance(self.machine, BareMachine):  # several harts take turns, and share the memory
            alone = evolve(self, board=VIRT, machine=evolve(self.machine, harts=1))
        program = alone._build(NO_TASK_SETS)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "samples"
            limit_s = _limit_s(asked.seconds * 3 + 30)
            alone.machine.run(program, words, path, timeout_s=limit_s)
            samples = read_samples(path, cores=1)
        progress(1.0)
        return calibration_of(
            *(samples, entries, asked),
            kinds=(0,),
            platform=self.platform,
            refused=refused,
            began_s=began,
        )

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
        """No prices: one core shares nothing, and of several none are measured."""
        why = _UNPRICED if len(self.platform.cpus) > 1 else _ONE_CORE
        return PriceBatch(works=asked.works, errors=(why,) * len(asked.works), slots=())

    def open(
        self, requests: Sequence[RunRequest], settings: RunSettings, *, program: Path | None = None
    ) -> FreeRTOSSession:
        """Builds a batch, or takes the one given."""
        self._check_policy(settings.policy)
        for name in ("split", "counters", "causes"):
            if getattr(settings, name):
                raise UsageError(
                    f"--{name} is not recorded on {self.platform.kernel}", f"drop --{name}"
                )
        most = max(request.task_set.cores for request in requests)
        if most > (cores := len(self.platform.cpus)):
            raise UsageError(
                f"a task set needs {most} cores, {self.platform.name} has {cores}",
                f"give --cores {cores}, or --executor freertos:virtual,cores={MOST_HARTS}",
            )
        source = emit_batch([request.task_set for request in requests])
        return FreeRTOSSession(self, requests, settings, source, program or self._build(source))

    def close(self) -> None:
        self.target.close()

    def _build(self, tables: str) -> Path:
        refused = self.unavailable(load_catalog())
        usable = [path for path in fragment_sources() if path.stem not in refused]
        return task_set_program(self.board, tables, usable)

    def _check_policy(self, policy: str) -> None:
        if policy != "fifo":
            raise UsageError(
                f"on {self.platform.kernel} task sets run by fixed priorities alone",
                "drop --policy",
            )


class FreeRTOSSession(StartedForEach):
    """A built batch; see :class:`tasksets.executors.base.Session`. Each run is a start of it."""

    def __init__(
        self,
        executor: FreeRTOSExecutor,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        source: str,
        program: Path,
    ) -> None:
        self._executor, self._settings = executor, settings
        self._sets = {each.key: (index, each.task_set) for index, each in enumerate(requests)}
        self.source, self.program = source, program
        self._runs = 0

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        """Runs one task set; see the protocol."""
        index, task_set = self._sets[key]
        self._runs += 1
        result = Path(self._executor.target.folder) / f"{key.text}.{self._runs}.jobs"
        s = self._settings
        end_ns = int(plan_slots(task_set, s, period_ppm=period_ppm)[-1]["end_ns"])
        words = ("run", index, period_ppm, round(s.seconds * 1e9), s.slot_periods, s.warmup_jobs,
                 int(s.solo), int(s.overrun == "late"), s.jobs)  # fmt: skip
        try:
            self._executor.machine.run(
                self.program, [*map(str, words)], result, timeout_s=_limit_s(end_ns / 1e9)
            )
        except TargetError as error:
            return RunOutcome(key=key, error=RunError(error.message, error.hint))
        return RunOutcome(key=key, file=result)


def freertos_executor(where: str, *, cpus: Sequence[int] | None) -> FreeRTOSExecutor:
    """FreeRTOS ``virtual`` (QEMU's riscv64 board) or ``hosted`` (on a CPU of this machine).

    Args:
        where: "": virtual; ``virtual,cores=2``: on that number of harts.
        cpus: The one that a hosted FreeRTOS gets; None: the last that may be used.

    Raises:
        UsageError: There is no such place, or CPU.
        BuildError, TargetError: The compiler, the kernel's source or the emulator is not to be had.
    """
    where = where or "virtual"
    if where not in WHERE:
        raise UsageError(f"--executor: freertos:{shown(where)} is unknown", nearest(where, WHERE))
    if where != "hosted" and tuple(cpus or range(WHERE[where])) != tuple(range(WHERE[where])):
        raise UsageError("--cpus: FreeRTOS in virtual time has its own", "drop it")
    target = LocalTarget()
    try:
        if where != "hosted":
            return _virtual(target, WHERE[where])
        allowed = usable_on(target)
        chosen = tuple(cpus or allowed[-1:])
        if len(chosen) != 1 or chosen[0] not in allowed:
            known = ", ".join(map(str, allowed))
            raise UsageError("--cpus: FreeRTOS runs on one CPU of this machine", f"one of {known}")
        return _hosted(target, chosen[0])
    except BaseException:
        target.close()
        raise


def _virtual(target: LocalTarget, harts: int) -> FreeRTOSExecutor:
    oldest = _OLDEST_QEMU if harts == 1 else _OLDEST_IN_TURNS
    qemu = find_qemu("riscv64", oldest=oldest, lab=Lab(target=target))
    board, cpus, kernel, turns = VIRT, tuple(range(harts)), kernel_words(), ""
    if harts > 1:
        board, kernel = evolve(VIRT, harts=harts), f"{kernel}, one a hart"
        turns = f", {harts} harts in turns of at most {TURNS_NS // (harts + 2)} ns"
    toolchain, flags = toolchain_of(board), " ".join(board.words)
    identity = ("riscv64 virt", qemu.identification, toolchain.identification, flags, *cpus[1:])
    platform = Platform(
        name="freertos",
        kind="virtual-time" if harts == 1 else "parallel-time",
        machine="riscv64",
        soc=f"{qemu.identification} virt{turns}, an instruction a nanosecond",
        cpus=cpus,
        kernel=kernel,
        preemption="full",
        governor="none",
        toolchain=toolchain.identification,
        flags=" ".join((*toolchain.flags, flags)),
        fingerprint=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
        details={
            "machine": "riscv64",
            "kernel": kernel,
            "cpus_online": list(cpus),
            "clock": _CLOCK,
            "emulator": qemu.identification,
        },
    )
    machine = BareMachine(qemu=qemu, harts=harts)
    return FreeRTOSExecutor(board=board, machine=machine, platform=platform, target=target)


def _hosted(target: LocalTarget, cpu: int) -> FreeRTOSExecutor:
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
    platform = evolve(found, kernel=kernel, details={**found.details, "kernel": kernel})
    machine = HostedMachine(target=target, cpu=cpu)
    return FreeRTOSExecutor(board=HOSTED, machine=machine, platform=platform, target=target)


def _limit_s(seconds: float) -> float:
    return seconds * _SECOND_S + _MARGIN_S
