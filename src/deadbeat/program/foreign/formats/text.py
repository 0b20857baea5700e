"""Text of events: ``trace`` of tracefs, atrace and systrace, trace-cmd report, perf script."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from deadbeat.base.model.errors import DataError
from deadbeat.program.foreign.base import TraceFormat
from deadbeat.program.foreign.gathered import Gathered
from deadbeat.program.foreign.text import LINE, TextReader

_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
}


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        head = stream.read(8)
    unpack = next((each for magic, each in _PACKED.items() if head.startswith(magic)), open)
    return cast("IO[bytes]", unpack(path, "rb"))


def _fits(path: Path, head: bytes) -> bool:
    if any(head.startswith(magic) for magic in _PACKED):
        try:
            with _open(path) as stream:
                head = stream.read(1 << 20)
        except (OSError, EOFError, ValueError, lzma.LZMAError):
            return False
    return LINE.search(head.decode(errors="replace")) is not None


def _read(path: Path) -> Gathered:
    try:
        with _open(path) as stream:
            return TextReader().read(stream)
    except (EOFError, lzma.LZMAError, ValueError) as error:
        raise DataError(f"it is damaged: {error}", "copy it once more") from error


FORMAT = TraceFormat(name="text of events", fits=_fits, read=_read)
