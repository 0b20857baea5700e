"""No check breaks on files that contradict each other: each of them strange in a way of its own."""

from __future__ import annotations

import random
import re

import pytest
from helpers.checks import Thread, window

from deadbeat.model.readiness import WORKLOADS
from deadbeat.settings.check import Check, all_checks
from deadbeat.settings.facts import gather
from deadbeat.targets.fake import FakeTarget

STRANGE = (
    *("", "x", "-1", "0", "1", "9" * 40, "\n\n", "0-1,,", "0-", "5-2", "4-999999999", "[", "[x] y"),
    *("a b c", "é\0", "%", "3 4 5\n6 7", "y=1 z", "CONFIG_X=y\n", "1.5", "Name:\n", "0x1f", "-"),
    *("==before\n==after\n", "ffffffff,ffffffff", "CONFIG_NUMA=n\nCONFIG_KSM=y\n", "N", "Y"),
)
WINDOW = window(
    Thread(tid=9, name="x", policy=1, priority=99), Thread(tid=10, name="y", policy=6),
    interrupts={"1": ("a b", (0, 0), (1, 1))}, smi=(1, 2),
)  # fmt: skip
ROUNDS = 12


def machine(check: Check, draw: random.Random) -> FakeTarget:
    files, outputs = {}, {}
    for each in check.reads:
        text = draw.choice(STRANGE)
        name = each.removeprefix("command:")
        if name == each:
            files[re.sub(r"\[0-9\]\*|\*", "1", each)] = text
        else:
            outputs[name] = WINDOW[name] if name in WINDOW and draw.random() < 0.7 else text
    if draw.random() < 0.8:
        files["/sys/devices/system/cpu/online"] = "0-1"
    return FakeTarget(files=files, outputs=outputs)


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_strange_files_are_told_not_broken_on(check: Check) -> None:
    draw = random.Random(check.id)
    for _ in range(ROUNDS):
        facts = gather(
            machine(check, draw),
            check.reads,
            workload=draw.choice(WORKLOADS),
            rt_cpus=draw.choice([(1,), (0, 1), (), None]),
        )
        result = check.run(facts)
        undeclared = re.fullmatch(r"'[^']*'", result.reason)
        assert not undeclared, "it asks for what none of its cases does (tools/reads)"
        assert result.reason and "\n" not in result.reason + result.found + result.cure
