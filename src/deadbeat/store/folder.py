"""What the directories of measurements and studies have in common: one writer, no leftovers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.store.files import PART_SUFFIX, storing
from deadbeat.store.locking import LOCK_NAME, FolderLock


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
