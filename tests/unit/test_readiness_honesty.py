"""What no check may do, whatever it reads: pass on what nobody saw, or break."""

from __future__ import annotations

import re

import pytest

from deadbeat.model.readiness import WORKLOADS, CheckResult
from deadbeat.settings.check import Check, all_checks
from deadbeat.settings.facts import gather
from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.readings import Reading, is_pattern

#: What a broken, foreign or strange machine may hold in place of a value.
STRANGE = (
    "",
    "\n",
    "?",
    "-1",
    "0",
    "1",
    "9" * 30,
    "1-0",
    "0-1,x",
    "[a] b",
    "N/A\n",
    "a b c d e f g h i j k l",
    "1:\n2: 3\n==x\n",
    "\0\0",
    "long " * 200,
    "é\t",
)
ALWAYS = {"/sys/devices/system/cpu/online": "0-3", "/proc/cmdline": "quiet"}


def concrete(path: str) -> str:
    """A path that a pattern matches."""
    return re.sub(r"\[0-9\]\*|\*", "1", path)


def asked(check: Check, target: FakeTarget, workload: str = "mixed") -> CheckResult:
    facts = gather(target, check.reads, rt_cpus=(1, 2), workload=workload)
    return check.run(facts)


def reads(check: Check) -> tuple[list[str], list[str]]:
    """Paths and names of commands that a check reads."""
    commands = [each.removeprefix("command:") for each in check.reads if each[:8] == "command:"]
    paths = [each for each in check.reads if each[:8] != "command:"]
    return [concrete(each) if is_pattern(each) else each for each in paths], commands


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_nothing_passes_where_all_is_refused_or_nothing_is(check: Check) -> None:
    paths, commands = reads(check)
    denied = dict.fromkeys([*paths, *ALWAYS], "denied: Permission denied")
    outputs = {name: Reading(None, "failed: Permission denied") for name in commands}
    result = asked(check, FakeTarget(refused=denied, outputs=outputs))
    assert result.status == "unknown", result
    assert result.reason
    assert asked(check, FakeTarget()).status != "pass"


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_nothing_breaks_on_strange_values(check: Check) -> None:
    paths, commands = reads(check)
    for text in STRANGE:
        files = {**ALWAYS, **dict.fromkeys(paths, text)}
        target = FakeTarget(files=files, outputs=dict.fromkeys(commands, text))
        for workload in WORKLOADS:
            result = asked(check, target, workload)
            assert result.status in ("pass", "fail", "unknown")
            assert "\n" not in result.reason + result.found + result.cure, result
            assert max(map(len, (result.reason, result.found))) <= 200
