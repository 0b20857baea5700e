"""Task sets until it is known: a point stops when the interval of its metric is tight enough.

Every point first gets ``sets_min`` sets. After that it is looked at at the ends of rounds, each
time it has a tenth more sets than at the look before, and stops at the first look at which the half
width of its interval is within the target, or when no set is left. Few looks, and never one before
there are ``sets_min`` sets, are what keeps the intervals honest: docs/decisions/0012.

Decisions depend on results alone, in the order of the plan: given the runs of earlier sessions,
it decides as it did then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.stats.intervals import (
    Floats,
    mean_interval,
    share_over_sets,
    stratified_interval,
    student_half_width,
)
from deadbeat.tasksets.contention.figures import run_figures, without_overlapped
from deadbeat.tasksets.contention.plan import class_unit, group_of, most_runs, round_of, unit_of
from deadbeat.tasksets.contention.spec import CampaignSpec, PrecisionSpec
from deadbeat.tasksets.executors.metrics import job_columns, of_tasks
from deadbeat.tasksets.model.figures import CellFigures, SetFigures, is_saturated
from deadbeat.tasksets.model.results import KnownPoint, PrecisionRecord, RunKey, point_text

#: A look follows when a point has this many times the sets of the last one.
GROWTH = 1.1
#: Why a point has no further set.
REACHED, CAP, LOST, UNFINISHED = "target reached", "most sets", "runs lost", "not finished"
#: No target was asked for: the sets there are went to what was known least.
SPENT = "all sets spent"


#: What one task set says: its figure is the first over the second, which is 1 where sets weigh the
#: same. Of a balanced map: its slowdown, and its jobs in all and unfinished ones.
Sample = tuple[float, ...]


@frozen
class MeanEstimate:
    """A mean and its 95 % interval, as the summary has it: the part that further sets can tighten.
    ``student``: half width of Student's interval; 0 where sets do not differ."""

    mean: float
    low: float
    high: float
    student: float = 0.0

    @classmethod
    def of(cls, metric: str, samples: Sequence[Sample]) -> MeanEstimate | None:
        """Mean of samples in the order of runs; None where the summary has no interval either."""
        above, below = np.array(samples, dtype=np.float64).reshape(-1, 2).T
        miss = metric == "deadline_miss_ratio"
        interval = share_over_sets(above, below) if miss else mean_interval(above)
        if interval is None or not below.sum():
            return None
        used = below > 0
        student = student_half_width(above[used], below[used]) if used.sum() > 1 else 0.0
        return cls(float(above.sum() / below.sum()), *interval, student=student)

    def width(self, *, relative: bool) -> float:
        """Half the interval; with ``relative`` as a share of the mean."""
        return self._scaled((self.high - self.low) / 2, relative=relative)

    def widest(self, *, relative: bool) -> float:
        """The larger of the two half widths. Resampling errs by chance, and a rule that trusts it
        alone stops when it errs to the narrow side."""
        return max(self.width(relative=relative), self._scaled(self.student, relative=relative))

    def _scaled(self, half: float, *, relative: bool) -> float:
        if not relative:
            return half
        return half / self.mean if self.mean > 0 else math.inf


@define
class _Unit:
    next_look: int
    rounds: int = 0
    samples: dict[RunKey, Sample] = field(factory=dict)
    attended: int = 0
    estimate: MeanEstimate | None = None
    stopped: bool = False

    def estimated(self, metric: str) -> MeanEstimate | None:
        return MeanEstimate.of(metric, [self.samples[key] for key in sorted(self.samples)])


class Precision:
    """Stops each point when its interval is tight enough: decides, run by run, in order, whether
    more is to be learnt, deterministic in the runs it was given."""

    def __init__(self, spec: PrecisionSpec, places: Mapping[RunKey, tuple[str, int]]) -> None:
        """``places``: in order of rounds, what each run adds to, and its round there."""
        self._spec, self._places = spec, places
        self._units: dict[str, _Unit] = {}
        for name, _ in places.values():
            self._units.setdefault(name, _Unit(spec.sets_min)).rounds += 1
        self._round = 0
        mean = spec.sets_max if spec.sets_mean is None else spec.sets_mean
        self._unspent = mean * len(self._units)

    def wanted(self, key: RunKey) -> bool:
        """Whether ``key``, which is next, is to be run, or was rightly run before."""
        name, round_ = self._places[key]
        if round_ != self._round:
            self._end_round()
            self._round = round_
        unit = self._units[name]
        if unit.stopped or not self._unspent:
            return False
        self._unspent -= 1
        unit.attended += 1
        return True

    def learn(self, key: RunKey, sample: Sample | None) -> None:
        """``sample``: None where the metric was not measured."""
        if sample is not None:
            self._units[self._places[key][0]].samples[key] = sample

    def _end_round(self) -> None:
        for unit in self._units.values():
            if unit.stopped or len(unit.samples) < unit.next_look:
                continue
            unit.estimate = unit.estimated(self._spec.metric)
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
        return unit.attended == unit.rounds or not self._unspent

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
        return _record(self._spec, points, sum(unit.attended for unit in self._units.values()))

    def _outcome(self, unit: _Unit) -> KnownPoint:
        estimate = unit.estimated(self._spec.metric)
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


