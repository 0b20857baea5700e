"""Truth: every command that measures reads its parameters from a file, and options win over it."""

import json
from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.cli.main import main

FILES = {
    "load": """
name = "mine"
mode = "load"
normal = [0, 2]
seconds = 9
repeats = 2
remedies = []
""",
    "latency": """
name = "mine"
loads = ["idle"]
repeats = 2
duration = 9
""",
    "breakdown": """
preset = "quick"
name = "mine"
cores = [1]
grid = {sync_share = [0], contended_ratio = [0], replicas = 1}
breakdown = {steps = 2}
run = {seconds = 9}
""",
}


@pytest.mark.parametrize("verb", FILES)
def test_a_file_is_read_and_an_option_wins(verb: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "c.toml"
    file.write_text(FILES[verb])
    words = [verb, "--simulated", "--no-figures", "--file", str(file), "--duration", "0.3"]
    assert main([*words, "--runs", str(tmp_path), "--json"]) == 0
    assert answer_of(capsys.readouterr().out)["name"] == "mine"
    (head,) = (tmp_path / "mine").glob(f"{verb}.json")
    text = head.read_text()
    assert "0.3" in text and "9" not in json.dumps(json.loads(text)["spec"].get("seconds", ""))


@pytest.mark.parametrize("verb", FILES)
def test_a_wrong_key_and_a_file_of_another_command_are_named(
    verb: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("bogus = 1\n")
    assert main([verb, "--simulated", "--file", str(file)]) == 2
    assert f"{file}: bogus" in capsys.readouterr().err
    file.write_text('mode = "profile"\n')
    assert main([verb, "--simulated", "--file", str(file)]) == 2
    assert "deadbeat contention --file" in capsys.readouterr().err
