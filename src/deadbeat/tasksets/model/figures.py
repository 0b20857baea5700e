"""Figures of a campaign: a value for each task set, and one for each point or group.

A field of `SetFigures` is a column of sets.csv, in order; formulas: docs/reference/campaign.md. One
that is made by `measure` is shown as the mean over sets of a point or group as well: with the line
of `deadbeat.tasksets.contention.figures` that computes it, it is all that a new figure takes. Its
columns in summary.csv and the JSON, its cell on the page, its entry in the reference and, with
``minimum``, its place in comparisons follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from attrs import Attribute, evolve, field, fields, frozen

from deadbeat.base.model.traces import COUNTER_EVENTS, PARTS
from deadbeat.base.model.words import UNDECIDED

#: What a cell of summary.csv or sets.csv holds; None: not known.
Value = str | bool | int | float | None

#: Mean of each part of a response over C (``wake_up_ratio``, ...).
PART_COLUMNS: tuple[str, ...] = tuple(f"{part}_ratio" for part in PARTS)
#: Mean count of each event per job.
COUNTER_COLUMNS: tuple[str, ...] = tuple(f"counter_{event}_per_job" for event in COUNTER_EVENTS)
#: Smallest deadline, as a multiple of C, that all but this share of the jobs meet, by its name.
NEEDED_SHARES: dict[str, float] = {"p99": 0.01, "p999": 0.001}


#: From this share of jobs on that did not finish before their next release a class, a set or a
#: point is saturated.
SATURATED = 0.05
#: Basis of a figure that is a lower bound.
BOUND = "bound"
#: Basis of an interval that holds both ends of a replay's prices, too.
RANGE = "range"


def is_saturated(unfinished_share: float | None) -> bool:
    return unfinished_share is not None and unfinished_share >= SATURATED


class Figure(NamedTuple):
    """A value with the ends of its 95 % interval; None: not known.

    Attributes:
        basis: What the interval rests on: ``rounds`` of one set, ``sets``, ``classes``, ``pooled``;
            `BOUND`: the value is a lower bound, as jobs did not finish, and ``low`` its own end;
            `RANGE`: sets and prices of a replay; without ``high`` it may be any more.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    basis: str | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def bounds(self) -> bool:
        """Whether the truth is at least the value."""
        return self.basis == BOUND

    @property
    def unbounded(self) -> bool:
        """Whether nothing says how large it may be."""
        return self.basis in (BOUND, RANGE) and self.high is None

    @property
    def of_one(self) -> bool:
        """Whether the interval is that of one set, over its rounds."""
        return self.basis == "rounds"

    def scaled(self, factor: float) -> Figure:
        """In another unit."""
        value, low, high = (None if each is None else each * factor for each in self[:3])
        return Figure(value, low, high, self.basis)

    def text(self, digits: Callable[[float], str]) -> str:
        """``1.2 [1.1, 1.3] one set``, or ``undecided``."""
        if self.value is None:
            return UNDECIDED
        if self.bounds:
            return f"at least {digits(self.value)}"
        ends = "" if self.ends is None else f" [{', '.join(map(digits, self.ends))}]"
        if self.low is not None and (self.unbounded or self.open_above):
            ends = f" [{digits(self.low)} or more]"
        return digits(self.value) + ends + " one set" * bool(ends and self.of_one)

    @property
    def open_above(self) -> bool:
        """Whether too few task sets say how large it may be."""
        return self.basis == "sets" and self.low is not None and self.high is None

    def interval(self, digits: Callable[[float], str]) -> str:
        """``95 % interval 1.1 to 1.3``, or that there is none."""
        if self.open_above:
            return f"at least {digits(self.low or 0.0)}; too few task sets for an upper end"
        if self.ends is None:
            return "jobs did not finish" if self.bounds else "no interval"
        if self.basis == RANGE:
            return f"range of sets and prices {' to '.join(map(digits, self.ends))}"
        return f"95 % interval{' of one set' * self.of_one} {' to '.join(map(digits, self.ends))}"


