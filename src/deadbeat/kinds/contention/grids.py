"""Points of a profile laid out as grids: a value, a state and a text per cell.

A cell is never filled from its neighbours. What was not measured says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.kinds.contention.facts import NoiseFloor, factor_of, factors, multiple, number
from deadbeat.model.results import Summary
from deadbeat.report.charts import (
    ABSENT,
    AT_LEAST,
    AT_MOST,
    FAINT,
    SHOWN,
    UNDECIDED,
    CurvePoint,
    Heat,
    HeatCell,
    nice_step,
)
from deadbeat.report.document import percent

Row = Mapping[str, Any]

#: At most about so many contour lines over the range of a metric.
_CONTOUR_LINES = 7
#: Fewest values of rho and of alpha between which a contour line is more than a guess.
CONTOUR_POINTS = 4


@frozen(kw_only=True)
class GridMetric:
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
    least_span: float
    scale: float = 1.0
    neutral: float = 1.0
    of_noise: bool = False
    alone: str = ""
    from_below: bool = False


METRICS: tuple[GridMetric, ...] = (
    GridMetric(
        id="slowdown", name="Slowdown", axis="slowdown (span together / span alone)",
        column="slowdown_mean", low="slowdown_ci_low", high="slowdown_ci_high",
        least_span=0.05, of_noise=True,
    ),
    GridMetric(
        id="deadline_needed", name="Deadline needed", axis="deadline needed, all but 1 in 1000 (C)",
        column="deadline_needed_p999", low="deadline_needed_p999_low",
        high="deadline_needed_p999_high", alone="alone_deadline_needed_p999", from_below=True,
        least_span=0.5,
    ),
    GridMetric(
        id="deadline_miss_ratio", name="Deadline miss ratio",
        axis="deadline miss ratio (% of jobs)", column="deadline_miss_ratio",
        low="deadline_miss_ci_low", high="deadline_miss_ci_high",
        alone="alone_miss_ratio", scale=100.0, neutral=0.0, least_span=1.0,
    ),
    GridMetric(
        id="delay_ratio", name="Delay ratio", axis="delay ratio (span / C)",
        column="delay_ratio_mean", low="delay_ratio_ci_low", high="delay_ratio_ci_high",
        least_span=0.05, of_noise=True,
    ),
)  # fmt: skip


@frozen(kw_only=True)
class Scale:
    """Colour range and contour levels of a metric, common to every M so that M can be compared.

    Attributes:
        noise: The smallest effect that could be seen, as a share; 0: of another quantity.
    """

    low: float
    high: float
    levels: tuple[float, ...]
    noise: float = 0.0

    @property
    def digits(self) -> int:
        """Decimals of a ratio in a cell: enough to tell the steps of the colours apart."""
        return 2 if self.high - self.low >= 0.2 else 3


def cores_of(summary: Summary) -> tuple[int, ...]:
    """The values of M that occur, ascending."""
    return tuple(sorted({int(row["cores"]) for row in summary.rows}))


def axis_of(summary: Summary, column: str) -> tuple[float, ...]:
    """The values of rho or alpha that occur at any M, ascending; thousandths are exact."""
    return tuple(step / 1000 for step in sorted({milli(row[column]) for row in summary.rows}))


def point_key(row: Row) -> str:
    """A point in thousandths, as the page names it."""
    axes = (row["sync_share"], row["contended_ratio"], factor_of(row))
    return "/".join((str(row["cores"]), *(str(milli(value)) for value in axes)))


def point_words(row: Row, *, several: bool) -> str:
    """``M = 4, ρ = 1, α = 0.5``; the deadline factor where a campaign has several."""
    words = f"M = {row['cores']}, ρ = {row['sync_share']:g}, α = {row['contended_ratio']:g}"
    return words + (f", D/C = {factor_of(row):g}" if several else "")


def state_of(row: Row | None, metric: GridMetric, noise: float = 0.0) -> str:
    """How far a cell is known; a point without a run, or without a value, is undecided.

    Args:
        noise: As of `Scale`: a ratio whose interval comes that close to 1, or has none, is faint.
    """
    if row is None:
        return ABSENT
    value = _value(row, metric)
    if value is None:
        return UNDECIDED
    low, high = number(row.get(metric.low)), number(row.get(metric.high))
    if metric.from_below:
        return SHOWN if _ended(row, metric) else AT_LEAST
    if metric.of_noise:
        clear = low is not None and high is not None and (low > 1 + noise or high < 1 - noise)
        return SHOWN if clear else FAINT
    return AT_MOST if value == 0 and high else SHOWN


def grid(
    summary: Summary, metric: GridMetric, cores: int, scale: Scale, *, factor: float | None = None
) -> Heat:
    """The points of one M by rho (rows) and alpha (columns).

    Args:
        factor: Deadline factor of the points; None: the campaign has one.
    """
    shares, ratios = axis_of(summary, "sync_share"), axis_of(summary, "contended_ratio")
    several = len(factors(summary.rows)) > 1
    rows = {
        (milli(row["sync_share"]), milli(row["contended_ratio"])): row
        for row in summary.rows
        if int(row["cores"]) == cores and factor in (None, factor_of(row))
    }

    def cell(rho: float, alpha: float) -> HeatCell:
        row = rows.get((milli(rho), milli(alpha)))
        place = {
            "cores": cores, "sync_share": rho, "contended_ratio": alpha,
            "deadline_factor": factor if factor is not None else factor_of(summary.rows[0]),
        }  # fmt: skip
        state = state_of(row, metric, scale.noise)
        text = {ABSENT: "n.m.", UNDECIDED: "?"}.get(state) or cell_text(row, metric, scale.digits)
        hover = {ABSENT: "not measured", UNDECIDED: "undecided"}.get(state)
        note = ""
        if hover is None and row is not None:
            hover = f"{metric.name} {metric_words(row, metric)}\n{_rests_on(row)}"
            note = "\n".join(filter(None, (_ends(row, metric, scale), f"n = {row['task_sets']}")))
        where = point_words(place, several=several)
        value = None if row is None else _value(row, metric)
        if value and metric.of_noise:
            value = math.log2(value)
        return HeatCell(value, state, text, f"{where}\n{hover}", point_key(place), note)

    coloured = math.log2 if metric.of_noise else float
    return Heat(
        cells=[[cell(rho, alpha) for alpha in ratios] for rho in shares],
        x=[f"{alpha:g}" for alpha in ratios],
        y=[f"{rho:g}" for rho in shares],
        x_at=ratios,
        y_at=shares,
        low=coloured(scale.low),
        high=coloured(scale.high),
        levels=tuple(map(coloured, scale.levels)),
        unit=metric.axis + ", as a power of 2" * metric.of_noise,
    )


def _ends(row: Row, metric: GridMetric, scale: Scale) -> str:
    """The interval, as short as a cell needs it."""
    low, high = number(row.get(metric.low)), number(row.get(metric.high))
    if low is None or high is None or state_of(row, metric) in (AT_MOST, AT_LEAST):
        return ""
    if metric.from_below:
        return f"[{multiple(low)}, {multiple(high)}]"
    if metric.neutral:
        return f"[{low:.{scale.digits}f}, {high:.{scale.digits}f}]"
    return f"[{short(low * metric.scale)}, {short(high * metric.scale)}]"


def _rests_on(row: Row) -> str:
    return f"{row['task_sets']} task sets, {int(number(row.get('jobs')) or 0):,} jobs"


def metric_words(row: Row, metric: GridMetric) -> str:
    """A metric of a point with its interval, and that of the same tasks alone beside it."""
    own = _words(row, metric, metric.column, metric.low, metric.high)
    if not metric.alone or own == "–":
        return own
    ends = (f"{metric.alone}_low", f"{metric.alone}_high") if metric.from_below else ("", "")
    return f"{own}, alone {_words(row, metric, metric.alone, *ends).split(' [')[0]}"


def _words(row: Row, metric: GridMetric, column: str, low: str, high: str) -> str:
    value, least, most = (number(row.get(name)) for name in (column, low, high))
    if metric.from_below and low and most is None:
        known = value if least is None else least
        return "–" if known is None else f"≥ {multiple(known)}"
    if value is None:
        return "–"
    text = multiple if metric.from_below else percent if metric.scale == 100 else "{:.3f}".format
    if metric.scale == 100 and value == 0 and most:
        return f"< {text(most)} (none seen)"
    if least is None or most is None:
        return text(value)
    basis = row.get(f"{column.replace('_mean', '')}_ci_basis")
    return f"{text(value)} [{text(least)}, {text(most)}]{' one set' * (basis == 'rounds')}"


def cell_text(row: Row | None, metric: GridMetric, digits: int = 2) -> str:
    """What is written into a cell. Zero misses show their upper bound, not a zero."""
    value = None if row is None else _value(row, metric)
    if row is None or value is None:
        return "–" if row is None else "?"
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


def scale(summary: Summary, metric: GridMetric, floor: NoiseFloor) -> Scale:
    """Colour range and contour levels of a metric.

    The range holds "no effect" and is never narrower than twice the smallest effect; contour lines
    are no closer than that and none follows "no effect": what cannot be seen is not drawn. A grid
    of few points has none.
    """
    values = [_value(row, metric) for row in summary.rows]
    known = [value for value in values if value is not None] or [metric.neutral]
    floor_span = floor.share if metric.of_noise and floor.share is not None else 0.0
    low = min(metric.neutral, *known)
    high = max(metric.neutral, *known)
    high = max(high, low + max(metric.least_span, 2 * floor_span))
    if min(len(axis_of(summary, axis)) for axis in ("sync_share", "contended_ratio")) < (
        CONTOUR_POINTS
    ):
        return Scale(low=low, high=high, levels=(), noise=floor_span)
    step = nice_step(max((high - low) / _CONTOUR_LINES, floor_span))
    levels = tuple(
        round(index * step, 9)
        for index in range(math.floor(low / step) + 1, math.ceil(high / step))
        if abs(index * step - metric.neutral) > 1.001 * max(floor_span, step / 2)
    )
    return Scale(low=low, high=high, levels=levels, noise=floor_span)


def _value(row: Row, metric: GridMetric) -> float | None:
    """In the axis' unit. A value that was not reached is known from below."""
    value = number(row.get(metric.column))
    if metric.from_below and not _ended(row, metric):
        low = number(row.get(metric.low))
        value = value if low is None else low
    return None if value is None else value * metric.scale


def _ended(row: Row, metric: GridMetric) -> bool:
    return None not in (number(row.get(metric.column)), number(row.get(metric.high)))


def metric_point(row: Row, metric: GridMetric) -> CurvePoint | None:
    """A metric of a point over its number of cores, in the axis' unit; None: no value."""
    value = _value(row, metric)
    if value is None:
        return None
    low, high = (number(row.get(name)) for name in (metric.low, metric.high))
    return CurvePoint(
        x=float(row["cores"]),
        y=value,
        low=None if low is None else low * metric.scale,
        high=None if high is None else high * metric.scale,
        bounded=state_of(row, metric) == AT_MOST,
        n=int(row["task_sets"]),
        text=f"M = {row['cores']}: {metric_words(row, metric)}",
    )


def milli(value: Any) -> int:
    """A share in thousandths, in which it is exact."""
    return round(float(value) * 1000)
