"""``deadbeat sched convert``: task-system files from one format to another."""

from __future__ import annotations

from pathlib import Path

import click

from deadbeat.cli.sched._options import STANDARD_INPUT, file_argument, load
from deadbeat.model.errors import UsageError
from deadbeat.store.tasksystems import task_system_text, write_task_system


@click.command()
@file_argument
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--whole-cycles",
    is_flag=True,
    help="Cut the times of a SimSo file to whole cycles, as SimSo does.",
)
@click.option("--force", is_flag=True, help="Replace OUT where it exists.")
def command(
    file: Path, out: Path, *, processors: int | None, whole_cycles: bool, force: bool
) -> None:
    """Convert the task system in FILE (JSON, CSV, SimSo XML; - for standard input) to OUT.

    OUT ends in .json or .csv, or is - for JSON on standard output. Nothing is rounded: times of a
    SimSo file become integers of the coarsest unit in which all of them are whole.
    """
    to_stdout = str(out) == STANDARD_INPUT
    if not to_stdout and out.suffix.lower() not in (".json", ".csv"):
        raise UsageError(f"{out}: not a format to write", "end OUT in .json or .csv")
    if not to_stdout and out.exists() and not force:
        raise UsageError(f"{out} exists", "choose another name, or give --force")
    system = load(file, processors, whole_cycles=whole_cycles).system
    if to_stdout:
        click.echo(task_system_text(system), nl=False)
        return
    write_task_system(out, system)
    count = f"{len(system.tasks)} task{'s' * (len(system.tasks) != 1)}"
    click.echo(f"{out}: {count} on {system.processors} processors")
