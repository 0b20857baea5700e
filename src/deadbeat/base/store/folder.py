"""What folders of measurements and studies have in common: a head, one writer, no leftovers.

The writer has an flock, which the kernel drops with the process, however it ends. Reading takes no
lock and leaves everything as it is: the folder may be a stranger's, and its files and links too.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

from attrs import frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import (
    PART_SUFFIX,
    check_folder,
    listing,
    make_folder,
    open_regular,
    read_json,
    storing,
    write_json,
)

#: Head of the folders of every kind that has no name of its own for it.
EXPERIMENT_FILE = "experiment.json"
HEAD_HINT = "restore it from a backup, or start again with --fresh"
LOCK_NAME = ".lock"
_GUARD = threading.Lock()
#: Process and folder -> descriptor of its lock, and how often it is held.
_HELD: dict[tuple[int, Path], tuple[int, int]] = {}


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """The right to write in ``folder``, for a block; nests within one process.

    A child that was forked while it is held shares the kernel's lock and must not write.

    Raises:
        DeadbeatError: Another process holds it, or the lock is no regular file.
    """
    key = os.getpid(), folder.resolve()
    with _GUARD:
        descriptor, depth = _HELD.get(key, (-1, 0))
        _HELD[key] = (descriptor if depth else _locked(folder / LOCK_NAME), depth + 1)
    try:
        yield
    finally:
        with _GUARD:
            descriptor, depth = _HELD.pop(key)
            if depth > 1:
                _HELD[key] = (descriptor, depth - 1)
            else:
                os.close(descriptor)


def _locked(path: Path) -> int:
    """Descriptor of the lock ``path``, which is made where it is missing."""
    with storing(path):
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            number = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            holder = f" (process {number})" if number.isdigit() else ""
            raise DeadbeatError(
                f"another deadbeat{holder} is writing {path.parent}",
                "wait until it ends, or choose another name",
            ) from None
    # The process number only serves a message; a full disk must not stand in the way. A file of
    # several names may be a link of another user.
    with suppress(OSError):
        if os.fstat(descriptor).st_nlink == 1:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


@frozen
class Head:
    """What the head of a folder holds: what was asked, the version that wrote it, and more."""

    spec: dict[str, Json]
    tool: str
    facts: dict[str, Any]


class OwnedFolder:
    """A directory with one writer at a time; half-written files of a killed one are removed.

    Attributes:
        NOUN: What such a directory is, in messages.
        HEAD: The file that says what was asked: what has it is such a directory.
        FOLDERS: Folders below it that are written, too.
        BESIDE: Files that may be there before the head.
        path: The directory.
    """

    NOUN: ClassVar[str]
    HEAD: ClassVar[str]
    FOLDERS: ClassVar[tuple[str, ...]]
    BESIDE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def begun(
        cls, path: Path, head: Mapping[str, Json], *, beside: Callable[[], object] = lambda: None
    ) -> Self:
        """Writes the head into ``path``, which must be missing, empty, or begun and killed at once,
        and opens it.

        Args:
            beside: Writes what is there before the head.

        Raises:
            UsageError: Something lies there already.
            DeadbeatError: It cannot be written, or another process is writing there.
        """
        make_folder(path)
        foreign = [entry.name for entry in path.iterdir() if not cls._may_lie(entry)]
        if cls.HEAD in foreign:
            raise UsageError(
                f"{path} already holds a {cls.NOUN}", "open it, or choose another name"
            )
        if foreign:
            raise UsageError(
                f"{path} is not empty: it holds {min(foreign)}", "choose an empty or a new folder"
            )
        with writing(path), storing(path):
            cls._clean(path)
            for folder in cls.FOLDERS:
                make_folder(path / folder)
            beside()
            write_json(path / cls.HEAD, head)
        return cls.open(path)

    @classmethod
    def _may_lie(cls, entry: Path) -> bool:
        if entry.name in (LOCK_NAME, *cls.BESIDE) or entry.suffix == PART_SUFFIX:
            return True
        return entry.name in cls.FOLDERS and entry.is_dir() and not any(entry.iterdir())

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """The folder at ``path``.
        Raises DataError: none of this kind there, or its head is damaged or of another format."""
        return cls.opened(Path(path), cls.head(Path(path)))

    @classmethod
    def opened(cls, path: Path, head: Head) -> Self:
        """The folder at ``path`` that has this head; DataError where a fact is missing or wrong."""
        return cls(path)

    @classmethod
    def head(cls, path: Path) -> Head:
        """What the head of ``path`` holds.

        Raises:
            DataError: None is there, or it is damaged or of another format; or one of the
                folders in it is a link.
        """
        file = path / cls.HEAD
        if not file.is_file():
            raise DataError(
                f"{path} is not a {cls.NOUN}: it has no {cls.HEAD}",
                f"name the folder of a {cls.NOUN}: deadbeat list results lists them",
            )
        for folder in cls.FOLDERS:
            check_folder(path / folder)
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
        Raises DeadbeatError: another process holds it."""
        with writing(self.path):
            yield

    def clean(self) -> None:
        """Remove what a killed writer left; the lock must be held."""
        self._clean(self.path)

    @classmethod
    def _clean(cls, path: Path) -> None:
        for folder in (path, *(path / name for name in cls.FOLDERS)):
            for part in listing(folder):
                if part.suffix == PART_SUFFIX and (part.is_file() or part.is_symlink()):
                    with storing(part):
                        part.unlink(missing_ok=True)
