"""What a virtual machine boots into, and does from then to its end (runtime/port/linux/guest.c).

The file system is a cpio archive with our static programs alone. Equal files give equal bytes: no
times, no owners, a fixed order. In virtual time a byte more moves every figure, so one archive
serves all kernels of a comparison. The format is "newc" (the kernel's
Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from attrs import field, frozen

from deadbeat.base.model.errors import UsageError

#: The program of the machine: its first process, and with other words what measures.
PROGRAM = "/init"
#: Where it finds its job.
JOB = "/job"
#: From the boot to the first figure, ns: what a kernel still does after it has started its first
#: process (p99 of 140 us on a 6.12 with voluntary preemption, 5 us after this).
WARM_UP_NS = 20_000_000_000
_WORD_MOST = 4000
_EXTRA_MOST = 256 << 20
_MAGIC, _ALIGN, _BLOCK = "070701", 4, 512
FILE, FOLDER, LINK = 0o100000, 0o040000, 0o120000
_TRAILER = "TRAILER!!!"


@frozen
class Job:
    """Lines of a job; every method gives the job with one more.

    A word holds no blank: words are file names and options of ours. UsageError for another.
    """

    lines: tuple[str, ...] = field(default=())

    def read(self, prefix: str, patterns: Sequence[str]) -> Job:
        """Collect the files that match each pattern, under ``prefix`` and their path."""
        job = self
        for pattern in dict.fromkeys(patterns):
            job = job._and("read", prefix, pattern)
        return job

    def log(self, name: str) -> Job:
        """Collect the kernel's messages."""
        return self._and("log", name)

    def keep(self, path: str) -> Job:
        """Collect a file; the job ends where it is not there."""
        return self._and("keep", path)

    def sleep(self, ns: int) -> Job:
        """Virtual time passes, which costs next to nothing while the machine is idle."""
        return self._and("sleep", str(ns))

    def write(self, path: str, word: str) -> Job:
        """Into a file of the system, such as a setting."""
        return self._and("write", path, word)

    def run(self, name: str, argv: Sequence[str], *, limit_ns: int, given: str = "-") -> Job:
        """A program to its end; ``given``: a file for its standard input.

        ``/tmp/NAME.out``, ``.err`` and ``.status`` are collected, 124 where ``limit_ns`` was over.
        """
        return self._and("run", name, str(limit_ns), given, *argv)

    def start(self, name: str, argv: Sequence[str]) -> Job:
        """A program in the background."""
        return self._and("start", name, *argv)

    def stop(self, name: str) -> Job:
        """Ends it with all it started, and collects as `run` does."""
        return self._and("stop", name)

    def parallel(self, cpus: int, turn_ns: int) -> Job:
        """Ordinary threads keep all CPUs busy from now on, and none runs for longer than
        ``turn_ns`` at a stretch: an emulator that gives them turns lets each have its share."""
        job = self
        for cpu in map(str, range(cpus)):
            load = (PROGRAM, "load", "--taskset", cpu, "--cpu", "1", "--quiet")
            job = job.start(f"busy{cpu}", load)
        return job._and("turn", str(turn_ns))

    def become(self, program: str) -> Job:
        """The machine's first process is ``program`` from now on; the job goes on beside it."""
        return self._and("become", program)

    @property
    def text(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()

    def _and(self, *words: str) -> Job:
        for word in words:
            if not word or len(word) > _WORD_MOST or not word.isprintable() or " " in word:
                raise UsageError(f"{word!r} can be no word of a job", "leave blanks out")
        return Job((*self.lines, " ".join(words)))


@frozen
class ImageFile:
    """A file of the archive; ``executable``: a program.

    Attributes:
        mode: Kind and rights; 0: of an ordinary file. ``owner``: numbers of user and group.
    """

    content: bytes
    executable: bool = False
    mode: int = field(default=0, kw_only=True)
    owner: tuple[int, int] = field(default=(0, 0), kw_only=True)


def files_below(folder: Path | None) -> dict[str, ImageFile]:
    """The files below a folder, by their path in the machine."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise UsageError(f"--initrd-extra: {folder} is not a folder", "name one")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if sum(path.stat().st_size for path in files) > _EXTRA_MOST:
        raise UsageError(f"--initrd-extra: {folder} holds more than 256 MB", "leave some out")
    return {
        f"/{path.relative_to(folder)}": ImageFile(
            path.read_bytes(), bool(path.stat().st_mode & 0o100)
        )
        for path in files
    }


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
        file = names.get(name, ImageFile(b"", mode=FOLDER | 0o755))
        mode = file.mode or FILE | (0o755 if file.executable else 0o644)
        parts.append(_entry(name, mode, number, file))
    parts.append(_entry(_TRAILER, 0, 0, ImageFile(b"")))
    return _padded(b"".join(parts), _BLOCK)


def _entry(name: str, mode: int, number: int, file: ImageFile) -> bytes:
    encoded, content = name.encode(errors="surrogateescape") + b"\0", file.content
    links = 2 if mode & FOLDER and not mode & 0o100000 else 1
    # number, mode, uid, gid, links, time, size, device (2), special device (2), name, checksum
    fields = (number, mode, *file.owner, links, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = _MAGIC + "".join(f"{field:08X}" for field in fields)
    return _padded(head.encode() + encoded, _ALIGN) + _padded(content, _ALIGN)


def _padded(data: bytes, step: int) -> bytes:
    return data + b"\0" * (-len(data) % step)
