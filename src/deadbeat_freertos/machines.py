"""Runs a program of FreeRTOS: on an emulated board, in virtual time, or hosted on this Linux.

The board's RAM is a file of this host: the job lies in it before the start, results after the end
(port/riscv64_virt/exchange.h). What is read from it is checked; the emulator ends
with us, however we end.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from deadbeat import LocalTarget, Qemu, Target, TargetError, Toolchain, verb_program
from deadbeat import emulate_board as emulate
from deadbeat import storing_file as storing

MAGIC = b"DBGUEST1"
RAM_MB, EXCHANGE_AT, EXCHANGE_BYTES = 256, 192 << 20, 64 << 20
JOB_BYTES = 65536
HEADER = struct.Struct("<8sIIIIQ224s")
ASKED, STARTED, DONE, FAILED = range(4)
_WORDS_MOST = 4096
_GUARD_MARGIN_S = 30.0
_LOCK_WAIT_S = 10.0


@frozen(kw_only=True)
class BareMachine:
    """QEMU's riscv64 board ``virt``, where an instruction takes a nanosecond.

    Attributes:
        qemu: The emulator. ``harts``: of the program; where there are several, two more end turns.
    """

    qemu: Qemu
    harts: int = 1

    def run(
        self, program: Path, words: Sequence[str], result: Path, *, timeout_s: float = 600.0
    ) -> None:
        """Has ``program`` do the job that ``words`` describe; what it hands over becomes the file
        ``result``.

        Args:
            timeout_s: On the host's clock.

        Raises:
            TargetError: It could not do it, did not end, or handed over what can't be read.
        """
        job = b"".join(word.encode() + b"\0" for word in words)
        if len(job) > JOB_BYTES:
            raise TargetError(f"a job of {len(job)} bytes is too long", "ask for less at a time")
        with LocalTarget() as host:
            folder = Path(host.folder)
            ram, said = folder / "ram", folder / "said"
            with storing(folder), ram.open("wb") as stream:
                stream.truncate(RAM_MB << 20)
                stream.seek(EXCHANGE_AT)
                stream.write(HEADER.pack(MAGIC, ASKED, 0, len(job), 0, 0, b"") + job)
            ended = self._emulate(program, ram, said, timeout_s)
            with ram.open("rb") as stream:
                found = _result(stream, ended, _tail(said))
            with storing(result):
                result.write_bytes(found)

    def _emulate(self, program: Path, ram: Path, said: Path, timeout_s: float) -> str:
        """How it ended; "" where it did so by itself."""
        memory = f"memory-backend-file,id=ram,share=on,mem-path={ram},size={RAM_MB}M"
        words = (
            *self.qemu.command,
            *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-machine", "virt,memory-backend=ram", "-object", memory, "-m", f"{RAM_MB}M"),
            *("-smp", str(self.harts + 2 * (self.harts > 1)), "-accel", "tcg,thread=single"),
            *("-icount", "shift=0,sleep=off"),
            *("-rtc", "base=2026-01-01,clock=vm", "-seed", "1"),
            *("-monitor", "none", "-serial", "stdio", "-bios", "none", "-kernel", str(program)),
        )
        return emulate(words, said, timeout_s)


def _result(stream: BinaryIO, ended: str, said: str) -> bytes:
    stream.seek(EXCHANGE_AT)
    magic, state, _, _, _, length, why = HEADER.unpack(stream.read(HEADER.size))
    reason = why.split(b"\0")[0].decode(errors="replace")
    if magic != MAGIC or state != DONE or ended:
        cause = reason or ended or said or "it ended without a result"
        hint = f"the emulator said: {said}" if said and said != cause else ""
        raise TargetError(f"FreeRTOS in QEMU: {_printable(cause)}", _printable(hint))
    if length > EXCHANGE_BYTES - HEADER.size - JOB_BYTES:
        raise TargetError(f"FreeRTOS in QEMU: a result of {length} bytes is longer than its room")
    stream.seek(EXCHANGE_AT + HEADER.size + JOB_BYTES)
    return stream.read(length)


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(path.stat().st_size - _WORDS_MOST, 0))
            lines = stream.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:300]


@frozen(kw_only=True)
class HostedMachine:
    """One CPU of this machine (port/hosted), under the runtime's guard: what it
    starts ends with us.

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
        """See `BareMachine.run`; no other measurement runs on this machine meanwhile."""
        guard = verb_program(Toolchain.find())
        bounds = ("--bound-ns", str(round(timeout_s * 1e9)), "--lock", "1")
        waits = ("--lock-wait-ns", str(round(_LOCK_WAIT_S * 1e9)))
        done = self.target.run(
            [str(guard), "guard", *bounds, *waits, "--", str(program), str(self.cpu), self.policy,
             str(result), *words],
            timeout=timeout_s + _LOCK_WAIT_S + _GUARD_MARGIN_S,
        )  # fmt: skip
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["it ended without a word"]
            if lines[0].startswith("error busy"):
                raise TargetError(
                    "another deadbeat measurement has this machine (process"
                    f" {lines[0].split()[-1]})",
                    "wait for it to end; two at once would measure each other",
                )
            hint = (
                "run as root, or give CAP_SYS_NICE and CAP_IPC_LOCK"
                if "refused" in lines[-1]
                else ""
            )
            raise TargetError(f"FreeRTOS on this Linux: {lines[-1][:300]}", hint)
