"""``deadbeat stress``: Mode 2, random task sets."""

from __future__ import annotations

from collections.abc import Mapping

from deadbeat.cli._measuring import Layer, measuring
from deadbeat.cli._options import MACHINE
from deadbeat.cli.profile import OWN, QUICK, name_precision
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.specification import options_of


def _mode(layer: Layer, options: Mapping[str, object]) -> None:
    layer[0]["mode"] = "stress"
    name_precision(layer)


command = measuring(
    "stress",
    "campaign",
    # What is said of all sets in a profile can be drawn for each set here.
    options_of(CampaignSpec, without=("cores", "grid", "loaded"), first="stress"),
    """Stress this machine with random task sets: how slowdown, delay and misses spread over them.

    VALUES are a fixed value (0.5), a list of which each task set picks one (0,0.5,1), random, or a
    range to draw from (random:0.2..0.8). The presets 2a and 2b are those of the paper's section
    4.1; its section 3.4 names them the other way round.

    Campaigns live in RUNS/NAME and are continued by the same command, as with deadbeat profile.""",
    quick=QUICK,
    presets="random (2b), fixed-cores (2a), paper (both) or quick.  [random]",
    own=OWN,
    machine=MACHINE,
    adjust=_mode,
)
