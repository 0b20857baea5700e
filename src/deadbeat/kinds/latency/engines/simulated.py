"""A made-up machine: for tests and demonstrations; says nothing about any real one."""

from __future__ import annotations

import numpy as np

from deadbeat.kinds.latency.engine import Measured, Request, unsplit
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import BLOCKS_MAX, CpuLatency, LateWakeUp
from deadbeat.targets.base import Target

_WORST = 20


class SimulatedEngine:
    """Wake-ups drawn from a log-normal body and a rare heavy tail, both growing with the load.

    Args:
        scale: Of every latency; another "kernel".
        drift: Standard deviation of a run's own scale (what makes sessions differ), relative.
    """

    name = "simulated"
    kind = "simulated"

    def __init__(self, *, scale: float = 1.0, drift: float = 0.02) -> None:
        self._scale = scale
        self._drift = drift

    def unavailable(self, target: Target) -> str:
        """Never."""
        return ""

    def version(self, target: Target) -> str:
        """Made up."""
        return "made up"

    def measure(self, target: Target, request: Request) -> Measured:
        """Draws the wake-ups; takes no time."""
        return Measured(cpus=tuple(self._cpu(request, place) for place in range(len(request.cpus))))

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        """There is nothing to trace."""
        return unsplit(measured, "a made-up machine has no kernel")

    def _cpu(self, request: Request, place: int) -> CpuLatency:
        random = np.random.default_rng((request.seed, place))
        expected = int(request.seconds * 1e9) // request.interval_ns
        strength = request.load.percent / 100 * (2 if request.load.profile == "cpu" else 3)
        scale = self._scale * (1 + 0.3 * strength) * float(random.lognormal(0, self._drift))
        values = random.lognormal(np.log(8_000 * scale), 0.25, expected)
        rare = random.random(expected) < 0.001 * (1 + strength)
        values[rare] += random.exponential(40_000 * scale * (1 + strength), int(rare.sum()))
        times = values.astype(np.int64)
        worst = np.argsort(times)[::-1][:_WORST]
        raw = Histogram.of(times)
        stretch = max(1, -(-expected // BLOCKS_MAX))
        return CpuLatency(
            cpu=request.cpus[place],
            expected=expected,
            cycles=expected,
            missed=0,
            raw=raw,
            corrected=raw,
            worst=tuple(
                LateWakeUp(due_ns=int(i) * request.interval_ns, latency_ns=int(times[i]))
                for i in worst
            ),
            block_ns=stretch * request.interval_ns,
            block_maxima=tuple(
                int(each) for each in np.maximum.reduceat(times, np.arange(0, expected, stretch))
            ),
            policy=request.policy,
            priority=request.priority,
            placed=request.cpus[place],
        )


def make() -> SimulatedEngine:
    """The ordinary made-up machine."""
    return SimulatedEngine()
