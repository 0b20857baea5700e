"""``deadbeat sched``: the schedulability lab. A verb is a module beside this one."""

from __future__ import annotations

import sys

import click

from deadbeat.cli._verbs import verbs_of


@click.group(
    cls=verbs_of(sys.modules[__name__]),
    invoke_without_command=True,
    short_help="Simulate and analyse schedulability; studies of random task systems.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Simulate and analyse schedulability; studies of random task systems.

    Start with: deadbeat sched simulate examples/sched/dhall.json
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
