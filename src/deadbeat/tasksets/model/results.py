"""Points, summaries and findings."""

from __future__ import annotations

import re
from typing import Any, TypedDict

from attrs import field, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.finding import Finding
from deadbeat.tasksets.model.figures import CellFigures, SetFigures

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
        per_core: Tasks per core in a row of its own; 0: the campaign's number.
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
        half_width: Half width of its interval, in the unit of ``target``; None: not known.
    """

    sets: int = 0
    half_width: float | None = None
    stopped: str


@frozen(kw_only=True)
class PrecisionRecord:
    """What came of a precision; nothing of it is an input of a later decision.

    Attributes:
        relative: Whether half widths are shares of the mean.
        complete: Whether every point has got what it is to get.
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
        at_least: Lower bound of the slowdown of a saturated one.
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
class NoiseFacts:
    """What task sets differ by without an effect, from the campaign's own null sets.

    Attributes:
        smallest_effect: Smallest slowdown effect that a point can show; None: fewer than three.
        sets, mean, sd: Number, mean and standard deviation of the null sets.
    """

    smallest_effect: float | None = None
    sets: int = 0
    mean: float | None = None
    sd: float | None = None
    basis: str = ""


@frozen(kw_only=True)
class Summary:
    """A campaign in numbers.

    Attributes:
        mode: ``profile`` (a grid, Mode 1) or ``stress`` (random task sets, Mode 2).
        points: For a balanced mix: what the objects say at each point.
        cells: One per point, or a group at a deadline factor.
        distributions: One per point, or group, and metric.
        labels: What must show on every figure (``policy other``, ``simulated``, ...).
        meta: Campaign name, parameters, platform and environment as plain values.
    """

    mode: str = "profile"
    cells: tuple[CellFigures, ...]
    sets: tuple[SetFigures, ...]
    points: tuple[PointFigures, ...] = ()
    distributions: tuple[JobHistogram, ...] = ()
    findings: tuple[Finding, ...] = ()
    noise_floor: NoiseFacts | None = None
    labels: tuple[str, ...] = ()
    meta: dict[str, Any] = field(factory=dict)
