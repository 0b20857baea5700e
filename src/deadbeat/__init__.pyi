"""The public names and where they come from; ``__init__.py`` imports each when first used."""

from deadbeat.cli.call import (
    ask,
    breakdown,
    compare,
    contention,
    doctor,
    interfere,
    latency,
    load,
    primitives,
    study,
)
from deadbeat.kinds.primitives.results import PrimitiveCell, PrimitivesSummary
from deadbeat.kinds.primitives.spec import PrimitivesPreset
from deadbeat.kinds.registry import open_folder as open
from deadbeat.kinds.study.charts import curves as study_curves
from deadbeat.kinds.study.charts import means_panel as study_means
from deadbeat.kinds.study.charts import migrations as study_migrations
from deadbeat.kinds.study.charts import region as study_region
from deadbeat.kinds.study.charts import resting as study_resting
from deadbeat.kinds.study.charts import sets_text as study_sets
from deadbeat.kinds.study.charts import shares_panel as study_shares
from deadbeat.kinds.study.charts import word as study_word
from deadbeat.kinds.study.preset import Preset
from deadbeat.kinds.study.results import Mask, StudyResults
from deadbeat.kinds.study.spec import Source, StudySpec, SweepCell
from deadbeat.model.comparison import CellComparison, Comparison
from deadbeat.model.conclusion import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    UNDECIDED,
    Conclusion,
    Evidence,
    Judgement,
    LackingError,
    all_hold,
    judge,
)
from deadbeat.model.errors import UsageError
from deadbeat.model.figures import CellFigures, SetFigures
from deadbeat.model.latency import LoadPoint
from deadbeat.model.latency_summary import CellSummary
from deadbeat.model.observations import Cell, Metric, Observation, Observations
from deadbeat.model.platform import difference_row, differing_platforms
from deadbeat.model.results import Summary
from deadbeat.model.rules import (
    Problem,
    ReadBy,
    RefusedError,
    Rule,
    Whole,
    bytes_of,
    refuse,
    size_word,
)
from deadbeat.model.specification import usage as usage_error
from deadbeat.model.words import nearest as nearest_word
from deadbeat.model.words import seconds_text, time_text
from deadbeat.model.words import shown as quoted
from deadbeat.report.building import CurvePoint, curve
from deadbeat.report.charts import Chart, Curve, Heat, HeatCell, Panel
from deadbeat.sched import Scheduler
from deadbeat.stats.intervals import Interval, ratio_interval
from deadbeat.stats.proportions import Count, Mean
from deadbeat.store.files import read_bytes as read_file
from deadbeat.targets.marks import mark
from deadbeat.verdicts.engine import FALSE_ALARMS, CompareOptions, compare_tables

__version__: str

__all__ = [
    "CONFIRMED",
    "DEPENDS",
    "FALSE_ALARMS",
    "NOT_CONFIRMED",
    "UNDECIDED",
    "Cell",
    "CellComparison",
    "CellFigures",
    "CellSummary",
    "Chart",
    "CompareOptions",
    "Comparison",
    "Conclusion",
    "Count",
    "Curve",
    "CurvePoint",
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
    "Preset",
    "PrimitiveCell",
    "PrimitivesPreset",
    "PrimitivesSummary",
    "Problem",
    "ReadBy",
    "RefusedError",
    "Rule",
    "Scheduler",
    "SetFigures",
    "Source",
    "StudyResults",
    "StudySpec",
    "Summary",
    "SweepCell",
    "UsageError",
    "Whole",
    "__version__",
    "all_hold",
    "ask",
    "breakdown",
    "bytes_of",
    "compare",
    "compare_tables",
    "contention",
    "curve",
    "difference_row",
    "differing_platforms",
    "doctor",
    "interfere",
    "judge",
    "latency",
    "load",
    "mark",
    "nearest_word",
    "open",
    "primitives",
    "quoted",
    "ratio_interval",
    "read_file",
    "refuse",
    "seconds_text",
    "size_word",
    "study",
    "study_curves",
    "study_means",
    "study_migrations",
    "study_region",
    "study_resting",
    "study_sets",
    "study_shares",
    "study_word",
    "time_text",
    "usage_error",
]
