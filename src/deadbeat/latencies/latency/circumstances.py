"""What a machine did while a run was measured, as runs record it (docs/reference/latency.md),
and whether a run is what it says it is. Pure.

What cannot be known is in ``missing`` with the reason, never a zero. A problem is ``invalid`` where
the run did not measure what it claims (another priority, a load that never ran); a ``warning`` is a
label: something else happened, and the run counts (`latencies.latency.validity`). Names are
stable: docs/reference/latency.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from deadbeat.base.model.finding import Finding, ordered
from deadbeat.base.model.words import time_text
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.loads import PROCESSES
from deadbeat.latencies.latency.model import Circumstances, LatencyRun, RealtimeTask
from deadbeat.latencies.latency.validity import cycle_problems, load_problems
from deadbeat.latencies.validity import problem, shares_text
from deadbeat.machine.host.judgements import slow_clock, stolen, throttled
from deadbeat.machine.host.snapshot import Snapshot, diff, given
from deadbeat.machine.host.values import NOT_ASKED, Unknown, or_none

K = TypeVar("K")
V = TypeVar("V")

#: What processes of loads are called.
LOAD_NAMES = tuple(PROCESSES.values())
#: Printed once a boot (printk_deferred_once): what was there before a run says nothing of it, and
#: hides what happens in it.
_THROTTLING = "RT throttling activated"
_STALLS_SHOWN = 5
_INTERRUPTS_SHOWN = 12


def circumstances(
    before: Snapshot, after: Snapshot, *, between: Sequence[Snapshot] = (), cpus: Sequence[int]
) -> Circumstances:
    """What happened on ``cpus`` from one snapshot to another."""
    moments, change = (before, *between, after), diff(before, after)
    frequency = _series(moments, lambda moment: moment.frequency_khz)
    tasks = or_none(before.realtime)
    # Share of the time of ``cpus`` that the load's own processes took; they run nowhere else.
    ticks = diff(before, after).ticks
    total = sum(ticks[cpu].total for cpu in cpus if cpu in ticks)
    first, last = _load_ticks(before), _load_ticks(after)
    if first is None or last is None or total <= 0:
        load_share = None
    else:
        load_share = round(min(max((last - first) / total, 0.0), 1.0), 4)
    # Whether the kernel would have logged real-time throttling in a run; else why not.
    once = "the kernel reports it once a boot, and"
    if any(_THROTTLING in line for line in or_none(before.log) or ()):
        unwitnessed = {"rt throttling": f"{once} has: not known of a run"}
    else:
        unwitnessed = (
            {"rt throttling": f"{once} the beginning of its log is gone"}
            if before.log_whole is False
            else {}
        )
    return Circumstances(
        busy_share=rounded(change.busy, cpus),
        load_share=load_share,
        steal_share=rounded(change.stolen, cpus),
        temperature_mc=_series(moments, lambda moment: moment.temperature_mc),
        frequency_khz={str(cpu): frequency[str(cpu)] for cpu in cpus if str(cpu) in frequency},
        trip_mc=dict(given(before.trip_mc)),
        limit_khz=_series(moments, lambda moment: moment.limit_khz),
        cooling=_series(moments, lambda moment: moment.cooling),
        throttled={str(cpu): count for cpu, count in change.throttled.items()},
        interrupts={
            str(cpu): _most(change.interrupts[cpu]) for cpu in cpus if cpu in change.interrupts
        },
        pressure_us=dict(change.pressure_us),
        clocksource=tuple(or_none(each.clocksource) or "" for each in (before, after)),
        stalls=tuple(change.log[:_STALLS_SHOWN]),
        realtime_tasks=None
        if tasks is None
        else tuple(
            RealtimeTask(task=t.tid, name=t.name, policy=t.policy_name, priority=t.priority)
            for t in tasks
        ),
        dma_latency_us=or_none(before.dma_latency_us),
        readings=len(moments),
        missing=_missing(before) | _missing(after) | unwitnessed,
    )


def rounded(shares: Mapping[int, float], cpus: Sequence[int]) -> dict[str, float]:
    """Shares of ``cpus`` as records hold them."""
    return {str(cpu): round(shares[cpu], 4) for cpu in cpus if cpu in shares}


def _series(
    moments: Sequence[Snapshot], of: Callable[[Snapshot], Mapping[K, V] | Unknown]
) -> dict[str, tuple[V, ...]]:
    """What each key of the first moment held at every moment that has it."""
    values = [given(of(moment)) for moment in moments]
    return {str(key): tuple(each[key] for each in values if key in each) for key in values[0]}


def _load_ticks(moment: Snapshot) -> int | None:
    seen = or_none(moment.processes)
    return (
        None if seen is None else sum(p.tree_ticks for p in seen if p.name.startswith(LOAD_NAMES))
    )


def _most(grown: Mapping[str, int]) -> dict[str, int]:
    """The lines that counted most, the busiest first; those that did not count are left out."""
    first = sorted(grown, key=lambda name: (-grown[name], name))[:_INTERRUPTS_SHOWN]
    return {name: grown[name] for name in first if grown[name] > 0}


def _missing(moment: Snapshot) -> dict[str, str]:
    """What could not be read -> why."""
    known = {
        **{f"pressure {name}": each for name, each in moment.pressure_us.items()},
        "processes": moment.processes,
        "tasks": moment.realtime,
        "dma_latency": moment.dma_latency_us,
        "log": moment.log,
        "ticks": moment.ticks,
        "interrupts": moment.interrupts,
        "temperature": moment.temperature_mc,
        "frequency": moment.frequency_khz,
        "throttling": moment.throttled,
        "limit": moment.limit_khz,
        "cooling": moment.cooling,
        "clocksource": moment.clocksource,
    }
    return {
        name: each.reason
        for name, each in known.items()
        if isinstance(each, Unknown) and each != NOT_ASKED
    }


# ---------- what of it is a problem

#: Relative range of a CPU's frequency that still is one frequency.
FREQUENCY_RANGE = 0.05
#: Period of the RT bandwidth, the fair server and many timers: a shorter run may see none of them.
RARE_EVENTS_S = 1.0
#: A reading of the clock that costs more says that it is not read in user space.
CLOCK_COST_PS = 1_000_000
#: Kernel threads that every machine has above all others, and our own guard, which sleeps.
_ORDINARY = ("migration/", "watchdog", "stop/", "cpuhp/", "idle_inject/", "program-")
_SHOWN = 3
#: A kernel that lets no real-time thread run on any CPU for so long is not running itself.
_STOOD_NS = 200_000_000


def judge(run: LatencyRun, request: Request) -> tuple[Finding, ...]:
    """Every problem of a run beside those of its engine, the invalidating ones first."""
    found = [
        *load_problems(run.load, run.circumstances, run.cpus, request.seconds),
        *_host(run.circumstances),
        *_stood(run),
        *_threads(run, request),
        *_cycles(run, request),
        *_clock(run),
        *_others(run.circumstances, request),
    ]
    return tuple(ordered(found))


def _host(seen: Circumstances) -> Iterator[Finding]:
    if much := stolen(seen.steal_share):
        yield problem("steal", f"the host gave time to others: {shares_text(much)} stolen")
    for line in map(str.strip, seen.stalls):
        if "RT throttling activated" in line:
            yield problem("rt-throttled", f"real-time tasks were kept from their CPU: {line}")
        else:
            yield problem("stall", f"the kernel's log: {line}")
    if slowed := throttled(seen.throttled):
        counts = ", ".join(f"CPU {cpu} {count} times" for cpu, count in slowed.items())
        yield problem("throttled", f"throttled for heat or power: {counts}")
    # Slowed down by the kernel's own cooling, as machines without x86's counters are.
    fell = {cpu: v for cpu, v in seen.limit_khz.items() if v and min(v) < v[0]}
    cooling = {name: max(v) for name, v in seen.cooling.items() if max(v, default=0) > 0}
    if fell:
        said = [f"CPU {c} {v[0] / 1000:.0f} to {min(v) / 1000:.0f} MHz" for c, v in fell.items()]
        text = f"the highest frequency was lowered meanwhile: {', '.join(said[:_SHOWN])}"
        yield problem("throttled", text)
    elif cooling:
        said = [f"{name} at state {state}" for name, state in cooling.items()]
        text = f"the kernel slows processors down for heat: {', '.join(said[:_SHOWN])}"
        yield problem("throttled", text)
    for zone, trip in seen.trip_mc.items():
        hottest = max(seen.temperature_mc.get(zone, ()), default=trip - 1)
        if hottest >= trip:
            text = (
                f"{zone} reached {hottest / 1000:.1f} degrees Celsius: from {trip / 1000:.1f} on"
                " the kernel slows processors down"
            )
            yield problem("hot", text)
    for cpu, values in seen.frequency_khz.items():
        if values and max(values) > min(values) * (1 + FREQUENCY_RANGE):
            text = (
                f"CPU {cpu} ran at {min(values) / 1000:.0f} to {max(values) / 1000:.0f} MHz, seen"
                f" at {len(values)} moments"
            )
            yield problem("frequency-moved", text)


def _stood(run: LatencyRun) -> Iterator[Finding]:
    """Threads above all others, and none of them ran: a machine that was paused or frozen."""
    late = [
        [(each.due_ns, each.due_ns + each.latency_ns) for each in cpu.worst] for cpu in run.cpus
    ]
    if len(late) < 2 or run.policy != "fifo":
        return
    common = late[0]
    for other in late[1:]:
        both = ((max(a, c), min(b, d)) for a, b in common for c, d in other)
        common = [(begin, end) for begin, end in both if end - begin >= _STOOD_NS]
    if common:
        begin, end = max(common, key=lambda ends: ends[1] - ends[0])
        text = (
            f"no thread ran on any of {len(late)} CPUs for {time_text(end - begin)},"
            f" {begin / 1e9:.1f} s after the start"
        )
        yield problem("stood-still", text, "invalid")


def _threads(run: LatencyRun, request: Request) -> Iterator[Finding]:
    for cpu in run.cpus:
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


def _cycles(run: LatencyRun, request: Request) -> Iterator[Finding]:
    if missing := sorted(set(request.cpus) - {cpu.cpu for cpu in run.cpus}):
        text = f"no figures of CPU {', '.join(map(str, missing))}"
        yield problem("cpu-missing", text, "invalid")
    yield from cycle_problems(run.cpus)
    for cpu in run.cpus:
        if cpu.missed:
            share = 100 * cpu.missed / max(cpu.expected, 1)
            text = f"CPU {cpu.cpu}: {cpu.missed} of {cpu.expected} periods were missed"
            yield problem("missed-periods", f"{text} ({share:.2f} %)")
        if cpu.raw.overflow:
            text = f"CPU {cpu.cpu}: {cpu.raw.overflow} latencies lie above its histogram"
            yield problem("overflow", text)
    if request.seconds < RARE_EVENTS_S:
        text = f"{request.seconds:g} s are shorter than the period of rare events (1 s)"
        yield problem("short", text)


def _clock(run: LatencyRun) -> Iterator[Finding]:
    clocks = [name for name in run.circumstances.clocksource if name]
    if len(set(clocks)) > 1:
        text = f"the clock source changed from {clocks[0]} to {clocks[-1]}"
        yield problem("clock-changed", text, "invalid")
    elif clocks and slow_clock(clocks[0]):
        yield problem("slow-clock", f"the clock source is {clocks[0]}: slow and coarse to read")
    for cpu in run.cpus:
        if cpu.clock_cost_ps is not None and cpu.clock_cost_ps > CLOCK_COST_PS:
            cost = cpu.clock_cost_ps / 1e6
            yield problem("slow-clock", f"CPU {cpu.cpu}: reading the clock takes {cost:.2f} us")
        median, step = cpu.raw.quantile(500_000), cpu.raw.resolution_ns
        if median is not None and step > 1 and median < 2 * step:
            text = f"CPU {cpu.cpu}: half of all are below two steps of {step} ns"
            yield problem("coarse-clock", text)


def _others(seen: Circumstances, request: Request) -> Iterator[Finding]:
    above = [
        task.text
        for task in seen.realtime_tasks or ()
        if request.policy == "fifo"
        and (task.policy == "deadline" or task.priority >= request.priority)
        and not task.name.startswith(_ORDINARY)
    ]
    if above:
        text = f"{len(above)} others may preempt at priority {request.priority}"
        yield problem("other-realtime-task", f"{text}: {', '.join(above[:_SHOWN])}")
    held = seen.dma_latency_us
    if request.dma_latency == "system" and held is not None and held < 1_000_000:
        text = f"another program holds /dev/cpu_dma_latency at {held} us: not the system's setting"
        yield problem("dma-latency-held", text)
