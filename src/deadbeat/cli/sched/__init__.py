"""``deadbeat sched``: the schedulability lab. A verb is a module beside this one."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click


class SchedVerbs(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{__name__}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=SchedVerbs,
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
