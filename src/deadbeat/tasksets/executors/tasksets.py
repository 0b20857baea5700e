"""What experiments that run task sets are asked: the sets, how each is run, and how C is found.

Profiles, stress campaigns and searches for the breakdown utilisation are such specifications, each
with tables of its own. Values are layered (preset, then file, then command line) as plain dicts and
validated once, whole: every problem is reported, each with its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, TypeVar

import attrs
from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import checked, keyed, plain_of, usage
from deadbeat.machine.host.environment import require_usable
from deadbeat.tasksets.catalog import POOLS
from deadbeat.tasksets.executors.base import SLOT_MIN_NS, RunSettings
from deadbeat.tasksets.model.results import Point
from deadbeat.tasksets.synthesis import SynthesisParameters
from deadbeat.tasksets.synthesis.distributions import PERIODS, UTILISATION_METHODS, WCETS, Weighted
from deadbeat.tasksets.synthesis.parameters import PRIORITIES

#: Task sets of one program at most: what the build cost per set was measured with.
BATCH_LIMIT = 1000
#: Twenty times the paper's grid: more would take months and gigabytes of plan.
RUNS_MAX = 400_000
#: Slots are numbered in 16 bits (runtime/include/deadbeat/records.h).
SLOTS_MAX = 65_535

_PER_CORE = rules.Whole(1, 64)
_WCET = rules.DurationNs(1_000, 1_000_000_000)
_PARAMETER = re.compile(r"\b(?:utilisation(?:_m\w+)?|(?:wcet|period)_m\w\w_ns)\b")
_PERIOD = rules.DurationNs(1_000, 10_000_000_000)


@frozen(kw_only=True)
class GridSpec:
    """Axes in thousandths, and task sets per point."""

    sync_share: tuple[int, ...] = keyed(
        rules.Shares(),
        "--sync-share LIST",
        "Share of time synchronising (rho): 0,0.5,1 or 0..1:0.1.",
    )
    contended_ratio: tuple[int, ...] = keyed(
        rules.Shares(),
        "--contended-ratio LIST",
        "Share of that across cores (alpha): 0,0.5,1 or 0..1:0.1.",
    )
    replicas: int = keyed(
        rules.Whole(1, 10_000),
        "--sets N",
        "Task sets at each point.  [10]",
    )

    @property
    def mixed(self) -> bool:
        """Whether some sets have segments of both kinds."""
        return any(0 < share < 1000 for share in self.sync_share)


@frozen(kw_only=True)
class RunSpec:
    """How one task set is run; the words of ``RunSettings``."""

    seconds: float = keyed(
        rules.Seconds("0.05", "3600"),
        "--duration TIME",
        "Measuring time of each set.  [by preset]",
    )
    jobs: int = keyed(
        rules.Whole(0, 5000),
        "--jobs N",
        "Run until each task has this many jobs.  [0]",
        default=0,
    )
    slot_periods: int = keyed(
        rules.Whole(0, 100_000),
        "--slot-periods N",
        "Length of a slot in periods of its slowest task; 0 chooses 5, within 5 to 20 ms.",
        default=0,
    )
    warmup_jobs: int = keyed(
        rules.Whole(0, 1000),
        "--warmup-jobs N",
        "Periods at the start of each slot that do not count.",
        default=1,
    )
    overrun: Literal["skip", "late"] = fields.choice(
        "--overrun skip|late", "What to do when a job is released before the previous one ended."
    )
    policy: Literal["fifo", "other"] = fields.policy("fifo", "other")
    split: bool = fields.flag("--split", "Record the CPU time and context switches of every job.")
    counters: bool = fields.flag(
        "--counters", "Count cache misses and other perf events of each task."
    )
    causes: bool = fields.flag("--causes", "Record why jobs were late: who had the core or lock.")
    layout: Literal["default", "shared-address-space"] = keyed(
        rules.Choice(("default", "shared-address-space")),
        "--layout NAME",
        "How cores share memory: default (a process each) or shared-address-space (one for all).",
        default="default",
    )

    @property
    def settings(self) -> RunSettings:
        """How every run is carried out."""
        return RunSettings(**{**attrs.asdict(self), "split": self.split or self.causes})


@frozen(kw_only=True)
class TasksSpec:
    """What a task set is made of; the words of ``SynthesisParameters``.

    Without ``utilisation``, C is drawn and T follows; with it ``deadline_factor`` says nothing.
    """

    per_core: int = keyed(_PER_CORE, "--tasks-per-core N", "Tasks per core.", default=1)
    segments_max: int = keyed(
        rules.Whole(1, 256), "--segments-max N", "Most segments that a task consists of.", default=8
    )
    wcet_min: int = keyed(
        _WCET, "--wcet-min TIME", "Shortest execution time (C) of a task.", default=100_000
    )
    wcet_max: int = keyed(
        _WCET, "--wcet-max TIME", "Longest execution time (C) of a task.", default=500_000
    )
    distribution: str | Weighted = keyed(
        WCETS,
        "--distribution NAME",
        "How C is distributed: uniform, log-uniform, normal, exponential, or a FILE of lines"
        " like 100us 3: value and weight.",
        default="uniform",
    )
    ns_memory_share: Fraction | None = keyed(
        rules.Ratio("0", "1"),
        "U",
        "Share of computation in fragments bound by memory.  [as drawn]",
        default=None,
    )
    deadline_factor: tuple[Fraction, ...] = keyed(
        rules.Factors(1, 1000),
        "--deadline-factor LIST",
        "Period and deadline as multiples of C: 2,5,10 or 2..10.",
        default=(Fraction(10),),
    )
    classes_min: int = keyed(
        rules.Whole(1, 64),
        "--classes-min N",
        "Fewest classes of synchronisation objects in a task set.",
        default=1,
    )
    classes_max: int = keyed(
        rules.Whole(1, 64),
        "--classes-max N",
        "Most classes of synchronisation objects in a task set.",
        default=3,
    )
    priorities: str = keyed(
        rules.Choice(PRIORITIES),
        "--priorities NAME",
        "How priorities are assigned: uniform (all equal), rate-monotonic or random.",
        default="uniform",
    )
    fragments: tuple[str, ...] = keyed(
        rules.NAMES,
        "--fragments LIST",
        "Use only these fragments of their kinds: matmul,futex.",
        default=(),
    )
    utilisation: Fraction | None = keyed(
        rules.Ratio("0.001", "1"),
        "--utilisation U",
        "Utilisation of each core; periods are then drawn.",
        default=None,
    )
    utilisation_method: str = keyed(
        rules.Choice(tuple(UTILISATION_METHODS)),
        "--utilisation-method NAME",
        "How utilisation is divided among the tasks of a core: uunifast-discard or fixed-sum.",
        default="uunifast-discard",
    )
    utilisation_min: Fraction = keyed(
        rules.Ratio("0", "1"),
        "--utilisation-min U",
        "Least utilisation of a task.",
        default=Fraction(0),
    )
    utilisation_max: Fraction = keyed(
        rules.Ratio("0.001", "1"),
        "--utilisation-max U",
        "Greatest utilisation of a task.",
        default=Fraction(1),
    )
    periods: str = keyed(
        rules.Choice(tuple(PERIODS)),
        "--periods NAME",
        "How periods are drawn: log-uniform or harmonic.",
        default="log-uniform",
    )
    period_min: int = keyed(_PERIOD, "--period-min TIME", "Shortest period drawn.", default=500_000)
    period_max: int = keyed(
        _PERIOD, "--period-max TIME", "Longest period drawn.", default=10_000_000
    )

    def problems(self) -> list[Problem]:
        """What is wrong between fields that are each right."""
        pairs = [
            ("wcet_min", "wcet_max", f"{self.wcet_min}ns", f"{self.wcet_max}ns"),
            ("classes_min", "classes_max", self.classes_min, self.classes_max),
            ("period_min", "period_max", f"{self.period_min}ns", f"{self.period_max}ns"),
            ("utilisation_min", "utilisation_max", self.utilisation_min, self.utilisation_max),
        ]
        found = [
            Problem(low, f"{a} is above {high} = {b}", f"lower it or raise {high}")
            for low, high, a, b in pairs
            if getattr(self, low) > getattr(self, high)
        ]
        return found or [*outside("distribution", self.distribution, self.wcet_min, self.wcet_max)]

    def parameters(
        self, point: Point, *, tasks: int, factor: Fraction | None, **drawn: Any
    ) -> SynthesisParameters:
        """What a task set at ``point`` is asked to be.

        Args:
            tasks: N.
            factor: T / C; None: T is drawn.
            drawn: What is said of this set instead, by the names of these fields.
        """
        values = attrs.asdict(self, recurse=False) | drawn
        del values["per_core"], values["deadline_factor"]
        if factor is not None:
            values["deadline_factor"] = factor
        for name in ("wcet_min", "wcet_max", "period_min", "period_max"):
            values[f"{name}_ns"] = values.pop(name)
        return SynthesisParameters(
            cores=point.cores,
            tasks=tasks,
            sync_share=Fraction(point.sync_share_milli, 1000),
            contended_ratio=Fraction(point.contended_ratio_milli, 1000),
            **values,
        )


@frozen(kw_only=True)
class CalibrationSpec:
    """How costs are found."""

    pool: str = keyed(
        rules.Choice(POOLS),
        "--pool NAME",
        "Fragments to use: full, quick (few), or portable (those of every port).  [full; quick:"
        " quick]",
    )
    seconds: float = keyed(
        rules.Seconds("1", "86400"),
        "--calibration-seconds S",
        "Time for calibrating the fragments.  [100s; quick: 14s]",
    )
    basis: str = fields.choice(
        "--cost-basis warm|cold",
        "Measure first uses warm, or cold: without caches, translations, predictions.",
    )
    uses: int = keyed(
        rules.Whole(0, 100_000),
        "--calibration-uses N",
        "Least uses of each fragment to calibrate with, however long it takes.  [0; preset paper:"
        " 1000]",
        default=0,
    )
    prices: float = keyed(
        rules.Seconds("0", "3600"),
        "--price-seconds S",
        "Time for the prices of sharing before the first set; 0: none.  [40s; quick: 12s]",
        default=0.0,
    )

    @property
    def about_seconds(self) -> float:
        """How long it takes, before anything is known, for the full pool."""
        return max(self.seconds, about_seconds(self.uses, [self.basis]))


#: What a use of every fragment of the full pool takes together, s.
_USE_S = {"warm": 0.5, "cold": 2.5}


def about_seconds(uses: int, bases: Iterable[str]) -> float:
    return uses * sum(_USE_S[each] for each in bases)


#: As the contention paper: a mean of 1,000 uses, each after caches and predictors were cleared.
PAPER_USES = 1000
PAPER_CALIBRATION = {"basis": "cold", "uses": PAPER_USES}
#: What every such specification begins with, where presets say otherwise.
DEFAULT: dict[str, Any] = {
    "run": {"seconds": 2.0},
    "tasks": {},
    "calibration": {"pool": "full", "seconds": 100.0, "prices": 40.0},
}
#: What is said of the time there is in the presets that are done while one waits.
QUICK_CALIBRATION = {"pool": "quick", "seconds": 14.0, "prices": 12.0}


@frozen(kw_only=True)
class TaskSetSpec:
    """What every experiment with task sets is asked.

    Attributes:
        name: Base name of its folder.
        seed: Everything random derives from it.
        cores: Values of M; None: chosen on the machine (`fitted`).
        cpus: CPU numbers of the logical cores; None: chosen on the machine.
    """

    name: str = fields.name("Name of the folder of results.  [the preset's]")
    seed: int = fields.SEED
    cores: tuple[int, ...] | None = keyed(
        rules.CORES, "--cores LIST", "Numbers of cores (M): 1,2,4 or 1..4.  [all]", default=None
    )
    cpus: tuple[int, ...] | None = fields.cpus(
        "CPUs to use, in the order of the cores: 0-3.", shared=True
    )
    run: RunSpec
    tasks: TasksSpec
    calibration: CalibrationSpec

    @property
    def core_counts(self) -> tuple[int, ...]:
        """Every M that can occur; empty before it is `fitted` where the machine decides."""
        return self.cores or ()

    @property
    def by_utilisation(self) -> bool:
        """Whether T is drawn and C follows."""
        return self.tasks.utilisation is not None

    @property
    def fills_cores(self) -> bool:
        """Whether some cores only compute."""
        return False

    def most_tasks(self, cores: int) -> int:
        """N of the largest set at ``cores`` cores."""
        return cores * self.tasks.per_core

    def problems(self) -> list[Problem]:
        """What is wrong between tables that are each right."""
        return [*self._wrong_plan(), *self._wrong_timing()]

    def _wrong_plan(self) -> Iterator[Problem]:
        if self.name == "latest":
            yield Problem("name", "latest is the link to the last campaign", "choose another")
        # by the rule no slot is shorter than SLOT_MIN_NS
        most_s = SLOTS_MAX * SLOT_MIN_NS / 1e9
        if self.run.seconds > most_s and not self.run.slot_periods:
            text = f"a run of {self.run.seconds:g} s can have more than {SLOTS_MAX} slots"
            hint = f"at most {most_s:.0f}; or longer slots: slot_periods"
            yield Problem("run.seconds", text, hint)
        # several logical cores on one CPU try the runtime at a scale; they measure nothing
        if self.cpus and len(set(self.cpus)) < len(self.cpus) and self.run.policy != "other":
            text = "several cores share a CPU: each would wait for the others"
            yield Problem("cpus", text, "list each CPU once, or try it with --policy other")

    def _wrong_timing(self) -> Iterator[Problem]:
        """T follows from C, or C from T: not both."""
        if not self.by_utilisation:
            for field in attrs.fields(TasksSpec):
                of_it = field.name.startswith(("utilisation_", "period"))
                if of_it and getattr(self.tasks, field.name) != field.default:
                    hint = "give a utilisation, or drop it"
                    text = "only works with a utilisation"
                    yield Problem(f"tasks.{field.name}", text, hint)
            return
        if self.tasks.deadline_factor != (Fraction(10),):
            text = "with a utilisation T is drawn, C = u T and D = T"
            yield Problem("tasks.deadline_factor", text, "leave one of the two out")
        if not self.fills_cores and self.tasks.distribution != "uniform":
            text = "with a utilisation C follows from u and T"
            yield Problem("tasks.distribution", text, "leave one of the two out")


def outside(where: str, drawn: object, low: int, high: int) -> Iterator[Problem]:
    """The problem where a distribution of the user's own has a value out of the bounds of C."""
    text = rules.duration_text
    for value in [v for v in getattr(drawn, "values_ns", ()) if not low <= v <= high][:1]:
        found = f"{text(value)} is not within wcet_min to wcet_max, {text(low)} to {text(high)}"
        yield Problem(where, found, "change wcet_min and wcet_max, or the file")