@define
class _Stratum:
    """A class at a point: logarithms of its sets' slowdowns, and its jobs that did not finish."""

    offered: int = 0
    attended: int = 0
    logs: dict[RunKey, float] = field(factory=dict)
    released: float = 0.0
    unfinished: float = 0.0
    chosen: bool = True

    @property
    def values(self) -> Floats:
        return np.array([self.logs[key] for key in sorted(self.logs)])

    @property
    def saturated(self) -> bool:
        return self.released > 0 and is_saturated(self.unfinished / self.released)

    def doubt(self, usual: float) -> float:
        """By how much one more set lowers the variance of its point; ``usual``: over all strata, in
        which the few values of each are pooled."""
        count = len(self.logs)
        if count == 0 or self.saturated:
            return 0.0
        own = float(self.values.var(ddof=1)) if count > 1 else usual
        spread = ((count - 1) * own + usual) / count
        return spread / (count * (count + 1))


class Allocation:
    """Sets of a balanced map: each class at each point that shares gets ``sets_min``; after that
    each round the most telling ones (J. Neyman, J. Royal Statistical Society 97, 1934),
    half of them a round, until all have got ``sets_mean`` on average, or a point is known.

    Decides as `Precision` does: by results alone, in the order of the plan.
    """

    def __init__(
        self, spec: PrecisionSpec, places: Mapping[RunKey, tuple[str, str, int]], runs: int
    ) -> None:
        """``places``: point of each run, class ("": the point shares nothing) and round;
        ``runs``: most of them."""
        self._spec, self._places = spec, places
        self._strata: dict[tuple[str, str], _Stratum] = {}
        for point, name, _ in places.values():
            self._strata.setdefault((point, name), _Stratum()).offered += 1
        self._round, self._asked, self._unspent = 0, 0, runs

    def wanted(self, key: RunKey) -> bool:
        """See `Precision`."""
        point, name, round_ = self._places[key]
        if round_ != self._round:
            self._round = round_
            if round_ >= self._spec.sets_min:
                self._choose()
        self._asked += 1
        stratum = self._strata[point, name]
        if not self._unspent or (name and not stratum.chosen):
            return False
        self._unspent -= 1
        stratum.attended += 1
        return True

    def learn(self, key: RunKey, sample: Sample | None) -> None:
        """``sample``: slowdown, jobs, unfinished jobs; None: it was not measured."""
        point, name, _ = self._places[key]
        if sample is not None and sample[0] > 0:
            stratum = self._strata[point, name]
            stratum.logs[key] = math.log(sample[0])
            stratum.released += sample[1]
            stratum.unfinished += sample[2]

    def _choose(self) -> None:
        sharing = {place: each for place, each in self._strata.items() if place[1]}
        known = [each.values for each in sharing.values() if len(each.logs) > 1]
        usual = float(np.mean([values.var(ddof=1) for values in known])) if known else 1.0
        points = {point for point, _ in sharing}
        tight = {point for point in points if self._width(point) <= self._spec.target}
        doubts = {
            place: 0.0 if place[0] in tight else each.doubt(usual)
            for place, each in sharing.items()
        }
        limit = float(np.median([*doubts.values()])) if doubts else 0.0
        for place, each in sharing.items():
            each.chosen = doubts[place] > 0 and doubts[place] >= limit

    def _width(self, point: str) -> float:
        """Half the interval of the geometric mean, relative; of a point that is not known: 1."""
        own = [each for (its, name), each in self._strata.items() if its == point]
        groups = [each.values for each in own if each.logs and not each.saturated]
        if not groups or 2 * sum(each.saturated for each in own) >= len(own):
            return 0.0 if own and all(each.logs for each in own) else 1.0
        interval = stratified_interval(groups)[1]
        return 1.0 if interval is None else (interval.high - interval.low) / 2

    def record(self) -> PrecisionRecord:
        """See `Precision`."""
        points: dict[str, KnownPoint] = {}
        rest = CAP if self._spec.sets_mean is None else SPENT
        if self._unspent and self._asked < len(self._places):
            rest = UNFINISHED
        for point in sorted({point for point, _ in self._strata}):
            own = [each for (its, _), each in self._strata.items() if its == point]
            width = self._width(point)
            reached = rest != UNFINISHED and width <= self._spec.target
            points[point] = KnownPoint(
                sets=sum(len(each.logs) for each in own),
                half_width=width if width < 1 else None,
                stopped=REACHED if reached else rest,
            )
        return _record(self._spec, points, sum(each.attended for each in self._strata.values()))


