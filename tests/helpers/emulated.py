"""Programs of another machine on this one: qemu-user runs their code, this kernel serves them.

What a program of that machine computes and asks of Linux is true; how long it takes is not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

import pytest
from attrs import frozen

from deadbeat.build.toolchain import Toolchain
from deadbeat.targets.local import LocalProcess, LocalTarget

#: Real-time where it is allowed, so that objects with a priority ceiling are tried as well.
POLICY = "fifo" if os.geteuid() == 0 else "other"


@frozen
class Machine:
    """A cross toolchain and what runs its programs here."""

    cross: str
    machine: str
    emulator: str = ""
    #: Fragments that its C library or the emulator does without, and a word of the reason.
    refused: tuple[tuple[str, str], ...] = ()

    def toolchain(self) -> Toolchain:
        """Skips the test where compiler or emulator is not installed."""
        compiler = "musl-gcc" if self.cross == "musl" else f"{self.cross}-gcc"
        for program in filter(None, (compiler, self.emulator)):
            if shutil.which(program) is None:
                pytest.skip(f"no {program} here: tools/setup dev installs it")
        return Toolchain.find(cross=self.cross)

    def target(self) -> EmulatedTarget:
        return EmulatedTarget((self.emulator,) if self.emulator else ())


ARM = Machine("arm-linux-gnueabihf", "arm", "qemu-arm-static")
AARCH64 = Machine("aarch64-linux-gnu", "aarch64", "qemu-aarch64-static")
# glibc asks whether there are robust lists, and this emulator has none
RISCV64 = Machine(
    "riscv64-linux-gnu", "riscv64", "qemu-riscv64-static",
    refused=(("mutex_robust", "its object cannot be made: Operation not supported"),),
)  # fmt: skip
X86_64 = Machine("x86_64-linux-gnu", "x86_64", "qemu-x86_64-static")
MUSL = Machine(
    "musl", "x86_64", refused=(("mutex_ceiling", "its object cannot be made: Not supported"),)
)


class EmulatedTarget(LocalTarget):
    """This machine, on which programs that were sent to it run under an emulator."""

    kind = "emulated"

    def __init__(self, emulator: Sequence[str]) -> None:
        super().__init__()
        self._emulator = tuple(emulator)

    def start(self, argv: Sequence[str]) -> LocalProcess:
        own = str(argv[0]).startswith(f"{self.folder}/")
        return super().start([*(self._emulator if own else ()), *argv])
