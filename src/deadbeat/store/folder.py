"""What folders of measurements and studies have in common: a head, one writer, no leftovers.

The writer has an flock, which the kernel drops with the process, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.store.files import PART_SUFFIX, read_json, storing

HEAD_HINT = "restore it from a backup, or begin anew with --fresh"
LOCK_NAME = ".lock"
#: Opening a campaign holds the lock for the moment of its clean-up; a writer outlasts that.
_PATIENCE_S = 1.0
_PAUSE_S = 0.02


class FolderLock:
    """Exclusive right to write in a folder; may be taken again by the process that holds it.

    A child that was forked while the lock is held shares the kernel's lock and must not write.
    """

    _guard = threading.Lock()
    _held: dict[tuple[int, Path], tuple[int, int]] = {}  # noqa: RUF012  (process-wide on purpose)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock for a block; yields whether it is held.

        Args:
            wait: Else the block runs without it at once where it is not free.

        Raises:
            DeadbeatError: Another process is writing there.
        """
        key = os.getpid(), self._folder.resolve()
        with self._guard:
            descriptor, depth = self._held.get(key, (-1, 0))
            if depth == 0:
                descriptor = self._open_locked(_PATIENCE_S if wait else 0.0)
            if taken := descriptor >= 0:
                self._held[key] = (descriptor, depth + 1)
        if wait and not taken:
            raise DeadbeatError(
                f"another deadbeat{self._holder()} is writing {self._folder}",
                "wait until it ends, or choose another name",
            )
        try:
            yield taken
        finally:
            if taken:
                with self._guard:
                    descriptor, depth = self._held.pop(key)
                    if depth > 1:
                        self._held[key] = (descriptor, depth - 1)
                    else:
                        os.close(descriptor)

    def _open_locked(self, patience_s: float) -> int:
        path = self._folder / LOCK_NAME
        with storing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            until = time.monotonic() + patience_s
            while not _lock_now(descriptor):
                if time.monotonic() >= until:
                    os.close(descriptor)
                    return -1
                time.sleep(_PAUSE_S)
        # The process number only serves a message; a full disk must not stand in the way.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return descriptor

    def _holder(self) -> str:
        try:
            number = (self._folder / LOCK_NAME).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        return f" (process {number})" if number.isdigit() else ""


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@frozen
class Head:
    """What the head of a folder holds: what was asked, the version that wrote it, and more."""

    spec: dict[str, object]
    tool: str
    facts: dict[str, Any]


class OwnedFolder:
    """A directory with one writer at a time; half-written files of a killed one are removed.

    Attributes:
        NOUN: What such a directory is, in messages.
        HEAD: The file that says what was asked: what has it is such a directory.
        FOLDERS: Those below it that are written, too.
        BESIDE: Files that may be there before the head.
        path: The directory.
    """

    NOUN: ClassVar[str]
    HEAD: ClassVar[str]
    FOLDERS: ClassVar[tuple[str, ...]]
    BESIDE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FolderLock(path)

    @contextmanager
    def begun(self) -> Iterator[None]:
        """For a block that writes the head into a directory that is missing, empty, or was begun
        and killed at once.

        Raises:
            UsageError: Something lies there already.
            DeadbeatError: It cannot be written, or another process is writing there.
        """
        with storing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        foreign = [entry.name for entry in self.path.iterdir() if not self._may_lie(entry)]
        if self.HEAD in foreign:
            raise UsageError(
                f"{self.path} already holds a {self.NOUN}", "open it, or choose another name"
            )
        if foreign:
            raise UsageError(
                f"{self.path} is not empty: it holds {min(foreign)}",
                "choose an empty or a new folder",
            )
        with self.lock(), storing(self.path):
            self.clean()
            for folder in self.FOLDERS:
                (self.path / folder).mkdir(exist_ok=True)
            yield

    def _may_lie(self, entry: Path) -> bool:
        if entry.name in (LOCK_NAME, *self.BESIDE) or entry.suffix == PART_SUFFIX:
            return True
        return entry.name in self.FOLDERS and entry.is_dir() and not any(entry.iterdir())

    @classmethod
    def head(cls, path: Path) -> Head:
        """What the head of ``path`` holds.

        Raises:
            DataError: None is there, or it is damaged or of another format.
        """
        file = path / cls.HEAD
        if not file.is_file():
            raise DataError(
                f"{path} is not a {cls.NOUN}: it has no {cls.HEAD}",
                f"name the folder of a {cls.NOUN}: deadbeat runs lists them",
            )
        plain = read_json(file, what=f"{cls.NOUN} file", hint=HEAD_HINT, tool=True)
        spec, tool = plain.pop("spec", None), plain.pop("tool", "")
        if not isinstance(spec, dict):
            raise cls.damaged(path, "spec")
        return Head(spec, str(tool), plain)

    @classmethod
    def damaged(cls, path: Path, what: str) -> DataError:
        """The error of a head that has no valid value of that name."""
        file = path / cls.HEAD
        return DataError(f"{cls.NOUN} file {file} is damaged: no valid {what} in it", HEAD_HINT)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The right to write here, for a block; nests within one process.

        Raises:
            DeadbeatError: Another process holds it.
        """
        with self._lock.hold():
            yield

    def clean_if_possible(self) -> None:
        """A read-only folder, or one that is being written, is left as it is."""
        try:
            with self._lock.hold(wait=False) as held:
                if held:
                    self.clean()
        except DeadbeatError:
            return

    def clean(self) -> None:
        """Removes what a killed writer left; the lock must be held."""
        for folder in (self.path, *(self.path / name for name in self.FOLDERS)):
            for part in folder.glob(f"*{PART_SUFFIX}"):
                with storing(part):
                    part.unlink(missing_ok=True)
