"""What a machine did while a run was measured, as runs record it: docs/reference/latency-files.md.

What cannot be told is in ``missing`` with the reason, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from deadbeat.host.snapshot import Snapshot, diff, given
from deadbeat.host.values import NOT_ASKED, Unknown
from deadbeat.model.latency import Circumstances, RealtimeTask

K = TypeVar("K")
V = TypeVar("V")

#: What processes of loads are called.
LOAD_NAMES = ("stress-ng",)
#: Printed once a boot (printk_deferred_once): what was there before a run says nothing of it, and
#: hides what happens in it.
_THROTTLING = "RT throttling activated"
_STALLS_TOLD = 5
_INTERRUPTS_TOLD = 12


def circumstances(
    before: Snapshot, after: Snapshot, *, between: Sequence[Snapshot] = (), cpus: Sequence[int]
) -> Circumstances:
    """What happened on ``cpus`` from one snapshot to another."""
    moments, change = (before, *between, after), diff(before, after)
    frequency = _series(moments, lambda moment: moment.frequency_khz)
    tasks = known(before.realtime)
    return Circumstances(
        busy_share=rounded(change.busy, cpus),
        load_share=_load_share(before, after, cpus),
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
        clocksource=tuple(known(each.clocksource) or "" for each in (before, after)),
        stalls=tuple(change.log[:_STALLS_TOLD]),
        realtime_tasks=None
        if tasks is None
        else tuple(
            RealtimeTask(task=t.tid, name=t.name, policy=t.policy_name, priority=t.priority)
            for t in tasks
        ),
        dma_latency_us=known(before.dma_latency_us),
        readings=len(moments),
        missing=_missing(before) | _missing(after) | _unwitnessed(before),
    )


def known(value: V | Unknown) -> V | None:
    """A value that was read, else None."""
    return None if isinstance(value, Unknown) else value


def rounded(shares: Mapping[int, float], cpus: Sequence[int]) -> dict[str, float]:
    """Shares of ``cpus`` as records hold them."""
    return {str(cpu): round(shares[cpu], 4) for cpu in cpus if cpu in shares}


def _series(
    moments: Sequence[Snapshot], of: Callable[[Snapshot], Mapping[K, V] | Unknown]
) -> dict[str, tuple[V, ...]]:
    """What each key of the first moment held at every moment that has it."""
    values = [given(of(moment)) for moment in moments]
    return {str(key): tuple(each[key] for each in values if key in each) for key in values[0]}


def _load_share(before: Snapshot, after: Snapshot, cpus: Sequence[int]) -> float | None:
    """Share of the time of ``cpus`` that the load's own processes took; they run nowhere else."""
    ticks = diff(before, after).ticks
    total = sum(ticks[cpu].total for cpu in cpus if cpu in ticks)
    first, last = _load_ticks(before), _load_ticks(after)
    if first is None or last is None or total <= 0:
        return None
    return round(min(max((last - first) / total, 0.0), 1.0), 4)


def _load_ticks(moment: Snapshot) -> int | None:
    seen = known(moment.processes)
    return (
        None if seen is None else sum(p.tree_ticks for p in seen if p.name.startswith(LOAD_NAMES))
    )


def _most(grown: Mapping[str, int]) -> dict[str, int]:
    """The lines that counted most, the busiest first; those that did not count are left out."""
    first = sorted(grown, key=lambda name: (-grown[name], name))[:_INTERRUPTS_TOLD]
    return {name: grown[name] for name in first if grown[name] > 0}


def _missing(moment: Snapshot) -> dict[str, str]:
    """What could not be read -> why."""
    told = {
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
        for name, each in told.items()
        if isinstance(each, Unknown) and each != NOT_ASKED
    }


def _unwitnessed(before: Snapshot) -> dict[str, str]:
    """Whether the kernel would have told of real-time throttling in a run; else why not."""
    once = "the kernel tells of it once a boot, and"
    if any(_THROTTLING in line for line in known(before.log) or ()):
        return {"rt throttling": f"{once} has: not known of a run"}
    return (
        {"rt throttling": f"{once} the beginning of its log is gone"}
        if before.log_whole is False
        else {}
    )
