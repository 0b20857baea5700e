"""The seam between a latency matrix and what measures: cyclictest, our prober, a made-up one."""

from __future__ import annotations

from typing import Literal, Protocol

from attrs import evolve, frozen

from deadbeat.model.finding import Finding
from deadbeat.model.latency import IDLE, CpuLatency, LoadPoint, PathSplit
from deadbeat.targets.base import Target

#: A traced run lasts no longer, s: beyond it the kernel's buffers would lose the oldest events.
TRACE_S = 10.0


@frozen(kw_only=True)
class Request:
    """How one run is measured.

    Attributes:
        cpus: One measuring thread is pinned to each.
        seconds: How long.
        interval_ns: Period of every thread.
        priority: Real-time priority, 1 to 99; 0 with policy ``other``.
        policy: ``fifo`` or ``other``.
        dma_latency: ``hold``: /dev/cpu_dma_latency is kept at 0 while measuring, as cyclictest
            does; ``system``: left as an application would find it.
        trace: Whether `Engine.trace` follows `Engine.measure`.
        break_ns: The kernel's events are recorded in the run that counts, and kept around every
            wake-up that is later than this and than all before: the very worst of a long run
            has its cause. What recording them costs is in its figures then. 0: they are not.
        load: What runs beside it; engines that measure do not look at it.
        seed: Of engines that make their figures up.
    """

    cpus: tuple[int, ...]
    seconds: float
    interval_ns: int = 1_000_000
    priority: int = 90
    policy: Literal["fifo", "other"] = "fifo"
    dma_latency: Literal["hold", "system"] = "hold"
    trace: bool = False
    break_ns: int = 0
    load: LoadPoint = IDLE
    seed: int = 0


@frozen(kw_only=True)
class Measured:
    """What an engine saw in one run."""

    cpus: tuple[CpuLatency, ...]
    split: tuple[PathSplit, ...] = ()
    problems: tuple[Finding, ...] = ()


def unsplit(measured: Measured, why: str) -> Measured:
    """``measured`` by an engine that splits no path, and why."""
    split = tuple(PathSplit(cpu=cpu.cpu, unavailable=why) for cpu in measured.cpus)
    return evolve(measured, split=split)


class Engine(Protocol):
    """Something that measures wake-up latency on a target.

    Attributes:
        name: ``cyclictest``, ``prober``, ``simulated``: goes into file names.
        kind: ``hardware`` (whatever the target is) or ``simulated``.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    def unavailable(self, target: Target) -> str:
        """Why it cannot run there, and what to install or allow; "" where it can."""

    def version(self, target: Target) -> str:
        """Of the program that measures."""

    def measure(self, target: Target, request: Request) -> Measured:
        """Measures once; the caller sleeps meanwhile. Nothing of it runs on when this returns.

        Raises:
            TargetError: Permission, a program that died, a machine that is in use.
        """

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        """``measured`` with the path of wake-ups split, by a run of its own of at most TRACE_S with
        the kernel's events, or with the reason why it is not. Its figures count nowhere else."""
