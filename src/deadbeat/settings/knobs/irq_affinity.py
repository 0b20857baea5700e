"""Interrupts away from the CPUs meant for real-time tasks."""

from __future__ import annotations

from deadbeat.host.proc import interrupts_of
from deadbeat.host.values import UnreadError, cpus_text, parse_cpu_list
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, NotHereError, Setting, present
from deadbeat.settings.reading_interrupts import COMMANDS, MODES, managed_by_name, read_only
from deadbeat.settings.reading_values import housekeeping

_LISTS = "/proc/irq/[0-9]*/smp_affinity_list"


_MANAGED = (
    "managed: the kernel places it and refuses any other place; isolcpus=managed_irq moves it"
)


def _fixed(facts: Facts) -> dict[str, str]:
    numbers = managed_by_name(interrupts_of(facts.get("/proc/interrupts") or ""))
    if facts.get(MODES) is not None:
        numbers |= read_only(facts) or set()
    return {f"/proc/irq/{number}/smp_affinity_list": _MANAGED for number in numbers}


def _settings(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    for path in present(facts, _LISTS):
        try:
            now = set(parse_cpu_list(facts.text(path)))
        except (UnreadError, ValueError):
            continue  # of an interrupt that has gone meanwhile
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpus_text(now & left or left)))
    if not made:
        raise NotHereError("no interrupt may go to the CPUs for real-time tasks")
    return made


KNOB = Knob(
    name="irq-affinity",
    title="interrupts of devices go to the other CPUs",
    why="an interrupt of a device takes its time from whatever runs on its CPU",
    source=f"{sources.CPU_ISOLATION}; {sources.RHEL_REALTIME}; {sources.INTEL_ECI}",
    cures=("interrupts.placement",),
    reads=(_LISTS, ONLINE, MODES, "/proc/interrupts"),
    commands=COMMANDS,
    settings=_settings,
    fixed=_fixed,
    irreversible="the masks come back exactly, but an interrupt may stay on the CPU it moved to:"
    " that is chosen anew only when it is next delivered, or not at all",
    keep=("/proc/irq/*/effective_affinity_list",),
    note="managed interrupts (of disks and network cards) would refuse it and are left alone;"
    " isolcpus=managed_irq (boot-isolation) moves them; irqbalance, where it runs, undoes it",
)
