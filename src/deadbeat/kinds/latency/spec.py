"""What a latency matrix is: every parameter, its range, its default by preset.

As a campaign's specification, it is layered (preset, file, command line) as plain dicts and checked
once, whole: every problem is reported, each with its path and a hint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal

import attrs
from attrs import frozen

from deadbeat.kinds.latency.engines import ENGINES, SIMULATED
from deadbeat.kinds.latency.importers import foreign_engines
from deadbeat.kinds.latency.loads import LOADS, strengths
from deadbeat.model import rules
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import PROFILES, LoadPoint
from deadbeat.model.rules import Problem, RefusedError, duration_text, refuse
from deadbeat.model.specification import Option, Structure, renamed, usage
from deadbeat.model.words import nearest, shown

#: A run is no longer than this; more is measured as several, kept one by one.
SEGMENT_S = 300
#: Below, a mean is no mean.
_PERIODS_MIN = 100
_RUNS_MAX = 100_000
_UNITS_S = {
    "": Fraction(1), "ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60),
    "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400),
}  # fmt: skip
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([a-z]{0,3})")


@frozen
class SpanRule:
    """A length of time in seconds: ``10s``, ``5min``, ``2h``, ``3d``, ``600ms`` or a number."""

    low_s: Fraction
    high_s: Fraction

    def parse(self, value: Any) -> float:
        example = "write it like 10s, 5min, 2h or 3d"
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        match = _SPAN.fullmatch(repr(value) if number else value.strip() if _text(value) else "")
        if match is None or match[2] not in _UNITS_S:
            raise refuse(f"{shown(value)} is not a length of time", example)
        seconds = Fraction(match[1]) * _UNITS_S[match[2]]
        if not self.low_s <= seconds <= self.high_s:
            raise refuse(
                f"{shown(value)} is out of range",
                f"from {float(self.low_s):g}s to {float(self.high_s) / 86400:g}d",
            )
        return float(seconds)


def _text(value: Any) -> bool:
    return isinstance(value, str)


@frozen
class LoadsRule:
    """Background loads: ``idle``, ``50`` or ``cpu:50``, ``memory`` (full strength), ``io:50``."""

    def parse(self, value: Any) -> tuple[LoadPoint, ...]:
        if value == "all":
            return ALL_LOADS
        listed = rules.items(value, "a list of loads", "idle,cpu:50,memory")
        points = rules.each(listed, _point)
        doubled = sorted({point.text for point in points if points.count(point) > 1})
        if doubled:
            raise refuse(f"{doubled[0]} is listed twice", "list each load once")
        return tuple(points)


def _point(value: Any) -> LoadPoint:
    """One load as a person writes it."""
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    profile, colon, percent = text.partition(":")
    if text.isdigit():
        profile, percent = "cpu", text
    elif text == "idle":
        return LoadPoint("cpu", 0)
    elif not colon:
        percent = "100"
    if profile not in PROFILES:
        raise refuse(f"{shown(value)} is not a load", nearest(profile, ("idle", *PROFILES)))
    number = rules.Whole(0, 100).parse(percent.removesuffix("%"))
    if number == 0 and profile != "cpu":
        raise refuse(f"{shown(value)} is no load", "write idle")
    return LoadPoint(profile, number)


def load_word(point: LoadPoint) -> str:
    """A load as `LoadsRule` reads it: ``idle``, ``cpu:50``."""
    return "idle" if point.percent == 0 else f"{point.profile}:{point.percent}"


CPU_LOADS = tuple(LoadPoint("cpu", percent) for percent in (0, 25, 50, 75, 100))
ALL_LOADS = CPU_LOADS + tuple(LoadPoint(name, 100) for name in PROFILES if name != "cpu")


@frozen
class Engines:
    """What measures (None: whatever of prober and cyclictest is there)."""

    def parse(self, value: Any) -> tuple[str, ...] | None:
        if value is None or value == "auto":
            return None
        known = tuple(dict.fromkeys((*ENGINES, SIMULATED, *foreign_engines())))

        def one(name: Any) -> str:
            if name in known:
                return str(name)
            # those that only results name would measure nothing
            raise refuse(f"{shown(name)} is not a choice", nearest(str(name), ENGINES))

        names = rules.each(rules.items(value, "a list of engines", "prober,cyclictest"), one)
        if len(set(names)) != len(names):
            raise refuse(f"{shown(value)} names an engine twice", "list each once")
        return tuple(names)


@frozen
class Deadlines:
    """Lengths of time with their unit: ``100us,1ms``."""

    def parse(self, value: Any) -> tuple[int, ...]:
        if value in ("", [], ()):
            return ()
        listed = rules.items(value, "a list of times", "100us,1ms")
        return tuple(sorted(set(rules.each(listed, rules.DurationNs(1, 10**12).parse))))


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
    are in ns, ``duration`` in s.

    Attributes:
        preset: What its defaults came from.
        trace: Whether the path of wake-ups is split by the kernel's events.
        imported: Names of the runs that were read from files of other tools; nothing is measured.
    """

    name: Annotated[
        str,
        rules.Name(),
        Option("--name", "NAME", "Name of the folder.  [latency, or with the preset's name]"),
    ]
    mode: Annotated[str, rules.Choice(("latency",))] = "latency"
    preset: Annotated[str, rules.Choice(tuple(PRESETS))]
    seed: Annotated[
        int,
        rules.Whole(0, 2**63 - 1),
        Option("--seed", "N", "The order of the runs derives from it.  [1]"),
    ]
    loads: Annotated[
        tuple[LoadPoint, ...],
        LoadsRule(),
        Option(
            "--loads",
            "LIST",
            "What runs beside it: idle,50,cpu:75,memory,io,timer,scheduler,mixed or all.  [all]",
        ),
    ]
    engines: Annotated[
        tuple[str, ...] | None,
        Engines(),
        Option("--engine", "LIST", "prober, cyclictest or both in turn.  [both where installed]"),
    ]
    cpus: Annotated[
        tuple[int, ...] | None,
        rules.Cpus(),
        Option("--cpus", "LIST", "CPUs to measure, a thread on each: 0-3.  [all]"),
    ]
    duration: Annotated[
        float,
        SpanRule(Fraction(1, 10), Fraction(30 * 86400)),
        Option(
            "--duration",
            "TIME",
            "Of each load, engine and repeat: 10s, 5min, 6h, 3d; a number is seconds; long ones in"
            " pieces.  [2s]",
        ),
        Option("--seconds", "TIME", "The same."),
    ]
    repeats: Annotated[
        int,
        rules.Whole(1, 9999),
        Option("--repeats", "N", "Times each is measured, all in random order.  [5]"),
    ]
    interval: Annotated[
        int,
        rules.DurationNs(50_000, 1_000_000_000),
        Option("--interval", "TIME", "Period of the measuring threads: 1000us.  [1ms]"),
    ]
    priority: Annotated[
        int,
        rules.Whole(1, 99),
        Option("--priority", "N", "Their real-time priority, 1 to 99.  [90]"),
    ]
    policy: Annotated[
        Literal["fifo", "other"],
        rules.Choice(("fifo", "other")),
        Option("--policy", "fifo|other", "other needs no permission, marks every result.  [fifo]"),
    ]
    dma_latency: Annotated[
        Literal["hold", "system"],
        rules.Choice(("hold", "system")),
        Option(
            "--dma-latency",
            "hold|system",
            "Keep deep idle states off while measuring, as cyclictest does, or leave them.  [hold]",
        ),
    ]
    trace: Annotated[
        bool,
        rules.Flag(),
        Option("--trace", "", "Also split the path of wake-ups by kernel events."),
    ]
    keep_above: Annotated[
        int,
        rules.DurationNs(0, 1_000_000_000),
        Option(
            "--keep-above",
            "TIME",
            "Trace all the time; tell the cause of a run's worst wake-up later than this.  [no]",
        ),
    ] = 0
    deadlines: Annotated[
        tuple[int, ...],
        Deadlines(),
        Option("--deadline", "LIST", "Say of these latencies how often they occur: 100us,1ms."),
    ] = ()
    imported: Annotated[tuple[str, ...], rules.Names()] = ()

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

    def problems(self) -> list[Problem]:
        """What is wrong between fields that are each right."""
        if self.imported:
            return []
        found = []
        periods = int(self.seconds * 1e9) // self.interval
        if periods < _PERIODS_MIN:
            text = f"{self.duration:g} s hold {periods} periods of {duration_text(self.interval)}"
            found.append(Problem("duration", text, f"at least {_PERIODS_MIN}: measure longer"))
        runs = len(self.loads) * self.blocks * len(self.engines or ("one",))
        if runs > _RUNS_MAX:
            text = f"{runs} runs are more than {_RUNS_MAX}"
            found.append(Problem("repeats", text, "fewer repeats or loads, or shorter"))
        if self.blocks > 9999:
            text = f"{self.repeats} repeats of {self.segments} runs each are more than 9999"
            found.append(Problem("repeats", text, "fewer repeats, or shorter"))
        return found + self._of_cyclictest()

    def _of_cyclictest(self) -> list[Problem]:
        """What cyclictest cannot do."""
        if "cyclictest" not in (self.engines or ()):
            return []
        found = []
        if self.duration != int(self.duration):
            text = f"cyclictest measures whole seconds, not {self.duration:g}"
            found.append(Problem("duration", text, "round it, or --engine prober"))
        if self.interval % 1000:
            text = f"cyclictest knows whole microseconds, not {self.interval} ns"
            found.append(Problem("interval", text, "round it, or --engine prober"))
        return found


