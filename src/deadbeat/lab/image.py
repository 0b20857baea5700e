"""The file system a virtual machine boots into: a cpio archive with our static programs alone.

Equal files give equal bytes: no times, no owners, a fixed order. In virtual time a byte more moves
every figure, so one archive serves all kernels of a comparison. The format is "newc" (the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from attrs import frozen

_MAGIC, _ALIGN, _BLOCK = "070701", 4, 512
_FILE, _FOLDER = 0o100000, 0o040000
_TRAILER = "TRAILER!!!"


@frozen
class ImageFile:
    """A file of the archive; ``executable``: a program."""

    content: bytes
    executable: bool = False


def image(files: Mapping[str, ImageFile]) -> bytes:
    """The archive that holds ``files`` (absolute path -> file) and the folders above them."""
    names = {path.strip("/"): file for path, file in files.items()}
    folders = {
        str(folder)
        for name in names
        for folder in PurePosixPath(name).parents
        if str(folder) != "."
    }
    parts = []
    for number, name in enumerate(sorted({*folders, *names}), start=1):
        file = names.get(name)
        mode = _FOLDER | 0o755 if file is None else _FILE | (0o755 if file.executable else 0o644)
        parts.append(_entry(name, mode, number, b"" if file is None else file.content))
    parts.append(_entry(_TRAILER, 0, 0, b""))
    return _padded(b"".join(parts), _BLOCK)


def _entry(name: str, mode: int, number: int, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if mode & _FOLDER and not mode & 0o100000 else 1
    # number, mode, uid, gid, links, time, size, device (2), special device (2), name, checksum
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = _MAGIC + "".join(f"{field:08X}" for field in fields)
    return _padded(head.encode() + encoded, _ALIGN) + _padded(content, _ALIGN)


def _padded(data: bytes, step: int) -> bytes:
    return data + b"\0" * (-len(data) % step)
