"""The figures of a stress campaign, counted events, and campaigns laid on each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import Chart, Curve, Mark, Panel
from deadbeat.base.report.document import Note, Sentence
from deadbeat.base.stats.correlate import spearman
from deadbeat.tasksets.contention import facts
from deadbeat.tasksets.contention.facts import factors, levels, noise_floor
from deadbeat.tasksets.contention.samples import (
    SetSample,
    configuration_samples,
    distribution_charts,
    factor_cells,
    object_charts,
    of_option,
    place_of,
    places,
    samples,
    thinned,
)
from deadbeat.tasksets.model.figures import CellFigures, Figure, SetFigures
from deadbeat.tasksets.model.results import Summary

#: Points of one panel of a scatter plot.
_POINTS = 1500
#: A range of positive values wider than this is drawn on a logarithmic axis.
_WIDE = 50


def stress_charts(summary: Summary, *, most: int | None = None) -> list[Chart]:
    """Every figure that the summary has the numbers for. ``most``: most deadline factors that
    have distributions of their own; None: all."""
    charts: list[Chart] = []
    floor = noise_floor(summary)
    for level in levels(summary.cells, most):
        own = configuration_samples(summary, level)
        found = (*distribution_charts(own, floor), *_drivers(own), *object_charts(own))
        critical = _critical(level.of(summary.cells))
        charts += of_option((*found, *critical), level.option, level.suffix)
    charts += factor_charts(
        factor_cells(summary), label=attrgetter("group"), name="deadline-factor"
    )
    order = {name: place for place, name in enumerate(_ORDER)}
    return sorted(charts, key=lambda chart: order.get(chart.family or chart.name, len(order)))


_ORDER = (
    "distribution-slowdown",
    "distribution-delay_ratio",
    "distribution-misses",
    "deadline-factor",
    "critical",
    "drivers",
    "objects",
)


def factor_charts(
    cells: Sequence[CellFigures], *, label: Callable[[CellFigures], str], name: str, title: str = ""
) -> Iterator[Chart]:
    """Miss ratio over D / C, a curve per label, where there are several factors."""
    by_label = grouped(cells, label)
    panels = [
        Panel(
            title=heading, x_label="deadline factor D / C", y_label=axis,
            curves=tuple(
                interval_curve(text, look, own, "factor", column, scale=100.0)
                for look, (text, own) in enumerate(by_label.items())
            ),
        )
        for heading, axis, column in _FACTOR_PANELS
        if any(cell.value(column) is not None for cell in cells)
    ]  # fmt: skip
    if panels and len(factors(cells)) > 1:
        yield Chart(
            name=name,
            title=title or "Deadline misses over the deadline factor",
            caption="The same task sets with other periods T = D = factor x C; every level was run."
            " Bands: 95 %, over task sets. An arrow is an upper bound where nothing was"
            " missed: the fewer the sets, the higher.",
            panels=tuple(panels),
        )


_FACTOR_PANELS = (
    ("Jobs", "deadline miss ratio (% of jobs)", "deadline_miss_ratio"),
    ("Task sets", "sets with a miss (%)", "miss_set_share"),
)


def interval_curve(
    text: str, look: int, cells: Sequence[CellFigures], x: str, column: str, *, scale: float = 1.0
) -> Curve:
    """A figure of cells over their ``x``, with its interval; an end that is not known is the value
    itself.

    Where nothing was seen (a value of zero) the interval is an upper bound: see ``Curve.bounded``.
    """
    ordered = sorted(cells, key=attrgetter(x))
    found = [(float(getattr(cell, x)), cell.figure(column)) for cell in ordered]
    points = (
        CurvePoint(at, own.value, own.low, own.high, own.value == 0 and bool(own.high))
        for at, own in found
        if own.value is not None
    )
    return curve(text, points, look=look, scale=scale)


_CRITICAL_PANELS = (
    ("Mean slowdown", "slowdown of critical tasks", "slowdown_mean", 1.0),
    ("95th percentile over sets", "slowdown of critical tasks", "slowdown_p95", 1.0),
    ("Deadline misses", "miss ratio of critical tasks (% of jobs)", "deadline_miss_ratio", 100.0),
)


def _critical(cells: Sequence[CellFigures]) -> Iterator[Chart]:
    if not any(cell.critical_cores for cell in cells):
        return
    by_cores = grouped(cells, lambda cell: str(cell.cores or "drawn"))
    panels = (
        Panel(
            title=heading,
            x_label="critical cores k (0: not shielded)",
            y_label=axis,
            curves=tuple(
                interval_curve(f"M = {m}", look, own, "critical_cores", column, scale=scale)
                for look, (m, own) in enumerate(
                    sorted(by_cores.items(), key=lambda each: (len(each[0]), each[0]))
                )
            ),
            marks=(Mark(axis="y", at=1.0, label="1: no effect"),) if scale == 1.0 else (),
        )
        for heading, axis, column, scale in _CRITICAL_PANELS
    )
    yield Chart(
        name="critical",
        title="How much still reaches the critical tasks",
        caption="Critical tasks alone on k cores; computation fills the other cores. Reference:"
        " the same tasks alone on the machine. k = 0: the same draws on all cores. Bands: 95 %,"
        " over task sets; an arrow is an upper bound where nothing was missed.",
        panels=tuple(panels),
    )


def _contention(item: SetFigures) -> float | None:
    rho, alpha = item.sync_share_real, item.contended_ratio_real
    if rho == 0:
        return 0.0
    return None if rho is None or alpha is None else 100 * rho * alpha


_DRIVERS: tuple[tuple[str, str, Callable[[SetFigures], float | None]], ...] = (
    ("Contended share", "contended share of C, realised ρ × α (%)", _contention),
    (
        "Overlap",
        "overlap: contended time with another core inside (%)",
        lambda item: Figure(item.overlap_real).scaled(100).value,
    ),
    ("Utilisation", "utilisation of the task set, sum of C / T", attrgetter("utilisation")),
)


def _drivers(own: Sequence[SetSample]) -> Iterator[Chart]:
    made = (
        scatter(own, heading, axis, value_of, ("slowdown_mean", _SLOWDOWN))
        for heading, axis, value_of in _DRIVERS
    )
    # What does not vary drives nothing.
    panels = [p for p in made if p and len({x for each in p.curves for x in each.x}) > 1]
    if panels:
        yield Chart(
            name="drivers",
            title="What drives the slowdown",
            caption=SCATTER_CAPTION,
            panels=tuple(panels),
        )


_SLOWDOWN = "slowdown of a task set"
SCATTER_CAPTION = (
    "A mark is a task set (of very many only some are drawn, the worst all). r_s: Spearman's rank"
    " correlation over all n sets with its 95 % interval; it says what goes together, not why."
)


def scatter(
    own: Sequence[SetSample],
    heading: str,
    axis: str,
    value_of: Callable[[SetFigures], float | None],
    against: tuple[str, str],
) -> Panel | None:
    """A figure of task sets over a quantity, with its rank correlation; None: nothing known."""
    column, y_label = against
    both = [(each, [(value_of(item), item.column(column)) for item in each.sets]) for each in own]
    known = [
        (each, [(x, y) for x, y in some if x is not None and y is not None]) for each, some in both
    ]
    pairs = [pair for _, some in known for pair in some]
    if not pairs:
        return None
    found = spearman([x for x, _ in pairs], [y for _, y in pairs])
    low, high = min(x for x, _ in pairs), max(x for x, _ in pairs)
    curves = []
    for sample, some in known:
        drawn = thinned(some, itemgetter(1), max(20, _POINTS * len(some) // len(pairs)))
        points = (CurvePoint(x, y) for x, y in drawn)
        curves.append(curve(sample.label, points, look=sample.look, kind="points"))
    return Panel(
        title=f"{heading}\n{found.text}",
        x_label=axis,
        y_label=y_label,
        curves=tuple(each for each in curves if each.x),
        x_log=low > 0 and high / low > _WIDE,
        y_log=True,
    )


COUNTED = "counted"


def name_of(event: str) -> str:
    return event.replace("cpu_", "CPU ").replace("_", " ")


def states(summary: Summary) -> Mapping[str, str]:
    """Event -> ``counted``, ``not supported here``, ``refused: why`` or ``failed: why``; empty:
    none asked for."""
    found = summary.meta.get("counters") or {}
    known = [event for event in COUNTER_EVENTS if event in found]
    return {event: str(found[event]) for event in dict.fromkeys((*known, *found))}


def counter_charts(summary: Summary) -> list[Chart]:
    """A panel for each event that was counted: what was not is never drawn as zero."""
    own = samples(summary.sets, places(summary), partial(place_of, summary))
    missing = _missing(summary)
    panels = []
    for event, state in states(summary).items():
        name, unit = name_of(event), "µs" if event == "task_clock" else "number"
        heading, axis = f"{name[:1].upper()}{name[1:]}", f"{name} per job ({unit})"
        if state == COUNTED and len(_values(summary, event)) > 1:
            panels.append(scatter(own, heading, axis, _value_of(event), _AGAINST))
    drawn = tuple(panel for panel in panels if panel is not None)
    caption, title = f"{missing} {SCATTER_CAPTION}".lstrip(), "Delay ratio and counted events"
    return [Chart(name="counters", title=title, caption=caption, panels=drawn)] if drawn else []


def counters_note(summary: Summary) -> tuple[Sentence | Note, ...]:
    """Why no event is drawn; the figure says itself which are missing from it."""
    none = "No events were counted: run with --set counters=true to see which go with the delay."
    if not states(summary):
        return (Note(none),)
    missing = _missing(summary)
    return () if not missing or counter_charts(summary) else (Sentence(missing),)


_AGAINST = ("delay_ratio_mean", "delay ratio of a task set (span / C)")


def _missing(summary: Summary) -> str:
    """Names of the events that are not drawn, by the reason they share; "": all are."""
    by_reason: dict[str, list[str]] = {}
    for event, state in states(summary).items():
        values = _values(summary, event)
        if state == COUNTED and len(values) > 1:
            continue
        same = [f"{value:g} per job in every task set" for value in values]
        why = state if state != COUNTED else "".join(same) or "no task set has a value"
        by_reason.setdefault(why, []).append(name_of(event))
    parts = [f"{', '.join(names)} ({reason})" for reason, names in by_reason.items()]
    return f"Not drawn: {'; '.join(parts)}." if parts else ""


def _values(summary: Summary, event: str) -> set[float]:
    known = map(_value_of(event), summary.sets)
    return {value for value in known if value is not None}


def _value_of(event: str) -> Callable[[SetFigures], float | None]:
    """The event's mean count per job (COUNTER_COLUMNS)."""
    column, scale = f"counter_{event}_per_job", 1e-3 if event == "task_clock" else 1.0
    return lambda item: Figure(item.column(column)).scaled(scale).value


