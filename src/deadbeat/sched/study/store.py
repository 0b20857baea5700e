"""A study's directory: the specification, and a file for every finished chunk of its results.

``study.json`` says what is asked; ``chunks/000012.rows`` holds a row per task set of chunk 12 and
is never changed; everything else is derived. Layout: docs/reference/studies.md.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import (
    FORMAT,
    check_format,
    listing,
    parse_json,
    read_bytes,
    tool_version,
    write_buffers,
)
from deadbeat.base.store.folder import Head, OwnedFolder
from deadbeat.base.store.place import STUDY_FILE

CHUNKS = "chunks"

_MAGIC = b"deadbeat study chunk\n"
_CHUNK_NAME = re.compile(r"([0-9]{6,})\.rows")
_CHUNK_HINT = "delete the file and repeat the command: only this chunk is computed again"


class StudyStore(OwnedFolder):
    """One study's directory. Use `create` or `open`."""

    NOUN, HEAD, FOLDERS = "study", STUDY_FILE, (CHUNKS,)

    def __init__(self, path: Path, *, spec: Mapping[str, Json], digest: str, tool: str) -> None:
        super().__init__(path)
        self.spec = spec
        self.digest = digest
        #: Version of deadbeat that began it.
        self.tool = tool

    @classmethod
    def create(cls, path: Path, spec: Mapping[str, Json], digest: str) -> StudyStore:
        """Begins a study of ``spec``, as JSON values, which ``digest`` identifies; as `begun`."""
        return cls.begun(path, {"spec": spec, "digest": digest})

    @classmethod
    def opened(cls, path: Path, head: Head) -> StudyStore:
        digest = head.facts.get("digest")
        if not isinstance(digest, str):
            raise cls.damaged(path, "digest")
        return cls(path, spec=head.spec, digest=digest, tool=head.tool)

    def finished(self) -> set[int]:
        """Numbers of the chunks that are stored."""
        names = (entry.name for entry in listing(self.path / CHUNKS))
        return {int(match[1]) for name in names if (match := _CHUNK_NAME.fullmatch(name))}

    def chunk_path(self, number: int) -> Path:
        return self.path / CHUNKS / f"{number:06d}.rows"

    def commit(self, number: int, rows: NDArray[Any]) -> Path:
        """Keeps the rows of chunk ``number``; whole or not at all.
        Raises DeadbeatError: it is stored already, or cannot be written."""
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, rows, version=(2, 0), allow_pickle=False)
        body = buffer.getvalue()
        head = {
            "format": FORMAT,
            "tool": tool_version(),
            "study": self.digest,
            "chunk": number,
            "bytes": len(body),
            "crc32": zlib.crc32(body),
        }
        path = self.chunk_path(number)
        with self.lock():
            if path.exists():
                raise DeadbeatError(f"chunk {number} of {self.path} is stored already", "a defect")
            write_buffers(path, [_MAGIC, json.dumps(head, sort_keys=True).encode() + b"\n", body])
        return path

    def rows(self, number: int, expected: np.dtype[Any]) -> NDArray[Any]:
        """The rows of chunk ``number``.

        Raises:
            DataError: Missing, damaged, of another study or with other columns than ``expected``.
        """
        path = self.chunk_path(number)
        data = read_bytes(path, what="chunk", hint=_CHUNK_HINT)
        line, newline, body = data[len(_MAGIC) :].partition(b"\n")
        if not data.startswith(_MAGIC) or not newline:
            raise DataError(f"chunk {path} is damaged: not a chunk of a study", _CHUNK_HINT)
        head = parse_json(path, line, what="chunk", hint=_CHUNK_HINT)
        if not isinstance(head, dict):
            raise DataError(f"chunk {path} is damaged: its head is no object", _CHUNK_HINT)
        check_format(path, head, what="chunk", hint=_CHUNK_HINT)
        if head.get("bytes") != len(body) or head.get("crc32") != zlib.crc32(body):
            raise DataError(f"chunk {path} is damaged: its checksum is wrong", _CHUNK_HINT)
        if head.get("study") != self.digest or head.get("chunk") != number:
            raise DataError(f"chunk {path} belongs to another study", _CHUNK_HINT)
        try:
            rows: NDArray[Any] = np.lib.format.read_array(io.BytesIO(body), allow_pickle=False)
        except ValueError as error:
            raise DataError(f"chunk {path} is damaged: {error}", _CHUNK_HINT) from error
        if rows.dtype != expected or rows.ndim != 1:
            raise DataError(f"chunk {path} is damaged: other columns than asked", _CHUNK_HINT)
        return rows