@frozen(kw_only=True)
class Measure:
    """A figure of a task set of which a point or group shows the mean over its sets.

    Attributes:
        name: Its column, of a task set, a point and a group.
        title: Heads its column on the page; "": it is not there.
        meaning: What it is, for the reference.
        interval: Whether the mean has a 95 % interval over sets, ``NAME_ci_low`` and ``_high``.
        groups: Whether a group of a stress campaign has it too.
        scale: From its unit to the page's: 100 of a share in per cent.
        minimum: Smallest ratio of two campaigns (as a share) that matters; None: not compared.
        always: Whether there is one where jobs did not finish: it is no mean over those that did.
    """

    name: str = ""
    title: str = ""
    meaning: str
    interval: bool = False
    groups: bool = True
    scale: float = 1.0
    minimum: float | None = None
    always: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name, *(f"{self.name}_ci_{end}" for end in ("low", "high") if self.interval))


def measure(meaning: str, **more: Any) -> Any:
    """A field of `SetFigures` that is a `Measure`."""
    return field(default=None, metadata={"measure": {"meaning": meaning, **more}})


#: Metadata of a field that only stress campaigns have as a column.
_STRESS = {"stress": True}


@frozen(kw_only=True)
class SetFigures:
    """A task set of a campaign: what it was drawn with, and what came of it; None: not known."""

    key: str = ""
    group: str = field(default="", metadata=_STRESS)
    cores: int = 0
    critical_cores: int = field(default=0, metadata=_STRESS)
    sync_share: float = 0.0
    contended_ratio: float = 0.0
    deadline_factor: float | None = None
    replica: int = 0
    seed: int | None = None
    set_id: str = ""
    tasks: int = 0
    utilisation: float | None = None
    jobs: int = 0
    released: int = 0
    delay_ratio_mean: float | None = None
    delay_ratio_p50: float | None = None
    delay_ratio_p95: float | None = None
    delay_ratio_max: float | None = None
    delay_ratio_error: float | None = None
    cost_half_width: float | None = None
    slowdown_mean: float | None = None
    slowdown_error: float | None = None
    slowdown_p50: float | None = None
    rounds: int | None = None
    object_class: str | None = field(default=None, metadata={"column": "class"})
    slowdown_predicted: float | None = None
    slowdown_bound: float | None = measure(
        "slowdown, or what it is at least where jobs did not finish",
        interval=True,
        always=True,
    )
    delay_ratio_bound: float | None = measure(
        "the same of the delay ratio", interval=True, always=True
    )
    slowdown_low: float | None = None
    slowdown_high: float | None = None
    unfinished_share: float | None = None
    unfinished_predicted: float | None = None
    far_share: float | None = None
    far_share_alone: float | None = None
    slowdown_calm: float | None = measure(
        "slowdown in that half of the rounds in which the witnesses were faster",
        title="slowdown, calm half",
    )
    slowdown_rough: float | None = measure(
        "slowdown in the other half", title="slowdown, rough half"
    )
    compute_ratio: float | None = measure(
        "computation together over computation alone, by the witnesses",
        title="compute ratio",
        interval=True,
        always=True,
    )
    slowdown_undisturbed: float | None = measure(
        "slowdown without what others than the set took of its jobs, on both sides, by the kernel",
        title="slowdown without others",
        interval=True,
    )
    others_share: float | None = measure(
        "share of the jobs' spans that others took (run delay, stolen time)",
        title="taken by others %",
        scale=100.0,
        always=True,
    )
    response_ratio_mean: float | None = measure("response over C, mean over the set's jobs")
    response_ratio_predicted: float | None = measure(
        "the same, **replayed with prices**: see [below](#predicted-and-measured)", groups=False
    )
    deadline_misses: int = 0
    deadline_misses_predicted: int | None = None
    deadline_miss_ratio: float | None = None
    alone_released: int = 0
    alone_misses: int = 0
    miss_episodes: int = 0
    overruns: int = 0
    skipped: int = 0
    unfinished: int = 0
    left_out: int = 0
    solo_jobs: int = 0
    tasks_without_solo: int = 0
    solo_cost_ratio_p50: float | None = None
    wake_up_p50_ns: float | None = None
    wake_up_max_ns: float | None = None
    sync_share_real: float | None = None
    contended_ratio_real: float | None = None
    overlap_real: float | None = None
    shared_objects: str | None = None
    starved_tasks: int = 0
    witness_ps: float | None = None
    began_ns: int | None = None
    realtime: bool = False
    file: str = ""
    parts: Mapping[str, float | None] = field(factory=dict, metadata={"columns": PART_COLUMNS})
    counters: Mapping[str, float | None] = field(
        factory=dict, metadata={"columns": COUNTER_COLUMNS}
    )

    @property
    def contends(self) -> bool:
        return bool(self.sync_share and self.contended_ratio)

    @property
    def censored(self) -> bool:
        """Whether its ratios are lower bounds, as jobs never ran or never finished."""
        return self.starved_tasks > 0 or (
            self.jobs < self.released and is_saturated(self.unfinished_share)
        )

    def column(self, name: str) -> float | None:
        value = self.parts.get(name, self.counters.get(name, getattr(self, name, None)))
        return None if isinstance(value, str | bool) else value

    @staticmethod
    def columns(mode: str) -> tuple[str, ...]:
        return tuple(name for at in _own(mode) for name in _columns(at))

    def row(self, mode: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for at in _own(mode):
            value, names = getattr(self, at.name), _columns(at)
            several = isinstance(value, Mapping)
            found |= {each: value.get(each) if several else value for each in names}
        return found | ({"critical_cores": self.critical_cores or None} if mode == "stress" else {})

    @classmethod
    def of(cls, row: Mapping[str, Value]) -> SetFigures:
        found: dict[str, Any] = {}
        for at in fields(cls):
            own = {name: row[name] for name in _columns(at) if name in row}
            if "columns" in at.metadata:
                found[at.name] = own
            elif (value := next(iter(own.values()), None)) is not None:
                found[at.name] = value
        return cls(**found)


def _columns(at: Attribute[Any]) -> tuple[str, ...]:
    one: str = at.metadata.get("column", at.name)
    several: tuple[str, ...] = at.metadata.get("columns", (one,))
    return several


def _own(mode: str) -> Iterator[Attribute[Any]]:
    return (at for at in fields(SetFigures) if mode == "stress" or "stress" not in at.metadata)


MEASURES: tuple[Measure, ...] = tuple(
    Measure(name=at.name, **at.metadata["measure"])
    for at in fields(SetFigures)
    if "measure" in at.metadata
)


#: The same together and alone, each with its interval; and the largest seen.
NEEDED_COLUMNS: tuple[str, ...] = tuple(
    f"{side}deadline_needed_{name}{end}"
    for side in ("", "alone_")
    for name in (*NEEDED_SHARES, "all")
    for end in (("", "_low", "_high") if name != "all" else ("",))
)


def interval_stem(column: str) -> str:
    """What the columns of the interval of a figure begin with."""
    if "deadline_needed" in column:
        return column
    return column.removesuffix("_mean").removesuffix("_ratio" if "miss" in column else "") + "_ci"


def _and_interval(*names: str) -> tuple[str, ...]:
    """Columns and those of the ends of their intervals."""
    found = ((name, interval_stem(name)) for name in names)
    return tuple(each for name, of in found for each in (name, f"{of}_low", f"{of}_high"))


def _measured(*, groups: bool) -> Iterator[str]:
    return (column for each in MEASURES if each.groups or not groups for column in each.columns)


_MISSES = _and_interval("deadline_miss_ratio")
_ALONE = _and_interval("alone_miss_ratio", "miss_excess")
_LAST = (
    *("sync_share_real", "contended_ratio_real", "overlap_real"),
    *(*PART_COLUMNS, "half_width", "stopped"),
)
#: Columns of summary.csv, in order. Meaning and formulas: docs/reference/campaign.md.
SUMMARY_COLUMNS: tuple[str, ...] = (
    *("cores", "sync_share", "contended_ratio", "deadline_factor", "tasks_per_core"),
    *("task_sets", "jobs"),
    *(f"delay_ratio_{what}" for what in ("mean", "p50", "p95", "max")),
    *(f"delay_ratio_ci_{what}" for what in ("low", "high", "basis")),
    *("slowdown_mean", "slowdown_p50"),
    *(f"slowdown_ci_{what}" for what in ("low", "high", "basis")),
    *_measured(groups=False),
    *_MISSES,
    *_and_interval("miss_sets"),
    *_ALONE,
    *NEEDED_COLUMNS,
    *("miss_episodes", "released", "overruns", "left_out"),
    *_LAST,
)
_QUANTILE_ENDS = (
    *product(("slowdown", "delay_ratio"), ("p50", "p95"), ("low", "high")),
    *product(("slowdown", "delay_ratio"), ("p99", "max"), ("low",)),
)
_OVER_SETS = ("mean", "ci_low", "ci_high", "p5", "p25", "p50", "p75", "p95", "p99", "max")
#: Columns of a stress campaign's summary.csv (Mode 2): one row per group and deadline factor.
#: Quantiles are over task sets; ``deadline_miss_ratio`` pools jobs; ``miss_set_share`` is the share
#: of sets that missed anything, ``deadline_miss_*_nonzero`` quantiles over those sets alone.
STRESS_COLUMNS: tuple[str, ...] = (
    *("group", "cores", "critical_cores", "deadline_factor", "task_sets", "jobs", "released"),
    *(f"{metric}_{what}" for metric in ("slowdown", "delay_ratio") for what in _OVER_SETS),
    *_measured(groups=True),
    *_MISSES,
    *_ALONE,
    *_and_interval("miss_set_share"),
    *("deadline_miss_p50_nonzero", "deadline_miss_p95_nonzero"),
    *("miss_episodes", "overruns", "left_out"),
    *_LAST,
    *(f"{metric}_{name}_ci_{end}" for metric, name, end in _QUANTILE_ENDS),
)
#: Columns of summary.csv by mode.
CELL_COLUMNS = {"profile": SUMMARY_COLUMNS, "stress": STRESS_COLUMNS}


@frozen(kw_only=True)
class CellFigures:
    """A point of a profile, or a group of a stress campaign at a deadline factor.

    Attributes:
        group, critical_cores: The group. ``cores``: 0: each set draws its own.
        sync_share, contended_ratio, tasks_per_core: The point.
        deadline_factor: T / C; None: T is drawn, or the campaign does not say.
        figures: By the name of their columns. `SUMMARY_COLUMNS` has those of a point,
            `STRESS_COLUMNS` those of a group.
        half_width, stopped: How well it is known, and why it gets no further set.
    """

    group: str = ""
    cores: int = 0
    critical_cores: int = 0
    sync_share: float = 0.0
    contended_ratio: float = 0.0
    deadline_factor: float | None = None
    tasks_per_core: int = 0
    task_sets: int = 0
    jobs: int | None = None
    released: int | None = None
    miss_episodes: int | None = None
    overruns: int | None = None
    left_out: int | None = None
    half_width: float | None = None
    stopped: str | None = None
    figures: Mapping[str, Figure] = field(factory=dict)

    def figure(self, name: str) -> Figure:
        """One of ``figures``; without a value what it is at least, where that is known."""
        found = self.figures.get(name, _NONE)
        if found.value is not None or not name.startswith(("slowdown_", "delay_ratio_")):
            return found
        least = self.figures.get(name.replace("_mean", "_bound"), found)
        value = found.low if least is found else least.value
        return found if value is None else Figure(value, found.low, None, BOUND)

    def value(self, name: str) -> float | None:
        return self.figure(name).value

    def with_figures(self, **found: Figure) -> CellFigures:
        return evolve(self, figures={**self.figures, **found})

    @property
    def slowdown(self) -> Figure:
        return self.figure("slowdown_mean")

    @property
    def miss_ratio(self) -> Figure:
        return self.figure("deadline_miss_ratio")

    @property
    def misses(self) -> bool:
        """Whether surely more jobs miss than of the same tasks alone."""
        return (self.figure("miss_excess").low or 0.0) > 0

    @property
    def factor(self) -> float:
        """D / C; 0 where the campaign does not say."""
        return self.deadline_factor or 0.0

    def row(self, mode: str) -> dict[str, Value]:
        plain = (at.name for at in fields(CellFigures) if at.name != "figures")
        found: dict[str, Value] = {name: getattr(self, name) for name in plain}
        found |= {name: found[name] or None for name in _ZERO_IS_NONE}
        for name, own in self.figures.items():
            stem = interval_stem(name)
            found |= {name: own.value, f"{stem}_low": own.low, f"{stem}_high": own.high}
            found[f"{stem}_basis"] = own.basis
        return {name: found.get(name) for name in CELL_COLUMNS[mode]}

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CellFigures:
        plain = {at.name for at in fields(cls)}
        ends = ("_low", "_high", "_basis")
        names = [name for name in row if name not in plain and not name.endswith(ends)]
        figures = {
            name: Figure(row[name], *(row.get(interval_stem(name) + end) for end in ends))
            for name in names
        }
        own = {name: row[name] for name in plain & row.keys() if row[name] is not None}
        return cls(**own, figures=figures)


_NONE = Figure()
#: Numbers that a file has none of where they are 0.
_ZERO_IS_NONE = ("cores", "critical_cores", "tasks_per_core")
