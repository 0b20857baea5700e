"""``deadbeat plot``: latency matrices of several kernels or machines in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._plot import list_presets, plot


@click.command()
@click.argument("preset", default="", metavar="[PRESET]")
@click.argument("results", nargs=-1, metavar="[RUN...]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where page and pictures go.  [plot-PRESET in the folder of results]",
)
@click.option("--names", metavar="A,B", help="What the results are called.  [their folders]")
@click.option("--load", metavar="LOAD", help="Of one load: idle, 50, cpu:75, memory.  [PRESET's]")
@click.option("--engine", metavar="NAME", help="Whose measurements.  [prober, else what all have]")
@click.option(
    "--inventory",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What deadbeat doctor --json said of each system, in the order of the results.  "
    "[doctor.json in their folders]",
)
@click.option(
    "--format", "formats", default="png,svg,pdf", show_default=True, metavar="LIST",
    help="Of the pictures; none: the page alone.",
)  # fmt: skip
@runs_option
@json_option
def command(**options: Any) -> None:
    """Draw latency results of several kernels or machines by a preset.

    RUN is a folder that deadbeat latency wrote, or its name under the folder of results. Without
    PRESET: lists the presets, what each takes and what it shows.
    """
    if options["preset"]:
        plot(options)
    else:
        list_presets(as_json=options["as_json"])
