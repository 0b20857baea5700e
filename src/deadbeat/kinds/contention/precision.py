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
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from attrs import define, field, frozen

from deadbeat.model import rules
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.model.rules import Problem, RefusedError
from deadbeat.model.specification import Option

METRICS = ("slowdown", "delay_ratio", "deadline_miss_ratio")
#: A look follows when a point has so many times the sets of the last one.
GROWTH = 1.1
SETS_MIN, SETS_MAX = 30, 200
_SETS = rules.Whole(5, 10_000)

#: Why a point has no further set.
REACHED, CAP, LOST, UNFINISHED = "target reached", "most sets", "runs lost", "not finished"


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

    target: Annotated[
        float,
        rules.Number("0.001", "1"),
        Option(
            "--precision",
            "X",
            "Task sets until the 95 % interval is within X of the mean, instead of a fixed number.",
        ),
    ]
    metric: Annotated[
        str,
        rules.Choice(METRICS),
        Option(
            "--precision-metric",
            "NAME",
            "slowdown, delay_ratio, deadline_miss_ratio (X is then absolute).  [slowdown]",
        ),
    ] = "slowdown"
    sets_min: Annotated[
        int, _SETS, Option("--sets-min", "N", "Task sets every point gets.  [30]")
    ] = SETS_MIN
    sets_max: Annotated[
        int, _SETS, Option("--sets-max", "N", "Task sets no point exceeds.  [200]")
    ] = SETS_MAX
    sets_mean: Annotated[
        int | None,
        rules.OptionalWhole(5, 10_000),
        Option(
            "--sets-mean",
            "N",
            "Task sets a point gets on average at most; what early points save goes to the widest.",
        ),
    ] = None

    @property
    def relative(self) -> bool:
        return self.metric != "deadline_miss_ratio"

    def problems(self) -> list[Problem]:
        """What is wrong between fields that are each right."""
        found = []
        if self.sets_min > self.sets_max:
            text = f"{self.sets_min} is above sets_max = {self.sets_max}"
            found.append(Problem("sets_min", text, "lower it or raise sets_max"))
        if self.sets_mean is not None and self.sets_mean < self.sets_min:
            text = f"{self.sets_mean} is below sets_min = {self.sets_min}"
            found.append(Problem("sets_mean", text, "raise it or lower sets_min"))
        return found


#: What says how many sets there are: section and key.
FIXED = (("grid", "replicas"), ("stress", "sets"), ("stress", "random_sets"))


def contradictions(layers: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Problem]:
    """A fixed number of sets beside a precision; a precision asked later replaces one.

    Args:
        names: What a path is called where it was written.
    """
    found: list[Problem] = []
    typed = names.get("precision.target", "").startswith("--")
    most = "--sets-max" if typed else "precision.sets_max"
    precise = False
    for layer in layers:
        precise = precise or isinstance(layer.get("precision"), Mapping)
        for section, key in FIXED:
            values = layer.get(section)
            if precise and isinstance(values, Mapping) and values.get(key) is not None:
                hint = f"drop one; {most} is the most sets a point may get"
                text = "a fixed number of task sets beside a precision"
                found.append(Problem(f"{section}.{key}", text, hint))
    return found


