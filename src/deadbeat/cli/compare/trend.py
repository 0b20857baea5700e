"""Where results of one program, in the order in which they were measured, changed for good.

A change begins or ends a stretch of another level. Of all stretches the one with the largest
Student's t between its mean and that of the rest, in values and in ranks (where an outlier is one
more); the chance of it among results that differ by noise alone is at most that of one stretch
times their number. Results differ by more than chance within them: only their means count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.comparison import ChangePoint, Subject
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Cell, Floats, Metric, Observations
from deadbeat.base.stats.intervals import t_cdf

#: Results below which no change can be shown; chance of any false one.
FEWEST, FALSE_ALARMS = 6, 0.05
#: Results of a level at least; a stretch that ends again is that part of all at
#: least: rare misses come close together now and then.
_LEAST, _STRETCH = 3, 8
#: Ends of stretches that are tried first; of more results every few.
_ENDS = 200
#: Of stretches with this part of the largest score the one that values show best is taken.
_ALIKE = 0.8
#: Its multiples without their whole parts are spread evenly, however many: the golden section.
_SPREAD = 0.6180339887
Places = NDArray[np.int_]


@frozen(kw_only=True)
class Step:
    """A level that begins at the place ``first``, with the means of the one before, which ends at
    ``last``, and of it. ``drifts``: no level, but a straight line from the one to the other."""

    last: int
    first: int
    before: float
    after: float
    p: float
    drifts: bool = False


def steps_of(series: Sequence[tuple[Metric, Floats]]) -> list[list[Step]]:
    """The steps in each series of values in the order of time that chance (5 % for any of all) and
    effects too small to matter do not explain."""
    level = FALSE_ALARMS / max(len(series), 1)
    return [_steps(metric, values, level) for metric, values in series]


def _steps(metric: Metric, values: Floats, level: float) -> list[Step]:
    logs = metric.log and values.min() > 0
    scaled = np.log(values) if logs else values
    places = dict(_places(scaled, level))
    ends = [0, *sorted(places), len(values)]
    means = pairwise(float(values[a:b].mean()) for a, b in pairwise(ends))
    steps = [
        Step(last=place - 1, first=place, before=before, after=after, p=places[place])
        for place, (before, after) in zip(ends[1:-1], means, strict=True)
    ]
    time = np.arange(len(values)) - (len(values) - 1) / 2
    line = scaled.mean() + time * (time @ scaled) / (time @ time)
    rest = sum(float(np.var(scaled[a:b])) * (b - a) for a, b in pairwise(ends))
    # Schwarz's criterion: a line takes one figure, each step two, its place and its level.
    spare = len(values) ** ((2 * len(steps) - 1) / len(values))
    if steps and ((scaled - line) ** 2).sum() < rest * spare:
        before, after = (float(np.exp(end) if logs else end) for end in line[[0, -1]])
        p, last = min(places.values()), len(values) - 1
        steps = [Step(last=0, first=last, before=before, after=after, p=p, drifts=True)]
    whole = metric.unit == "share"
    return [
        each
        for each in steps
        if abs(each.after - each.before) >= metric.minimum * (whole or each.before or 1.0)
    ]


def change_points(
    subjects: Sequence[Subject], tables: Sequence[Observations], metrics: Sequence[Metric]
) -> tuple[ChangePoint, ...] | None:
    """The steps of all figures; None of fewer than `FEWEST` results."""
    order = sorted(range(len(subjects)), key=lambda each: subjects[each].created_at or "")
    if len(order) < FEWEST:
        return None
    series = [*_series([tables[each] for each in order], metrics)]
    steps = steps_of([(metric, values) for metric, _, values in series])
    return tuple(
        ChangePoint(
            metric=metric.text, cell=cell.group, last=last.name, first=first.name,
            before=step.before, after=step.after, p=step.p, unit=metric.unit,
            commits=(str(last.commit), str(first.commit)), drifts=step.drifts,
        )
        for (metric, cell, _), own in zip(series, steps, strict=True)
        for step in own
        for last, first in [[subjects[order[place]] for place in (step.last, step.first)]]
    )  # fmt: skip


def _series(
    tables: Sequence[Observations], metrics: Sequence[Metric]
) -> Iterator[tuple[Metric, Cell, Floats]]:
    """Means of each result, of what all have."""
    known = [
        grouped((row for row in table.rows if row.value is not None), attrgetter("metric", "cell"))
        for table in tables
    ]
    for metric in metrics:
        for cell in tables[0].cells:
            sides = [each.get((metric.name, cell)) for each in known]
            if all(sides):
                means = [np.mean([row.value for row in side]) for side in sides if side]
                yield metric, cell, np.array(means, float)


def _places(values: Floats, level: float, begin: int = 0) -> Iterator[tuple[int, float]]:
    """Where levels begin, with the chance of it, which is at most ``level``."""
    cuts, p = _likeliest(values) if len(values) >= FEWEST else ((), 1.0)
    if p <= level:
        yield from ((begin + cut, p) for cut in cuts)
        for one, two in pairwise((0, *cuts, len(values))):
            yield from _places(values[one:two], level, begin + one)


def _likeliest(values: Floats) -> tuple[tuple[int, ...], float]:
    """Where the likeliest stretch begins and ends, but for the ends of all, and at most the chance
    of one as clear."""
    count = len(values)
    ends = np.arange(_LEAST, count - _LEAST + 1)
    every = -(-count // _ENDS)
    # Where equal values, as of no misses, stand in the order is spread, as if by chance.
    ranks = np.lexsort((np.arange(count) * _SPREAD % 1, values)).argsort()
    looks: list[Floats] = [values - values.mean(), np.subtract(ranks, (count - 1) / 2)]
    zero = np.zeros(1, int)
    kinds = [(zero, ends), *[(ends[::every], ends[::every])] * (count >= 3 * _LEAST)]
    found = []
    for begins, some in kinds:
        score, looked, begin, end = _clearest(looks, begins, some)
        found.append((len(kinds) * looked * 2 * t_cdf(-score, count - 2), begin, end))
    p, *place = min(found)
    if every > 1:  # the same place to the result
        begins, some = (ends[abs(ends - at) < every] if at else zero for at in place)
        _, _, *place = _clearest(looks, begins, some)
    return tuple(int(each) for each in place if each), min(1.0, p)


def _clearest(looks: Sequence[Floats], begins: Places, ends: Places) -> tuple[float, int, int, int]:
    """The largest score of a stretch in both ``looks``, of how many, and its ends."""
    begin, end = (each.ravel() for each in np.meshgrid(begins, ends))
    least = np.where(begin > 0, max(_LEAST, len(looks[0]) // _STRETCH), _LEAST)
    begin, end = begin[end - begin >= least], end[end - begin >= least]
    both = np.array([_scores(look, begin, end) for look in looks])
    scores = both.min(axis=0)
    alike = scores >= scores.max() * _ALIKE  # their ranks are, where levels are far apart
    best = int(np.where(alike, both[0], -1).argmax())
    return float(scores.max()), len(scores), int(begin[best]), int(end[best])


def _scores(values: Floats, begin: Places, end: Places) -> Floats:
    """Student's t of the difference of means within and outside of each stretch."""
    sums, squares = np.concatenate([[0.0], np.cumsum(values)]), float((values**2).sum())
    size, inner = end - begin, sums[end] - sums[begin]
    rest = len(values) - size
    within = squares - inner**2 / size - (sums[-1] - inner) ** 2 / rest
    within = np.maximum(within, 1e-12 * squares) / (len(values) - 2)
    error = np.sqrt(within * (1 / size + 1 / rest))
    apart = np.abs(inner / size - (sums[-1] - inner) / rest)
    return np.asarray(apart / np.where(error > 0, error, np.inf))
