"""How far a finished result is, kept beside it: a list of thousands reads this alone.

It counts while the folder is as it was: as many files, as many bytes, none of them newer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import read_json, tool_version, write_json
from deadbeat.base.store.folder import LOCK_NAME
from deadbeat.base.store.place import FolderState

STATE_FILE = "state.json"
_TEXTS, _NUMBERS = ("preset", "said"), ("planned", "done", "failed", "invalid")


@frozen(kw_only=True)
class KeptState(FolderState):
    """A state as it was kept. ``said``: its `words`; ``own``: its `facts`."""

    said: str
    own: Mapping[str, Json] = field(factory=dict)

    def facts(self) -> dict[str, Json]:
        return dict(self.own)

    def words(self, kind: str) -> str:
        return self.said


def keep_state(kind: str, state: FolderState) -> None:
    """Keeps ``state`` beside a finished result; its page is written.
    Raises DeadbeatError: it cannot be written."""
    if state.state == "finished":
        facts: dict[str, Json] = {"kind": kind, "said": state.words(kind), "own": state.facts()}
        facts |= {name: getattr(state, name) for name in ("preset", *_NUMBERS)}
        write_json(state.path / STATE_FILE, {**facts, "files": _files(state.path)})


def kept_state(kind: str, path: Path) -> KeptState | None:
    """What was kept in ``path``; None: nothing, or it is not as it was."""
    try:
        plain = read_json(path / STATE_FILE, what="state", hint="", tool=True)
    except DataError:
        return None
    wanted = {"kind": kind, "tool": tool_version(), "files": _files(path)}
    values = {name: plain.get(name) for name in (*_TEXTS, *_NUMBERS)}
    right = all(type(values[name]) is str for name in _TEXTS)
    right = right and all(type(values[name]) is int for name in _NUMBERS)
    own = plain.get("own")
    if not right or not isinstance(own, dict) or wanted != {n: plain.get(n) for n in wanted}:
        return None
    given: dict[str, Any] = {**values, "own": own}
    return KeptState(name=path.name, path=path, state="finished", **given)


def _files(folder: Path) -> list[int]:
    """Number and bytes of all files, and when the newest was written."""
    count = size = newest = 0
    todo = [os.fspath(folder)]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                elif entry.name not in (STATE_FILE, LOCK_NAME):
                    status = entry.stat(follow_symlinks=False)
                    count, size = count + 1, size + status.st_size
                    newest = max(newest, status.st_mtime_ns)
    return [count, size, newest]
