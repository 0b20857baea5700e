"""Every readiness check has a machine on which it passes, one it fails, one it cannot tell."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest
from helpers.checks import Cases, case, outcome
from helpers.row_cases import row_cases

from deadbeat.machine.settings.check import Check, all_checks
from deadbeat.machine.settings.facts import commands
from deadbeat.machine.settings.inventory import READS
from deadbeat.machine.settings.readiness import SEVERITIES

ROOT = Path(__file__).parents[2]
STATUSES = ("pass", "fail", "unknown")


def families() -> Cases:
    names = sorted(path.stem for path in Path(__file__).parent.glob("test_checks_*.py"))
    tables = [import_module(name).CASES for name in names if name != Path(__file__).stem]
    assert not [id for id, n in Counter(id for table in tables for id in table).items() if n > 1]
    typed = {id: cases for table in tables for id, cases in table.items()}
    rows = row_cases()
    dark = {"unknown": case()}  # a machine that shows nothing
    return {id: {**dark, **rows.get(id, {}), **typed.get(id, {})} for id in {**rows, **typed}}


CASES = families()


@pytest.mark.parametrize(("id", "status"), [(id, word) for id in CASES for word in CASES[id]])
def test_a_check_says_what_the_machine_shows(id: str, status: str) -> None:
    given = CASES[id][status]
    result = outcome(id, given)
    assert result.status == status.split(maxsplit=1)[0], result
    assert given.says in f"{result.found} | {result.reason}", result
    assert result.reason and "\n" not in result.reason + result.found + result.cure
    assert not result.reason.startswith("unknown")
    if result.status == "fail":
        assert result.found, "a failure says what was found"


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
    scripts = sorted((ROOT / "src/deadbeat").rglob("*.sh"))
    assert len(scripts) > len(commands())
    for script in scripts:
        subprocess.run(["sh", "-n", script], check=True)


def test_every_check_passes_fails_and_does_not_know() -> None:
    shown = {id: {word.split()[0] for word in cases} for id, cases in CASES.items()}
    bare = {c.id: {*STATUSES} - shown.get(c.id, set()) for c in all_checks()}
    assert {id: missing for id, missing in bare.items() if missing} == {}
    assert {*CASES} <= {check.id for check in all_checks()}


def test_what_functions_read_is_as_their_cases_show() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/reads.py", "--check"], check=False)
    assert done.returncode == 0, "renew it: tools/reads.py"


def test_ids_are_unique() -> None:
    counts = Counter(check.id for check in all_checks())
    assert max(counts.values()) == 1
