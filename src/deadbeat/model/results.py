"""Points, summaries and findings."""

from __future__ import annotations

import re
from typing import Any, TypedDict

from attrs import field, frozen

from deadbeat.model.errors import DataError
from deadbeat.model.finding import Finding
from deadbeat.model.measures import measure_columns
from deadbeat.model.traces import PARTS

_KEY = re.compile(
    r"m([0-9]{3,6})-s([0-9]{4})-c([0-9]{4})(?:-d([0-9]{6,7}))?(?:-t([0-9]{2}))?-r([0-9]{4,9})"
)


@frozen(order=True)
class Point:
    """Where a run lies: M cores, rho and alpha in thousandths (exact, sortable).

    In Mode 1 a point of the grid; in Mode 2 what the task set was drawn with (the mean over its
    tasks where each has its own).

    Attributes:
        deadline_factor_milli: T / C in thousandths where the campaign has several; 0: it has one.
        per_core: Tasks a core in a row of its own; 0: as the campaign says.
    """

    cores: int
    sync_share_milli: int
    contended_ratio_milli: int
    deadline_factor_milli: int = 0
    per_core: int = 0

    @property
    def sync_share(self) -> float:
        return self.sync_share_milli / 1000

    @property
    def contended_ratio(self) -> float:
        return self.contended_ratio_milli / 1000


@frozen(order=True)
class RunKey:
    """One run: a point and a replica. ``text`` names its files."""

    point: Point
    replica: int

    @property
    def text(self) -> str:
        return f"{point_text(self.point)}-r{self.replica:04d}"

    @classmethod
    def parse(cls, text: str) -> RunKey:
        """Run key from its text, ``m002-s0500-c1000-r0007``. DataError where it is none."""
        if match := _KEY.fullmatch(text):
            *place, replica = (int(part or 0) for part in match.groups())
            key = cls(Point(*place), replica)
            shares = (key.point.sync_share_milli, key.point.contended_ratio_milli)
            # A text that is not the key's own (m0001-...) would give one run two names.
            if key.text == text and key.point.cores >= 1 and max(shares) <= 1000:
                return key
        raise DataError(f"{text!r} is not a run key", "a run key looks like m002-s0500-c1000-r0007")


@frozen(kw_only=True)
class KnownPoint:
    """How well a point, or a group, of a campaign with a precision is known.

    Attributes:
        sets: Task sets with a result.
        half_width: Of its interval, as ``target``; None: not known.
        stopped: Why it gets no further set.
    """

    sets: int = 0
    half_width: float | None = None
    stopped: str


@frozen(kw_only=True)
class PrecisionRecord:
    """What came of a precision; nothing of it is an input of a later decision.

    Attributes:
        target, metric, sets_min, sets_max: As asked.
        relative: Whether half widths are shares of the mean.
        complete: Whether every point has got what it is to get.
        planned: Runs that were wanted.
        points: Name of a point or group -> how well it is known.
    """

    target: float
    metric: str
    relative: bool = True
    sets_min: int = 0
    sets_max: int = 0
    complete: bool = False
    planned: int = 0
    points: dict[str, KnownPoint]


def point_text(point: Point) -> str:
    """Name of a point: what the names of its runs begin with."""
    factor = point.deadline_factor_milli
    return (
        f"m{point.cores:03d}-s{point.sync_share_milli:04d}-c{point.contended_ratio_milli:04d}"
        + (f"-d{factor:06d}" if factor else "")
        + (f"-t{point.per_core:02d}" if point.per_core else "")
    )


#: Mean of each part of a response over C (``wake_up_ratio``, ...).
PART_COLUMNS: tuple[str, ...] = tuple(f"{part}_ratio" for part in PARTS)

#: Smallest deadline, as a multiple of C, that all but this share of the jobs meet, by its name.
NEEDED_SHARES: dict[str, float] = {"p99": 0.01, "p999": 0.001}
#: The same together and alone, each with its interval; and the largest seen.
NEEDED_COLUMNS: tuple[str, ...] = tuple(
    f"{side}deadline_needed_{name}{end}"
    for side in ("", "alone_")
    for name in (*NEEDED_SHARES, "all")
    for end in (("", "_low", "_high") if name != "all" else ("",))
)


def _and_interval(*names: str) -> tuple[str, ...]:
    """Columns and those of the ends of their intervals."""
    found = ((name, name.removesuffix("_ratio") + "_ci") for name in names)
    return tuple(each for name, of in found for each in (name, f"{of}_low", f"{of}_high"))


