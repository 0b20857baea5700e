"""Options that the verbs of ``deadbeat sched`` share. Imports nothing heavy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from deadbeat.cli._options import choice
from deadbeat.cli._output import say
from deadbeat.model.errors import UsageError
from deadbeat.model.words import shown
from deadbeat.sched.files import BYTES_MAX, TaskSystemFile, load_task_system, parse_task_system
from deadbeat.sched.simulator import Costs, Scheduler, option_words, policies, tie_rules
from deadbeat.sched.statistics import POLICY_OPTIONS, looked_at

F = TypeVar("F", bound=Callable[..., Any])

STANDARD_INPUT = "-"
#: Asks every tie rule there is.
ALL_TIES = "all"
_TIME = click.IntRange(0, 1 << 60)

#: Field of ``Scheduler``, option, metavar, help.
_WORDS: tuple[tuple[str, str, str, str], ...] = (
    ("priorities", "--priorities", "rm|dm|given", "Of fixed-priority policies.  [rm]"),
    ("partition", "--partition", "NAME", "first-, next-, best-, worst-fit or auto.  [auto]"),
    ("order", "--order", "NAME", "In which tasks are placed.  [utilisation-desc]"),
    ("admission", "--admission", "NAME", "utilisation, density or exact.  [utilisation]"),
    ("unplaced", "--unplaced", "NAME", "A task that fits nowhere: reject or least-loaded."),
    (
        "balance",
        "--balance",
        "NAME",
        "Loose clustered: none, offline, pull, both, sticky...",
    ),
)


def file_argument(function: F) -> F:
    """A task-system file, and the number of processors that wins over the file's."""
    function = click.option(
        "--processors",
        type=click.IntRange(1, 1024),
        metavar="M",
        help="Wins over the file's; a CSV file may have none.",
    )(function)
    return click.argument("file", metavar="FILE", type=click.Path(path_type=Path))(function)


def scheduler_options(function: F) -> F:
    """Policy, ties and all that a policy may look at."""
    costs: tuple[tuple[str, str], ...] = (
        ("--cost-cache-reload", "A job resumes where another one ran meanwhile."),
        ("--cost-migration", "A job resumes, or a task continues, on another processor."),
        ("--cost-context-switch", "A processor takes up another job."),
    )
    for option, text in costs:
        function = click.option(option, type=_TIME, default=0, metavar="TIME", help=f"{text}  [0]")(
            function
        )
    function = click.option(
        "--threshold", metavar="X", help="EDF-US: tasks above it come first, like 1/2.  [m/(2m-1)]"
    )(function)
    function = click.option(
        "--cluster-size",
        type=click.IntRange(1, 1024),
        metavar="C",
        help="Processors of a cluster.  [2]",
    )(function)
    for name, option, metavar, text in reversed(_WORDS):
        function = click.option(option, name, metavar=metavar, help=text)(function)
    function = click.option(
        "--ties", metavar="RULE|all", default="index", help="Who wins between equals.  [index]"
    )(function)
    return click.option(
        "--policy",
        metavar="NAME",
        default="g-edf",
        help="Scheduling policy; deadbeat sched policies lists them.  [g-edf]",
    )(function)


def load(file: Path, processors: int | None, *, whole_cycles: bool = False) -> TaskSystemFile:
    """The task system in FILE, or on standard input; remarks are said."""
    if str(file) == STANDARD_INPUT:
        # Closed (<&-) it is nothing at all.
        data = sys.stdin.buffer.read(BYTES_MAX) if sys.stdin else b""
        loaded = parse_task_system(
            data, source="standard input", processors=processors, whole_cycles=whole_cycles
        )
    else:
        loaded = load_task_system(file, processors=processors, whole_cycles=whole_cycles)
    for remark in loaded.remarks:
        say(remark)
    return loaded


def scheduler_of(options: dict[str, Any]) -> Scheduler:
    """The scheduler that the options describe, tie rule ALL_TIES included.

    Raises:
        UsageError: An unknown word, with the nearest right one.
    """
    defaults = Scheduler()
    words = {
        name: choice(option, options[name], option_words(name), getattr(defaults, name))
        for name, option, _, _ in _WORDS
    }
    return Scheduler(
        policy=choice("--policy", options["policy"], tuple(policies()), ""),
        ties=choice("--ties", options["ties"], (*tie_rules(), ALL_TIES), "index"),
        cluster_size=options["cluster_size"] or defaults.cluster_size,
        threshold=threshold_of(options["threshold"]),
        costs=Costs(
            context_switch=options["cost_context_switch"],
            migration=options["cost_migration"],
            cache_reload=options["cost_cache_reload"],
        ),
        **words,
    )


def say_unused(scheduler: Scheduler, options: dict[str, Any]) -> None:
    """Says which of the options given the policy does not look at.

    No error: a script that asks several policies may give all of them the same options.
    """
    used = looked_at(policies()[scheduler.policy])
    unused = [name for name in POLICY_OPTIONS if options[name] is not None and name not in used]
    if unused:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        say(f"{scheduler.policy} does not look at {words}")


def threshold_of(text: str | None) -> tuple[int, int] | None:
    """Numerator and denominator of ``1/2`` or ``0.5``, in (0, 1]."""
    if text is None:
        return None

    try:
        value = Fraction(text) if len(text) <= 20 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or not 0 < value <= 1:
        raise UsageError(
            f"--threshold: {shown(text)} is not above 0 and at most 1", "write it like 1/2"
        )
    return value.numerator, value.denominator
