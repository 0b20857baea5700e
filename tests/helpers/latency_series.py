"""Runs made from plain series of latencies, with rings as an engine keeps them."""

from collections.abc import Sequence

import numpy as np

from deadbeat.base.model.histogram import Histogram
from deadbeat.latencies.latency.model import (
    IDLE,
    CpuLatency,
    LatencyKey,
    LatencyRun,
    LateWakeUp,
    LoadPoint,
)
from deadbeat.latencies.latency.tail import Part

MS = 1_000_000


def cpu_of(values: Sequence[int], *, cpu: int = 0, ring: int = 50, missed: int = 0) -> CpuLatency:
    """What a CPU saw whose n-th wake-up, due after n ms, was so late."""
    times = np.asarray(values, np.int64)
    worst = np.argsort(-times, kind="stable")[:ring]
    return CpuLatency(
        cpu=cpu,
        expected=len(times) + missed,
        cycles=len(times),
        missed=missed,
        raw=Histogram.of(times),
        worst=tuple(LateWakeUp(due_ns=int(at) * MS, latency_ns=int(times[at])) for at in worst),
    )


def run_of(
    *cpus: CpuLatency, repeat: int = 0, load: LoadPoint = IDLE, engine: str = "prober"
) -> LatencyRun:
    """A run of these CPUs at an interval of 1 ms."""
    return LatencyRun(
        key=LatencyKey(load, engine, repeat),
        started="2026-01-01T00:00:00Z",
        seconds=max((cpu.expected for cpu in cpus), default=0) / 1000,
        interval_ns=MS,
        priority=90,
        policy="fifo",
        cpus=tuple(cpus),
    )


def part_of(*cpus: CpuLatency, repeat: int = 0) -> Part:
    """The same as a statement on the tail looks at it."""
    return Part(run=run_of(*cpus, repeat=repeat), cpus=tuple(cpus))
