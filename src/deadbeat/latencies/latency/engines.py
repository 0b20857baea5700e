"""The seam between a latency matrix and what measures: cyclictest, our prober, a made-up one."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from attrs import evolve, frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.lazy import Later
from deadbeat.latencies.latency.model import BLOCKS_MAX, IDLE, CpuLatency, LateWakeUp, LoadPoint
from deadbeat.machine.targets.base import Target
from deadbeat.machine.trace.paths import PathSplit

if TYPE_CHECKING:
    import numpy as np

    from deadbeat.build.toolchain import Toolchain
else:
    np = Later("numpy")

#: A traced run lasts no longer, s: beyond it the kernel's buffers would lose the oldest events.
TRACE_S = 10.0
#: Engines that measure, and who makes each; and those that do where none is named.
ENGINES = {"cyclictest": "cyclictest:make", "prober": "prober:ProberEngine",
           "hpet": "prober:HpetEngine"}  # fmt: skip
UNASKED = ("cyclictest", "prober")
#: The one that makes its figures up: never chosen unasked.
SIMULATED = "simulated"
_WORST = 20


@frozen(kw_only=True)
class Request:
    """How one run is measured.

    Attributes:
        cpus: One measuring thread is pinned to each.
        priority: Real-time priority, 1 to 99; 0 with policy ``other``.
        dma_latency: ``hold``: /dev/cpu_dma_latency is kept at 0 while measuring, as cyclictest
            does; ``system``: left as an application would find it.
        trace: Whether `Engine.trace` follows `Engine.measure`.
        break_ns: The kernel's events are recorded in the run that counts, and kept around every
            wake-up that is later than this and than all before: the very worst of a long run
            has its cause. What recording them costs is in its figures then. 0: they are not.
        load, seed: For engines that make their figures up.
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


def untraced(cpus: Iterable[int], why: str) -> tuple[PathSplit, ...]:
    """Why no path of wake-ups on ``cpus`` is split."""
    return tuple(PathSplit(cpu=cpu, unavailable=why) for cpu in cpus)


def unsplit(measured: Measured, why: str) -> Measured:
    """``measured`` by an engine that splits no path, and why."""
    return evolve(measured, split=untraced((cpu.cpu for cpu in measured.cpus), why))


class Engine(Protocol):
    """Something that measures wake-up latency on a target; its ``name`` goes into file names.

    ``kind``: ``hardware`` (whatever the target is) or ``simulated``.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    def unavailable(self, target: Target) -> str:
        """Why it cannot run there, and what to install or allow; "" where it can."""

    def version(self, target: Target) -> str:
        """Version of the program that measures."""

    def measure(self, target: Target, request: Request) -> Measured:
        """Measures once; the caller sleeps meanwhile. Nothing of it runs on when this returns.

        TargetError: no permission, a program that died, a machine that is in use."""

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        """``measured`` with the path of wake-ups split, by a run of its own of at most TRACE_S with
        the kernel's events, or with the reason why it is not. Its figures count nowhere else."""


def make_engine(name: str, toolchain: Toolchain | None = None) -> Engine:
    """The engine ``name``, of ENGINES or SIMULATED; its programs by ``toolchain``, None: one found
    for this machine."""
    if name == SIMULATED:
        return SimulatedEngine()
    engine: Engine = resolve_name(f"{__package__}.{ENGINES[name]}")(toolchain=toolchain)
    return engine


@frozen(kw_only=True)
class SimulatedEngine:
    """A made-up machine: wake-ups drawn from a log-normal body and a rare heavy tail, both growing
    with the load.

    Args:
        scale: Factor of every latency; another "kernel".
        drift: Standard deviation of a run's own scale (what makes sessions differ), relative.
    """

    name: ClassVar[str] = SIMULATED
    kind: ClassVar[str] = SIMULATED
    scale: float = 1.0
    drift: float = 0.02

    def unavailable(self, target: Target) -> str:
        return ""

    def version(self, target: Target) -> str:
        return "made up"

    def measure(self, target: Target, request: Request) -> Measured:
        """Draws the wake-ups; takes no time."""
        return Measured(cpus=tuple(self._cpu(request, place) for place in range(len(request.cpus))))

    def trace(self, target: Target, request: Request, measured: Measured) -> Measured:
        return unsplit(measured, "a made-up machine has no kernel")

    def _cpu(self, request: Request, place: int) -> CpuLatency:
        random = np.random.default_rng((request.seed, place))
        expected = int(request.seconds * 1e9) // request.interval_ns
        strength = request.load.percent / 100 * (2 if request.load.profile == "cpu" else 3)
        scale = self.scale * (1 + 0.3 * strength) * float(random.lognormal(0, self.drift))
        values = random.lognormal(np.log(8_000 * scale), 0.25, expected)
        rare = random.random(expected) < 0.001 * (1 + strength)
        values[rare] += random.exponential(40_000 * scale * (1 + strength), int(rare.sum()))
        times = values.astype(np.int64)
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
                for i in np.argsort(times)[::-1][:_WORST]
            ),
            block_ns=stretch * request.interval_ns,
            block_maxima=tuple(
                int(each) for each in np.maximum.reduceat(times, np.arange(0, expected, stretch))
            ),
            policy=request.policy,
            priority=request.priority,
            placed=request.cpus[place],
        )
