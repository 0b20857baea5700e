"""Maximum latency of several kernels against load."""

from __future__ import annotations

import math

from deadbeat import (
    FALSE_ALARMS,
    Chart,
    DrawnPlot,
    LoadPoint,
    PlotPreset,
    Question,
    Side,
    SidesTable,
    caveats,
    how,
    interval_text,
    load_words,
    sides_panel,
    systems_table,
    time_text,
)
from deadbeat_papers.figures.beside import SAVOIR_FAIRE, SESSIONS, ratios


def draw(asked: Question) -> DrawnPlot:
    """The latest of all, and beside it what a single run shows, with its interval."""
    chart = Chart(
        name="preemption",
        title="Maximum latency by kernel and load",
        caption=f"{how(asked)}; all CPUs together. Left: the latest wake-up of all, one sample"
        " however long was measured. Right: the maximum of one run, geometric mean over the runs;"
        " bars: 95 %.",
        panels=(
            sides_panel(asked, "max", "Maximum"),
            sides_panel(asked, "max_of_a_run", "Maximum of one run"),
        ),
    )
    return DrawnPlot(
        charts=(chart,),
        sentences=_sentences(asked),
        tables=(_table(asked), systems_table(asked)),
        caveats=caveats(asked),
    )


def _table(asked: Question) -> SidesTable:
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


def _sentences(asked: Question) -> tuple[str, ...]:
    found = []
    best = {
        load: min(asked.sides, key=lambda side: _value(asked, side, load)) for load in asked.loads
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


def _value(asked: Question, side: Side, load: LoadPoint) -> float:
    cell = side.cell(load, asked.engine)
    value = cell.whole.honest["max_of_a_run"].value_ns if cell else None
    return math.inf if value is None else value


def _is_below_all(asked: Question, side: Side, load: LoadPoint) -> bool:
    """Whether it is shown to be below every other, for all loads together."""
    others = [other for other in asked.sides if other is not side]
    found = [ratios(asked, side, other, "max_of_a_run")[load] for other in others]
    return all(each.p <= FALSE_ALARMS and (each.value or 2) < 1 for each in found)


PRESETS = (
    PlotPreset(
        name="preemption",
        title="Maximum latency of several kernels against load",
        about="One curve for each kernel (preemption none, voluntary, full, real-time, hardened):"
        " the latest wake-up, and the maximum of one run with its interval.",
        source=f"{SAVOIR_FAIRE} 2",
        takes="KERNEL-A KERNEL-B [KERNEL-C...]",
        draw=draw,
    ),
)
