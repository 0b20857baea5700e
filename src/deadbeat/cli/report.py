"""``deadbeat report``: everything derived from the runs of a result, made again."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._machine import find_any
from deadbeat.cli._options import figures_option, json_option, runs_option
from deadbeat.cli._output import print_shown


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@figures_option
@runs_option
@json_option
def command(run: str, *, figures: bool, runs: Path, as_json: bool) -> None:
    """Rebuild summary.csv, summary.json, report.html and the figures of a campaign.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign that
    is not finished gives the report of what there is. Of a latency matrix: latency.csv, report.html
    and the figures; of a load test, a search for the breakdown utilisation or a study the same
    files as of a campaign.
    """
    kind, path = find_any(runs, run)
    print_shown(kind.report(path, figures), as_json=as_json)
