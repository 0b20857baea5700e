"""``deadbeat show``: a campaign's points in the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli._breakdown import show_breakdown
from deadbeat.cli._latency_results import show_matrix
from deadbeat.cli._load_results import show_load
from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_json
from deadbeat.cli._results import answer_dict, finding_counts
from deadbeat.kinds.contention.document import campaign_document
from deadbeat.kinds.contention.place import find_campaign, state_of
from deadbeat.kinds.contention.view import open_campaign as open_view
from deadbeat.report.terminal import print_document, print_findings
from deadbeat.store.place import BREAKDOWN, LOAD_TEST, MATRIX


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@runs_option
@json_option
def command(run: str, *, runs: Path, as_json: bool) -> None:
    """Show the points of a campaign or the cells of a latency matrix, and what makes them doubtful;
    of a load test its table, remedies and causes; of a search for the breakdown utilisation its
    answer.

    RUN is a path, or a name under the folder of campaigns; the latest by default.
    """
    matrix = MATRIX.find(runs, run)
    if matrix is not None:
        show_matrix(matrix, as_json=as_json)
        return
    load = LOAD_TEST.find(runs, run)
    if load is not None:
        show_load(load, as_json=as_json)
        return
    search = BREAKDOWN.find(runs, run)
    if search is not None:
        show_breakdown(search, as_json=as_json)
        return
    path = find_campaign(runs, run)
    summary = open_view(path).summary
    if as_json:
        print_json(answer_dict(summary, path))
        return
    print_document(campaign_document(summary))
    print_findings(summary.findings)
    state = state_of(path)
    click.echo(
        f"{state.state}: {state.done} of {state.planned} runs, {state.failed} failed;"
        f" findings: {finding_counts(summary)}"
    )
