"""Task sets until it is known: a point stops when the interval of its metric is tight enough.

Every point first gets ``sets_min`` sets. After that it is looked at at the ends of rounds, each
time it has a tenth more sets than at the look before, and stops at the first look at which the half
width of its interval is within the target, or when no set is left. Few looks, and never one before
there are ``sets_min`` sets, are what keeps the intervals honest: docs/decisions/0012.

Decisions depend on results alone, in the order of the plan: told of the runs of earlier sessions,
it decides as it did then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from attrs import define, field, frozen

from deadbeat.executors.metrics import job_columns, of_tasks
from deadbeat.kinds.contention.figures import run_figures
from deadbeat.kinds.contention.plan import group_of, round_of, unit_of
from deadbeat.kinds.contention.point import known
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.spec import CampaignSpec, PrecisionSpec
from deadbeat.model.finding import Finding
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import KnownPoint, PrecisionRecord, RunKey
from deadbeat.stats.intervals import (
    Floats,
    Interval,
    mean_interval,
    share_over_sets,
    student_half_width,
)

#: A look follows when a point has so many times the sets of the last one.
GROWTH = 1.1
#: Why a point has no further set.
REACHED, CAP, LOST, UNFINISHED = "target reached", "most sets", "runs lost", "not finished"


@frozen
class PointSample:
    """What one task set says: ``above`` / ``below``; below is 1 where sets weigh the same."""

    above: float
    below: float = 1.0


@frozen
class MeanEstimate:
    """A mean and its 95 % interval, as the summary has it.

    Attributes:
        student: Half width of Student's interval; 0 where sets do not differ.
    """

    mean: float
    low: float
    high: float
    student: float = 0.0

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def width(self, *, relative: bool) -> float:
        """Half the interval; with ``relative`` as a share of the mean."""
        return self._scaled(self.half_width, relative=relative)

    def widest(self, *, relative: bool) -> float:
        """The larger of the two half widths. Resampling errs by chance, and a rule that trusts it
        alone stops when it errs to the narrow side."""
        return self._scaled(max(self.half_width, self.student), relative=relative)

    def _scaled(self, half: float, *, relative: bool) -> float:
        if not relative:
            return half
        return half / self.mean if self.mean > 0 else math.inf


class Gauge(Protocol):
    """Turns runs into the numbers of the summary."""

    def sample(self, key: RunKey, table: JobTable) -> PointSample | None:
        """What the set says; None where the metric was not measured."""

    def estimate(self, key: RunKey, samples: Sequence[PointSample]) -> MeanEstimate | None:
        """Of the samples of a point, in order of replicas; ``key`` is one of its runs."""


@frozen(kw_only=True)
class Layout:
    """Where the runs of a plan belong.

    Attributes:
        keys: In order of rounds.
        unit: What a run adds to: a point, or a group.
        round: How many sets of its unit come before a run.
    """

    keys: tuple[RunKey, ...]
    unit: Callable[[RunKey], str]
    round: Callable[[RunKey], int]


@define
class _Unit:
    """What is known of a point."""

    key: RunKey
    next_look: int
    rounds: int = 0
    samples: dict[RunKey, PointSample] = field(factory=dict)
    attended: int = 0
    estimate: MeanEstimate | None = None
    stopped: bool = False

    @property
    def exhausted(self) -> bool:
        return self.attended == self.rounds

    def ordered(self) -> list[PointSample]:
        """In the order of runs, as the summary has them: resampling depends on it."""
        return [self.samples[key] for key in sorted(self.samples)]


class Precision:
    """Stops each point when its interval is tight enough: decides, run by run, in order, whether
    more is to be learnt, deterministic in what it was told."""

    def __init__(self, spec: PrecisionSpec, layout: Layout, gauge: Gauge) -> None:
        self._spec, self._layout, self._gauge = spec, layout, gauge
        self._units: dict[str, _Unit] = {}
        for key in layout.keys:
            unit = self._units.setdefault(layout.unit(key), _Unit(key, spec.sets_min))
            unit.rounds += 1
        self._round = 0
        mean = spec.sets_max if spec.sets_mean is None else spec.sets_mean
        self._unspent = mean * len(self._units)

    def wanted(self, key: RunKey) -> bool:
        """Whether ``key``, whose turn it is, is to be run, or was rightly run before."""
        round_ = self._layout.round(key)
        if round_ != self._round:
            self._end_round()
            self._round = round_
        unit = self._units[self._layout.unit(key)]
        if unit.stopped or not self._unspent:
            return False
        self._unspent -= 1
        unit.attended += 1
        return True

    def learn(self, key: RunKey, table: JobTable) -> None:
        sample = self._gauge.sample(key, table)
        if sample is not None:
            self._units[self._layout.unit(key)].samples[key] = sample

    def _end_round(self) -> None:
        due = [u for u in self._units.values() if not u.stopped and len(u.samples) >= u.next_look]
        for unit in due:
            unit.estimate = self._gauge.estimate(unit.key, unit.ordered())
            sets = len(unit.samples)
            unit.next_look = max(sets + 1, math.ceil(sets * GROWTH))
            unit.stopped = self._tight(unit.estimate)

    def _tight(self, estimate: MeanEstimate | None) -> bool:
        return (
            estimate is not None
            and estimate.widest(relative=self._spec.relative) <= self._spec.target
        )

    def decided(self) -> tuple[int, int]:
        """Points that get no further set, and all points."""
        units = self._units.values()
        return sum(unit.stopped or self._has_no_more(unit) for unit in units), len(units)

    def _has_no_more(self, unit: _Unit) -> bool:
        return unit.exhausted or not self._unspent

    def expected_left(self) -> int:
        """Runs that are still needed by what is known now: the width falls as 1 / sqrt(sets)."""
        return min(self._unspent, sum(map(self._left_of, self._units.values())))

    def _left_of(self, unit: _Unit) -> int:
        if unit.stopped:
            return 0
        need = self._spec.sets_min
        if unit.estimate is not None:
            ratio = unit.estimate.width(relative=self._spec.relative) / self._spec.target
            need = unit.rounds
            if math.isfinite(ratio):
                need = math.ceil(len(unit.samples) * max(1.0, ratio) ** 2)
        return max(0, min(need, unit.rounds) - unit.attended)

    def record(self) -> PrecisionRecord:
        """What came of it."""
        points = {name: self._outcome(unit) for name, unit in sorted(self._units.items())}
        return PrecisionRecord(
            target=self._spec.target,
            metric=self._spec.metric,
            relative=self._spec.relative,
            sets_min=self._spec.sets_min,
            sets_max=self._spec.sets_max,
            complete=all(point.stopped != UNFINISHED for point in points.values()),
            planned=sum(unit.attended for unit in self._units.values()),
            points=points,
        )

    def _outcome(self, unit: _Unit) -> KnownPoint:
        estimate = self._gauge.estimate(unit.key, unit.ordered()) if unit.samples else None
        width = estimate.width(relative=self._spec.relative) if estimate else math.inf
        return KnownPoint(
            sets=len(unit.samples),
            half_width=width if math.isfinite(width) else None,
            stopped=self._reason(unit, estimate),
        )

    def _reason(self, unit: _Unit, estimate: MeanEstimate | None) -> str:
        if unit.stopped:
            return REACHED
        if not self._has_no_more(unit):
            return UNFINISHED
        if len(unit.samples) >= self._spec.sets_min and self._tight(estimate):
            return REACHED
        return CAP if len(unit.samples) == unit.attended else LOST


def layout(spec: CampaignSpec, keys: Sequence[RunKey]) -> Layout:
    """Where the runs on offer belong."""
    return Layout(
        keys=tuple(keys),
        unit=lambda key: unit_of(spec, key),
        round=lambda key: round_of(spec, key),
    )


def gauge_of(spec: CampaignSpec) -> SummaryGauge:
    """The gauge of a campaign that asks for a precision."""
    assert spec.precision is not None

    def critical(key: RunKey) -> int:
        group = group_of(spec, key)
        return 0 if group is None else group.critical_cores

    return SummaryGauge(metric=spec.precision.metric, critical_cores=critical)


@frozen(kw_only=True)
class SummaryGauge:
    """A Gauge whose numbers are those of the summary: same sets, same weights; the interval is the
    part of the summary's that further sets can tighten.

    Attributes:
        critical_cores: How many cores carry the tasks that count in a run; 0: all.
    """

    metric: str
    critical_cores: Callable[[RunKey], int] = lambda key: 0

    def sample(self, key: RunKey, table: JobTable) -> PointSample | None:
        """The set's own figure."""
        table, _ = without_overlapped(table)
        columns, chosen = job_columns(table), None
        if critical := self.critical_cores(key):
            chosen = np.asarray(table.tasks["core"] < critical)
            columns = of_tasks(columns, chosen)
        figures = run_figures(table, columns, chosen=chosen).set_figures
        if self.metric == "deadline_miss_ratio":
            return PointSample(float(figures["deadline_misses"]), float(figures["released"]))
        value = figures[f"{self.metric}_mean"]
        return None if value is None else PointSample(float(value))

    def estimate(self, key: RunKey, samples: Sequence[PointSample]) -> MeanEstimate | None:
        """Mean and interval over sets; None where the summary has none either."""
        above = np.array([sample.above for sample in samples])
        below = np.array([sample.below for sample in samples])
        interval = _over_sets(self.metric, above, below)
        if interval is None or not below.sum():
            return None
        used = below > 0
        student = student_half_width(above[used], below[used]) if used.sum() > 1 else 0.0
        return MeanEstimate(float(above.sum() / below.sum()), *interval, student=student)


