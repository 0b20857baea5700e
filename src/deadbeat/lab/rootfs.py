"""A system's root file system, a folder or a tar file, as an archive that a kernel boots into."""

from __future__ import annotations

import hashlib
import lzma
import tarfile
import zlib
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO

from attrs import field, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.refused import refusal
from deadbeat.lab.job import FILE, FOLDER, LINK, ImageFile, image

#: First process of a system, and what its services have to start, in the machine's time.
INIT, START_NS = "/sbin/init", 40_000_000_000
_ELF_MACHINES = {62: "x86_64", 183: "aarch64", 40: "arm", 243: "riscv64"}
_HINT = "give a folder or a tar file, as debootstrap and mmdebstrap make them"


@frozen(kw_only=True)
class Rootfs:
    """A root file system.

    Attributes:
        name: Name of its file or folder. ``machine``: that of its first program.
        archive: What the kernel unpacks. ``sha256``: its sum, of names, modes, owners, contents.
    """

    name: str
    machine: str
    archive: bytes = field(repr=False)
    sha256: str

    @classmethod
    @cache
    def read(cls, path: Path) -> Rootfs:
        """Read the one in ``path``, without devices: the kernel makes them.
        Raises UsageError: there is none."""
        try:
            with TemporaryFile() if path.is_dir() else path.open("rb") as stream:
                if path.is_dir():
                    with tarfile.open(fileobj=stream, mode="w") as tar:
                        tar.add(path, arcname=".")
                    stream.seek(0)
                files = _files(stream)
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError):
            raise UsageError(f"--rootfs: {path} is no tar file, or a damaged one", _HINT) from None
        except OSError as error:
            raise UsageError(*refusal(f"--rootfs: {path} cannot be read", error)) from None
        if not {INIT, f"/usr{INIT}"} & files.keys():
            raise UsageError(f"--rootfs: {path} has no {INIT}", "add systemd-sysv or sysvinit-core")
        heads = (files[name].content[:20] for name in sorted(files))
        kind = next((int.from_bytes(h[18:], "little") for h in heads if h[:4] == b"\x7fELF"), 0)
        machine, data = _ELF_MACHINES.get(kind, "another machine"), image(files)
        sha256 = hashlib.sha256(data).hexdigest()
        return cls(name=path.resolve().name, machine=machine, archive=data, sha256=sha256)

    def require_machine(self, machine: str, kernel: str) -> None:
        """Raises UsageError where it is for another machine than ``kernel``."""
        if self.machine != machine:
            what = f"{self.name} is for {self.machine}, {kernel} for {machine}"
            raise UsageError(f"--rootfs: {what}", "give a kernel for it: --machine")


def _files(stream: IO[bytes]) -> dict[str, ImageFile]:
    files = {}
    with tarfile.open(fileobj=stream) as tar:
        for each in tar:
            mode, content = FOLDER, b""
            if each.issym():
                mode, content = LINK, each.linkname.encode(errors="surrogateescape")
            elif not each.isdir():
                data = tar.extractfile(each)  # a second name of a file becomes a file of its own
                if data is None:
                    continue
                mode, content = FILE, data.read()
            name, owner = str(PurePosixPath("/", each.name)), (each.uid, each.gid)
            files[name] = ImageFile(content, mode=mode | each.mode & 0o7777, owner=owner)
    files.pop("/", None)
    return files
