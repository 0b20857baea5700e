"""A minimal system against one with many services: latencies, and what either consists of."""

from __future__ import annotations

from deadbeat.compare.presets import Preset
from deadbeat.compare.presets._platforms import differences_table
from deadbeat.compare.presets._ratios import effect_sentences, ratio_table
from deadbeat.compare.presets._sources import SAVOIR_FAIRE
from deadbeat.kinds.latency.sides import (
    Drawn,
    Question,
    Table,
    caveats,
    how,
    sides_panel,
    systems_table,
)
from deadbeat.report.charts import Chart

_QUANTITIES = (("max", "maximum"), ("max_of_a_run", "maximum of one run"), ("mean", "mean"))
_NOT_RECORDED = "not recorded"


def draw(asked: Question) -> Drawn:
    """Maxima and means of both, and their inventories side by side."""
    chart = Chart(
        name="bsp",
        title="Latency of two systems against load",
        caption=f"{how(asked)}; all CPUs together. Maximum: the latest wake-up of all, one sample."
        " Bars of the other two: 95 %.",
        panels=(
            sides_panel(asked, "max", "Maximum"),
            sides_panel(asked, "max_of_a_run", "Maximum of one run"),
            sides_panel(asked, "mean", "Mean"),
        ),
    )
    without = [side.name for side in asked.sides if not side.inventory]
    missing = (
        f"No inventory of {' and '.join(without)}: run deadbeat doctor --json on that system, and"
        " give the file with --inventory or keep it as doctor.json in the folder of its results.",
    )
    return Drawn(
        charts=(chart,),
        sentences=effect_sentences(
            asked, (("max_of_a_run", "Maximum of one run"), ("mean", "Mean"))
        ),
        tables=(
            inventory_table(asked),
            ratio_table(asked, _QUANTITIES),
            systems_table(asked),
            differences_table(asked),
        ),
        caveats=(*(missing if without else ()), *caveats(asked)),
    )


def inventory_table(asked: Question) -> Table:
    """What either system consists of, line by line; what is known of neither is left out."""
    names = dict.fromkeys(name for side in asked.sides for name in side.inventory)
    return Table(
        title="What the systems consist of",
        empty="Not recorded.",
        columns=("", *(side.name for side in asked.sides)),
        rows=tuple(
            (name, *(side.inventory.get(name, _NOT_RECORDED) for side in asked.sides))
            for name in names
        ),
    )


PRESET = Preset(
    name="bsp",
    title="A minimal system against one with many services, with their inventories",
    about="Maximum and mean latency of two systems against load, and a table of what either"
    " consists of: processes, services, packages, image size, boot time.",
    source=f"{SAVOIR_FAIRE} 3 and its table",
    takes="REFERENCE MINIMAL",
    draw=draw,
    most=2,
)
