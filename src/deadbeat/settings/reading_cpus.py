"""Which CPUs are meant for real-time tasks, and what the boot and the kernel keep from them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deadbeat.host.kernel import CMDLINE
from deadbeat.host.proc import CPUINFO, colon_fields
from deadbeat.host.values import UnreadError, cpus_text
from deadbeat.settings.facts import CONFIG, Facts
from deadbeat.settings.reading_values import ONLINE

#: Files that `isolated` reads.
ISOLATED = ("/sys/devices/system/cpu/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")
#: Files that `tickless` reads.
TICKLESS = ("/sys/devices/system/cpu/nohz_full", CMDLINE, ONLINE)


def meant(facts: Facts, cpus: Iterable[int] | None = None) -> str:
    """CPUs for real-time tasks in words, ``CPUs 2-3``; ``assumed`` where nobody named them.

    Args:
        cpus: Those of them that are spoken of; None: all.
    """
    chosen = sorted(facts.rt_cpus if cpus is None else cpus)
    assumed = "" if facts.asked_cpus else " (assumed)"
    return f"{'CPU' if len(chosen) == 1 else 'CPUs'} {cpus_text(chosen)}{assumed}"


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


def cpu_flags(facts: Facts) -> set[str]:
    """What the first CPU can do, as /proc/cpuinfo of x86 lists it; none on other processors."""
    fields = colon_fields(facts.text(CPUINFO))
    names = {name.partition(" ")[0] for name in fields}
    if not names & {"processor", "vendor_id", "flags", "Features", "isa", "cpu"}:
        raise UnreadError(f"{CPUINFO} describes no processor")
    return set(fields.get("flags", "").split())


def is_x86(facts: Facts) -> bool:
    """Whether this is an x86 processor; needs CPUINFO among what is read. As `cpu_flags`."""
    cpu_flags(facts)
    return bool({"vendor_id", "flags"} & colon_fields(facts.text(CPUINFO)).keys())


def online(facts: Facts) -> set[int]:
    """CPUs that are online. UnreadError where none is: then nothing was read."""
    found = set(facts.cpu_list(ONLINE))
    if not found:
        raise UnreadError(f"{ONLINE} names no CPU")
    return found


def argument_cpus(facts: Facts, name: str) -> set[int]:
    """CPUs that a word of the command line names; none where it is not there."""
    last = max(online(facts))
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
        facts.text(CMDLINE)
        online(facts)  # without sysfs nothing is known
        return set()
    return set(facts.cpu_list(TICKLESS[0]))


def offloaded(facts: Facts) -> set[int]:
    """CPUs whose RCU callbacks run elsewhere: rcu_nocbs=, those without a tick, or all by default.

    A kernel without RCU_NOCB_CPU ignores the word. Where its configuration cannot be read the
    word is believed.
    """
    asked = argument_cpus(facts, "rcu_nocbs") | tickless(facts)
    if facts.get(CONFIG) is None:
        return asked
    if facts.option("RCU_NOCB_CPU") == "n":
        return set()
    by_default = facts.option("RCU_NOCB_CPU_DEFAULT_ALL") == "y"
    named = facts.argument("rcu_nocbs") is not None or tickless(facts)
    return online(facts) if by_default and not named else asked
