"""How commands and options are declared. Imports nothing heavy: ``--help`` reads this."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import nearest, shown
from deadbeat.cli._help import Titled, row_of
from deadbeat.cli._runs import default_runs, use_runs

PATH = click.Path(path_type=Path)


def opt(names: str, text: str, *, to: str = "", **more: Any) -> click.Option:
    """An option.

    Args:
        names: It, and what stands for its value (``--out FILE``), of which ``a|b`` is a choice; a
            flag has none.
        text: What it means. ``to``: the parameter it fills, where that has another name.
        more: Of `click.Option`; a FILE or FOLDER is a path unless that has another type.
    """
    name, _, metavar = names.partition(" ")
    if metavar.startswith(("FILE", "FOLDER")):
        more = {"type": PATH, **more}
    elif "|" in metavar and "type" not in more:
        more["type"] = OneOf(*metavar.split("|"))
    more = {"metavar": metavar, **more} if metavar else {"is_flag": True, **more}
    made = _List if metavar == "LIST" and name in _ADDED else click.Option
    return made([name, to] if to else [name], help=text, **more)


#: Lists of names: given several times they are one; of numbers the last one counts.
_ADDED = ("--deadline", "--try", "--scale")


class _List(click.Option):
    """One of `_ADDED`."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        self.multiple = True
        super().add_to_parser(parser, ctx)
        self.multiple = False

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        return super().type_cast_value(ctx, ",".join(value) if isinstance(value, list) else value)


def arg(name: str, metavar: str, **more: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **more)


class OneOf(click.ParamType[str]):
    """One of several words and those that ``known`` finds; else the nearest right one is named."""

    name = "choice"

    def __init__(self, *words: str, known: Callable[[], Iterable[str]] = tuple) -> None:
        self.words, self.known = words, known

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> str:
        words = (*self.known(), *self.words)
        if value in words:
            return str(value)
        name = param.human_readable_name.strip("[].") if isinstance(param, click.Argument) else ""
        option = name or (param.opts[0] if param else "")
        raise UsageError(f"{option}: {shown(value)} is not a choice", nearest(value, words))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        words = (*self.known(), *self.words)
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def one_of(place: str, *given: str, more: tuple[str, ...] = ()) -> OneOf:
    """One of the words that ``module:name`` has or gives for ``given``."""

    def words() -> Iterable[str]:
        module, _, name = place.partition(":")
        found = getattr(import_module(f"deadbeat.{module}"), name)
        return cast(Iterable[str], found(*given) if callable(found) else found)

    return OneOf(*more, known=words)


class Ruled(click.ParamType[Any]):
    """A value by a rule of `deadbeat.base.model.rules`; its words say what is wrong with another.

    Args:
        rule: Its name, or that of its class; ``bounds``: what that is made with.
    """

    def __init__(self, rule: str, *bounds: int) -> None:
        self.name, self.rule, self.bounds = rule.lower(), rule, bounds

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        option = param.opts[0] if param else ""
        found = getattr(import_module("deadbeat.base.model.rules"), self.rule)
        rule = found(*self.bounds) if isinstance(found, type) else found
        return import_module("deadbeat.base.model.specification").parsed(
            rule.parse, value, {"": option}
        )


class CpuList(Ruled):
    """CPUs in ascending order."""

    def __init__(self) -> None:
        super().__init__("Cpus")

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> tuple[int, ...]:
        found = super().convert(value, param, ctx)
        if not found:
            option = param.opts[0] if param else ""
            raise UsageError(f"{option} names no CPU", "write it like 2-3")
        return tuple(sorted(found))


JSON = opt("--json", "Print JSON and nothing else on stdout.", to="as_json")
#: Options that say how an answer is shown, not what is asked.
HOW = ("as_json", "openmetrics", "junit", "annotations")
#: Of commands with a verdict.
CI = (
    opt("--junit FILE", "Write what passed and failed as JUnit XML."),
    opt("--annotations", "Print failures on stderr as GitHub annotations."),
)
RUNS = opt(
    "--runs FOLDER",
    "Folder of results; also DEADBEAT_RUNS.  [./runs]",
    default=default_runs,
    envvar="DEADBEAT_RUNS",
    callback=use_runs,
)
#: Drawing takes longer than all else after a run, and the page saves each of its figures. None:
#: those that are there are drawn again (`drawn`).
FIGURES = click.Option(
    ["--figures/--no-figures"],
    default=None,
    help="Write PNG, SVG and PDF, too (deadbeat page does it later).  [where drawn before]",
)


