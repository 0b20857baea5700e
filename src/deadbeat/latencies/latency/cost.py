"""What a shorter latency costs: the work that loads got done beside each side."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from deadbeat.base.model.grouping import grouped
from deadbeat.base.report.building import CurvePoint, aside, curve
from deadbeat.base.report.charts import Curve, Panel
from deadbeat.base.stats.intervals import ratio_interval
from deadbeat.latencies.latency.model import LatencyRun
from deadbeat.latencies.latency.words import load_order, load_words

#: What a load did -> its rates, a run each.
_Rates = dict[str, list[float]]


def rates_panel(sides: Sequence[tuple[str, Sequence[LatencyRun]]]) -> Panel:
    """What the processes of each load did a second, as a multiple of the first side's mean:
    geometric means over valid runs, with intervals of 95 %. ``sides``: name and runs."""
    every = [(name, _rates(runs)) for name, runs in sides]
    base = {what: float(np.exp(np.log(rates).mean())) for what, rates in every[0][1].items()}
    places = {what: place for place, what in enumerate(base)}

    def drawn(look: int, name: str, own: _Rates) -> Curve:
        points = []
        for what, rates in own.items():
            if what in base:
                low, high = ratio_interval(rates, [base[what]] * len(rates)) or (None, None)
                mean = float(np.exp(np.log(rates).mean()))
                x, text = places[what] + aside(look, len(every), room=0.4), f"{what}: {mean:,.4g}"
                points.append(CurvePoint(x, mean / base[what], low, high, n=len(rates), text=text))
        return curve(name, points, look=look, kind="errors")

    return Panel(
        title="",
        x_label="load, and what its processes did a second",
        y_label=f"times that of {every[0][0]}",
        categories=tuple(base),
        curves=tuple(drawn(look, *side) for look, side in enumerate(every)),
        empty="no rate of a load was recorded",
    )


def _rates(runs: Sequence[LatencyRun]) -> _Rates:
    valid = sorted((run for run in runs if run.valid), key=lambda run: load_order(run.key.load))
    known = (
        (f"{load_words(run.key.load)}: {name}", rate)
        for run in valid
        for name, rate in run.load.throughput.items()
        if rate > 0
    )
    return {what: [rate for _, rate in own] for what, own in grouped(known, itemgetter(0)).items()}
