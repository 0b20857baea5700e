"""The latency of every CPU at one load, over each other."""

from __future__ import annotations

from deadbeat import (
    HISTOGRAM_CAPTION,
    CellSummary,
    Chart,
    DrawnPlot,
    LoadPoint,
    PlotPreset,
    Question,
    Side,
    SidesTable,
    caveats,
    cpu_panels,
    how,
    interval_text,
    load_words,
    systems_table,
    time_text,
)
from deadbeat_papers.figures.beside import SAVOIR_FAIRE

_HALF = LoadPoint("cpu", 50)


def draw(asked: Question) -> DrawnPlot:
    """A panel for each side, all on one scale."""
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
        sentences=tuple(_sentence(side, cell) for side, cell in shown),
        tables=(_table(shown), systems_table(asked)),
        caveats=(*note, *caveats(asked, (load,))),
    )


def _nearest(asked: Question) -> LoadPoint:
    """Half the CPUs' time, or the CPU load nearest to it; of no CPU load at all, the first."""
    loads = [load for load in asked.loads if load.profile == "cpu"] or list(asked.loads)
    return min(loads, key=lambda load: abs(load.percent - _HALF.percent))


def _sentence(side: Side, cell: CellSummary) -> str:
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
        f" {time_text(high[0])} (CPU {high[1]})."
    )


def _table(shown: list[tuple[Side, CellSummary]]) -> SidesTable:
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


PRESETS = (
    PlotPreset(
        name="per-cpu",
        title="Latency histograms of every CPU at 50 % load, over each other",
        about="How often which latency was seen on each CPU, logarithmic; --load chooses another"
        " load.",
        source=f"{SAVOIR_FAIRE} 6",
        takes="RUN [RUN...]",
        draw=draw,
        least=1,
        most=4,
    ),
)
