"""Truth: docs/tutorial: what a newcomer types, word for word."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture
from helpers.recorded import recorded

from deadbeat.cli.main import main
from deadbeat.program.run import experiment

CONTENTION, LATENCY = (
    (Path(__file__).parents[2] / f"docs/tutorial/first-{name}.md").read_text(encoding="utf-8")
    for name in ("contention", "latency")
)
SMALL = ("--simulated", "--no-figures", "--sets", "2")
COMMANDS = [
    tuple(shlex.split(line, comments=True))
    for line in re.findall(r"^ {4}\.venv/bin/deadbeat (.*)$", LATENCY, re.MULTILINE)
]
pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_the_sharper_question_and_the_worst_set() -> None:
    (command,) = re.findall(
        r"^ {4}\.venv/bin/deadbeat (contention(?:.*\\\n)*.*)$", CONTENTION, re.MULTILINE
    )
    assert main(("contention", "--quick", *SMALL)) == 0
    assert main((*shlex.split(command.replace("\\\n", " ")), *SMALL)) == 0
    lines = re.findall(r"^ {4}>>> (.*)$", CONTENTION, re.MULTILINE)
    names: dict[str, Any] = {}
    exec("\n".join(lines[:-1]), names)
    slowest = eval(lines[-1], names)
    assert len(slowest) == 5
    assert all(type(each) is float and 1.5 < each < 1.7 for each in slowest)


def test_before_and_after_are_measured_and_compared(capsys: Capture) -> None:
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
    assert main((*words, "--help")) == 0


ROOT = Path(__file__).parents[2]
PARTS = (ROOT / "docs/tutorial/first-program.md").read_text().split("\n## ")[1:]


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0])
def test_a_walk_through_says_what_its_commands_print(
    part: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "watched", recorded("examples"))
    Path("examples").symlink_to(ROOT / "examples")
    blocks = re.findall(r"^(>? {4,}.*(?:\n>? {4,}.*)*)", part, re.MULTILINE)
    assert len(blocks) >= 3
    out = ""
    for block in blocks:
        lines = [line.lstrip("> ") for line in block.splitlines()]
        if block.startswith(">"):
            assert [line for line in lines if line not in out] == [], out
            continue
        for line in lines:
            words = shlex.split(line)
            if words[0] == "cc":
                source = Path(words[-3])
                assert source.is_file()
                shutil.copy("/bin/true", words[-1])
            else:
                assert words[0] == ".venv/bin/deadbeat"
                assert main(words[1:]) == 0, line
                out += capsys.readouterr().out
