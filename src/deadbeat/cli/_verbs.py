"""Groups of commands, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import click

from deadbeat.cli._help import verbs_by_title
from deadbeat.cli._options import Declared, options_in, row_of, text_of

#: In place of what a command does: it is made by `deadbeat.cli.measuring`.
MEASURING = "measuring"


class Verbs(click.Group):
    """A group of commands, which are made when they are asked for.

    Args:
        verbs: Name -> ``module:function`` that does it (as of `Declared`), MEASURING or a group;
            and what lists say of it. The rest is in ``verbs/NAME.toml``; of another group than the
            first, in ``verbs/GROUP-NAME.toml``.
        kinds: Kinds of experiments; one that has a line for lists has a command made of its
            specification.
    """

    def __init__(
        self,
        name: str,
        verbs: Mapping[str, tuple[str | click.Group, str]],
        kinds: Mapping[str, tuple[str, str]] | None = None,
        **more: Any,
    ) -> None:
        text = text_of(name)
        super().__init__(name, invoke_without_command=True, callback=self._alone, help=text, **more)
        self._verbs, self._kinds = verbs, kinds or {}
        self._prefix = "" if name == "deadbeat" else f"{name}-"

    @property
    def verbs(self) -> dict[str, tuple[str | click.Group, str]]:
        """Every command: what does it, and what lists say of it."""
        made = {kind: (MEASURING, line) for kind, (_, line) in self._kinds.items() if line}
        return {**self._verbs, **made}

    def _alone(self, **options: Any) -> None:
        """What the group does without a command."""
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            if options.get("version"):
                ctx.invoke(cast(click.Command, self.get_command(ctx, "version")), as_json=False)
            else:
                click.echo(ctx.get_help())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        does, line = self.verbs.get(cmd_name, ("", ""))
        if isinstance(does, click.Command) or not does:
            return does or None
        if does == MEASURING:
            measuring = import_module("deadbeat.cli.measuring")
            return cast(click.Command, measuring.command(cmd_name))
        file = self._prefix + cmd_name
        row = row_of(file)
        told = cast(Sequence[str], row.get("told", ("JSON",)))
        params = [*options_in(row.get("options", {})), *options_in(dict.fromkeys(told))]
        several = bool(row.get("several"))
        return Declared(
            cmd_name, does, several=several, params=params, help=text_of(file), short_help=line
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: line for name, (_, line) in self.verbs.items()}
        for title, rows in verbs_by_title(lines):
            with formatter.section(title):
                formatter.write_dl(rows)
