"""Two systems against load: hardened and not, a minimal system and one with many services."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat import (
    Chart,
    DrawnPlot,
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
    differences_table,
    effect_sentences,
    hardening_caveats,
    hardening_table,
    ratio_table,
)

#: The source measured each load for six hours, after one hour had left an outlier.
_LONG_H = 6.0
_MAXIMA = (("max", "Maximum"), ("max_of_a_run", "Maximum of one run"))


def draw(
    asked: Question, *, name: str, title: str, caption: str, third: str = "", services: bool = False
) -> DrawnPlot:
    """Panels, ratios and what else differs. ``third``: what the mean is called, where it is shown
    beside the maxima. ``services``: from inventories, not from hardening."""
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


def _short(asked: Question) -> Iterator[str]:
    hours = min(cell.whole.hours for side in asked.sides for cell in asked.cells(side))
    if hours < _LONG_H:
        yield (
            f"Measured for {seconds_text(3600 * hours)} under a load; the source of this figure"
            f" took {_LONG_H:g} h: deadbeat latency --duration 6h."
        )


def _without_inventory(asked: Question) -> Iterator[str]:
    if without := [side.name for side in asked.sides if not side.inventory]:
        yield (
            f"No inventory of {' and '.join(without)}: run deadbeat doctor --json on that system,"
            " and give the file with --inventory or keep it as doctor.json in the folder of its"
            " results."
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