_DEFAULT: dict[str, Any] = {
    "preset": "default",
    "name": "latency",
    "seed": 1,
    "loads": "all",
    "engines": None,
    "cpus": None,
    "duration": "2s",
    "repeats": 5,
    "interval": "1ms",
    "priority": 90,
    "policy": "fifo",
    "dma_latency": "hold",
    "trace": False,
    "keep_above": "0ns",
    "deadlines": [],
    "imported": [],
}


def specify(*layers: Mapping[str, Any], names: Mapping[str, str] | None = None) -> LatencySpec:
    """The specification the layers describe over their preset.

    Args:
        names: What a path is called where it was written (``duration`` -> ``--duration``).

    Raises:
        UsageError: Naming every problem.
    """
    asked: dict[str, Any] = {}
    for layer in layers:
        asked.update(layer)
    preset = asked.get("preset", "default")
    base = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    name = f"latency-{preset}" if base else "latency"
    return read_spec({**_DEFAULT, "name": name, **base, **asked}, names=names)


def read_spec(values: Any, *, names: Mapping[str, str] | None = None) -> LatencySpec:
    """Validates a whole specification; raises UsageError naming every problem."""
    try:
        return _structure().build(values, LatencySpec)
    except RefusedError as error:
        problems = error.problems
    raise usage([renamed(problem, names or {}) for problem in problems])


