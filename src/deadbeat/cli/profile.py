"""``deadbeat profile``: how tasks slow each other down; what it shares with ``stress``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from deadbeat.cli._measuring import RETRY_FAILED, Layer, measuring, put
from deadbeat.cli._options import CALIBRATION, MACHINE, opt
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.specification import options_of

QUICK = "Under three minutes: preset quick."
#: What is no part of a campaign's specification.
OWN = (
    opt("--worst K", "Jobs whose cause is named.  [20]", type=click.IntRange(1, 1000), default=20),
    CALIBRATION,
    opt(
        "--programs-from RUN",
        "Run the programs of campaign RUN unchanged: on another kernel, say.",
    ),
    RETRY_FAILED,
)


def name_precision(layer: Layer) -> None:
    """What is wrong with any key of a precision is wrong with the precision."""
    if any(path.startswith("precision.") for path in layer[1]):
        layer[1].setdefault("precision.target", "--precision")


def _both_axes(layer: Layer, options: Mapping[str, object]) -> None:
    values, names = layer
    for axis in ("grid.sync_share", "grid.contended_ratio") if options["step"] is not None else ():
        if axis not in names:
            put(values, axis, {"step": options["step"]})
            names[axis] = names[f"{axis}.step"] = "--step"
    name_precision(layer)


command = measuring(
    "profile",
    "campaign",
    options_of(CampaignSpec, without=("stress",), first="grid"),
    """Profile this machine: how delay and misses grow with cores, SY share and contention.

    Campaigns live in RUNS/NAME. The same command continues a campaign that was interrupted or
    lost a run, and begins a new one (NAME-2, NAME-3, ...) once all are finished; --fresh begins a
    new one at once. Nothing is ever overwritten. Runs that failed are kept and named:
    --retry-failed.

    Keys of a campaign file are the options' long forms in sections: see examples/.""",
    quick=QUICK,
    presets="default, quick or paper.",
    own=(opt("--step X", "Step of both axes of the grid: 0.1."), *OWN),
    machine=MACHINE,
    adjust=_both_axes,
)
