"""Truth: issue 27: whatever a key of a stored file has become, every reading verb ends with an
answer or an error of its own; never ``unexpected``, and no terminal code gets through."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from helpers.kinds import every_folder
from test_folder_fuzz import HangError, bound

import deadbeat
from deadbeat.cli.main import main
from deadbeat.cli.watch import Followed
from deadbeat.kinds.registry import find
from deadbeat.model.errors import DeadbeatError
from deadbeat.store.summary import _hashes

BOUND_SECONDS = 20
QUIET = ("--runs", "runs", "--json")
DRAWN = (*QUIET, "--no-figures")
PAGE, PYTHON = ("page",), ("python",)
READS = (
    ("show", "X", "--runs", "runs"), ("show", "X", *QUIET), ("report", "X", *DRAWN),
    ("why", "X", *QUIET), ("runs", *QUIET), ("compare", "X", "Y", "--out", "out/c", *DRAWN),
    ("compare", "Y", "X", "--out", "out/c", *DRAWN), ("emit", "X", "--out", "out/e", *QUIET),
    ("show", "X", "--runs", "runs", "--openmetrics"), ("observe", "all", "--from", "X", *QUIET),
    ("predict", "X", "--out", "out/d", *DRAWN), ("sched", "predict", "X", *QUIET),
    ("plot", "per-cpu", "X", "--out", "out/p", "--format=none", *QUIET),
    ("doctor", "--hardening-cost", "X", "Y", *QUIET), PAGE, PYTHON,
)  # fmt: skip
GONE = "gone"
#: What a value may have become, as JSON has it.
WRONG = (
    GONE, "null", "true", "-1", "0", "1", "0.5", "1e308", "-1e308", "NaN", "Infinity", "1e400",
    str(2**63), str(2**64 - 1), str(-(2**63) - 1), "1" + "0" * 40, '""', '"x"', '"9"', '"1/0"',
    '"a\\u001b[31mb"', '"\\ud800"', '"[bold]x"', '"../../x"', '"x/1"', '"2026-13-01T00:00:00Z"',
    f'"{"x" * 3000}"', "[]", "[[]]", "[[[1]]]", "[null]", '[1,"x"]', "{}", '{"x":1}', '{"":null}',
    '"=1+1"',
)  # fmt: skip
_HOLE = "\0hole"
Place = tuple[str | int, ...]
KINDS = (
    *("breakdown", "interfere", "latency", "load", "primitives", "contention", "run", "stress"),
    "study",
)


def places(value: Any, path: Place = (), shape: Place = ()) -> Iterator[tuple[Place, Place]]:
    """Every value inside ``value``, and the same with ``*`` for the place in a list."""
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        where = (*shape, key if isinstance(value, dict) else "*")
        yield (*path, key), where
        yield from places(inner, (*path, key), where)


def targets(folder: Path) -> list[tuple[Path, Place]]:
    """The first place of each shape, of the files of each folder inside."""
    seen: dict[object, tuple[Path, Place]] = {}
    for file in sorted(folder.rglob("*.json")):
        group = file if file.parent == folder else file.parent
        for path, shape in places(json.loads(file.read_text())):
            seen.setdefault((group, shape), (file.relative_to(folder), path))
    return list(seen.values())


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


def ask(words: tuple[str, ...], work: Path) -> str:
    """What is wrong with how a reader ended; "" if nothing is."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        with chdir(work), bound(BOUND_SECONDS), redirect_stdout(out), redirect_stderr(err):
            try:
                if words == PAGE:
                    kind, path = find(Path("runs"), "X")
                    followed = Followed(kind=kind, path=path)
                    followed.page(), followed.state()
                elif words == PYTHON:
                    opened = deadbeat.open(Path("runs/X"))
                    assert opened.rows is not None and opened._repr_html_()
                else:
                    status = main(words)
            except DeadbeatError as error:
                status, told = 1, str(error)
                assert told
    except HangError:
        return "hangs"
    told = err.getvalue()
    if "unexpected" in told or "Traceback" in told or status not in (0, 1, 2, 3):
        return f"status {status}: {told[-300:]}"
    return "a terminal code" if "\x1b" in told or "\x1b" in out.getvalue() else ""


def attacks(source: Path, work: Path, count: int, seed: int) -> Iterator[str]:
    """What went wrong, ``count`` times a value of a place and a reader."""
    draw = random.Random(f"{source.name} {seed}")
    known = targets(source)
    for name in "XY":
        shutil.copytree(source, work / "runs" / name)
    folder = work / "runs" / "X"
    for _ in range(count):
        (file, path), raw, words = draw.choice(known), draw.choice(WRONG), draw.choice(READS)
        plain = (source / file).read_text()
        (folder / file).write_text(damaged(plain, path, raw))
        if (folder / "summary.sha256").exists() and draw.random() < 0.7:
            (folder / "summary.sha256").write_bytes(_hashes(folder))  # by who knows what it is for
        found = ask(words, work)
        if found:
            yield f"{file} {'.'.join(map(str, path))} = {raw:.40}: {' '.join(words)}: {found}"
        shutil.rmtree(work / "out", ignore_errors=True)
        if words[0] == "report" or (folder / "summary.sha256").exists():
            shutil.rmtree(folder)
            shutil.copytree(source, folder)
        else:
            (folder / file).write_text(plain)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return every_folder(tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize(
    ("seed", "count"),
    [(0, 20), *(pytest.param(n, 250, marks=pytest.mark.slow) for n in range(1, 10))],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_value_is_told_in_a_line(
    kind: str, seed: int, count: int, stored: dict[str, Path], tmp_path: Path
) -> None:
    assert list(attacks(stored[kind], tmp_path, count, seed)) == []


def test_the_kinds_are_all_there_are(stored: dict[str, Path]) -> None:
    assert sorted(stored) == sorted(KINDS)
