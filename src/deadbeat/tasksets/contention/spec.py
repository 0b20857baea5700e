"""What a campaign is: every parameter, its range, its default by preset.

The canonical form goes into the campaign's folder; resuming compares against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.rules import Problem, RefusedError
from deadbeat.base.model.specification import (
    built,
    checked,
    keyed,
    layered,
    plain_of,
    renamed,
    usage,
)
from deadbeat.base.model.words import Json, inside, nearest, shown
from deadbeat.tasksets.contention import stress
from deadbeat.tasksets.contention.stress import Drawn, Group, SpreadRule, StressSpec, drawn_by
from deadbeat.tasksets.executors.tasksets import (
    DEFAULT,
    PAPER_CALIBRATION,
    QUICK_CALIBRATION,
    RUNS_MAX,
    GridSpec,
    TaskSetSpec,
    outside,
    too_few_segments,
)

MODES = ("profile", "stress")
#: What measures a campaign of each mode.
VERB = {"profile": "contention", "stress": "contention --random"}
#: What an interval may be of.
METRICS = ("slowdown", "delay_ratio", "deadline_miss_ratio")
SETS_MIN, SETS_MAX = 30, 200
_SETS = rules.Whole(2, 10_000)


@frozen(kw_only=True)
class MapSpec(GridSpec):
    """The axes of a profile, and which objects its sets draw. ``classes``: resolved
    (`plan.resolve`): the objects that can run here, each a class of its own."""

    mix: Literal["balanced", "random"] = fields.choice(
        "--mix balanced|random",
        "Objects of the sets that share: each as often, or at random as in the paper."
        "  [balanced; preset paper: random]",
        "random",
    )
    classes: tuple[str, ...] = keyed(
        rules.NAMES, "LIST", "Objects of a balanced mix.  [all that can run here]", default=()
    )

    @property
    def balanced(self) -> bool:
        return self.mix == "balanced"


@frozen(kw_only=True)
class LoadedSpec:
    """A row of points beside the grid with task sets that load their cores: shows misses; it has
    the grid's cores and replicas."""

    per_core: int = keyed(rules.Whole(1, 64), "N", "Tasks per core.")
    deadline_factor: Fraction = keyed(
        rules.Factor(1, 1000), "X", "Period and deadline as a multiple of C."
    )
    sync_share: tuple[int, ...] = keyed(
        rules.Shares(), "LIST", "Shares of a task's time spent synchronising (rho)."
    )
    contended_ratio: tuple[int, ...] = keyed(
        rules.Shares(), "LIST", "Shares of synchronisation that meets other cores (alpha)."
    )


@frozen(kw_only=True)
class PrecisionSpec:
    """The section [precision]: it replaces a fixed number of task sets.

    Attributes:
        target: Half width of the 95 % interval: relative to the mean, of a miss ratio absolute.
        metric: What the interval is of.
        sets_min: Sets every point gets: a kind of task set that is rarer than 3 / ``sets_min`` may
            not be among them.
        sets_max: Sets no point exceeds, reached or not.
        sets_mean: Sets a point gets on average at most: what points save that are known early
            goes to those with the widest intervals. None: no such bound.
    """

    target: float = keyed(
        rules.Number("0.001", "1"), "--precision X", "Draw sets until this narrow.  [profile: 0.02]"
    )
    metric: str = keyed(
        rules.Choice(METRICS),
        "--precision-metric NAME",
        "What --precision is about: slowdown, delay_ratio or deadline_miss_ratio (absolute).",
        default="slowdown",
    )
    sets_min: int = keyed(
        _SETS, "--sets-min N", "Fewest task sets of a point, with --precision.", default=SETS_MIN
    )
    sets_max: int = keyed(
        _SETS, "--sets-max N", "Most task sets of a point, with --precision.", default=SETS_MAX
    )
    sets_mean: int | None = keyed(
        _SETS,
        "--sets-mean N",
        "Most task sets per point on average; points with the widest intervals get more.",
        default=None,
    )

    @property
    def relative(self) -> bool:
        return self.metric != "deadline_miss_ratio"

    def problems(self) -> Iterator[Problem]:
        if self.sets_min > self.sets_max:
            text = f"{self.sets_min} is above sets_max = {self.sets_max}"
            yield Problem("sets_min", text, "lower it or raise sets_max")
        if self.sets_mean is not None and self.sets_mean < self.sets_min:
            text = f"{self.sets_mean} is below sets_min = {self.sets_min}"
            yield Problem("sets_mean", text, "raise it or lower sets_min")


