"""Matrices imported from files of other tools are compared like any other: some have no date."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from helpers.goldens import unpack

from deadbeat.cli.main import main

IMPORTED = ("imported", "imported-text", "imported-osadl", "imported-jitter")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = unpack(tmp_path_factory.mktemp("stored"))
    for name in IMPORTED:
        shutil.copytree(folder / name, folder / f"{name}-again")
    return folder


def status(runs: Path, verb: str, *words: str) -> int:
    return main([verb, *words, "--runs", str(runs)])


@pytest.mark.parametrize("name", IMPORTED)
def test_an_import_is_compared_with_itself(
    name: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(runs, "compare", name, f"{name}-again", "--no-figures", "--ungated") == 0
    told = capsys.readouterr().out
    assert told.splitlines()[1].startswith(("UNDECIDED: ", "EQUAL: ")) and "against" in told


@pytest.mark.parametrize(("one", "two"), [*itertools.combinations(IMPORTED, 2)])
def test_imports_of_different_tools_are_compared_or_refused_in_a_line(
    one: str, two: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(runs, "compare", one, two, "--no-figures") in (0, 2)
    assert status(runs, "doctor", "--hardening-cost", one, two) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
