"""Sets of CPUs that several checks ask for: as the kernel writes them, and in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deadbeat.readiness.facts import Facts

#: Files that `isolated` reads.
ISOLATED = ("/sys/devices/system/cpu/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")
#: Files that `tickless` reads.
TICKLESS = ("/sys/devices/system/cpu/nohz_full", "/proc/cmdline", "/sys/devices/system/cpu/online")
#: Files that `offloaded` reads.
OFFLOADED = TICKLESS
_ONLINE = "/sys/devices/system/cpu/online"


def listed(cpus: Iterable[int]) -> str:
    """CPUs as the kernel lists them, ``0-2,5``; "none"."""
    parts: list[str] = []
    ordered = sorted(set(cpus))
    while ordered:
        count = 1
        while count < len(ordered) and ordered[count] == ordered[0] + count:
            count += 1
        parts.append(f"{ordered[0]}-{ordered[count - 1]}" if count > 1 else f"{ordered[0]}")
        ordered = ordered[count:]
    return ",".join(parts) or "none"


def meant(facts: Facts) -> str:
    """The CPUs for real-time tasks in words, and whether somebody said so."""
    assumed = "" if facts.asked_cpus else " (assumed; --rt-cpus names them)"
    return f"{'CPU' if len(facts.rt_cpus) == 1 else 'CPUs'} {listed(facts.rt_cpus)}{assumed}"


def housekeeping(facts: Facts) -> set[int]:
    """CPUs that are online and not meant for real-time tasks. UnreadError if none is known."""
    return set(facts.cpu_list(_ONLINE)) - set(facts.rt_cpus)


def from_mask(text: str) -> set[int]:
    """CPUs of a mask, ``3`` or ``00000001,ffffffff``. ValueError where it is none."""
    bits = int(text.replace(",", ""), 16)
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


def from_boot(text: str, last: int) -> set[int]:
    """CPUs of a list on the kernel's command line (kernel-parameters, "cpu lists").

    Words that are no CPUs (``managed_irq``) are left out; ``N`` is the last CPU, ``a-b:used/group``
    the first ``used`` of each ``group``.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+|N)(?:-(\d+|N)(?::(\d+)/(\d+))?)?", part.strip())
        if part.strip() == "all":
            found |= set(range(last + 1))
        elif match is not None:
            first, end = (_number(each, last) for each in (match[1], match[2] or match[1]))
            used, group = int(match[3] or 1), int(match[4] or 1) or 1
            found |= {cpu for cpu in range(first, end + 1) if (cpu - first) % group < used}
    return found


def _number(text: str, last: int) -> int:
    return last if text == "N" else int(text)


def argument_cpus(facts: Facts, name: str) -> set[int]:
    """CPUs that a word of the command line names; none where it is not there."""
    last = max(facts.cpu_list(_ONLINE), default=0)
    return from_boot(facts.argument(name) or "", last)


def isolated(facts: Facts) -> set[int]:
    """CPUs outside the scheduler's balancing: at boot, or by an isolated partition.

    UnreadError where the kernel does not say."""
    at_boot = set(facts.cpu_list(ISOLATED[0]))
    partitions = facts.get(ISOLATED[1])
    return at_boot | set(facts.cpu_list(ISOLATED[1]) if partitions else ())


def tickless(facts: Facts) -> set[int]:
    """CPUs whose tick stops beside a single task. A kernel without NO_HZ_FULL has none."""
    if facts.get(TICKLESS[0]) is None:
        facts.text("/proc/cmdline")  # without sysfs nothing is known
        facts.cpu_list(_ONLINE)
        return set()
    return set(facts.cpu_list(TICKLESS[0]))


def offloaded(facts: Facts) -> set[int]:
    """CPUs whose RCU callbacks run elsewhere: rcu_nocbs=, and those without a tick."""
    return argument_cpus(facts, "rcu_nocbs") | tickless(facts)
