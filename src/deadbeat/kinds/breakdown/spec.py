"""What a search for the breakdown utilisation is: a campaign's task sets, and how U is sought.

The campaign says what the sets are made of and how they are run; its grid holds the axes rho and
alpha and the number of sets. ``SearchSpec`` has the other axes and the bisection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Annotated, Any

import attrs
from attrs import frozen

from deadbeat.kinds.contention import plan as design
from deadbeat.kinds.contention.plan import BATCH_LIMIT
from deadbeat.kinds.contention.spec import CampaignSpec, read_spec, spec_dict
from deadbeat.kinds.contention.spec import specify as specify_campaign
from deadbeat.model import rules
from deadbeat.model.platform import Platform
from deadbeat.model.results import Point, RunKey
from deadbeat.model.rules import Problem, RefusedError
from deadbeat.model.specification import Structure, renamed, usage
from deadbeat.model.tasks import TaskSet
from deadbeat.model.words import nearest, shown
from deadbeat.synthesis import SynthesisParameters
from deadbeat.synthesis.parameters import PRIORITIES

#: T = D of the programs as they are built, over C; every run scales it.
BUILT_FACTOR = 10
_SECTION = "breakdown"


@frozen
class _List:
    """An axis: each value once, by the rule ``of`` one."""

    of: rules.Rule
    example: str

    def parse(self, value: Any) -> tuple[Any, ...]:
        listed = rules.items(value, "a list", self.example)
        return tuple(sorted(set(rules.each(listed, self.of.parse))))


@frozen(kw_only=True)
class SearchSpec:
    """The axes beside the grid's, and the bisection.

    Attributes:
        tasks_per_core, priorities: Further axes.
        low, high: Between them the breakdown utilisation is sought.
        steps: Halvings: the answer is known to (high - low) / 2**steps.
        miss_share: A run meets its deadlines where at most this share of its jobs misses.
    """

    tasks_per_core: Annotated[tuple[int, ...], _List(rules.Whole(1, 64), "1,2 or 1..4")]
    priorities: Annotated[tuple[str, ...], _List(rules.Choice(PRIORITIES), "rate-monotonic,random")]
    low: Annotated[Fraction, rules.Ratio("0.01", "1")]
    high: Annotated[Fraction, rules.Ratio("0.02", "2")]
    steps: Annotated[int, rules.Whole(1, 12)]
    miss_share: Annotated[Fraction, rules.Ratio("0", "0.5")]

    @property
    def resolution(self) -> Fraction:
        """Distance of neighbouring utilisations that are told apart."""
        return (self.high - self.low) / (1 << self.steps)

    def problems(self) -> list[Problem]:
        """What is wrong between fields that are each right."""
        if self.low >= self.high:
            return [
                Problem("low", f"{float(self.low):g} is not below high = {float(self.high):g}", "")
            ]
        # Runs are told apart by n / U in thousandths, and the last one lies between two levels.
        finest = 2 * self.high**2 / 1000
        if self.resolution < finest:
            text = f"{self.steps} halvings of {float(self.low):g} to {float(self.high):g} end below"
            return [Problem("steps", f"{text} {float(finest):g}", "fewer steps")]
        return []


@frozen(kw_only=True)
class BreakdownSpec:
    """A whole search."""

    campaign: CampaignSpec
    search: SearchSpec

    @property
    def sets(self) -> int:
        """Task sets of a cell."""
        assert self.campaign.grid is not None
        return self.campaign.grid.replicas

    @property
    def variants(self) -> tuple[tuple[int, str], ...]:
        """Tasks per core and priority rule, every pair."""
        return tuple(product(self.search.tasks_per_core, self.search.priorities))


@frozen
class SearchCell:
    """Where task sets are alike: a point of the curves."""

    cores: int
    sync_share: float
    contended_ratio: float
    tasks_per_core: int
    priorities: str


#: What a preset changes in the campaign, and in the search.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "quick": {
        "grid": {"sync_share": [1], "contended_ratio": [0, 1], "replicas": 6},
        "run": {"seconds": 0.8},
    },
    "default": {
        "grid": {"sync_share": {"step": 0.5}, "contended_ratio": {"step": 0.5}, "replicas": 10},
        "run": {"seconds": 1.0},
        _SECTION: {"steps": 7},
    },
}
_SEARCH = {
    "tasks_per_core": [2],
    "priorities": ["rate-monotonic"],
    "low": "0.05",
    "high": "1.1",
    "steps": 6,
    "miss_share": "0.01",
}


def specify(layer: Mapping[str, Any], *, names: Mapping[str, str]) -> BreakdownSpec:
    """What ``layer`` asks for over its preset.

    Args:
        layer: Sections of a campaign, and [breakdown].
        names: What a path is called where it was written (``run.seconds`` -> ``--seconds``).

    Raises:
        UsageError: Naming every problem.
    """
    preset = layer.get("preset", "default")
    if preset not in PRESETS:
        text = f"{shown(preset)} is not a choice"
        raise usage([Problem(names.get("preset", "preset"), text, nearest(preset, PRESETS))])
    base = PRESETS[preset]
    sections = {key: value for key, value in base.items() if key != _SECTION}
    defaults = {"name": "breakdown", "tasks": {"deadline_factor": BUILT_FACTOR}}
    asked = {key: value for key, value in layer.items() if key != _SECTION}
    campaign = specify_campaign(defaults, sections, asked, names=names)
    found = {**_SEARCH, **base.get(_SECTION, {}), **layer.get(_SECTION, {})}
    return _checked(campaign, found, names)


def _checked(
    campaign: CampaignSpec, search: Mapping[str, Any], names: Mapping[str, str]
) -> BreakdownSpec:
    try:
        built = _structure().build(search, SearchSpec)
    except RefusedError as error:
        problems = [attrs.evolve(p, path=f"{_SECTION}.{p.path}") for p in error.problems]
        raise usage([renamed(problem, names) for problem in problems]) from None
    # what the campaign is checked with; `parameters` has each of the axes
    tasks = attrs.evolve(
        campaign.tasks, per_core=built.tasks_per_core[0], priorities=built.priorities[0]
    )
    return BreakdownSpec(campaign=attrs.evolve(campaign, tasks=tasks), search=built)


@cache
def _structure() -> Structure:
    return Structure(SearchSpec)


def resolve(spec: BreakdownSpec, platform: Platform, *, names: Mapping[str, str]) -> BreakdownSpec:
    """With cores and CPUs filled in.

    Raises:
        UsageError: The machine lacks them, or there are more task sets than one program holds.
    """
    resolved = design.resolve(spec.campaign, platform, names=names).spec
    whole = attrs.evolve(spec, campaign=resolved)
    if (count := len(keys(whole))) > BATCH_LIMIT:
        text = f"{count} task sets in all: one program holds {BATCH_LIMIT}"
        where = names.get("grid.replicas", "grid.replicas")
        raise usage([Problem(where, text, "fewer sets, or values of the axes")])
    for key in keys(whole):
        parameters(whole, key)
    return whole


def to_plain(spec: BreakdownSpec) -> dict[str, Any]:
    """JSON values; from_plain(to_plain(s)) == s."""
    search = attrs.asdict(spec.search)
    for name in ("low", "high", "miss_share"):
        search[name] = str(search[name])
    for name in ("tasks_per_core", "priorities"):
        search[name] = list(search[name])
    return {"campaign": spec_dict(spec.campaign), _SECTION: search}


def from_plain(plain: Mapping[str, Any]) -> BreakdownSpec:
    """Raises UsageError naming every problem."""
    return _checked(read_spec(plain.get("campaign")), plain.get(_SECTION, {}), {})


# ---------- task sets ----------


def keys(spec: BreakdownSpec) -> tuple[RunKey, ...]:
    """One key per task set, in the order of the program; a set is numbered within its M, rho and
    alpha: variant by variant."""
    return tuple(_keys(spec))


def _keys(spec: BreakdownSpec) -> Iterator[RunKey]:
    grid = spec.campaign.grid
    assert grid is not None
    for cores in spec.campaign.cores or ():
        for share, ratio in product(grid.sync_share, grid.contended_ratio):
            for replica in range(len(spec.variants) * spec.sets):
                yield RunKey(Point(cores, share, ratio), replica)


def cell_of(spec: BreakdownSpec, key: RunKey) -> SearchCell:
    """The cell of a task set."""
    point, variant = key.point, spec.variants[key.replica // spec.sets]
    return SearchCell(point.cores, point.sync_share, point.contended_ratio, *variant)


def parameters(spec: BreakdownSpec, key: RunKey) -> SynthesisParameters:
    """What the task set of ``key`` is asked to be."""
    cell = cell_of(spec, key)
    tasks = attrs.evolve(
        spec.campaign.tasks, per_core=cell.tasks_per_core, priorities=cell.priorities
    )
    return design.parameters(attrs.evolve(spec.campaign, tasks=tasks), _plain_key(spec, key))


def set_seed(spec: BreakdownSpec, key: RunKey) -> int:
    """Common to all rho, alpha, numbers of tasks and priority rules of one M and set."""
    return design.set_seed(spec.campaign, _plain_key(spec, key))


def _plain_key(spec: BreakdownSpec, key: RunKey) -> RunKey:
    return RunKey(key.point, key.replica % spec.sets)


# ---------- levels of utilisation ----------


def utilisation(search: SearchSpec, level: int) -> Fraction:
    """U of a level: 0 is low, 2**(steps + 1) is high. The search asks even levels alone."""
    return search.low + (search.high - search.low) * Fraction(level, 1 << (search.steps + 1))


def run_key(spec: BreakdownSpec, key: RunKey, level: int) -> RunKey:
    """The run of a task set at a level. Its name holds the mean T / C on the fullest core (the
    harmonic mean: tasks per core over U) in thousandths."""
    factor = cell_of(spec, key).tasks_per_core / utilisation(spec.search, level)
    return RunKey(attrs.evolve(key.point, deadline_factor_milli=round(1000 * factor)), key.replica)


def built_utilisation(task_set: TaskSet) -> Fraction:
    """Sum of C / T on the fullest core, of the program as it is built; C by calibration."""
    load = [Fraction(0)] * task_set.cores
    for task in task_set.tasks:
        load[task.core] += Fraction(task.cost_ps, 1000 * task.period_ns)
    return max(load)


def period_ppm(task_set: TaskSet, used: Fraction) -> int:
    """By what the periods are multiplied for U = ``used`` on the fullest core."""
    return max(1, round(built_utilisation(task_set) / used * 10**6))
