"""The public names and where they come from; ``__init__.py`` imports each when first used."""

from deadbeat.base.kinds.registry import open_folder as open
from deadbeat.base.model.comparison import CellComparison, Comparison
from deadbeat.base.model.conclusion import (
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
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.model.platform import difference_row, differing_platforms
from deadbeat.base.model.rules import (
    Problem,
    ReadBy,
    RefusedError,
    Rule,
    Whole,
    bytes_of,
    refuse,
    size_word,
)
from deadbeat.base.model.specification import usage as usage_error
from deadbeat.base.model.words import nearest as nearest_word
from deadbeat.base.model.words import seconds_text, time_text
from deadbeat.base.model.words import shown as quoted
from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import Chart, Curve, Heat, HeatCell, Panel
from deadbeat.base.stats.intervals import Interval, ratio_interval
from deadbeat.base.stats.proportions import Count, Mean
from deadbeat.base.store.files import read_bytes as read_file
from deadbeat.base.verdicts.engine import FALSE_ALARMS, CompareOptions, compare_tables
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
from deadbeat.latencies.latency.model import LoadPoint
from deadbeat.latencies.latency.summary import CellSummary
from deadbeat.latencies.primitives.results import PrimitiveCell, PrimitivesSummary
from deadbeat.latencies.primitives.spec import PrimitivesPreset
from deadbeat.machine.targets.marks import mark
from deadbeat.sched import Scheduler
from deadbeat.sched.study.charts import curves as study_curves
from deadbeat.sched.study.charts import means_panel as study_means
from deadbeat.sched.study.charts import migrations as study_migrations
from deadbeat.sched.study.charts import region as study_region
from deadbeat.sched.study.charts import resting as study_resting
from deadbeat.sched.study.charts import sets_text as study_sets
from deadbeat.sched.study.charts import shares_panel as study_shares
from deadbeat.sched.study.charts import word as study_word
from deadbeat.sched.study.preset import Preset
from deadbeat.sched.study.results import Mask, StudyResults
from deadbeat.sched.study.spec import Source, StudySpec, SweepCell
from deadbeat.tasksets.model.figures import CellFigures, SetFigures
from deadbeat.tasksets.model.results import Summary

__version__: str
from deadbeat.base.model.errors import BuildError, RunError, TargetError
from deadbeat.base.model.platform import HOSTED_ON, Platform
from deadbeat.base.model.words import Json
from deadbeat.base.store.files import storing as storing_file
from deadbeat.build.native import (
    NO_TASK_SETS,
    cache_root,
    fragment_sources,
    headers_hash,
    index_source,
    native_root,
    text_source,
    verb_program,
)
from deadbeat.build.native import STANDARD as C_STANDARD
from deadbeat.build.native import WARNINGS as C_WARNINGS
from deadbeat.build.native import identity_of as compiler_identity
from deadbeat.build.native import kept as kept_in_cache
from deadbeat.build.native import key_of as cache_key
from deadbeat.build.native import made as made_by_compiler
from deadbeat.build.programs import usable_on as usable_cpus
from deadbeat.build.toolchain import STATIC as STATIC_LINKS
from deadbeat.build.toolchain import Toolchain
from deadbeat.build.toolchain import answer_of as program_answer
from deadbeat.lab.apt import Lab
from deadbeat.lab.boot import emulate as emulate_board
from deadbeat.lab.qemu import Qemu, find_qemu
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.catalog import lacking as lacking_in_port
from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.executors.base import (
    UNSCALED_PPM,
    Costing,
    Progress,
    RunOutcome,
    RunRequest,
    RunSettings,
    StartedForEach,
)
from deadbeat.tasksets.executors.base import unheard as no_progress
from deadbeat.tasksets.executors.calibration import VIRTUAL_MOST_S, calibration_of, read_samples
from deadbeat.tasksets.executors.calibration import runnable as runnable_fragments
from deadbeat.tasksets.executors.tables import plan_slots
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.prices.table import PriceBatch
from deadbeat.tasksets.prices.works import Pricing

__all__ = [
    "CONFIRMED",
    "C_STANDARD",
    "C_WARNINGS",
    "DEPENDS",
    "FALSE_ALARMS",
    "HOSTED_ON",
    "NOT_CONFIRMED",
    "NO_TASK_SETS",
    "STATIC_LINKS",
    "UNDECIDED",
    "UNSCALED_PPM",
    "VIRTUAL_MOST_S",
    "BuildError",
    "Calibration",
    "Catalog",
    "Cell",
    "CellComparison",
    "CellFigures",
    "CellSummary",
    "Chart",
    "CompareOptions",
    "Comparison",
    "Conclusion",
    "Costing",
    "Count",
    "Curve",
    "CurvePoint",
    "Evidence",
    "Heat",
    "HeatCell",
    "Interval",
    "Json",
    "Judgement",
    "Lab",
    "LackingError",
    "LoadPoint",
    "LocalTarget",
    "Mask",
    "Mean",
    "Metric",
    "Observation",
    "Observations",
    "Panel",
    "Platform",
    "Preset",
    "PriceBatch",
    "Pricing",
    "PrimitiveCell",
    "PrimitivesPreset",
    "PrimitivesSummary",
    "Problem",
    "Progress",
    "Qemu",
    "ReadBy",
    "RefusedError",
    "Rule",
    "RunError",
    "RunKey",
    "RunOutcome",
    "RunRequest",
    "RunSettings",
    "Scheduler",
    "SetFigures",
    "Source",
    "StartedForEach",
    "StudyResults",
    "StudySpec",
    "Summary",
    "SweepCell",
    "Target",
    "TargetError",
    "Toolchain",
    "UsageError",
    "Whole",
    "__version__",
    "all_hold",
    "ask",
    "breakdown",
    "bytes_of",
    "cache_key",
    "cache_root",
    "calibration_of",
    "compare",
    "compare_tables",
    "compiler_identity",
    "contention",
    "curve",
    "difference_row",
    "differing_platforms",
    "doctor",
    "emit_batch",
    "emulate_board",
    "environment_of",
    "find_qemu",
    "fragment_sources",
    "headers_hash",
    "index_source",
    "interfere",
    "judge",
    "kept_in_cache",
    "lacking_in_port",
    "latency",
    "load",
    "load_catalog",
    "made_by_compiler",
    "mark",
    "native_root",
    "nearest_word",
    "no_progress",
    "open",
    "plan_slots",
    "platform_from_environment",
    "primitives",
    "program_answer",
    "quoted",
    "ratio_interval",
    "read_file",
    "read_samples",
    "refuse",
    "runnable_fragments",
    "seconds_text",
    "size_word",
    "storing_file",
    "study",
    "study_curves",
    "study_means",
    "study_migrations",
    "study_region",
    "study_resting",
    "study_sets",
    "study_shares",
    "study_word",
    "text_source",
    "time_text",
    "usable_cpus",
    "usage_error",
    "verb_program",
]
