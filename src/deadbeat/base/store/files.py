"""Reading and writing single files: whole or not at all, and every failure in one line.

A result folder may come from anywhere: only regular files in it are opened, and no link in it is
followed, neither for reading nor for writing. A link that a person names is resolved before.

A file appears under its name only when all of it is on the disk: it is written beside as
``NAME.PID.part``, synced, renamed, and the folder is synced. ``kill -9`` at any moment leaves the
old file or the new one; a left-over ``.part`` is never read.
"""

from __future__ import annotations

import csv
import errno
import functools
import hashlib
import io
import json
import math
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.refused import refusal
from deadbeat.base.model.words import Json

#: Version of the layout of a campaign directory and of every JSON file in it.
FORMAT = 1
PART_SUFFIX = ".part"
#: No file of a result is longer: the sparse one of a stranger would fill the memory.
_DATA_LIMIT = 1 << 30
Buffer = bytes | memoryview
_OWN = (".py", ".so", ".toml", ".json")
_MODE_HINT = "check owner and permissions of the folder"


@functools.cache
def tool_version() -> str:
    """Version of this deadbeat; written into every file, named when a file is foreign."""
    return version("deadbeat")


@functools.cache
def tool_hash() -> str:
    """SHA-256 of this deadbeat, as it is installed: its own files by name."""
    found = hashlib.sha256()
    root = Path(__file__).parents[2]
    for path in sorted(each for each in root.rglob("*") if each.suffix in _OWN and each.is_file()):
        found.update(f"{path.relative_to(root)}\0{file_hash(path)}\n".encode())
    return found.hexdigest()


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an OSError of writing ``path`` into a DeadbeatError that says what to do."""
    try:
        yield
    except OSError as error:
        hint = "nothing was half-written; repeat the command when the cause is gone"
        raise DeadbeatError(*refusal(f"cannot write {path}", error, hint)) from error


def sync(path: Path) -> None:
    """Make the content of a file, or the renames in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def part_path(path: Path) -> Path:
    """Where ``path`` is written before it gets its name."""
    return path.with_name(f"{path.name}.{os.getpid()}{PART_SUFFIX}")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """For a block that writes the part which then gets the name ``path``, durably, in a folder
    that is made where it is missing."""
    part = part_path(path)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        try:
            yield part
            sync(part)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_buffers(path: Path, buffers: Iterable[Buffer]) -> None:
    """Write ``buffers`` one after the other as ``path``, atomically.
    Raises DeadbeatError: the disk is full, or writing is not permitted; nothing is left behind."""
    with _replacing(path) as part, part.open("xb") as stream:
        for buffer in buffers:
            stream.write(buffer)


def output_file(path: Path) -> BinaryIO:
    """A file for what a program writes while it runs, empty at first."""
    return path.open("wb", buffering=0)


def atomic_write(path: Path, data: bytes | str) -> None:
    """Write ``data`` (text as UTF-8) as ``path``: the old content or the new one, never a part.

    Bytes of a name that is not UTF-8 are written escaped.

    Raises:
        DeadbeatError: The disk is full, or writing is not permitted; nothing is left behind.
    """
    write_buffers(path, [data.encode(errors="backslashreplace") if isinstance(data, str) else data])


def append_text(path: Path, text: str) -> None:
    """Adds lines to a file, which is made where it is missing; one write, whoever else adds some.
    Raises DeadbeatError: they cannot be written."""
    with storing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def copy_file(source: Path, target: Path) -> None:
    """Copy ``source`` with its mode as ``target``, atomically.
    Raises DeadbeatError: it cannot be read or written; nothing is left behind."""
    with _replacing(target) as part:
        shutil.copy2(source, part)


def move_file(source: Path, target: Path) -> None:
    """Give the complete file ``source`` the name ``target``, durably and atomically.
    Raises DeadbeatError: it cannot be read or written; ``source`` is then still there."""
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        sync(source)
        try:
            source.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            copy_file(source, target)
            source.unlink()
        sync(target.parent)


def write_json(path: Path, value: Mapping[str, Json], *, indent: int | None = 2) -> None:
    """Write ``value`` with the format and the tool's version beside its own keys, atomically:
    sorted, indented (None: in one line), one line end; NaN is refused (ValueError)."""
    whole = {**value, "format": FORMAT, "tool": tool_version()}
    text = json.dumps(whole, indent=indent, sort_keys=True, ensure_ascii=False, allow_nan=False)
    atomic_write(path, f"{text}\n")


def followed(path: Path) -> Path:
    """Where a file or folder that a person names is: there a link is followed."""
    return path.resolve() if path.is_symlink() else path


def check_folder(folder: Path) -> None:
    """Refuse a folder of a result that is a link. Raises DataError: it is one."""
    if folder.is_symlink():
        raise DataError(
            f"{folder} is a link: links in a result folder are not followed",
            "replace it by the folder it leads to",
        )


