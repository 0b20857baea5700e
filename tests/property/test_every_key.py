"""Truth: issue 27: whatever a key of a stored file has become, every reading verb ends with an
answer or an error of its own; never ``unexpected``, and no terminal code gets through."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.kinds import every_folder
from helpers.strangers import DRAWN, READS, WRONG, Place, ask, damaged, places

from deadbeat.store.summary import _hashes

VERBS = (*READS, ("report", "X", *DRAWN))
KINDS = (
    *("breakdown", "interfere", "latency", "load", "primitives", "contention", "run", "stress"),
    "study",
)


def targets(folder: Path) -> list[tuple[Path, Place]]:
    """The first place of each shape, of the files of each folder inside."""
    seen: dict[object, tuple[Path, Place]] = {}
    for file in sorted(folder.rglob("*.json")):
        group = file if file.parent == folder else file.parent
        for path, shape in places(json.loads(file.read_text())):
            seen.setdefault((group, shape), (file.relative_to(folder), path))
    return list(seen.values())


def attacks(source: Path, work: Path, count: int, seed: int) -> Iterator[str]:
    """What went wrong, ``count`` times a value of a place and a reader."""
    draw = random.Random(f"{source.name} {seed}")
    known = targets(source)
    for name in "XY":
        shutil.copytree(source, work / "runs" / name)
    folder = work / "runs" / "X"
    for _ in range(count):
        (file, path), raw, words = (
            draw.choice(known),
            draw.choice(WRONG),
            draw.choice(VERBS),
        )
        plain = (source / file).read_text()
        (folder / file).write_text(damaged(plain, path, raw))
        if (folder / "summary.sha256").exists() and draw.random() < 0.7:
            (folder / "summary.sha256").write_bytes(_hashes(folder))  # by who knows what it is for
        found, _ = ask(words, work)
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
