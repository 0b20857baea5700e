"""``deadbeat tune``: settings of the machine, and the way back. A verb is a module beside this."""

from __future__ import annotations

import sys

import click

from deadbeat.cli._verbs import verbs_of


@click.group(
    cls=verbs_of(sys.modules[__name__]),
    invoke_without_command=True,
    short_help="Change settings of this machine for real-time work, and put them back exactly.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Change settings of this machine for real-time work, and put them back exactly.

    Start with: deadbeat tune apply realtime --dry-run
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
