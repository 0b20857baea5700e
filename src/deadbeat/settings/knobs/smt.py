"""The hardware threads beside the CPUs meant for real-time tasks."""

from __future__ import annotations

from deadbeat.host.values import parse_cpu_list
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, NotHereError, Setting, one_of

_SIBLINGS = "/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"
_CONTROL = "/sys/devices/system/cpu/smt/control"


def _settings(facts: Facts, value: str) -> list[Setting]:
    if value == "off":
        return _off(facts)
    online = set(facts.cpu_list(ONLINE))
    cores = [set(parse_cpu_list(text)) for text in facts.texts(_SIBLINGS).values()]
    beside = {cpu for core in cores if core & set(facts.rt_cpus) for cpu in core & online}
    beside -= set(facts.rt_cpus)
    if not beside:
        raise NotHereError("no other hardware thread is beside the CPUs for real-time tasks")
    if 0 in beside:
        raise NotHereError("CPU 0 is a sibling and cannot go offline; choose others with --rt-cpus")
    return [Setting(f"/sys/devices/system/cpu/cpu{cpu}/online", "0") for cpu in sorted(beside)]


def _off(facts: Facts) -> list[Setting]:
    state = facts.get(_CONTROL)
    if state not in ("on", "off"):
        raise NotHereError(f"{_CONTROL}: {state or facts.reading(_CONTROL).reason}")
    return [Setting(_CONTROL, "off")]


KNOB = Knob(
    name="smt",
    title="hardware threads beside the CPUs for real-time tasks offline, or SMT off altogether",
    why="two threads of a core share its execution units and its first caches",
    source=f"{sources.CPU_ISOLATION}; {sources.RHEL_REALTIME}",
    cures=("power.smt-siblings",),
    reads=(_SIBLINGS, _CONTROL, ONLINE),
    values=one_of("siblings", "off"),
    default="siblings",
    settings=_settings,
    irreversible="interrupts move away from a CPU that goes offline, and do not all move back"
    " when it"
    " returns: managed ones (of disks and network cards) stay until the next boot; so do shrunken"
    " affinities of tasks and cpusets",
    keep=("/proc/irq/*/effective_affinity_list", "/proc/irq/*/smp_affinity_list"),
    note="nosmt on the kernel's command line (boot-nosmt) has no such remains",
)
