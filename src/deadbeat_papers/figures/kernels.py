"""Maxima of several kernels against load, histograms of two over each other, and of every CPU."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy import stats

from deadbeat import (
    FALSE_ALARMS,
    HISTOGRAM_CAPTION,
    CellSummary,
    Chart,
    DrawnPlot,
    LoadPoint,
    Question,
    Side,
    SidesTable,
    caveats,
    cpu_panels,
    how,
    interval_text,
    load_words,
    overlay_panel,
    sides_panel,
    systems_table,
    time_text,
)
from deadbeat_papers.figures.beside import SESSIONS, differences_table, ratio_table, ratios


def preemption(asked: Question) -> DrawnPlot:
    panels = (
        sides_panel(asked, "max", "Maximum"),
        sides_panel(asked, "max_of_a_run", "Maximum of one run"),
        sides_panel(asked, "rate", "Work of the loads"),  # imported results have none
    )
    chart = Chart(
        name="preemption",
        title="Maximum latency by kernel and load",
        caption=f"{how(asked)}; all CPUs together. Left: the latest wake-up of all, one sample"
        " however long was measured. Others: geometric means over the runs; bars: 95 %.",
        panels=tuple(panel for panel in panels if not panel.blank),
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=_lowest(asked),
        tables=(_maxima(asked), systems_table(asked)),
        caveats=caveats(asked),
    )


def _maxima(asked: Question) -> SidesTable:
    rows = []
    for side in asked.sides:
        for cell in asked.cells(side):
            shown = cell.whole.honest
            rows.append(
                (
                    side.name,
                    load_words(cell.load),
                    time_text(shown["max"].value_ns),
                    f"CPU {cell.whole.max_cpu}",
                    interval_text(shown["max_of_a_run"]),
                    time_text(shown["mean"].value_ns),
                )
            )
    return SidesTable(
        title="Maxima",
        columns=("system", "load", "maximum", "on", "of one run [95 %]", "mean"),
        rows=tuple(rows),
    )


def _lowest(asked: Question) -> tuple[str, ...]:
    found = []
    best = {
        load: min(asked.sides, key=lambda side: _value(asked, side, load, "max_of_a_run", math.inf))
        for load in asked.loads
    }
    certain = {load for load in asked.loads if _is_below_all(asked, best[load], load)}
    for side in asked.sides:
        own = [load for load, least in best.items() if least is side]
        if own:
            where = (
                "under every load" if len(own) == len(asked.loads)
                else f"under {', '.join(map(load_words, own))}"
            )  # fmt: skip
            sure = sum(load in certain for load in own)
            shown = {0: "is not shown", len(own): "is shown"}.get(
                sure, f"is shown under {sure} of these {len(own)} loads"
            )
            found.append(
                f"{side.name} has the lowest maximum of one run {where}; that it is lower than that"
                f" of every other by more than chance between these sessions {shown} (5 %"
                f" for all loads together). {SESSIONS}"
            )
    worst = max(
        (cell for side in asked.sides for cell in asked.cells(side)),
        key=lambda cell: cell.whole.honest["max"].value_ns or 0,
    )
    owner = next(side for side in asked.sides if worst in asked.cells(side))
    found.append(
        f"The latest wake-up of all: {time_text(worst.whole.honest['max'].value_ns)}, on"
        f" {owner.name} under {load_words(worst.load)}."
    )
    return tuple(found)


def _value(
    asked: Question, side: Side, load: LoadPoint, quantity: str, lacking: float = 0.0
) -> float:
    cell = side.cell(load, asked.engine)
    value = cell.whole.honest[quantity].value_ns if cell else None
    return lacking if value is None else value


def _is_below_all(asked: Question, side: Side, load: LoadPoint) -> bool:
    others = [other for other in asked.sides if other is not side]
    found = [ratios(asked, side, other, "max_of_a_run")[load] for other in others]
    return all(each.p <= FALSE_ALARMS and (each.value or 2) < 1 for each in found)


_QUANTITIES = (
    *(("p50", "median"), ("p99", "99 %"), ("p99.9", "99.9 %"), ("max", "maximum")),
    ("max_of_a_run", "maximum of one run"),
)


def two_kernels(asked: Question) -> DrawnPlot:
    load = asked.load or _heaviest(asked)
    chart = Chart(
        name="two-kernels",
        title=f"Latency of two kernels under {load_words(load)}",
        caption=f"{how(asked)}; all CPUs together. {HISTOGRAM_CAPTION}",
        panels=(overlay_panel(asked, load),),
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=_ratio_sentences(asked, load),
        tables=(
            ratio_table(asked, _QUANTITIES, load=load),
            systems_table(asked),
            differences_table(asked),
        ),
        caveats=caveats(asked, (load,)),
    )


def _heaviest(asked: Question) -> LoadPoint:
    """The mixed load where it was measured, else the one with the latest wake-up of all."""
    mixed = [load for load in asked.loads if load.profile == "mixed" and load.percent]
    if mixed:
        return mixed[-1]
    return max(asked.loads, key=lambda load: _tops(asked, load)[0][0])


def _tops(asked: Question, load: LoadPoint) -> list[tuple[float, Side]]:
    found = [(_value(asked, side, load, "max"), side) for side in asked.sides]
    return sorted(found, key=lambda item: -item[0])


def _ratio_sentences(asked: Question, load: LoadPoint) -> tuple[str, ...]:
    (high, over), (low, under) = _tops(asked, load)
    if not low:
        return ("No wake-up was measured on one side: nothing can be compared.",)
    found = ratios(asked, over, under, "max_of_a_run")[load]
    values = {over.name: high, under.name: low}
    text = " and ".join(f"{time_text(values[s.name])} on {s.name}" for s in asked.sides)
    first = (
        f"The latest wake-up was {text}: {high / low:.3g} times as late on {over.name}. That is one"
        " sample of each: it has no interval, and grows with the time measured."
    )
    if found.low is None:
        return (first, f"How sure that is cannot be said: {found.why}.")
    return (
        first,
        f"The maximum of one run is {found.text} times as large on {over.name} (geometric"
        f" mean of {found.runs} pairs of runs, 95 %, between these two sessions)"
        + ("." if found.differs else ": the two may as well be equal."),
        SESSIONS,
    )


_HALF = LoadPoint("cpu", 50)


def per_cpu(asked: Question) -> DrawnPlot:
    load = asked.load or _nearest(asked)
    shown = [(side, cell) for side in asked.sides if (cell := side.cell(load, asked.engine))]
    chart = Chart(
        name="per-cpu",
        title=f"Latency of every CPU under {load_words(load)}",
        caption=f"{how(asked)}. {HISTOGRAM_CAPTION}",
        panels=cpu_panels(asked, load),
    )
    note = (
        ()
        if asked.load is not None or load == _HALF
        else (f"cpu 50 % was not measured on every side: this is {load_words(load)}.",)
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=tuple(_cpu_sentence(side, cell) for side, cell in shown),
        tables=(_by_cpu(shown), systems_table(asked)),
        caveats=(*note, *caveats(asked, (load,))),
    )


def _nearest(asked: Question) -> LoadPoint:
    """Half the CPUs' time, or the CPU load nearest to it; of no CPU load at all, the first."""
    loads = [load for load in asked.loads if load.profile == "cpu"] or list(asked.loads)
    return min(loads, key=lambda load: abs(load.percent - _HALF.percent))


