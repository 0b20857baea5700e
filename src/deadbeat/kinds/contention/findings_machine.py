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
from deadbeat.model.finding import Finding, finding
from deadbeat.model.words import Json
from deadbeat.store.campaign import SessionRecord


@machine("environment-not-recorded")
def _environment_recorded(evidence: CampaignEvidence) -> Iterator[str]:
    if not evidence.sessions:
        yield "the state of the machine was not recorded"


@machine("session-not-closed")
def _closed(evidence: CampaignEvidence) -> Iterator[str]:
    for record in evidence.sessions:
        if record.after is None:
            yield (
                f"session {record.number} ended without its closing record (killed?):"
                " steal and throttling during it are unknown"
            )


@machine("environment-unknown")
def _unknown_facts(evidence: CampaignEvidence) -> Iterator[str]:
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
        yield f"could not be read: {', '.join(missing)}"


def _told(key: str, value: Json) -> bool:
    if key == "throttle_counts":
        return not isinstance(recorded({key: value}).throttled, Unknown)
    return value is not None and not is_unknown(value)


@machine("steal")
def _steal(evidence: CampaignEvidence) -> Iterator[str]:
    found = {
        (share, -record.number): f"CPU {cpu} in session {record.number}"
        for record in evidence.sessions
        for cpu, share in stolen(_change(record).stolen).items()
    }
    if found:
        worst = max(found)
        yield (
            f"the hypervisor took {100 * worst[0]:.1f} % of the time of {found[worst]},"
            " from jobs together and alone"
        )


def _change(record: SessionRecord) -> Difference:
    return diff(recorded(record.before or {}), recorded(record.after or {}))


@machine("throttled")
def _throttling(evidence: CampaignEvidence) -> Iterator[str]:
    for record in evidence.sessions:
        if events := sum(throttled(_change(record).throttled).values()):
            yield f"the processor throttled {events} times in session {record.number}"


@machine("rt-bandwidth")
def _rt_bandwidth(evidence: CampaignEvidence) -> Iterator[str]:
    runtime, period = evidence.last.get("rt_runtime_us"), evidence.last.get("rt_period_us")
    if rt_kept(runtime, period, release_of(str(evidence.last.get("kernel"))), None) is not None:
        every = f"every {period / 1000:g} ms" if type(period) is int else "each period"
        after = f"{runtime / 1000:g} ms" if type(runtime) is int else f"{runtime} µs"
        yield f"RT throttling is on: real-time tasks are stopped after {after} of {every}"


@machine()
def _housekeeping(evidence: CampaignEvidence) -> Iterator[Finding]:
    online = evidence.last.get("cpus_online")
    count = len(online) if isinstance(online, list | tuple) else online
    cores = evidence.most_cores
    if type(count) is int and 0 < count <= cores:
        yield finding(
            "no-housekeeping-core",
            f"M = {cores} uses all {count} online CPUs: interrupts and kernel threads"
            " share them with the tasks",
            cure=f"measure at most M = {count - 1} here, or read M = {cores} with this in mind",
        )


@machine("governor")
def _governor(evidence: CampaignEvidence) -> Iterator[str]:
    value = evidence.last.get("governor")
    if slow := slow_governors(value.values() if isinstance(value, Mapping) else [value]):
        yield f"the frequency governor is {', '.join(slow)}, not performance"


@machine("virtual-machine")
def _virtual_machine(evidence: CampaignEvidence) -> Iterator[str]:
    if evidence.last.get("virtual") is True or _names_hypervisor(evidence.last.get("virtual")):
        yield "this is a virtual machine: its host decides when its CPUs run"


def _names_hypervisor(value: object) -> bool:
    return isinstance(value, str) and not is_unknown(value) and not value.startswith("none")


@machine("kernel-changed")
def _kernel_changed(evidence: CampaignEvidence) -> Iterator[str]:
    kernels = {
        str(environment["kernel"])
        for record in evidence.sessions
        for environment in (record.before, record.after)
        if environment and _told("kernel", environment.get("kernel"))
    }
    if len(kernels) > 1:
        yield f"the kernel changed during the campaign: {'; '.join(sorted(kernels))}"


@machine("clocksource")
def _clock_source(evidence: CampaignEvidence) -> Iterator[str]:
    clock = evidence.last.get("clocksource")
    if slow_clock(clock):
        yield f"the clock source is {clock}: reading it may take a system call or a device"
