"""``deadbeat profile``: the main job, from a question to a report."""

from __future__ import annotations

from typing import Any

import click

from deadbeat.cli._campaign import asked_of, preset_options, session_options
from deadbeat.cli._options import put, value_options
from deadbeat.cli._session import run_session
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.specification import options_of

_VALUES = options_of(CampaignSpec, without=("stress",), first="grid")


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
    layer, names = asked_of(options, _VALUES)
    if options["step"] is not None:
        for axis in ("grid.sync_share", "grid.contended_ratio"):
            if axis not in names:
                put(layer, axis, {"step": options["step"]})
                names[axis] = names[f"{axis}.step"] = "--step"
    words = ctx.find_root().obj or ["profile"]
    return run_session(options, layer=layer, names=names, words=words)
