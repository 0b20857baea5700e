"""What a shorter latency costs: maxima of runs beside the work that their loads got done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter

import numpy as np
from attrs import evolve

from deadbeat.kinds.latency.charts import limits_of
from deadbeat.kinds.latency.words import LATENCY, US, load_order, load_words
from deadbeat.model.grouping import grouped
from deadbeat.model.histogram import pool
from deadbeat.model.latency import LatencyRun
from deadbeat.report.building import CurvePoint, aside, curve
from deadbeat.report.charts import Chart, Curve, Panel
from deadbeat.stats.intervals import ratio_interval

#: Name and runs of a side.
Sides = Sequence[tuple[str, Sequence[LatencyRun]]]


def cost_charts(sides: Sides) -> list[Chart]:
    """The maximum of a run and the rates of its load, by load; none where no rate was recorded."""
    maxima = _panel(
        sides, _maximum, Panel(title="Maximum of one run", x_label="load", y_label=LATENCY)
    )
    limits = limits_of(maxima.curves)
    panels = (evolve(maxima, y_log=True, y_limits=limits), rates_panel(sides))
    chart = Chart(
        name="preemption",
        title="What a shorter latency costs",
        caption="Geometric means over valid runs; bars: 95 %. What the processes of a load did a"
        " second is read from /proc.",
        panels=panels,
    )
    return [] if panels[1].blank else [chart]


def rates_panel(sides: Sides) -> Panel:
    """What the loads' processes did a second, over that of the first side."""
    axes = Panel(
        title="Work of the loads",
        x_label="load, and what its processes did a second",
        y_label=f"times that of {sides[0][0]}",
        empty="no rate of a load was recorded",
    )
    return _panel(sides, _rates, axes, relative=True)


def _maximum(run: LatencyRun) -> Iterable[tuple[str, float]]:
    yield load_words(run.key.load), (pool([cpu.honest for cpu in run.cpus]).max_ns or 0) / US


def _rates(run: LatencyRun) -> Iterable[tuple[str, float]]:
    for name, rate in run.load.throughput.items():
        yield f"{load_words(run.key.load)}: {name}", rate


def _panel(
    sides: Sides,
    of: Callable[[LatencyRun], Iterable[tuple[str, float]]],
    axes: Panel,
    *,
    relative: bool = False,
) -> Panel:
    """``axes`` with a curve for each side: the mean of what ``of`` tells of its runs; ``relative``:
    over that of the first, where that has it."""
    every = []
    for _, runs in sides:
        valid = sorted((r for r in runs if r.valid), key=lambda run: load_order(run.key.load))
        known = (pair for pair in chain.from_iterable(map(of, valid)) if pair[1] > 0)
        every.append(
            {what: [v for _, v in own] for what, own in grouped(known, itemgetter(0)).items()}
        )
    base = {what: _mean(values) if relative else 1.0 for what, values in every[0].items()}
    places = {what: place for place, what in enumerate(base)}

    def drawn(look: int, own: dict[str, list[float]]) -> Curve:
        points = []
        for what, values in own.items():
            if what in base:
                low, high = ratio_interval(values, [base[what]] * len(values)) or (None, None)
                x, y = places[what] + aside(look, len(sides), room=0.4), _mean(values)
                text = f"{what}: {y:,.4g}"
                points.append(CurvePoint(x, y / base[what], low, high, n=len(values), text=text))
        return curve(sides[look][0], points, look=look, kind="errors")

    curves = tuple(drawn(look, own) for look, own in enumerate(every))
    return evolve(axes, curves=curves, categories=tuple(base))


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.log(values).mean()))
