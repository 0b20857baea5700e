"""``deadbeat show``: results in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._machine import find_any
from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_shown


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@runs_option
@json_option
def command(run: str, *, runs: Path, as_json: bool) -> None:
    """Show the points of a campaign or the cells of a latency matrix, and what makes them doubtful;
    of a load test its table, remedies and causes; of a search for the breakdown utilisation or a
    study its answer.

    RUN is a path, or a name under the folder of campaigns; the latest by default.
    """
    kind, path = find_any(runs, run)
    print_shown(kind.show(path), as_json=as_json)
