"""How help is laid out, by ``verbs/help.toml``; options that are keys now are refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any, cast

import click

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, nearest
from deadbeat.cli._gone import gone, options_of


@cache
def row_of(name: str) -> Mapping[str, Json]:
    """The file ``verbs/NAME.toml`` of a command: ``text``, its help; ``options``; ``shown``: those
    of HOW that its answer takes, none where it prints itself; ``several``: as `Declared`."""
    path = Path(__file__).with_name("verbs").joinpath(f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


_TABLES: Any = row_of("help")
#: Titles of the verbs.
VERBS: Mapping[str, str] = _TABLES["verbs"]
#: Options that most verbs have: help names them, ``deadbeat list options`` explains them.
COMMON: Sequence[str] = [f"--{name}" for name in _TABLES["common"].split()]
SET = "--set"
#: Marks a context in which options may be keys: keywords of Python.
KEYWORDS = "deadbeat.keywords"


class Titled(click.Command):
    """A command with the options that people need; the others are keys of a file and of --set."""

    def __init__(
        self, name: str, *, words: str = "", params: Sequence[click.Parameter], **more: Any
    ) -> None:
        self.words = words or name
        of = {self.words, "*"}
        keys = {word for each in of for word in _TABLES["keys"].get(each, "").split()}
        #: Options that are keys alone.
        self.keys = {each.opts[0] for each in params if each.opts[0].removeprefix("--") in keys}
        for each in params:
            if each.opts[0] in self.keys:
                cast(click.Option, each).hidden = True
        own = [each for each in params if isinstance(each, click.Option)]
        names = {each.opts[0] for each in own}
        #: Whether it takes --set.
        self.sets = "--fresh" in names or any(each.hidden for each in own)
        if self.sets:
            params = [*params, click.Option([SET, "assigned"], multiple=True, metavar="KEY=VALUE",
                help="Set any parameter (list: deadbeat list keys VERB).")]  # fmt: skip
        self.known = {each.opts[0]: each for each in own}
        #: Options of a specification: option, path, value and meaning.
        self.rows: Sequence[tuple[str, str, str, str]] = ()
        super().__init__(name, params=[*params], **more)

    def table(self) -> Iterator[tuple[str, str, str, str]]:
        """Every key: its path, the option that help shows for it, its value and meaning."""
        paths = {option: path for option, path, _, _ in reversed(self.rows)}
        for name, each in self.known.items():
            if name not in COMMON:
                shown = "" if each.hidden else name
                yield paths.get(name, name[2:]), shown, each.metavar or "", each.help or ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        of_old = options_of(self.words)
        for word in args[:end]:
            option = word.partition("=")[0]
            known = self.known.get(option)
            if known is None and option in of_old:
                raise gone(option, of_old[option])
            if known is not None and option in self.keys and KEYWORDS not in ctx.meta:
                value = "true" if known.is_flag else "VALUE"
                raise gone(option, f"{SET} {option[2:]}={value}")
        return super().parse_args(ctx, args)

    def assigned(self, ctx: click.Context, texts: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Parameters and values that --set gives.
        Raises UsageError: there is no such key, or its value cannot be accepted."""
        given: dict[str, list[str]] = {}
        for text in texts:
            key, value = assigned(text)
            name = f"--{key.replace('_', '-')}"
            if name not in self.known:
                known = sorted(name[2:] for name in self.known)
                raise UsageError(f"{SET} {key}: there is no such key", nearest(key, known))
            given.setdefault(name, []).append(value)
        for name, values in given.items():
            option = self.known[name]
            given_value: Any = values if option.multiple else values[-1]
            yield str(option.name), option.type_cast_value(ctx, given_value)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own, common, explained = [], [], []
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record and {*option.opts} & {*COMMON}:
                common.append(record[0].partition(" / ")[0].partition(", ")[2] or record[0])
                explained.append(record)
            elif record:
                own.append(record)
        if "--fresh" not in self.known:
            own, common = [*own, *explained], []
        with formatter.section("Options"):
            formatter.write_dl(own)
        if common:
            with formatter.section("As for every verb that measures (deadbeat list options)"):
                text = "  ".join(each.replace(" ", "\N{NO-BREAK SPACE}") for each in common)
                indent = " " * formatter.current_indent
                lines = wrap(text, formatter.width, initial_indent=indent, subsequent_indent=indent,
                    break_on_hyphens=False)  # fmt: skip
                formatter.write("\n".join(lines).replace("\N{NO-BREAK SPACE}", " ") + "\n")


def assigned(text: str) -> tuple[str, str]:
    """Key and value of ``KEY=VALUE``. Raises UsageError: it is not of that form."""
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(f"{SET} {text}: no KEY=VALUE", "deadbeat list keys VERB names them")
    return key.strip(), value.strip()


def verbs_by_title(lines: Mapping[str, str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Verbs with what lists say of them, under their titles; those of a group under one.

    A kind of another package stands with those that measure.
    """
    order = [(title, verbs.split()) for title, verbs in VERBS.items()]
    titled = {verb for _, verbs in order for verb in verbs}
    order[0][1].extend(verb for verb in lines if verb not in titled)
    if not set(lines) & {verb for _, verbs in order for verb in verbs[:1]}:
        yield "Commands", list(lines.items())
        return
    for title, verbs in order:
        yield title, [(verb, lines[verb]) for verb in verbs if verb in lines]
