"""What checks and knobs ask of `Facts`: values, CPUs, build options, interrupts, root domains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from deadbeat.machine.host.cmdline import BootCpus, boot_cpus, numbered_by_the_machine, truth
from deadbeat.machine.host.kernel import CMDLINE, VERSION, configured, realtime_model, release_of
from deadbeat.machine.host.proc import CPUINFO, Interrupt, colon_fields
from deadbeat.machine.host.recorded import NOT_GIVEN
from deadbeat.machine.host.snapshot import SLOWS_CPUS
from deadbeat.machine.host.values import CPU_MAX, UnreadError, chosen, cpu_set, cpus_text
from deadbeat.machine.settings.facts import CONFIG, DMESG, LOCKDOWN, ONLINE, POSSIBLE, Facts
from deadbeat.machine.targets.readings import MISSING, is_pattern


def absent(facts: Facts, path: str) -> bool:
    """Whether ``path`` does not exist; what was refused may."""
    return facts.reading(path).reason == MISSING


def housekeeping(facts: Facts) -> tuple[int, ...]:
    """CPUs that are online and not meant for real-time tasks.

    UnreadError where none is left: nothing could go elsewhere."""
    left = tuple(cpu for cpu in facts.cpu_list(ONLINE) if cpu not in facts.rt_cpus)
    if not left:
        raise UnreadError(
            f"every CPU ({cpus_text(facts.rt_cpus)}) is meant for real-time tasks: none is left"
            " for the rest; name fewer with --rt-cpus"
        )
    return left


def shared(facts: Facts, cpus: Iterable[int]) -> list[int]:
    """CPUs in ``cpus`` that are meant for real-time tasks."""
    return sorted(set(cpus) & set(facts.rt_cpus))


def few(names: Sequence[str]) -> str:
    """``a, b, c and 12 more``."""
    rest = len(names) - 4
    return ", ".join(names[:4]) + (f" and {rest} more" if rest > 0 else "")


def release(facts: Facts) -> tuple[int, int]:
    """Major and minor number of the kernel. UnreadError where it is not known."""
    found = release_of(facts.text(VERSION))
    if found == (0, 0):
        raise UnreadError(f"{VERSION} names no release")
    return found


def lockdown(facts: Facts) -> str | None:
    """``none``, ``integrity`` or ``confidentiality``; "on" where only the log tells; None: unknown.

    Whoever asks reads LOCKDOWN and the log: securityfs need not be mounted."""
    mode = facts.get(LOCKDOWN)
    if mode is not None:
        return chosen(mode)
    log = facts.get(DMESG)
    return "on" if log is not None and "Kernel is locked down" in log else None


def meant(facts: Facts, cpus: Iterable[int] | None = None) -> str:
    """CPUs for real-time tasks in words, ``CPUs 2-3``; ``assumed`` where none were named.

    Args:
        cpus: The ones to name; None: all.
    """
    if not facts.chosen_cpus and cpus is None:
        return "any CPU"
    chosen = sorted(facts.rt_cpus if cpus is None else cpus)
    assumed = "" if facts.asked_cpus else " (assumed)"
    return f"{'CPU' if len(chosen) == 1 else 'CPUs'} {cpus_text(chosen)}{assumed}"


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


def cpu_of(path: str) -> int:
    """CPU of a path with ``cpuN`` in it, or the like; -1 where none is."""
    found = re.search(r"/(?:cpu|machinecheck)(\d+)(?:/|$)", path)
    return int(found[1]) if found else -1


def by_cpu(texts: Mapping[str, str]) -> dict[int, str]:
    """CPU -> text of its file, in order."""
    return dict(sorted((cpu_of(path), text) for path, text in texts.items()))


def grouped(values: dict[int, str]) -> str:
    """``performance: CPUs 0-3; powersave: CPUs 4-7``."""
    groups: dict[str, list[int]] = {}
    for cpu, value in values.items():
        groups.setdefault(value, []).append(cpu)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{value}: CPUs {cpus_text(cpus)}" for value, cpus in groups.items())


def part_of(path: str, pattern: str) -> str:
    """The first part of ``path`` that ``pattern`` leaves open: ``eth0``."""
    at = next(k for k, part in enumerate(pattern.split("/")) if is_pattern(part))
    return path.split("/")[at]


def groups_realtime(facts: Facts) -> bool:
    """Whether control groups bound real-time time: built with it, and not switched off at boot."""
    default = "0" if facts.option("RT_GROUP_SCHED_DEFAULT_DISABLED") == "y" else "1"
    return (facts.argument("rt_group_sched") or default) != "0"


def online(facts: Facts) -> set[int]:
    """CPUs that are online. UnreadError where none is: then nothing was read."""
    found = set(facts.cpu_list(ONLINE))
    if not found:
        raise UnreadError(f"{ONLINE} names no CPU")
    return found


def booted(facts: Facts) -> BootCpus:
    """What the words of the command line make of the CPUs. UnreadError where that depends on how
    many there are, and it is not known."""
    line, last = facts.text(CMDLINE), last_cpu(facts)
    if last == CPU_MAX and numbered_by_the_machine(line):
        raise UnreadError("N and all mean this machine's last CPU, which is not known")
    return boot_cpus(line, last + 1, None if facts.get(CONFIG) is None else facts.config())


def switched_off(facts: Facts, name: str) -> bool:
    """Whether a word of the command line that is on or off says off."""
    said = [truth(value) for value in facts.arguments(name)]
    return [True, *(each for each in said if each is not None)][-1] is False


def last_cpu(facts: Facts) -> int:
    """The highest CPU that may ever be there. UnreadError where none is known."""
    if facts.reading(ONLINE).reason == NOT_GIVEN:
        return CPU_MAX
    possible = facts.cpu_list(POSSIBLE) if facts.get(POSSIBLE) else []
    return max(*online(facts), *possible, 0)


def isolated(facts: Facts) -> set[int]:
    """CPUs outside the scheduler's balancing: at boot, or by an isolated partition.

    UnreadError where the kernel does not say."""
    at_boot = set(facts.cpu_list("/sys/devices/system/cpu/isolated"))
    partitions = "/sys/fs/cgroup/cpuset.cpus.isolated"
    return at_boot | set(facts.cpu_list(partitions) if facts.get(partitions) else ())


def tickless(facts: Facts) -> set[int]:
    """CPUs that stop their tick beside a single task. A kernel without NO_HZ_FULL has none."""
    file = "/sys/devices/system/cpu/nohz_full"
    if facts.get(file) is None:
        facts.text(CMDLINE)
        online(facts)  # without sysfs nothing is known
        return set()
    return set(facts.cpu_list(file))


def offloaded(facts: Facts) -> set[int]:
    """CPUs with RCU callbacks elsewhere: rcu_nocbs=, those without a tick, or all by default.

    A kernel without RCU_NOCB_CPU ignores the word. Where its configuration cannot be read the
    word is believed.
    """
    words = booted(facts).offloaded
    asked = {*(words or ()), *tickless(facts)}
    if facts.get(CONFIG) is None:
        return asked
    if facts.option("RCU_NOCB_CPU") == "n":
        return set()
    by_default = facts.option("RCU_NOCB_CPU_DEFAULT_ALL") == "y"
    named = words is not None or tickless(facts)
    return online(facts) if by_default and not named else asked


def lacking(facts: Facts, path: str) -> bool:
    """Whether a file does not exist. One that is refused does.

    UnreadError where /proc itself is not there, and so nothing says anything."""
    facts.text("/proc/cmdline")
    if facts.reading(path).reason == NOT_GIVEN:
        raise UnreadError(NOT_GIVEN)
    return absent(facts, path)


def numbers(facts: Facts, pattern: str) -> dict[str, int]:
    """Path -> the number in it. UnreadError where one holds none."""
    found = {}
    for path, text in facts.texts(pattern).items():
        if not re.fullmatch(r"-?\d+", text):
            raise UnreadError(f"{path} holds {text[:40]!r}, not a number")
        found[path] = int(text)
    return found


def realtime(facts: Facts) -> bool:
    """Whether this is a PREEMPT_RT kernel; of one that does not run, as it was built."""
    if facts.get(CONFIG) is not None and facts.reading(VERSION).reason == NOT_GIVEN:
        return configured(facts.config()) == "rt"
    return realtime_model(facts.get) is not None


MODES = "command:irq-modes"
#: Queues of drivers with interrupts that the kernel places itself (irq_affinity of their driver).
_MANAGED = re.compile(r"nvme\d+q[1-9]|virtio\d+-req\.\d|mpt\d|megasas|hpsa|hisi_sas|qla2xxx")


def read_only(facts: Facts) -> set[str] | None:
    """Numbers of those with a read-only file; None: ls shows none. See `Facts.text`."""
    modes = re.findall(r"^(\S+) .*?/proc/irq/(\d+)/smp_affinity$", facts.text(MODES), re.M)
    return {number for mode, number in modes if "w" not in mode} if modes else None


def managed_by_name(rows: Mapping[str, Interrupt]) -> set[str]:
    """Numbers of those that belong to a driver which has them placed."""
    return {number for number, row in rows.items() if _MANAGED.search(row.about)}


def cooling_of_cpus(facts: Facts) -> list[tuple[str, int]]:
    """What slows CPUs down (not fans), with how much of it is in use; 0: nothing.

    UnreadError where one does not tell."""
    states, device = [], "/sys/class/thermal/cooling_device[0-9]*"
    for path, reading in facts.matches(f"{device}/type").items():
        name = (reading.text or "").strip()
        if not SLOWS_CPUS.match(name):
            continue
        state = path.replace("/type", "/cur_state")
        text = facts.matches(f"{device}/cur_state").get(state, reading).text or ""
        if re.fullmatch(r"-?\d+\s*", text) is None:
            raise UnreadError(f"{state} holds {text[:40]!r}, not a number")
        states.append((name, int(text)))
    return states


PARTITIONS = "command:cpuset-partitions"
#: Only groups below the machine's top have it.
_BELOW_TOP = "/sys/fs/cgroup/cgroup.type"
#: Load balancing of the top group of version 1.
_BALANCED = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance"


def root_domains(facts: Facts) -> list[set[int]]:
    """CPUs that are online, by the domain that they belong to.

    All that are isolated, at boot or by partitions, share the kernel's default one.

    Raises:
        UnreadError: Something that may divide them is out of sight.
    """
    every = online(facts)
    if facts.get(_BELOW_TOP) is not None:
        raise UnreadError("a container's view: partitions of the machine are out of sight")
    if facts.get(_BALANCED) == "0":
        raise UnreadError("cpusets of version 1 divide the CPUs, and this does not follow them")
    rows = re.findall(r"^(root|isolated) ([\d,-]+)$", facts.text(PARTITIONS), re.M)
    apart = isolated(facts)
    for kind, cpus in rows:
        apart |= cpu_set(cpus) if kind == "isolated" else set()
    parts = [cpu_set(cpus) - apart for kind, cpus in rows if kind == "root"]
    rest = every.difference(apart, *parts)
    return [found & every for found in (apart, *parts, rest) if found & every]
