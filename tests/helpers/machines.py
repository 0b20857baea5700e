"""A kernel and an emulator that are scripts: what stands in for QEMU."""

import struct
import sys
import textwrap
import zlib
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from deadbeat.lab.boot import HEADER_BYTES


@frozen(kw_only=True)
class ScriptedEmulator:
    """Runs a script instead of a machine; see `deadbeat.lab.qemu.Qemu`."""

    command: tuple[str, ...]
    identification: str = "QEMU 10.0.2"


@frozen(kw_only=True)
class AnyKernel:
    """See `deadbeat.lab.kernels.Kernel`."""

    name: str = "6.12-amd64"
    machine: str = "x86_64"
    image: Path = Path("/boot/vmlinux")
    config: Path | None = None
    facts: Mapping[str, object] = field(factory=dict)


_HEAD = """\
import re, sys, time
words = " ".join(sys.argv)
shared = open(re.search(r"mem-path=([^,]+)", words)[1], "r+b")
console = open(re.search(r"file:(\\S+)", words)[1], "w")
image = open(re.search(r"-initrd (\\S+)", words)[1], "rb").read()
"""


def payload_of(files: Mapping[str, bytes]) -> bytes:
    """The memory of a machine that hands over ``files``."""
    payload = b"".join(
        struct.pack("<II", len(name.encode()), len(content)) + name.encode() + content
        for name, content in files.items()
    )
    head = b"deadbeat-guest 1 %d %08x\n" % (len(payload), zlib.crc32(payload))
    return head.ljust(HEADER_BYTES, b"\0") + payload


def scripted_emulator(folder: Path, script: str, **files: bytes) -> ScriptedEmulator:
    """An emulator that does what ``script`` says: it has ``words``, ``shared``, ``console`` and
    ``image``; ``payload`` is the memory of a machine that hands over ``files``."""
    payload = payload_of({f"/{name}": content for name, content in files.items()})
    path = folder / "emulator.py"
    path.write_text(f"payload = {payload!r}\n{_HEAD}{textwrap.dedent(script)}")
    return ScriptedEmulator(command=(sys.executable, str(path)))
