"""Boots a kernel in QEMU, once, and gives what its job handed over.

In virtual time an instruction takes a nanosecond and nothing else takes any: equal inputs give
equal bytes, whatever the host does meanwhile. What is read from the machine is checked; the
emulator ends with us, however we end.
"""

from __future__ import annotations

import binascii
import math
import re
import struct
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Literal

from attrs import frozen

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.base.store.files import storing
from deadbeat.lab.kernels import Kernel
from deadbeat.lab.qemu import Qemu
from deadbeat.machine.targets.guarded import GuardedProgram, ended_words
from deadbeat.machine.targets.local import LocalTarget

Mode = Literal["virtual-time", "parallel-time", "functional", "kvm"]
MODES: tuple[Mode, ...] = ("virtual-time", "functional", "kvm")
#: Mode -> kind of a platform that was booted in it. A KVM guest runs on the host's own processor.
KINDS: dict[Mode, str] = {
    "virtual-time": "virtual-time",
    "parallel-time": "parallel-time",
    "functional": "emulated",
    "kvm": "hardware",
}
#: What leaves a machine through shared memory fits this, MB.
SHARED_MB = 64
#: Largest console: more is a kernel that repeats itself.
_CONSOLE_MOST = 32 << 20
_LAST_LINES = 3
#: How often a boot checks whether it is still wanted, s.
_LOOK_S = 0.25
#: Mode -> how many times its limit a boot may take on the host's clock. A machine in virtual time
#: is never idle: it is the host that is busy with other work.
_PATIENCE: dict[Mode, float] = {
    "virtual-time": 10.0,
    "parallel-time": 10.0,
    "functional": 3.0,
    "kvm": 1.0,
}
#: Words of its command line that every kernel gets; those of the machine come before.
_ALWAYS = "panic=-1 quiet rdinit=/init nokaslr"


@frozen(kw_only=True)
class VirtualBoard:
    """How QEMU and kernels call an architecture's parts."""

    board: str
    processor: str
    console: str


BOARDS = {
    "x86_64": VirtualBoard(board="pc", processor="max", console="ttyS0"),
    "aarch64": VirtualBoard(board="virt,gic-version=3", processor="cortex-a72", console="ttyAMA0"),
    # Everything below 4 GB: a kernel without LPAE reaches no more.
    "arm": VirtualBoard(board="virt,highmem=off", processor="cortex-a15", console="ttyAMA0"),
    "riscv64": VirtualBoard(board="virt", processor="max", console="ttyS0"),
}


@frozen(kw_only=True)
class Booted:
    """What a boot gave.

    Attributes:
        files: Name -> content, as the job collected it.
        console: What the machine wrote on its console.
        attempts: Boots it took.
    """

    files: Mapping[str, bytes]
    console: str
    attempts: int = 1


#: `boot`, or what stands for it in a test.
Boot = Callable[..., Booted]


def boot(
    qemu: Qemu,
    kernel: Kernel,
    *,
    initramfs: bytes,
    cmdline: str = "",
    seed: int = 1,
    cpus: int = 1,
    memory: int = 512,
    mode: Mode = "virtual-time",
    timeout_s: float = 120.0,
    retries: int = 1,
    stop: Event | None = None,
) -> Booted:
    """Boots ``kernel`` with ``initramfs`` and waits until the machine turns itself off.

    Args:
        cmdline: Words for the kernel, behind those that all get.
        seed: Seed of all random numbers of the machine; in virtual time another is another sample.
        memory: MB.
        timeout_s: Limit of a boot: in processor time for each CPU; longer on a host that
            is busy with other work.
        retries: Further boots where one hangs or dies; the emulator does so once in some ten with
            several processors.
        stop: Set from another thread: no boot begins any more, and one under way is ended.

    Raises:
        TargetError: It did not boot, or handed over nothing; with its last words.
    """
    words = (
        *qemu.command,
        *machine_options(kernel, seed=seed, cpus=cpus, memory=memory, mode=mode),
        *("-kernel", str(kernel.image), "-append", command_line(kernel, cmdline)),
    )
    busy_s, wall_s, attempt = timeout_s * cpus, timeout_s * _PATIENCE[mode], 1
    while True:
        try:
            files, console = _booted(words, initramfs, wall_s, busy_s, stop)
            return Booted(files=files, console=console, attempts=attempt)
        except (TargetError, DataError) as error:
            if attempt > retries or (stop is not None and stop.is_set()):
                tries = f" ({attempt} boots)" if attempt > 1 else ""
                raise TargetError(f"{kernel.name}: {error.message}{tries}", error.hint) from error
        attempt += 1


def command_line(kernel: Kernel, words: str = "") -> str:
    """Command line of the kernel; the last word tells its first process what it is."""
    console = BOARDS[kernel.machine].console
    return " ".join([f"console={console}", _ALWAYS, *words.split(), "--", "init"])


def machine_options(
    kernel: Kernel, *, seed: int, cpus: int, memory: int, mode: Mode
) -> tuple[str, ...]:
    """The machine, without what it boots."""
    board = BOARDS[kernel.machine]
    virtual = (
        *("-accel", "tcg,thread=single", "-cpu", board.processor),
        *("-icount", "shift=0,sleep=off"),
        *("-rtc", "base=2026-01-01,clock=vm"),
    )
    accelerated: dict[Mode, tuple[str, ...]] = {
        "virtual-time": virtual,
        "parallel-time": virtual,
        "functional": ("-accel", "tcg,thread=multi", "-cpu", board.processor),
        "kvm": ("-accel", "kvm", "-cpu", "host"),
    }
    return (
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"),
        *("-M", board.board, *accelerated[mode]),
        *("-global", "hpet.hpet-intcap=0xff0104") * (board.board == "pc"),  # as of real boards
        *("-seed", str(seed), "-smp", str(cpus), "-m", str(memory)),
    )


