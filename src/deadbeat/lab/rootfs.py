"""A system's root file system, a folder or a tar file, as an archive that a kernel boots into."""

from __future__ import annotations

import hashlib
import lzma
import posixpath
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO

from attrs import field, frozen

from deadbeat.lab.job import FILE, FOLDER, LINK, Entry, archive
from deadbeat.model.errors import UsageError
from deadbeat.model.refused import refusal
from deadbeat.model.words import Json, size

#: First process of a system.
INIT = "/sbin/init"
#: What its services have to start, in the machine's time.
START_NS = 40_000_000_000
_MOST = 2 << 30
_LINKS_MOST = 40
_ELF_MACHINES = {62: "x86_64", 183: "aarch64", 40: "arm", 243: "riscv64"}
_HINT = "give a folder or a tar file, as debootstrap and mmdebstrap make them"


@frozen(kw_only=True)
class Rootfs:
    """A root file system.

    Attributes:
        name: Name of its file or folder. ``archive``: what the kernel unpacks.
        machine: That of its first process; "" where that is a script.
        sha256: Sum of the archive: of names, modes, owners and contents.
    """

    name: str
    machine: str
    archive: bytes = field(repr=False)
    sha256: str

    @property
    def label(self) -> str:
        """Its name without what ends a tar file's."""
        return self.name.partition(".tar")[0]

    @property
    def facts(self) -> Mapping[str, Json]:
        """What results record of it."""
        return {"name": self.name, "sha256": self.sha256}

    @classmethod
    def read(cls, path: Path) -> Rootfs:
        """The one in ``path``; devices are left out, as the kernel makes them.

        Raises:
            UsageError: There is none.
        """
        try:
            with TemporaryFile() if path.is_dir() else path.open("rb") as stream:
                if path.is_dir():
                    with tarfile.open(fileobj=stream, mode="w") as tar:
                        tar.add(path, arcname=".")
                    stream.seek(0)
                return _packed(path, stream)
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError):
            raise UsageError(f"--rootfs: {path} is no tar file, or a damaged one", _HINT) from None
        except OSError as error:
            raise UsageError(*refusal(f"--rootfs: {path} cannot be read", error)) from None


def _packed(path: Path, stream: IO[bytes]) -> Rootfs:
    with tarfile.open(fileobj=stream) as tar:
        members = {str(PurePosixPath(each.name)).lstrip("/"): each for each in tar}
        if (total := sum(each.size for each in members.values())) > _MOST:
            raise UsageError(f"--rootfs: {path} holds {size(total)}", f"at most {size(_MOST)}")
        init = _file(members, INIT)
        head = tar.extractfile(init) if init else None
        if head is None:
            raise UsageError(f"--rootfs: {path} has no {INIT}", "add systemd-sysv or sysvinit-core")
        elf = struct.unpack("<4s14xH", head.read(20).ljust(20))
        data = archive(_entries(tar, members))
    return Rootfs(
        name=path.resolve().name,
        machine=_ELF_MACHINES.get(elf[1], "another machine") if elf[0] == b"\x7fELF" else "",
        archive=data,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _file(members: Mapping[str, tarfile.TarInfo], path: str) -> tarfile.TarInfo | None:
    """What ``path`` is, behind symbolic links."""
    at, found, rest, links = "/", None, path.split("/"), 0
    while rest and links < _LINKS_MOST:
        at = posixpath.normpath(posixpath.join(at, rest.pop(0)))
        found = members.get(at.lstrip("/"))
        if found is not None and found.issym():
            links += 1
            rest = [*found.linkname.split("/"), *rest]
            at = "/" if found.linkname.startswith("/") else posixpath.dirname(at)
    return found


def _entries(tar: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo]) -> Iterator[Entry]:
    for name, each in sorted(members.items()):
        mode, content = each.mode & 0o7777, b""
        if each.isdir():
            mode |= FOLDER
        elif each.issym():
            mode, content = LINK | 0o777, each.linkname.encode(errors="surrogateescape")
        elif stream := tar.extractfile(each):  # a second name of a file is a file of its own
            mode, content = mode | FILE, stream.read()
        else:
            continue
        yield name, mode, content, each.uid, each.gid
