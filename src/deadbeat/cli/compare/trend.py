"""Where results of one program, in the order in which they were measured, changed for good.

A change point per figure and task: of all splits the one with the largest Student's t between the
means of sessions; its chance is that among sessions that differ by normal noise alone (D. M.
Hawkins, JASA 72, 1977). Sessions differ by more than chance within them: only their means count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter

import numpy as np

from deadbeat.base.model.comparison import ChangePoint, Subject
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Cell, Floats, Metric, Observations
from deadbeat.base.stats.multiple import holm

#: Results below which no change can be shown; chance of any false one; series that are drawn.
FEWEST, FALSE_ALARMS, _DRAWS = 6, 0.05, 50_000


def change_points(
    subjects: Sequence[Subject], tables: Sequence[Observations], metrics: Sequence[Metric]
) -> tuple[ChangePoint, ...] | None:
    """All that chance (5 % for all together) and effects too small to matter do not explain; None
    of fewer than `FEWEST` results."""
    order = sorted(range(len(subjects)), key=lambda each: subjects[each].created_at or "")
    if len(order) < FEWEST:
        return None
    found = []
    for metric, cell, values in _series([tables[each] for each in order], metrics):
        # The place of the likeliest change, and the chance of one as large among equal sessions.
        scores = _scores(values[None])[0]
        null = _null(len(values))
        split = int(scores.argmax()) + 1
        p = float((1 + (null >= scores.max()).sum()) / (1 + len(null)))
        pair = [subjects[order[place]] for place in (split - 1, split)]
        before, after = float(values[:split].mean()), float(values[split:].mean())
        size = abs(after - before) / (before or 1.0) if metric.unit != "share" else after - before
        found.append((abs(size) >= metric.minimum, ChangePoint(
            metric=metric.text, cell=cell.group, last=pair[0].name, first=pair[1].name,
            before=before, after=after, p=p, unit=metric.unit,
            commits=(str(pair[0].commit), str(pair[1].commit)),
        )))  # fmt: skip
    adjusted = holm([each.p for _, each in found])
    return tuple(
        each
        for (matters, each), p in zip(found, adjusted, strict=True)
        if matters and p <= FALSE_ALARMS
    )


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


@cache
def _null(count: int) -> Floats:
    """The largest score of each of many series in which nothing changes."""
    random, part = np.random.default_rng(1), _DRAWS // 100  # at once they fill hundreds of MB
    drawn = (random.normal(size=(part, count)) for _ in range(0, _DRAWS, part))
    return np.concatenate([_scores(rows).max(axis=1) for rows in drawn])


def _scores(rows: Floats) -> Floats:
    """Student's t of the difference of means for each split of each row."""
    count, sizes = rows.shape[1], np.arange(1, rows.shape[1])
    sums, squares = (np.cumsum(part, axis=1) for part in (rows, rows**2))
    before, after = sums[:, :-1] / sizes, (sums[:, -1:] - sums[:, :-1]) / (count - sizes)
    within = squares[:, -1:] - sizes * before**2 - (count - sizes) * after**2
    within = np.maximum(within, 1e-12 * squares[:, -1:]) / (count - 2)
    error = np.sqrt(within * (1 / sizes + 1 / (count - sizes)))
    return np.asarray(np.abs(before - after) / np.where(error > 0, error, np.inf))
