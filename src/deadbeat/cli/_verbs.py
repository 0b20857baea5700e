"""A group whose commands are the modules of a package: adding a verb touches no list."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

import click

#: Modules of a package of verbs that are no verb; so is every name that begins with ``_``.
_NO_VERBS = ("main",)


def verbs_of(package: ModuleType) -> type[click.Group]:
    """The class of a group over ``package``, whose modules each have a ``command``."""

    class Verbs(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            names = (module.name for module in pkgutil.iter_modules(package.__path__))
            return sorted(name for name in names if name not in _NO_VERBS and name[0] != "_")

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in self.list_commands(ctx):
                return None
            command = import_module(f"{package.__name__}.{cmd_name}").command
            assert isinstance(command, click.Command)
            return command

    return Verbs
