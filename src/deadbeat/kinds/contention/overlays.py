"""Campaigns that are compared, laid on each other: distributions over task sets, and misses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.configurations import place_of, places
from deadbeat.kinds.contention.samples import SetSample, distribution_charts, of_option
from deadbeat.kinds.contention.stress_charts import interval_curve
from deadbeat.model.figures import CellFigures, SetFigures
from deadbeat.model.results import Summary
from deadbeat.report.charts import Chart, Panel


def overlay_charts(
    names: Sequence[str], summaries: Sequence[Summary], most: int | None
) -> list[Chart]:
    """Every figure, the baseline first; ``most``: at most so many deadline factors have
    distributions, None: all."""
    return [*_overlays(names, summaries, most), *_factor_overlays(names, summaries)]


def _overlays(names: Sequence[str], summaries: Sequence[Summary], most: int | None) -> list[Chart]:
    """Distributions over the task sets that every campaign has, by M or group."""
    common = common_sets(summaries)
    first = common[0] if common else ()
    if not first:
        return []
    floor = facts.noise_floor(summaries[0])
    charts = []
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
    return sorted(charts, key=lambda chart: order.index(chart.family))


def common_sets(summaries: Sequence[Summary]) -> list[tuple[SetFigures, ...]]:
    """Of each campaign the task sets that all of them have: the same programs on every side."""
    if not summaries:
        return []
    keys = set.intersection(*({each.key for each in summary.sets} for summary in summaries))
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
            drawn, column = _most_contended(own), "deadline_miss_ratio"
            curves.append(interval_curve(name, look, drawn, "factor", column, scale=100.0))
        panels.append(
            Panel(
                title=place,
                x_label="deadline factor D / C",
                y_label="deadline miss ratio (% of jobs)",
                curves=tuple(curves),
            )
        )
    where = "" if summaries[0].mode == "stress" else " at the largest ρ and α"
    chart = Chart(
        name="deadline-factor",
        title=f"Deadline misses over the deadline factor{where}",
        caption="Bands: 95 % of each campaign alone, over task sets. Whether campaigns"
        " differ is for the verdicts, which compare program by program.",
        panels=tuple(panels[:12]),
    )
    return [chart if len(panels) <= 12 else evolve(chart, title=f"{chart.title} (first 12)")]


def _most_contended(cells: Sequence[CellFigures]) -> Sequence[CellFigures]:
    """All groups; of the points those at the largest rho and alpha."""
    places = [(cell.sync_share, cell.contended_ratio) for cell in cells]
    return [cell for cell, place in zip(cells, places, strict=True) if place == max(places)]
