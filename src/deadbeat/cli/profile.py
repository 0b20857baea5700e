"""``deadbeat profile``: the main job, from a question to a report."""

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

_GRID: Values = (
    ("--cores", "cores", "LIST", "Core counts M: 1,2,4 or 1..4 or all."),
    ("--sync-share", "grid.sync_share", "LIST", "Values of rho: 0,0.5,1 or step=0.1."),
    ("--contended-ratio", "grid.contended_ratio", "LIST", "Values of alpha, likewise."),
    ("--replicas", "grid.replicas", "N", "Task sets per point."),
)
_VALUES = NAMING + _GRID + PRECISION + PLACING + RUNNING + TASKS + MEASURING


@click.command()
@preset_options("default, quick or paper.")
@click.option("--step", metavar="X", help="Step of both axes of the grid: 0.1.")
@value_options(_VALUES)
@session_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Profile this machine: how delay and misses grow with cores, SY share and contention.

    Campaigns live in RUNS/NAME. The same command continues a campaign that was interrupted or
    lost a run, and begins a new one (NAME-2, NAME-3, ...) once all are finished; --fresh begins a
    new one at once. Nothing is ever overwritten. Runs that failed are kept and named:
    --retry-failed.

    Keys of a campaign file are the options' long forms in sections: see examples/.
    """
    layer = _layer(options)
    words = ctx.find_root().obj or ["profile"]
    return run_session(options, layer=layer.values, names=layer.names, words=words)


def _layer(options: dict[str, Any]) -> Layer:
    layer = Layer(options, _VALUES)
    if options["step"] is not None:
        for axis in ("sync_share", "contended_ratio"):
            if f"grid.{axis}" not in layer.names:
                layer.put(f"grid.{axis}", {"step": options["step"]}, "--step")
                layer.names[f"grid.{axis}.step"] = "--step"
    return layer
