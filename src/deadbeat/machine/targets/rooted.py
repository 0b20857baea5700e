"""A target with files below a folder: a made-up machine as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from deadbeat.machine.targets.base import ClosedAfterwards, Target
from deadbeat.machine.targets.readings import Reading, Readings


class RootedTarget(ClosedAfterwards):
    """``target``, but its `read_text` and `read_many` find every path below ``root``.

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
        self.run, self.start, self.put, self.get = target.run, target.start, target.put, target.get

    @property
    def folder(self) -> str:
        return self._target.folder

    def read_text(self, path: str) -> str | None:
        return self._target.read_text(self._root + path)

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        found = self._target.read_many([self._root + path for path in paths])
        return evolve(
            found,
            commands=dict.fromkeys(commands or (), Reading(None, "a tree of files runs nothing")),
            files={self._bare(path): reading for path, reading in found.files.items()},
            patterns={
                self._bare(pattern): tuple(map(self._bare, matched))
                for pattern, matched in found.patterns.items()
            },
        )

    def _bare(self, path: str) -> str:
        return path.removeprefix(self._root)
