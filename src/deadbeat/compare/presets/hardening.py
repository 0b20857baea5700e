"""Maximum latency of a hardened kernel and of the same one not hardened."""

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


def draw(asked: Question) -> Drawn:
    """Both maxima, and how many times as large the second's is."""
    chart = Chart(
        name="hardening",
        title="Maximum latency with and without hardening",
        caption=f"{how(asked)}; all CPUs together. Left: the latest wake-up of all, one sample: a"
        " point that sticks out there and not on the right is an outlier. Right: the maximum of"
        " one run, geometric mean over the runs; bars: 95 %.",
        panels=(
            sides_panel(asked, "max", "Maximum"),
            sides_panel(asked, "max_of_a_run", "Maximum of one run"),
        ),
    )
    return Drawn(
        charts=(chart,),
        sentences=effect_sentences(asked, (("max_of_a_run", "Maximum of one run"),)),
        tables=(
            ratio_table(asked, (("max", "maximum"), ("max_of_a_run", "maximum of one run"))),
            hardening_table(asked),
            systems_table(asked),
            differences_table(asked),
        ),
        caveats=(*hardening_caveats(asked), *caveats(asked)),
    )


PRESET = Preset(
    name="hardening",
    title="Maximum latency with and without hardening",
    about="Maximum latency against load of one kernel without and with hardening options, and how"
    " many times as large it becomes, with the interval.",
    source=f"{SAVOIR_FAIRE} 4",
    takes="PLAIN HARDENED",
    draw=draw,
    most=2,
)
