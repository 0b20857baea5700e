"""``deadbeat sched tests``: the schedulability tests, with what each declares of itself."""

from __future__ import annotations

import click
from attrs import asdict

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json, print_table
from deadbeat.sched.analysis import tests


@click.command()
@json_option
def command(*, as_json: bool) -> None:
    """List the schedulability tests, cheapest first: scheduler, deadlines, kind, reference."""
    if as_json:
        print_json({"tests": [asdict(facts) for facts in tests().values()]})
        return
    print_table(
        ["test", "scheduler", "kind", "deadlines", "model", "ties", "reference"],
        (
            [
                *(facts.name, facts.scheduler, facts.kind, facts.deadlines, facts.model),
                *(facts.ties, f"{facts.title}: {facts.reference}"),
            ]
            for facts in tests().values()
        ),
    )
