"""What a latency matrix is, and the order of its runs: randomised blocks, engines in turn.

Every repeat is a block that visits each load once, in an order of its own; within a visit the
engines follow one another beside the same load, and change their order from block to block (ABBA),
so that what drifts slowly falls on all alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.rules import Problem, duration_text, refuse
from deadbeat.base.model.specification import checked, keyed, parsed, plain_of, read, renamed, usage
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.latencies.latency.engines import ENGINES, SIMULATED, TRACE_S
from deadbeat.latencies.latency.foreign import foreign_engines
from deadbeat.latencies.latency.loads import LOADS, OWN, STRESS_NG, strengths
from deadbeat.latencies.latency.model import PROFILES, UNKNOWN, LatencyKey, LoadPoint, load_named
from deadbeat.machine.host.environment import unusable

#: A run is no longer than this; more is measured as several, kept one by one.
SEGMENT_S = 300
#: Below, a mean is no mean.
_PERIODS_MIN = 100
_RUNS_MAX = 100_000


def _point(value: Any) -> LoadPoint:
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    profile, colon, percent = text.partition(":")
    if text.isdigit():
        profile, percent = "cpu", text
    elif text in ("idle", "unknown") or profile == "said":
        if (point := load_named(percent if colon else text)) is None:
            raise refuse(f"{shown(value)} is not a load", "write a word of a-z, 0-9 and -")
        return point
    elif not colon:
        percent = "100"
    if profile not in PROFILES:
        raise refuse(f"{shown(value)} is not a load", nearest(profile, ("idle", *PROFILES)))
    number = rules.Whole(0, 100).parse(percent.removesuffix("%"))
    if number == 0 and profile != "cpu":
        raise refuse(f"{shown(value)} is no load", "write idle")
    return LoadPoint(profile, number)


def load_word(point: LoadPoint) -> str:
    """A load as `LOADS_RULE` reads it: ``idle``, ``cpu:50``; ``said:heavy`` by another tool."""
    if point.percent < 0 and point != UNKNOWN:
        return f"said:{point.profile}"
    return point.text if point.percent <= 0 else f"{point.profile}:{point.percent}"


CPU_LOADS = tuple(LoadPoint("cpu", percent) for percent in (0, 25, 50, 75, 100))
#: ``kernel`` is of comparisons of kernels; ``scheduler`` and ``io`` have its workers.
ALL_LOADS = CPU_LOADS + tuple(
    LoadPoint(name, 100) for name in PROFILES if name not in ("cpu", "kernel")
)


#: ``idle``, ``50`` or ``cpu:50``, ``memory`` (full strength), ``io:50``.
LOADS_RULE = rules.ListOf(
    _point,
    "a list of loads",
    "idle,cpu:50,memory",
    rules.unique,
    named={"all": ALL_LOADS},
    plain_one=load_word,
)


def one_load(text: str, where: str) -> LoadPoint:
    """A load as `LOADS_RULE` reads it, named by ``where``. Raises UsageError."""
    loads: list[LoadPoint] = [*parsed(LOADS_RULE.parse, text, {"": where})]
    if len(loads) != 1:
        raise UsageError(f"{where}: {shown(text)} names {len(loads)} loads", "name one: cpu:50")
    return loads[0]


def _engine(name: Any) -> str:
    if name in (*ENGINES, SIMULATED, *foreign_engines()):
        return str(name)
    # engines that only results name would measure nothing
    raise refuse(f"{shown(name)} is not a choice", nearest(str(name), ENGINES))


#: What measures; None: whatever of prober and cyclictest is there.
_ENGINES = rules.ListOf(
    _engine, "a list of engines", "prober,cyclictest", rules.unique, named={"auto": None}
)


_TIMES = rules.ListOf(
    rules.DurationNs(1, 10**12).parse,
    "a list of times",
    "100us,1ms",
    rules.ascending,
    optional=True,
    named={"": ()},
    plain_one=duration_text,
)


#: What a preset changes. On two CPUs, with both engines: default 10 loads x 5 repeats x 2 x 2 s and
#: 50 times the settling of a load, about five minutes; quick 3 x 3 x 2 x 1 s, under one.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "quick": {"loads": ["idle", "cpu:50", "cpu:100"], "repeats": 3, "duration": "1s"},
}


@frozen(kw_only=True)
class LatencySpec:
    """A latency matrix: loads x engines x repeats.

    ``engines`` and ``cpus`` are None until they are chosen on the machine (``resolve``). Lengths
    are in ns, ``duration`` in s. Where runs are ``imported`` nothing is measured.
    """

    name: str = fields.name(
        "Name of the folder of results.  [latency, or latency-PRESET]", "latency"
    )
    mode: str = keyed(
        rules.Choice(("latency",)), "latency", "Kind of this file.", default="latency"
    )
    preset: str = keyed(
        rules.Choice(tuple(PRESETS)), "NAME", "default or quick.  [default]", default="default"
    )
    seed: int = fields.SEED
    loads: tuple[LoadPoint, ...] = keyed(
        LOADS_RULE,
        "--loads LIST",
        "Background loads: idle,50,cpu:75,memory,io,timer,scheduler,mixed,kernel or all.  [all]",
        default=ALL_LOADS,
    )
    loads_by: Literal["auto", "stress-ng", "deadbeat"] = fields.choice(
        f"--loads-by auto|{STRESS_NG}|{OWN}",
        "Program that makes the loads.  [stress-ng where installed]",
    )
    engines: tuple[str, ...] | None = keyed(
        _ENGINES,
        "--engine LIST",
        "Who measures: prober, cyclictest, both in turn; hpet: from a device.  [the two]",
        default=None,
    )
    cpus: tuple[int, ...] | None = fields.cpus("CPUs to use, a measuring thread on each: 0-3.")
    duration: float = fields.duration(
        "0.1",
        str(30 * 86400),
        "Measuring time of each load, engine and repeat: 10s, 5min, 6h or 3d.  [2s]",
        2.0,
    )
    repeats: int = fields.repeats("Times each combination is measured.", 5)
    interval: int = keyed(
        rules.DurationNs(50_000, 1_000_000_000),
        "--interval TIME",
        "Period of the measuring threads: 500us.  [1ms]",
        default=1_000_000,
    )
    priority: int = fields.priority("Priority of the real-time threads, 1 to 99.", 90)
    policy: Literal["fifo", "other"] = fields.policy("fifo", "other")
    dma_latency: Literal["hold", "system"] = fields.choice(
        "--dma-latency hold|system",
        "Keep CPUs out of deep idle states, as cyclictest does, or leave it to the system.",
    )
    trace: bool = fields.flag(
        "--trace", "Record kernel events to show where the time of late wake-ups went."
    )
    keep_above: int = keyed(
        rules.DurationNs(0, 1_000_000_000),
        "--keep-above TIME",
        "Trace continuously; keep the trace of each run's worst wake-up if above this.  [off]",
        default=0,
    )
    deadlines: tuple[int, ...] = keyed(
        _TIMES,
        "--limits LIST",
        "Report how often latency exceeds each limit: 100us,1ms.",
        default=(),
    )
    beside: tuple[str, ...] = fields.BESIDE
    imported: tuple[str, ...] = keyed(
        rules.NAMES, "LIST", "Runs read from files of other tools.", default=()
    )

    @property
    def segments(self) -> int:
        """Runs that ``duration`` is divided into."""
        return max(1, -(-int(self.duration) // SEGMENT_S))

    @property
    def seconds(self) -> float:
        """Measuring time of one run; several are at least as long as ``duration`` together."""
        if self.segments == 1:
            return self.duration
        return float(-(-Fraction(self.duration) // self.segments))

    @property
    def blocks(self) -> int:
        """How often every cell is visited."""
        return self.repeats * self.segments

    @property
    def real_priority(self) -> int:
        """What is asked for: 0 under policy ``other``."""
        return self.priority if self.policy == "fifo" else 0

    def problems(self) -> Iterator[Problem]:
        """What is wrong between fields that are each right."""
        if self.imported:
            return
        periods = int(self.seconds * 1e9) // self.interval
        if periods < _PERIODS_MIN:
            text = f"{self.duration:g} s hold {periods} periods of {duration_text(self.interval)}"
            yield Problem("duration", text, f"at least {_PERIODS_MIN}: measure longer")
        runs = len(self.loads) * self.blocks * len(self.engines or ("one",))
        if runs > _RUNS_MAX:
            text = f"{runs} runs are more than {_RUNS_MAX}"
            yield Problem("repeats", text, "fewer repeats or loads, or shorter")
        if self.blocks > 9999:
            text = f"{self.repeats} repeats of {self.segments} runs each are more than 9999"
            yield Problem("repeats", text, "fewer repeats, or shorter")
        if "cyclictest" in (self.engines or ()):  # what it cannot do
            hint = "round it, or --engine prober"
            if self.duration != int(self.duration):
                text = f"cyclictest measures whole seconds, not {self.duration:g}"
                yield Problem("duration", text, hint)
            if self.interval % 1000:
                text = f"cyclictest knows whole microseconds, not {self.interval} ns"
                yield Problem("interval", text, hint)


def specify(*layers: Mapping[str, Json], names: Mapping[str, str] | None = None) -> LatencySpec:
    """The specification the layers describe over their preset; UsageError names every problem."""
    preset = next((each["preset"] for each in reversed(layers) if "preset" in each), "default")
    base = PRESETS.get(preset) if isinstance(preset, str) else None
    given = {"name": f"latency-{preset}", **base} if base else {}
    return read(LatencySpec, given, *layers, names=names)


def read_spec(values: Mapping[str, Json]) -> LatencySpec:
    """A stored specification; raises UsageError naming every problem."""
    return checked(LatencySpec, values)


def spec_dict(spec: LatencySpec) -> dict[str, Json]:
    """The canonical plain form: read_spec(spec_dict(s)) == s."""
    times = {name: duration_text(getattr(spec, name)) for name in ("interval", "keep_above")}
    return plain_of(spec) | times


def resolve(
    spec: LatencySpec,
    *,
    engines: Mapping[str, str],
    cpus: Sequence[int],
    details: Mapping[str, Json] | None = None,
    names: Mapping[str, str] | None = None,
) -> LatencySpec:
    """``spec`` on a machine: engines and CPUs are chosen where it leaves them open.

    Args:
        engines: Name -> why it cannot run there; "" where it can.
        cpus: CPUs that may be used. ``details``: what the machine's platform says of others.
    """
    problems = strange = list(unusable(spec.cpus or (), cpus, details or {}, "cpus"))
    # cyclictest changes to SCHED_OTHER only where it could change to SCHED_FIFO: a matrix that must
    # do without that permission leaves it out where the prober is there.
    without = {"cyclictest"} if spec.policy == "other" and engines.get("prober") == "" else set()
    wanted = spec.engines or tuple(n for n, why in engines.items() if not why and n not in without)
    problems = problems + [
        Problem("engines", f"{name}: {engines[name]}") for name in wanted if engines.get(name)
    ]
    if not wanted:
        reasons = "; ".join(f"{name}: {why}" for name, why in engines.items())
        raise UsageError(f"nothing here can measure: {reasons or 'there is no engine'}")
    plain_cpus = spec.cpus or tuple(cpus)
    if "hpet" in wanted and len(plain_cpus) > 1:
        problems = [*problems, Problem("cpus", "an interrupt wakes one thread", "--cpus 0")]
    problems += [] if strange else _no_strengths(spec.loads, len(plain_cpus))
    if problems:
        raise usage([renamed(problem, names or {}) for problem in problems])
    chosen = {"engines": list(wanted), "cpus": list(plain_cpus)}
    return checked(LatencySpec, spec_dict(spec) | chosen, names)


def _no_strengths(loads: Sequence[LoadPoint], cpus: int) -> Iterator[Problem]:
    """Percentages that would be another strength than they say."""
    for point in loads:
        if point.profile not in LOADS:
            yield Problem("loads", f"{load_word(point)} is a load of results from other tools")
            continue
        offered = strengths(LOADS[point.profile], cpus)
        if point.percent and point.percent not in offered:
            text = f"{load_word(point)} is not a whole number of workers on CPUs numbering {cpus}"
            known = ", ".join(map(str, offered))
            yield Problem("loads", text, f"there {point.profile} has {known} %")


# ---------- the order of its runs, and what they cost ----------

#: What one run costs beside its measuring time, and one visit beside its runs, s: reading the
#: circumstances; a load that starts, settles and ends.
_RUN_S, _VISIT_S = 0.4, 1.3
#: What making a run up costs, and one of its wake-ups on one CPU, s (on a slow machine).
_MADE_UP_RUN_S, _MADE_UP_S = 0.02, 0.4e-6
#: Beside the measuring time of a traced run: tracing begins and ends, the trace is copied and read.
_TRACE_S = 1.5
#: Size of a stored run: a histogram of some hundred buckets twice, the worst, the circumstances.
_RUN_BYTES = 40_000


@frozen(kw_only=True)
class MatrixCost:
    """What a matrix takes."""

    seconds: float
    bytes: int


def visits(spec: LatencySpec) -> tuple[tuple[LatencyKey, ...], ...]:
    """The runs of ``spec`` (resolved) in order, those beside one load in one block together; none
    where they were imported."""
    if spec.imported:
        return ()

    def engines(load: LoadPoint) -> list[str]:
        return sorted(spec.engines or (), key=lambda name: _digest(spec, load.text, name))

    return tuple(
        tuple(LatencyKey(load, engine, block) for engine in engines(load)[:: 1 - block % 2 * 2])
        for block in range(spec.blocks)
        for load in sorted(spec.loads, key=lambda load: _digest(spec, block, load.text))
    )


def keys(spec: LatencySpec) -> tuple[LatencyKey, ...]:
    """All runs of ``spec`` (resolved) in order."""
    if spec.imported:
        return tuple(LatencyKey.parse(text) for text in spec.imported)
    return tuple(key for visit in visits(spec) for key in visit)


def seed_of(spec: LatencySpec, key: LatencyKey) -> int:
    """Seed of what is made up in one run."""
    return int.from_bytes(_digest(spec, "run", key.text)[:6], "little")


def estimate(spec: LatencySpec, *, runs: int) -> MatrixCost:
    """What ``runs`` runs of ``spec`` take."""
    cpus, engines = max(len(spec.cpus or ()), 1), spec.engines or ()
    if engines == (SIMULATED,):  # nothing is waited for, but all is drawn
        wake_ups = spec.seconds * 1e9 / spec.interval * cpus
        seconds = runs * (_MADE_UP_RUN_S + wake_ups * _MADE_UP_S)
    else:
        visited = -(-runs // max(len(engines), 1))
        seconds = runs * (spec.seconds + _RUN_S) + visited * _VISIT_S
        if spec.trace and "prober" in engines:
            seconds += runs / len(engines) * (min(spec.seconds, TRACE_S) + _TRACE_S)
    # Histograms grow with the logarithm of what is measured.
    return MatrixCost(seconds=seconds, bytes=runs * _RUN_BYTES * cpus)


def _digest(spec: LatencySpec, *parts: object) -> bytes:
    return hashlib.sha256("/".join(map(str, (spec.seed, *parts))).encode()).digest()