#: Two tasks a core that ask for all of it: what contends misses its deadlines here.
_LOADED: Json = {"per_core": 2, "deadline_factor": 2, "sync_share": [1], "contended_ratio": [0, 1]}
#: Sets of each object at a point that shares, and of a point that does not: first the fewest, then
#: what is known least gets more.
_TO_THE_WIDEST = {"target": 0.02, "sets_min": 2, "sets_max": 8, "sets_mean": 3}
#: Where a precision is asked, as many as it takes.
_FEWEST = {"sets_min": 2, "sets_max": 40}
#: What a preset changes. Many short sets rather than few long ones: sets differ by their objects
#: far more than jobs do.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "quick": {
        "grid": {"sync_share": {"step": 0.5}, "contended_ratio": {"step": 0.5}},
        "run": {"seconds": 0.5},
        "calibration": QUICK_CALIBRATION,
    },
    "paper": {
        "cores": list(range(1, 17)),
        "grid": {"sync_share": {"step": 0.1}, "contended_ratio": {"step": 0.1}, "mix": "random"},
        "run": {"seconds": 1.0, "jobs": 200},
        "calibration": PAPER_CALIBRATION,
    },
}


@frozen(kw_only=True)
class CampaignSpec(TaskSetSpec):
    """A campaign: Mode 1, M x rho x alpha with replicas, or Mode 2, random task sets.

    Attributes:
        mode: ``profile`` (with a grid) or ``stress`` (with what is drawn, its core counts too).
        preset: What its defaults came from.
        loaded: A second row of points; None: the grid alone.
        task_count: N of each set, free of M; None: a multiple of M.
        precision: When a point has enough sets; None: when it has as many as are asked.
    """

    mode: str = keyed(
        rules.Choice(MODES),
        "NAME",
        "Command the file is for: profile or stress.  [profile]",
        default="profile",
    )
    preset: str = keyed(
        rules.Choice(tuple(sorted({*PRESETS, *stress.PRESETS}))),
        "NAME",
        "Preset of profile: default, quick, paper; of stress: random, fixed-cores, paper, quick.",
    )
    task_count: Drawn | None = keyed(
        SpreadRule(drawn_by(rules.Whole(1, 4096), 1, 64)),
        "--tasks VALUES",
        "Tasks in a set (N), free of M: 5 or random:4..12.",
        default=None,
    )
    grid: MapSpec | None = None
    loaded: LoadedSpec | None = None
    stress: StressSpec | None = None
    precision: PrecisionSpec | None = None
    topology: str | None = keyed(
        rules.ReadBy(str),
        "PLACE",
        "Of a replay, what its cores share: this, a file by lscpu or a public machine.",
        default=None,
    )
    beside: tuple[str, ...] = fields.BESIDE

    @property
    def core_counts(self) -> tuple[int, ...]:
        if self.stress is None:
            return super().core_counts
        found = {m for group in stress.groups(self.stress) for m in (group.low, group.high)}
        return tuple(sorted(found))

    @property
    def longest_period_ns(self) -> Fraction:
        """T of the slowest task there can be."""
        longest = [self._largest("wcet_max") * max(self.tasks.deadline_factor)]
        if self.by_utilisation:
            longest = [Fraction(self.tasks.period_max)]
        if self.stress is not None and self.fills_cores:
            # N tasks, evenly spread over the cores; C / T of each is its part of the fill.
            fewest = 1 if self.task_count is None else min(self.core_counts)
            part = self.stress.fill_utilisation / -(-self.most_tasks(1) // fewest)
            longest.append(self._largest("wcet_max") / part)
        return max(longest)

    @property
    def by_utilisation(self) -> bool:
        drawn = None if self.stress is None else self.stress.utilisation
        return drawn is not None or super().by_utilisation

    @property
    def fills_cores(self) -> bool:
        return self.stress is not None and any(self.stress.critical_cores)

    def most_tasks(self, cores: int, group: Group | None = None) -> int:
        """N of the largest set at ``cores`` cores; None: over all groups."""
        if self.task_count is not None:
            return self.task_count.largest
        if self.stress is None:
            loaded = 0 if self.loaded is None else self.loaded.per_core
            return cores * max(self.tasks.per_core, loaded)
        several = stress.groups(self.stress) if group is None else (group,)
        drawn = [self.stress.per_core_of(one) for one in several] or [self.stress.per_core]
        return cores * max(self.tasks.per_core if d is None else d.largest for d in drawn)

    def _largest(self, name: str) -> int:
        drawn = getattr(self.stress, name, None)
        return int(getattr(self.tasks, name)) if drawn is None else int(drawn.largest)

    def problems(self) -> list[Problem]:
        return [
            *self._wrong_mode(),
            *self._wrong_rows(),
            *self._wrong_draws(),
            *self._wrong_count(),
            *self._too_many_runs(),
            *super().problems(),
        ]

    def _wrong_mode(self) -> Iterator[Problem]:
        profile = self.mode == "profile"
        if (self.grid is None) == profile:
            hint = "a profile has a grid" if profile else "a stress campaign has none"
            yield Problem("grid", "missing" if profile else f"mode is {self.mode}", hint)
        if (self.stress is None) != profile:
            hint = "a profile has none" if profile else "a stress campaign has one"
            yield Problem("stress", f"mode is {self.mode}" if profile else "missing", hint)
        if self.loaded is not None and not profile:
            yield Problem("loaded", f"mode is {self.mode}", "only a profile has such a row")
        if self.loaded is not None and self.by_utilisation:
            text = "with a utilisation T is drawn, not C times its deadline_factor"
            yield Problem("loaded", text, "leave one of the two out")
        if not profile and self.cores is not None:
            yield Problem("cores", "a stress campaign has its own", "write them in [stress]")

    def _wrong_rows(self) -> Iterator[Problem]:
        aimed = self.precision is not None and self.precision.metric != "slowdown"
        if self.grid is not None and self.grid.balanced and aimed:
            hint = "ask for the slowdown, or for --set mix=random"
            text = "a balanced mix gives its sets to the slowdowns known least"
            yield Problem("precision.metric", text, hint)
        if self.grid is not None:
            loaded = () if self.loaded is None else self.loaded.sync_share
            mixed = self.grid.mixed or any(0 < share < 1000 for share in loaded)
            yield from too_few_segments(mixed, self.tasks.segments_max)

    def _wrong_draws(self) -> Iterator[Problem]:
        """Between what is drawn for each set and what is said of all of them."""
        drawn, tasks = self.stress, self.tasks
        if drawn is None:
            return
        rho, most = drawn.sync_share, drawn.segments_max
        mixed = rho.ranged or any(option not in (0, 1000) for option in rho.options)
        if most is None:
            yield from too_few_segments(mixed, tasks.segments_max)
        else:
            yield from too_few_segments(mixed, most.smallest, "stress.segments_max")
        # a drawn lower bound must not exceed its upper one, whichever table has it
        for low, high in (("wcet_min", "wcet_max"), ("classes_min", "classes_max")):
            a, b = getattr(drawn, low), getattr(drawn, high)
            top = getattr(tasks, low) if a is None else a.largest
            bottom = getattr(tasks, high) if b is None else b.smallest
            if (a is not None or b is not None) and top > bottom:
                where = f"stress.{low if a is not None else high}"
                unit = " ns" if low == "wcet_min" else ""
                text = f"{low} up to {top}{unit} is above {high} from {bottom}{unit}"
                yield Problem(where, text, f"keep every {low} below every {high}")
        least = drawn.wcet_min.largest if drawn.wcet_min else tasks.wcet_min
        most_ns = drawn.wcet_max.smallest if drawn.wcet_max else tasks.wcet_max
        for option in drawn.distribution.options if drawn.distribution else ():
            yield from outside("stress.distribution", option, least, most_ns)
        if self.by_utilisation and not self.fills_cores and drawn.distribution is not None:
            text = "with a utilisation C follows from u and T"
            yield Problem("stress.distribution", text, "leave one of the two out")

    def _wrong_count(self) -> Iterator[Problem]:
        """What contradicts a number of tasks that is free of the number of cores."""
        if self.task_count is None:
            return
        drawn = None if self.stress is None else self.stress.per_core
        if self.tasks.per_core != 1 or drawn is not None or self.loaded is not None:
            text = "together with a number of tasks per core"
            yield Problem("task_count", text, "leave one of the two out")
        fewest, most = self.task_count.smallest, max(self.core_counts, default=0)
        if fewest < most:
            text = f"N = {fewest} is below M = {most}: every core needs a task"
            yield Problem("task_count", text, "ask for more tasks or fewer cores")

    def _too_many_runs(self) -> Iterator[Problem]:
        runs, where, hint = 0, "stress.sets", "fewer sets or fewer groups"
        levels = len(self.tasks.deadline_factor)
        if self.stress is not None:
            runs = levels * sum(group.sets for group in stress.groups(self.stress))
        if self.grid is not None:
            points = len(self.grid.sync_share) * len(self.grid.contended_ratio) * levels
            if self.loaded is not None:
                points += len(self.loaded.sync_share) * len(self.loaded.contended_ratio)
            objects = max(1, len(self.grid.classes))
            runs = len(self.cores or (1,)) * points * self.grid.replicas * objects
            where, hint = "grid", "a coarser grid, fewer replicas or fewer cores"
        if runs > RUNS_MAX:
            yield Problem(where, f"{runs} runs are more than {RUNS_MAX}", hint)


_GRID: Json = {
    "sync_share": {"step": 0.25},
    "contended_ratio": {"step": 0.25},
    "replicas": 10,
    "mix": "balanced",
}


#: Presets with a loaded row, and what one asks who wants points of one's own instead.
_WITH_LOADED = ("default", "quick")
_OWN_POINTS = {
    "grid": ("sync_share", "contended_ratio"),
    "tasks": ("per_core", "deadline_factor", "utilisation"),
}


def specify(*layers: Mapping[str, Json], names: Mapping[str, str] | None = None) -> CampaignSpec:
    """The specification the layers describe over their preset. ``names``: what a path is called
    where it was written (``run.seconds`` -> ``--duration``). Raises UsageError: naming every
    problem."""
    asked = layered(CampaignSpec, *layers)
    # A fixed number of sets beside a precision; a precision asked later replaces one. ``names``:
    # what a path is called where it was written.
    typed = (names or {}).get("precision.target", "").startswith("--")
    most = "--sets-max" if typed else "precision.sets_max"
    hint = f"drop one; {most} is the most sets a point may get"
    text = "a fixed number of task sets together with a precision"
    precise = [isinstance(layer.get("precision"), Mapping) for layer in layers]
    contradictions = [
        Problem(f"{section}.{key}", text, hint)
        for index, layer in enumerate(layers)
        for section, key in FIXED
        if any(precise[: index + 1]) and _says(layer, section, key)
    ]
    problems = [*_unknown_preset(asked), *contradictions]
    values = _with_most_sets(_values(asked))
    try:
        spec = built(CampaignSpec, values)
    except RefusedError as error:
        problems += error.problems
    if problems:
        raise usage(tuple(renamed(problem, names or {}) for problem in problems))
    return spec


def _unknown_preset(asked: dict[str, Json]) -> list[Problem]:
    """Whether the mode has no such preset, which is then taken out."""
    known: dict[str, tuple[str, ...]] = {
        "profile": tuple(PRESETS),
        "stress": (*stress.PRESETS, *stress.ALIASES),
    }
    mode = "stress" if asked.get("mode") == "stress" else "profile"
    other = "profile" if mode == "stress" else "stress"
    preset = asked.get("preset")
    if not isinstance(preset, str) or preset in known[mode]:
        return []
    del asked["preset"]
    if preset in known[other] and preset not in stress.ALIASES:
        text = f"{preset} is a preset of deadbeat {VERB[other]}"
        return [Problem("preset", text, "one of " + ", ".join(known[mode]))]
    return [Problem("preset", f"{shown(preset)} is not a choice", nearest(preset, known[mode]))]


def _values(asked: dict[str, Json]) -> dict[str, Json]:
    if asked.get("mode") == "stress":
        preset = asked.get("preset", "random")
        if isinstance(preset, str) and preset in stress.ALIASES:
            preset = asked["preset"] = stress.ALIASES[preset]
        base = stress.PRESETS.get(preset) if isinstance(preset, str) else None
        name = "stress" if base is None else f"stress-{preset}"
        own = {"mode": "stress", "preset": "random", "name": name}
        return layered(CampaignSpec, DEFAULT, own, {"stress": stress.DEFAULT}, base or {}, asked)
    preset = asked.get("preset", "default")
    base = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    defaults: dict[str, Json] = {"preset": "default", "name": str(preset) if base else "default"}
    changed = any(_says(asked, table, key) for table, keys in _OWN_POINTS.items() for key in keys)
    changed |= asked.get("task_count") is not None
    if preset in _WITH_LOADED and not changed:
        defaults["loaded"] = _LOADED
    fixed = _says(asked, "grid", "replicas") or inside(asked, "grid").get("mix") == "random"
    if preset in _WITH_LOADED and not fixed:
        asks = "precision" in asked
        defaults["precision"] = _FEWEST if asks else _TO_THE_WIDEST
    return layered(CampaignSpec, DEFAULT, {"grid": _GRID}, base, defaults, asked)


def _says(values: Mapping[str, Json], section: str, key: str) -> bool:
    return inside(values, section).get(key) is not None


#: What says how many sets there are: section and key.
FIXED = (("grid", "replicas"), ("stress", "sets"), ("stress", "random_sets"))


def _with_most_sets(values: dict[str, Json]) -> dict[str, Json]:
    """``values`` with sets_max as the number of sets where a precision is asked."""
    asked = values.get("precision")
    if not isinstance(asked, Mapping):
        return values
    try:
        most = _SETS.parse(asked.get("sets_max", SETS_MAX))
    except RefusedError:
        return values  # reported where it was written
    keys: dict[str, dict[str, Json]] = {
        "grid": {"replicas": most},
        "stress": {"sets": most, "random_sets": None},
    }
    return values | {
        section: {**table, **most_sets}
        for section, most_sets in keys.items()
        if isinstance(table := values.get(section), Mapping)
    }


def read_spec(values: Any) -> CampaignSpec:
    """Validates a whole specification; raises UsageError naming every problem."""
    return checked(CampaignSpec, values)


def spec_dict(spec: CampaignSpec) -> dict[str, Json]:
    """The canonical plain form: read_spec(spec_dict(s)) == s."""
    absent = [
        name
        for name in ("task_count", "grid", "loaded", "stress", "topology")
        if getattr(spec, name) is None
    ]
    return {key: value for key, value in plain_of(spec).items() if key not in absent}
