"""The conditional part of rows: their files or values depend on what the machine has.

``make_NAME`` gives the files of the knob of that name, and what they shall hold, in the order of
writing. It raises NotHereError or UnreadError where there is nothing to set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from deadbeat.base.model.tuning import Setting
from deadbeat.machine.host.proc import INTERRUPTS, interrupts_of
from deadbeat.machine.host.values import UnreadError, cpu_mask, cpus_text, mask_cpus, parse_cpu_list
from deadbeat.machine.settings.facts import ONLINE, Facts
from deadbeat.machine.settings.reading import (
    MODES,
    cpu_of,
    housekeeping,
    managed_by_name,
    read_only,
    release,
)
from deadbeat.machine.targets.readings import is_pattern


class NotHereError(Exception):
    """There is nothing to set on this machine; says why."""


T = TypeVar("T")
Make = Callable[[Facts, str], Sequence[Setting]]
_CPU = "/sys/devices/system/cpu"


def present(facts: Facts, path: str) -> list[str]:
    """``path``, or every path that the pattern matches.

    NotHereError where there is none: an empty list would look as if it had been set."""
    if is_pattern(path):
        return _some(sorted(facts.matches(path), key=_by_number), f"not found: {path}")
    reading = facts.reading(path)
    if reading.text is None:
        raise NotHereError(f"{path}: {reading.reason}")
    return [path]


def _by_number(path: str) -> list[tuple[int, str]]:
    return [(int(n or -1), text) for text, n in re.findall(r"(\D+)(\d*)", path)]


def of_cpus(facts: Facts, pattern: str) -> list[str]:
    """Paths that ``pattern`` matches of the CPUs meant for real-time tasks; else NotHereError."""
    found = [each for each in present(facts, pattern) if cpu_of(each) in facts.rt_cpus]
    return _some(found, f"nothing of CPU {cpus_text(facts.rt_cpus)} is called {pattern}")


def _some(found: list[T], why: str) -> list[T]:
    """``found``; NotHereError, with ``why``, where that is nothing."""
    if not found:
        raise NotHereError(why)
    return found


def _number_beside(texts: Mapping[str, str | None], path: str, what: str) -> str:
    """The number in a file beside ``path``, a digit string."""
    text = (texts.get(path) or "").strip()
    if not text.isdigit():
        raise NotHereError(f"the {what} beside {path} cannot be read")
    return text


def _texts(facts: Facts, pattern: str) -> dict[str, str | None]:
    return {path: reading.text for path, reading in facts.matches(pattern).items()}


def make_clocksource(facts: Facts, value: str) -> list[Setting]:
    folder = "/sys/devices/system/clocksource/clocksource0"
    offered = facts.text(f"{folder}/available_clocksource").split()
    if value not in offered:
        raise NotHereError(f"{folder}/available_clocksource offers {', '.join(offered)} only")
    return [Setting(path, value) for path in present(facts, f"{folder}/current_clocksource")]


def make_fixed_frequency(facts: Facts, _value: str) -> list[Setting]:
    most = _texts(facts, f"{_CPU}/cpu[0-9]*/cpufreq/scaling_max_freq")
    return [
        Setting(path, _number_beside(most, path.replace("_min_", "_max_"), "highest frequency"))
        for path in present(facts, f"{_CPU}/cpu[0-9]*/cpufreq/scaling_min_freq")
    ]


def make_governor(facts: Facts, value: str) -> list[Setting]:
    available = f"{_CPU}/cpu[0-9]*/cpufreq/scaling_available_governors"
    for path, text in _texts(facts, available).items():
        offered = (text or value).split()
        if value not in offered:
            raise NotHereError(f"{path} offers {', '.join(offered)} only")
    paths = present(facts, f"{_CPU}/cpu[0-9]*/cpufreq/scaling_governor")
    if any(facts.get(path) == "userspace" for path in paths):
        raise NotHereError("the governor is userspace: its chosen frequency would be lost")
    return [Setting(path, value) for path in paths]


def make_idle_states(facts: Facts, value: str) -> list[Setting]:
    state = f"{_CPU}/cpu[0-9]*/cpuidle/state[0-9]*"
    exits = _texts(facts, f"{state}/latency")
    made = [
        Setting(path, "1")
        for path in of_cpus(facts, f"{state}/disable")
        if int(_number_beside(exits, path.replace("/disable", "/latency"), "exit latency"))
        > int(value)
    ]
    return _some(made, f"no sleep state takes longer than {value} us to leave")


def make_smt(facts: Facts, value: str) -> list[Setting]:
    if value == "off":
        control = f"{_CPU}/smt/control"
        state = facts.get(control)
        if state not in ("on", "off"):
            raise NotHereError(f"{control}: {state or facts.reading(control).reason}")
        return [Setting(control, "off")]
    online, rt = set(facts.cpu_list(ONLINE)), set(facts.rt_cpus)
    siblings = facts.texts(f"{_CPU}/cpu[0-9]*/topology/thread_siblings_list")
    cores = [set(parse_cpu_list(text)) for text in siblings.values()]
    beside = {cpu for core in cores if core & rt for cpu in core & online} - rt
    if not beside:
        raise NotHereError(
            "no other hardware thread shares a core with the CPUs for real-time tasks"
        )
    if 0 in beside:
        raise NotHereError("CPU 0 is a sibling and cannot go offline; choose others with --rt-cpus")
    return [Setting(f"{_CPU}/cpu{cpu}/online", "0") for cpu in sorted(beside)]


def make_turbo(facts: Facts, value: str) -> list[Setting]:
    intel, other = f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost"
    if facts.get(intel) is not None:
        return [Setting(intel, "1" if value == "off" else "0")]
    if facts.get(other) is not None:
        return [Setting(other, "0" if value == "off" else "1")]
    raise NotHereError(f"neither {intel} nor {other} is there")


_MANAGED = (
    "managed: the kernel places it and refuses any other place; isolcpus=managed_irq moves it"
)


def managed_interrupts(facts: Facts) -> dict[str, str]:
    """Files of irq-affinity that the kernel makes read-only, and why; reported, left alone."""
    numbers = managed_by_name(interrupts_of(facts.get(INTERRUPTS) or ""))
    if facts.get(MODES) is not None:
        numbers |= read_only(facts) or set()
    return {f"/proc/irq/{number}/smp_affinity_list": _MANAGED for number in numbers}


def make_irq_affinity(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    for path in present(facts, "/proc/irq/[0-9]*/smp_affinity_list"):
        try:
            now = set(parse_cpu_list(facts.text(path)))
        except (UnreadError, ValueError):
            continue  # of an interrupt that has gone meanwhile
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpus_text(now & left or left)))
    return _some(made, "no interrupt may go to the CPUs for real-time tasks")


def make_packet_steering(facts: Facts, _value: str) -> list[Setting]:
    left = set(housekeeping(facts))
    made = []
    receive, send = "/sys/class/net/*/queues/rx-*/rps_cpus", "/sys/class/net/*/queues/tx-*/xps_cpus"
    for path in [*present(facts, receive), *sorted(facts.matches(send))]:
        try:
            now = set(mask_cpus(facts.text(path)))
        except UnreadError:
            continue  # a device without queues of its own refuses to tell
        if now & set(facts.rt_cpus):
            made.append(Setting(path, cpu_mask(now & left or left), "mask"))
    return _some(made, "no queue of a network device steers to the CPUs for real-time tasks")


def make_machine_checks(facts: Facts, _value: str) -> list[Setting]:
    folder = "/sys/devices/system/machinecheck/machinecheck[0-9]*"
    intervals = [Setting(path, "0") for path in present(facts, f"{folder}/check_interval")]
    ignore = sorted(facts.matches(f"{folder}/ignore_ce"))
    return [*intervals, *(Setting(path, "1") for path in ignore)]


def make_console(facts: Facts, value: str) -> list[Setting]:
    (path,) = present(facts, "/proc/sys/kernel/printk")
    return [Setting(path, " ".join([value, *facts.text(path).split()[1:]]))]


def make_dirty_pages(facts: Facts, value: str) -> list[Setting]:
    vm = "/proc/sys/vm"
    # The kernel forgets the bytes when a ratio is written, so they could not be put back.
    if any(facts.get(f"{vm}/{n}_bytes") not in (None, "0") for n in ("dirty", "dirty_background")):
        raise NotHereError("the limits are set in bytes here; writing shares would lose them")
    (ratio,) = present(facts, f"{vm}/dirty_ratio")
    (background,) = present(facts, f"{vm}/dirty_background_ratio")
    return [Setting(background, str(max(1, int(value) // 3))), Setting(ratio, value)]


def make_huge_pages(facts: Facts, value: str) -> list[Setting]:
    folder = "/sys/kernel/mm/transparent_hugepage"
    (enabled,) = present(facts, f"{folder}/enabled")
    made = [
        Setting(enabled, value, "selected"),
        Setting(f"{folder}/defrag", value, "selected"),
        Setting(f"{folder}/khugepaged/defrag", "0"),
    ]
    return [each for each in made if facts.get(each.path) is not None]


def make_kfence(facts: Facts, _value: str) -> list[Setting]:
    (path,) = present(facts, "/sys/module/kfence/parameters/sample_interval")
    if facts.integer(path) != 0 and release(facts) < (5, 18):
        raise NotHereError(
            "before Linux 5.18 it cannot be turned on again: boot with kfence.sample_interval=0"
        )
    return [Setting(path, "0")]


def make_preemption(facts: Facts, value: str) -> list[Setting]:
    try:
        (path,) = present(facts, "/sys/kernel/debug/sched/preempt")
    except NotHereError as error:
        raise NotHereError(
            f"{error}; it takes PREEMPT_DYNAMIC, debugfs, and a kernel that is not locked down"
            " (boot-preempt otherwise)"
        ) from None
    offered = facts.text(path).replace("(", "").replace(")", "").split()
    if value not in offered:
        raise NotHereError(f"this kernel offers {', '.join(offered)}")
    return [Setting(path, value, "selected")]


def make_rt_bandwidth(facts: Facts, value: str) -> list[Setting]:
    period = facts.integer("/proc/sys/kernel/sched_rt_period_us")
    if int(value) > period:
        raise NotHereError(f"{value} us is more than the period, {period} us")
    return [Setting(path, value) for path in present(facts, "/proc/sys/kernel/sched_rt_runtime_us")]


# Not tracing_on, which only keeps events out of the buffer: they still happen, and cost nearly as
# much.
def make_tracing(facts: Facts, _value: str) -> list[Setting]:
    folder = "/sys/kernel/tracing"
    for name in ("set_event", "current_tracer"):
        present(facts, f"{folder}/{name}")
    made = [Setting(path, "") for path, text in _held(facts, folder, "set_event") if text]
    tracers = _held(facts, folder, "current_tracer")
    made += [Setting(path, "nop") for path, text in tracers if text != "nop"]
    return _some(made, "no event and no tracer is on")


def _held(facts: Facts, folder: str, name: str) -> Iterator[tuple[str, str]]:
    yield f"{folder}/{name}", facts.text(f"{folder}/{name}")
    instances = f"{folder}/instances/*/{name}"
    yield from facts.texts(instances).items() if facts.matches(instances) else ()


# Not kernel.watchdog, which is both at once: 1 written back to it turns on one that was off before.
def make_watchdogs(facts: Facts, _value: str) -> list[Setting]:
    paths = (f"/proc/sys/kernel/{name}" for name in ("soft_watchdog", "nmi_watchdog"))
    made = [Setting(path, "0") for path in paths if facts.get(path) not in (None, "0")]
    return _some(made, "no watchdog is on")


#: Name of a knob -> its function.
MAKES: dict[str, Make] = {
    name.removeprefix("make_").replace("_", "-"): value
    for name, value in list(globals().items())
    if name.startswith("make_")
}