def spec_dict(spec: LatencySpec) -> dict[str, Any]:
    """The canonical plain form: read_spec(spec_dict(s)) == s."""
    plain = attrs.asdict(spec, recurse=False)
    plain["loads"] = [load_word(point) for point in spec.loads]
    plain["interval"] = duration_text(spec.interval)
    plain["keep_above"] = duration_text(spec.keep_above)
    plain["imported"] = list(spec.imported)
    plain["deadlines"] = [duration_text(deadline) for deadline in spec.deadlines]
    for key in ("engines", "cpus"):
        plain[key] = None if plain[key] is None else list(plain[key])
    return plain


def resolve(
    spec: LatencySpec,
    *,
    engines: Mapping[str, str],
    cpus: Sequence[int],
    names: Mapping[str, str] | None = None,
) -> LatencySpec:
    """``spec`` on a machine: engines and CPUs are chosen where it leaves them open.

    Args:
        engines: Name -> why it cannot run there; "" where it can.
        cpus: CPUs that may be used.

    Raises:
        UsageError: A CPU or engine that is not there; no engine at all.
    """
    names = names or {}
    problems = []
    strange = [cpu for cpu in spec.cpus or () if cpu not in cpus]
    if strange:
        text, known = f"there is no CPU {strange[0]} to use", ", ".join(map(str, cpus))
        problems.append(Problem("cpus", text, f"use {known}"))
    wanted = spec.engines or tuple(
        name for name, why in engines.items() if not why and not _needs_more(name, spec, engines)
    )
    problems += [
        Problem("engines", f"{name}: {engines[name]}") for name in wanted if engines.get(name)
    ]
    if not wanted:
        reasons = "; ".join(f"{name}: {why}" for name, why in engines.items())
        raise UsageError(f"nothing here can measure: {reasons or 'there is no engine'}")
    plain_cpus = spec.cpus or tuple(cpus)
    problems += [] if strange else _no_strengths(spec.loads, len(plain_cpus))
    if problems:
        raise usage([renamed(problem, names) for problem in problems])
    plain = {**spec_dict(spec), "engines": list(wanted), "cpus": list(plain_cpus)}
    return read_spec(plain, names=names)


def _no_strengths(loads: Sequence[LoadPoint], cpus: int) -> list[Problem]:
    """Percentages that would be another strength than they say."""
    found = []
    for point in loads:
        offered = strengths(LOADS[point.profile], cpus)
        if point.percent and point.percent not in offered:
            text = f"{load_word(point)} is no whole number of workers on CPUs numbering {cpus}"
            found.append(Problem("loads", text, f"there {point.profile} has {_few(offered)} %"))
    return found


def _few(offered: Sequence[int]) -> str:
    return ", ".join(map(str, offered))


def _needs_more(name: str, spec: LatencySpec, engines: Mapping[str, str]) -> bool:
    """Whether an engine asks for a permission that the matrix is to do without, and another does
    not: cyclictest changes to SCHED_OTHER only where it could change to SCHED_FIFO."""
    return name == "cyclictest" and spec.policy == "other" and engines.get("prober") == ""


@cache
def _structure() -> Structure:
    return Structure(LatencySpec)