def _cpu_sentence(side: Side, cell: CellSummary) -> str:
    means = [(row.honest["mean"].value_ns or 0.0, row.cpu) for row in cell.cpus]
    low, high = min(means), max(means)
    said = (
        f"{side.name}: the latest wake-up, {time_text(cell.whole.honest['max'].value_ns)}, was on"
        f" CPU {cell.whole.max_cpu}."
    )
    if len(means) < 2:
        return said
    return (
        f"{said} The means lie between {time_text(low[0])} (CPU {low[1]}) and"
        f" {time_text(high[0])} (CPU {high[1]}). {_differing(cell)}"
    )


def _differing(cell: CellSummary) -> str:
    """Which CPUs differ in their means over the same runs: paired t tests, corrected for the
    number of pairs (Bonferroni)."""
    runs = {row.cpu: row.honest["mean"].runs_ns for row in cell.cpus}
    pairs = list(combinations(runs, 2))
    if any(None in each for each in runs.values()) or min(map(len, runs.values())) < 3:
        return "Whether they differ, fewer than three runs do not say."
    found = []
    for one, other in pairs:
        apart = np.log(np.array(runs[one], float)) - np.log(np.array(runs[other], float))
        if stats.ttest_1samp(apart, 0.0).pvalue < FALSE_ALARMS / len(pairs):
            later, earlier = (one, other) if apart.mean() > 0 else (other, one)
            found.append(f"CPU {later} than CPU {earlier}")
    together = f"({FALSE_ALARMS:.0%} for all {len(pairs)} pairs together)".replace("%", " %")
    if not found:
        return f"No two differ by more than chance {together}."
    more = f" and {len(found) - 3} pairs more" if len(found) > 3 else ""
    return f"Later on average: {', '.join(found[:3])}{more} {together}."


def _by_cpu(shown: list[tuple[Side, CellSummary]]) -> SidesTable:
    rows = [
        (
            side.name,
            f"CPU {row.cpu}",
            f"{row.cycles:,}",
            *(interval_text(row.honest[name]) for name in ("mean", "p99", "p99.9")),
            time_text(row.honest["max"].value_ns),
            interval_text(row.honest["max_of_a_run"]),
        )
        for side, cell in shown
        for row in cell.cpus
    ]
    columns = (
        *("system", "CPU", "wake-ups", "mean [95 %]", "99 % [95 %]", "99.9 % [95 %]"),
        *("maximum", "of one run [95 %]"),
    )
    return SidesTable(title="By CPU", columns=columns, rows=tuple(rows))
