"""Options and layers of the commands that run task sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from deadbeat.cli._options import (
    Values,
    calibration_option,
    experiment_options,
    file_option,
    machine_options,
    typed,
)

F = TypeVar("F", bound=Callable[..., Any])


def preset_options(presets: str) -> Callable[[F], F]:
    """``--quick``, ``--preset`` and ``--campaign``."""

    def add(function: F) -> F:
        function = click.option("--preset", metavar="NAME", help=presets)(file_option(function))
        return click.option("--quick", is_flag=True, help="Under three minutes: preset quick.")(
            function
        )

    return add


def session_options(function: F) -> F:
    """What every verb that runs a campaign takes beside the campaign's own values."""
    options = (
        click.option(
            "--worst",
            type=click.IntRange(1, 1000),
            default=20,
            metavar="K",
            help="Jobs whose cause is named.  [20]",
        ),
        calibration_option,
        click.option(
            "--programs-from",
            metavar="RUN",
            help="Run the programs of campaign RUN unchanged: on another kernel, say.",
        ),
        click.option(
            "--retry-failed", is_flag=True, help="Run again what failed in the last campaign."
        ),
        machine_options,
        experiment_options(budget=True),
    )
    for option in reversed(options):
        function = option(function)
    return function


def asked_of(options: Mapping[str, Any], values: Values) -> tuple[dict[str, Any], dict[str, str]]:
    """The command line as a layer of the specification, and the option of every path in it."""
    layer, names = typed(values, options)
    if options["preset"] is not None or options["quick"]:
        layer["preset"], names["preset"] = options["preset"] or "quick", "--preset"
    if any(path.startswith("precision.") for path in names):
        names.setdefault("precision.target", "--precision")
    return layer, names
