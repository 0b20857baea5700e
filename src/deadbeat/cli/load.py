"""``deadbeat load``: how many deadlines a real-time thread misses among ordinary ones, and why."""

from __future__ import annotations

from typing import Any

import click

from deadbeat.cli._load import run
from deadbeat.cli._options import figures_option, json_option, runs_option, typed
from deadbeat.kinds.interference.spec import preset
from deadbeat.model.errors import UsageError

#: Option, key of the specification, metavar, help. The rules of the values are in loadtest.spec.
_VALUES = (
    (
        "--form",
        "form",
        "NAME",
        "back-to-back (near 100 % of a CPU) or periodic (a budget every period).  [back-to-back]",
    ),
    (
        "--normal",
        "normal",
        "LIST",
        "Numbers of ordinary threads: 0..4, few, or all: 0 to twice the CPUs.  [all]",
    ),
    ("--cpus", "cpus", "LIST", "CPUs that all threads may use: 0-3.  [all]"),
    ("--seconds", "seconds", "TIME", "Length of a run: 2, 500ms, 1min.  [2]"),
    ("--duration", "seconds", "TIME", "The same."),
    ("--round", "round", "TIME", "Work of a round, as the time it takes undisturbed.  [10ms]"),
    ("--budget", "round", "TIME", "The same of the periodic form."),
    ("--deadline", "deadline", "TIME", "Time a round may take.  [1.5 rounds, or the period]"),
    ("--period", "period", "TIME", "Of the periodic form.  [twice the budget]"),
    ("--priority", "priority", "N", "Of the real-time thread, 1 to 99.  [99]"),
    ("--policy", "policy", "fifo|other", "other needs no permission, marks every result.  [fifo]"),
    (
        "--remedies",
        "remedies",
        "LIST",
        "pin, smt, governor, preemption, rt-bandwidth; all or none.  [all]",
    ),
    ("--repeats", "repeats", "N", "Runs of every cell, all in random order.  [5]"),
    (
        "--remedy-repeats",
        "remedy_repeats",
        "N",
        "Of the cells with the most ordinary threads, where remedies are told apart.  [twice]",
    ),
    ("--name", "name", "NAME", "Name of the folder.  [load]"),
    ("--seed", "seed", "N", "The order of the runs derives from it.  [1]"),
)


def _value_options(function: Any) -> Any:
    for option, _, metavar, text in reversed(_VALUES):
        function = click.option(option, metavar=metavar, help=text)(function)
    return function


@click.command()
@click.option("--quick", is_flag=True, help="Fewer counts and repeats: under two minutes.")
@click.option(
    "--preset",
    metavar="NAME",
    help="quick, or paper: the paper's own round (900 million additions) and limit (2 s).",
)
@_value_options
@click.option("--fresh", is_flag=True, help="Begin anew, also where one could be continued.")
@click.option(
    "--retry-invalid",
    is_flag=True,
    help="Measure again what is invalid in the last test.",
)
@click.option(
    "--trace/--no-trace",
    default=True,
    help="Also one run, counted nowhere, in which the kernel's events say who had the CPU.  [yes]",
)
@click.option(
    "--fail-on",
    metavar="WHAT",
    help="Exit status 1 also on: misses (a deadline was missed without a remedy), invalid (a run"
    " is invalid or has no result).",
)
@figures_option
@click.option(
    "--simulated",
    is_flag=True,
    help="Use a made-up machine: shows how deadbeat works, says nothing about this one.",
)
@runs_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Count missed deadlines of a real-time thread among k ordinary, computing threads.

    The real-time thread computes in rounds, SCHED_FIFO 99 by default; a round that takes longer
    than its deadline is a failure. Shown are failures per second, response times, context switches,
    moves between CPUs, the work that the ordinary threads lose, and what took the real-time
    thread's time.

    Remedies are then tried one at a time and all together: each is applied, verified, measured in
    turn with runs without it, and put back (deadbeat tune status shows what a kill left behind).

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a remedy that no longer held) is called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again. Exit status 1 where no run without a remedy counts.
    """
    if options["quick"] and options["preset"] not in (None, "quick"):
        raise UsageError("--quick and --preset exclude each other", "drop one")
    layer, names = typed(_VALUES, options)
    _right_word(layer.get("form", "back-to-back"), names.get("round"))
    if not options["trace"]:
        layer["trace"], names["trace"] = False, "--no-trace"
    if options["preset"] is not None or options["quick"]:
        layer = preset(options["preset"] or "quick", layer)
    words = ctx.find_root().obj or ["load"]
    return run(options, layer=layer, names=names, words=words)


def _right_word(form: str, option: str | None) -> None:
    """The work of a round by the option of the other form is taken for a mistake in the form."""
    if (form, option) == ("back-to-back", "--budget"):
        raise UsageError("--budget: rounds back to back have none", "--form periodic, or --round")
    if (form, option) == ("periodic", "--round"):
        raise UsageError("--round: the periodic form has a budget", "--budget")
