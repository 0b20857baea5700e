"""Mode 2: random task sets, in groups; what may differ from set to set, as written and as drawn.

A stress campaign is a number of groups (``M=4``, ``M=8``, ``random``, ``M=4 k=1``), each with a
number of task sets. The replica of a run's key is the number of its set in the whole campaign, and
so tells the group. What a set is drawn with comes from streams named by the campaign's seed, the
group and the purpose: to draw one parameter differently shifts no other. Groups that differ in
their critical cores alone draw the same sets.

One grammar, in files and on a command line: ``0.5`` | ``0,0.5,1`` (each set picks one) | ``random``
(the whole sensible range) | ``random:0.2..0.8``. Everything is whole numbers (shares in
thousandths, times in nanoseconds) or words, so that what is drawn is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any

from attrs import evolve, field, fields_dict, frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.rules import Problem, RefusedError, refuse
from deadbeat.base.model.specification import given_by, keyed, rule_of
from deadbeat.base.model.words import shown
from deadbeat.tasksets.executors.tasksets import PAPER_CALIBRATION, QUICK_CALIBRATION, TasksSpec
from deadbeat.tasksets.synthesis.stream import Stream

Value = int | str


_RANDOM = re.compile(r"random(?:\s*:\s*(?P<low>[^.\s][^\s]*?)\s*\.\.\s*(?P<high>[^\s]+))?")


@frozen
class Drawn:
    """Where the value of a set comes from: one of ``options``, or from ``low`` to ``high``."""

    options: tuple[Value, ...] = ()
    low: int = 0
    high: int = 0

    @property
    def fixed(self) -> bool:
        return len(self.options) == 1 or (not self.options and self.low == self.high)

    @property
    def ranged(self) -> bool:
        return not self.options

    @property
    def largest(self) -> int:
        return max((int(option) for option in self.options), default=self.high)

    @property
    def smallest(self) -> int:
        return min((int(option) for option in self.options), default=self.low)

    def draw(self, stream: Stream) -> Value:
        if self.options:
            return self.options[stream.below(len(self.options))]
        return stream.between(self.low, self.high)


@frozen
class DrawKind:
    """What a single value is.

    Attributes:
        parse: From what was written; raises RefusedError.
        plain: Canonical text or number of a value.
        low, high: The whole sensible range, for numbers.
        words: All choices, for words.
        example: How one is written.
    """

    parse: Callable[[Any], Value]
    plain: Callable[[Any], Any]
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()
    example: str = "1"


def shares(*, least: int = 0, sensible: tuple[int, int] = (0, 1000)) -> DrawKind:
    """Thousandths, of ``least`` of them to 1."""
    read = partial(rules.share_milli, least=least)
    return DrawKind(read, lambda milli: milli / 1000, *sensible, example="random:0.2..0.8")


def drawn_by(rule: Any, low: int = 0, high: int = 0) -> DrawKind:
    """What ``rule`` reads; ``random`` alone means any of its words, or numbers in [low, high]."""
    if isinstance(rule, rules.Choice):
        return DrawKind(
            rule.parse,
            getattr(rule, "plain", str),
            words=rule.words,
            example=",".join(rule.words[:2]),
        )
    if isinstance(rule, rules.DurationNs):
        return DrawKind(rule.parse, rule.plain, low, high, example="random:100us..300us")
    return DrawKind(rule.parse, int, low, high, example=f"random:{low}..{high}")


@frozen
class SpreadRule:
    """The rule of a value that may differ from set to set. ``optional``: whether nothing (None) may
    be said: then it is as in [tasks]."""

    kind: DrawKind = field()
    optional: bool = True

    def parse(self, value: Any) -> Drawn | None:
        if isinstance(value, Drawn):
            return value
        if value is None and self.optional:
            return None
        # Random priorities are a kind of priorities: there the word is a choice like others.
        text = value.strip() if isinstance(value, str) and "random" not in self.kind.words else ""
        if text.startswith("random"):
            return self._random(text)
        if isinstance(value, dict) and "lines" not in value:
            raise refuse(f"{shown(value)} is no value", f"write it like {self.kind.example}")
        whole = isinstance(value, dict)
        listed = (
            [value] if whole else rules.items(value, "a value, a list or random", self.kind.example)
        )
        if len(listed) == 1:
            return Drawn((self.kind.parse(listed[0]),))
        found = rules.each(listed, self.kind.parse)
        doubled = [option for option in found if found.count(option) > 1]
        if doubled:
            raise refuse(f"{self.kind.plain(doubled[0])} is listed twice", "list each once")
        return Drawn(tuple(found))

    def _random(self, text: str) -> Drawn:
        match = _RANDOM.fullmatch(text)
        hint = f"write it like random or {self.kind.example}"
        if match is None:
            raise refuse(f"{shown(text)} is not understood", hint)
        if self.kind.words:
            if match["low"] is not None:
                raise refuse(f"{shown(text)}: words have no range", "write random, or list them")
            return Drawn(self.kind.words)
        if match["low"] is None:
            return Drawn((), self.kind.low, self.kind.high)
        try:
            low, high = (int(self.kind.parse(match[end])) for end in ("low", "high"))
        except RefusedError as error:
            raise RefusedError(
                *(Problem("", f"{shown(text)}: {p.found}", p.hint) for p in error.problems)
            ) from None
        if low > high:
            raise refuse(f"{shown(text)} is not an ascending range", hint)
        return Drawn((), low, high)

    def plain(self, drawn: Drawn | None) -> Any:
        """The canonical text: ``parse`` of it gives ``drawn`` again."""
        if drawn is None:
            return None
        if drawn.ranged:
            return f"random:{self.kind.plain(drawn.low)}..{self.kind.plain(drawn.high)}"
        listed = [self.kind.plain(option) for option in drawn.options]
        return listed[0] if len(listed) == 1 else listed


@frozen
class CoreChoice:
    """Core counts M: each of ``fixed`` gets all its sets; with ``drawn`` a group draws its own.
    ``fixed``: None: every count there is here (``resolve``). ``low``, ``high``: range of the drawn
    group; None: chosen on the machine."""

    fixed: tuple[int, ...] | None = ()
    drawn: bool = False
    low: int | None = None
    high: int | None = None


@frozen
class CoresRule:
    """The rule of M: ``4,8``, ``all``, ``random``, ``random:2..8`` or both kinds in one list."""

    def parse(self, value: Any) -> CoreChoice:
        if isinstance(value, CoreChoice):
            return value
        if value is None or value == "all":
            return CoreChoice(fixed=None)
        # TOML has lists of both kinds; a text has commas.
        parts = value.split(",") if isinstance(value, str) else value
        parts = parts if isinstance(parts, list | tuple) else [parts]
        is_random = [isinstance(p, str) and p.strip().startswith("random") for p in parts]
        drawn = [part.strip() for part, random in zip(parts, is_random, strict=True) if random]
        counts = [part for part, random in zip(parts, is_random, strict=True) if not random]
        found = CoreChoice(drawn=bool(drawn))
        if drawn and drawn[0] != "random":
            ends: Any = _COUNTS.parse(drawn[0])
            found = evolve(found, low=ends.low, high=ends.high)
        if len(drawn) > 1:
            raise refuse("random is listed twice", "one group draws its core counts")
        if counts or not drawn:
            text = ",".join(map(str, counts)) if isinstance(value, str) else counts
            found = evolve(found, fixed=rules.CORES.parse(text))
        return found

    @staticmethod
    def plain(choice: CoreChoice) -> Any:
        """The canonical form."""
        if choice.fixed is None:
            return None
        ends = "" if choice.high is None else f":{choice.low}..{choice.high}"
        return [*choice.fixed, *[f"random{ends}"] * choice.drawn]


_COUNTS = SpreadRule(drawn_by(rules.Whole(1, 1024), 1, 1024))


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
    "paper": {
        "stress": {"cores": [4, 8, 12, 16, "random"], "sets": 3000, "random_sets": 5000},
        "run": {"seconds": 1.0},
        "calibration": PAPER_CALIBRATION,
    },
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
    """A field of [tasks], of which each set may have a value of its own here. ``low``, ``high``:
    the sensible range, for numbers. ``kind``: what a value is; None: as there. ``help``: likewise.
    """
    option = given_by(TasksSpec, name)[0]
    rule = SpreadRule(kind or drawn_by(rule_of(TasksSpec, name), low, high))
    return keyed(rule, f"{option.name} VALUES", help or option.help, default=None)


@frozen(kw_only=True)
class StressSpec:
    """What differs from task set to task set; what is None is for all sets as [tasks] says.

    Attributes:
        cores: M: each number listed is a group; ``random`` is one group that draws its own.
        random_sets: Task sets of the group that draws its M; None: the number of the others.
        critical_cores: k: how many cores carry the critical tasks, each k a group of its own;
            computation fills the rest. 0: all cores carry the tasks, nothing is shielded.
        per_core: N / M; from a range, N itself is drawn: from low M to high M.
        random_per_core: The same for the group that draws its M; None: that of the others.
        utilisation: See [tasks]; in thousandths where drawn.
    """

    cores: CoreChoice = keyed(
        CoresRule(),
        "--cores LIST",
        "Cores (M): 4,8 (a group each), random:2..8 or all.",
    )
    sets: int = keyed(rules.Whole(1, 100_000), "--sets N", "Task sets of each group.")
    random_sets: int | None = keyed(
        rules.Whole(1, 100_000),
        "--sets N",
        "Task sets of the group that draws M.  [as many as the others]",
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
        "Share synchronising (rho): random:0.2..0.8.",
    )
    contended_ratio: Drawn = keyed(
        SpreadRule(shares(), optional=False),
        "--contended-ratio VALUES",
        "Share of that across cores (alpha): random:0.2..0.8.  [random]",
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


@frozen
class Group:
    """Task sets that are summarised together. ``cores``: M; None: each set draws its own from
    ``low`` to ``high``. ``critical_cores``: k; 0: nothing is shielded. ``first``: number of its
    first set in the campaign."""

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
    counts, first = stress.cores, 0
    found: list[Group] = []
    bases = [*(counts.fixed or ()), *[None] * counts.drawn]
    for cores, critical in product(bases, stress.critical_cores):
        sets = stress.sets if cores is not None else (stress.random_sets or stress.sets)
        low, high = (cores, cores) if cores is not None else (counts.low or 1, counts.high or 1)
        found.append(Group(cores, low, high, critical, first, sets))
        first += sets
    return tuple(found)


def group_at(stress: StressSpec, replica: int) -> Group:
    """The group of the set numbered ``replica``. Raises KeyError: the campaign has no such set."""
    for group in groups(stress):
        if group.first <= replica < group.first + group.sets:
            return group
    raise KeyError(replica)


@frozen(kw_only=True)
class SetDraw:
    """What one task set is drawn with.

    Attributes:
        seed: Seed of the task set itself.
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
    per_core = stress.per_core_of(group)
    tasks_stream = stream("tasks")
    if per_core is None:
        tasks = None
    elif per_core.ranged:
        tasks = tasks_stream.between(per_core.low * cores, per_core.high * cores)
    else:
        tasks = cores * int(per_core.draw(tasks_stream))
    return SetDraw(
        group=group,
        seed=stream("task set").word() >> 1,
        cores=cores,
        tasks=tasks,
        sync_milli=int(stress.sync_share.draw(stream("sync_share"))),
        contended_milli=int(stress.contended_ratio.draw(stream("contended_ratio"))),
        values=values,
    )


def draw_tasks(
    stress: StressSpec, seed: int, replica: int, tasks: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """rho and alpha of every task of a set, in thousandths, where each task has its own."""
    group = group_at(stress, replica)

    def drawn(name: str, share: Drawn) -> tuple[int, ...]:
        stream = Stream(seed, "stress", f"{name} of tasks", group.base, replica - group.first)
        return tuple(int(share.draw(stream)) for _ in range(tasks))

    rho, alpha = stress.sync_share, stress.contended_ratio
    return drawn("sync_share", rho), drawn("contended_ratio", alpha)


def mean_milli(values: tuple[int, ...]) -> int:
    """The mean in whole thousandths; halves go up."""
    mean = Fraction(sum(values), len(values))
    return (2 * mean.numerator + mean.denominator) // (2 * mean.denominator)
