"""Where results go; what sudo makes there belongs to its caller."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import click

from deadbeat.base.model.errors import UsageError

ROOT = 0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: A file that is swapped for a pipe does not make us wait.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Inode = tuple[int, int]


def default_runs() -> Path:
    """``runs`` here; where nothing can be written here, the folder of the user's data."""
    if Path("runs").exists() or os.access(".", os.W_OK):
        return Path("runs")
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (data if data.is_absolute() else Path.home() / ".local/share") / "deadbeat/runs"


def use_runs(ctx: click.Context, _: click.Parameter, runs: Path) -> Path:
    """While the command of ``ctx`` goes on, ``runs`` is looked after."""
    if not ctx.resilient_parsing:
        for folder in (runs, *_caches()):
            ctx.with_resource(handed_over(folder))
    return runs


def caller(environment: Mapping[str, str] = os.environ) -> tuple[int, int] | None:
    """User and group who called sudo; None: there is none, or this is not root."""
    ids = environment.get("SUDO_UID", ""), environment.get("SUDO_GID", "")
    if os.geteuid() != ROOT or not all(each.isascii() and each.isdecimal() for each in ids):
        return None
    return int(ids[0]), int(ids[1])


def drawn(folder: Path, figures: bool | None) -> bool:
    """Whether figures of a result are drawn on paper; None: those that are there, again."""
    return (folder / "figures").is_dir() if figures is None else figures


def check_own(folder: Path) -> None:
    """Refuse to write into the result of another user.
    Raises UsageError: it belongs neither to this user nor to who called sudo."""
    owner = folder.stat().st_uid
    if owner not in (os.geteuid(), *(caller() or ())[:1]):
        raise UsageError(
            f"{folder} belongs to another user (number {owner}), so nothing is written there",
            f"show it, or report a copy of your own: cp -r {folder} NAME",
        )


def _caches() -> list[Path]:
    """Where programs are compiled, for whom that matters."""
    if not caller():
        return []
    native = import_module("deadbeat.build.native")
    with suppress(native.BuildError):
        return [native.cache_root()]
    return []


@contextmanager
def handed_over(
    folder: Path,
    *,
    to: tuple[int, int] | None = None,
    root: int = ROOT,
    chown: Callable[[int, int, int], None] = os.fchown,
) -> Iterator[None]:
    """What the block makes in ``folder`` belongs to ``to`` afterwards; without, to sudo's caller.

    What was there before stays, and so does everything where the folder it is made in is not the
    caller's, or anybody's. Every step goes through a descriptor, so no link leads elsewhere.
    """
    owner = to or caller()
    top, missing = folder.absolute(), list[str]()
    while owner and not top.exists():
        missing.insert(0, top.name)
        top = top.parent
    if not owner or not top.is_dir():
        yield
        return
    opened = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        about = os.fstat(opened)
        if about.st_uid != owner[0] and not about.st_mode & stat.S_IWOTH:
            yield
            return
        before = set() if missing else {_inode(status) for status, _ in _below(opened, root)}
        try:
            yield
        finally:
            with suppress(OSError):
                made = os.open(missing[0], _FOLDER, dir_fd=opened) if missing else opened
                for status, descriptor in _below(made, root, itself=bool(missing)):
                    if _inode(status) not in before:
                        chown(descriptor, *owner)
                if missing:
                    os.close(made)
    finally:
        os.close(opened)


def _inode(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


def _below(top: int, root: int, *, itself: bool = False) -> Iterator[tuple[os.stat_result, int]]:
    """Folders and single files of ``root`` in a folder, with a descriptor of each for a moment.

    A file of several names may be another user's link: it is left alone.
    """
    for place, _, files, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        status = os.fstat(folder)
        if status.st_uid == root and (itself or place != "."):
            yield status, folder
        for name in files:
            with suppress(OSError):
                descriptor = os.open(name, _FILE, dir_fd=folder)
                try:
                    status = os.fstat(descriptor)
                    single = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
                    if single and status.st_uid == root:
                        yield status, descriptor
                finally:
                    os.close(descriptor)
