"""Wake-up latency: from a timer's moment to the first instruction of the task that waits for it."""

from __future__ import annotations

import re
from typing import Self

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.run import StoredRun
from deadbeat.machine.trace.paths import PathSplit

#: Load profiles (`deadbeat.latencies.latency.loads`). ``cpu`` at 0 % is the idle machine.
PROFILES = ("cpu", "memory", "io", "timer", "scheduler", "mixed", "kernel")
LOAD_WORDS = ("idle", *PROFILES, "all")
#: Stretches of equal length that a run's maxima are kept of, at most, in memory that no
#: length of a run makes larger.
BLOCKS_MAX = 4096


@frozen(order=True)
class LoadPoint:
    """What runs in the background.

    Attributes:
        profile: One of PROFILES; of another tool's result also that tool's own word.
        percent: Share of each CPU's time (``cpu``), or of the profile's full strength; -1:
            unknown, as of every word that is none of PROFILES.
    """

    profile: str
    percent: int

    @property
    def text(self) -> str:
        """Name in files and tables: ``idle``, ``cpu-025``, ``memory-100``, ``unknown``."""
        if self.percent < 0:
            return self.profile
        return "idle" if self.percent == 0 else f"{self.profile}-{self.percent:03d}"


#: Nothing runs in the background; what runs there is unknown.
IDLE, UNKNOWN = LoadPoint("cpu", 0), LoadPoint("unknown", -1)
#: Marks of a run that was read from a file: on which assumptions, that its numbers are threads'.
IMPORTED, ASSUMED, THREADS = "imported", "latency-assumed", "latency-threads"
#: What another tool may call a load: no name of ours, and fit for the name of a file.
_WORD = re.compile(rf"(?!(?:idle|{'|'.join(PROFILES)})(?:-|$))[a-z][a-z0-9-]{{0,39}}")


def load_named(word: str) -> LoadPoint | None:
    """The load that another tool calls so; None: no name for one."""
    if word == "idle":
        return IDLE
    return LoadPoint(word, -1) if _WORD.fullmatch(word) else None


@frozen(order=True)
class LatencyKey:
    """One run of a matrix: ``text`` is its file name."""

    load: LoadPoint
    engine: str
    repeat: int

    @property
    def text(self) -> str:
        return f"{self.load.text}.{self.engine}.{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> LatencyKey:
        """The key called ``text``. UsageError where none is."""
        load, engine, repeat = (*text.split("."), "", "")[:3]
        profile, _, percent = ("cpu", "-", "0") if load == "idle" else load.rpartition("-")
        ours = profile in PROFILES and percent.isdigit()
        point = LoadPoint(profile, int(percent)) if ours else load_named(load)
        if point is not None and engine and repeat.isdigit():
            return cls(point, engine, int(repeat))
        raise UsageError(f"{text}: no run is called so", "a name is idle.prober.0001, for example")


@frozen(kw_only=True)
class LateWakeUp:
    """A wake-up among the worst of a run.

    Attributes:
        due_ns: When it should have been, ns after the start of the run.
        missed: Periods that passed before it, and had no wake-up of their own.
    """

    due_ns: int
    latency_ns: int
    missed: int = 0


@frozen(kw_only=True)
class CpuLatency:
    """What one CPU's measuring thread saw in a run.

    Attributes:
        cpu: Where it was asked to be; of a file that does not say it, the thread's number.
        interval_ns: Its period; None: that of the run.
        expected: Wake-ups that its interval and time allow.
        cycles: Wake-ups that were measured.
        missed: Periods without a wake-up of their own, because an earlier one was that late.
        raw: Latency of every wake-up.
        corrected: The same with a value for each missed period, as a task released then would
            have seen it (coordinated omission put right); None: the engine cannot tell.
        worst: The latest wake-ups, the latest first; empty: the engine keeps none.
        block_ns: Length of each stretch of ``block_maxima``; 0: the engine keeps none.
        block_maxima: Largest latency of each stretch of ``block_ns``, in order, at most BLOCKS_MAX.
            A wake-up or missed period (as in ``corrected``) belongs to the stretch in which it was
            due. 0: nothing is known of the stretch.
        policy, priority, placed: What the thread really had (``placed``: CPU, -1 for several); ""
            and None: the engine does not tell.
        switches: Voluntary and involuntary context switches; None: the engine does not tell.
        clock_cost_ps: Cost of reading the clock once; None: not known.
        cpu_ns: CPU time that the thread itself took while it measured; None: not known.
    """

    cpu: int
    expected: int
    cycles: int
    missed: int
    raw: Histogram
    corrected: Histogram | None = None
    worst: tuple[LateWakeUp, ...] = ()
    block_ns: int = 0
    block_maxima: tuple[int, ...] = ()
    policy: str = ""
    priority: int | None = None
    placed: int | None = None
    switches: tuple[int, int] | None = None
    clock_cost_ps: int | None = None
    cpu_ns: int | None = None
    interval_ns: int | None = None

    def compact(self) -> Self:
        """See `LatencyRun.compact`."""
        one = self.corrected is not None and self.corrected.same(self.raw)
        return evolve(self, block_maxima=(), corrected=self.raw if one else self.corrected)

    @property
    def honest(self) -> Histogram:
        """Corrected where that is known, else raw."""
        return self.raw if self.corrected is None else self.corrected


