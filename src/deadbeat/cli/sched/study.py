"""``deadbeat sched study``: the same question asked of thousands of random task systems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from deadbeat.cli._options import figures_option, json_option, runs_option
from deadbeat.cli._study import list_presets, study

F = TypeVar("F", bound=Callable[..., Any])

#: Option, key of the specification, metavar, help.
_VALUES: tuple[tuple[str, str, str, str], ...] = (
    ("--name", "name", "NAME", "Name of the study's folder.  [the preset's, or study]"),
    ("--seed", "seed", "N", "Everything random derives from it.  [1]"),
    ("--sets", "sets", "N", "Task sets per cell.  [the preset's, or 100]"),
    ("--ties", "ties", "LIST", "Tie rules, each for every policy: index,utilisation-desc."),
    ("--budget", "budget", "N", "Scheduling points after which a verdict is undecided.  [5000000]"),
    ("--processors", "processors", "LIST", "Values of m: 4 or 2,4,8."),
    ("--tasks", "tasks", "LIST", "Values of n: 8..20 or 8..40:4."),
    ("--utilisation", "utilisation", "LIST", "Values of U by processor: 0.5..0.95:0.05."),
    (
        "--distribution",
        "distribution",
        "LIST",
        "Of task utilisations: randfixedsum,uniform:low=0.1:high=0.5.  [randfixedsum]",
    ),
    ("--policy", "policies", "LIST", "Simulate under: g-edf,c-edf:cluster-size=4."),
    ("--test", "tests", "LIST", "Schedulability tests: gfb,rta-edf."),
)


def _dest(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _value_options(function: F) -> F:
    for option, _, metavar, text in reversed(_VALUES):
        function = click.option(option, _dest(option), metavar=metavar, help=text)(function)
    return function


@click.command()
@click.argument("preset", required=False, metavar="[PRESET]")
@click.option("--list", "as_list", is_flag=True, help="List the presets.")
@click.option(
    "--study",
    "study_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the sweep from a TOML file; options win over it.",
)
@_value_options
@click.option("--metrics", is_flag=True, help="Count migrations and slack in a sweep.")
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Threads.  [all CPUs]")
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="Compute on the Dask cluster of this scheduler.",
)
@click.option("--fresh", is_flag=True, help="Begin anew, also where one could be continued.")
@figures_option
@runs_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Simulate and test thousands of random task systems.

    With PRESET, one of the thesis's experiments on its full grid, and its conclusions checked:
    confirmed, not confirmed, or depends (and on what). Without, a sweep over processors, tasks and
    utilisation.

    Studies live in RUNS/NAME. The same command continues one that was interrupted, and shows one
    that is complete; another study of the same name becomes NAME-2.
    """
    if options["as_list"]:
        list_presets(as_json=options["as_json"])
        return 0
    layer: dict[str, Any] = {}
    names: dict[str, str] = {}
    for option, key, _, _ in _VALUES:
        names[key] = option
        if options[_dest(option)] is not None:
            layer[key] = options[_dest(option)]
    if options["preset"] is not None:
        layer["preset"] = options["preset"]
    if options["metrics"]:
        layer["metrics"] = True
    return study(options, layer=layer, names=names, words=ctx.find_root().obj or ["sched", "study"])
