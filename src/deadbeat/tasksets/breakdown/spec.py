"""What a search for the breakdown utilisation is: its task sets, and how U is sought.

The grid holds the axes rho and alpha and the number of sets; [breakdown] has the other axes and the
bisection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import attrs
from attrs import frozen

from deadbeat.base.model import rules
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.rules import Problem
from deadbeat.base.model.specification import checked, keyed, layered, plain_of, usage
from deadbeat.base.model.words import Json, inside
from deadbeat.tasksets.executors.tasksets import (
    BATCH_LIMIT,
    DEFAULT,
    QUICK_CALIBRATION,
    GridSpec,
    TaskSetSpec,
    check_utilisations,
    fitted,
    too_few_segments,
)
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.synthesis import SynthesisParameters, seed_for
from deadbeat.tasksets.synthesis.parameters import PRIORITIES

#: T = D of the programs as they are built, over C; every run scales it.
BUILT_FACTOR = 10


@frozen(kw_only=True)
class CellsSpec(GridSpec):
    """The axes rho and alpha, and task sets per cell."""

    replicas: int = keyed(
        rules.Whole(1, 10_000), "--sets N", "Task sets of each combination.  [10; quick: 6]"
    )


@frozen(kw_only=True)
class SearchSpec:
    """The axes beside the grid's, and the bisection: the answer is known to (high - low) /
    2**steps."""

    tasks_per_core: tuple[int, ...] = keyed(
        rules.ListOf(rules.Whole(1, 64).parse, "a list", "1,2 or 1..4", rules.ascending),
        "--tasks-per-core LIST",
        "Tasks per core: 2 or 1,2,4.",
        default=(2,),
    )
    priorities: tuple[str, ...] = keyed(
        rules.ListOf(
            rules.Choice(PRIORITIES).parse, "a list", "rate-monotonic,random", rules.ascending
        ),
        "--priorities LIST",
        "How priorities are assigned: uniform (all equal), rate-monotonic or random.",
        default=("rate-monotonic",),
    )
    miss_share: Fraction = keyed(
        rules.Ratio("0", "0.5"),
        "--miss-share X",
        "Share of jobs that may miss before a run counts as failed.",
        default=Fraction(1, 100),
    )
    low: Fraction = keyed(
        rules.Ratio("0.01", "1"),
        "--search-from U",
        "Lowest utilisation that is tried.",
        default=Fraction(1, 20),
    )
    high: Fraction = keyed(
        rules.Ratio("0.02", "2"),
        "--search-to U",
        "Highest utilisation that is tried.",
        default=Fraction(11, 10),
    )
    spare: Fraction = keyed(
        rules.Ratio("0", "0.99"),
        "--spare SHARE",
        "Judge whether deadlines hold with this share of each core spare: 30%.  [no verdict]",
        default=Fraction(0),
    )
    steps: int = keyed(rules.Whole(1, 12), "--steps N", "Steps of the bisection.  [7; quick: 6]")

    @property
    def resolution(self) -> Fraction:
        """Distance of neighbouring utilisations that are distinguished."""
        return (self.high - self.low) / (1 << self.steps)

    def problems(self) -> Iterator[Problem]:
        if self.low >= self.high:
            text = f"{float(self.low):g} is not below high = {float(self.high):g}"
            yield Problem("low", text, "lower it or raise high")
            return
        # Runs are identified by n / U in thousandths, and the last one lies between two levels.
        finest = 2 * self.high**2 / 1000
        if self.resolution < finest:
            text = f"{self.steps} halvings of {float(self.low):g} to {float(self.high):g} end below"
            yield Problem("steps", f"{text} {float(finest):g}", "fewer steps")


#: What a preset changes.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "quick": {
        "grid": {"sync_share": [1], "contended_ratio": [0, 1], "replicas": 6},
        "run": {"seconds": 0.8},
        "calibration": QUICK_CALIBRATION,
    },
    "default": {
        "grid": {"sync_share": {"step": 0.5}, "contended_ratio": {"step": 0.5}, "replicas": 10},
        "run": {"seconds": 1.0},
        "breakdown": {"steps": 7},
    },
}
_DEFAULT: dict[str, Any] = {
    "name": "breakdown",
    "preset": "default",
    "tasks": {"deadline_factor": BUILT_FACTOR},
    "breakdown": {"steps": 6},
}


@frozen(kw_only=True)
class BreakdownSpec(TaskSetSpec):
    """A whole search."""

    preset: str = keyed(rules.Choice(tuple(PRESETS)), "NAME", "default or quick.  [default]")
    grid: CellsSpec
    breakdown: SearchSpec

    @property
    def sets(self) -> int:
        return self.grid.replicas

    @property
    def variants(self) -> tuple[tuple[int, str], ...]:
        """Tasks per core and priority rule, every pair."""
        return tuple(product(self.breakdown.tasks_per_core, self.breakdown.priorities))

    def most_tasks(self, cores: int) -> int:
        return cores * max(self.breakdown.tasks_per_core)

    def problems(self) -> list[Problem]:
        few = too_few_segments(self.grid.mixed, self.tasks.segments_max)
        return [*few, *super().problems()]


@frozen
class SearchCell:
    """Where task sets are alike: a point of the curves."""

    cores: int
    sync_share: float
    contended_ratio: float
    tasks_per_core: int
    priorities: str


def specify(layer: Mapping[str, Json], *, names: Mapping[str, str]) -> BreakdownSpec:
    """What ``layer`` asks for over its preset.

    Args:
        names: What a path is called where it was written (``run.seconds`` -> ``--duration``).

    Raises:
        UsageError: Naming every problem.
    """
    preset = PRESETS.get(str(layer.get("preset")), PRESETS["default"])
    return _read(layered(BreakdownSpec, DEFAULT, _DEFAULT, preset, layer), names)


def _read(values: Mapping[str, Json], names: Mapping[str, str]) -> BreakdownSpec:
    spec = checked(BreakdownSpec, values, names)
    # the axes take the place of what [tasks] says
    per_core, priorities = spec.variants[0]
    return attrs.evolve(
        spec, tasks=attrs.evolve(spec.tasks, per_core=per_core, priorities=priorities)
    )


def resolve(spec: BreakdownSpec, platform: Platform, *, names: Mapping[str, str]) -> BreakdownSpec:
    """With cores and CPUs filled in.

    Raises:
        UsageError: The machine lacks them, or there are more task sets than one program holds.
    """
    whole, _ = fitted(spec, platform, names, few=spec.preset == "quick")
    if (count := len(keys(whole))) > BATCH_LIMIT:
        text = f"{count} task sets in all: one program holds {BATCH_LIMIT}"
        where = names.get("grid.replicas", "grid.replicas")
        raise usage([Problem(where, text, "fewer sets, or values of the axes")])
    made = (parameters(whole, key) for key in keys(whole))
    check_utilisations(made, names, where="tasks.utilisation")
    return whole


def to_plain(spec: BreakdownSpec) -> dict[str, Json]:
    """JSON values; from_plain(to_plain(s)) == s. The task sets have the form of a campaign."""
    plain = plain_of(spec)
    search = plain.pop("breakdown")
    return {"campaign": {"mode": "profile", "precision": None, **plain}, "breakdown": search}


def from_plain(plain: Mapping[str, Json]) -> BreakdownSpec:
    """Raises UsageError naming every problem."""
    values = {k: v for k, v in inside(plain, "campaign").items() if k not in ("mode", "precision")}
    return _read({**values, "breakdown": plain.get("breakdown", {})}, {})


# ---------- task sets ----------


def keys(spec: BreakdownSpec) -> tuple[RunKey, ...]:
    """One key per task set, in the order of the program; a set is numbered within its M, rho and
    alpha: variant by variant."""
    axes = (spec.core_counts, spec.grid.sync_share, spec.grid.contended_ratio)
    replicas = range(len(spec.variants) * spec.sets)
    return tuple(RunKey(Point(*place), replica) for *place, replica in product(*axes, replicas))


def shares(key: RunKey) -> bool:
    """Whether tasks of the set may meet at an object, core beside core."""
    point = key.point
    return bool(point.cores > 1 and point.sync_share_milli and point.contended_ratio_milli)


def cell_of(spec: BreakdownSpec, key: RunKey) -> SearchCell:
    point, variant = key.point, spec.variants[key.replica // spec.sets]
    return SearchCell(point.cores, point.sync_share, point.contended_ratio, *variant)


def parameters(spec: BreakdownSpec, key: RunKey) -> SynthesisParameters:
    cell = cell_of(spec, key)
    return spec.tasks.parameters(
        key.point,
        tasks=cell.cores * cell.tasks_per_core,
        factor=None if spec.by_utilisation else spec.tasks.deadline_factor[0],
        priorities=cell.priorities,
    )


def set_seed(spec: BreakdownSpec, key: RunKey) -> int:
    """Common to all rho, alpha, numbers of tasks and priority rules of one M and set."""
    return seed_for(spec.seed, key.point.cores, key.replica % spec.sets)


# ---------- levels of utilisation ----------


def utilisation(search: SearchSpec, level: int) -> Fraction:
    """U of a level: 0 is low, 2**(steps + 1) is high. The search asks even levels alone."""
    return search.low + (search.high - search.low) * Fraction(level, 1 << (search.steps + 1))


def run_key(spec: BreakdownSpec, key: RunKey, level: int) -> RunKey:
    """The run of a task set at a level. Its name holds the mean T / C on the fullest core (the
    harmonic mean: tasks per core over U) in thousandths."""
    factor = cell_of(spec, key).tasks_per_core / utilisation(spec.breakdown, level)
    return RunKey(attrs.evolve(key.point, deadline_factor_milli=round(1000 * factor)), key.replica)


def set_of(run: RunKey) -> RunKey:
    return RunKey(attrs.evolve(run.point, deadline_factor_milli=0), run.replica)


def built_utilisation(task_set: TaskSet) -> Fraction:
    """Sum of C / T on the fullest core, of the program as it is built; C by calibration."""
    load = [Fraction(0)] * task_set.cores
    for task in task_set.tasks:
        load[task.core] += Fraction(task.cost_ps, 1000 * task.period_ns)
    return max(load)


def period_ppm(task_set: TaskSet, used: Fraction) -> int:
    """By what the periods are multiplied for U = ``used`` on the fullest core."""
    return max(1, round(built_utilisation(task_set) / used * 10**6))
