"""Traces that others recorded: a format is a module of `deadbeat.program.foreign.formats`."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pkgutil
import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from attrs import frozen

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.store.texts import shown
from deadbeat.program.derive.records import Recording
from deadbeat.program.foreign import formats
from deadbeat.program.foreign.gathered import Gathered

#: How packed files begin, and what opens them.
_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
}
#: What unpacking a damaged one raises.
_DAMAGE = (EOFError, ValueError, lzma.LZMAError, zlib.error)
#: Of a file, to tell its format: a page of Android begins with its program.
_HEAD = 4 << 20


@frozen(kw_only=True)
class TraceFormat:
    """``fits``: whether a file, or folder, with such a first part is of it; ``read``: all that a
    file holds; raises DataError where it is damaged, or what reads it is not installed."""

    name: str
    fits: Callable[[Path, bytes], bool]
    read: Callable[[Path], Gathered]


def opened(path: Path) -> IO[bytes]:
    """What is in a file, packed or not."""
    with path.open("rb") as stream:
        head = stream.read(8)
    unpack = next((each for magic, each in _PACKED.items() if head.startswith(magic)), open)
    return cast("IO[bytes]", unpack(path, "rb"))


@cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """Every format, by the name of its module."""
    names = sorted(each.name for each in pkgutil.iter_modules(formats.__path__))
    return tuple(import_module(f"{formats.__name__}.{name}").FORMAT for name in names)


def format_of(path: Path) -> TraceFormat | None:
    """The format of a file or folder; None: it is no trace that is known, or cannot be read."""
    try:
        head = b""
        if path.is_file():
            with opened(path) as stream:
                head = stream.read(_HEAD)
        return next((each for each in trace_formats() if each.fits(path, head)), None)
    except (OSError, *_DAMAGE):
        return None


def read_trace(path: Path, form: TraceFormat, process: str, called: str = "") -> Recording:
    """The recording of a process, as `Gathered.recording` has it. ``called``: what to call a file
    that has no name of its own.

    Raises:
        DataError: The file is damaged. UsageError: it has no such process.
    """
    called = called or shown(path)
    try:
        return form.read(path).recording(process)
    except DeadbeatError as error:
        error.args = (f"{called} ({form.name}): {error.message}",)
        error.message = error.args[0]
        raise
    except _DAMAGE as error:
        raise DataError(f"{called} is damaged: {error}", "copy it once more") from error
    except OSError as error:
        raise DataError(f"cannot read {called}: {error.strerror or error}") from error
