"""Interrupts that the kernel places by itself: whoever writes their affinity is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deadbeat.host.proc import Interrupt
from deadbeat.settings.facts import Facts

MODES = "command:irq-modes"
COMMANDS = {"irq-modes": "ls -l /proc/irq/*/smp_affinity"}
#: Queues of drivers whose interrupts the kernel places by itself (irq_affinity of their driver).
_MANAGED = re.compile(r"nvme\d+q[1-9]|virtio\d+-req\.\d|mpt\d|megasas|hpsa|hisi_sas|qla2xxx")


def read_only(facts: Facts) -> set[str] | None:
    """Numbers of those whose file nobody may write; None: ls shows none. As `Facts.text`."""
    modes = re.findall(r"^(\S+) .*?/proc/irq/(\d+)/smp_affinity$", facts.text(MODES), re.M)
    return {number for mode, number in modes if "w" not in mode} if modes else None


def managed_by_name(rows: Mapping[str, Interrupt]) -> set[str]:
    """Numbers of those that belong to a driver which has them placed."""
    return {number for number, row in rows.items() if _MANAGED.search(row.about)}
