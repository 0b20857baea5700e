"""``deadbeat tune``: settings of the machine, and the way back."""

from __future__ import annotations

import click

from deadbeat.cli._verbs import TUNE, group_of


@click.group(
    cls=group_of(__name__, TUNE),
    invoke_without_command=True,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Change settings of this machine for real-time work, and put them back exactly.

    Start with: deadbeat tune apply realtime --dry-run
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
