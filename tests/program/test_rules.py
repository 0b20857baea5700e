"""Truth: what programs did on purpose that makes a job late one day, by their own counts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture
from helpers.recorded import recorded

from deadbeat.cli.main import main
from deadbeat.program.derive.rules import RULES
from deadbeat.program.run import kind

#: Recording -> thread, rule, how often, in how many jobs, and where.
BROKEN: dict[str, set[tuple[str, str, int, int, str]]] = {
    # "365 cycles"
    "strangers/pingpong": {("pong", "relative-sleep", 365, 365, "for 1 ms")},
    "strangers/zero": set(),
}


def run(path: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    folder, _, name = path.partition("/")
    shutil.copy("/bin/true", name)
    monkeypatch.setattr(kind, "watched", recorded(folder))
    monkeypatch.setenv("COLUMNS", "110")
    return main(("run", "--fresh", *options, "--", f"./{name}"))


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("path", BROKEN)
def test_each_fault_is_named_and_no_other(
    path: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(path, monkeypatch, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["results"]
    rows = {
        tuple(row[key] for key in ("thread", "rule", "count", "jobs", "where"))
        for row in found["rules"]
    }
    assert rows == BROKEN[path]
    assert {row["cure"] for row in found["rules"]} == {RULES[row[1]].cure for row in rows}


@pytest.mark.usefixtures("in_a_folder")
def test_a_fault_is_said_fails_and_can_be_accepted(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--deadline", "5ms", "--fail-on", "rules")
    assert run("strangers/pingpong", monkeypatch, *options) == 1
    said = capsys.readouterr()
    assert "every 1.1 ms, at least 1.08 ms apart).\nBut pong sleeps for a time" in said.out
    assert "relative-sleep  pong      365   365  for 1 ms  sleep until an instant" in said.out
    assert "--fail-on rules: pong sleeps for a time in 365 jobs" in said.err
    assert "pong sleeps for a time" in Path("runs/pingpong/report.html").read_text()
    accepted = ("--set", "allow=relative-sleep:pong")
    assert run("strangers/pingpong", monkeypatch, *options, *accepted) == 0
    said = capsys.readouterr()
    assert "But pong" not in said.out
    assert "relative-sleep  pong      365   365  for 1 ms  accepted" in said.out


def test_rules_are_listed(capsys: Capture) -> None:
    assert main(("list", "findings")) == 0
    listed = capsys.readouterr().out
    for rule in RULES.values():
        assert f"{rule.name} " in listed and rule.title in listed
        assert main(("show", rule.name)) == 0
        assert rule.cure[1:] in capsys.readouterr().out
