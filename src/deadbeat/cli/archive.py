"""A result as one archive: how whoever measured elsewhere contributes it."""

from __future__ import annotations

import io
import os
import shutil
import zlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from deadbeat.base.kinds.registry import kind_at
from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.words import shown
from deadbeat.base.store.derived import measured_files
from deadbeat.base.store.files import PART_SUFFIX, atomic_write, storing
from deadbeat.base.store.place import HEADS, imported_place

#: Bytes and files of an archive that is unpacked, at most.
_BYTES, _FILES = 1 << 30, 100_000
_HINT = "pack one result: deadbeat export RESULT --as archive --out RESULT.zip"


def pack(path: Path, out: Path) -> None:
    """Writes what was measured in a result as ``out``, a zip file, which names no owners."""
    data, path = io.BytesIO(), path.resolve()
    with ZipFile(data, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in sorted(measured_files(path)):
            archive.write(file, file.relative_to(path.parent))
    atomic_write(out, data.getvalue())


def unpack(file: Path, runs: Path, given: str | None, *, fresh: bool) -> Path:
    """The folder of the result in an archive, under its name there or the one ``given``.
    Raises DataError: it holds more than one result, or is damaged."""
    what = f"{shown(str(file))} is no archive of one result"
    try:
        with ZipFile(file) as archive:
            names = [each.split("/") for each in archive.namelist()]
            heads = [each for each in names if len(each) == 2 and each[1] in HEADS]
            top = heads[0][0] if heads else ""
            strange = [each for each in names if each[0] != top or ".." in each]
            if not heads or strange:
                why = f"it holds {shown('/'.join(strange[0]))}" if strange else "it is empty"
                raise DataError(f"{what}: {why}", _HINT)
            if len(names) > _FILES or sum(each.file_size for each in archive.infolist()) > _BYTES:
                raise DataError(f"{what}: more than {_BYTES >> 30} GiB or {_FILES:,} files", _HINT)
            place, name = imported_place(runs, given, top, fresh)
            part = runs / f".{name}.{os.getpid()}{PART_SUFFIX}"
            try:
                with storing(place.path):
                    archive.extractall(part)  # which leaves nothing elsewhere, whatever the names
                    _check(part / top, file)
                    (part / top).rename(place.emptied())
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except (BadZipFile, EOFError, RuntimeError, ValueError, zlib.error) as error:
        raise DataError(f"{what}: {error}", _HINT) from error
    return place.path


def _check(part: Path, file: Path) -> None:
    """Raises DataError: it cannot be read."""
    try:
        kind_at(part).show(part)
    except DeadbeatError as error:
        text = str(error).replace(f"{part}/", "")
        raise DataError(f"{shown(str(file))} is damaged: {text}", "ask who sent it") from None
