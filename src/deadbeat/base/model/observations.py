"""Observations: the one table that comparisons, intervals and charts read.

A row is one value of one metric from one run. Every kind of experiment gives such a table and
declares its metrics once, as `Metric` rows of its own (``METRICS``); a new figure is one such row:
what it is called, how it is computed from a run, and the heading of its column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@frozen(kw_only=True)
class Metric:
    """A quantity of a run, declared once.

    Attributes:
        title: Heads a figure or a row.
        text: Inside a sentence; "": its name.
        unit: Unit of a value: ``""`` for a plain ratio, ``ns``, ``share``, or ``rate``: its
            cell says of what.
        shown: Unit in which a time is shown: ``us``, ``ms``, or ``ns`` where it is short.
        minimum: Smallest effect that matters where nothing else is asked for.
        log: Compared as a ratio, on a logarithmic scale; else as a difference.
        rare: A share of events of which a run may have none at all.
        higher_is_better: Else lower is.
        apart: For a metric with cells of its own (`Cell.of`) the option that sharpens it; "": it
            has the cells of all others.
        cellwise: Cells are things of their own, such as threads: it is equal where each of them is.
        of: Its value in what the kind has seen of a run; None: it has none.
        column: Heading of its mean over runs among the results; "": the kind has a column of its
            own for it.
    """

    name: str
    title: str
    text: str = ""
    unit: str = ""
    shown: str = "us"
    minimum: float
    log: bool = True
    rare: bool = False
    higher_is_better: bool = False
    apart: str = ""
    cellwise: bool = False
    of: Callable[[Any], float | None] = field(default=lambda seen: None, eq=False, repr=False)
    column: str = ""

    @property
    def words(self) -> str:
        return self.text or self.name


#: Of the jobs, rounds or releases that have a deadline; each kind says ``of`` what.
MISS_RATIO = Metric(
    name="deadline_miss_ratio",
    title="Deadline miss ratio",
    text="miss ratio",
    unit="share",
    minimum=0.005,
    log=False,
    rare=True,
)


def _by_number(group: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts ``2 threads`` before ``10 threads``."""
    parts = re.split(r"([0-9]+)", group)
    return tuple(int(part) if part.isdecimal() else part for part in parts), group


@frozen(order=True)
class Cell:
    """A condition under which runs are repeated: a name, or a point of the grid.

    What does not apply is "" (group), -1 (cores and shares) or 0 (deadline factor).

    Attributes:
        of: The metric that alone has it; "": all that have none of their own.
    """

    group: str = field(default="", order=_by_number)
    cores: int = -1
    sync_share: float = -1.0
    contended_ratio: float = -1.0
    deadline_factor: float = 0.0
    of: str = ""


@frozen(kw_only=True)
class Observation:
    """One row, as a kind gives it.

    Attributes:
        run: Names the run within its result; runs of the same name are pairs.
        block: Runs of one block were measured close together and share what the host did.
        value: None: the run has none, such as a ratio of jobs of which none finished.
        slack: How much larger the value may be than recorded (as a logarithm where the metric is
            compared as a ratio): what an engine cuts off, the width of a histogram's bucket.
        censored: Share of the run's events that this value does not know of because they never
            ended: jobs that did not finish, periods without a wake-up.
        trials: Number of events that the value of a rare metric is a share of; 0: not known.
        burst: How many of a rare metric's events come at once: the sum of the squares of stretches
            of them in a row, by their number. 1: each by itself, or not known.
        at: When the run began, in seconds; None: not known.
        seen: False: it has no value because nothing of it was to be seen, not because it was lost.
    """

    run: str
    cell: Cell
    block: str
    metric: str
    value: float | None
    slack: float = 0.0
    censored: float = 0.0
    trials: int = 0
    burst: float = 1.0
    at: float | None = None
    seen: bool = True


def observed(metrics: Iterable[Metric], seen: Any, **row: Any) -> Iterator[Observation]:
    """A row of each metric but those that have cells of their own. ``row``: what all have alike."""
    for metric in metrics:
        if not metric.apart:
            yield Observation(metric=metric.name, value=metric.of(seen), **row)


def _rows(rows: Iterable[Observation]) -> tuple[Observation, ...]:
    return tuple(rows)


def _runs(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _cells(planned: Iterable[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted(set(planned)))


@frozen(kw_only=True, eq=False)
class Observations:
    """The table of one result; a run has a row of each metric.

    Attributes:
        cells: The cells with rows, and the planned ones, with or without runs.
        unwanted: Runs that were never planned, so that it did not lose them.
        doubts: Metric -> why repeats of the baseline are needed whatever else is known.
    """

    name: str
    rows: tuple[Observation, ...] = field(converter=_rows, repr=False)
    cells: tuple[Cell, ...] = field(default=(), converter=_cells)
    unwanted: frozenset[str] = field(default=(), converter=_runs)
    doubts: Mapping[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "cells", _cells((*self.cells, *(row.cell for row in self.rows))))
