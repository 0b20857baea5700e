"""Truth: a damaged result folder is refused in a line or read in part; nothing hangs or ends in
``unexpected``. Every file of every kind of folder is damaged in many ways, one at a time."""

from __future__ import annotations

import io
import json
import math
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from helpers.goldens import unpack

from deadbeat.cli.main import main

BOUND_SECONDS = 10
QUIET = ("--runs", "runs", "--json")
WRITE = (*QUIET, "--no-figures")
#: What reads the folder ``X``; ``Y`` is a whole one of its kind.
CAMPAIGN = (
    ("show", "X", *QUIET), ("report", "X", *WRITE), ("why", "X", *QUIET), ("runs", *QUIET),
    ("compare", "X", "Y", *WRITE), ("compare", "Y", "X", *WRITE),
    ("sched", "predict", "X", *QUIET), ("observe", "all", "--from", "X", *QUIET),
    ("fragments", "--simulated", *QUIET),
)  # fmt: skip
MATRIX = (
    ("show", "X", *QUIET), ("report", "X", *WRITE), ("why", "X", *QUIET), ("runs", *QUIET),
    ("compare", "X", "Y", *WRITE), ("compare", "Y", "X", "--per-cpu", *WRITE),
    ("plot", "two-kernels", "X", "Y", "--format=none", *QUIET),
    ("plot", "per-cpu", "X", "--format=none", *QUIET),
    ("plot", "bsp", "X", "Y", "--format=none", *QUIET),
    ("doctor", "--hardening-cost", "X", "Y", *QUIET),
)  # fmt: skip
LOAD = (
    ("show", "X", *QUIET), ("report", "X", *WRITE), ("runs", *QUIET), ("why", "X", *QUIET),
    ("compare", "X", "Y", *WRITE), ("compare", "Y", "X", *WRITE),
)  # fmt: skip
SEARCH = (("show", "X", *QUIET), ("report", "X", *WRITE), ("runs", *QUIET))
SWEEP = ("--processors=2", "--tasks=4,6", "--utilisation=0.6,0.9", "--policy=g-edf,p-edf",
         "--test=gfb,rta-edf", "--sets=12", "--metrics")  # fmt: skip
STUDY = (("sched", "study", *SWEEP, "--name", "X", *WRITE), ("runs", *QUIET))
#: Folder, what it is compared with, and the commands that read it.
KINDS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "precision": ("precision", CAMPAIGN),
    "failed": ("failed", CAMPAIGN),
    "unfinished": ("failed", CAMPAIGN),
    "old-v2": ("old-v2", CAMPAIGN),
    "m-profile": ("m-profile", CAMPAIGN),
    "stress": ("stress", CAMPAIGN),
    "m-latency": ("m-latency", MATRIX),
    "periodic": ("periodic", MATRIX),
    "imported": ("imported-osadl", MATRIX),
    "m-load": ("m-load", LOAD),
    "load-periodic": ("load-periodic", LOAD),
    "breakdown": ("breakdown", SEARCH),
    "study": ("study", STUDY),
}
#: What a number, text, list or object may have become.
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 10**30, 1e308, -0.5, math.nan, math.inf, "", "x", "1", "0/0", "../..",
    [], [[]], [None], {}, {"": None}, {"x": [1]}, "2026-13-01T00:00:00Z", "x" * 5000,
)  # fmt: skip


class HangError(BaseException):
    """Past the bound; no handler of the commands may take it for an error of its own."""


@contextmanager
def bound(seconds: float) -> Iterator[None]:
    def late(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def damage(path: Path, draw: random.Random) -> str:
    """Changes one file; says how."""
    data = path.read_bytes()
    if draw.random() < 0.2:
        return draw.choice(_REPLACED)(path)
    if data[:1] == b"{" and draw.random() < 0.85:
        value = json.loads(data)
        told = _change(value, draw)
        path.write_text(json.dumps(value))
        return told
    at = draw.randrange(len(data) + 1)
    new, told = draw.choice(
        (
            (data[:at], f"cut at {at}"),
            (data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :], f"byte {at}"),
            (data[:at] + data[at:] * 2, f"repeated from {at}"),
            (b"", "empty"),
            (draw.randbytes(100), "random"),
        )
    )
    path.write_bytes(new)
    return told


