"""Points of a profile laid out as grids: a value, a state and a text per cell.

A cell is never filled from its neighbours. What was not measured says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from attrs import frozen

from deadbeat.base.model.words import UNDECIDED
from deadbeat.base.report.building import CurvePoint
from deadbeat.base.report.charts import ABSENT, AT_LEAST, AT_MOST, FAINT, SHOWN, Heat, HeatCell
from deadbeat.base.report.document import percent
from deadbeat.base.report.scales import nice_step
from deadbeat.tasksets.contention.facts import Level, NoiseFloor, levels, multiple
from deadbeat.tasksets.model.figures import CellFigures, Figure, SetFigures
from deadbeat.tasksets.model.results import PointFigures, Summary

#: Most contour lines, about, over the range of a metric.
_CONTOUR_LINES = 7
#: Fewest values of rho and of alpha between which a contour line is more than a guess.
CONTOUR_POINTS = 4


@frozen(kw_only=True)
class GridMetric:
    """A quantity that is drawn.

    Attributes:
        id: Identifier, part of file names.
        name: Name for a person.
        axis: Name with its unit, for axes and colour bars.
        column: Column of a row that holds the value.
        scale: Factor from the column's unit to the axis' unit.
        neutral: Value, in the axis' unit, of "no effect".
        least_span: Smallest range of the colour scale, in the axis' unit: noise must not fill it.
        of_noise: Whether the smallest effect is a share of this quantity.
        alone: Column of the same quantity of the tasks alone; "" where there is none.
        from_below: Whether its low end stands for a value that lies beyond what was seen.
    """

    id: str
    name: str
    axis: str
    column: str
    least_span: float
    scale: float = 1.0
    neutral: float = 1.0
    of_noise: bool = False
    alone: str = ""
    from_below: bool = False

    def of(self, cell: CellFigures, column: str = "") -> Figure:
        """The figure of a point, or the like in ``column``; without a high end where it was not
        reached and is known from below."""
        found = cell.figure(column or self.column)
        if self.from_below and None in (found.value, found.high):
            return Figure(found.value if found.low is None else found.low, found.low)
        return found

    def drawn(self, cell: CellFigures) -> Figure:
        return self.of(cell).scaled(self.scale)

    def digits(self, decimals: int) -> Callable[[float], str]:
        """How a cell writes a number in the axis' unit, a ratio with ``decimals``."""
        if self.from_below:
            return multiple
        return f"{{:.{decimals}f}}".format if self.neutral else short


METRICS: tuple[GridMetric, ...] = (
    GridMetric(
        id="slowdown", name="Slowdown", axis="slowdown (span together / span alone)",
        column="slowdown_mean", least_span=0.05, of_noise=True,
    ),
    GridMetric(
        id="deadline_needed", name="Deadline needed",
        axis="deadline needed, all but 1 in 1,000 (C)",
        column="deadline_needed_p999", alone="alone_deadline_needed_p999", from_below=True,
        least_span=0.5,
    ),
    GridMetric(
        id="deadline_miss_ratio", name="Deadline miss ratio",
        axis="deadline miss ratio (% of jobs)", column="deadline_miss_ratio",
        alone="alone_miss_ratio", scale=100.0, neutral=0.0, least_span=1.0,
    ),
    GridMetric(
        id="delay_ratio", name="Delay ratio", axis="delay ratio (span / C)",
        column="delay_ratio_mean", least_span=0.05, of_noise=True,
    ),
)  # fmt: skip


@frozen(kw_only=True)
class Scale:
    """Colour range and contour levels of a metric, common to every M so that M can be compared.
    ``noise``: the smallest effect that could be seen, as a share; 0: another quantity."""

    low: float
    high: float
    levels: tuple[float, ...]
    noise: float = 0.0

    @property
    def digits(self) -> int:
        """Decimals of a ratio in a cell: enough to tell the steps of the colours apart."""
        return 2 if self.high - self.low >= 0.2 else 3


def cores_of(summary: Summary) -> tuple[int, ...]:
    return tuple(sorted({cell.cores for cell in summary.cells}))


def axis_of(summary: Summary, axis: str) -> tuple[float, ...]:
    """The values of rho or alpha that occur at any M, ascending; thousandths are exact."""
    return tuple(step / 1000 for step in sorted({milli(getattr(c, axis)) for c in summary.cells}))


def point_key(place: CellFigures | PointFigures | SetFigures) -> str:
    """A point in thousandths, as the page names it."""
    axes = (place.sync_share, place.contended_ratio, place.deadline_factor or 0.0)
    return "/".join((str(place.cores), *(str(milli(value)) for value in axes)))


def point_words(place: CellFigures | PointFigures | SetFigures) -> str:
    """``M = 4, ρ = 1, α = 0.5``."""
    return f"M = {place.cores}, ρ = {place.sync_share:g}, α = {place.contended_ratio:g}"


def at_places(cells: Iterable[CellFigures], cores: int) -> dict[tuple[int, int], CellFigures]:
    """The points of one M by rho and alpha in thousandths."""
    own = (cell for cell in cells if cell.cores == cores)
    return {(milli(cell.sync_share), milli(cell.contended_ratio)): cell for cell in own}


