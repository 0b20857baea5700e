"""What the directories of measurements and studies have in common: one writer, no leftovers, and
files by key that are written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.store.files import FORMAT, PART_SUFFIX, atomic_write, storing, tool_version
from deadbeat.store.locking import LOCK_NAME, FolderLock


class Key(Protocol):
    """What a file is called after."""

    @property
    def text(self) -> str: ...


K = TypeVar("K", bound=Key)


def make_empty(path: Path, folders: Sequence[str]) -> None:
    """Makes ``path``, or finds it empty, or as one that was begun and killed at once leaves it.

    Args:
        folders: Those below it that may be there, empty.

    Raises:
        UsageError: Something lies there already.
        DeadbeatError: It cannot be made.
    """
    with storing(path):
        path.mkdir(parents=True, exist_ok=True)
    foreign = [entry.name for entry in path.iterdir() if not is_begun(entry, folders)]
    if foreign:
        raise UsageError(
            f"{path} is not empty: it holds {min(foreign)}", "choose an empty or a new folder"
        )


def is_begun(entry: Path, folders: Sequence[str]) -> bool:
    """Whether ``entry`` may lie in a folder that was begun and killed at once."""
    if entry.name == LOCK_NAME or entry.suffix == PART_SUFFIX:
        return True
    return entry.name in folders and entry.is_dir() and not any(entry.iterdir())


def stored_keys(place: Path, parse: Callable[[str], K]) -> set[K]:
    """Keys of the files ``KEY.json`` in ``place``; what has another name is none of ours."""
    found = set()
    for entry in place.iterdir() if place.is_dir() else ():
        if entry.suffix == ".json":
            try:
                key = parse(entry.stem)
            except UsageError:
                continue
            if key.text == entry.stem:
                found.add(key)
    return found


class OwnedFolder:
    """A directory with one writer at a time; half-written files of a killed one are removed.

    Args:
        path: The directory.
        folders: Those below it that are written, too.
    """

    def __init__(self, path: Path, folders: Sequence[str]) -> None:
        self.path = path
        self._folders = folders
        self._lock = FolderLock(path)

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
            with self._lock.hold_if_free() as held:
                if held:
                    self.clean()
        except DeadbeatError:
            return

    def clean(self) -> None:
        """Removes what a killed writer left; the lock must be held."""
        for folder in (self.path, *(self.path / name for name in self._folders)):
            for part in folder.glob(f"*{PART_SUFFIX}"):
                with storing(part):
                    part.unlink(missing_ok=True)

    def keep_run(self, path: Path, run: dict[str, Any]) -> None:
        """Writes a run, as JSON values, to ``path``; whole or not at all, and once.

        Raises:
            DeadbeatError: It is stored already, or cannot be written.
        """
        plain = {"run": run, "format": FORMAT, "tool": tool_version()}
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        with self.lock():
            if path.exists():
                raise DeadbeatError(f"{path} is stored already", "a defect")
            with storing(path):
                path.parent.mkdir(exist_ok=True)
            atomic_write(path, text + "\n")
