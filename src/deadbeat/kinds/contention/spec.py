"""What a campaign is: every parameter, its range, its default by preset.

A specification is layered (preset, then campaign file, then command line) as plain dicts and
validated once, whole: every problem is reported, each with its path. The canonical form goes into
the campaign's folder; resuming compares against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
from attrs import frozen

from deadbeat.kinds.contention import checks, stress
from deadbeat.kinds.contention.precision import PrecisionSpec, contradictions, with_most_sets
from deadbeat.kinds.contention.stress import Group, StressSpec
from deadbeat.model import rules
from deadbeat.model.rules import Problem, RefusedError
from deadbeat.model.specification import Option, Structure, renamed, usage
from deadbeat.model.words import nearest, shown
from deadbeat.synthesis.parameters import PRIORITIES
from deadbeat.synthesis.periods import PERIODS
from deadbeat.synthesis.utilisations import UTILISATION_METHODS

Shares = Annotated[tuple[int, ...], rules.Shares()]
Text = Annotated[str, rules.Name()]

DISTRIBUTIONS = ("uniform", "log-uniform", "normal", "exponential")
POOLS = ("full", "quick")
MODES = ("profile", "stress")


@frozen(kw_only=True)
class GridSpec:
    """Axes in thousandths, and task sets per point."""

    sync_share: Shares
    contended_ratio: Shares
    replicas: Annotated[int, rules.Whole(1, 10_000)]


@frozen(kw_only=True)
class LoadedSpec:
    """A row of points beside the grid whose task sets load their cores: they show misses.

    Attributes:
        per_core, deadline_factor: As in [tasks].
        sync_share, contended_ratio: Axes, as in [grid]; it gets the grid's cores and replicas.
    """

    per_core: Annotated[int, rules.Whole(1, 64)]
    deadline_factor: Annotated[Fraction, rules.Factor(1, 1000)]
    sync_share: Shares
    contended_ratio: Shares


@frozen(kw_only=True)
class RunSpec:
    """How one task set is run; the words of ``RunSettings``."""

    seconds: Annotated[
        float,
        rules.Seconds("0.05", "3600"),
        Option("--seconds", "S", "Measuring time per task set: 1 or 600ms."),
    ]
    slot_periods: Annotated[
        int,
        rules.Whole(0, 100_000),
        Option(
            "--slot-periods",
            "N",
            "Length of a slot in periods of its slowest task.  [5, within 5 to 20 ms]",
        ),
    ] = 0
    warmup_jobs: Annotated[
        int,
        rules.Whole(0, 1000),
        Option("--warmup-jobs", "N", "Periods at the start of a slot that do not count.  [1]"),
    ]
    overrun: Annotated[
        Literal["skip", "late"],
        rules.Choice(("skip", "late")),
        Option("--overrun", "skip|late", "A release while the last job still runs.  [skip]"),
    ]
    policy: Annotated[
        Literal["fifo", "other"],
        rules.Choice(("fifo", "other")),
        Option("--policy", "fifo|other", "other needs no permission, marks every result."),
    ]
    split: Annotated[bool, rules.Flag()]
    counters: Annotated[bool, rules.Flag()] = False
    causes: Annotated[bool, rules.Flag()] = False
    layout: Annotated[
        Literal["default", "shared-address-space"],
        rules.Choice(("default", "shared-address-space")),
        Option(
            "--layout",
            "NAME",
            "default (a process per core) or shared-address-space; the latter marks every result.",
        ),
    ]


@frozen(kw_only=True)
class TasksSpec:
    """What a task set is made of; the words of ``SynthesisParameters``.

    Without ``utilisation``, C is drawn and T follows; with it ``deadline_factor`` says nothing.
    """

    per_core: Annotated[int, rules.Whole(1, 64), Option("--tasks-per-core", "N", "N/M.  [1]")]
    segments_max: Annotated[
        int, rules.Whole(1, 256), Option("--segments-max", "N", "Most segments of a task.  [8]")
    ]
    wcet_min: Annotated[
        int,
        rules.DurationNs(1_000, 1_000_000_000),
        Option("--wcet-min", "TIME", "Shortest C: 100us, 0.5ms, 500_000ns."),
    ]
    wcet_max: Annotated[
        int, rules.DurationNs(1_000, 1_000_000_000), Option("--wcet-max", "TIME", "Longest C.")
    ]
    distribution: Annotated[
        str,
        rules.Choice(DISTRIBUTIONS),
        Option("--distribution", "NAME", "uniform, log-uniform, normal, exponential."),
    ]
    deadline_factor: Annotated[
        tuple[Fraction, ...],
        rules.Factors(1, 1000),
        Option(
            "--deadline-factor",
            "LIST",
            "T = D = X times C; 2,5,10 or 2..10: every task set at each.  [10]",
        ),
    ]
    classes_min: Annotated[
        int,
        rules.Whole(1, 64),
        Option("--classes-min", "N", "Fewest SY classes of a task set.  [1]"),
    ]
    classes_max: Annotated[
        int, rules.Whole(1, 64), Option("--classes-max", "N", "Most SY classes of a task set.  [3]")
    ]
    priorities: Annotated[
        str,
        rules.Choice(PRIORITIES),
        Option("--priorities", "NAME", "uniform, rate-monotonic, random."),
    ]
    fragments: Annotated[
        tuple[str, ...],
        rules.Names(),
        Option("--fragments", "LIST", "Only these of their kind (NS or SY): matmul,futex."),
    ]
    utilisation: Annotated[
        Fraction | None,
        rules.Ratio("0.001", "1", optional=True),
        Option("--utilisation", "U", "Sum of C/T on each core; T is then drawn and C follows."),
    ] = None
    utilisation_method: Annotated[
        str,
        rules.Choice(tuple(UTILISATION_METHODS)),
        Option(
            "--utilisation-method",
            "NAME",
            "How it is divided among the tasks of a core: uunifast-discard or fixed-sum.",
        ),
    ] = "uunifast-discard"
    utilisation_min: Annotated[
        Fraction,
        rules.Ratio("0", "1"),
        Option("--utilisation-min", "U", "Least C/T of a task.  [0]"),
    ] = Fraction(0)
    utilisation_max: Annotated[
        Fraction,
        rules.Ratio("0.001", "1"),
        Option("--utilisation-max", "U", "Greatest C/T of a task.  [1]"),
    ] = Fraction(1)
    periods: Annotated[
        str,
        rules.Choice(tuple(PERIODS)),
        Option("--periods", "NAME", "How T is drawn: log-uniform or harmonic."),
    ] = "log-uniform"
    period_min: Annotated[
        int,
        rules.DurationNs(1_000, 10_000_000_000),
        Option("--period-min", "TIME", "Shortest T drawn.  [500us]"),
    ] = 500_000
    period_max: Annotated[
        int,
        rules.DurationNs(1_000, 10_000_000_000),
        Option("--period-max", "TIME", "Longest T drawn.  [10ms]"),
    ] = 10_000_000

    def problems(self) -> list[Problem]:
        """What is wrong between fields that are each right."""
        pairs = [
            ("wcet_min", "wcet_max", f"{self.wcet_min}ns", f"{self.wcet_max}ns"),
            ("classes_min", "classes_max", self.classes_min, self.classes_max),
            ("period_min", "period_max", f"{self.period_min}ns", f"{self.period_max}ns"),
            ("utilisation_min", "utilisation_max", self.utilisation_min, self.utilisation_max),
        ]
        return [
            Problem(low, f"{a} is above {high} = {b}", f"lower it or raise {high}")
            for low, high, a, b in pairs
            if getattr(self, low) > getattr(self, high)
        ]


@frozen(kw_only=True)
class CalibrationSpec:
    """How costs are found."""

    pool: Annotated[
        str,
        rules.Choice(POOLS),
        Option("--pool", "full|quick", "Which entries are calibrated and used."),
    ]
    seconds: Annotated[
        float,
        rules.Seconds("1", "86400"),
        Option("--calibration-seconds", "S", "Time for the calibration."),
    ]
    basis: Annotated[
        str,
        rules.Choice(("warm", "cold")),
        Option("--cost-basis", "warm|cold", "Cost of a first use.  [warm]"),
    ]


#: Two tasks a core that ask for all of it: what contends misses its deadlines here.
_LOADED = {
    "per_core": 2,
    "deadline_factor": 2,
    "sync_share": [1],
    "contended_ratio": [0, 1],
}
#: A long campaign gives the sets it saves to the widest intervals: ten a point on average.
_TO_THE_WIDEST = {"target": 0.02, "sets_min": 6, "sets_max": 40, "sets_mean": 10}
#: What a preset changes. quick on 2 cores: 20 s of calibration and 132 sets of 1.05 s. Many short
#: sets rather than few long ones: sets differ by their classes far more than jobs do.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "quick": {
        "grid": {"sync_share": {"step": 0.5}, "contended_ratio": {"step": 0.5}, "replicas": 6},
        "run": {"seconds": 1.0},
        "calibration": {"pool": "quick", "seconds": 20.0},
    },
    "paper": {
        "cores": list(range(1, 17)),
        "grid": {"sync_share": {"step": 0.1}, "contended_ratio": {"step": 0.1}},
    },
}


@frozen(kw_only=True)
class CampaignSpec:
    """A campaign: of Mode 1, M x rho x alpha with replicas, or of Mode 2, random task sets.

    Attributes:
        mode: ``profile`` (with a grid) or ``stress`` (with what is drawn).
        name: Base name of its folder.
        preset: What its defaults came from.
        seed: Everything random derives from it.
        cores: Values of M; None: chosen on the machine (``resolve``). A stress campaign has its
            own in [stress].
        cpus: CPU numbers of the logical cores; None: chosen on the machine.
        loaded: A second row of points; None: the grid alone.
        precision: When a point has enough sets; None: when it has as many as are asked.
    """

    mode: Annotated[str, rules.Choice(MODES)] = "profile"
    name: Text
    preset: Annotated[str, rules.Choice(tuple(sorted({*PRESETS, *stress.PRESETS})))]
    seed: Annotated[int, rules.Whole(0, 2**63 - 1)]
    cores: Annotated[tuple[int, ...] | None, rules.Cores()] = None
    cpus: Annotated[tuple[int, ...] | None, rules.Cpus(shared=True)]
    grid: GridSpec | None = None
    loaded: LoadedSpec | None = None
    stress: StressSpec | None = None
    run: RunSpec
    tasks: TasksSpec
    calibration: CalibrationSpec
    precision: PrecisionSpec | None = None

    @property
    def core_counts(self) -> tuple[int, ...]:
        """Every M that can occur; empty before ``resolve`` where the machine decides."""
        if self.stress is None:
            return self.cores or ()
        found = {m for group in stress.groups(self.stress) for m in (group.low, group.high)}
        return tuple(sorted(found))

    @property
    def longest_period_ns(self) -> Fraction:
        """T of the slowest task there can be."""
        longest = [self._largest("wcet_max") * max(self.tasks.deadline_factor)]
        if self.by_utilisation:
            longest = [Fraction(self.tasks.period_max)]
        if self.stress is not None and any(self.stress.critical_cores):
            # Of N tasks as many are on each core, up to one; C / T of each is its part of the fill.
            part = self.stress.fill_utilisation / self.most_tasks(1)
            longest.append(self._largest("wcet_max") / part)
        return max(longest)

    @property
    def by_utilisation(self) -> bool:
        """Whether T is drawn and C follows."""
        drawn = None if self.stress is None else self.stress.utilisation
        return drawn is not None or self.tasks.utilisation is not None

    def most_tasks(self, cores: int, group: Group | None = None) -> int:
        """N of the largest set at ``cores`` cores; None: of all groups."""
        if self.stress is None:
            loaded = 0 if self.loaded is None else self.loaded.per_core
            return cores * max(self.tasks.per_core, loaded)
        several = stress.groups(self.stress) if group is None else (group,)
        drawn = [self.stress.per_core_of(one) for one in several] or [self.stress.per_core]
        return cores * max(self.tasks.per_core if d is None else d.largest for d in drawn)

    def _largest(self, name: str) -> int:
        """Of all sets, of a number in [tasks] that [stress] may draw."""
        drawn = getattr(self.stress, name, None)
        return int(getattr(self.tasks, name)) if drawn is None else int(drawn.largest)

    def problems(self) -> list[Problem]:
        """What is wrong between sections that are each right."""
        known = PRESETS if self.mode == "profile" else stress.PRESETS
        return checks.between_sections(self, presets=tuple(known))


#: The keys of a campaign file: section -> class; fields of the top level beside them.
SECTIONS: dict[str, type] = {
    "grid": GridSpec,
    "loaded": LoadedSpec,
    "stress": StressSpec,
    "run": RunSpec,
    "tasks": TasksSpec,
    "calibration": CalibrationSpec,
    "precision": PrecisionSpec,
}

_DEFAULT: dict[str, Any] = {
    "seed": 1,
    "cores": None,
    "cpus": None,
    "grid": {"sync_share": {"step": 0.25}, "contended_ratio": {"step": 0.25}, "replicas": 10},
    "run": {
        "seconds": 2.0,
        "warmup_jobs": 1,
        "overrun": "skip",
        "policy": "fifo",
        "split": False,
        "layout": "default",
    },
    "tasks": {
        "per_core": 1,
        "segments_max": 8,
        "wcet_min": "100us",
        "wcet_max": "500us",
        "distribution": "uniform",
        "deadline_factor": 10,
        "classes_min": 1,
        "classes_max": 3,
        "priorities": "uniform",
        "fragments": [],
    },
    "calibration": {"pool": "full", "seconds": 100.0, "basis": "warm"},
}


#: Presets with a loaded row, and what one asks who wants points of one's own instead.
_WITH_LOADED = ("default", "quick")
_OWN_POINTS = (
    ("grid", "sync_share"),
    ("grid", "contended_ratio"),
    ("tasks", "per_core"),
    ("tasks", "deadline_factor"),
    ("tasks", "utilisation"),
)


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Later layers win, key by key inside a section; nothing is checked."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in SECTIONS and isinstance(value, Mapping) and isinstance(merged.get(key), dict):
                merged[key] = {**merged[key], **value}
            else:
                merged[key] = dict(value) if isinstance(value, Mapping) else value
    return merged


def specify(*layers: Mapping[str, Any], names: Mapping[str, str] | None = None) -> CampaignSpec:
    """The specification the layers describe over their preset.

    Args:
        names: What a path is called where it was written (``run.seconds`` -> ``--seconds``).

    Raises:
        UsageError: Naming every problem.
    """
    asked = layered(*layers)
    problems = [*_unknown_preset(asked), *contradictions(layers, names or {})]
    stressed = asked.get("mode", "profile") == "stress"
    values = with_most_sets(_stress_values(asked) if stressed else _profile_values(asked))
    try:
        spec = _structured(values)
    except RefusedError as error:
        problems += error.problems
    if problems:
        raise usage(tuple(renamed(problem, names or {}) for problem in problems))
    return spec


def _unknown_preset(asked: dict[str, Any]) -> list[Problem]:
    """Whether the mode has no such preset, which is then taken out."""
    stressed = asked.get("mode", "profile") == "stress"
    known = (*stress.PRESETS, *stress.ALIASES) if stressed else tuple(PRESETS)
    preset = asked.get("preset")
    if not isinstance(preset, str) or preset in known:
        return []
    del asked["preset"]
    other, others = ("profile", PRESETS) if stressed else ("stress", stress.PRESETS)
    text = f"{shown(preset)} is not a choice"
    if preset in others:
        text = f"{preset} is a preset of deadbeat {other}"
        return [Problem("preset", text, "one of " + ", ".join(known))]
    return [Problem("preset", text, nearest(preset, known))]


def _profile_values(asked: dict[str, Any]) -> dict[str, Any]:
    """What ``asked`` says over the defaults and the preset of a profile."""
    preset = asked.get("preset", "default")
    base = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    defaults: dict[str, Any] = {"preset": "default", "name": preset if base else "default"}
    if preset in _WITH_LOADED and not any(_says(asked, *place) for place in _OWN_POINTS):
        defaults["loaded"] = _LOADED
    if preset == "default" and not _says(asked, "grid", "replicas") and "precision" not in asked:
        defaults["precision"] = _TO_THE_WIDEST
    return layered(_DEFAULT, base, defaults, asked)


def _says(asked: Mapping[str, Any], section: str, key: str) -> bool:
    """Whether ``asked`` has a value of its own there."""
    values = asked.get(section)
    return isinstance(values, Mapping) and values.get(key) is not None


def _stress_values(asked: dict[str, Any]) -> dict[str, Any]:
    """What ``asked`` says over the defaults and the preset of a stress campaign."""
    preset = asked.get("preset", "random")
    if isinstance(preset, str) and preset in stress.ALIASES:
        preset = asked["preset"] = stress.ALIASES[preset]
    known = isinstance(preset, str) and preset in stress.PRESETS
    base = stress.PRESETS[preset] if known else {}
    name = f"stress-{preset}" if known else "stress"
    common = {key: value for key, value in _DEFAULT.items() if key not in ("grid", "cores")}
    defaults = {"mode": "stress", "preset": "random", "name": name, "stress": stress.DEFAULT}
    return layered(common, defaults, base, asked)


def is_of_windows(values: Any) -> bool:
    """Whether a stored specification is of a version that cut runs into windows and judged each."""
    return isinstance(values, Mapping) and "quiet" in values


def _without_windows(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` of such a version, as far as they say something now."""
    kept = {key: value for key, value in values.items() if key != "quiet"}
    run = kept.get("run")
    if isinstance(run, Mapping):
        gone = ("solo_seconds", "windows")
        kept["run"] = {key: value for key, value in run.items() if key not in gone}
    return kept


