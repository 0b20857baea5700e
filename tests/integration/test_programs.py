"""The truth is the program's own clock: each of known truth ends, and says what it did."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers.programs import PROGRAMS, ROOT, command_of, truth_in

EXAMPLES = sorted((ROOT / "examples/program").glob("*.c"))
pytestmark = pytest.mark.hardware


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_did(name: str, tmp_path: Path) -> None:
    truth = truth_in(output_of(*command_of(PROGRAMS[name], tmp_path), "0.3"))
    names = {task["name"] for task in truth["tasks"]}
    assert len(names) == len(truth["tasks"]) > 0
    assert {link[end] for link in truth["chains"] for end in ("from", "to")} <= names
    for task in truth["tasks"]:
        assert task["jobs"] > 0 and 0 < task["c_mean_ns"] <= task["c_max_ns"]
        assert task["cpus"] and task["policy"]
        assert all(0 < one["mean_ns"] <= one["max_ns"] for one in task["sections"] or ())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_runs(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 120
    assert str(path.name) in path.read_text()  # how it is compiled
    assert output_of(*command_of(path, tmp_path), "0.3").count(":") in (1, 2)
