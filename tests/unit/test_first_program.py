"""Truth: docs/tutorial/first-program.md, word for word, with what was recorded of its programs."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.answers import Capture
from helpers.recorded import recorded

from deadbeat.cli.main import main
from deadbeat.kinds.program import kind

ROOT = Path(__file__).parents[2]
PARTS = (ROOT / "docs/tutorial/first-program.md").read_text().split("\n## ")[1:]


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0])
def test_a_walk_through_says_what_its_commands_print(
    part: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "watched", recorded("examples"))
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
            words = shlex.split(line.removeprefix("sudo "))
            if words[0] == "cc":
                source = Path(words[-3])
                assert source.is_file()
                shutil.copy("/bin/true", words[-1])
            else:
                assert words[0] == "deadbeat"
                assert main(words[1:]) == 0, line
                out += capsys.readouterr().out
