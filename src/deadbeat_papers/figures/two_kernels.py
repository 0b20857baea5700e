"""Logarithmic histograms of two kernels over each other, and the ratio of their worst cases."""

from __future__ import annotations

from deadbeat import (
    HISTOGRAM_CAPTION,
    Chart,
    DrawnPlot,
    LoadPoint,
    PlotPreset,
    Question,
    Side,
    caveats,
    how,
    load_words,
    overlay_panel,
    systems_table,
    time_text,
)
from deadbeat_papers.figures.beside import SESSIONS, differences_table, ratio_table, ratios

_QUANTITIES = (
    *(("p50", "median"), ("p99", "99 %"), ("p99.9", "99.9 %"), ("max", "maximum")),
    ("max_of_a_run", "maximum of one run"),
)


def draw(asked: Question) -> DrawnPlot:
    """Both histograms as shares, the ratio of the maxima, and how sure it is."""
    load = asked.load or _heaviest(asked)
    chart = Chart(
        name="two-kernels",
        title=f"Latency of two kernels under {load_words(load)}",
        caption=f"{how(asked)}; all CPUs together. {HISTOGRAM_CAPTION}",
        panels=(overlay_panel(asked, load),),
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=_sentences(asked, load),
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

    def worst(load: LoadPoint) -> float:
        cells = [side.cell(load, asked.engine) for side in asked.sides]
        return max(c.whole.honest["max"].value_ns or 0 for c in cells if c is not None)

    return max(asked.loads, key=worst)


def _tops(asked: Question, load: LoadPoint) -> list[tuple[float, Side]]:
    """Maxima, the larger first."""
    found = []
    for side in asked.sides:
        cell = side.cell(load, asked.engine)
        value = cell.whole.honest["max"].value_ns if cell else None
        found.append((value or 0.0, side))
    return sorted(found, key=lambda item: -item[0])


def _sentences(asked: Question, load: LoadPoint) -> tuple[str, ...]:
    (high, over), (low, under) = _tops(asked, load)
    if not low:
        return ("No wake-up was measured on one side: nothing can be compared.",)
    found = ratios(asked, over, under, "max_of_a_run")[load]
    values = {over.name: high, under.name: low}
    told = " and ".join(f"{time_text(values[s.name])} on {s.name}" for s in asked.sides)
    first = (
        f"The latest wake-up was {told}: {high / low:.3g} times as late on {over.name}. That is one"
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


PRESETS = (
    PlotPreset(
        name="two-kernels",
        title="Latency histograms of two kernels and the ratio of their worst cases",
        about="How often which latency was seen on either kernel, logarithmic, as shares; the ratio"
        " of the maxima, which are one sample each, and that of the maxima of single runs, which"
        " has an interval.",
        source="Hedera Innovations, Real-Time Embedded Linux Study on ARM Cortex-A8",
        takes="KERNEL-A KERNEL-B",
        draw=draw,
        most=2,
    ),
)
