"""A target whose files are below a folder: a made-up machine as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from deadbeat.targets.base import ClosedAfterwards
from deadbeat.targets.readings import Reading, Readings

if TYPE_CHECKING:
    from pathlib import Path

    from deadbeat.targets.base import Process, Target
    from deadbeat.targets.completed import Completed


class RootedTarget(ClosedAfterwards):
    """``target``, whose `read_text` and `read_many` find every path below ``root``.

    Programs run as they do on ``target``; whoever writes files puts ``root`` before them. What is
    read by a command would be of ``target``, not of the tree: no command of `read_many` is there.
    Closing it leaves ``target`` open.
    """

    def __init__(self, target: Target, root: str) -> None:
        self._target = target
        self._root = root.rstrip("/")
        self.name = target.name
        self.kind = "simulated" if self._root else target.kind
        self.address = target.address

    @property
    def folder(self) -> str:
        """That of ``target``."""
        return self._target.folder

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """As ``target`` does."""
        return self._target.run(argv, timeout=timeout)

    def start(self, argv: Sequence[str]) -> Process:
        """As ``target`` does."""
        return self._target.start(argv)

    def put(self, source: Path, destination: str) -> None:
        """As ``target`` does."""
        self._target.put(source, destination)

    def get(self, source: str, destination: Path) -> None:
        """As ``target`` does."""
        self._target.get(source, destination)

    def read_text(self, path: str) -> str | None:
        """A file below the root, or None."""
        return self._target.read_text(self._root + path)

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        """Files below the root, by their paths without it; see the protocol."""
        found = self._target.read_many([self._root + path for path in paths])
        return evolve(
            found,
            commands={
                name: Reading(None, "a tree of files runs nothing") for name in commands or ()
            },
            files={self._bare(path): reading for path, reading in found.files.items()},
            patterns={
                self._bare(pattern): tuple(map(self._bare, matched))
                for pattern, matched in found.patterns.items()
            },
        )

    def _bare(self, path: str) -> str:
        return path.removeprefix(self._root)

    def close(self) -> None:
        """Nothing: ``target`` belongs to somebody else."""
