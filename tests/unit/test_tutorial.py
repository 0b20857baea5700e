"""Truth: docs/tutorial/first-contention.md: what a newcomer types, word for word."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from deadbeat.cli.main import main

PAGE = Path(__file__).parents[2] / "docs/tutorial/first-contention.md"
SMALL = ("--simulated", "--no-figures", "--sets", "2")


def test_the_sharper_question_and_the_worst_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)
    text = PAGE.read_text(encoding="utf-8")
    (command,) = re.findall(
        r"^ {4}\.venv/bin/deadbeat (contention(?:.*\\\n)*.*)$", text, re.MULTILINE
    )
    assert main(("contention", "--quick", *SMALL)) == 0
    assert main((*shlex.split(command.replace("\\\n", " ")), *SMALL)) == 0
    lines = re.findall(r"^ {4}>>> (.*)$", text, re.MULTILINE)
    names: dict[str, Any] = {}
    exec("\n".join(lines[:-1]), names)
    slowest = eval(lines[-1], names)
    assert len(slowest) == 5
    assert all(type(each) is float and 1.5 < each < 1.7 for each in slowest)