def make_folder(folder: Path) -> None:
    """Make ``folder`` and what is missing above it.
    Raises DeadbeatError: it cannot be made, or is a link."""
    check_folder(folder)
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def listing(folder: Path) -> list[Path]:
    """What is in a folder of a result, sorted; nothing where it is missing or no folder.
    Raises DataError: it cannot be read, or is a link."""
    check_folder(folder)
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise DataError(f"cannot read {folder}: {error.strerror}", _MODE_HINT) from error


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Descriptor of a file of a result folder, which may be made where ``flags`` say so.

    A pipe would be waited for, a device has no end, and a link may lead anywhere.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link: links in a result folder are not followed")
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file")
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)


def reading(path: Path) -> BufferedReader:
    """A file of a result folder, opened by `open_regular`.

    Raises:
        OSError: It cannot be opened, or is longer than any that is written: a hole of a terabyte
            would be read for minutes.
    """
    descriptor = open_regular(path)
    if os.fstat(descriptor).st_size > _DATA_LIMIT:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is longer than {_DATA_LIMIT} bytes")
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, *, what: str, hint: str, piped: bool = False) -> bytes:
    """Content of ``path``.

    Args:
        piped: Whether it may be a pipe: a file that a person names, not one of a result folder.

    Raises:
        DataError: It cannot be read; names ``what`` it should have been and gives ``hint``.
    """
    try:
        if piped:
            return path.read_bytes()
        with reading(path) as stream:
            return stream.read()
    except MemoryError as error:
        raise DataError(f"cannot read {what} {path}: too large for the memory", hint) from error
    except OSError as error:
        raise DataError(*refusal(f"cannot read {what} {path}", error, hint)) from error


def read_json(path: Path, *, what: str, hint: str, tool: bool = False) -> dict[str, Json]:
    """Object in ``path`` as written by `write_json`, without ``format`` and, unless asked for, the
    ``tool`` that wrote it.

    Raises:
        DataError: Unreadable, not JSON, not an object, or of another format; one line with ``hint``
            (or with the version to use).
    """
    value = parse_json(path, read_bytes(path, what=what, hint=hint), what=what, hint=hint)
    if not isinstance(value, dict):
        raise DataError(f"{what} {path} is damaged: not a JSON object", hint)
    check_format(path, value, what=what, hint=hint)
    return {key: item for key, item in value.items() if key != "format" and (tool or key != "tool")}


def parse_json(path: Path, data: bytes, *, what: str, hint: str) -> Any:
    """JSON value of ``data``, which came from ``path``. Raises DataError: not JSON."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{what} {path} is damaged: {line}", hint) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text:.40} is beyond what numbers hold")
    return value


def check_format(path: Path, value: Mapping[str, Json], *, what: str, hint: str) -> None:
    """Refuse a file of another format and say which version can read it.
    Raises DataError: ``format`` is missing or not the one this version reads."""
    found = value.get("format")
    if found == FORMAT and type(found) is int:
        return
    if type(found) is not int:
        raise DataError(f"{what} {path} is damaged: it has no format number", hint)
    writer = value.get("tool")
    by = f", written by deadbeat {writer}" if isinstance(writer, str) else ""
    raise DataError(
        f"{what} {path} has format {found}{by}; deadbeat {tool_version()} reads format {FORMAT}",
        f"open it with deadbeat {writer}" if by else f"use the version that writes format {found}",
    )


def read_toml(
    path: Path,
    what: str = "a file of parameters",
    missing: str = "name a TOML file",
    hint: str = "see examples/",
    limit: int = 1 << 20,
) -> dict[str, Json]:
    """What a TOML file of a person holds. Raises UsageError when it cannot be read as TOML."""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise UsageError(*refusal(f"{path}", error, missing)) from None
    if len(data) > limit:
        raise UsageError(f"{path}: larger than {limit} bytes", f"is it {what}?")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        text = f"{path}: not TOML: {error}".replace("\n", " ")
        raise UsageError(text, hint) from None


def free_bytes(path: Path, *, option: str = "--runs") -> int:
    """Free space where ``path`` is or will be.

    Args:
        option: What the path is chosen with.

    Raises:
        DeadbeatError: Nothing can be written there.
    """
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    usage = shutil.disk_usage(existing)
    hint = f"choose another {option}"
    if not usage.total:  # procfs and its like
        raise DeadbeatError(f"{path} cannot be written: {existing} holds no files", hint)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        reason = "may not be written" if existing.is_dir() else "is not a folder"
        raise DeadbeatError(f"{path} cannot be written: {existing} {reason}", hint)
    return usage.free


#: What a spreadsheet takes for a formula; a number is none.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Json]]) -> str:
    """CSV with exactly ``columns``; a key that a row lacks is an error (KeyError)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row[column]) for column in columns])
    return stream.getvalue()


def cell(value: Any) -> str:
    """Text of a CSV cell: nothing for None, truth values as words, floats with <= 9 digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    if isinstance(value, str) and _FORMULA.match(text):
        return f"'{text}"  # or a spreadsheet would calculate it
    return text


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content. Raises DataError: it cannot be read."""
    try:
        with reading(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(
            *refusal(f"cannot read {path}", error, "repeat the command: it is made again")
        ) from error
