"""Truth: a damaged result folder is refused in a line or read in part; nothing hangs or ends in
``unexpected``. Every file of every kind of folder is damaged in many ways, one at a time."""

import json
import random
import shutil
from contextlib import suppress
from functools import reduce
from itertools import combinations
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from helpers import seldom
from helpers.answers import Capture
from helpers.goldens import unpack
from helpers.kinds import every_folder
from helpers.strangers import (
    DRAWN,
    MAKES,
    READS,
    WRONG,
    Place,
    ask,
    damaged,
    places,
    replaced,
)

from deadbeat.base.model.errors import DataError
from deadbeat.cli.main import main
from deadbeat.tasksets.store.summary import _hashes

IMPORTED = ("imported", "imported-text", "imported-osadl", "imported-jitter")
SWEEP = ("--processors=2", "--tasks=4,6", "--utilisation=0.6,0.9", "--policy=g-edf,p-edf",
         "--test=gfb,rta-edf", "--sets=12", "--set", "metrics=true")  # fmt: skip
#: What reads the folder ``X``; ``Y`` is a whole one of its kind.
VERBS = (
    *READS, ("page", "X", *DRAWN), ("sched", "study", *SWEEP, "--name", "X", *DRAWN),
    ("compare", "Y", "X", "--per-cpu", *DRAWN),
)  # fmt: skip
#: Made here; the others are stored.
MADE = ("interfere", "primitives", "contention", "run")
#: Folder, and what it is compared with.
KINDS = {
    **{name: name for name in MADE},
    "precision": "precision",
    "failed": "failed",
    "unfinished": "failed",
    "m-profile": "m-profile",
    "stress": "stress",
    "m-latency": "m-latency",
    "periodic": "periodic",
    "imported": "imported-osadl",
    "m-load": "m-load",
    "load-periodic": "load-periodic",
    "breakdown": "breakdown",
    "study": "study",
}


def damage(path: Path, draw: random.Random) -> str:
    """Changes one file; says how."""
    data = path.read_bytes()
    if draw.random() < 0.2:
        make = draw.choice([*MAKES, "gone"])
        path.unlink() if make == "gone" else replaced(path, path.parent, make)
        return make
    if data[:1] == b"{" and draw.random() < 0.85:
        where, raw = _change(json.loads(data), draw)
        path.write_text(damaged(data.decode(), where, raw))
        return f"{where} = {raw:.40}"
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


def _change(value: Any, draw: random.Random) -> tuple[Place, str]:
    """A place inside ``value``, of all that have its shape the last, and what stands there now."""
    where = draw.choice(list({shape: place for place, shape in places(value)}.values()))
    inner = reduce(getitem, where, value)
    if isinstance(inner, int | float) and not isinstance(inner, bool) and draw.random() < 0.4:
        near = (-inner, inner * 10**9, inner + 1, float(inner), str(inner))
        return where, json.dumps(draw.choice(near))
    return where, draw.choice(WRONG)


def attack(stored: Path, work: Path, folder: str, seed: str) -> str:
    """One damage and one command; what went wrong, "" if nothing did."""
    draw = random.Random(seed)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(stored / folder, work / "runs" / "X")
    shutil.copytree(stored / KINDS[folder], work / "runs" / "Y")
    files = sorted(path for path in (work / "runs" / "X").rglob("*") if path.is_file())
    # Of many runs a few stand for all; what there is one of comes as often as all of them.
    of_folder = {path.parent: [p for p in files if p.parent == path.parent] for path in files}
    file = draw.choice(draw.choice(list(of_folder.values())))
    told = damage(file, draw)
    if (work / "runs/X/summary.sha256").exists() and draw.random() < 0.7:
        with suppress(DataError):  # a file of a terabyte has none
            by_who_knows = _hashes(work / "runs/X")
            (work / "runs/X/summary.sha256").write_bytes(by_who_knows)
    words = draw.choice(VERBS)
    found, _ = ask(words, work)
    return found and f"{seed}: {file.relative_to(work)} ({told}): {' '.join(words)}: {found}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stored = unpack(tmp_path_factory.mktemp("stored"))
    made = every_folder(tmp_path_factory.mktemp("made"))
    assert made.keys() == {*MADE, "breakdown", "latency", "load", "stress", "study"}
    for name in MADE:
        made[name].rename(stored / name)
    return stored


@pytest.mark.parametrize("seed", ["periodic 108", "m-profile 752"])
def test_what_a_long_search_found_stays_mended(seed: str, stored: Path, tmp_path: Path) -> None:
    assert attack(stored, tmp_path / "w", seed.partition(" ")[0], seed) == ""


@pytest.mark.parametrize("folder", KINDS)
@pytest.mark.parametrize("numbers", [range(3), *seldom((range(3, 1000),))])
def test_a_damaged_folder_is_told_in_a_line(
    folder: str, numbers: range, stored: Path, tmp_path: Path
) -> None:
    told = [attack(stored, tmp_path / "w", folder, f"{folder} {n}") for n in numbers]
    assert [line for line in told if line] == []


@pytest.mark.parametrize(
    ("one", "two"),
    [*zip(IMPORTED, IMPORTED, strict=True), *seldom(*combinations(IMPORTED, 2))],
)
def test_what_other_tools_measured_is_compared(
    one: str, two: str, stored: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Some tell no date: then none is known."""
    for name, side in ((one, "X"), (two, "Y")):
        shutil.copytree(stored / name, tmp_path / "runs" / side)
    for words in VERBS:
        assert ask(words, tmp_path)[0] == ""
    words = ("compare", "X", "Y", "--no-figures", "--ungated", "--runs", str(tmp_path / "runs"))
    assert main(words) in ((0,) if one == two else (0, 2))
    if one == two:
        told = capsys.readouterr().out
        assert told.splitlines()[1].startswith(("UNDECIDED: ", "EQUAL")) and "against" in told


@pytest.mark.parametrize("where", ["bucket", "seconds"])
def test_a_value_far_out_is_drawn_or_refused_in_time(where: str, stored: Path, tmp_path: Path):
    for side in "XY":
        shutil.copytree(stored / "m-latency", tmp_path / "runs" / side)
    file = tmp_path / "runs/X/runs/idle.prober.0000.json"
    plain = json.loads(file.read_text())
    if where == "bucket":
        plain["run"]["cpus"][0]["raw"]["buckets"][-1] = 10**9
    else:
        plain["run"]["seconds"] = 1e17
    file.write_text(json.dumps(plain))
    for words in VERBS:
        assert ask(words, tmp_path)[0] == ""
