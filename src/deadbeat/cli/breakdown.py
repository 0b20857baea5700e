"""``deadbeat breakdown``: up to which utilisation task sets meet their deadlines."""

from __future__ import annotations

from typing import Any

import click

from deadbeat.cli._breakdown import run_breakdown
from deadbeat.cli._campaign import (
    MEASURING,
    NAMING,
    PLACING,
    RUNNING,
    TASKS,
)
from deadbeat.cli._options import (
    Values,
    calibration_option,
    experiment_options,
    machine_options,
    typed,
    value_options,
)

_AXES: Values = (
    ("--cores", "cores", "LIST", "Core counts M: 1,2,4 or 1..4 or all."),
    ("--sync-share", "grid.sync_share", "LIST", "Values of rho: 0,0.5,1 or step=0.1."),
    ("--contended-ratio", "grid.contended_ratio", "LIST", "Values of alpha, likewise."),
    ("--tasks-per-core", "breakdown.tasks_per_core", "LIST", "N/M: 2 or 1,2,4.  [2]"),
    (
        "--priorities",
        "breakdown.priorities",
        "LIST",
        "uniform, rate-monotonic, random.  [rate-monotonic]",
    ),
    ("--sets", "grid.replicas", "N", "Task sets of each combination.  [6 or 10]"),
)
_SEARCH: Values = (
    (
        "--miss-share",
        "breakdown.miss_share",
        "X",
        "A run meets its deadlines where at most this share of its jobs misses.  [0.01]",
    ),
    ("--low", "breakdown.low", "U", "Lowest utilisation that is considered.  [0.05]"),
    ("--high", "breakdown.high", "U", "Highest.  [1.1]"),
    ("--steps", "breakdown.steps", "N", "Halvings of what lies between.  [6 or 7]"),
)
#: T = D is what the search varies; a job that comes too late would not be judged like the others.
_NOT_HERE = ("--tasks-per-core", "--deadline-factor", "--priorities", "--overrun")
_COMMON = tuple(each for each in RUNNING + TASKS + MEASURING if each[0] not in _NOT_HERE)
_VALUES = NAMING + _AXES + _SEARCH + PLACING + _COMMON


@click.command()
@click.option("--quick", is_flag=True, help="Under five minutes: preset quick.")
@click.option("--preset", metavar="NAME", help="default or quick.")
@value_options(_VALUES)
@calibration_option
@machine_options
@experiment_options(budget=True)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Find the breakdown utilisation: up to which utilisation task sets meet their deadlines, over
    cores, rho, alpha, tasks per core and priority rule.

    Every task set is one program, whose T = D is shrunk between runs, by bisection, until it begins
    to miss. Beside it: what the schedulability lab predicts for the same sets from their calibrated
    C, and from C inflated by what their jobs really took.

    Searches live in RUNS/NAME; the same command continues one that was interrupted, or lost a run.
    """
    values, names = typed(_VALUES, options)
    layer: dict[str, Any] = {}
    for path, value in values.items():
        section, _, key = path.rpartition(".")
        (layer.setdefault(section, {}) if section else layer)[key] = value
    if options["preset"] is not None or options["quick"]:
        layer["preset"], names["preset"] = options["preset"] or "quick", "--preset"
    words = ctx.find_root().obj or ["breakdown"]
    return run_breakdown(options, layer=layer, names=names, words=words)
