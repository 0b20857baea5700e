"""Truth: docs/tutorial/first-latency.md: what a newcomer types, word for word."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from deadbeat.cli.main import main

PAGE = Path(__file__).parents[2] / "docs/tutorial/first-latency.md"
COMMANDS = [
    tuple(shlex.split(line, comments=True))
    for line in re.findall(
        r"^ {4}\.venv/bin/deadbeat (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
]


def test_before_and_after_are_measured_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)
    measured = [words for words in COMMANDS if words[0] == "latency" and "--name" in words]
    assert [words[-1] for words in measured] == ["before", "before-again", "after"]
    for words in measured:
        prober = words.index("--engine")  # of a made-up machine there is but one
        own = (*words[:prober], *words[prober + 2 :])
        assert main((*own, "--simulated", "--no-figures")) == 0
    (compare,) = [words for words in COMMANDS if words[0] == "compare"]
    capsys.readouterr()
    assert main((*compare, "--no-figures")) == 0
    assert "after against before" in capsys.readouterr().out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_word_of_a_command_exists(words: tuple[str, ...]) -> None:
    """An option that is not there is told before any help."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DEADBEAT_RUNS", raising=False)
        assert main((*words, "--help")) == 0
