"""Truth: examples/ are meant to be run as they are: each is, on the fake executor."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from deadbeat.cli.main import main

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.toml"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_runs(path: Path, tmp_path: Path) -> None:
    verb = tomllib.loads(path.read_text()).get("mode", "profile")
    few = {
        "profile": ("--sets", "1"),
        "stress": ("--sets", "2"),
        "latency": ("--repeats", "1", "--duration", "1s"),
    }[verb]
    options = ("--simulated", "--no-figures", "--runs", str(tmp_path), *few)
    assert main((str(verb), "--file", str(path), *options)) == 0
    assert (tmp_path / path.stem / "report.html").is_file()


def test_the_example_study_runs(tmp_path: Path) -> None:
    words = ("--sets", "2", "--no-figures", "--runs", str(tmp_path))
    path = EXAMPLES[0].parent / "sched/study-locks.toml"
    assert main(("sched", "study", "--file", str(path), *words)) == 0
    assert (tmp_path / "locks" / "report.html").is_file()
