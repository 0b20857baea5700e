"""Points laid out as grids: one value, one state and one text per cell, for page and paper alike.

A cell is never filled from its neighbours. What was not measured stays NaN and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.model.results import Summary
from deadbeat.report.facts import NoiseFloor, factor_of, multiple, number

T = TypeVar("T")

MEASURED = "measured"
UNDECIDED = "undecided"
NOT_MEASURED = "not measured"

#: At most about so many contour lines over the range of a metric.
_CONTOUR_LINES = 7
#: Fewest values of rho and of alpha between which a contour line is more than a guess.
CONTOUR_POINTS = 4


@frozen(kw_only=True)
class Metric:
    """A quantity that is drawn.

    Attributes:
        id: Identifier, part of file names.
        name: As a person writes it.
        axis: Name with its unit, for axes and colour bars.
        column: Column of a row that holds the value.
        low, high: Columns of its interval; "" where the summary has none.
        scale: Factor from the column's unit to the axis' unit.
        neutral: Value, in the axis' unit, of "no effect".
        least_span: Smallest range of the colour scale, in the axis' unit: noise must not fill it.
        of_noise: Whether the smallest effect is a share of this quantity.
        alone: Column of the same quantity of the tasks alone; "" where there is none.
        from_below: Whether ``low`` stands for a value that lies beyond what was seen.
    """

    id: str
    name: str
    axis: str
    column: str
    low: str
    high: str
    scale: float
    neutral: float
    least_span: float
    of_noise: bool
    alone: str = ""
    from_below: bool = False


METRICS: tuple[Metric, ...] = (
    Metric(
        id="slowdown",
        name="Slowdown",
        axis="slowdown (span together / span alone)",
        column="slowdown_mean",
        low="slowdown_ci_low",
        high="slowdown_ci_high",
        scale=1.0,
        neutral=1.0,
        least_span=0.05,
        of_noise=True,
    ),
    Metric(
        id="deadline_needed",
        name="Deadline needed",
        axis="deadline needed, all but 1 in 1000 (C)",
        column="deadline_needed_p999",
        low="deadline_needed_p999_low",
        high="deadline_needed_p999_high",
        scale=1.0,
        neutral=1.0,
        least_span=0.5,
        of_noise=False,
        alone="alone_deadline_needed_p999",
        from_below=True,
    ),
    Metric(
        id="deadline_miss_ratio",
        name="Deadline miss ratio",
        axis="deadline miss ratio (% of jobs)",
        column="deadline_miss_ratio",
        low="deadline_miss_ci_low",
        high="deadline_miss_ci_high",
        scale=100.0,
        neutral=0.0,
        least_span=1.0,
        of_noise=False,
        alone="alone_miss_ratio",
    ),
    Metric(
        id="delay_ratio",
        name="Delay ratio",
        axis="delay ratio (span / C)",
        column="delay_ratio_mean",
        low="delay_ratio_ci_low",
        high="delay_ratio_ci_high",
        scale=1.0,
        neutral=1.0,
        least_span=0.05,
        of_noise=True,
    ),
)


@frozen(kw_only=True, eq=False)
class Grid:
    """One metric at one M.

    Attributes:
        cores: M.
        factor: Deadline factor where the campaign has several; else None.
        metric: What the values are.
        sync_shares: rho of the rows of ``values``, ascending.
        contended_ratios: alpha of the columns of ``values``, ascending.
        values: Shape (len(sync_shares), len(contended_ratios)), in the axis' unit; NaN where there
            is no value.
        states: ``measured``, ``undecided`` or ``not measured``, shape of ``values``.
        texts: What is written into the cell, shape of ``values``.
    """

    cores: int
    factor: float | None
    metric: Metric
    sync_shares: tuple[float, ...]
    contended_ratios: tuple[float, ...]
    values: NDArray[np.float64]
    states: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]

    @property
    def place(self) -> str:
        """``M = 4``, and the deadline factor where it tells grids apart."""
        return f"M = {self.cores}" + ("" if self.factor is None else f", D/C = {self.factor:g}")


@frozen(kw_only=True)
class Scale:
    """Colour range and contour levels of a metric, common to every M so that M can be compared."""

    low: float
    high: float
    levels: tuple[float, ...]


def cores_of(summary: Summary) -> tuple[int, ...]:
    """The values of M that occur, ascending."""
    return tuple(sorted({int(row["cores"]) for row in summary.rows}))


def axis_of(summary: Summary, column: str) -> tuple[float, ...]:
    """The values of rho or alpha that occur at any M, ascending; thousandths are exact."""
    return tuple(step / 1000 for step in sorted({milli(row[column]) for row in summary.rows}))


def state_of(row: Mapping[str, Any] | None, metric: Metric) -> str:
    """How far a cell is known; a point without a run, or without a value, is undecided."""
    if row is None:
        return NOT_MEASURED
    return UNDECIDED if math.isnan(_value(row, metric)) else MEASURED


def grid(
    summary: Summary, metric: Metric, cores: int, *, digits: int = 2, factor: float | None = None
) -> Grid:
    """Lays the points of one M out by rho (rows) and alpha (columns).

    Args:
        digits: Decimals of the ratios in ``texts``; see `digits_for`.
        factor: Deadline factor of the points; None: the campaign has one.
    """
    shares, ratios = axis_of(summary, "sync_share"), axis_of(summary, "contended_ratio")
    rows = {
        (milli(row["sync_share"]), milli(row["contended_ratio"])): row
        for row in summary.rows
        if int(row["cores"]) == cores and factor in (None, factor_of(row))
    }
    cells = [[rows.get((milli(rho), milli(alpha))) for alpha in ratios] for rho in shares]
    values = [[_value(row, metric) for row in line] for line in cells]
    return Grid(
        cores=cores,
        factor=factor,
        metric=metric,
        sync_shares=shares,
        contended_ratios=ratios,
        values=np.array(values, dtype=np.float64).reshape(len(shares), len(ratios)),
        states=tuple(tuple(state_of(row, metric) for row in line) for line in cells),
        texts=tuple(tuple(cell_text(row, metric, digits) for row in line) for line in cells),
    )


def cell_text(row: Mapping[str, Any] | None, metric: Metric, digits: int = 2) -> str:
    """What is written into a cell. Zero misses show their upper bound, not a zero."""
    state = state_of(row, metric)
    if row is None or state == NOT_MEASURED:
        return "–"
    if state == UNDECIDED:
        return "?"
    value = _value(row, metric)
    if metric.from_below:
        return f"{'' if _ended(row, metric) else '≥'}{multiple(value)}"
    if metric.neutral:
        return f"{value:.{digits}f}"
    upper = number(row.get(metric.high))
    if value == 0 and upper:
        return f"<{short(upper * metric.scale)}"
    return short(value)


def short(value: float) -> str:
    """Two significant digits without an exponent, at most four decimals."""
    if value == 0:
        return "0"
    decimals = min(4, max(0, 1 - math.floor(math.log10(abs(value)))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scale(summary: Summary, metric: Metric, floor: NoiseFloor) -> Scale:
    """Colour range and contour levels of a metric.

    The range holds "no effect" and is never narrower than twice the smallest effect; contour lines
    are no closer than that and none follows "no effect": what cannot be seen is not drawn. A grid
    of few points has none.
    """
    values = [_value(row, metric) for row in summary.rows]
    known = [value for value in values if not math.isnan(value)] or [metric.neutral]
    floor_span = floor.share if metric.of_noise and floor.share is not None else 0.0
    low = min(metric.neutral, *known)
    high = max(metric.neutral, *known)
    high = max(high, low + max(metric.least_span, 2 * floor_span))
    if min(len(axis_of(summary, axis)) for axis in ("sync_share", "contended_ratio")) < (
        CONTOUR_POINTS
    ):
        return Scale(low=low, high=high, levels=())
    step = nice_step(max((high - low) / _CONTOUR_LINES, floor_span))
    levels = tuple(
        round(index * step, 9)
        for index in range(math.floor(low / step) + 1, math.ceil(high / step))
        if abs(index * step - metric.neutral) > 1.001 * max(floor_span, step / 2)
    )
    return Scale(low=low, high=high, levels=levels)


def digits_for(scale: Scale) -> int:
    """Decimals of a ratio in a cell: enough to tell the steps of the colour scale apart."""
    return 2 if scale.high - scale.low >= 0.2 else 3


def nice_step(at_least: float) -> float:
    """The smallest of 1, 2, 5 x 10^n that is not below ``at_least`` > 0."""
    power: float = 10.0 ** math.floor(math.log10(at_least))
    for factor in (1.0, 2.0, 5.0):
        if factor * power >= at_least * (1 - 1e-9):
            return factor * power
    return 10 * power


def edges(centres: tuple[float, ...]) -> tuple[float, ...]:
    """Borders of cells around ascending centres: half way between, and as far outside."""
    if len(centres) == 1:
        return (centres[0] - 0.05, centres[0] + 0.05)
    middle = [(a + b) / 2 for a, b in pairwise(centres)]
    first = centres[0] - (middle[0] - centres[0])
    last = centres[-1] + (centres[-1] - middle[-1])
    return (first, *middle, last)


def _value(row: Mapping[str, Any] | None, metric: Metric) -> float:
    """In the axis' unit; NaN without one. A value that was not reached is known from below."""
    value = None if row is None else number(row.get(metric.column))
    if row is not None and metric.from_below and not _ended(row, metric):
        low = number(row.get(metric.low))
        value = value if low is None else low
    return math.nan if value is None else value * metric.scale


def _ended(row: Mapping[str, Any], metric: Metric) -> bool:
    return None not in (number(row.get(metric.column)), number(row.get(metric.high)))


def spread(values: Sequence[T], most: int) -> tuple[T, ...]:
    """At most ``most`` of the values, the first and the last among them."""
    if len(values) <= most:
        return tuple(values)
    return tuple(values[round(index * (len(values) - 1) / (most - 1))] for index in range(most))


def milli(value: Any) -> int:
    """A share in thousandths, in which it is exact."""
    return round(float(value) * 1000)
