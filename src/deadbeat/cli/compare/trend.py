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
from deadbeat.base.stats.multiple import holm

#: Results below which no change can be shown; chance of any false one.
FEWEST, FALSE_ALARMS = 6, 0.05
#: Results of a level at least; a stretch that ends again is that part of all at
#: least: rare misses come close together now and then.
_LEAST, _STRETCH = 3, 8
#: Ends of stretches that are tried first; of more results every few.
_ENDS = 200
Places = NDArray[np.int_]


@frozen(kw_only=True)
class Step:
    """A level begins at ``place``; means of the one before and of it."""

    place: int
    before: float
    after: float
    p: float


def steps_of(series: Sequence[tuple[Metric, Floats]]) -> list[list[Step]]:
    """The steps in each series of values in the order of time that chance (5 % for any of all) and
    effects too small to matter do not explain."""
    scaled = [np.log(each) if metric.log and each.min() > 0 else each for metric, each in series]
    found = []
    likeliest = [_likeliest(each) for each in scaled]
    level = FALSE_ALARMS / max(len(series), 1)
    for (metric, values), own, (cuts, p), adjusted in zip(
        series, scaled, likeliest, holm([p for _, p in likeliest]), strict=True
    ):
        places = dict(_places(own, cuts, p, level)) if adjusted <= FALSE_ALARMS else {}
        ends = [0, *sorted(places), len(values)]
        levels = pairwise(float(values[a:b].mean()) for a, b in pairwise(ends))
        steps = [
            Step(place=place, before=before, after=after, p=places[place])
            for place, (before, after) in zip(ends[1:-1], levels, strict=True)
        ]
        shares = metric.unit == "share"
        sizes = [metric.minimum * (1.0 if shares else each.before or 1.0) for each in steps]
        found.append(
            [
                each
                for each, size in zip(steps, sizes, strict=True)
                if abs(each.after - each.before) >= size
            ]
        )
    return found


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
            commits=(str(last.commit), str(first.commit)),
        )
        for (metric, cell, _), own in zip(series, steps, strict=True)
        for step in own
        for last, first in [[subjects[order[step.place + k]] for k in (-1, 0)]]
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


def _places(
    values: Floats, cuts: Sequence[int], p: float, level: float, begin: int = 0
) -> Iterator[tuple[int, float]]:
    """Where levels begin, with the chance of it: at ``cuts``, and between those where it is at most
    ``level``."""
    yield from ((begin + cut, p) for cut in cuts)
    for one, two in pairwise((0, *cuts, len(values))):
        more, chance = _likeliest(values[one:two])
        if chance <= level:
            yield from _places(values[one:two], more, chance, level, begin + one)


def _likeliest(values: Floats) -> tuple[tuple[int, ...], float]:
    """Where the likeliest stretch begins and ends, but for the ends of all, and at most the chance
    of one as clear."""
    count = len(values)
    if count < FEWEST:
        return (), 1.0
    every = -(-count // _ENDS)
    ends = np.arange(_LEAST, count - _LEAST + 1, every)
    one, two = (each.ravel() for each in np.meshgrid(ends, ends, indexing="ij"))
    long = two - one >= max(_LEAST, count // _STRETCH)
    kinds = [(np.zeros_like(ends), ends), *([(one[long], two[long])] if long.any() else [])]
    looks = (values - values.mean(), _ranks(values))
    found = []
    for begin, end in kinds:
        scores = np.minimum(*(_scores(look, begin, end) for look in looks))
        best = int(scores.argmax())
        p = len(kinds) * len(begin) * 2 * t_cdf(-float(scores[best]), count - 2)
        found.append((p, int(begin[best]), int(end[best])))
    p, *place = min(found)
    if every > 1:  # the same place to the result
        near = np.arange(1 - every, every)
        begin, end = (each.ravel() for each in np.meshgrid(*(at + near * (at > 0) for at in place)))
        kept = (begin == 0) | (begin >= _LEAST)
        kept &= (end - begin >= _LEAST) & (end <= count - _LEAST)
        begin, end = begin[kept], end[kept]
        best = int(_scores(looks[0], begin, end).argmax())
        place = [int(begin[best]), int(end[best])]
    return tuple(each for each in place if each), min(1.0, p)


def _ranks(values: Floats) -> Floats:
    """Ranks around 0; equal values share theirs."""
    _, own, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(ranks[own] - (len(values) + 1) / 2)


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
