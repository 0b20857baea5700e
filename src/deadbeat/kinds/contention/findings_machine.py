"""What makes the machine of a campaign doubtful.

Environment keys are read as other sessions, machines and versions may have written them: what is
missing or marked unknown is reported as not known, never taken as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deadbeat.host.judgements import rt_kept, slow_clock, slow_governors, stolen, throttled
from deadbeat.host.kernel import release_of
from deadbeat.host.snapshot import Difference, diff, recorded
from deadbeat.host.values import Unknown, is_unknown
from deadbeat.kinds.contention.evidence import CampaignEvidence, machine
from deadbeat.model.finding import Finding
from deadbeat.store.campaign import SessionRecord


@machine
def _environment_recorded(evidence: CampaignEvidence) -> Iterator[Finding]:
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
                " steal and throttling during it are unknown",
                cure="repeat the command: it continues and records again",
            )


@machine
def _unknown_facts(evidence: CampaignEvidence) -> Iterator[Finding]:
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
            message=f"could not be read: {', '.join(missing)}",
            cure="sessions/NNN-before.json says why each is missing; some only root can read",
        )


def _told(key: str, value: object) -> bool:
    if key == "throttle_counts":
        return not isinstance(recorded({key: value}).throttled, Unknown)
    return value is not None and not is_unknown(value)


@machine
def _steal(evidence: CampaignEvidence) -> Iterator[Finding]:
    found = {
        (share, -record.number): f"CPU {cpu} in session {record.number}"
        for record in evidence.sessions
        for cpu, share in stolen(_change(record).stolen).items()
    }
    if found:
        worst = max(found)
        yield Finding(
            id="steal",
            severity="info",
            message=f"the hypervisor took {100 * worst[0]:.1f} % of the time of {found[worst]},"
            " from jobs together and alone",
            cure="use dedicated hardware, or dedicated virtual CPUs",
        )


def _change(record: SessionRecord) -> Difference:
    return diff(recorded(record.before or {}), recorded(record.after or {}))


@machine
def _throttling(evidence: CampaignEvidence) -> Iterator[Finding]:
    for record in evidence.sessions:
        events = sum(throttled(_change(record).throttled).values())
        if events:
            yield Finding(
                id="throttled",
                severity="serious",
                message=f"the processor throttled {events} times in session {record.number}",
                cure="improve cooling, or fix a lower frequency, and calibrate again",
            )


@machine
def _rt_bandwidth(evidence: CampaignEvidence) -> Iterator[Finding]:
    runtime, period = evidence.last.get("rt_runtime_us"), evidence.last.get("rt_period_us")
    if rt_kept(runtime, period, release_of(str(evidence.last.get("kernel"))), None) is not None:
        every = f"every {period / 1000:g} ms" if type(period) is int else "each period"
        after = f"{runtime / 1000:g} ms" if type(runtime) is int else f"{runtime} µs"
        yield Finding(
            id="rt-bandwidth",
            severity="warning",
            message=f"RT throttling is on: real-time tasks are stopped after {after} of {every}",
            cure="sysctl kernel.sched_rt_runtime_us=-1 while measuring",
        )


@machine
def _housekeeping(evidence: CampaignEvidence) -> Iterator[Finding]:
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
def _governor(evidence: CampaignEvidence) -> Iterator[Finding]:
    value = evidence.last.get("governor")
    slow = slow_governors(value.values() if isinstance(value, Mapping) else [value])
    if slow:
        yield Finding(
            id="governor",
            severity="warning",
            message=f"the frequency governor is {', '.join(slow)}, not performance",
            cure="cpupower frequency-set -g performance, then calibrate again",
        )


@machine
def _virtual_machine(evidence: CampaignEvidence) -> Iterator[Finding]:
    if evidence.last.get("virtual") is True or _names_hypervisor(evidence.last.get("virtual")):
        yield Finding(
            id="virtual-machine",
            severity="warning",
            message="this is a virtual machine: its host decides when its CPUs run",
            cure="confirm what matters on hardware",
        )


def _names_hypervisor(value: object) -> bool:
    return isinstance(value, str) and not is_unknown(value) and not value.startswith("none")


@machine
def _kernel_changed(evidence: CampaignEvidence) -> Iterator[Finding]:
    kernels = {
        str(environment["kernel"])
        for record in evidence.sessions
        for environment in (record.before, record.after)
        if environment and _told("kernel", environment.get("kernel"))
    }
    if len(kernels) > 1:
        yield Finding(
            id="kernel-changed",
            severity="serious",
            message=f"the kernel changed during the campaign: {'; '.join(sorted(kernels))}",
            cure="measure each kernel in its own campaign and compare the two",
        )


@machine
def _clock_source(evidence: CampaignEvidence) -> Iterator[Finding]:
    clock = evidence.last.get("clocksource")
    if slow_clock(clock):
        yield Finding(
            id="clocksource",
            severity="warning",
            message=f"the clock source is {clock}: reading it may take a system call or a device",
            cure="boot with clocksource=tsc (x86), or find out why the kernel gave it up (dmesg)",
        )
