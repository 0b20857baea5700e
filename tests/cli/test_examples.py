"""Truth: examples/ are meant to be run as they are: each is, on the fake executor."""

import tomllib
from pathlib import Path

import pytest

from deadbeat.cli.main import main

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").rglob("*.toml"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_runs(path: Path, tmp_path: Path) -> None:
    verb = tomllib.loads(path.read_text()).get("mode", "contention")
    verb = "study" if path.parent.name == "sched" else verb
    few = {
        "contention": ("--sets", "1"),
        "stress": ("--sets", "2"),
        "study": ("--sets", "2"),
        "latency": ("--repeats", "1", "--duration", "1s"),
    }[verb]
    words = ("sched", verb) if verb == "study" else (verb, "--simulated")
    words = ("contention", "--random", "--simulated") if verb == "stress" else words
    options = ("--no-figures", "--runs", str(tmp_path), *few)
    assert main((*words, "--file", str(path), *options)) == 0
    assert (tmp_path / path.stem / "report.html").is_file()
