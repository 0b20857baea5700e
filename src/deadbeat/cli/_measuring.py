"""Commands that measure: their options come from the fields of a kind's specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Any

import click

from deadbeat.cli._options import FIGURES, JSON, PATH, RUNS, SIMULATED, OneOf, opt
from deadbeat.kinds import KINDS
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import Row, options_of

#: A layer of a specification, and what its paths are called.
Layer = tuple[dict[str, Any], dict[str, str]]

FILE = opt(
    "--campaign FILE",
    "Read the parameters from a TOML file; options win over it.",
    to="file",
    type=PATH,
)
RETRY_FAILED = opt("--retry-failed", "Measure again what failed before.")
RETRY_INVALID = opt("--retry-invalid", "Measure again what is invalid.")


def measuring(
    name: str,
    kind: str,
    values: Sequence[Row],
    text: str,
    *,
    quick: str = "",
    presets: str = "",
    own: Sequence[click.Parameter] = (),
    file: click.Option = FILE,
    machine: Sequence[click.Option] = (SIMULATED,),
    budget: str = "--budget",
    fail_on: Mapping[str, str] | None = None,
    adjust: Callable[[Layer, Mapping[str, Any]], None] = lambda layer, options: None,
) -> click.Command:
    """A command that measures.

    Args:
        kind: Row of `KINDS`. ``values``: options of its specification; ``text``: its help.
        quick: Help of ``--quick``; ``presets``: of ``--preset``; "": there is none.
        own: What it takes beside; the kind finds it in `Begin.given`.
        budget: What ``--time-budget`` may be called too, where that word is free.
        fail_on: What ``--fail-on`` may name, and when that is so.
        adjust: Completes what was typed.
    """
    more = [opt("--quick", quick)] if quick else []
    more += [opt("--preset NAME", presets)] if presets else []
    words = fail_on or {}
    when = ", ".join(f"{word} ({meaning})" for word, meaning in words.items())
    failing = [
        opt(f"--fail-on {'|'.join(words)}", f"Exit status 1 also on: {when}.", type=OneOf(*words))
    ]

    def call(**options: Any) -> int:
        asked = typed(values, options)
        if options.get("quick") and options.get("preset") not in (None, "quick"):
            text = f"--quick and --preset {options['preset']} exclude each other"
            raise UsageError(text, "drop one")
        preset = "quick" if options.get("quick") else options.get("preset")
        if preset is not None:
            asked[0]["preset"] = preset
            asked[1]["preset"] = "--quick" if options.get("quick") else "--preset"
        adjust(asked, options)
        given = {option.name: options[option.name] for option in (*own, *machine)}
        return int(
            import_module("deadbeat.cli._measure").measure(name, kind, asked, options, given)
        )

    return click.Command(
        name,
        callback=call,
        help=cleandoc(text),
        params=[
            *more,
            file,
            *value_options(values),
            *own,
            *(failing if words else []),
            *machine,
            opt("--fresh", "Begin anew, also where one could be continued."),
            click.Option(
                [*filter(None, [budget]), "--time-budget", "time_budget"],
                metavar="TIME",
                help="Begin no further run after 30m or 2h; the same command continues.",
            ),
            FIGURES,
            RUNS,
            JSON,
        ],
    )


def command_of(name: str) -> click.Command:
    """The command of a kind that has none of its own, made of its specification alone."""
    spec = import_module(KINDS[name][0]).KIND.spec
    return measuring(name, name, options_of(spec), KINDS[name][1])


def dest(option: str) -> str:
    """Name of the parameter that ``option`` fills."""
    return option.removeprefix("--").partition("/")[0].replace("-", "_")


def value_options(values: Sequence[Row]) -> list[click.Option]:
    """The options of ``values``, in their order; one without a metavar is a flag, and one that
    stands for several keys is one."""
    rows = {option: (metavar, text) for option, _, metavar, text in reversed(values)}
    return [
        opt(f"{option} {metavar}".rstrip(), text, default=None)
        for option, (metavar, text) in reversed(rows.items())
    ]


def typed(values: Iterable[Row], options: Mapping[str, Any]) -> Layer:
    """What was typed as a layer of a specification, and which option each path was typed with.

    Args:
        values: Several options may stand for one path, and an option for several paths.

    Raises:
        UsageError: Two options for the same path.
    """
    layer: dict[str, Any] = {}
    names: dict[str, str] = {}
    for option, path, _, _ in values:
        value = options[dest(option)]
        if value is None:
            continue
        if path in names:
            raise UsageError(f"{names[path]} and {option} mean the same", "give one of them")
        put(layer, path, value)
        names[path] = option.partition("/")[2] if value is False else option
    return layer, names


def put(layer: dict[str, Any], path: str, value: Any) -> None:
    """Sets ``path`` (``run.seconds``) of a layer."""
    section, _, key = path.rpartition(".")
    (layer.setdefault(section, {}) if section else layer)[key] = value