def _change(value: Any, draw: random.Random) -> str:
    """Changes something inside ``value``."""
    where = ""
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = draw.choice(list(keys))
        where += f".{key}"
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            value = inner
            continue
        if draw.random() < 0.15:
            del value[key]
            return f"{where} is gone"
        if isinstance(inner, int | float) and not isinstance(inner, bool) and draw.random() < 0.4:
            value[key] = draw.choice((-inner, inner * 10**9, inner + 1, float(inner), str(inner)))
        else:
            value[key] = draw.choice(ODD)
        return f"{where} = {value[key]!r:.40}"


def _pipe(path: Path) -> str:
    path.unlink()
    os.mkfifo(path)
    return "a pipe"


def _link(target: str) -> Callable[[Path], str]:
    def link(path: Path) -> str:
        path.unlink()
        path.symlink_to(target)
        return f"a link to {target}"

    return link


def _folder(path: Path) -> str:
    path.unlink()
    path.mkdir()
    return "a folder"


def _gone(path: Path) -> str:
    path.unlink()
    return "gone"


_REPLACED = (_pipe, _link("/dev/zero"), _link("/dev/tty"), _link("nowhere"), _folder, _gone)


def complaint(words: tuple[str, ...], work: Path) -> str:
    """What is wrong with how a command ended; "" if nothing is."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with chdir(work), bound(BOUND_SECONDS), redirect_stdout(out), redirect_stderr(err):
            status = main(words)
    except HangError:
        return "hangs"
    told = err.getvalue()
    if "unexpected" in told or status not in (0, 2, 3):
        return f"status {status}: {told[-300:]}"
    return ""


def attack(stored: Path, work: Path, folder: str, seed: str) -> str:
    """One damage and one command; what went wrong, "" if nothing did."""
    draw = random.Random(seed)
    other, commands = KINDS[folder]
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(stored / folder, work / "runs" / "X")
    shutil.copytree(stored / other, work / "runs" / "Y")
    files = sorted(path for path in (work / "runs" / "X").rglob("*") if path.is_file())
    # Of many runs a few stand for all; what there is one of comes as often as all of them.
    of_folder = {path.parent: [p for p in files if p.parent == path.parent] for path in files}
    file = draw.choice(draw.choice(list(of_folder.values())))
    told = damage(file, draw)
    words = draw.choice(commands)
    found = complaint(words, work)
    return found and f"{seed}: {file.relative_to(work)} ({told}): {' '.join(words)}: {found}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize("folder", KINDS)
def test_a_damaged_folder_is_told_in_a_line(folder: str, stored: Path, tmp_path: Path) -> None:
    told = [attack(stored, tmp_path / "w", folder, f"{folder} {n}") for n in range(6)]
    assert [line for line in told if line] == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", KINDS)
def test_many_damages(folder: str, stored: Path, tmp_path: Path) -> None:
    told = [attack(stored, tmp_path / "w", folder, f"{folder} {n}") for n in range(6, 776)]
    assert [line for line in told if line] == []


@pytest.mark.parametrize("name", ["imported", "imported-text", "imported-osadl", "imported-jitter"])
@pytest.mark.parametrize("other", ["itself", "imported-osadl"])
def test_what_other_tools_measured_is_compared(
    name: str, other: str, stored: Path, tmp_path: Path
) -> None:
    """Some tell no date: then none is known."""
    shutil.copytree(stored / name, tmp_path / "runs" / "X")
    shutil.copytree(stored / (name if other == "itself" else other), tmp_path / "runs" / "Y")
    for words in MATRIX:
        assert complaint(words, tmp_path) == ""


@pytest.mark.parametrize("where", ["bucket", "seconds"])
def test_a_value_far_out_is_drawn_or_refused_in_time(
    where: str, stored: Path, tmp_path: Path
) -> None:
    for side in "XY":
        shutil.copytree(stored / "m-latency", tmp_path / "runs" / side)
    file = tmp_path / "runs/X/runs/idle.prober.0000.json"
    plain = json.loads(file.read_text())
    if where == "bucket":
        plain["run"]["cpus"][0]["raw"]["buckets"][-1] = 10**9
    else:
        plain["run"]["seconds"] = 1e17
    file.write_text(json.dumps(plain))
    for words in MATRIX:
        assert complaint(words, tmp_path) == ""