def too_few_segments(
    mixed: bool, least: int, where: str = "tasks.segments_max"
) -> Iterator[Problem]:
    """The problem where sets have at least ``least`` segments, and some are ``mixed`` of both."""
    if mixed and least < 2:
        hint = "a share between 0 and 1 needs a segment of each kind: 2 or more"
        yield Problem(where, "1 is too low", hint)


# ---------- on a machine ----------

S = TypeVar("S", bound=TaskSetSpec)


def usable_cpus(spec: TaskSetSpec, platform: Platform, names: Mapping[str, str]) -> tuple[int, ...]:
    """The CPUs that are asked for, else all there are. Raises UsageError: one of them does not
    exist here."""
    cpus = platform.cpus if spec.cpus is None else spec.cpus
    require_usable(cpus, platform.cpus, platform.details, names.get("cpus", "cpus"))
    return tuple(cpus)


def fitted(
    spec: S,
    platform: Platform,
    names: Mapping[str, str],
    *,
    few: bool = False,
    lenient: bool = False,
) -> tuple[S, tuple[int, ...]]:
    """With cores and CPUs filled in, and the core counts that do not exist here and are left out.
    ``names``: what a path is called where it was written (``cores`` -> ``--cores``). ``few``: where
    no core counts are asked: one and all of them, instead of every one. ``lenient``: leave out what
    does not exist here instead of refusing it. Raises UsageError: a CPU or a core count that does
    not exist here."""
    cpus = usable_cpus(spec, platform, names)
    available = len(cpus)
    every = sorted({1, available}) if few else range(1, available + 1)
    cores = tuple(every) if spec.cores is None else spec.cores
    missing = tuple(count for count in cores if count > available)
    fitting = tuple(count for count in cores if count <= available)
    if (missing and not lenient) or not fitting:
        text = f"none of M = {cores} exists" if lenient else f"{missing[0]} asked"
        raise usage([Problem(names.get("cores", "cores"), text, cores_hint(available))])
    return checked_again(attrs.evolve(spec, cores=fitting, cpus=cpus), names), missing


def checked_again(spec: S, names: Mapping[str, str]) -> S:
    """``spec`` by all its rules, now that the machine is known."""
    return checked(type(spec), plain_of(spec), names)


def cores_hint(available: int) -> str:
    return f"{available} can be used; more, simulated: --executor sim:cores=N"


def check_utilisations(
    made: Iterable[SynthesisParameters], names: Mapping[str, str], *, where: str
) -> None:
    """Whether every set can be had: what is drawn together need not be possible together.
    ``made``: the sets, made one after the other; ``where``: the path of the utilisation. Raises
    UsageError: one of them cannot, with parameters as options, or keys of a campaign file."""
    typed = any(option.startswith("--utilisation") for option in names.values())

    def written(match: re.Match[str]) -> str:
        key = match[0].removesuffix("_ns")
        return "--" + key.replace("_", "-") if typed else key

    try:
        for _ in made:
            pass
    except UsageError as error:
        text, _, cure = error.message.removeprefix("utilisation: ").partition("; ")
        hint = _PARAMETER.sub(written, cure) or error.hint
        raise usage([Problem(names.get(where, where), text, hint)]) from None