def overlay_charts(
    names: Sequence[str], summaries: Sequence[Summary], most: int | None
) -> list[Chart]:
    """Every figure, the baseline first; ``most``: most deadline factors that have
    distributions, None: all."""
    common = common_sets(summaries)
    if not common or not (first := common[0]):
        return _factor_overlays(names, summaries)
    floor = facts.noise_floor(summaries[0])
    charts: list[Chart] = []
    # most cores first: a page begins with what it shows first, and M = 1 seldom shows anything
    for place in reversed(places(summaries[0])):
        for level in facts.levels(first, most):
            own = tuple(
                SetSample(
                    label=name,
                    look=look,
                    sets=tuple(s for s in level.of(sets) if place_of(summaries[0], s) == place),
                )
                for look, (name, sets) in enumerate(zip(names, common, strict=True))
            )
            option = ", ".join(filter(None, (place, level.option)))
            suffix = f"-{re.sub('[^a-z0-9]+', '-', place.lower())}{level.suffix}"
            charts += of_option(distribution_charts(own, floor), option, suffix)
    order = [chart.family for chart in charts]
    charts.sort(key=lambda chart: order.index(chart.family))
    return [*charts, *_factor_overlays(names, summaries)]


def common_sets(summaries: Sequence[Summary]) -> list[tuple[SetFigures, ...]]:
    """Task sets that all campaigns have, by campaign: the same programs on every side."""
    sides = [{each.key for each in summary.sets} for summary in summaries]
    keys = set.intersection(*sides) if sides else set()
    return [tuple(item for item in summary.sets if item.key in keys) for summary in summaries]


