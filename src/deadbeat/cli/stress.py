"""``deadbeat stress``: Mode 2, random task sets."""

from __future__ import annotations

from typing import Any

import click

from deadbeat.cli._campaign import asked_of, preset_options, session_options
from deadbeat.cli._options import value_options
from deadbeat.cli._session import run_session
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.specification import options_of

#: What is said of all sets in a profile can be drawn for each set here.
_VALUES = options_of(CampaignSpec, without=("cores", "grid", "loaded"), first="stress")


@click.command()
@preset_options("random (2b), fixed-cores (2a), paper (both) or quick.  [random]")
@value_options(_VALUES)
@session_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Stress this machine with random task sets: how slowdown, delay and misses spread over them.

    VALUES are a fixed value (0.5), a list of which each task set picks one (0,0.5,1), random, or a
    range to draw from (random:0.2..0.8). The presets 2a and 2b are those of the paper's section
    4.1; its section 3.4 names them the other way round.

    Campaigns live in RUNS/NAME and are continued by the same command, as with deadbeat profile.
    """
    layer, names = asked_of(options, _VALUES)
    words = ctx.find_root().obj or ["stress"]
    return run_session(options, layer={**layer, "mode": "stress"}, names=names, words=words)
