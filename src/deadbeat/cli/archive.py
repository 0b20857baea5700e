"""A result as one archive: how whoever measured elsewhere contributes it."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath

from deadbeat.base.kinds import KINDS
from deadbeat.base.kinds.registry import folders_of, kind_of
from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.words import shown
from deadbeat.base.store.derived import digest_of
from deadbeat.base.store.files import PART_SUFFIX, atomic_write, storing, write_buffers
from deadbeat.base.store.place import HEADS, entries, imported_place

#: Bytes and files of an archive that is unpacked, at most.
_BYTES, _FILES = 1 << 30, 100_000
#: What can be drawn again.
_DRAWN = "figures"
_HINT = "pack one result: deadbeat export RESULT --as archive --out RESULT.tar.gz"


def pack(path: Path, out: Path) -> None:
    """Writes the files of a result, without their owners, as ``out``: a tar packed by gzip."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for file in _files(path):
            place = PurePosixPath(path.resolve().name, *file.relative_to(path).parts)
            about = archive.gettarinfo(file, str(place))
            about.uid = about.gid = 0
            about.uname = about.gname = ""
            with file.open("rb") as stream:
                archive.addfile(about, stream)
    atomic_write(out, data.getvalue())


def _files(path: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if each[0] != "." and each != _DRAWN)
        for name in sorted(names):
            file = Path(folder, name)
            if name[0] != "." and file.suffix != PART_SUFFIX and not file.is_symlink():
                yield file


def is_archive(file: Path) -> bool:
    """Whether a file is a tar, packed or not, that holds a result."""
    try:
        with tarfile.open(file) as archive:
            return any(Path(each.name).name in HEADS for each in islice(archive, _FILES))
    except (OSError, EOFError, tarfile.TarError, ValueError):
        return False


def unpack(file: Path, runs: Path, given: str | None, *, fresh: bool) -> Path:
    """The folder of the result in an archive, under its name there or the one ``given``. Nothing of
    it is written elsewhere, whatever its names say.
    Raises DataError: it holds more than one result, or is damaged."""
    what = f"{shown(str(file))} is no archive of one result"
    try:
        with tarfile.open(file) as archive:
            members = [each for each in islice(archive, _FILES + 1) if not each.isdir()]
            parts = {each.name: PurePosixPath(each.name).parts for each in members}
            tops = {own[0] for own in parts.values()}
            heads = [own for own in parts.values() if len(own) == 2 and own[1] in HEADS]
            plain = all(each.isreg() for each in members) and all(
                len(own) > 1 and not {"..", "/"} & {*own} for own in parts.values()
            )
            if len(tops) != 1 or not heads or not plain:
                raise DataError(what, _HINT)
            if len(members) > _FILES or sum(each.size for each in members) > _BYTES:
                raise DataError(f"{what}: more than {_BYTES >> 30} GiB or {_FILES:,} files", _HINT)
            place, name = imported_place(runs, given, tops.pop(), fresh)
            part = runs / f".{name}.{os.getpid()}{PART_SUFFIX}"
            try:
                with storing(place.path):
                    for each in members:
                        _write(archive, each, part.joinpath(*parts[each.name][1:]))
                    _check(part, runs, file)
                    part.rename(place.emptied())
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except (EOFError, tarfile.TarError, ValueError) as error:
        raise DataError(f"{what}: {error}", _HINT) from error
    return place.path


def _check(part: Path, runs: Path, file: Path) -> None:
    """Raises DataError: it cannot be read, or is there already."""
    try:
        kind_of(next(name for name in KINDS if folders_of(name).holds(part))).show(part)
    except (DeadbeatError, StopIteration) as error:
        text = str(error).replace(f"{part}/", "")
        raise DataError(f"{shown(str(file))} is damaged: {text}", "ask who sent it") from None
    own = digest_of(part)
    for path in entries(runs) if runs.is_dir() else ():
        other = ""
        with suppress(DeadbeatError, OSError):  # a damaged one is none
            other = digest_of(path)
        if other == own:
            raise UsageError(f"{path.name} is this result already", "nothing is imported")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> None:
    stream = archive.extractfile(member)
    assert stream is not None  # it is a regular file
    with stream:
        write_buffers(file, iter(partial(stream.read, 1 << 20), b""))
    os.utime(file, (member.mtime, member.mtime))
