"""Options and layers of the commands that run a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from deadbeat.cli._options import (
    Values,
    calibration_option,
    dest,
    experiment_options,
    file_option,
    machine_options,
)
from deadbeat.kinds.contention.spec import CalibrationSpec, RunSpec, TasksSpec
from deadbeat.model.specification import options_of

F = TypeVar("F", bound=Callable[..., Any])
NAMING: Values = (
    ("--name", "name", "NAME", "Name of the campaign's folder.  [the preset's]"),
    ("--seed", "seed", "N", "Everything random derives from it.  [1]"),
)

PLACING: Values = (("--cpus", "cpus", "LIST", "CPUs to use, in the order of the cores: 0-3."),)

RUNNING = options_of(RunSpec, "run")

#: What a task set is made of: common to all sets of a campaign.
TASKS = options_of(TasksSpec, "tasks")

MEASURING = options_of(CalibrationSpec, "calibration")


#: When a point, or a group, has enough task sets.
PRECISION: Values = (
    (
        "--precision",
        "precision.target",
        "X",
        "Task sets until the 95 % interval is within X of the mean, instead of a fixed number.",
    ),
    (
        "--precision-metric",
        "precision.metric",
        "NAME",
        "slowdown, delay_ratio, deadline_miss_ratio (X is then absolute).  [slowdown]",
    ),
    ("--sets-min", "precision.sets_min", "N", "Task sets every point gets.  [30]"),
    ("--sets-max", "precision.sets_max", "N", "Task sets no point exceeds.  [200]"),
    (
        "--sets-mean",
        "precision.sets_mean",
        "N",
        "Task sets a point gets on average at most; what early points save goes to the widest.",
    ),
)


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
        click.option("--split", is_flag=True, help="Record CPU time and switches of every job."),
        click.option(
            "--causes",
            is_flag=True,
            help="Record why jobs were late: the split, each use, events of the worst jobs.",
        ),
        click.option("--counters", is_flag=True, help="Count perf events of each task."),
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


class Layer:
    """The command line as a layer of the specification, and the option of every path in it."""

    def __init__(self, options: Mapping[str, Any], values: Values) -> None:
        self.values: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        if options["preset"] is not None or options["quick"]:
            self.put("preset", options["preset"] or "quick", "--preset")
        for option, path, _, _ in values:
            if options[dest(option)] is not None:
                self.put(path, options[dest(option)], option)
        if any(path.startswith("precision.") for path in self.names):
            self.names.setdefault("precision.target", "--precision")
        for name in ("split", "causes", "counters"):
            if options[name]:
                self.put(f"run.{name}", True, f"--{name}")

    def put(self, path: str, value: Any, option: str) -> None:
        """Sets ``path`` (``run.seconds``) to what ``option`` said."""
        section, _, key = path.rpartition(".")
        place = self.values.setdefault(section, {}) if section else self.values
        place[key] = value
        self.names[path] = option