def _factor_overlays(names: Sequence[str], summaries: Sequence[Summary]) -> list[Chart]:
    """Miss ratio over D / C with a curve per campaign; of a grid its most contended point."""
    if not summaries or len(facts.factors(summaries[0].cells)) < 2:
        return []
    panels = []
    for place in places(summaries[0]):
        curves = []
        for look, (name, summary) in enumerate(zip(names, summaries, strict=True)):
            own = [cell for cell in summary.cells if place_of(summaries[0], cell) == place]
            # All groups; of the points those at the largest rho and alpha.
            point = attrgetter("sync_share", "contended_ratio")
            drawn = [cell for cell in own if point(cell) == max(map(point, own))]
            column = "deadline_miss_ratio"
            curves.append(interval_curve(name, look, drawn, "factor", column, scale=100.0))
        axes = ("deadline factor D / C", "deadline miss ratio (% of jobs)")
        panels.append(Panel(title=place, x_label=axes[0], y_label=axes[1], curves=tuple(curves)))
    where = "" if summaries[0].mode == "stress" else " at the largest ρ and α"
    more = " (first 12)" * (len(panels) > 12)
    return [
        Chart(
            name="deadline-factor",
            title=f"Deadline misses over the deadline factor{where}{more}",
            caption="Bands: 95 % of each campaign alone, over task sets. Whether campaigns"
            " differ is for the verdicts, which compare program by program.",
            panels=tuple(panels[:12]),
        )
    ]
