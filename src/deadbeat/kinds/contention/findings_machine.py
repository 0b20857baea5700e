"""What makes the machine of a campaign doubtful.

Environment keys are read as other sessions, machines and versions may have written them: what is
missing or marked unknown is reported as not known, never taken as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deadbeat.kinds.contention.evidence import Evidence
from deadbeat.kinds.contention.finding_checks import machine
from deadbeat.model.finding import Finding

#: Stolen share of a CPU's time from which on it is worth a word.
STEAL_SHARE = 0.01
#: Clock sources that are read without leaving user space.
QUICK_CLOCKS = {
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "kvm-clock",
    "riscv_clocksource",
    "tsc",
}


def is_known(value: Any) -> bool:
    """Whether an environment value is there and was not recorded as ``unknown: REASON``."""
    return value is not None and not (isinstance(value, str) and value.startswith("unknown"))


def by_cpu(value: Any) -> dict[str, int]:
    """Whole numbers by CPU of a dict or a list, without those that are not known."""
    pairs = enumerate(value) if isinstance(value, list | tuple) else ()
    items = value.items() if isinstance(value, Mapping) else pairs
    return {str(cpu): number for cpu, number in items if type(number) is int}


@machine
def _environment_recorded(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.sessions:
        yield Finding(
            id="environment-not-recorded",
            severity="warning",
            message="the state of the machine was not recorded",
            cure="measure with `deadbeat profile`, which records it before and after",
        )
    for record in evidence.sessions:
        if record.after is None:
            yield Finding(
                id="session-not-closed",
                severity="info",
                message=f"session {record.number} ended without its closing record (killed?):"
                " steal and throttling in it are not known",
                cure="resume the campaign; it closes its own session",
            )


@machine
def _unknown_facts(evidence: Evidence) -> Iterator[Finding]:
    names = {
        "steal_ticks": "steal",
        "throttle_counts": "throttling",
        "rt_runtime_us": "RT bandwidth",
        "governor": "governor",
        "clocksource": "clock source",
        "virtual": "whether it is a virtual machine",
        "preemption": "preemption model",
        "cpus_online": "online CPUs",
    }
    missing = [text for key, text in names.items() if not _told(key, evidence.last.get(key))]
    if evidence.sessions and missing:
        yield Finding(
            id="environment-unknown",
            severity="info",
            message=f"the machine does not tell: {', '.join(missing)}",
            cure="run as root, or see what the environment record says about each",
        )


def _told(key: str, value: Any) -> bool:
    if key == "throttle_counts":
        return bool(_throttle_counts(value))
    return is_known(value)


@machine
def _steal(evidence: Evidence) -> Iterator[Finding]:
    worst, where = 0.0, ""
    for record in evidence.sessions:
        before, after = record.before or {}, record.after or {}
        stolen = _increase(before, after, "steal_ticks")
        passed = _increase(before, after, "total_ticks")
        for cpu, ticks in stolen.items():
            share = ticks / passed[cpu] if passed.get(cpu) else 0.0
            if share > worst:
                worst, where = share, f"CPU {cpu} in session {record.number}"
    if worst > STEAL_SHARE:
        yield Finding(
            id="steal",
            severity="info",
            message=f"the hypervisor took {100 * worst:.1f} % of the time of {where}; it met jobs"
            " together and alone alike",
            cure="use a machine of its own, or dedicated virtual CPUs",
        )


def _increase(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> dict[str, int]:
    first, last = by_cpu(before.get(key)), by_cpu(after.get(key))
    return {cpu: last[cpu] - first[cpu] for cpu in first if cpu in last}


@machine
def _throttling(evidence: Evidence) -> Iterator[Finding]:
    for record in evidence.sessions:
        before = _throttle_counts((record.before or {}).get("throttle_counts"))
        after = _throttle_counts((record.after or {}).get("throttle_counts"))
        grown = {where: after[where] - before[where] for where in before if where in after}
        events = sum(count for count in grown.values() if count > 0)
        if events:
            yield Finding(
                id="throttled",
                severity="serious",
                message=f"the processor throttled {events} times in session {record.number}",
                cure="improve cooling, or fix a lower frequency, and calibrate again",
            )


def _throttle_counts(value: Any) -> dict[str, int]:
    """Counts by ``cpu`` or ``cpu part``, whatever nesting they were recorded with."""
    found = by_cpu(value)
    if isinstance(value, Mapping):
        for cpu, parts in value.items():
            found |= {f"{cpu} {part}": count for part, count in by_cpu(parts).items()}
    return found


@machine
def _rt_bandwidth(evidence: Evidence) -> Iterator[Finding]:
    runtime, period = evidence.last.get("rt_runtime_us"), evidence.last.get("rt_period_us")
    if type(runtime) is int and runtime != -1:
        of = f" of {period}" if type(period) is int else ""
        yield Finding(
            id="rt-bandwidth",
            severity="warning",
            message=f"real-time tasks may run {runtime}{of} us only: the kernel may stop them",
            cure="sysctl kernel.sched_rt_runtime_us=-1 while measuring",
        )


@machine
def _housekeeping(evidence: Evidence) -> Iterator[Finding]:
    online = evidence.last.get("cpus_online")
    count = len(online) if isinstance(online, list | tuple) else online
    cores = evidence.most_cores
    if type(count) is int and 0 < count <= cores:
        yield Finding(
            id="no-housekeeping-core",
            severity="warning",
            message=f"M = {cores} uses all {count} online CPUs: interrupts and kernel threads"
            " share them with the tasks",
            cure=f"measure at most M = {count - 1} here, or read M = {cores} with this in mind",
        )


@machine
def _governor(evidence: Evidence) -> Iterator[Finding]:
    value = evidence.last.get("governor")
    names = set(value.values()) if isinstance(value, Mapping) else {value}
    slow = sorted(
        str(name)
        for name in names
        if is_known(name) and name != "performance" and not str(name).startswith("none")
    )
    if slow:
        yield Finding(
            id="governor",
            severity="warning",
            message=f"the frequency governor is {', '.join(slow)}, not performance",
            cure="cpupower frequency-set -g performance, then calibrate again",
        )


@machine
def _virtual_machine(evidence: Evidence) -> Iterator[Finding]:
    if evidence.last.get("virtual") is True or _names_hypervisor(evidence.last.get("virtual")):
        yield Finding(
            id="virtual-machine",
            severity="warning",
            message="this is a virtual machine: its host decides when its CPUs run",
            cure="confirm what matters on hardware",
        )


def _names_hypervisor(value: Any) -> bool:
    return isinstance(value, str) and is_known(value) and not value.startswith("none")


@machine
def _kernel_changed(evidence: Evidence) -> Iterator[Finding]:
    kernels = {
        str(environment["kernel"])
        for record in evidence.sessions
        for environment in (record.before, record.after)
        if environment and is_known(environment.get("kernel"))
    }
    if len(kernels) > 1:
        yield Finding(
            id="kernel-changed",
            severity="serious",
            message=f"the kernel changed within the campaign: {'; '.join(sorted(kernels))}",
            cure="measure each kernel in a campaign of its own and compare the two",
        )


@machine
def _clock_source(evidence: Evidence) -> Iterator[Finding]:
    clock = evidence.last.get("clocksource")
    if isinstance(clock, str) and is_known(clock) and clock not in QUICK_CLOCKS:
        yield Finding(
            id="clocksource",
            severity="warning",
            message=f"the clock source is {clock}: reading it may take a system call or a device",
            cure="boot with clocksource=tsc (x86) or see why the kernel gave it up (dmesg)",
        )