def with_most_sets(values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with sets_max as the number of sets where a precision is asked."""
    asked = values.get("precision")
    if not isinstance(asked, Mapping):
        return values
    try:
        most = _SETS.parse(asked.get("sets_max", SETS_MAX))
    except RefusedError:
        return values  # reported where it was written
    keys: dict[str, dict[str, Any]] = {
        "grid": {"replicas": most},
        "stress": {"sets": most, "random_sets": None},
    }
    return {
        section: {**value, **keys[section]}
        if section in keys and isinstance(value, Mapping)
        else value
        for section, value in values.items()
    }


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
class Bend:
    """Three neighbours on an axis; ``weight`` is that of ``low`` in the line through the ends."""

    low: str
    middle: str
    high: str
    weight: float

    def beyond_noise(self, estimates: Mapping[str, MeanEstimate | None]) -> bool:
        """Whether the middle lies off the line by more than the three intervals explain."""
        low, middle, high = (estimates.get(unit) for unit in (self.low, self.middle, self.high))
        if low is None or middle is None or high is None:
            return False
        other = 1 - self.weight
        off = middle.mean - self.weight * low.mean - other * high.mean
        noise = math.hypot(middle.half_width, self.weight * low.half_width, other * high.half_width)
        return abs(off) > noise


@frozen(kw_only=True)
class Layout:
    """Where the runs of a plan belong.

    Attributes:
        keys: In order of rounds.
        unit: What a run adds to: a point, or a group.
        round: How many sets of its unit come before a run.
        bends: Neighbours whose second differences are looked at.
    """

    keys: tuple[RunKey, ...]
    unit: Callable[[RunKey], str]
    round: Callable[[RunKey], int]
    bends: tuple[Bend, ...] = ()


@define
class _Unit:
    """What is known of a point."""

    key: RunKey
    next_look: int
    rounds: int = 0
    samples: dict[RunKey, PointSample] = field(factory=dict)
    attended: set[int] = field(factory=set)
    estimate: MeanEstimate | None = None
    stopped: bool = False

    @property
    def exhausted(self) -> bool:
        return len(self.attended) == self.rounds

    def ordered(self) -> list[PointSample]:
        """In the order of runs, as the summary has them: resampling depends on it."""
        return [self.samples[key] for key in sorted(self.samples)]


class Precision:
    """A Stopping that stops each point when its interval is tight enough.

    While a point at which the surface bends is undecided, the others wait every second round; what
    they left out is offered once more after the last round. So the promise is the same for all
    points, and those at which the surface bends are known first.
    """

    recalls = True

    def __init__(self, spec: PrecisionSpec, layout: Layout, gauge: Gauge) -> None:
        self._spec, self._layout, self._gauge = spec, layout, gauge
        self._units: dict[str, _Unit] = {}
        for key in layout.keys:
            unit = self._units.setdefault(layout.unit(key), _Unit(key, spec.sets_min))
            unit.rounds += 1
        self._round, self._pass = 0, 1
        self._bent: set[str] = set()
        mean = spec.sets_max if spec.sets_mean is None else spec.sets_mean
        self._unspent = mean * len(self._units)

    @property
    def passes(self) -> int:
        """How often the plan is gone through."""
        return 2 if self._layout.bends else 1

    def wanted(self, key: RunKey) -> bool:
        name, round_ = self._layout.unit(key), self._layout.round(key)
        if round_ != self._round:
            self._end_round()
            self._pass += round_ < self._round
            self._round = round_
        unit = self._units[name]
        if unit.stopped or round_ in unit.attended or self._waits(name, unit):
            return False
        if not self._unspent:
            return False
        self._unspent -= 1
        unit.attended.add(round_)
        return True

    def learn(self, key: RunKey, table: JobTable) -> None:
        sample = self._gauge.sample(key, table)
        if sample is not None:
            self._units[self._layout.unit(key)].samples[key] = sample

    def _waits(self, name: str, unit: _Unit) -> bool:
        if self._pass > 1 or self._round % 2 == 0 or len(unit.attended) < self._spec.sets_min:
            return False
        return bool(self._bent) and name not in self._bent

    def _end_round(self) -> None:
        due = [u for u in self._units.values() if not u.stopped and len(u.samples) >= u.next_look]
        for unit in due:
            unit.estimate = self._gauge.estimate(unit.key, unit.ordered())
            sets = len(unit.samples)
            unit.next_look = max(sets + 1, math.ceil(sets * GROWTH))
            unit.stopped = self._tight(unit.estimate)
        if due:
            self._bent = self._find_bent()

    def _find_bent(self) -> set[str]:
        """Undecided points of which the surface is known to bend."""
        known = {name: unit.estimate for name, unit in self._units.items()}
        bent = {
            name
            for bend in self._layout.bends
            if bend.beyond_noise(known)
            for name in (bend.low, bend.middle, bend.high)
        }
        return {name for name in bent if not self._units[name].stopped}

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
        return max(0, min(need, unit.rounds) - len(unit.attended))

    def record(self) -> dict[str, Any]:
        """What came of it, JSON values; nothing of it is an input of a later decision."""
        points = {name: self._outcome(unit) for name, unit in sorted(self._units.items())}
        return {
            "target": self._spec.target,
            "metric": self._spec.metric,
            "relative": self._spec.relative,
            "sets_min": self._spec.sets_min,
            "sets_max": self._spec.sets_max,
            "complete": all(point["stopped"] != UNFINISHED for point in points.values()),
            "planned": sum(len(unit.attended) for unit in self._units.values()),
            "points": points,
        }

    def _outcome(self, unit: _Unit) -> dict[str, Any]:
        estimate = self._gauge.estimate(unit.key, unit.ordered()) if unit.samples else None
        width = estimate.width(relative=self._spec.relative) if estimate else math.inf
        return {
            "sets": len(unit.samples),
            "half_width": width if math.isfinite(width) else None,
            "stopped": self._reason(unit, estimate),
        }

    def _reason(self, unit: _Unit, estimate: MeanEstimate | None) -> str:
        if unit.stopped:
            return REACHED
        if not self._has_no_more(unit):
            return UNFINISHED
        if len(unit.samples) >= self._spec.sets_min and self._tight(estimate):
            return REACHED
        return CAP if len(unit.samples) == len(unit.attended) else LOST
