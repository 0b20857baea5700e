"""``deadbeat sched generate``: random task systems, as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import evolve

from deadbeat.cli._output import print_table
from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.sched.generators import Recipe, generate, period_samplers, utilisation_samplers
from deadbeat.store.files import storing
from deadbeat.store.tasksystems import task_system_text, write_task_system

F = TypeVar("F", bound=Callable[..., Any])

STANDARD_OUTPUT = "-"

#: Field of ``Recipe`` and option, type, metavar, help. What a value may be is the recipe's matter.
_FIELDS: tuple[tuple[str, type, str, str], ...] = (
    ("processors", int, "M", "Identical processors.  [4]"),
    ("tasks", int, "N", "Tasks of a system.  [10]"),
    ("utilisation", float, "U", "Sum of C/T aimed at.  [2.0]"),
    ("utilisations", str, "NAME", "Distribution of the tasks' utilisations.  [randfixedsum]"),
    ("low", float, "X", "Least utilisation of a task.  [0]"),
    ("high", float, "X", "Largest utilisation of a task.  [1]"),
    ("mean", float, "X", "exponential: its mean.  [U/N]"),
    ("heavy_share", float, "X", "bimodal: probability of a heavy task.  [0.33]"),
    ("split", float, "X", "bimodal: where heavy tasks begin.  [0.5]"),
    ("periods", str, "NAME", "Distribution of the periods.  [lcm-limited]"),
    ("period_low", int, "T", "Shortest period.  [10]"),
    ("period_high", int, "T", "Longest period.  [250]"),
    ("granularity", int, "T", "Periods are multiples of it.  [1]"),
    ("lcm_limit", int, "T", "The hyper-period stays below it.  [100000]"),
    ("deadlines", str, "NAME", "implicit, constrained or arbitrary.  [implicit]"),
    ("deadline_low", float, "X", "D from here: place in [C, T], or factor of T.  [0]"),
    ("deadline_high", float, "X", "D to here.  [1; arbitrary: 2]"),
    ("offsets", str, "NAME", "zero or uniform.  [zero]"),
    ("tolerance", float, "X", "Allowed distance from U.  [0.02 M]"),
    ("attempts", int, "N", "Draws before a system is given up.  [100000]"),
)


def _recipe_options(function: F) -> F:
    for name, kind, metavar, text in reversed(_FIELDS):
        option = "--" + name.replace("_", "-")
        function = click.option(option, name, type=kind, metavar=metavar, help=text)(function)
    return function


@click.command()
@_recipe_options
@click.option("--count", type=click.IntRange(1), default=1, metavar="K", help="Systems.  [1]")
@click.option("--seed", type=int, default=1, metavar="N", help="All derives from it.  [1]")
@click.option("--first", type=click.IntRange(0), default=0, help="Number of the first.  [0]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(STANDARD_OUTPUT),
    metavar="FOLDER|-",
    help="Where system-00000.json and so on go, or standard output.  [-]",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--list", "listing", is_flag=True, help="List the distributions, draw nothing.")
def command(
    *, count: int, seed: int, first: int, out: Path, force: bool, listing: bool, **fields: Any
) -> None:
    """Draw random task systems.

    System number i depends on the other options, the seed and i alone. On standard output several
    systems are a line of JSON each.

    Start with: deadbeat sched generate --utilisation 3.2 --count 5 --out systems
    """
    if listing:
        _list()
        return
    recipe = Recipe(**{name: value for name, value in fields.items() if value is not None})
    batch = generate(recipe, seed=seed, count=count, first=first)
    systems = [_named(batch.system(i), recipe, seed, first + i) for i in range(count)]
    if str(out) == STANDARD_OUTPUT:
        _print(systems)
    else:
        _write(systems, out, first, force=force)


def _named(system: TaskSystem, recipe: Recipe, seed: int, number: int) -> TaskSystem:

    words = f"{recipe.utilisations}, {recipe.periods}, U {recipe.utilisation:g}"
    return evolve(system, name=f"{words}, seed {seed}, system {number}")


def _print(systems: list[TaskSystem]) -> None:

    texts = [task_system_text(system) for system in systems]
    if len(systems) > 1:
        texts = [json.dumps(json.loads(text), ensure_ascii=False) + "\n" for text in texts]
    for text in texts:
        click.echo(text, nl=False)


def _write(systems: list[TaskSystem], out: Path, first: int, *, force: bool) -> None:

    paths = [out / f"system-{first + i:05d}.json" for i in range(len(systems))]
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise UsageError(
            f"{len(there)} of the files exist, for example {there[0]}",
            "choose another --out, or give --force",
        )
    with storing(out):
        out.mkdir(parents=True, exist_ok=True)
    for path, system in zip(paths, systems, strict=True):
        write_task_system(path, system)
    range_ = paths[0].name if len(paths) == 1 else f"{paths[0].name} to {paths[-1].name}"
    click.echo(f"{out}: {range_}")


def _list() -> None:

    for title, known in (("utilisations", utilisation_samplers()), ("periods", period_samplers())):
        rows = [[facts.name, facts.title, facts.reference] for facts in known.values()]
        print_table([title, "what it draws", "reference"], rows)
