"""Whether KVM boots a kernel here: tried, because the device alone says nothing.

A hypervisor in a virtual machine may offer the device and fail at a kernel's first instructions.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from deadbeat.lab.boot import Boot, Bootable, Emulator, boot
from deadbeat.lab.image import ImageFile, image
from deadbeat.lab.job import JOB, PROGRAM, Job
from deadbeat.model.errors import DeadbeatError

#: A kernel that KVM really runs is there in two seconds.
_TRIAL_SECONDS = 30.0
_DEVICE = Path("/dev/kvm")


def kvm_works(
    qemu: Emulator,
    kernel: Bootable,
    program: Path,
    *,
    booted: Boot = boot,
    device: Path = _DEVICE,
    machine: str = "",
) -> tuple[bool, str]:
    """Whether KVM boots ``kernel``, and why not.

    Args:
        program: Ours, for its machine. ``booted``: boots it; a test gives another.
        device: KVM's. ``machine``: of this host; "" asks it.
    """
    own = machine or platform.machine()
    if kernel.machine != own:
        return False, f"KVM runs kernels for {own} here, and {kernel.name} is for {kernel.machine}"
    if not os.access(device, os.R_OK | os.W_OK):
        return False, f"{device} is missing, or not yours to use"
    lines = Job().log("look")
    files = {PROGRAM: ImageFile(program.read_bytes(), True), JOB: ImageFile(lines.text)}
    try:
        booted(
            qemu,
            kernel,
            initramfs=image(files),
            mode="kvm",
            timeout_s=_TRIAL_SECONDS,
            retries=0,
        )
    except DeadbeatError as error:
        return False, f"KVM does not boot it here: {error.message}"
    return True, ""
