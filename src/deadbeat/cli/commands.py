"""Every command, as the files in ``verbs`` have it.

Nothing heavy is imported: ``deadbeat --help`` needs this module alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import click

from deadbeat.base.kinds import KINDS
from deadbeat.cli._gone import COMMANDS, gone
from deadbeat.cli._help import row_of, verbs_by_title
from deadbeat.cli._options import JSON, Declared, opt, options_in, text_of


class Verbs(click.Group):
    """A group of commands, which are made when they are asked for.

    ``verbs/NAME.toml`` has its help, and in ``verbs`` for each command what does it
    (``module:function`` below this package; ``measuring``: its specification; ``group``: others)
    and what lists say of it; "": it is none to type. ``modes`` has the commands
    that a word, an option or the value of ``--as`` makes of another. The rest is in the command's
    own file there; of another group than the first, in ``verbs/GROUP-NAME.toml``.

    Args:
        kinds: Kinds of experiments; one that has a line for lists has a command made of its
            specification.
    """

    def __init__(
        self, name: str, kinds: Mapping[str, tuple[str, str, str]] | None = None, **more: Any
    ) -> None:
        text = text_of(name)
        super().__init__(name, invoke_without_command=True, callback=self._alone, help=text, **more)
        self._kinds = kinds or {}
        self._prefix = "" if name == "deadbeat" else f"{name}-"

    @property
    def verbs(self) -> dict[str, tuple[str, str]]:
        """Every command: what does it, or the name of another that does, and what lists say of
        it."""
        made = {kind: ("measuring", line) for kind, (_, _, line) in self._kinds.items() if line}
        return {**cast(Any, row_of(str(self.name))["verbs"]), **made}

    def _alone(self, **options: Any) -> None:
        """What the group does without a command."""
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            if options.get("version"):
                from importlib.metadata import version  # noqa: PLC0415  help needs it not

                click.echo(f"deadbeat {version('deadbeat')}")
            else:
                click.echo(ctx.get_help())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for name, (_, line) in self.verbs.items() if line)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or the one that a mode makes of it. Raises UsageError: it is gone."""
        for typed in (args[:1], args[:2]):
            words = " ".join((self._prefix.removesuffix("-"), *typed)).strip()
            if words in COMMANDS:
                raise gone(f"deadbeat {words}", COMMANDS[words])
        if args and not self.verbs.get(args[0], ("", "typed"))[1]:
            ctx.fail("it is none to type")  # said as of a word that is no command
        name, command, rest = super().resolve_command(ctx, args)
        modes = cast(Mapping[str, Mapping[str, str]], row_of(str(self.name)).get("modes", {}))
        for mode, other in modes.get(str(name), {}).items():
            if (found := _without(mode, rest)) is not None:
                return f"{name} {mode}", self._of_words(ctx, other, mode), found
        return name, command, rest

    def _of_words(self, ctx: click.Context, words: str, mode: str) -> click.Command | None:
        """The command of ``words``, or of ``module:function``, which has no name of its own."""
        if ":" in words:
            return Declared(f"list {mode}", words, params=[JSON], help=f"List the {mode}.")
        found: click.Command | None = self
        for word in words.split():
            found = found.get_command(ctx, word) if isinstance(found, click.Group) else None
        return found

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        does, line = self.verbs.get(cmd_name, ("", ""))
        if does == "group":
            return Verbs(cmd_name)
        if does in self.verbs:
            return self.get_command(ctx, does)
        if not does:
            return None
        if does == "measuring":
            measuring = import_module("deadbeat.cli.measuring")
            return cast(click.Command, measuring.command(cmd_name))
        file = self._prefix + cmd_name
        row = row_of(file)
        shown = cast(Sequence[str], row.get("shown", ("JSON",)))
        params = [*options_in(row.get("options", {})), *options_in(dict.fromkeys(shown))]
        several = bool(row.get("several"))
        return Declared(
            cmd_name,
            does,
            words=file.replace("-", " ", 1 if self._prefix else 0),
            several=several,
            params=params,
            help=text_of(file),
            short_help=line,
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: self.verbs[name][1] for name in self.list_commands(ctx)}
        for title, rows in verbs_by_title(lines):
            with formatter.section(title):
                formatter.write_dl(rows)


def _without(mode: str, words: list[str]) -> list[str] | None:
    """``words`` without ``mode``, of an option that takes a value with that first; None: it is not
    among them."""
    own = words[: words.index("--")] if "--" in words else words
    if not mode.startswith("--"):  # the first word that is no option
        place = next((n for n, word in enumerate(own) if not word.startswith("-")), len(words))
        found = own[place:][:1] == [mode]
        return [*words[:place], *words[place + 1 :]] if found else None
    option, takes, _ = mode.partition(" ")
    for place, word in enumerate(own):
        name, equals, value = word.partition("=")
        if name != option:
            continue
        if not takes:
            return [*words[:place], *words[place + 1 :]]
        if equals:
            return [value, *words[:place], *words[place + 1 :]]
        return [*words[place + 1 : place + 2], *words[:place], *words[place + 2 :]]
    return None


#: What ``deadbeat list`` knows.
LISTS = tuple(
    word for word in cast(Any, row_of("deadbeat"))["modes"]["list"] if not word.startswith("-")
)
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
