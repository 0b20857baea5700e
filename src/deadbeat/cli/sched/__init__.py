"""``deadbeat sched``: the schedulability lab."""

from __future__ import annotations

import click

from deadbeat.cli._verbs import SCHED, group_of


@click.group(
    cls=group_of(__name__, SCHED),
    invoke_without_command=True,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Simulate and analyse schedulability; studies of random task systems.

    Start with: deadbeat sched simulate examples/sched/dhall.json
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
