"""A kernel on a machine of the lab: what all boots of a result have in common."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from threading import Event

from attrs import field, frozen

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import Json
from deadbeat.lab.boot import KINDS, Boot, Booted, Mode, boot, command_line
from deadbeat.lab.job import JOB, PROGRAM, ImageFile, Job, image
from deadbeat.lab.kernels import Kernel
from deadbeat.lab.qemu import Qemu
from deadbeat.lab.rootfs import INIT, START_NS, Rootfs

#: Processor time that a boot may take, s: the kernel's own start for each processor, and a second
#: of the machine's time (2 s where it computes, 20 where it switches and forks).
_BOOT_S, _PROCESSOR_S, _SECOND_S = 120.0, 30.0, 150.0
#: A kernel that KVM really runs is there in two seconds.
_TRIAL_SECONDS = 30.0
_DEVICE = Path("/dev/kvm")


@frozen(kw_only=True)
class Guest:
    """One kernel, with one command line, on one machine.

    Attributes:
        program: Our static program for the machine: its first process, and what measures.
        words: For the kernel's command line.
        memory: MB.
        turn_ns: In parallel time the length of a turn of all processors.
        preset: Lines that every job begins with: settings of the machine, services.
        extra: Further files of the machine, by path. ``rootfs``: a system that runs beside ours.
        booted: Boots it; a test gives another.
    """

    qemu: Qemu
    kernel: Kernel
    program: Path
    words: str = ""
    mode: Mode = "virtual-time"
    cpus: int = 1
    memory: int = 512
    turn_ns: int = 0
    preset: Job = field(factory=Job)
    extra: Mapping[str, ImageFile] = field(factory=dict)
    rootfs: Rootfs | None = None
    booted: Boot = field(default=boot)

    @property
    def kind(self) -> str:
        """Kind of platform."""
        return KINDS[self.mode]

    @property
    def facts(self) -> dict[str, Json]:
        """What a figure depends on beside the program, as results record it."""
        return {
            "kernel": self.kernel.name,
            "image": dict(self.kernel.facts),
            "mode": self.mode,
            "emulator": self.qemu.identification if self.mode != "kvm" else "KVM",
            "cpus": self.cpus,
            "memory_mb": self.memory,
            "turn_ns": self.turn_ns,
            "cmdline": command_line(self.kernel, self.words),
            "preset": list(self.preset.lines),
            "extra": hashlib.sha256(image(self.extra)).hexdigest() if self.extra else "",
            **(
                {"rootfs": {"name": self.rootfs.name, "sha256": self.rootfs.sha256}}
                if self.rootfs
                else {}
            ),
        }

    def run(
        self,
        job: Job,
        *,
        seed: int,
        seconds: float,
        more: Mapping[str, ImageFile] | None = None,
        stop: Event | None = None,
    ) -> Booted:
        """Boots it once with ``job``.

        Args:
            seconds: Time of the machine in which it is busy.
            more: Files beside its program and its job, by path.
            stop: Set from elsewhere: the boot is given up.

        Raises:
            TargetError: It did not boot, or not to the end of its job.
        """
        start = Job().become(INIT).sleep(START_NS) if self.rootfs else Job()
        lines = Job((*start.lines, *self.preset.lines, *job.lines))
        files = {PROGRAM: ImageFile(self.program.read_bytes(), True), JOB: ImageFile(lines.text)}
        return self.booted(
            self.qemu,
            self.kernel,
            initramfs=(self.rootfs.archive if self.rootfs else b"")
            + image({**self.extra, **(more or {}), **files}),
            cmdline=self.words,
            seed=seed,
            cpus=self.cpus,
            memory=self.memory,
            mode=self.mode,
            timeout_s=_BOOT_S + _PROCESSOR_S * self.cpus + _SECOND_S * seconds,
            stop=stop,
        )


def require_room(mode: Mode, wanted: float, cpus: int, *, what: str) -> None:
    """Refuses work for more than one CPU in virtual time.

    There the processors share one stream of instructions: together they do the work of one, and one
    that computes keeps the others waiting.

    Args:
        wanted: CPUs' worth of work.

    Raises:
        UsageError: It is more than there is.
    """
    if mode != "virtual-time" or cpus == 1 or wanted <= 1:
        return
    raise UsageError(
        f"{what} wants {wanted:g} CPUs, and in virtual time {cpus} CPUs do the work of one",
        f"at most {100 / cpus:.0f} % of each of them; or one CPU, or lab:KERNEL,...,parallel",
    )


def kvm_refused(
    qemu: Qemu,
    kernel: Kernel,
    program: Path,
    *,
    booted: Boot = boot,
    device: Path = _DEVICE,
    machine: str = "",
) -> str:
    """Why KVM does not boot ``kernel``, "" where it does: tried, as the device alone says nothing:
    a hypervisor in a virtual machine may offer it and fail at a kernel's first instructions.

    Args:
        program: Ours, for its machine. ``booted``: boots it; a test gives another.
        device: Device of KVM. ``machine``: of this host; "" asks it.
    """
    own = machine or platform.machine()
    if kernel.machine != own:
        return f"KVM runs kernels for {own} here, and {kernel.name} is for {kernel.machine}"
    if not os.access(device, os.R_OK | os.W_OK):
        return f"{device} is missing, or not yours to use"
    lines = Job().log("look")
    files = {PROGRAM: ImageFile(program.read_bytes(), True), JOB: ImageFile(lines.text)}
    try:
        booted(
            qemu, kernel, initramfs=image(files), mode="kvm", timeout_s=_TRIAL_SECONDS, retries=0
        )
    except DeadbeatError as error:
        return f"KVM does not boot it here: {error.message}"
    return ""
