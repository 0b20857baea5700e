"""``deadbeat sched policies``: the scheduling policies, with what each declares of itself."""

from __future__ import annotations

import click
from attrs import asdict

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json, print_table
from deadbeat.sched.simulator import option_words, policies, tie_rules


@click.command()
@json_option
def command(*, as_json: bool) -> None:
    """List the policies: reference, what they look at, what a simulation of them proves."""
    options = ("priorities", "partition", "order", "admission", "unplaced", "balance")
    words = {name: list(option_words(name)) for name in options}
    if as_json:
        entries = [asdict(facts) for facts in policies().values()]
        print_json({"policies": entries, "ties": list(tie_rules()), "options": words})
        return
    flags = {
        "memoryless": "memoryless",
        "predictable": "predictable",
        "clusters": "clusters",
        "partitions": "partitions",
        "fixed_priority": "fixed priority",
        "implicit_only": "D = T only",
    }
    print_table(
        ["policy", "title", "is", "reference"],
        (
            [
                facts.name,
                facts.title,
                ", ".join(text for name, text in flags.items() if getattr(facts, name)),
                facts.reference,
            ]
            for facts in policies().values()
        ),
    )
    click.echo(f"--ties: {', '.join(tie_rules())}, all")
    for name, choices in words.items():
        click.echo(f"--{name}: {', '.join(choices)}")
