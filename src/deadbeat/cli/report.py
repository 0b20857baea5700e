"""``deadbeat report``: everything derived from a campaign's runs, made again."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._breakdown import report_breakdown
from deadbeat.cli._latency_results import report_matrix
from deadbeat.cli._load_results import report_load
from deadbeat.cli._machine import open_campaign
from deadbeat.cli._options import figures_option, json_option, runs_option
from deadbeat.cli._output import print_json
from deadbeat.cli._results import answer_dict, finding_counts, write_results
from deadbeat.store.place import BREAKDOWN, LOAD_TEST, MATRIX


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@figures_option
@runs_option
@json_option
def command(run: str, *, figures: bool, runs: Path, as_json: bool) -> None:
    """Rebuild summary.csv, summary.json, report.html and the figures of a campaign.

    RUN is a path, or a name under the folder of campaigns; the latest by default. A campaign that
    is not finished gives the report of what there is. Of a latency matrix: latency.csv, report.html
    and the figures; of a load test or a search for the breakdown utilisation the same files as of
    a campaign.
    """
    matrix = MATRIX.find(runs, run)
    if matrix is not None:
        report_matrix(matrix, figures=figures, as_json=as_json)
        return
    load = LOAD_TEST.find(runs, run)
    if load is not None:
        report_load(load, figures=figures, as_json=as_json)
        return
    search = BREAKDOWN.find(runs, run)
    if search is not None:
        report_breakdown(search, figures=figures, as_json=as_json)
        return
    store = open_campaign(runs, run)
    summary, page = write_results(store, figures=figures)
    if as_json:
        print_json(answer_dict(summary, store.path))
        return
    click.echo(f"findings: {finding_counts(summary)}")
    click.echo(f"report: {page}")
