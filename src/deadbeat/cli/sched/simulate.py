"""``deadbeat sched simulate``: one task system under one policy, and what that proves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from deadbeat.cli._options import choice, json_option
from deadbeat.cli._output import print_json, say
from deadbeat.cli.sched._background import patiently
from deadbeat.cli.sched._options import (
    ALL_TIES,
    STANDARD_INPUT,
    file_argument,
    load,
    say_unused,
    scheduler_of,
    scheduler_options,
)
from deadbeat.cli.sched._print import print_answer
from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.report.sched_write import write_gantt, write_schedule, write_trace
from deadbeat.sched.answer import answer_of, responses_of, ties_answer
from deadbeat.sched.picture import JOBS_READABLE, JOBS_TRACED, picture, window
from deadbeat.sched.simulator import MODELS, TiesVerdict, Verdict, simulate, simulate_ties

FAILED = 3
_FAIL_ON = ("miss", "undecided", "not-proved")
_LONGEST = 1 << 60
#: Kinds of files, in the order of writing.
_WRITTEN = ("gantt", "trace", "report")


@click.command()
@file_argument
@scheduler_options
@click.option(
    "--model",
    metavar="NAME",
    help="periodic-sync, periodic-offset or sporadic.  [periodic-sync; with offsets the second]",
)
@click.option(
    "--method",
    metavar="exact|thesis",
    help="thesis: two hyper-periods, states compared at their ends.  [exact]",
)
@click.option(
    "--horizon",
    type=click.IntRange(1, _LONGEST),
    metavar="TIME",
    help="Simulate no longer than this.  [as long as the verdict needs]",
)
@click.option(
    "--budget",
    type=click.IntRange(1, _LONGEST),
    default=5_000_000,
    metavar="N",
    help="Scheduling points after which the answer is undecided.  [5000000]",
)
@click.option("--run-on", is_flag=True, help="Go on past a miss: late jobs keep their deadline.")
@click.option(
    "--fail-on",
    metavar="WHAT",
    help="Exit status 3 on: miss (the answer is no), undecided (no or undecided), not-proved (any"
    " but a proved yes).",
)
@click.option(
    "--gantt", metavar="FILE.svg", type=click.Path(path_type=Path), help="Draw the schedule."
)
@click.option(
    "--trace",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Write a trace for ui.perfetto.dev or chrome://tracing.",
)
@click.option(
    "--report",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Write a page: verdict, tables, zoomable chart, response times.",
)
@click.option(
    "--from",
    "window_from",
    type=click.IntRange(0, _LONGEST),
    metavar="TIME",
    help="Where chart, trace and page begin.  [0, or the first miss in sight]",
)
@click.option(
    "--to",
    "window_to",
    type=click.IntRange(1, _LONGEST),
    metavar="TIME",
    help="Where they end.  [after about 120 jobs; trace: 20000]",
)
@json_option
def command(file: Path, *, processors: int | None, as_json: bool, **options: Any) -> int:
    """Simulate the task system in FILE (JSON, CSV, SimSo XML; - for standard input).

    The answer is yes, no or undecided, with what it rests on: it is proved for the model, or it
    holds for what was simulated only. --ties all asks every tie rule: robust (schedulable under
    each of them), fragile (under some) or never.

    Exit status 0 whatever the answer, 3 with --fail-on.
    """
    wanted = choice("--fail-on", options["fail_on"], _FAIL_ON, "nothing")
    loaded = load(file, processors)
    system = loaded.system
    _check_outputs(file, options)
    title = system.name or ("standard input" if str(file) == "-" else file.name)

    def work() -> tuple[dict[str, Any], dict[str, str]]:
        verdict, ties = _simulate(system, options)
        answer = _answer(system, verdict, ties, options)
        return answer, _write(system, verdict, answer, title, options)

    answer, written = patiently(
        work, f"simulating, at most {options['budget']} scheduling points: --budget"
    )
    if as_json:
        _print_json(answer, written)
    else:
        print_answer(system, answer, written)
    return FAILED if _fails(answer, wanted) else 0


def _check_outputs(file: Path, options: dict[str, Any]) -> None:
    """Raises UsageError where a file to write is the one that is read, or written twice."""
    taken = {} if str(file) == STANDARD_INPUT else {file.resolve(): "the file to simulate"}
    for kind in _WRITTEN:
        if options[kind] is None:
            continue
        path = options[kind].resolve()
        if path in taken:
            raise UsageError(f"--{kind} {options[kind]} is {taken[path]}", "choose another name")
        taken[path] = f"the file of --{kind} too"


def _fails(answer: dict[str, Any], wanted: str) -> bool:
    found = answer["schedulable"]
    if wanted == "not-proved":
        return not (found == "yes" and answer["proved"])
    return found == "no" if wanted == "miss" else found != "yes" and wanted == "undecided"


def _simulate(system: TaskSystem, options: dict[str, Any]) -> tuple[Verdict, TiesVerdict | None]:
    """The verdict whose schedule is told and, with --ties all, those of all rules.

    Of several the first that denies is told, else the first.
    """
    scheduler = scheduler_of(options)
    say_unused(scheduler, options)
    arguments: dict[str, Any] = {
        "model": choice("--model", options["model"], MODELS, "") or None,
        "method": choice("--method", options["method"], ("exact", "thesis"), "exact"),
        **{name: options[name] for name in ("horizon", "budget", "run_on")},
    }
    if scheduler.ties != ALL_TIES:
        return simulate(system, scheduler, **arguments), None
    ties = simulate_ties(system, scheduler, **arguments)
    verdicts = list(ties.verdicts.values())
    denied = [verdict for verdict in verdicts if verdict.schedulable == "no"]
    return (denied or verdicts)[0], ties


def _answer(
    system: TaskSystem, verdict: Verdict, ties: TiesVerdict | None, options: dict[str, Any]
) -> dict[str, Any]:

    answer = answer_of(system, verdict, run_on=options["run_on"], budget=options["budget"])
    return answer if ties is None else answer | ties_answer(system, ties)


def _write(
    system: TaskSystem,
    verdict: Verdict,
    answer: dict[str, Any],
    title: str,
    options: dict[str, Any],
) -> dict[str, str]:
    """Writes the files asked for: kind -> path."""
    # The page comes last: it is what takes longest.
    kinds = [kind for kind in _WRITTEN if options[kind] is not None]
    low, high = options["window_from"], options["window_to"]
    if low is not None and high is not None and low >= high:
        raise UsageError(f"--from {low} is not before --to {high}", "--from 0 --to 100")
    if not kinds:
        if low is not None or high is not None:
            raise UsageError("--from and --to need something to draw", "add --gantt FILE.svg")
        return {}

    running = {name: options[name] for name in ("run_on", "budget")}
    for kind in kinds:
        jobs = JOBS_TRACED if kind == "trace" else JOBS_READABLE
        start, end = window(system, verdict, jobs=jobs)
        length = end - start
        if low is not None or high is not None:
            start = low if low is not None else max(0, min(start, high - 1))
            end = high if high is not None else start + length
        shot = picture(
            system,
            verdict,
            start=start,
            end=end,
            **running,
        )
        if shot.note:
            say(f"{kind}: {shot.note}")
        if kind == "gantt":
            write_gantt(options[kind], shot, title=title)
        elif kind == "trace":
            write_trace(options[kind], shot)
        else:
            responses = responses_of(system, verdict, **running)
            write_schedule(options[kind], shot, answer, responses, title=title)
    return {kind: str(options[kind]) for kind in kinds}


def _print_json(answer: dict[str, Any], written: dict[str, str]) -> None:
    # A hyper-period is told exactly, also where it has more digits than Python shows by itself.
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        print_json({**answer, "files": written})
    finally:
        sys.set_int_max_str_digits(limit)
