"""Kernel images: which machine and version they are, and what an emulator can start at once.

A compressed x86 image costs three seconds of emulated decompression at every boot, so it is
decompressed here: gzip, xz, lzma and bzip2 by Python; zstd and lz4 by the tool of that name, or by
apt, which can read both.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.base.store.files import atomic_write, read_bytes
from deadbeat.machine.targets.base import Target

_ELF_MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
#: A note that says where a hypervisor enters: XEN_ELFNOTE_PHYS32_ENTRY (PVH).
_PVH_NOTE, _PT_NOTE = 18, 4
_HINT = "give bzImage (x86), zImage (32-bit Arm), Image or vmlinux, as the build left it"
#: Beginning of compressed data -> who can read it, and what its files are called.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x5d\0\0": "lzma",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x02\x21\x4c\x18": "lz4",
    b"\x89LZO": "lzo",
}
_TOOLS = {
    "zstd": 'zstd -dcq -- "$0.zst" >"$1" 2>/dev/null ||'
    ' /usr/lib/apt/apt-helper cat-file "$0.zst" >"$1"',
    "lz4": 'lz4 -dcq -- "$0.lz4" >"$1"',
}
_SUFFIXES = {"zstd": ".zst", "lz4": ".lz4"}
_TOOL_SECONDS = 120.0


@frozen(kw_only=True)
class BootImage:
    """A kernel to be booted.

    Attributes:
        machine: A key of `offers.ARCHITECTURES`.
        release: What ``uname -r`` will say. ``banner``: all that the kernel says of its build.
        data: What the emulator gets. ``config``: its build configuration; "" where it holds none.
    """

    machine: str
    release: str
    banner: str
    data: bytes
    config: str = ""


def boot_image(path: Path, target: Target) -> BootImage:
    """What ``path`` holds.

    Args:
        target: Runs the tools that decompress; this machine.

    Raises:
        DataError: It is no kernel of a machine that the lab emulates, or cannot be read.
        TargetError: It needs a tool that is missing.
    """
    data = read_bytes(path, what="kernel", hint=_HINT)
    machine = ""
    if data[0x202:0x206] == b"HdrS":
        # The ELF file in an x86 image (Documentation/arch/x86/boot.rst).
        protocol = struct.unpack_from("<H", data, 0x206)[0]
        if protocol < 0x20C or not data[0x236] & 1:
            raise DataError(
                f"{path} is a kernel for 32-bit x86", "the lab emulates 64-bit machines"
            )
        sectors = data[0x1F1] or 4
        offset, length = struct.unpack_from("<II", data, 0x248)
        start = (sectors + 1) * 512 + offset
        machine, inner = "x86_64", _decompressed(path, data[start : start + length], target)
        # The emulator enters an uncompressed x86 kernel by a note that not every build has.
        data, text = (inner, inner) if _has_pvh(inner) else (data, inner)
    elif data[0x24:0x28] == b"\x18\x28\x6f\x01":
        # It is booted as it came: only the code in front knows where this machine's memory begins.
        machine, text = "arm", _of_zimage(path, data, target)
    else:
        for _ in range(2):
            if payload := _compressed_whole(path, data):
                data = _decompressed(path, payload, target)
        text = data
        # The machine of an image or ELF file; "": none.
        if data[56:60] == b"ARM\x64":
            machine = "aarch64"
        elif data[48:53] == b"RISCV" or data[56:60] == b"RSC\x05":
            machine = "riscv64"
        elif data[:5] == b"\x7fELF\x02" and len(data) > 64:
            found = _ELF_MACHINES.get(struct.unpack_from("<H", data, 18)[0], "")
            machine = "" if found == "x86_64" and not _has_pvh(data) else found
        else:
            machine = ""
    banner = re.search(rb"Linux version (\d[^\s%]*) [^\0\n]{20,600}", text)
    if not machine or banner is None:
        raise DataError(f"{path} is no Linux kernel that the lab can boot", _HINT)
    return BootImage(
        machine=machine,
        release=banner[1].decode(errors="replace"),
        banner=banner[0].decode(errors="replace"),
        data=data,
        config=_built_in_config(text),
    )


def _of_zimage(path: Path, data: bytes, target: Target) -> bytes:
    """What unpacks itself on 32-bit Arm: the first compressed data behind a table that says where
    they end (arch/arm/boot/compressed/vmlinux.lds.S, Linux 4.15 and newer)."""
    table = int.from_bytes(data[0x38:0x3C], "little")
    end = int.from_bytes(data[table + 8 : table + 12], "little") + 4
    # The code that unpacks holds the sign of xz as text, too: zeros follow it.
    found = re.search(b"(?:%b)(?!\0\0)" % b"|".join(map(re.escape, _MAGIC)), data[table:end])
    if data[0x34:0x38] != b"EEEE" or not found:
        raise DataError(f"{path} is a zImage that the lab cannot read", "give one of Linux 4.15 on")
    return _decompressed(path, data[table + found.start() : end], target)


def _compressed_whole(path: Path, data: bytes) -> bytes:
    """What is compressed in a file for Arm or RISC-V: all of it, or behind the code that unpacks
    it (drivers/firmware/efi/libstub/zboot-header.S); b"" where nothing is."""
    if data[:2] == b"\x1f\x8b":
        return data
    if data[:2] == b"MZ" and data[4:8] == b"zimg":
        offset, length = struct.unpack_from("<II", data, 8)
        if 0 < offset <= offset + length <= len(data):
            return data[offset : offset + length]
        raise DataError(f"{path} is a damaged kernel: it ends early", "copy it once more")
    return b""


def _decompressed(path: Path, data: bytes, target: Target) -> bytes:
    form = next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "unknown")
    try:
        if form == "gzip":
            return zlib.decompressobj(31).decompress(data)
        if form in ("xz", "lzma"):
            return lzma.LZMADecompressor().decompress(data)
        if form == "bzip2":
            return bz2.BZ2Decompressor().decompress(data)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise DataError(f"{path} is a damaged kernel: {error}", "copy it once more") from None
    if form not in _TOOLS:
        raise DataError(
            f"{path} holds a kernel compressed in a way the lab cannot read ({form})",
            "give the uncompressed vmlinux of the same build",
        )
    with TemporaryDirectory() as folder:
        packed, plain = Path(folder, "packed"), Path(folder, "plain")
        # Behind the data stand four bytes with its size; a tool would take them for more data.
        atomic_write(packed.with_suffix(_SUFFIXES[form]), data[:-4])
        done = target.run(
            ["sh", "-c", _TOOLS[form], str(packed), str(plain)], timeout=_TOOL_SECONDS
        )
        if done.returncode or not plain.is_file():
            raise TargetError(
                f"{path} is compressed with {form} and cannot be unpacked here",
                f"apt-get install {form}",
            )
        return plain.read_bytes()


def _has_pvh(data: bytes) -> bool:
    return any(name == b"Xen\0" and kind == _PVH_NOTE for name, kind in _notes(data))


def _notes(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Name and type of every note of a 64-bit ELF file."""
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        return
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for number in range(count):
        at = start + number * size
        if at + 56 > len(data):
            return
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        end = min(offset + length, len(data))
        while kind == _PT_NOTE and offset + 12 <= end:
            names, content, note = struct.unpack_from("<III", data, offset)
            yield data[offset + 12 : offset + 12 + names], note
            offset += 12 + -(-names // 4) * 4 + -(-content // 4) * 4


def _built_in_config(data: bytes) -> str:
    """The configuration that some kernels hold (CONFIG_IKCONFIG)."""
    start = data.find(b"IKCFG_ST\x1f\x8b")
    if start < 0:
        return ""
    try:
        return zlib.decompressobj(31).decompress(data[start + 8 :]).decode(errors="replace")
    except zlib.error:
        return ""
