"""Every readiness check has a machine on which it passes, one it fails, one it cannot tell."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest
from helpers.checks import Cases, outcome

from deadbeat.model.readiness import SEVERITIES
from deadbeat.settings.check import Check, all_checks
from deadbeat.settings.facts import commands
from deadbeat.settings.inventory import READS

STATUSES = ("pass", "fail", "unknown")


def families() -> Cases:
    names = sorted(path.stem for path in Path(__file__).parent.glob("test_checks_*.py"))
    tables = [import_module(name).CASES for name in names if name != Path(__file__).stem]
    assert not [id for id, n in Counter(id for table in tables for id in table).items() if n > 1]
    return {id: cases for table in tables for id, cases in table.items()}


CASES = families()


@pytest.mark.parametrize("id", CASES)
def test_a_check_says_what_the_machine_shows(id: str) -> None:
    for status, given in CASES[id].items():
        result = outcome(id, given)
        assert result.status == status.split(maxsplit=1)[0], (status, result)
        assert given.says in f"{result.found} | {result.reason}", (status, result)
        assert result.reason and "\n" not in result.reason + result.found + result.cure
        assert not result.reason.startswith("unknown")
        if result.status == "fail":
            assert result.found, f"{status}: a failure says what was found"


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_a_check_describes_itself(check: Check) -> None:
    family, _, name = check.id.partition(".")
    assert family and name
    row = check.row
    assert row.title and row.source and row.wanted and row.fix and check.reads
    assert row.severity in SEVERITIES
    assert row.why, "why the setting matters"
    assert _commands(check.reads) <= {*commands()}


def _commands(reads: Iterable[str]) -> set[str]:
    return {each.partition(":")[2] for each in reads if each.startswith("command:")}


def test_every_command_is_read_and_is_a_shell_script() -> None:
    read = _commands(each for check in all_checks() for each in check.reads)
    assert read | _commands(READS) | {"kernel-config", "dmesg"} == {*commands()}
    scripts = sorted((Path(__file__).parents[2] / "src/deadbeat").rglob("*.sh"))
    assert len(scripts) > len(commands())
    for script in scripts:
        subprocess.run(["sh", "-n", script], check=True)


def test_every_check_passes_fails_and_does_not_know() -> None:
    bare = {c.id: [s for s in STATUSES if s not in CASES.get(c.id, {})] for c in all_checks()}
    assert {id: missing for id, missing in bare.items() if missing} == {}
    assert {*CASES} <= {check.id for check in all_checks()}


def test_ids_are_unique() -> None:
    counts = Counter(check.id for check in all_checks())
    assert max(counts.values()) == 1
