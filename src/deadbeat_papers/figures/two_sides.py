"""Two systems against load: hardened and not, a minimal system and one with many services."""

from __future__ import annotations

from functools import partial

from deadbeat import (
    Chart,
    DrawnPlot,
    PlotPreset,
    Question,
    SidesTable,
    caveats,
    how,
    seconds_text,
    sides_panel,
    systems_table,
)
from deadbeat_papers.figures.beside import (
    NOT_RECORDED,
    SAVOIR_FAIRE,
    differences_table,
    effect_sentences,
    hardening_caveats,
    hardening_table,
    ratio_table,
)

#: The source measured each load for six hours, after one hour had left an outlier.
_LONG_H = 6.0
_MAXIMA = (("max", "Maximum"), ("max_of_a_run", "Maximum of one run"))


def _draw(
    asked: Question, *, name: str, title: str, caption: str, third: str = "", services: bool = False
) -> DrawnPlot:
    """Panels, ratios and what else differs.

    Args:
        third: What the mean is called, where it is shown beside the maxima.
        services: Of inventories, not of hardening.
    """
    quantities = (*_MAXIMA, *((("mean", third),) if third else ()))
    chart = Chart(
        name=name,
        title=title,
        caption=f"{how(asked)}; all CPUs together. {caption}",
        panels=tuple(sides_panel(asked, quantity, words) for quantity, words in quantities),
    )
    beside = (inventory_table(asked),) if services else ()
    lower = [(quantity, words.lower()) for quantity, words in quantities]
    doubts = _without_inventory(asked) if services else hardening_caveats(asked)
    return DrawnPlot(
        charts=(chart,),
        sentences=effect_sentences(asked, quantities[1:]),
        tables=(
            *beside,
            ratio_table(asked, lower),
            *(() if services else (hardening_table(asked),)),
            systems_table(asked),
            differences_table(asked),
        ),
        caveats=(*(_short(asked) if name == "hardening-average" else ()), *doubts, *caveats(asked)),
    )


def _short(asked: Question) -> tuple[str, ...]:
    hours = [cell.whole.hours for side in asked.sides for cell in asked.cells(side)]
    if min(hours) >= _LONG_H:
        return ()
    return (
        f"Measured for {seconds_text(3600 * min(hours))} under a load; the source of this figure"
        f" took {_LONG_H:g} h: deadbeat latency --duration 6h.",
    )


def _without_inventory(asked: Question) -> tuple[str, ...]:
    without = [side.name for side in asked.sides if not side.inventory]
    if not without:
        return ()
    return (
        f"No inventory of {' and '.join(without)}: run deadbeat doctor --json on that system, and"
        " give the file with --inventory or keep it as doctor.json in the folder of its results.",
    )


def inventory_table(asked: Question) -> SidesTable:
    """What either system consists of, line by line; what is known of neither is left out."""
    names = dict.fromkeys(name for side in asked.sides for name in side.inventory)
    return SidesTable(
        title="What the systems consist of",
        empty="Not recorded.",
        columns=("", *(side.name for side in asked.sides)),
        rows=tuple(
            (name, *(side.inventory.get(name, NOT_RECORDED) for side in asked.sides))
            for name in names
        ),
    )


PRESETS = (
    PlotPreset(
        name="hardening",
        title="Maximum latency with and without hardening",
        about="Maximum latency against load of one kernel without and with hardening options, and"
        " how many times as large it becomes, with the interval.",
        source=f"{SAVOIR_FAIRE} 4",
        takes="PLAIN HARDENED",
        most=2,
        draw=partial(
            _draw,
            name="hardening",
            title="Maximum latency with and without hardening",
            caption="Left: the latest wake-up of all, one sample: a point that sticks out there"
            " and not on the right is an outlier. Right: the maximum of one run, geometric mean"
            " over the runs; bars: 95 %.",
        ),
    ),
    PlotPreset(
        name="hardening-average",
        title="Maximum and average latency with and without hardening, over long runs",
        about="As hardening, with the average and the maximum. Meant for runs of hours; says so"
        " where they are shorter.",
        source=f"{SAVOIR_FAIRE} 5",
        takes="PLAIN HARDENED",
        most=2,
        draw=partial(
            _draw,
            name="hardening-average",
            title="Maximum and average latency with and without hardening",
            caption="Maximum: the latest wake-up of all, one sample. Bars of the other two: 95 %."
            " Each panel has its own scale.",
            third="Average",
        ),
    ),
    PlotPreset(
        name="bsp",
        title="A minimal system against one with many services, with their inventories",
        about="Maximum and mean latency of two systems against load, and a table of what either"
        " consists of: processes, services, packages, image size, boot time.",
        source=f"{SAVOIR_FAIRE} 3 and its table",
        takes="REFERENCE MINIMAL",
        most=2,
        draw=partial(
            _draw,
            name="bsp",
            title="Latency of two systems against load",
            caption="Maximum: the latest wake-up of all, one sample. Bars of the other two: 95 %.",
            third="Mean",
            services=True,
        ),
    ),
)
