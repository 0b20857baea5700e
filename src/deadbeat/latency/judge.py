"""Is a run what it says it is? Pure: from what was asked, measured and seen to its problems.

``invalid`` where a figure of it would mislead (another priority, less load, a throttled CPU);
``warning`` where it says what it says, but not all. Names are stable: docs/reference/latency.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from deadbeat.latency.engine import Request
from deadbeat.model.latency import CpuLatency, Problem, Seriousness

#: Share of a CPU's time by which a load may miss what was asked, and by which something else may
#: run beside it: more of that is doubtful, much more is another load than the run is named after.
LOAD_TOLERANCE, LOAD_OTHER = 0.1, 0.25
#: Likewise, as a share of what was asked, and the step in which CPU time is counted, s.
LOAD_SHARE, TICK_S = 0.2, 0.01
#: CPU time an engine takes beside its measuring, s: cyclictest formats a line for every bucket.
ENGINE_S = 0.2
#: Share of time the host took: doubtful, and too much.
STEAL_WARNING, STEAL_INVALID = 0.005, 0.05
#: Relative range of a CPU's frequency that still is one frequency.
FREQUENCY_RANGE = 0.05
#: Share of the expected wake-ups that must have been seen, or counted as missed: else doubtful, and
#: too few.
SEEN_WARNING, SEEN_INVALID = 0.98, 0.9
#: Share of missed periods that leaves too little to call it a distribution.
MISSED_INVALID = 0.5
#: Period of the RT bandwidth, the fair server and many timers: a shorter run may see none of them.
RARE_EVENTS_S = 1.0
#: A reading of the clock that costs more says that it is not read in user space.
CLOCK_COST_PS = 1_000_000
_GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "riscv_clocksource", "hyperv_clocksource")
#: Kernel threads that every machine has above all others, and our own guard, which sleeps.
_ORDINARY = ("migration/", "watchdog", "stop/", "cpuhp/", "idle_inject/", "program-")
_TOLD = 3


@frozen(kw_only=True)
class Evidence:
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


def judge(evidence: Evidence) -> tuple[Problem, ...]:
    """Every problem of a run, the invalidating ones first."""
    found = [
        *_load(evidence),
        *_workers(evidence),
        *_host(evidence),
        *_frequency(evidence),
        *_thread(evidence),
        *_cycles(evidence),
        *_clock(evidence),
        *_others(evidence),
    ]
    return tuple(sorted(found, key=lambda problem: problem.seriousness != "invalid"))


def _problem(name: str, text: str, seriousness: Seriousness = "warning") -> Problem:
    return Problem(name=name, seriousness=seriousness, text=text)


def _load(evidence: Evidence) -> Iterator[Problem]:
    load = evidence.load
    if load.get("died"):
        yield _problem("load-died", f"the load ended before its time: {load['died']}", "invalid")
    achieved = load.get("achieved") or {}
    asked = load.get("asked", 0) / 100
    if not achieved:
        if load.get("judged"):
            yield _problem("load-unknown", "how busy the CPUs were could not be read")
        return
    most = asked + LOAD_TOLERANCE + ENGINE_S / evidence.request.seconds
    high = {cpu: share for cpu, share in achieved.items() if share > most}
    least = _least_share(asked, evidence.request.seconds)
    low = {cpu: share for cpu, share in achieved.items() if share < least}
    if low and load.get("judged"):
        text = f"asked for {100 * asked:.0f} % of each CPU, {_shares(low)} were busy"
        yield _problem("load-not-reached", text, "invalid")
    own = evidence.circumstances.get("load_share")
    wants = load.get("computes") or (load.get("judged") and not low)
    if wants and own is not None and own < least:
        had = f"the load itself had {100 * own:.1f} % of all"
        text = f"asked for {100 * asked:.0f} % of each CPU, {had}"
        yield _problem("load-starved", text, "invalid")
    if high and load.get("judged"):
        text = f"asked for {100 * asked:.0f} % of each CPU, {_shares(high)} were busy: other work"
        name = "load-exceeded" if asked else "not-idle"
        much = max(high.values()) > most + LOAD_OTHER - LOAD_TOLERANCE
        yield _problem(name, text, "invalid" if much else "warning")


def _least_share(asked: float, seconds: float) -> float:
    """What a load must have of a CPU, of which ``asked`` was: 10 points less, or a fifth less."""
    return asked - min(LOAD_TOLERANCE, LOAD_SHARE * asked + TICK_S / seconds)


def _workers(evidence: Evidence) -> Iterator[Problem]:
    """Every worker of a load works, and together they do what makes it that load."""
    load = evidence.load
    workers = load.get("workers", {})
    if workers is None:
        yield _problem("load-unknown", "what the load's own processes did could not be read")
        return
    idle = [
        f"{working} of {asked} {kind}"
        for kind, (asked, _, working) in workers.items()
        if working < asked
    ]
    if idle:
        # One that others keep from its CPU for a short run is not yet another load.
        gone = any(there < asked or not working for asked, there, working in workers.values())
        text = f"not all workers of the load ran: {', '.join(idle)}"
        yield _problem("load-not-reached", text, "invalid" if gone else "warning")
    rates = load.get("throughput") or {}
    for name, least in (load.get("least") or {}).items():
        if name in rates and rates[name] < least:
            text = (
                f"the load did next to nothing: {name} {rates[name]:g}, at least {least:g} is one"
            )
            hint = "; files in memory load no disk: set TMPDIR" if "written" in name else ""
            yield _problem("load-not-reached", text + hint, "invalid")


def _shares(by_cpu: Mapping[str, float]) -> str:
    return ", ".join(
        f"CPU {cpu} {100 * share:.1f} %" for cpu, share in list(by_cpu.items())[:_TOLD]
    )


def _host(evidence: Evidence) -> Iterator[Problem]:
    steal = evidence.circumstances.get("steal_share") or {}
    much = {cpu: share for cpu, share in steal.items() if share > STEAL_WARNING}
    if much:
        worst = max(much.values())
        text = f"the host gave the time to others: {_shares(much)} stolen"
        yield _problem("steal", text, "invalid" if worst > STEAL_INVALID else "warning")
    for line in evidence.circumstances.get("stalls") or ():
        if "RT throttling activated" in line:
            text = f"real-time tasks were kept from their CPU: {line.strip()}"
            yield _problem("rt-throttled", text, "invalid")
        else:
            yield _problem("stall", f"the kernel's log: {line.strip()}")


def _frequency(evidence: Evidence) -> Iterator[Problem]:
    throttled = {
        cpu: count
        for cpu, count in (evidence.circumstances.get("throttled") or {}).items()
        if count
    }
    if throttled:
        counts = ", ".join(f"CPU {cpu} {count} times" for cpu, count in throttled.items())
        text = f"throttled for heat or power: {counts}"
        yield _problem("throttled", text, _where(throttled, evidence.request))
    yield from _heat(evidence)
    for cpu, values in (evidence.circumstances.get("frequency_khz") or {}).items():
        if values and max(values) > min(values) * (1 + FREQUENCY_RANGE):
            text = (
                f"CPU {cpu} ran at {min(values) / 1000:.0f} to {max(values) / 1000:.0f} MHz, seen"
                f" at {len(values)} moments"
            )
            yield _problem("frequency-moved", text)


def _where(cpus: Iterable[str], request: Request) -> Seriousness:
    """What happened to ``cpus`` makes a run invalid only where one of them was measured."""
    return "invalid" if {*cpus} & {*map(str, request.cpus)} else "warning"


def _heat(evidence: Evidence) -> Iterator[Problem]:
    """Slowed down by the kernel's own cooling, as machines without x86's counters are."""
    seen = evidence.circumstances
    limits = seen.get("limit_khz") or {}
    fell = {cpu: values for cpu, values in limits.items() if values and min(values) < values[0]}
    if fell:
        said = [f"CPU {c} {v[0] / 1000:.0f} to {min(v) / 1000:.0f} MHz" for c, v in fell.items()]
        text = f"the highest frequency was lowered meanwhile: {', '.join(said[:_TOLD])}"
        yield _problem("throttled", text, _where(fell, evidence.request))
    cooling = {
        name: max(v) for name, v in (seen.get("cooling") or {}).items() if max(v, default=0) > 0
    }
    if cooling and not fell:
        said = [f"{name} at state {state}" for name, state in cooling.items()]
        text = f"the kernel slows processors down for heat: {', '.join(said[:_TOLD])}"
        yield _problem("throttled", text, "invalid")
    for zone, trip in (seen.get("trip_mc") or {}).items():
        values = (seen.get("temperature_mc") or {}).get(zone) or ()
        if values and max(values) >= trip:
            text = (
                f"{zone} reached {max(values) / 1000:.1f} degrees Celsius: from"
                f" {trip / 1000:.1f} on the kernel slows processors down"
            )
            yield _problem("hot", text)


def _thread(evidence: Evidence) -> Iterator[Problem]:
    request = evidence.request
    for cpu in evidence.cpus:
        if cpu.policy and cpu.policy != request.policy:
            text = f"CPU {cpu.cpu}: asked for policy {request.policy}, had {cpu.policy}"
            yield _problem("wrong-policy", text, "invalid")
        if cpu.priority is not None and cpu.priority != request.priority:
            text = f"CPU {cpu.cpu}: asked for priority {request.priority}, had {cpu.priority}"
            yield _problem("wrong-priority", text, "invalid")
        if not cpu.policy or cpu.priority is None or cpu.placed is None:
            text = f"CPU {cpu.cpu}: policy, priority and place of its thread could not be read back"
            yield _problem("thread-unverified", text)
        if cpu.placed is not None and cpu.placed != cpu.cpu:
            where = f"CPU {cpu.placed}" if cpu.placed >= 0 else "several CPUs"
            yield _problem("wrong-cpu", f"asked for CPU {cpu.cpu}, ran on {where}", "invalid")


def _cycles(evidence: Evidence) -> Iterator[Problem]:
    missing = sorted(set(evidence.request.cpus) - {cpu.cpu for cpu in evidence.cpus})
    if missing:
        text = f"no figures of CPU {', '.join(map(str, missing))}"
        yield _problem("cpu-missing", text, "invalid")
    for cpu in evidence.cpus:
        seen = cpu.cycles + cpu.missed
        if seen < cpu.expected * SEEN_WARNING:
            few = seen < cpu.expected * SEEN_INVALID
            text = f"CPU {cpu.cpu}: {seen} of {cpu.expected} wake-ups were seen or missed"
            yield _problem("too-few-cycles", text, "invalid" if few else "warning")
        if cpu.missed:
            share = cpu.missed / max(cpu.expected, 1)
            periods = f"{cpu.missed} of {cpu.expected} periods"
            text = f"CPU {cpu.cpu}: {periods} were missed ({100 * share:.2f} %)"
            serious: Seriousness = "invalid" if share > MISSED_INVALID else "warning"
            yield _problem("missed-periods", text, serious)
        if cpu.raw.overflow:
            text = f"CPU {cpu.cpu}: {cpu.raw.overflow} latencies lie above its histogram"
            yield _problem("overflow", text)
    if evidence.request.seconds < RARE_EVENTS_S:
        text = f"{evidence.request.seconds:g} s are shorter than the period of rare events (1 s)"
        yield _problem("short", text)


def _clock(evidence: Evidence) -> Iterator[Problem]:
    clocks = [name for name in evidence.circumstances.get("clocksource") or () if name]
    if len(set(clocks)) > 1:
        text = f"the clock source changed from {clocks[0]} to {clocks[-1]}"
        yield _problem("clock-changed", text, "invalid")
    elif clocks and not clocks[0].startswith(_GOOD_CLOCKS):
        yield _problem("slow-clock", f"the clock source is {clocks[0]}: slow and coarse to read")
    for cpu in evidence.cpus:
        if cpu.clock_cost_ps is not None and cpu.clock_cost_ps > CLOCK_COST_PS:
            cost = cpu.clock_cost_ps / 1e6
            yield _problem("slow-clock", f"CPU {cpu.cpu}: reading the clock takes {cost:.2f} us")
        median = cpu.raw.quantile(500_000)
        if median is not None and cpu.raw.resolution_ns > 1 and median < 2 * cpu.raw.resolution_ns:
            text = f"CPU {cpu.cpu}: half of all are below two steps of {cpu.raw.resolution_ns} ns"
            yield _problem("coarse-clock", text)


def _others(evidence: Evidence) -> Iterator[Problem]:
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
        yield _problem("other-realtime-task", text)
    held = evidence.circumstances.get("dma_latency_us")
    if request.dma_latency == "system" and held is not None and held < 1_000_000:
        text = f"/dev/cpu_dma_latency is held at {held} us by somebody: not as the system leaves it"
        yield _problem("dma-latency-held", text)
