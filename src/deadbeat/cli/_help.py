"""How help is laid out, by the tables of ``verbs/help.toml``.

Options that are not listed there stand under "Other"; verbs under "More".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import click

from deadbeat.model.words import Json


@cache
def row_of(name: str) -> Mapping[str, Json]:
    """What ``verbs/NAME.toml`` says of a command: ``text``, its help; ``options``; ``told``: those
    of HOW its answer can be told, of one that prints it itself none; ``several``: as `Declared`."""
    path = Path(__file__).with_name("verbs").joinpath(f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


#: Titles of the verbs; and of the options, with the rare ones behind a bar.
VERBS, OPTIONS = cast(tuple[dict[str, str], ...], (*row_of("help").values(),))

#: A command with no more options than this shows the rare ones, too.
FEW = 28

_ALL = "deadbeat.help_all"


#: Option -> its title, and whether it is a rare one.
PLACED = {
    f"--{name}": (title, part > 0)
    for title, names in OPTIONS.items()
    for part, listed in enumerate(names.split("|"))
    for name in listed.split()
}


def place(option: click.Parameter) -> tuple[str, bool]:
    """Title of ``option``, and whether help shows it only when all is asked for."""
    return PLACED.get(option.opts[-1], PLACED.get(option.opts[0], ("Other", False)))


class Titled(click.Command):
    """A command whose help has its options under titles and leaves out rare ones."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        if len(found) > FEW and any(place(each)[1] for each in found):
            everything = click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show this message with the rare options and exit.",
            )
            found = [*found[:-1], everything, found[-1]]
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*OPTIONS, "Other")}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        everything = ctx.meta.get(_ALL) or len(options) <= FEW
        order = {name: number for number, name in enumerate(PLACED)}
        for option in sorted(options, key=lambda each: order.get(each.opts[-1], len(order))):
            title, rare = place(option)
            record = option.get_help_record(ctx)
            if record is not None and (everything or not rare):
                rows[title].append(record)
        shown = {title: records for title, records in rows.items() if records}
        # A handful of options needs no titles.
        if sum(map(len, shown.values())) < 12:
            shown = {"Options": [each for records in shown.values() for each in records]}
        for title, records in shown.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _show_all(ctx: click.Context, option: click.Parameter, asked: Any) -> None:
    if asked:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def verbs_by_title(lines: Mapping[str, str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Verbs with what is said of them, under their titles; unknown ones are under the last.

    Those of a group, of which another has a name by chance, need none.
    """
    places = {verb: title for title, verbs in VERBS.items() for verb in verbs.split()}
    if 2 * sum(name in places for name in lines) < len(lines):
        yield "Commands", list(lines.items())
        return
    order = list(places)
    last = list(VERBS)[-1]
    for title in VERBS:
        here = [name for name in lines if places.get(name, last) == title]
        here.sort(key=lambda name: (name not in places, order.index(name) if name in places else 0))
        if here:
            yield title, [(name, lines[name]) for name in here]