def run_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For a shell: results in the folder of campaigns, and folders anywhere. Names that a shell
    would read as more than a name are left out."""
    runs = Path(ctx.params.get("runs") or os.environ.get("DEADBEAT_RUNS") or default_runs())
    plain = re.compile(re.escape(incomplete) + r"[\w.+-]*", re.ASCII)
    try:
        names = sorted(path.name for path in runs.iterdir() if path.is_dir())
    except OSError:
        names = []
    found = [
        CompletionItem(name) for name in names if plain.fullmatch(name) and name[0] not in ".-"
    ]
    if incomplete and ctx.command.name == "show":
        found += one_of("cli.listing:names").shell_complete(ctx, _, incomplete)
    return [CompletionItem(incomplete, type="dir"), *found]


def words_typed(command: str) -> list[str]:
    """The command as it was typed."""
    return list(click.get_current_context().find_root().obj or command.split())


class Declared(Titled):
    """A command apart from what it does.

    Args:
        does: ``module:function`` below this package: called with the options, it returns a `Shown`,
            an exit status or nothing.
        words: The kind of an answer that says none; "": the command's name.
        several: Whether that takes a list of targets; else it is called for each.
    """

    def __init__(
        self, name: str, does: str, *, words: str = "", several: bool = False, **more: Any
    ) -> None:
        super().__init__(name, words=words, callback=self._do, **more)
        self.does, self.several = does, several

    def function(self) -> Callable[..., Any]:
        """What it does."""
        module, _, name = self.does.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
        return found

    def _do(self, *, assigned: Sequence[str] = (), **options: Any) -> int:
        options.update(self.assigned(click.get_current_context(), assigned))
        how = {name: options.pop(name) for name in HOW if name in options}
        function = self.function()
        if "," in (options.get("target") or "") and not self.several:
            each = import_module(f"{__package__}.each").on_each
            openmetrics = how.get("openmetrics", False)
            found = each(function, openmetrics=openmetrics, **options)
        else:
            found = function(**options)
        if found is None or isinstance(found, int):
            return int(found or 0)
        import_module(f"{__package__}._output").print_shown(found, command=self.words, **how)
        return int(found.status)


def text_of(name: str) -> str:
    """The help of a command; a line of ``\\b`` keeps the lines below it as they are."""
    return str(row_of(name)["text"]).replace("\\b\n", "\b\n")


def options_in(rows: object) -> Iterator[click.Parameter]:
    """Options and arguments of rows: what `opt` and `arg` take, by their names. In capitals: those
    that several commands share, of this module or of ``verbs/shared.toml``."""
    assert isinstance(rows, Mapping)
    for names, how in rows.items():
        if names.isupper():
            known = globals().get(names) or (*options_in(row_of("shared")[names]),)
            yield from known if isinstance(known, tuple) else (known,)
            continue
        more = {"text": how} if isinstance(how, str) else dict(how)
        if kind := more.get("type"):
            more["type"] = _type_of(kind, more.pop("more", ()))
        if complete := more.pop("complete", False):
            names_of = run_names if complete is True else one_of(complete).shell_complete
            more["shell_complete"] = names_of
        yield opt(names, **more) if names.startswith("--") else arg(names, **more)


#: Types by their words.
_TYPES: Mapping[str, Any] = {
    "int": int,
    "float": float,
    "path": PATH,
    "file": click.Path(path_type=Path, dir_okay=False),
    "cpus": CpuList(),
    "unprocessed": click.UNPROCESSED,
}


def _type_of(words: str | list[str], more: Sequence[str]) -> Any:
    """A type: its words, ``module:name`` that has or gives them, or a rule with its bounds."""
    if isinstance(words, list):
        return OneOf(*words)
    name, *given = words.split()
    if ":" in name:
        return one_of(name, *given, more=tuple(more))
    return _TYPES[name] if name in _TYPES else Ruled(name, *map(int, given))


_BUDGET = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(s|min|m|h)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def budget_seconds(text: str) -> float:
    """Seconds of ``90s``, ``30m`` (or ``30min``), ``2h``.
    Raises UsageError: anything else, or nothing at all."""
    match = _BUDGET.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(
            f"--time-budget: {shown(text)} is not a length of time", "write it like 30m or 2h"
        )
    return seconds


#: Words of a command that must not be repeated when what it did is to be continued or repeated.
_ONCE = ("--fresh", "--retry")


def to_repeat(words: Sequence[str], *more: str, retrying: bool = False) -> str:
    """The command as typed, to continue with; behind ``--`` stands another program's.

    Args:
        more: Options to add.
        retrying: With what it measures again: without, nothing may be lacking.
    """
    left_out = _ONCE[:1] if retrying else _ONCE
    end = words.index("--") if "--" in words else len(words)
    own = (word for word in words[:end] if word not in left_out)
    return shlex.join(["deadbeat", *own, *more, *words[end:]])


def with_options(words: Sequence[str], options: Sequence[str]) -> str:
    """The command as typed, not in haste, with ``options`` in place of those of the same names;
    without a name, which is that of a finished result now."""
    end = words.index("--") if "--" in words else len(words)
    own = [word for word in words[:end] if word != "--quick"]
    for name, value in pairwise(["--name", "", *options, "--"]):
        while name.startswith("--") and name in own:
            del own[(at := own.index(name)) : at + 1 + (not value.startswith("--"))]
        own = [word for word in own if not word.startswith(f"{name}=")]
    return to_repeat([*own, *words[end:]], *options)
