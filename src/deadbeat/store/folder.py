"""What the directories of campaigns and studies have in common: one writer, and no leftovers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deadbeat.model.errors import DeadbeatError
from deadbeat.store.files import PART_SUFFIX, storing
from deadbeat.store.locking import FolderLock


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