def _over_sets(metric: str, above: Floats, below: Floats) -> Interval | None:
    miss = metric == "deadline_miss_ratio"
    return share_over_sets(above, below) if miss else mean_interval(above)


def half_width(sets: Sequence[Mapping[str, object]], metric: str) -> float | None:
    """Half the interval over sets, relative to the mean but for a miss ratio."""
    miss = metric == "deadline_miss_ratio"
    above = known(sets, "deadline_misses" if miss else f"{metric}_mean")
    below = known(sets, "released") if miss else np.ones_like(above)
    interval = _over_sets(metric, above, below)
    if interval is None:
        return None
    half = (interval[1] - interval[0]) / 2
    if miss:
        return half
    mean = float(above.mean())
    return half / mean if mean > 0 else None


def precision_columns(
    record: PrecisionRecord | None, name: str, sets: Sequence[Mapping[str, object]]
) -> dict[str, float | str | None]:
    """``half_width`` and ``stopped`` of the point or group ``name``; None without a precision."""
    if record is None:
        return {"half_width": None, "stopped": None}
    known = record.points.get(name)
    return {
        "half_width": half_width(sets, record.metric),
        "stopped": UNFINISHED if known is None else known.stopped,
    }


def precision_findings(record: PrecisionRecord | None) -> Iterator[Finding]:
    """A promise that was not kept is said."""
    points = {} if record is None else record.points
    short = {name: point for name, point in points.items() if point.stopped != REACHED}
    if record is None or not short:
        return
    reasons = sorted({point.stopped for point in short.values()})
    worst = max(short, key=lambda name: short[name].half_width or float("inf"))
    width = short[worst].half_width
    text = "not known" if width is None else f"{width:.3g}"
    yield Finding(
        id="precision-not-reached",
        severity="warning",
        message=f"{len(short)} of {len(points)} points are not known to"
        f" {record.target:g} ({', '.join(reasons)}); the worst is {worst}, half width {text}",
        cure="raise --sets-max or --budget, or ask for less",
        where=worst,
    )