#: Parts of a wake-up's latency in order.


@frozen(kw_only=True)
class LoadReport:
    """What the load beside a run really did.

    Attributes:
        asked: Percent.
        judged: Whether that is a share of CPU time, so that it can be missed.
        achieved: CPU -> share of its time it was busy while measured, without the measuring
            threads where they tell theirs.
        commands: What was started.
        computes: Whether its processes want that share of all CPUs' time, so that they can be
            starved of it.
        workers: Kind -> how many were asked for, were there, and did anything; None: not read.
        throughput: Rate -> value; what is 0 is left out.
        least: Rates that must be reached.
        died: Last words of what ended before its time.
    """

    asked: int = 0
    judged: bool = False
    achieved: dict[str, float] = field(factory=dict)
    commands: tuple[str, ...] = ()
    computes: bool = False
    workers: dict[str, tuple[int, int, int]] | None = field(factory=dict)
    throughput: dict[str, float] = field(factory=dict)
    least: dict[str, float] = field(factory=dict)
    died: str = ""


@frozen(kw_only=True)
class RealtimeTask:
    """A thread with a real-time policy, beside those that measure."""

    task: int = 0
    name: str
    policy: str
    priority: int

    @property
    def text(self) -> str:
        """``migration/0 (fifo 99)``."""
        return f"{self.name} ({self.policy} {self.priority})"


@frozen(kw_only=True)
class Circumstances:
    """What the machine did in a run; docs/reference/latency.md. A list holds a value for each
    reading, keys are CPUs, thermal zones and the like; None: not read."""

    busy_share: dict[str, float] = field(factory=dict)
    load_share: float | None = None
    steal_share: dict[str, float] = field(factory=dict)
    temperature_mc: dict[str, tuple[int, ...]] = field(factory=dict)
    frequency_khz: dict[str, tuple[int, ...]] = field(factory=dict)
    trip_mc: dict[str, int] = field(factory=dict)
    limit_khz: dict[str, tuple[int, ...]] = field(factory=dict)
    cooling: dict[str, tuple[int, ...]] = field(factory=dict)
    throttled: dict[str, int] = field(factory=dict)
    interrupts: dict[str, dict[str, int]] = field(factory=dict)
    pressure_us: dict[str, int] = field(factory=dict)
    clocksource: tuple[str, ...] = ()
    stalls: tuple[str, ...] = ()
    realtime_tasks: tuple[RealtimeTask, ...] | None = None
    dma_latency_us: int | None = None
    readings: int = 0
    missing: dict[str, str] = field(factory=dict)


@frozen(kw_only=True)
class LatencyRun(StoredRun):
    """One run of one engine beside one load.

    Attributes:
        key: Which run of the matrix.
        started: UTC, RFC 3339.
        seconds: How long was measured.
        interval_ns: Period of every measuring thread.
        priority: What was asked for; policy ``fifo`` or ``other``.
        cpus: What each CPU saw.
        load: What the load really did.
        circumstances: What the machine did meanwhile.
        problems: What is wrong with it.
        split: A PathSplit per CPU of the traced wake-ups; empty: not traced.
        kind: See `Platform.kind`.
        engine_version: Version of the program that measured.
        replaced: The invalid measurements that it replaces, the first first.
    """

    key: LatencyKey
    seconds: float
    interval_ns: int
    priority: int
    policy: str
    cpus: tuple[CpuLatency, ...]
    load: LoadReport = LoadReport()
    circumstances: Circumstances = Circumstances()
    split: tuple[PathSplit, ...] = ()
    kind: str = "hardware"
    engine_version: str = ""

    def compact(self) -> Self:
        """Without the maxima of stretches, which figures over time alone show: days have
        millions; histograms that are equal are one."""
        return evolve(self, cpus=tuple(each.compact() for each in self.cpus))