def read_spec(values: Any, *, names: Mapping[str, str] | None = None) -> CampaignSpec:
    """Validates a whole specification; raises UsageError naming every problem."""
    if is_of_windows(values):
        values = _without_windows(values)
    try:
        return _structured(values)
    except RefusedError as error:
        problems = error.problems
    raise usage(tuple(renamed(problem, names or {}) for problem in problems))


def _structured(values: Any) -> CampaignSpec:
    """The specification; raises RefusedError with every problem and its full path."""
    return _structure().build(values, CampaignSpec)


def names_in_file(file: Path, written: Mapping[str, Any]) -> dict[str, str]:
    """What the paths of ``written`` are called in messages: ``f.toml: run.seconds``."""
    found = {}
    for key, value in written.items():
        below = value if key in SECTIONS and isinstance(value, Mapping) else {}
        paths = [str(key), *(f"{key}.{name}" for name in below)]
        found.update({path: f"{file}: {path}" for path in paths})
    return found


def spec_dict(spec: CampaignSpec) -> dict[str, Any]:
    """The canonical plain form: read_spec(spec_dict(s)) == s."""
    plain = attrs.asdict(spec)
    if spec.grid is None:
        del plain["grid"]
    else:
        for axis in ("sync_share", "contended_ratio"):
            plain["grid"][axis] = [milli / 1000 for milli in plain["grid"][axis]]
    if spec.loaded is None:
        del plain["loaded"]
    else:
        for axis in ("sync_share", "contended_ratio"):
            plain["loaded"][axis] = [milli / 1000 for milli in plain["loaded"][axis]]
        plain["loaded"]["deadline_factor"] = str(spec.loaded.deadline_factor)
    if spec.stress is None:
        del plain["stress"]
    else:
        plain["stress"] = stress.plain(spec.stress)
    for bound in ("wcet_min", "wcet_max", "period_min", "period_max"):
        plain["tasks"][bound] = f"{plain['tasks'][bound]}ns"
    for share in ("utilisation", "utilisation_min", "utilisation_max"):
        value = plain["tasks"][share]
        plain["tasks"][share] = None if value is None else str(value)
    factors = [str(factor) for factor in spec.tasks.deadline_factor]
    plain["tasks"]["deadline_factor"] = factors[0] if len(factors) == 1 else factors
    plain["tasks"]["fragments"] = list(spec.tasks.fragments)
    for key in ("cores", "cpus"):
        plain[key] = None if plain[key] is None else list(plain[key])
    return plain


@cache
def _structure() -> Structure:
    return Structure(CampaignSpec, SECTIONS)
