"""The figures of a comparison: effects over all cells and maps of differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from deadbeat.base.model.comparison import (
    VERDICTS,
    CellComparison,
    Comparison,
    ComparisonResult,
    MetricComparison,
)
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.words import UNDECIDED
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import (
    ABSENT,
    FAINT,
    SHOWN,
    Chart,
    Curve,
    Heat,
    HeatCell,
    Mark,
    Panel,
)
from deadbeat.base.verdicts.words import interval_text, size_text, value_text, words_list
from deadbeat.tasksets.contention import grids

#: Looks of the verdicts: colour and marker that stay theirs.
_LOOKS: Mapping[str, int] = {"worse": 1, "better": 0, "equal": 2, "undecided": 6}
#: How far beside each other an effect, the smallest one and the gate stand.
_ASIDE = 0.22


def comparison_charts(result: ComparisonResult) -> list[Chart]:
    charts = [_overall(result, each) for each in result.comparisons]
    spans = {}
    for metric in result.comparisons[0].metrics if result.comparisons else ():
        # How far the colours of a metric reach, in per cent: the same in every map of it.
        cells = [
            cell
            for comparison in result.comparisons
            for each in comparison.metrics
            if each.metric == metric.metric
            for cell in each.cells
        ]
        sizes = [abs(cell.effect or 0.0) for cell in cells if _state(cell) == SHOWN]
        spans[metric.metric] = 100 * max([*sizes, metric.metric.minimum, 1e-8])
    for index, comparison in enumerate(result.comparisons):
        for metric in comparison.metrics:
            charts += _cell_charts(result, comparison, metric, index, span=spans[metric.metric])
    return charts


def _overall(result: ComparisonResult, comparison: Comparison) -> Chart:
    """Effects beside what they must exceed, on one scale for each unit."""
    several = len(result.comparisons) > 1
    number = 1 + result.comparisons.index(comparison)
    panels, beyond = [], []
    for log, title, unit in ((True, "Relative", "%"), (False, "Of shares", "% points")):
        own = [each for each in comparison.metrics if each.metric.log == log]
        known = [each for each in own if each.effect is not None]
        if not own:
            continue
        most = 300 * max(max(abs(each.effect or 0), each.minimum) for each in own)
        ends = [
            100 * max(abs(end or 0) for end in (each.effect, each.low, each.high, each.gate))
            for each in own
        ]
        beyond += [m.metric.words for m, end in zip(own, ends, strict=True) if end > most]
        edge = 1.08 * min(max([*ends, most / 3]), most)
        curves = _verdict_curves(
            (own.index(each) - _ASIDE, each, f"{each.verdict}: {interval_text(each)}")
            for each in known
        )
        for look, (label, of, aside) in enumerate(
            (("smallest effect that matters", attrgetter("minimum"), 0.0),
             ("A/A gate", attrgetter("gate"), _ASIDE)),
            4,
        ):  # fmt: skip
            points = [
                CurvePoint(place + aside, 0.0, -of(each), of(each))
                for place, each in enumerate(own)
                if of(each) is not None
            ]
            curves += [curve(label, points, look=look, kind="errors", scale=100)] * bool(points)
        panels.append(
            Panel(
                title=title,
                x_label="",
                y_label=f"difference ({unit})",
                categories=tuple(each.metric.words for each in own),
                curves=tuple(curves),
                marks=(Mark(axis="y", at=0.0, label=""),),
                y_limits=(-edge, edge),
                empty="no effect is known",
            )
        )
    more = f" Bars of {words_list(beyond)} reach beyond the picture: see the table." * bool(beyond)
    return Chart(
        name=f"overall-{number}" if several else "overall",
        title="Effect over all cells",
        caption=f"{_worse(comparison.metrics)} Bars: 95 %; of gate and smallest effect, up to where"
        f" an effect is none. Gate: what repeated sessions (A/A) show here.{more}",
        panels=tuple(panels),
        family="overall" if several else "",
        option=f"{comparison.other} against {comparison.baseline}" if several else "",
    )


def effect_axis(metric: Metric) -> str:
    name = metric.title.lower().removeprefix("deadline ")
    return f"difference of the {name} ({'%' if metric.log else '% points'})"


def _worse(metrics: Sequence[MetricComparison]) -> str:
    """On which side of 0 a metric is worse."""
    below = [each.metric.words for each in metrics if each.metric.higher_is_better]
    if len(below) == len(metrics):
        return "Below 0 is worse."
    return f"Above 0 is worse{f', of {words_list(below)} below it' if below else ''}."


def _effects_panel(
    words: tuple[str, str],
    metric: MetricComparison,
    names: Iterable[str],
    items: Iterable[tuple[MetricComparison | CellComparison, str]],
) -> Panel:
    """Points with bars, in per cent; a look for each verdict, so that a shape says it too.
    ``words``: title of the panel and of its axis; ``metric``: with the limits to mark; ``names``,
    ``items``: effects, each with what the pointer shows."""
    size, gate = 100 * metric.minimum, metric.gate
    gates = () if gate is None else (100 * gate, -100 * gate)
    placed = ((place, item, text) for place, (item, text) in enumerate(items))
    return Panel(
        title=words[0],
        x_label=words[1],
        y_label=effect_axis(metric.metric),
        categories=tuple(names),
        curves=tuple(_verdict_curves(placed)),
        marks=(
            Mark(axis="y", at=-size, to=size, label="below the minimum effect"),
            Mark(axis="y", at=0.0, label=""),
            *(Mark(axis="y", at=at, label="A/A gate") for at in gates),
        ),
        empty="no effect is known",
    )


def _cell_charts(
    result: ComparisonResult,
    comparison: Comparison,
    metric: MetricComparison,
    index: int,
    *,
    span: float,
) -> list[Chart]:
    """Heat maps of a grid, or points with bars where the cells are groups."""
    charts = []
    count = len(result.comparisons)
    axis = _APART.get(metric.metric.name, result.look.groups)
    every = sorted({cell.deadline_factor for cell in metric.cells})
    for factor in every:
        cells = [cell for cell in metric.cells if cell.deadline_factor == factor]
        sides = f"{comparison.other} against {comparison.baseline}"
        name = metric.metric.title
        words = [sides] if count > 1 else []
        words += [f"D/C = {factor:g}"] if len(every) > 1 else []
        stressed = any(cell.group for cell in cells)
        panels = _heat_panels(metric, cells, span)
        if stressed:
            items = [(cell, _cell_hover(cell)) for cell in cells]
            panels = (_effects_panel(axis, metric, [cell.group for cell in cells], items),)
        suffix = f"-{index + 1}" if count > 1 else ""
        suffix += f"-d{round(factor * 1000):06d}" if len(every) > 1 else ""
        charts.append(
            Chart(
                name=f"difference-{metric.metric.name}{suffix}",
                title=name if words else f"Difference, {sides}",
                caption=f"{_worse([metric])} {_GROUP_CAPTION}" if stressed else _HEAT_CAPTION,
                panels=panels,
                family=f"difference-{metric.metric.name}" if words else "difference",
                option=", ".join(words) or name,
            )
        )
    return charts


def _verdict_curves(
    items: Iterable[tuple[float, MetricComparison | CellComparison, str]],
) -> list[Curve]:
    """Effects at their places, with what the pointer shows; a look for each verdict."""
    points: dict[str, list[CurvePoint]] = {verdict: [] for verdict in VERDICTS}
    for place, item, text in items:
        if item.effect is not None:
            point = CurvePoint(place, item.effect, item.low, item.high, text=text)
            points[item.verdict].append(point)
    return [
        curve(verdict, own, look=_LOOKS[verdict], kind="errors", scale=100)
        for verdict, own in points.items()
        if own
    ]


#: For metrics with cells of their own: title of a panel, and of its axis.
_APART = {
    "price": ("By object", "object and size, beside others, state"),
    "rate": ("By load", "load, engine and what its processes did a second"),
}
_GROUP_CAPTION = (
    "Bars: 95 % for each group alone. The verdict allows for the number of groups"
    " (Holm); grey band: smaller than the effect that matters."
)
_HEAT_CAPTION = (
    "Red is worse, blue is better than the baseline. Only cells with a verdict of better or worse,"
    " which allows for their number (Holm), have a colour; grey = is equal, hatched ? is undecided,"
    " n.m. has no pair."
)


def _heat_panels(
    metric: MetricComparison, cells: Sequence[CellComparison], span: float
) -> tuple[Panel, ...]:
    shares = sorted({cell.sync_share for cell in cells if cell.sync_share is not None})
    ratios = sorted({cell.contended_ratio for cell in cells if cell.contended_ratio is not None})
    panels = []
    for m in sorted({cell.cores for cell in cells}):
        place = {
            (grids.milli(c.sync_share), grids.milli(c.contended_ratio)): c
            for c in cells
            if c.cores == m and c.sync_share is not None and c.contended_ratio is not None
        }
        panels.append(
            Panel(
                title=f"M = {m}",
                x_label="contended ratio α",
                y_label="synchronisation share ρ",
                heat=Heat(
                    cells=[
                        [_heat_cell(place.get((grids.milli(r), grids.milli(a)))) for a in ratios]
                        for r in shares
                    ],
                    x=(f"{a:g}" for a in ratios),
                    y=(f"{r:g}" for r in shares),
                    low=-span,
                    high=span,
                    unit=effect_axis(metric.metric),
                ),
            )
        )
    return tuple(panels)


def _heat_cell(cell: CellComparison | None) -> HeatCell:
    value = None if cell is None or cell.effect is None else 100 * cell.effect
    state = _state(cell)
    if value is None or state != SHOWN:
        text = {ABSENT: "n.m.", FAINT: "="}.get(state, "?")
    else:
        text = f"{value:+.0f}" if abs(value) >= 9.95 else f"{value:+.1f}"
    return HeatCell(value, state, text, _cell_hover(cell))


def _state(cell: CellComparison | None) -> str:
    if cell is None or not cell.pairs:
        return ABSENT
    if cell.effect is None or cell.verdict == "undecided":
        return UNDECIDED
    return FAINT if cell.verdict == "equal" else SHOWN


def _cell_hover(cell: CellComparison | None) -> str:
    if cell is None:
        return "not measured on both sides"
    where = f"{cell.group}\n" if cell.group else ""
    if not cell.group and cell.sync_share is not None and cell.contended_ratio is not None:
        where = f"M = {cell.cores}, ρ = {cell.sync_share:g}, α = {cell.contended_ratio:g}\n"
    holm = "" if cell.p_holm is None else f", p (Holm) {cell.p_holm:.2g}"
    text = f"{where}{cell.verdict}: {interval_text(cell)}{holm}"
    if cell.baseline is not None and cell.other is not None:
        sides = (value_text(cell.metric, side) for side in (cell.baseline, cell.other))
        text += f"\n{' → '.join(sides)}"
    text += f"\n{cell.pairs} pairs"
    if cell.smallest_effect is not None:
        text += f"\ncould have shown {size_text(cell.metric, cell.smallest_effect)}"
    return text