def _record(spec: PrecisionSpec, points: dict[str, KnownPoint], planned: int) -> PrecisionRecord:
    names = ("target", "metric", "relative", "sets_min", "sets_max")
    asked: Any = {name: getattr(spec, name) for name in names}
    complete = all(point.stopped != UNFINISHED for point in points.values())
    return PrecisionRecord(**asked, complete=complete, planned=planned, points=points)


def precision_of(spec: CampaignSpec, keys: Sequence[RunKey]) -> Precision | Allocation | None:
    """The rule of a campaign for the runs on offer; None: it asks for no precision."""
    if spec.precision is None:
        return None
    if spec.grid is not None and spec.grid.balanced:
        places = {k: (point_text(k.point), class_unit(spec, k), round_of(spec, k)) for k in keys}
        return Allocation(spec.precision, places, most_runs(spec))
    return Precision(spec.precision, {k: (unit_of(spec, k), round_of(spec, k)) for k in keys})


def sample_of(spec: CampaignSpec, key: RunKey, table: JobTable) -> Sample | None:
    """The figure of a set as the summary has it; None where the metric was not measured."""
    assert spec.precision is not None
    group, metric = group_of(spec, key), spec.precision.metric
    table, _ = without_overlapped(table)
    columns, chosen = job_columns(table), None
    if group is not None and group.critical_cores:
        chosen = np.asarray(table.tasks["core"] < group.critical_cores)
        columns = of_tasks(columns, chosen)
    figures = run_figures(table, columns, chosen=chosen).of_set
    if spec.grid is not None and spec.grid.balanced:
        slowdown, share = figures.slowdown_bound, figures.unfinished_share
        jobs = figures.released
        return None if slowdown is None or share is None else (slowdown, jobs, share * jobs)
    return _sample(metric, figures)


def _sample(metric: str, figures: SetFigures) -> Sample | None:
    miss = metric == "deadline_miss_ratio"
    above = figures.column("deadline_misses" if miss else f"{metric}_mean")
    below = figures.released if miss else 1.0
    return None if above is None or below is None else (above, below)


def half_width(sets: Sequence[SetFigures], metric: str) -> float | None:
    """Half the interval over sets, relative to the mean but for a miss ratio."""
    samples = [sample for each in sets if (sample := _sample(metric, each)) is not None]
    estimate = MeanEstimate.of(metric, samples)
    if estimate is None:
        return None
    width = estimate.width(relative=metric != "deadline_miss_ratio")
    return width if math.isfinite(width) else None


def with_precision(
    cell: CellFigures, record: PrecisionRecord | None, name: str, sets: Sequence[SetFigures]
) -> CellFigures:
    """How well the point or group ``name`` is known; nothing without a precision."""
    if record is None:
        return cell
    known = record.points.get(name)
    stopped = UNFINISHED if known is None else known.stopped
    return evolve(cell, half_width=half_width(sets, record.metric), stopped=stopped)


def precision_findings(record: PrecisionRecord | None) -> Iterator[Finding]:
    """A promise that was not kept is said."""
    points = {} if record is None else record.points
    short = {n: point for n, point in points.items() if point.stopped not in (REACHED, SPENT)}
    if record is None or not short:
        return
    reasons = sorted({point.stopped for point in short.values()})
    worst = max(short, key=lambda name: short[name].half_width or float("inf"))
    width = short[worst].half_width
    text = "not known" if width is None else f"{width:.3g}"
    yield finding(
        "precision-not-reached",
        f"{len(short)} of {len(points)} points did not reach the precision"
        f" {record.target:g} ({', '.join(reasons)}); the worst is {worst}, half width {text}",
        where=worst,
    )
