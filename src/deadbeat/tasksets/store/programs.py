"""What was built, kept with the results: ``programs/BATCH.c``, ``BATCH.elf`` and ``BATCH.json``.

``BATCH.json`` is an array with one task set a line, so that one of thousands is read without
parsing the others. It is written last: a batch exists when its index does. ``BATCH.sha256`` holds
the hashes of all three, as ``sha256sum`` writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.store.files import (
    atomic_write,
    copy_file,
    file_hash,
    listing,
    parse_json,
    read_bytes,
)
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.serial import structure, to_plain

_HINT = "delete the batch's files in programs/ and repeat the command: it is built again"
_BATCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HASH_LINE = re.compile(r"([0-9a-f]{64})  (.+)\.(c|elf|json)")
_LINE_SET_ID = re.compile(rb'^\{"index": \d+, "key": "[^"\\]*", "set_id": "([^"\\]*)", ')
_LINE_KEY = re.compile(rb'^\{"index": (\d+), "key": "([^"\\]*)", ')


@frozen
class Program:
    """A batch that was built.

    Attributes:
        batch: Its name.
        source, elf: Paths of the C text and of the executable (None: never built).
        keys: The runs in it, in the order of its table of task sets.
    """

    batch: str
    source: Path
    elf: Path | None
    keys: tuple[RunKey, ...]


@frozen
class PlannedSet:
    """A task set of a batch: its place, and its identifier ("" if not recorded)."""

    batch: str
    index: int
    set_id: str
    task_set: TaskSet


class ProgramFolder:
    """The ``programs`` folder of a campaign; its owner holds its lock while it writes.

    Indexes are read when first asked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: dict[str, list[bytes]] = {}
        self._where: dict[RunKey, tuple[str, int]] = {}

    def save(
        self,
        batch: str,
        c_source: str,
        task_sets: Sequence[tuple[RunKey, TaskSet]],
        elf: Path | None = None,
        *,
        set_ids: Sequence[str] = (),
    ) -> Path | None:
        """Keep what was built; returns where the executable now is. The index comes last.

        Args:
            batch: Its name.
            c_source: The generated C.
            task_sets: The runs in it, in the order of the program's table.
            elf: The executable, copied.
            set_ids: Identifier of each task set (`emit.task_set_id`); compared with the job files.
        """
        if not _BATCH_NAME.fullmatch(batch):
            raise UsageError(f"{batch!r} cannot name a batch", "letters, digits, '.', '_' and '-'")
        atomic_write(self._folder / f"{batch}.c", c_source)
        stored = self._folder / f"{batch}.elf" if elf is not None else None
        if elf is not None and stored is not None:
            copy_file(elf, stored)
        lines = [
            json.dumps(
                {"index": i, "key": key.text, "set_id": set_id, "task_set": to_plain(task_set)},
                ensure_ascii=False,
                allow_nan=False,
            )
            for i, ((key, task_set), set_id) in enumerate(
                zip(task_sets, set_ids or [""] * len(task_sets), strict=True)
            )
        ]
        index = "[\n" + ",\n".join(lines) + "\n]\n"
        hashes = {"c": hashlib.sha256(c_source.encode()).hexdigest()}
        if stored is not None:
            hashes["elf"] = file_hash(stored)
        hashes["json"] = hashlib.sha256(index.encode()).hexdigest()
        text = "".join(f"{digest}  {batch}.{suffix}\n" for suffix, digest in hashes.items())
        atomic_write(self._folder / f"{batch}.sha256", text)
        atomic_write(self._folder / f"{batch}.json", index)
        self._forget()
        return stored

    def recorded_hashes(self, batch: str) -> dict[str, str]:
        """Suffix (``c``, ``elf``, ``json``) -> SHA-256 as recorded; empty where none were.
        Raises DataError: the record is damaged."""
        path = self._folder / f"{batch}.sha256"
        if not path.exists():
            return {}
        lines = read_bytes(path, what="record of hashes", hint=_HINT).decode("utf-8", "replace")
        found = {}
        for line in lines.splitlines():
            match = _HASH_LINE.fullmatch(line)
            if match is None or match[2] != batch:
                raise DataError(f"record of hashes {path} is damaged: {line[:80]!r}", _HINT)
            found[match[3]] = match[1]
        return found

    def copy_file(self, name: str, source: Path) -> None:
        """Take over a file of another campaign's ``programs``; the index is to come last."""
        copy_file(source, self._folder / name)
        self._forget()

    def _forget(self) -> None:
        self._lines.clear()
        self._where.clear()

    def all(self) -> tuple[Program, ...]:
        """All batches, by name. Raises DataError: an index is damaged."""
        self._load()
        found = []
        for batch in sorted(self._lines):
            source, elf = (self._folder / f"{batch}.{suffix}" for suffix in ("c", "elf"))
            keys = sorted((i, key) for key, (owner, i) in self._where.items() if owner == batch)
            found.append(
                Program(batch, source, elf if elf.exists() else None, tuple(k for _, k in keys))
            )
        return tuple(found)

    def keys(self) -> frozenset[RunKey]:
        """Every run that some batch holds a task set for."""
        self._load()
        return frozenset(self._where)

    def planned(self, key: RunKey) -> PlannedSet | None:
        """The stored task set of ``key``; None if no batch holds it.
        Raises DataError: its line is damaged."""
        self._load()
        if key not in self._where:
            return None
        batch, index = self._where[key]
        path = self._folder / f"{batch}.json"
        item = parse_json(path, self._lines[batch][index], what="batch index", hint=_HINT)
        set_id = item.get("set_id")
        if not isinstance(set_id, str):
            raise DataError(f"batch index {path} is damaged: {key.text} has no set_id", _HINT)
        task_set = structure(
            item.get("task_set"), TaskSet, path=path, what="task set in", hint=_HINT
        )
        return PlannedSet(batch, index, set_id, task_set)

    def task_set(self, key: RunKey) -> TaskSet:
        """The task set of ``key``. Raises DataError: no batch holds it, or its index is damaged."""
        planned = self.planned(key)
        if planned is None:
            raise DataError(
                f"no program in {self._folder} holds {key.text}",
                "repeat the command: it is built again",
            )
        return planned.task_set

    def set_ids(self) -> dict[RunKey, str]:
        """Identifier of the task set of every run ("" where not recorded), without reading the
        sets themselves.

        Raises:
            DataError: A line is damaged.
        """
        self._load()
        found = {}
        for key, (batch, index) in self._where.items():
            match = _LINE_SET_ID.search(self._lines[batch][index])
            if match is None:
                path = self._folder / f"{batch}.json"
                raise DataError(f"batch index {path} is damaged: {key.text} has no set_id", _HINT)
            found[key] = match[1].decode("ascii")
        return found

    def _load(self) -> None:
        """Read the indexes once; a later batch replaces an earlier one's entry of the same run."""
        if self._lines:
            return
        for path in (each for each in listing(self._folder) if each.suffix == ".json"):
            rows = read_bytes(path, what="batch index", hint=_HINT).split(b"\n")
            if rows[0] != b"[" or rows[-2:] != [b"]", b""]:
                raise DataError(f"batch index {path} is damaged: it is not a whole array", _HINT)
            lines = [row.removesuffix(b",") for row in rows[1:-2] if row]
            self._lines[path.stem] = lines
            for index, line in enumerate(lines):
                match = _LINE_KEY.match(line)
                if match is None or int(match[1]) != index:
                    raise DataError(f"batch index {path} is damaged: line {index + 2}", _HINT)
                self._where[RunKey.parse(match[2].decode("utf-8", "replace"))] = (path.stem, index)