def _booted(
    machine: Sequence[str], initramfs: bytes, wall_s: float, busy_s: float, stop: Event | None
) -> tuple[dict[str, bytes], str]:
    """What one boot handed over, and its console.

    Raises:
        TargetError: It does not start, hangs, or hands over nothing.
        DataError: What it handed over is damaged.
    """
    with LocalTarget() as host:
        names = ("image", "shared", "console", "said")
        image, shared, console, log = (Path(host.folder) / name for name in names)
        with storing(image):
            image.write_bytes(initramfs)
            with shared.open("wb") as stream:
                stream.truncate(SHARED_MB << 20)
        memory = f"memory-backend-file,id=shared,share=on,mem-path={shared},size={SHARED_MB}M"
        words = (
            *(*machine, "-initrd", str(image), "-serial", f"file:{console}"),
            *("-object", memory, "-device", "ivshmem-plain,memdev=shared"),
        )
        ended = emulate(words, log, wall_s, busy_s=busy_s, stop=stop)
        said = _read(log, _CONSOLE_MOST).decode(errors="replace").strip()
        raw = _read(console, _CONSOLE_MOST)
        files = exported(_read(shared, SHARED_MB << 20), raw)
    text = raw.decode(errors="replace").replace("\r", "")
    if files is None:
        ended = ended or "it ended without a result"
        raise TargetError(f"{ended}{_last_words(text, said)}", _HINT)
    return files, text


def emulate(
    words: Sequence[str],
    log: Path,
    wall_s: float,
    *,
    busy_s: float = math.inf,
    stop: Event | None = None,
) -> str:
    """Runs an emulator, which writes into ``log``; how it ended, "" where it did so by itself.

    Args:
        wall_s: Limit on the host's clock. ``busy_s``: in processor time.
        stop: Set from another thread: it is ended.
    """
    quiet = 'log=$1; shift; exec "$@" >"$log" 2>&1'
    program = GuardedProgram(("sh", "-c", quiet, "sh", str(log), *words))
    stop = stop or Event()
    try:
        ends, in_time = time.monotonic() + wall_s, False
        while not (in_time or stop.is_set() or (left_s := ends - time.monotonic()) <= 0):
            in_time = program.wait(min(_LOOK_S, left_s))
            if not in_time and program.cpu_seconds() > busy_s:
                break
    finally:
        status = program.close()
    if stop.is_set():
        return "it was given up"
    if not in_time:
        busy = "" if busy_s == math.inf else f"{busy_s:.3g} s of processor time, or "
        return f"it did not end within {busy}{wall_s:.3g} s"
    return f"the emulator ended {ended_words(status)}" if status else ""


_HINT = "is it a kernel for this machine, with devtmpfs and an initramfs? try --set mode=functional"


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError:
        return b""


def _last_words(console: str, said: str) -> str:
    """What a machine, else its emulator, wrote last."""
    for who, text in (("its console ends", console), ("the emulator said", said)):
        lines = [re.sub(r"[^ -~]", "", line).strip() for line in text.splitlines()]
        panic = [line for line in lines if "Kernel panic" in line]  # its trace says less
        last = [line[:160] for line in panic[:1] or lines if line][-_LAST_LINES:]
        if last:
            return f"; {who}: {' / '.join(last)}"
    return "; its console is empty"


# -- what left a machine (runtime/port/linux/guest_export.c): checked, as it is not trusted

HEADER_BYTES = 64
_HEADER = re.compile(rb"deadbeat-guest 1 (\d{1,10}) ([0-9a-f]{8})\n")
_END = b"deadbeat-guest end"
_NAME_MOST = 4096
_DAMAGED = "the machine's last words are above; boot it again"


def exported(memory: bytes, console: bytes) -> dict[str, bytes] | None:
    """Name -> content of what was handed over through shared memory, else on the console; None
    where nothing was.

    Raises:
        DataError: It is damaged.
    """
    head = _HEADER.match(memory)
    if head:
        length = int(head[1])
        return _files(_checked(memory[HEADER_BYTES : HEADER_BYTES + length], head))
    plain = console.replace(b"\r", b"")
    heads = list(_HEADER.finditer(plain))
    if not heads:
        return None
    found = heads[-1]
    text, end, _ = plain[found.end() :].partition(_END)
    if not end:
        return None
    try:
        payload = b"".join(binascii.a2b_base64(line) for line in text.split())
    except binascii.Error as error:
        words = f"what the machine wrote on its console is damaged: {error}"
        raise DataError(words, _DAMAGED) from error
    return _files(_checked(payload, found))


def _checked(payload: bytes, head: re.Match[bytes]) -> bytes:
    if len(payload) != int(head[1]):
        raise DataError(
            f"what the machine handed over has {len(payload)} bytes, not {int(head[1])}", _DAMAGED
        )
    if zlib.crc32(payload) != int(head[2], 16):
        raise DataError("what the machine handed over is damaged: its checksum differs", _DAMAGED)
    return payload


def _files(payload: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    while at < len(payload):
        if at + 8 > len(payload):
            raise DataError("what the machine handed over ends in the middle of a file", _DAMAGED)
        name_bytes, size = struct.unpack_from("<II", payload, at)
        name, at = payload[at + 8 : at + 8 + name_bytes], at + 8 + name_bytes
        content, at = payload[at : at + size], at + size
        if at > len(payload) or not 0 < name_bytes <= _NAME_MOST:
            raise DataError("what the machine handed over ends in the middle of a file", _DAMAGED)
        found[name.decode(errors="replace")] = content
    return found
