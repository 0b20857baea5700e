"""Maximum beside average latency of a hardened and a plain kernel, over long runs."""

from __future__ import annotations

from deadbeat.compare.presets import Preset
from deadbeat.compare.presets._platforms import (
    differences_table,
    hardening_caveats,
    hardening_table,
)
from deadbeat.compare.presets._ratios import effect_sentences, ratio_table
from deadbeat.compare.presets._sources import SAVOIR_FAIRE
from deadbeat.kinds.latency.sides import (
    Drawn,
    Question,
    caveats,
    how,
    sides_panel,
    systems_table,
)
from deadbeat.report.charts import Chart
from deadbeat.report.times import seconds_text

#: The source measured each load for six hours, after one hour had left an outlier.
_LONG_H = 6.0


def draw(asked: Question) -> Drawn:
    """Maxima of both, and beside them means, each on its own scale."""
    chart = Chart(
        name="hardening-average",
        title="Maximum and average latency with and without hardening",
        caption=f"{how(asked)}; all CPUs together. Maximum: the latest wake-up of all, one sample."
        " Bars of the other two: 95 %. Each panel has its own scale.",
        panels=(
            sides_panel(asked, "max", "Maximum"),
            sides_panel(asked, "max_of_a_run", "Maximum of one run"),
            sides_panel(asked, "mean", "Average"),
        ),
    )
    return Drawn(
        charts=(chart,),
        sentences=effect_sentences(
            asked, (("max_of_a_run", "Maximum of one run"), ("mean", "Average"))
        ),
        tables=(
            ratio_table(
                asked,
                (("max", "maximum"), ("max_of_a_run", "maximum of one run"), ("mean", "average")),
            ),
            hardening_table(asked),
            systems_table(asked),
            differences_table(asked),
        ),
        caveats=(*_short(asked), *hardening_caveats(asked), *caveats(asked)),
    )


def _short(asked: Question) -> tuple[str, ...]:
    hours = [cell.whole.hours for side in asked.sides for cell in asked.cells(side)]
    if min(hours) >= _LONG_H:
        return ()
    return (
        f"Measured for {seconds_text(3600 * min(hours))} beside a load; the source of this figure"
        f" took {_LONG_H:g} h: deadbeat latency --duration 6h.",
    )


PRESET = Preset(
    name="hardening-average",
    title="Maximum beside average latency with and without hardening, over long runs",
    about="As hardening, with the average beside the maximum. Meant for runs of hours; says so"
    " where they are shorter.",
    source=f"{SAVOIR_FAIRE} 5",
    takes="PLAIN HARDENED",
    draw=draw,
    most=2,
)
