"""Mode 2: random task sets, in groups.

A stress campaign is a number of groups (``M=4``, ``M=8``, ``random``, ``M=4 k=1``), each with a
number of task sets. The replica of a run's key is the number of its set in the whole campaign, and
so tells the group. What a set is drawn with comes from streams named by the campaign's seed, the
group and the purpose: to draw one parameter differently shifts no other. Groups that differ in
their critical cores alone draw the same sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import fields_dict, frozen

from deadbeat.experiment import fields
from deadbeat.experiment.tasksets import QUICK_CALIBRATION, TasksSpec
from deadbeat.kinds.contention.drawn import (
    CoreChoice,
    CoresRule,
    DrawKind,
    Drawn,
    SpreadRule,
    drawn_by,
    shares,
)
from deadbeat.model import rules
from deadbeat.model.rules import Problem
from deadbeat.model.specification import given_by, keyed, rule_of
from deadbeat.synthesis.stream import Stream

_GROUPS_MAX = 1000

#: What every stress campaign begins with.
DEFAULT: dict[str, Any] = {
    "cores": "random",
    "sets": 5000,
    "sync_share": "random",
    "contended_ratio": "random",
    "random_per_core": "random",
}
#: What a preset changes. ``fixed-cores`` and ``random`` are Mode 2a and 2b of the paper's section
#: 4.1, which its section 3.4 names the other way round. quick on 2 cores: 20 s + 96 sets.
PRESETS: dict[str, dict[str, Any]] = {
    "random": {},
    "fixed-cores": {"stress": {"cores": [4, 8, 12, 16], "sets": 3000}},
    "paper": {"stress": {"cores": [4, 8, 12, 16, "random"], "sets": 3000, "random_sets": 5000}},
    "quick": {
        "stress": {"sets": 96, "random_per_core": "random:1..2"},
        "run": {"seconds": 1.0},
        "calibration": QUICK_CALIBRATION,
    },
}
ALIASES = {"2a": "fixed-cores", "2b": "random"}


def _of_tasks(
    name: str, low: int = 0, high: int = 0, *, kind: DrawKind | None = None, help: str = ""
) -> Any:
    """A field of [tasks], of which each set may have a value of its own here.

    Args:
        low, high: The sensible range, for numbers.
        kind: What a value is; None: as there. ``help``: likewise.
    """
    option = given_by(TasksSpec, name)[0]
    rule = SpreadRule(kind or drawn_by(rule_of(TasksSpec, name), low, high))
    return keyed(rule, f"{option.name} VALUES", help or option.help, default=None)


@frozen(kw_only=True)
class StressSpec:
    """What differs from task set to task set; what is None is for all sets as [tasks] says.

    Attributes:
        cores: M: each number listed is a group; ``random`` is one group that draws its own.
        random_sets: Task sets of the group that draws its M; None: as many as of the others.
        critical_cores: k: how many cores carry the critical tasks, each k a group of its own;
            computation fills the rest. 0: all cores carry the tasks, nothing is shielded.
        per_core: N / M; from a range, N itself is drawn: from low M to high M.
        random_per_core: The same for the group that draws its M; None: as of the others.
        utilisation: As in [tasks], in thousandths where drawn.
    """

    cores: CoreChoice = keyed(
        CoresRule(),
        "--cores LIST",
        "Numbers of cores (M): 4,8 (a group each), random, random:2..8 or all.",
    )
    sets: int = keyed(rules.Whole(1, 100_000), "--sets N", "Task sets of each group.")
    random_sets: int | None = keyed(
        rules.Whole(1, 100_000),
        "--sets N",
        "Task sets of the group that draws M; as many as of the others unless given.",
        default=None,
    )
    critical_cores: tuple[int, ...] = keyed(
        rules.ListOf(
            rules.Whole(0, 1023).parse, "a list of numbers of cores", "0,1", rules.ascending
        ),
        "--critical-cores LIST",
        "Put critical tasks on the first k cores, computation on the rest; 0 shields nothing.",
        default=(0,),
    )
    fill_utilisation: Fraction = keyed(
        rules.Ratio("0.001", "1"),
        "--fill-utilisation U",
        "Utilisation that computation gives to a core without critical tasks.",
        default=Fraction(9, 10),
    )
    sync_share: Drawn = keyed(
        SpreadRule(shares(), optional=False),
        "--sync-share VALUES",
        "Share of a task's time spent synchronising (rho): 0.5 or random:0.2..0.8.  [random]",
    )
    contended_ratio: Drawn = keyed(
        SpreadRule(shares(), optional=False),
        "--contended-ratio VALUES",
        "Share of synchronisation that meets other cores (alpha): 0.5 or random:0.2..0.8."
        "  [random]",
    )
    per_task: bool = fields.flag(
        "--per-task", "Draw rho and alpha for every task instead of every task set."
    )
    per_core: Drawn | None = _of_tasks("per_core", 1, 3)
    random_per_core: Drawn | None = _of_tasks(
        "per_core", 1, 3, help="Tasks per core in the group that draws M."
    )
    segments_max: Drawn | None = _of_tasks("segments_max", 2, 16)
    wcet_min: Drawn | None = _of_tasks("wcet_min", 50_000, 200_000)
    wcet_max: Drawn | None = _of_tasks("wcet_max", 200_000, 1_000_000)
    distribution: Drawn | None = _of_tasks("distribution")
    classes_min: Drawn | None = _of_tasks("classes_min", 1, 2)
    classes_max: Drawn | None = _of_tasks("classes_max", 2, 4)
    priorities: Drawn | None = _of_tasks("priorities")
    utilisation: Drawn | None = _of_tasks("utilisation", kind=shares(least=1, sensible=(50, 700)))

    def problems(self) -> Iterator[Problem]:
        """What is wrong between fields that are each right."""
        most, counts = max(self.critical_cores), self.cores
        bounds = [*(counts.fixed or ()), *([] if counts.low is None else [counts.low])]
        if few := [count for count in bounds if count <= most]:
            text = f"{leave_none(most)} of M = {few[0]} to be filled"
            yield Problem("critical_cores", text, "fewer than M, or 0: nothing is shielded")
        count = (len(counts.fixed or (1,)) + counts.drawn) * len(self.critical_cores)
        if count > _GROUPS_MAX:
            text = f"{count} groups are more than {_GROUPS_MAX}"
            yield Problem("critical_cores", text, "fewer of them, or fewer core counts")
        if self.per_task and self.sync_share.fixed and self.contended_ratio.fixed:
            hint = "give rho or alpha a list or random:0.2..0.8, or drop it"
            yield Problem("per_task", "rho and alpha are fixed: no task differs", hint)

    def per_core_of(self, group: Group) -> Drawn | None:
        """Where N / M of a group comes from; None: [tasks]."""
        return self.per_core if group.cores is not None else self.random_per_core or self.per_core


def leave_none(critical: int) -> str:
    """``1 critical core leaves none``."""
    return f"{critical} critical core{' leaves' if critical == 1 else 's leave'} none"


@frozen(kw_only=True)
class Group:
    """Task sets that are summarised together.

    Attributes:
        cores: M; None: each set draws its own from ``low`` to ``high``.
        critical_cores: k; 0: nothing is shielded.
        first: Number of its first set in the campaign.
    """

    index: int
    cores: int | None
    low: int
    high: int
    critical_cores: int
    first: int
    sets: int

    @property
    def base(self) -> str:
        """What it shares with the groups that differ in k alone."""
        return "random" if self.cores is None else f"M={self.cores}"

    @property
    def name(self) -> str:
        return f"{self.base} k={self.critical_cores}" if self.critical_cores else self.base


@lru_cache(maxsize=16)
def groups(stress: StressSpec) -> tuple[Group, ...]:
    """All groups of a resolved specification, in order."""
    counts = stress.cores
    bases: list[int | None] = [*(counts.fixed or ()), *([None] if counts.drawn else [])]
    found: list[Group] = []
    first = 0
    for cores in bases:
        sets = stress.sets if cores is not None else (stress.random_sets or stress.sets)
        for critical in stress.critical_cores:
            low, high = (cores, cores) if cores is not None else (counts.low or 1, counts.high or 1)
            found.append(
                Group(
                    index=len(found),
                    cores=cores,
                    low=low,
                    high=high,
                    critical_cores=critical,
                    first=first,
                    sets=sets,
                )
            )
            first += sets
    return tuple(found)


def group_at(stress: StressSpec, replica: int) -> Group:
    """The group of the set numbered ``replica``.

    Raises:
        KeyError: The campaign has no such set.
    """
    for group in groups(stress):
        if group.first <= replica < group.first + group.sets:
            return group
    raise KeyError(replica)


@frozen(kw_only=True)
class SetDraw:
    """What one task set is drawn with.

    Attributes:
        seed: Of the task set itself.
        tasks: N; None: M times what [tasks] says.
        sync_milli, contended_milli: A value for the set.
        values: Further parameters, by their names in [tasks].
    """

    group: Group
    seed: int
    cores: int
    tasks: int | None
    sync_milli: int
    contended_milli: int
    values: dict[str, Any]


#: What a set may draw beside M, N, rho and alpha; the names are those of [tasks].
PLAIN = [name for name in fields_dict(StressSpec) if name in fields_dict(TasksSpec)]
PLAIN.remove("per_core")


def draw_set(stress: StressSpec, seed: int, replica: int) -> SetDraw:
    """The parameters of the set numbered ``replica`` of a resolved specification."""
    group = group_at(stress, replica)
    place = (group.base, replica - group.first)

    def stream(purpose: str) -> Stream:
        return Stream(seed, "stress", purpose, *place)

    cores = stream("cores").between(group.low, group.high)
    values = {
        name: drawn.draw(stream(name))
        for name in PLAIN
        if (drawn := getattr(stress, name)) is not None
    }
    return SetDraw(
        group=group,
        seed=stream("task set").word() >> 1,
        cores=cores,
        tasks=_tasks(stress.per_core_of(group), cores, stream("tasks")),
        sync_milli=int(stress.sync_share.draw(stream("sync_share"))),
        contended_milli=int(stress.contended_ratio.draw(stream("contended_ratio"))),
        values=values,
    )


def _tasks(per_core: Drawn | None, cores: int, stream: Stream) -> int | None:
    if per_core is None:
        return None
    if per_core.ranged:
        return stream.between(per_core.low * cores, per_core.high * cores)
    return cores * int(per_core.draw(stream))


def draw_tasks(
    stress: StressSpec, seed: int, replica: int, tasks: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """rho and alpha of every task of a set, in thousandths, where each task has its own."""
    group = group_at(stress, replica)
    place = (group.base, replica - group.first)
    rho = Stream(seed, "stress", "sync_share of tasks", *place)
    alpha = Stream(seed, "stress", "contended_ratio of tasks", *place)
    return (
        tuple(int(stress.sync_share.draw(rho)) for _ in range(tasks)),
        tuple(int(stress.contended_ratio.draw(alpha)) for _ in range(tasks)),
    )


def mean_milli(values: tuple[int, ...]) -> int:
    """The mean in whole thousandths; halves go up."""
    mean = Fraction(sum(values), len(values))
    return (2 * mean.numerator + mean.denominator) // (2 * mean.denominator)
