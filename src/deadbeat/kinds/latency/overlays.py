"""Latencies of matrices that are compared, laid over each other load by load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deadbeat.kinds.latency.data import LATENCY, load_order, load_words
from deadbeat.kinds.latency.histograms import HISTOGRAM_CAPTION, Named, overlaid, tail_curve
from deadbeat.model.histogram import Histogram, pool
from deadbeat.model.latency import LatencyRun, LoadPoint
from deadbeat.report.charts import Chart, Panel

Place = tuple[LoadPoint, str]


def overlay_charts(sides: Iterable[tuple[str, Sequence[LatencyRun]]]) -> list[Chart]:
    """For every load and engine that two sides at least have: histograms as shares, and tails.

    Args:
        sides: Name and runs of each matrix, the baseline first; only valid runs are drawn.
    """
    pooled = [(name, _pooled(runs)) for name, runs in sides]
    places = {place for _, cells in pooled for place in cells}
    several = len({engine for _, engine in places}) > 1
    charts = []
    for load, engine in sorted(places, key=lambda place: (load_order(place[0]), place[1])):
        named = [
            Named(label=name, histogram=cells[load, engine], look=look)
            for look, (name, cells) in enumerate(pooled)
            if (load, engine) in cells
        ]
        if len(named) > 1:
            option = f"{load_words(load)}, {engine}" if several else load_words(load)
            charts.append(_chart(named, name=f"latencies-{load.text}-{engine}", option=option))
    return charts


def _chart(named: Sequence[Named], *, name: str, option: str) -> Chart:
    tails = Panel(
        title="One wake-up in N is later",
        x_label="N: one wake-up in so many",
        y_label=LATENCY,
        curves=tuple(tail_curve(item.label, item.histogram, look=item.look) for item in named),
        x_log=True,
        y_log=True,
    )
    return Chart(
        name=name,
        title="Latencies laid over each other",
        option=option,
        family="latencies",
        caption="All CPUs and valid runs pooled, missed periods put in where the engine can tell."
        f" {HISTOGRAM_CAPTION} The end of a tail is the maximum, which is one sample. Whether sides"
        " differ is said by the verdicts, which compare run by run.",
        panels=(overlaid(named, title="Histograms", per_million=True), tails),
    )


def _pooled(runs: Iterable[LatencyRun]) -> dict[Place, Histogram]:
    found: dict[Place, list[Histogram]] = {}
    for run in runs:
        if run.valid:
            found.setdefault((run.key.load, run.key.engine), []).extend(
                item.raw if item.corrected is None else item.corrected for item in run.cpus
            )
    return {place: pool(each) for place, each in found.items() if any(h.total for h in each)}
