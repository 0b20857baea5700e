"""What no check may do, whatever the files of a machine hold: pass on what nobody saw, or break."""

import random
import re
from collections.abc import Iterator

import pytest
from attrs import evolve
from helpers.checks import Case, Thread, outcome, window
from helpers.row_cases import named
from test_checks_all import CASES

from deadbeat.machine.settings.check import Check, all_checks
from deadbeat.machine.settings.facts import gather
from deadbeat.machine.settings.readiness import WORKLOADS, CheckResult
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.readings import Reading

#: What a broken, foreign or strange machine may hold in place of a value.
STRANGE = (
    *(
        "",
        " \n\n",
        "?",
        "x",
        "-1",
        "0\n",
        "1",
        "9" * 40,
        "1-0",
        "0-1,x",
        "0-1,,",
        "5-2",
        "0-9999999",
    ),
    *("[", "[a] b", "N/A\n", "a b c", "3 4 5\n6 7", "1:\n2: 3\n==x\n", ":::\n,,,\n", "0-3:1/0\n"),
    *("\0\0", "long " * 200, "é\0", "%", "y=1 z", "CONFIG_NUMA=n\nCONFIG_KSM=y\n", "1.5", "0x1f"),
    *(
        "==before\n==after\n",
        "ffffffff,ffffffff",
        "N",
        "Y",
        "\x00\xff garbage 1e9 : = , - %n\n" * 3,
    ),
)
ALWAYS = {"/sys/devices/system/cpu/online": "0-3", "/proc/cmdline": "quiet"}
WINDOW = window(
    Thread(tid=9, name="x", policy=1, priority=99), Thread(tid=10, name="y", policy=6),
    interrupts={"1": ("a b", (0, 0), (1, 1))}, smi=(1, 2),
)  # fmt: skip
#: Nothing on the command line, and no such file of the kernel, say that it is not there.
_ABSENT = {
    "cmdline.irqpoll",
    *("cmdline.idle-poll", "cmdline.rcu-patience", "cmdline.serial-console", "cmdline.watchdogs"),
    *("hardening.page-poisoning", "virtualisation.quota"),
}
each_check = pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)


def reads(check: Check) -> tuple[list[str], list[str]]:
    """Paths and names of commands that a check reads."""
    commands = [each.removeprefix("command:") for each in check.reads if each[:8] == "command:"]
    return [named(each, 1) for each in check.reads if each[:8] != "command:"], commands


def answered(result: CheckResult) -> None:
    assert result.status in ("pass", "fail", "unknown")
    assert result.reason and "\n" not in result.reason + result.found + result.cure, result
    assert max(map(len, (result.reason, result.found))) <= 200
    undeclared = re.fullmatch(r"'[^']*'", result.reason)
    assert not undeclared, "it asks for what none of its cases does (tools/reads.py)"


@each_check
def test_nothing_passes_where_all_is_refused_or_nothing_is(check: Check) -> None:
    paths, commands = reads(check)
    denied = dict.fromkeys([*paths, *ALWAYS], "denied: Permission denied")
    outputs = {name: Reading(None, "failed: Permission denied") for name in commands}
    target = FakeTarget(refused=denied, outputs=outputs)
    result = check.run(gather(target, check.reads, rt_cpus=(1, 2)))
    assert result.status == "unknown", result
    assert check.run(gather(FakeTarget(), check.reads, rt_cpus=(1, 2))).status != "pass"


@each_check
def test_strange_files_are_answered_alike_or_each_in_its_way(check: Check) -> None:
    paths, commands = reads(check)
    draw = random.Random(check.id)
    for text in (*STRANGE, *[None] * 12):  # None: files that contradict each other
        files = {path: draw.choice(STRANGE) if text is None else text for path in paths}
        outputs = {name: draw.choice(STRANGE) if text is None else text for name in commands}
        if text is None:
            outputs |= {n: WINDOW[n] for n in commands if n in WINDOW and draw.random() < 0.7}
        always = ALWAYS if draw.random() < 0.8 else {}
        target = FakeTarget(files={**always, **files}, outputs=outputs)
        rt_cpus = draw.choice([(1,), (1, 2), (0, 1), (), None])
        for workload in WORKLOADS:
            answered(check.run(gather(target, check.reads, workload=workload, rt_cpus=rt_cpus)))


def whole(id: str) -> Case:
    return next(given for status, given in CASES[id].items() if status.startswith("pass"))


def odd(given: Case, text: str) -> Iterator[Case]:
    """A machine for each of its files, with another text in that."""
    for name in (*given.files, *given.outputs):
        files = {key: text if key == name else held for key, held in given.files.items()}
        outputs = {key: text if key == name else held for key, held in given.outputs.items()}
        yield evolve(given, files=files, outputs=outputs)


@pytest.mark.parametrize("id", CASES)
def test_one_odd_file_of_a_machine_on_which_it_passes_is_answered(id: str) -> None:
    for text in ("", " \n\n", STRANGE[-1], "0\n", "-1\n", "0-9999999\n", "y\n", ":::\n,,,\n"):
        for machine in odd(whole(id), text):
            answered(outcome(id, machine))


@pytest.mark.parametrize("id", sorted({*CASES} - _ABSENT))
def test_no_check_passes_where_all_is_empty(id: str) -> None:
    given = whole(id)
    nothing = evolve(
        given, files=dict.fromkeys(given.files, ""), outputs=dict.fromkeys(given.outputs, "")
    )
    assert outcome(id, nothing).status != "pass"


@pytest.mark.parametrize("id", CASES)
def test_no_check_passes_on_no_cpu(id: str) -> None:
    files = {key: held for key, held in whole(id).files.items() if not key.startswith("/sys")}
    result = outcome(id, evolve(whole(id), files=files, rt_cpus=None))
    assert "CPU none" not in result.found + result.reason, result
