"""Predicted and measured task sets, and how good the predictions are on sets held out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import Literal

import attrs
import numpy as np
from attrs import frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.grouping import grouped
from deadbeat.base.stats.binomial import Z95
from deadbeat.base.stats.intervals import Interval, clopper_pearson, quantile, student_half_width
from deadbeat.tasksets.prices.rates import Covered

#: Share of like cases that a stated interval is to hold.
LEVEL = 0.90
#: A prediction that is no further off is called right.
CLOSE = 0.10
#: What is measured over what would be without interference from which on a set tells a model from
#: none.
SHOWS = 1.05

#: ``calibration``: its error went into the intervals. ``held-out``: it judges them. ``predicted``:
#: not measured, with no more rivals than the prices had; ``extrapolated``: with more.
Role = Literal["calibration", "held-out", "predicted", "extrapolated"]


@frozen(kw_only=True)
class SetPrediction:
    """One task set on ``cores`` cores.

    Attributes:
        predicted: Its slowdown or breakdown utilisation; None: no job of it finishes.
        range: Predictions at both ends of the prices' intervals, where extrapolated.
        interval: Holds what is measured in `LEVEL` of cases; None: not known.
        measured, error: And its standard error, relative; None: not measured.
        plain: Prediction without any interference.
        covered: Which part of its work has prices.
        unbounded: Nothing was seen beyond an end of what was measured: it judges nothing.
    """

    key: str
    cores: int
    role: Role
    predicted: float | None
    plain: float
    covered: Covered
    range: Interval | None = None
    interval: Interval | None = None
    measured: float | None = None
    error: float | None = None
    unbounded: bool = False

    @property
    def off(self) -> float | None:
        if self.predicted is None or self.measured is None:
            return None
        return self.predicted / self.measured - 1

    @property
    def held(self) -> bool | None:
        if self.interval is None or self.measured is None:
            return None
        return self.interval.low <= self.measured <= self.interval.high

    @property
    def in_range(self) -> bool:
        """Whether the 95 % interval of what is measured meets the range."""
        if self.range is None or self.measured is None:
            return False
        arm = Z95 * (self.error or 0.0) * self.measured
        return self.range.low <= self.measured + arm and self.measured - arm <= self.range.high


@frozen(kw_only=True)
class Predictor:
    """The model, or a trivial predictor beside it, on some held-out sets. ``errors``: relative,
    without sign. ``gain``: 95 % interval of how much smaller the model's mean error is; None: it is
    the model, or of one set."""

    name: str
    errors: tuple[float, ...]
    gain: Interval | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors))

    @property
    def worst(self) -> float:
        return max(self.errors)

    @property
    def close(self) -> int:
        return sum(error <= CLOSE for error in self.errors)

    @property
    def beaten(self) -> bool:
        return self.gain is not None and self.gain.low > 0


@frozen(kw_only=True)
class Predictions:
    """Everything that was predicted. ``result``: name of what it rests on. ``figure``:
    ``slowdown`` or ``breakdown``. ``scale``: quantile of the calibration sets' errors, in units of
    their `difficulty`."""

    result: str
    figure: Literal["slowdown", "breakdown"]
    rivals: int
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]
    sets: tuple[SetPrediction, ...]
    scale: float | None

    @cached_property
    def judged(self) -> list[SetPrediction]:
        """Held-out sets with a prediction and a measurement."""
        return [s for s in self.sets if s.role == "held-out" and _usable(s)]

    @cached_property
    def calibrating(self) -> list[SetPrediction]:
        return [s for s in self.sets if s.role == "calibration" and _usable(s)]

    @property
    def refused(self) -> int:
        return sum(each.predicted is None for each in self.sets)

    @property
    def contended(self) -> Predictor:
        """The model where contention shows: other sets any model predicts."""
        slowed = [
            each
            for each in self.judged
            if abs(math.log((each.measured or 1.0) / each.plain)) >= math.log(SHOWS)
        ]
        return Predictor(name="the model, where interference shows", errors=_errors(slowed))

    @property
    def held(self) -> int:
        return sum(bool(each.held) for each in self.judged)

    @property
    def coverage(self) -> Interval | None:
        """95 % interval of the share of such sets that lies inside."""
        if self.scale is None or not self.judged:
            return None
        return clopper_pearson(self.held, len(self.judged))

    @cached_property
    def model(self) -> Predictor:
        return Predictor(name="the model", errors=_errors(self.judged))

    @cached_property
    def trivial(self) -> tuple[Predictor, ...]:
        """The mean of the calibration half, and no interference at all."""
        if not self.judged or not self.calibrating:
            return ()
        mean = float(np.mean([each.measured or math.nan for each in self.calibrating]))
        guesses = {
            "the mean of the other half": [mean] * len(self.judged),
            "no interference": [each.plain for each in self.judged],
        }
        return tuple(self._trivial(name, values) for name, values in guesses.items())

    def _trivial(self, name: str, guesses: Sequence[float]) -> Predictor:
        measured = np.array([each.measured for each in self.judged], np.float64)
        errors = np.abs(np.array(guesses) / measured - 1)
        gains = errors - np.array(self.model.errors)
        gain = None
        if len(gains) > 1:
            gain = Interval.around(float(gains.mean()), student_half_width(gains))
        return Predictor(name=name, errors=tuple(map(float, errors)), gain=gain)

    @property
    def ranged(self) -> list[SetPrediction]:
        """Sets that were measured on more cores than the prices: they judge the ranges."""
        return [s for s in self.sets if s.range is not None and _usable(s)]

    def beyond(self) -> dict[int, list[SetPrediction]]:
        """Sets that were not measured, by their cores."""
        made = (s for s in self.sets if s.role in ("predicted", "extrapolated"))
        found = grouped((s for s in made if s.predicted is not None), attrgetter("cores"))
        return {cores: found[cores] for cores in sorted(found)}


def _usable(found: SetPrediction) -> bool:
    return found.off is not None and not found.unbounded


def _errors(sets: Sequence[SetPrediction]) -> tuple[float, ...]:
    return tuple(abs(each.off) for each in sets if each.off is not None)


# ---------- intervals ----------


def halves(seeds: Mapping[str, int]) -> frozenset[str]:
    """The keys of the half that calibrates. Sets of one seed have the same programs and are on one
    side; which, depends on the seed alone."""
    order = sorted(set(seeds.values()), key=lambda seed: sha256(str(seed).encode()).digest())
    chosen = set(order[::2])
    return frozenset(key for key, seed in seeds.items() if seed in chosen)


def difficulty(found: SetPrediction) -> float:
    """How far off a prediction may be expected to be, relative, up to a common factor: what is
    measured has its own error, and what is predicted errs by a part of the interference, and of
    the work of which nothing or little is known."""
    assert found.predicted is not None
    interference = abs(math.log(found.predicted / found.plain))
    known = 0.01 + 0.15 * interference + found.covered.lacking
    return math.hypot(found.error or 0.0, known)


def with_intervals(sets: Sequence[SetPrediction]) -> tuple[tuple[SetPrediction, ...], float | None]:
    """The sets with intervals from the calibration half, and the factor of their difficulties."""
    scores = [
        abs(math.log(each.measured / each.predicted)) / difficulty(each)
        for each in sets
        if each.role == "calibration" and each.predicted and each.measured and not each.unbounded
    ]
    scale = quantile(scores, LEVEL)
    if scale is None:
        return tuple(sets), None
    errors = [each.error for each in sets if each.error is not None]
    usual = float(np.median(errors)) if errors else 0.0
    made = []
    for each in sets:
        # `usual`: error of the measurement of one that is not measured.
        if each.predicted is None or each.role == "extrapolated":
            with_interval = each
        else:
            known = each if each.error is not None else attrs.evolve(each, error=usual)
            factor = math.exp(scale * difficulty(known))
            interval = Interval(each.predicted / factor, each.predicted * factor)
            with_interval = attrs.evolve(each, interval=interval)
        made.append(with_interval)
    return tuple(made), scale
