"""``deadbeat why``: the worst jobs of a campaign, and what each is put down to."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._machine import find_any
from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_shown
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.model.errors import UsageError


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@click.option(
    "--worst",
    type=click.IntRange(1, 1000),
    default=20,
    metavar="K",
    help="Number of jobs to show.  [20]",
)
@runs_option
@json_option
def command(run: str, *, worst: int, runs: Path, as_json: bool) -> None:
    """Say where the time of a campaign's worst jobs went, and who had it; of a latency matrix the
    same of its worst traced wake-ups.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign must
    have been run with --causes, or with --split: then there are no scheduling events, and no names.
    A matrix must have been measured with --trace or --keep-above. What took the time in a load test
    is part of deadbeat show.
    """
    kind, path = find_any(runs, run)
    if kind.why is None:
        find_campaign(runs, run)
        raise UsageError(f"{path.name} is a {kind.folder.noun}", f"deadbeat show {path.name}")
    print_shown(kind.why(path, worst), as_json=as_json)
