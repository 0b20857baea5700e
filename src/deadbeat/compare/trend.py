"""Where results of one program, in the order in which they were measured, changed for good.

A change point per figure and task: of all splits the one with the largest standardised difference
of means; its chance is that of as large a one where results are reordered (A. N. Pettitt, Applied
Statistics 28, 1979, has the test by ranks). Sessions differ by more than chance within them, so
that only their means count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

import numpy as np

from deadbeat.model.comparison import ChangePoint, Subject
from deadbeat.model.observations import Cell, Floats, Metric, Observations
from deadbeat.stats.multiple import holm

#: Results below which no change can be shown; chance of any false one; orders that are looked at.
FEWEST, FALSE_ALARMS, _ORDERS = 6, 0.05, 2000


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
        split, p = _split(values)
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
    for metric in metrics:
        for cell in tables[0].cells:
            sides = [
                [row.value for row in table.rows
                 if row.cell == cell and row.metric == metric.name and row.value is not None]
                for table in tables
            ]  # fmt: skip
            if all(sides):
                yield metric, cell, np.array([float(np.mean(side)) for side in sides])


def _split(values: Floats) -> tuple[int, float]:
    """The place of the likeliest change, and the chance of one as large in another order."""
    draw, count = np.random.default_rng(1), len(values)
    every = np.array([*islice(permutations(range(count)), 5040)]) if count < 8 else None
    orders = (
        draw.permuted(np.tile(np.arange(count), (_ORDERS, 1)), axis=1) if every is None else every
    )
    sums = np.cumsum(np.vstack([values, values[orders]]), axis=1)[:, :-1]
    sizes = np.arange(1, count)
    off = sums / sizes - (values.sum() - sums) / (count - sizes)
    scores = np.abs(off) * np.sqrt(sizes * (count - sizes) / count)
    best = scores.max(axis=1)
    least = best[0] * (1 - 1e-9)
    p = (
        (1 + int((best[1:] >= least).sum())) / len(best)
        if every is None
        else float((best[1:] >= least).mean())
    )
    return int(scores[0].argmax()) + 1, p
