"""``deadbeat stress``: Mode 2, random task sets."""

from __future__ import annotations

from typing import Any

import click

from deadbeat.cli._campaign import (
    MEASURING,
    NAMING,
    PLACING,
    PRECISION,
    RUNNING,
    TASKS,
    Layer,
    preset_options,
    session_options,
)
from deadbeat.cli._options import Values, value_options
from deadbeat.cli._session import run_session

_GROUPS: Values = (
    ("--cores", "stress.cores", "LIST", "M: 4,8 (a group each), random, random:2..8, or all."),
    ("--sets", "stress.sets", "N", "Task sets of each group."),
    (
        "--critical-cores",
        "stress.critical_cores",
        "LIST",
        "Critical tasks on the first k cores only, computation fills the rest; 0: not shielded."
        "  [0]",
    ),
    (
        "--fill-utilisation",
        "stress.fill_utilisation",
        "U",
        "How full computation makes a core that is not critical.  [0.9]",
    ),
    ("--sync-share", "stress.sync_share", "VALUES", "rho: 0.5, 0,0.5,1 or random:0.2..0.8."),
    ("--contended-ratio", "stress.contended_ratio", "VALUES", "alpha, likewise."),
)
#: What [tasks] says of all sets in a profile can be drawn for each set here.
_DRAWABLE = (
    *("--tasks-per-core", "--segments-max", "--wcet-min", "--wcet-max", "--distribution"),
    *("--classes-min", "--classes-max", "--priorities", "--utilisation"),
)
_DRAWN: Values = tuple(
    (option, path.replace("tasks.", "stress.", 1), "VALUES", text)
    for option, path, _, text in TASKS
    if option in _DRAWABLE
)
_COMMON: Values = tuple(row for row in TASKS if row[0] not in _DRAWABLE)
_VALUES = NAMING + _GROUPS + PRECISION + PLACING + RUNNING + _DRAWN + _COMMON + MEASURING
#: What is said of every group is said of the one that draws its core counts, too.
_ALSO = {"stress.sets": "stress.random_sets", "stress.per_core": "stress.random_per_core"}


@click.command()
@preset_options("random (2b), fixed-cores (2a), paper (both) or quick.  [random]")
@value_options(_VALUES)
@click.option("--per-task", is_flag=True, help="Draw rho and alpha for each task anew.")
@session_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Stress this machine with random task sets: how slowdown, delay and misses spread over them.

    VALUES are a fixed value (0.5), a list of which each task set picks one (0,0.5,1), random, or a
    range to draw from (random:0.2..0.8). The presets 2a and 2b are those of the paper's section
    4.1; its section 3.4 names them the other way round.

    Campaigns live in RUNS/NAME and are continued by the same command, as with deadbeat profile.
    """
    layer = _layer(options)
    words = ctx.find_root().obj or ["stress"]
    return run_session(options, layer=layer.values, names=layer.names, words=words)


def _layer(options: dict[str, Any]) -> Layer:
    layer = Layer(options, _VALUES)
    layer.values["mode"] = "stress"
    if options["per_task"]:
        layer.put("stress.per_task", True, "--per-task")
    for path, other in _ALSO.items():
        if path in layer.names:
            section, _, key = path.partition(".")
            layer.put(other, layer.values[section][key], layer.names[path])
    return layer
