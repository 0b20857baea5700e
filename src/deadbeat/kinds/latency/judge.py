"""Is a run what it says it is? Pure: from what was asked, measured and seen to its problems.

``invalid`` where it did not measure what it claims (another priority, a load that never ran);
``warning`` is a label: something else happened, and the run counts (`deadbeat.model.validity`).
Names are stable: docs/reference/latency.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from deadbeat.host.judgements import slow_clock, stolen, throttled
from deadbeat.kinds.latency.engine import Request
from deadbeat.model.finding import Finding, ordered
from deadbeat.model.latency import CpuLatency
from deadbeat.model.validity import (
    cycle_problems,
    load_problems,
    problem,
    shares_text,
)

#: Relative range of a CPU's frequency that still is one frequency.
FREQUENCY_RANGE = 0.05
#: Period of the RT bandwidth, the fair server and many timers: a shorter run may see none of them.
RARE_EVENTS_S = 1.0
#: A reading of the clock that costs more says that it is not read in user space.
CLOCK_COST_PS = 1_000_000
#: Kernel threads that every machine has above all others, and our own guard, which sleeps.
_ORDINARY = ("migration/", "watchdog", "stop/", "cpuhp/", "idle_inject/", "program-")
_TOLD = 3


@frozen(kw_only=True)
class RunEvidence:
    """All that is known of a run when it has ended.

    Attributes:
        request: What was asked.
        cpus: What was measured.
        load: `LatencyRun.load`.
        circumstances: `LatencyRun.circumstances`.
    """

    request: Request
    cpus: tuple[CpuLatency, ...]
    load: Mapping[str, Any]
    circumstances: Mapping[str, Any]


def judge(evidence: RunEvidence) -> tuple[Finding, ...]:
    """Every problem of a run, the invalidating ones first."""
    found = [
        *load_problems(
            evidence.load, evidence.circumstances, evidence.cpus, evidence.request.seconds
        ),
        *_host(evidence),
        *_frequency(evidence),
        *_thread(evidence),
        *_cycles(evidence),
        *_clock(evidence),
        *_others(evidence),
    ]
    return tuple(ordered(found))


def _host(evidence: RunEvidence) -> Iterator[Finding]:
    much = stolen(evidence.circumstances.get("steal_share") or {})
    if much:
        yield problem("steal", f"the host gave the time to others: {shares_text(much)} stolen")
    for line in evidence.circumstances.get("stalls") or ():
        if "RT throttling activated" in line:
            text = f"real-time tasks were kept from their CPU: {line.strip()}"
            yield problem("rt-throttled", text)
        else:
            yield problem("stall", f"the kernel's log: {line.strip()}")


def _frequency(evidence: RunEvidence) -> Iterator[Finding]:
    slowed = throttled(evidence.circumstances.get("throttled") or {})
    if slowed:
        counts = ", ".join(f"CPU {cpu} {count} times" for cpu, count in slowed.items())
        text = f"throttled for heat or power: {counts}"
        yield problem("throttled", text)
    yield from _heat(evidence)
    for cpu, values in (evidence.circumstances.get("frequency_khz") or {}).items():
        if values and max(values) > min(values) * (1 + FREQUENCY_RANGE):
            text = (
                f"CPU {cpu} ran at {min(values) / 1000:.0f} to {max(values) / 1000:.0f} MHz, seen"
                f" at {len(values)} moments"
            )
            yield problem("frequency-moved", text)


def _heat(evidence: RunEvidence) -> Iterator[Finding]:
    """Slowed down by the kernel's own cooling, as machines without x86's counters are."""
    seen = evidence.circumstances
    limits = seen.get("limit_khz") or {}
    fell = {cpu: values for cpu, values in limits.items() if values and min(values) < values[0]}
    if fell:
        said = [f"CPU {c} {v[0] / 1000:.0f} to {min(v) / 1000:.0f} MHz" for c, v in fell.items()]
        text = f"the highest frequency was lowered meanwhile: {', '.join(said[:_TOLD])}"
        yield problem("throttled", text)
    cooling = {
        name: max(v) for name, v in (seen.get("cooling") or {}).items() if max(v, default=0) > 0
    }
    if cooling and not fell:
        said = [f"{name} at state {state}" for name, state in cooling.items()]
        text = f"the kernel slows processors down for heat: {', '.join(said[:_TOLD])}"
        yield problem("throttled", text)
    for zone, trip in (seen.get("trip_mc") or {}).items():
        values = (seen.get("temperature_mc") or {}).get(zone) or ()
        if values and max(values) >= trip:
            text = (
                f"{zone} reached {max(values) / 1000:.1f} degrees Celsius: from"
                f" {trip / 1000:.1f} on the kernel slows processors down"
            )
            yield problem("hot", text)


def _thread(evidence: RunEvidence) -> Iterator[Finding]:
    request = evidence.request
    for cpu in evidence.cpus:
        if cpu.policy and cpu.policy != request.policy:
            text = f"CPU {cpu.cpu}: asked for policy {request.policy}, had {cpu.policy}"
            yield problem("wrong-policy", text, "invalid")
        if cpu.priority is not None and cpu.priority != request.priority:
            text = f"CPU {cpu.cpu}: asked for priority {request.priority}, had {cpu.priority}"
            yield problem("wrong-priority", text, "invalid")
        if not cpu.policy or cpu.priority is None or cpu.placed is None:
            text = f"CPU {cpu.cpu}: policy, priority and place of its thread could not be read back"
            yield problem("thread-unverified", text)
        if cpu.placed is not None and cpu.placed != cpu.cpu:
            where = f"CPU {cpu.placed}" if cpu.placed >= 0 else "several CPUs"
            yield problem("wrong-cpu", f"asked for CPU {cpu.cpu}, ran on {where}", "invalid")


def _cycles(evidence: RunEvidence) -> Iterator[Finding]:
    missing = sorted(set(evidence.request.cpus) - {cpu.cpu for cpu in evidence.cpus})
    if missing:
        text = f"no figures of CPU {', '.join(map(str, missing))}"
        yield problem("cpu-missing", text, "invalid")
    yield from cycle_problems(evidence.cpus)
    for cpu in evidence.cpus:
        if cpu.missed:
            share = cpu.missed / max(cpu.expected, 1)
            periods = f"{cpu.missed} of {cpu.expected} periods"
            text = f"CPU {cpu.cpu}: {periods} were missed ({100 * share:.2f} %)"
            yield problem("missed-periods", text)
        if cpu.raw.overflow:
            text = f"CPU {cpu.cpu}: {cpu.raw.overflow} latencies lie above its histogram"
            yield problem("overflow", text)
    if evidence.request.seconds < RARE_EVENTS_S:
        text = f"{evidence.request.seconds:g} s are shorter than the period of rare events (1 s)"
        yield problem("short", text)


def _clock(evidence: RunEvidence) -> Iterator[Finding]:
    clocks = [name for name in evidence.circumstances.get("clocksource") or () if name]
    if len(set(clocks)) > 1:
        text = f"the clock source changed from {clocks[0]} to {clocks[-1]}"
        yield problem("clock-changed", text, "invalid")
    elif clocks and slow_clock(clocks[0]):
        yield problem("slow-clock", f"the clock source is {clocks[0]}: slow and coarse to read")
    for cpu in evidence.cpus:
        if cpu.clock_cost_ps is not None and cpu.clock_cost_ps > CLOCK_COST_PS:
            cost = cpu.clock_cost_ps / 1e6
            yield problem("slow-clock", f"CPU {cpu.cpu}: reading the clock takes {cost:.2f} us")
        median = cpu.raw.quantile(500_000)
        if median is not None and cpu.raw.resolution_ns > 1 and median < 2 * cpu.raw.resolution_ns:
            text = f"CPU {cpu.cpu}: half of all are below two steps of {cpu.raw.resolution_ns} ns"
            yield problem("coarse-clock", text)


def _others(evidence: RunEvidence) -> Iterator[Finding]:
    request = evidence.request
    tasks = [
        task
        for task in evidence.circumstances.get("realtime_tasks") or ()
        if request.policy == "fifo"
        and (task["policy"] == "deadline" or task["priority"] >= request.priority)
        and not task["name"].startswith(_ORDINARY)
    ]
    if tasks:
        first = [f"{task['name']} ({task['policy']} {task['priority']})" for task in tasks[:_TOLD]]
        named = ", ".join(first)
        text = f"{len(tasks)} others may preempt at priority {request.priority}: {named}"
        yield problem("other-realtime-task", text)
    held = evidence.circumstances.get("dma_latency_us")
    if request.dma_latency == "system" and held is not None and held < 1_000_000:
        text = f"/dev/cpu_dma_latency is held at {held} us by somebody: not as the system leaves it"
        yield problem("dma-latency-held", text)