_MISSES = _and_interval("deadline_miss_ratio")
_ALONE = _and_interval("alone_miss_ratio", "miss_excess")
_LAST = (
    *("sync_share_real", "contended_ratio_real", "overlap_real"),
    *(*PART_COLUMNS, "half_width", "stopped"),
)
#: Columns of summary.csv, in order. Meaning and formulas: docs/reference/metrics.md.
SUMMARY_COLUMNS: tuple[str, ...] = (
    *("cores", "sync_share", "contended_ratio", "deadline_factor", "tasks_per_core"),
    *("task_sets", "jobs"),
    *(f"delay_ratio_{what}" for what in ("mean", "p50", "p95", "max")),
    *(f"delay_ratio_ci_{what}" for what in ("low", "high", "basis")),
    *("slowdown_mean", "slowdown_p50"),
    *(f"slowdown_ci_{what}" for what in ("low", "high", "basis")),
    *measure_columns(groups=False),
    *_MISSES,
    *_and_interval("miss_sets"),
    *_ALONE,
    *NEEDED_COLUMNS,
    *("miss_episodes", "released", "overruns", "left_out"),
    *_LAST,
)
_OVER_SETS = ("mean", "ci_low", "ci_high", "p5", "p25", "p50", "p75", "p95", "p99", "max")
#: Columns of a stress campaign's summary.csv (Mode 2): one row per group and deadline factor.
#: Quantiles are over task sets; ``deadline_miss_ratio`` pools jobs; ``miss_set_share`` is the share
#: of sets that missed anything, ``deadline_miss_*_nonzero`` quantiles over those sets alone.
STRESS_COLUMNS: tuple[str, ...] = (
    *("group", "cores", "critical_cores", "deadline_factor", "task_sets", "jobs", "released"),
    *(f"{metric}_{what}" for metric in ("slowdown", "delay_ratio") for what in _OVER_SETS),
    *measure_columns(groups=True),
    *_MISSES,
    *_ALONE,
    *_and_interval("miss_set_share"),
    *("deadline_miss_p50_nonzero", "deadline_miss_p95_nonzero"),
    *("miss_episodes", "overruns", "left_out"),
    *_LAST,
)


class JobHistogram(TypedDict, total=False):
    """A histogram of the jobs of a point or group.

    Attributes:
        metric: What is counted.
        edges, counts: Edges of the bins, and how many jobs lie between each two.
    """

    group: str
    cores: int | None
    critical_cores: int | None
    sync_share: float
    contended_ratio: float
    deadline_factor: float | None
    tasks_per_core: int | None
    metric: str
    edges: list[float]
    counts: list[int]


@frozen(kw_only=True)
class ClassFigures:
    """What the sets of one object say at a point of a balanced map.

    Attributes:
        slowdown: Geometric mean over its ``sets``; None: not known, or saturated. ``low``,
            ``high``: 95 %.
        unfinished_share: Jobs that did not finish before their next release.
        at_least: Of a saturated one: lower bound of the slowdown.
    """

    sets: int
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None
    unfinished_share: float | None = None
    saturated: bool = False
    at_least: float | None = None


@frozen(kw_only=True)
class PointFigures:
    """A point of a balanced map; ``slowdown``, ``low`` and ``high`` are those of its row.

    Attributes:
        saturated: The objects that are.
        far_share: Share of its slots in which its CPUs were far apart, ``together`` and ``alone``;
            None: not known.
    """

    cores: int
    sync_share: float
    contended_ratio: float
    deadline_factor: float | None = None
    tasks_per_core: int | None = None
    task_sets: int = 0
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None
    saturated: tuple[str, ...] = ()
    by_class: dict[str, ClassFigures] = field(factory=dict)
    far_share: dict[str, float | None] = field(factory=dict)


@frozen(kw_only=True)
class Summary:
    """A campaign in numbers.

    Attributes:
        mode: ``profile`` (a grid, Mode 1) or ``stress`` (random task sets, Mode 2).
        points: Of a balanced mix: what the objects say at each point.
        rows: One dict per point with the keys of SUMMARY_COLUMNS, or per group with those of
            STRESS_COLUMNS; a quantity that was not measured is None.
        sets: One dict per task set (run): its key and its own figures.
        distributions: One per point, or group, and metric.
        findings: What makes the results doubtful.
        noise_floor: Smallest slowdown effect a point of the campaign can show, from its own null
            sets: ``smallest_effect`` (None: fewer than three), ``basis``, ``sets``, ``mean``,
            ``sd``.
        labels: What must show on every figure (``policy other``, ``simulated``, ...).
        meta: Campaign name, parameters, platform and environment as plain values.
    """

    mode: str = "profile"
    rows: tuple[dict[str, Any], ...]
    sets: tuple[dict[str, Any], ...]
    points: tuple[PointFigures, ...] = ()
    distributions: tuple[JobHistogram, ...] = ()
    findings: tuple[Finding, ...] = ()
    noise_floor: dict[str, Any] = field(factory=dict)
    labels: tuple[str, ...] = ()
    meta: dict[str, Any] = field(factory=dict)
