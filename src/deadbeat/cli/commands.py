"""Every command, as the files in ``verbs`` have it.

Nothing heavy is imported: ``deadbeat --help`` needs this module alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import click

from deadbeat.cli._help import row_of, verbs_by_title
from deadbeat.cli._options import Declared, opt, options_in, text_of
from deadbeat.kinds import KINDS


class Verbs(click.Group):
    """A group of commands, which are made when they are asked for.

    ``verbs/NAME.toml`` has its help, and in ``verbs`` for each command what does it
    (``module:function`` below this package; ``measuring``: its specification; ``group``: others)
    and what lists say of it. The rest is in the command's own file there; of another group than the
    first, in ``verbs/GROUP-NAME.toml``.

    Args:
        kinds: Kinds of experiments; one that has a line for lists has a command made of its
            specification.
    """

    def __init__(
        self, name: str, kinds: Mapping[str, tuple[str, str]] | None = None, **more: Any
    ) -> None:
        text = text_of(name)
        super().__init__(name, invoke_without_command=True, callback=self._alone, help=text, **more)
        self._kinds = kinds or {}
        self._prefix = "" if name == "deadbeat" else f"{name}-"

    @property
    def verbs(self) -> dict[str, tuple[str, str]]:
        """Every command: what does it, and what lists say of it."""
        made = {kind: ("measuring", line) for kind, (_, line) in self._kinds.items() if line}
        return {**cast(Any, row_of(str(self.name))["verbs"]), **made}

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
        if does == "group":
            return Verbs(cmd_name)
        if not does:
            return None
        if does == "measuring":
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


root = Verbs(
    "deadbeat",
    KINDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["-q", "--quiet"], is_flag=True, help="Print only the answer and errors, no progress."
        ),
        opt("--no-color", "Print without colours; NO_COLOR does the same."),
        opt("--debug", "Show the traceback of an unexpected error."),
        opt("--version", "Show the version."),
    ],
)
