"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why.

The names below are the public interface; each is imported when first used, so that
``import deadbeat`` costs next to nothing.
"""

from __future__ import annotations

# That of typing, which takes long to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from deadbeat.cli.call import (
        ask,
        breakdown,
        compare,
        doctor,
        latency,
        load,
        profile,
        stress,
        study,
    )
    from deadbeat.compare.engine import FALSE_ALARMS, CompareOptions, compare_tables
    from deadbeat.kinds.latency.histograms import HISTOGRAM_CAPTION
    from deadbeat.kinds.latency.observe import WORDS as LATENCY_WORDS
    from deadbeat.kinds.latency.sides import (
        DrawnPlot,
        PlotPreset,
        Question,
        Side,
        SidesTable,
        caveats,
        cpu_panels,
        how,
        overlay_panel,
        sides_panel,
        systems_table,
    )
    from deadbeat.kinds.latency.words import interval_text, load_words
    from deadbeat.kinds.primitives.preset import PrimitivesPreset
    from deadbeat.kinds.primitives.results import PrimitiveCell, PrimitivesSummary
    from deadbeat.kinds.registry import open_folder as open
    from deadbeat.kinds.study.charts import curves as study_curves
    from deadbeat.kinds.study.charts import means_panel as study_means
    from deadbeat.kinds.study.charts import migrations as study_migrations
    from deadbeat.kinds.study.charts import resting as study_resting
    from deadbeat.kinds.study.charts import sets_text as study_sets
    from deadbeat.kinds.study.charts import shares_panel as study_shares
    from deadbeat.kinds.study.charts import word as study_word
    from deadbeat.kinds.study.preset import Preset
    from deadbeat.kinds.study.results import Mask, StudyResults
    from deadbeat.kinds.study.spec import Source, StudySpec, SweepCell
    from deadbeat.model.comparison import CellComparison, Comparison
    from deadbeat.model.conclusion import (
        UNDECIDED,
        Conclusion,
        Evidence,
        Judgement,
        LackingError,
        all_hold,
        judge,
    )
    from deadbeat.model.errors import UsageError
    from deadbeat.model.latency import LoadPoint
    from deadbeat.model.latency_summary import CellSummary
    from deadbeat.model.observations import Cell, Metric, Observation, Observations
    from deadbeat.model.platform import difference_row, differing_platforms
    from deadbeat.model.results import Summary
    from deadbeat.model.words import seconds_text, time_text
    from deadbeat.report.charts import Chart, Curve, Heat, HeatCell, Panel
    from deadbeat.sched import Scheduler
    from deadbeat.stats.intervals import Interval, ratio_interval
    from deadbeat.stats.proportions import Count, Mean
    from deadbeat.targets.marking import mark

    __version__: str

__all__ = [
    "FALSE_ALARMS",
    "HISTOGRAM_CAPTION",
    "LATENCY_WORDS",
    "UNDECIDED",
    "Cell",
    "CellComparison",
    "CellSummary",
    "Chart",
    "CompareOptions",
    "Comparison",
    "Conclusion",
    "Count",
    "Curve",
    "DrawnPlot",
    "Evidence",
    "Heat",
    "HeatCell",
    "Interval",
    "Judgement",
    "LackingError",
    "LoadPoint",
    "Mask",
    "Mean",
    "Metric",
    "Observation",
    "Observations",
    "Panel",
    "PlotPreset",
    "Preset",
    "PrimitiveCell",
    "PrimitivesPreset",
    "PrimitivesSummary",
    "Question",
    "Scheduler",
    "Side",
    "SidesTable",
    "Source",
    "StudyResults",
    "StudySpec",
    "Summary",
    "SweepCell",
    "UsageError",
    "__version__",
    "all_hold",
    "ask",
    "breakdown",
    "caveats",
    "compare",
    "compare_tables",
    "cpu_panels",
    "difference_row",
    "differing_platforms",
    "doctor",
    "how",
    "interfere",
    "interval_text",
    "judge",
    "latency",
    "load",
    "load_words",
    "mark",
    "open",
    "overlay_panel",
    "primitives",
    "profile",
    "ratio_interval",
    "seconds_text",
    "sides_panel",
    "stress",
    "study",
    "study_curves",
    "study_means",
    "study_migrations",
    "study_resting",
    "study_sets",
    "study_shares",
    "study_word",
    "systems_table",
    "time_text",
]  # fmt: skip

#: Module -> the names that it has; with a colon what a name is called there.
_PUBLIC = {
    "cli.call": (
        *("ask", "breakdown", "compare", "doctor", "latency", "load", "profile", "stress"),
        *("interfere", "primitives", "study"),
    ),
    "compare.engine": ("FALSE_ALARMS", "CompareOptions", "compare_tables"),
    "kinds.latency.words": ("interval_text", "load_words"),
    "kinds.latency.histograms": ("HISTOGRAM_CAPTION",),
    "kinds.latency.observe": ("LATENCY_WORDS:WORDS",),
    "kinds.latency.sides": (
        *("DrawnPlot", "PlotPreset", "Question", "Side", "SidesTable", "caveats", "cpu_panels"),
        *("how", "overlay_panel", "sides_panel", "systems_table"),
    ),
    "targets.marking": ("mark",),
    "model.latency": ("LoadPoint",),
    "model.latency_summary": ("CellSummary",),
    "model.observations": ("Cell", "Metric", "Observation", "Observations"),
    "model.platform": ("difference_row", "differing_platforms"),
    "report.charts": ("Chart", "Curve", "Heat", "HeatCell", "Panel"),
    "model.words": ("seconds_text", "time_text"),
    "kinds.registry": ("open:open_folder",),
    "kinds.primitives.preset": ("PrimitivesPreset",),
    "kinds.primitives.results": ("PrimitiveCell", "PrimitivesSummary"),
    "kinds.study.charts": (
        *("study_curves:curves", "study_means:means_panel", "study_migrations:migrations"),
        *("study_resting:resting", "study_sets:sets_text", "study_shares:shares_panel"),
        "study_word:word",
    ),
    "kinds.study.preset": ("Preset",),
    "kinds.study.results": ("Mask", "StudyResults"),
    "kinds.study.spec": ("Source", "StudySpec", "SweepCell"),
    "stats.intervals": ("Interval", "ratio_interval"),
    "stats.proportions": ("Count", "Mean"),
    "model.comparison": ("CellComparison", "Comparison"),
    "model.conclusion": (
        *("UNDECIDED", "Conclusion", "Evidence", "Judgement", "LackingError", "all_hold", "judge"),
    ),
    "model.errors": ("UsageError",),
    "model.results": ("Summary",),
    "sched": ("Scheduler",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("deadbeat")
    for module, held in _PUBLIC.items():
        for public, _, there in (each.partition(":") for each in held):
            if public == name:
                from importlib import import_module  # noqa: PLC0415

                return getattr(import_module(f"deadbeat.{module}"), there or name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