def state_of(cell: CellFigures | None, metric: GridMetric, noise: float = 0.0) -> str:
    """How far a cell is known; a point without a run, or without a value, is undecided. ``noise``:
    see `Scale`: a ratio with an interval that comes that close to 1, or without one, is faint."""
    if cell is None:
        return ABSENT
    found = metric.of(cell)
    if found.value is None:
        return UNDECIDED
    if metric.from_below or found.bounds:
        return AT_LEAST if found.high is None else SHOWN
    if metric.of_noise:
        low, high = found.ends or (1.0, 1.0)
        return SHOWN if low > 1 + noise or high < 1 - noise else FAINT
    return AT_MOST if found.value == 0 and found.high else SHOWN


def grid(
    summary: Summary, metric: GridMetric, cores: int, scale: Scale, level: Level | None = None
) -> Heat:
    """The points of one M by rho (rows) and alpha (columns). ``level``: deadline factor of the
    points; None: the campaign has one."""
    shares, ratios = axis_of(summary, "sync_share"), axis_of(summary, "contended_ratio")
    level = level or levels(summary.cells)[0]
    cells = at_places(level.of(summary.cells), cores)

    def cell(rho: float, alpha: float) -> HeatCell:
        own = cells.get((milli(rho), milli(alpha)))
        place = CellFigures(
            cores=cores, sync_share=rho, contended_ratio=alpha, deadline_factor=level.factor
        )
        state = state_of(own, metric, scale.noise)
        hover, note, value = {ABSENT: "not measured"}.get(state, UNDECIDED), "", None
        if own is not None and state != UNDECIDED:
            found = metric.drawn(own)
            value = found.value
            hover = f"{metric.name} {metric_words(own, metric)}\n{own.task_sets} task sets,"
            hover += f" {own.jobs or 0:,} jobs"
            ends = ""
            if found.ends and state not in (AT_MOST, AT_LEAST):
                ends = f"[{', '.join(map(metric.digits(scale.digits), found.ends))}]\n"
            note = f"{ends}n = {own.task_sets}"
        where = ", ".join(filter(None, (point_words(place), level.option)))
        text = cell_text(own, metric, scale.digits)
        return HeatCell(value, state, text, f"{where}\n{hover}", point_key(place), note)

    return Heat(
        cells=[[cell(rho, alpha) for alpha in ratios] for rho in shares],
        x=[f"{alpha:g}" for alpha in ratios],
        y=[f"{rho:g}" for rho in shares],
        x_at=ratios,
        y_at=shares,
        low=scale.low,
        high=scale.high,
        levels=scale.levels,
        unit=metric.axis,
        log=metric.of_noise,
    )


def metric_words(cell: CellFigures, metric: GridMetric) -> str:
    """A metric of a point with its interval, and that of the same tasks alone beside it."""
    own = _words(metric.of(cell), metric)
    if not metric.alone or own == "–":
        return own
    return f"{own}, alone {bare_words(cell, metric, metric.alone)}"


def bare_words(cell: CellFigures, metric: GridMetric, column: str) -> str:
    """What is like a metric, in ``column``, without its interval."""
    found = metric.of(cell, column)
    return _words(found._replace(low=None, high=found.high if metric.from_below else None), metric)


def _words(found: Figure, metric: GridMetric) -> str:
    text = multiple if metric.from_below else percent if metric.scale == 100 else "{:.3f}".format
    if found.value is None:
        return "–"
    if metric.from_below and found.high is None:
        return f"≥ {text(found.value)}"
    if metric.scale == 100 and found.value == 0 and found.high:
        return f"< {text(found.high)} (none seen)"
    return found.text(text)


def cell_text(cell: CellFigures | None, metric: GridMetric, decimals: int = 2) -> str:
    """What is written into a cell. Zero misses show their upper bound, not a zero."""
    state, digits = state_of(cell, metric), metric.digits(decimals)
    found = Figure() if cell is None else metric.drawn(cell)
    if found.value is None:
        return "n.m." if state == ABSENT else "?"
    if state == AT_MOST and found.high:
        return f"<{digits(found.high)}"
    return "≥" * (state == AT_LEAST) + digits(found.value)


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
    values = [metric.drawn(cell).value for cell in summary.cells]
    ends = [metric.neutral, *(value for value in values if value is not None)]
    floor_span = floor.share if metric.of_noise and floor.share is not None else 0.0
    low, high = min(ends), max(ends)
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


def metric_point(cell: CellFigures, metric: GridMetric) -> CurvePoint | None:
    """A metric of a point over its number of cores, in the axis' unit; None: no value."""
    found = metric.drawn(cell)
    if found.value is None:
        return None
    return CurvePoint(
        x=float(cell.cores),
        y=found.value,
        low=found.low,
        high=found.high,
        bounded=state_of(cell, metric) == AT_MOST,
        n=cell.task_sets,
        text=f"M = {cell.cores}: {metric_words(cell, metric)}",
    )


def milli(value: float) -> int:
    """A share in thousandths, in which it is exact."""
    return round(value * 1000)
