"""Options that several verbs share. Imports nothing heavy: ``--help`` reads this."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from deadbeat.model.errors import UsageError
from deadbeat.model.words import nearest, shown

F = TypeVar("F", bound=Callable[..., Any])


def runs_option(function: F) -> F:
    """Folder of campaigns."""
    return click.option(
        "--runs",
        type=click.Path(path_type=Path),
        default=Path("runs"),
        envvar="DEADBEAT_RUNS",
        show_default=True,
        help="Folder of campaigns; also DEADBEAT_RUNS.",
    )(function)


def json_option(function: F) -> F:
    """The answer as JSON."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print the answer as JSON on stdout, nothing else."
    )(function)


def machine_options(function: F) -> F:
    """What is measured: this machine, or the simulation that tests and demonstrations use."""
    function = click.option(
        "--executor",
        "executor_text",
        metavar="NAME",
        help="hardware; or sim[:cores=4,policy=g-edf], the scheduling simulator.  [hardware]",
    )(function)
    return simulated_option(function)


#: Option, key of the specification, metavar, help; the specification has the rules of the values.
Values = tuple[tuple[str, str, str, str], ...]


def dest(option: str) -> str:
    """Name of the parameter that ``option`` fills."""
    return option.removeprefix("--").replace("-", "_")


def value_options(values: Values) -> Callable[[F], F]:
    """The options of ``values``, in their order; one without a metavar is a flag, and one that
    stands for several keys is one."""
    rows = {option: (metavar, text) for option, _, metavar, text in reversed(values)}

    def add(function: F) -> F:
        for option, (metavar, text) in rows.items():
            shape: dict[str, Any] = (
                {"metavar": metavar} if metavar else {"is_flag": True, "default": None}
            )
            function = click.option(option, dest(option), help=text, **shape)(function)
        return function

    return add


def simulated_option(function: F) -> F:
    return click.option(
        "--simulated",
        is_flag=True,
        help="Use a made-up machine: shows how deadbeat works, says nothing about this one.",
    )(function)


def experiment_options(*, budget: bool = False) -> Callable[[F], F]:
    """What every command that measures takes: ``--fresh``, ``--time-budget``, ``--figures``,
    ``--runs``, ``--json``.

    Args:
        budget: Whether ``--budget`` means the same; elsewhere it is a parameter of the kind.
    """
    names = ("--budget", "--time-budget") if budget else ("--time-budget",)
    added = (
        click.option(
            "--fresh", is_flag=True, help="Begin anew, also where one could be continued."
        ),
        click.option(
            *names,
            "time_budget",
            metavar="TIME",
            help="Begin no further run after 30m or 2h; the same command continues.",
        ),
        figures_option,
        runs_option,
        json_option,
    )

    def add(function: F) -> F:
        for option in reversed(added):
            function = option(function)
        return function

    return add


def file_option(function: F) -> F:
    return click.option(
        "--campaign",
        "campaign_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read the parameters from a TOML file; options win over it.",
    )(function)


def figures_option(function: F) -> F:
    return click.option(
        "--figures/--no-figures", default=True, help="Also draw PNG, SVG and PDF figures.  [yes]"
    )(function)


def policy_option(function: F) -> F:
    return click.option(
        "--policy",
        metavar="fifo|other",
        help="Scheduling policy; other needs no permission and marks every result.  [fifo]",
    )(function)


def calibration_option(function: F) -> F:
    return click.option(
        "--calibration",
        "calibration_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Use the calibration in FILE (deadbeat calibrate).",
    )(function)


def typed(
    values: Iterable[tuple[str, str, str, str]], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What was typed as a layer of a specification, and which option each path was typed with.

    Args:
        values: Option, path, metavar and help; several options may stand for one path, and an
            option for several paths.

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
        names[path] = option
    return layer, names


def put(layer: dict[str, Any], path: str, value: Any) -> None:
    """Sets ``path`` (``run.seconds``) of a layer."""
    section, _, key = path.rpartition(".")
    (layer.setdefault(section, {}) if section else layer)[key] = value


def choice(option: str, value: str | None, words: tuple[str, ...], default: str) -> str:
    """``value`` if it is one of ``words``; raises UsageError with the nearest right one."""
    if value is None or value in words:
        return value or default

    raise UsageError(f"{option}: {shown(value)} is not a choice", nearest(value, words))


_BUDGET = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(s|min|m|h)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def budget_seconds(text: str) -> float:
    """Seconds of ``90s``, ``30m`` (or ``30min``), ``2h``.

    Raises:
        UsageError: Anything else, or nothing at all.
    """
    match = _BUDGET.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(
            f"--budget: {shown(text)} is not a length of time", "write it like 30m or 2h"
        )
    return seconds


#: Words of a command that must not be repeated when what it did is to be continued or repeated.
_ONCE = ("--fresh", "--retry-failed", "--retry-invalid")


def to_repeat(words: Sequence[str], *, retrying: bool = False) -> str:
    """The command as typed, to continue with.

    Args:
        retrying: With what it measures again: without, nothing may be lacking.
    """
    left_out = _ONCE[:1] if retrying else _ONCE
    return shlex.join(["deadbeat", *(word for word in words if word not in left_out)])
