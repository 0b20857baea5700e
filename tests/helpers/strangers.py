"""Result folders as a stranger made them, and every way to read one."""

import io
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import deadbeat
from deadbeat.base.kinds.registry import find
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.cli.main import main

BOUND_SECONDS = 20
QUIET = ("--runs", "runs", "--json")
DRAWN = (*QUIET, "--no-figures")
PAGE, PYTHON = ("page",), ("python",)
#: What reads ``X``, beside a whole ``Y`` of its kind; what is written goes into ``out``.
READS = (
    ("show", "X", *QUIET), ("show", "X", "--runs", "runs"), ("show", "X/"), ("list", *QUIET),
    ("export", "X", "--runs", "runs", "--as", "openmetrics"), ("why", "X", *QUIET),
    ("export", "X", "--as", "perfetto", "--out", "out/why.json", *QUIET), ("show", "short"),
    ("compare", "X", "Y", "--out", "out/c", *DRAWN), ("emit", "X", "--out", "out/e", *QUIET),
    ("compare", "Y", "X", "--out", "out/c", *DRAWN), ("observe", "all", "--from", "X", *QUIET),
    ("predict", "X", "--out", "out/d", *DRAWN),
    ("list", "fragments", "--simulated", *QUIET),
    PAGE, PYTHON,
)  # fmt: skip


class HangError(BaseException):
    """Past the bound; no handler of the commands may take it for an error of its own."""


@contextmanager
def _bound(seconds: float) -> Iterator[None]:
    def late(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ask(words: tuple[str, ...], work: Path) -> tuple[str, str]:
    """What is wrong with how a reader ended, "" if nothing is, and what it said on stderr."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        with chdir(work), _bound(BOUND_SECONDS), redirect_stdout(out), redirect_stderr(err):
            try:
                if words == PAGE:
                    kind, path = find(Path("runs"), "X")
                    kind.state_of(path), kind.show(path).document
                elif words == PYTHON:
                    opened = deadbeat.open(Path("runs/X"))
                    assert opened.rows is not None and opened._repr_html_()
                else:
                    status = main(words)
            except DeadbeatError as error:
                assert str(error)
    except HangError:
        return "hangs", ""
    told = err.getvalue()
    if "unexpected" in told or "Traceback" in told or status not in (0, 2, 3):
        return f"status {status}: {told[-300:]}", told
    return "a terminal code" if "\x1b" in told or "\x1b" in out.getvalue() else "", told


# --- what a file may have become


def _socket(path: Path, _: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def _device(path: Path, _: Path) -> None:
    with suppress(PermissionError):
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero


def _sparse(path: Path, _: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


#: Each makes the path; a link leads into the folder that is given too.
MAKES: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda path, outside: path.symlink_to(outside / "precious"),
    "dangling": lambda path, outside: path.symlink_to(outside / "not-there-yet"),
    "endless": lambda path, _: path.symlink_to("/dev/zero"),
    "terminal": lambda path, _: path.symlink_to("/dev/tty"),
    "pipe": lambda path, _: os.mkfifo(path),
    "socket": _socket,
    "device": _device,
    "sparse": _sparse,
    "folder": lambda path, _: path.mkdir(),
}


def replaced(path: Path, outside: Path, make: str) -> None:
    """``path`` as a stranger made it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    MAKES[make](path, outside)


# --- what a value of JSON may have become

GONE = "gone"
WRONG = (
    GONE, "null", "true", "-1", "0", "1", "0.5", "1e308", "-1e308", "NaN", "Infinity", "1e400",
    str(2**63), str(2**64 - 1), str(-(2**63) - 1), "1" + "0" * 40, '""', '"x"', '"9"', '"1/0"',
    '"a\\u001b[31mb"', '"\\ud800"', '"[bold]x"', '"../../x"', '"x/1"', '"2026-13-01T00:00:00Z"',
    f'"{"x" * 3000}"', "[]", "[[]]", "[[[1]]]", "[null]", '[1,"x"]', "{}", '{"x":1}', '{"":null}',
    '"=1+1"',
)  # fmt: skip
_HOLE = "\0hole"
Place = tuple[str | int, ...]


def places(value: Any, path: Place = (), shape: Place = ()) -> Iterator[tuple[Place, Place]]:
    """Every value inside ``value``, and the same with ``*`` for the place in a list."""
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        where = (*shape, key if isinstance(value, dict) else "*")
        yield (*path, key), where
        yield from places(inner, (*path, key), where)


def damaged(text: str, path: Place, raw: str) -> str:
    value = json.loads(text)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if raw == GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = _HOLE
    return json.dumps(value).replace(json.dumps(_HOLE), raw)
