"""Several latency matrices in one picture: against load, and CPU by CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.report.building import aside
from deadbeat.base.report.charts import Chart, Curve, Panel
from deadbeat.base.stats import special
from deadbeat.latencies.latency.charts import loads_panel, quantity_curves
from deadbeat.latencies.latency.cost import rates_panel
from deadbeat.latencies.latency.histograms import (
    HISTOGRAM_CAPTION,
    by_cpu,
    chart_of,
    edges_of,
    overlaid,
    shown_cpus,
)
from deadbeat.latencies.latency.model import LatencyRun, LoadPoint
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.summary import CellSummary, LatencySummary
from deadbeat.latencies.latency.words import engines_of, loads_of, rests_on

#: Chance that CPUs without a difference are said to differ, of all pairs together.
_FALSE_ALARMS = 0.05
#: Fewer runs do not say whether CPUs differ; pairs of CPUs that differ which are named.
_RUNS_MIN, _PAIRS_SHOWN = 3, 3
_QUANTITIES = (("max", "Maximum"), ("max_of_a_run", "Maximum of one run"), ("mean", "Mean"))
_LOAD_CAPTION = (
    "All CPUs together. Maximum: the latest wake-up of all, one sample however long was measured."
    " Others: geometric means over valid runs; bars: 95 %. What the processes of a load did a"
    " second is read from /proc."
)


@frozen
class Side:
    """One matrix of the picture, and every stored run of it."""

    name: str
    summary: LatencySummary
    runs: Sequence[LatencyRun] = field(repr=False)

    def cell(self, load: LoadPoint, engine: str) -> CellSummary | None:
        """Its cell where that has a valid run."""
        own = (each for each in self.summary.cells if (each.load, each.engine) == (load, engine))
        return next((each for each in own if each.whole.runs), None)


def sides_charts(named: Iterable[tuple[str, Sequence[LatencyRun]]]) -> list[Chart]:
    """Latency against load, and of every CPU, of each engine that measured on all sides: beside
    the loads with a valid run on every side. ``named``: name and runs of each."""
    sides = [Side(name, summarise_latency(runs, name=name), runs) for name, runs in named]
    first = sides[0].summary.cells
    charts = []
    for engine in engines_of(first):
        loads = [load for load in loads_of(first) if all(each.cell(load, engine) for each in sides)]
        if loads:
            charts += [_against_load(sides, engine, loads), *_by_cpu(sides, engine, loads)]
    return charts


def _against_load(sides: Sequence[Side], engine: str, loads: Sequence[LoadPoint]) -> Chart:
    """A panel for each quantity, in it a curve for each side, points a little beside each other."""

    def panel(name: str, title: str) -> Panel:
        curves: list[Curve] = []
        for look, side in enumerate(sides):
            cells = [cell for load in loads if (cell := side.cell(load, engine))]
            place = aside(look, len(sides), room=0.6)
            curves += quantity_curves(cells, loads, name, side.name, look=look, aside=place)
        return loads_panel(title, loads, curves)

    counted = [(s.name, [run for run in s.runs if run.key.engine == engine]) for s in sides]
    work = evolve(rates_panel(counted), title="Work of the loads")
    return Chart(
        name=f"against-load-{engine}",
        title=f"Latency against load, {engine}",
        caption=_LOAD_CAPTION,
        panels=(*(panel(*each) for each in _QUANTITIES), *([] if work.blank else [work])),
    )


def _by_cpu(sides: Sequence[Side], engine: str, loads: Sequence[LoadPoint]) -> Iterator[Chart]:
    """The histograms of every CPU beside a load: a panel for each side, all on one scale."""
    for load in loads:
        shown = [(side, cell) for side in sides if (cell := side.cell(load, engine))]
        cpus = shown_cpus([cell for _, cell in shown])
        edges = edges_of([item.histogram for _, cell in shown for item in by_cpu(cell, cpus)])
        differ = (f"{side.name}: {differing_cpus(cell)}" for side, cell in shown)
        yield chart_of(
            load,
            f"cpus-{engine}",
            f"Latency of every CPU, {engine}",
            f"{HISTOGRAM_CAPTION} {' '.join(differ)}",
            [
                overlaid(
                    by_cpu(cell, cpus), title=f"{side.name}: {rests_on(cell.whole)}", edges=edges
                )
                for side, cell in shown
            ],
        )


def differing_cpus(cell: CellSummary) -> str:
    """Which CPUs are later than others on average: paired t tests of the logarithms of their means
    over the same runs, corrected for the number of pairs (Bonferroni)."""
    means = {row.cpu: row.honest["mean"].runs_ns for row in cell.cpus}
    if len(means) < 2:
        return "measured on one CPU."
    if any(None in each for each in means.values()) or min(map(len, means.values())) < _RUNS_MIN:
        return "fewer than three runs do not say whether CPUs differ."
    if len({*map(len, means.values())}) > 1:
        return "not every run measured the same CPUs: whether they differ is not known."
    pairs = list(combinations(means, 2))
    logs = {cpu: np.log(np.array(each, float)) for cpu, each in means.items()}
    apart = np.array([logs[one] - logs[other] for one, other in pairs])
    centre, count = apart.mean(axis=1), apart.shape[1]
    spread = np.maximum(apart.std(axis=1, ddof=1), 1e-12)
    chance = 2 * special.stdtr(count - 1, -np.abs(centre) / spread * count**0.5)
    found = [
        f"CPU {pair[int(later < 0)]} than CPU {pair[int(later > 0)]}"
        for pair, later, p in zip(pairs, centre, chance, strict=True)
        if p < _FALSE_ALARMS / len(pairs)
    ]
    together = f"(5 % for all {len(pairs)} pairs together)"
    if not found:
        return f"no two CPUs differ by more than chance {together}."
    left = len(found) - _PAIRS_SHOWN
    more = f" and {left} pairs more" if left > 0 else ""
    return f"later on average: {', '.join(found[:_PAIRS_SHOWN])}{more} {together}."
