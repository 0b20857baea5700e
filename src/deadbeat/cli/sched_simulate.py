"""``deadbeat sched simulate``: one task system under one policy, and what that proves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from deadbeat.cli._output import Part, say
from deadbeat.cli.sched_systems import STANDARD, load, patiently
from deadbeat.kinds.base import Shown
from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.model.words import shown
from deadbeat.report.files import write_text
from deadbeat.report.sched_gantt import gantt_svg
from deadbeat.report.sched_page import render_schedule, schedule_facts, tasks_table
from deadbeat.report.sched_trace import trace_text
from deadbeat.report.terminal import print_part
from deadbeat.sched.answer import (
    POLICY_OPTIONS,
    ScheduleAnswer,
    answer_of,
    looked_at,
    responses_of,
    ties_answer,
)
from deadbeat.sched.picture import JOBS_READABLE, JOBS_TRACED, picture, window
from deadbeat.sched.simulator import (
    Costs,
    Scheduler,
    TiesVerdict,
    Verdict,
    policies,
    simulate_ties,
)
from deadbeat.sched.simulator import simulate as simulate_system

FAILED = 3
#: Kinds of files, in the order of writing.
_WRITTEN = ("gantt", "trace", "report")


#: Words of a `Scheduler`, each with an option of its name.
_WORDS = ("priorities", "partition", "order", "admission", "unplaced", "balance")
#: Asks every tie rule there is.
ALL_TIES = "all"
_EXECUTION = {
    "up-to-wcet": "for all execution times up to C",
    "exactly-wcet": "for execution times of exactly C",
}


def simulate(file: Path, *, processors: int | None, **options: Any) -> Shown:
    loaded = load(file, processors)
    system = loaded.system
    _check_outputs(file, options)
    title = system.name or ("standard input" if str(file) == STANDARD else file.name)

    def work() -> tuple[ScheduleAnswer, dict[str, str]]:
        verdict, ties = _simulate(system, options)
        answer = answer_of(system, verdict, run_on=options["run_on"], budget=options["budget"])
        if ties:
            answer |= ties_answer(system, ties)
        return answer, _write(system, verdict, answer, title, options)

    answer, written = patiently(
        work, f"simulating, at most {options['budget']} scheduling points: --budget"
    )
    return Shown(
        plain={**answer, "files": written},
        parts=list(_parts(system, answer, written)),
        status=FAILED if _fails(answer, options["fail_on"]) else 0,
    )


def _check_outputs(file: Path, options: Mapping[str, Any]) -> None:
    """Raises UsageError where a file to write is the one that is read, or written twice."""
    taken = {} if str(file) == STANDARD else {file.resolve(): "the file to simulate"}
    for kind in _WRITTEN:
        if options[kind] is None:
            continue
        path = options[kind].resolve()
        if path in taken:
            raise UsageError(f"--{kind} {options[kind]} is {taken[path]}", "choose another name")
        taken[path] = f"the file of --{kind} too"


def _fails(answer: ScheduleAnswer, wanted: str | None) -> bool:
    found = answer["schedulable"]
    if wanted == "not-proved":
        return not (found == "yes" and answer["proved"])
    return found == "no" if wanted == "miss" else found != "yes" and wanted == "undecided"


def _simulate(system: TaskSystem, options: Mapping[str, Any]) -> tuple[Verdict, TiesVerdict | None]:
    """The verdict whose schedule is told and, with --ties all, those of all rules.

    Of several the first that denies is told, else the first.
    """
    scheduler = scheduler_of(options)
    say_unused(scheduler, options)
    arguments: dict[str, Any] = {
        name: options[name] for name in ("model", "method", "horizon", "budget", "run_on")
    }
    if scheduler.ties != ALL_TIES:
        return simulate_system(system, scheduler, **arguments), None
    ties = simulate_ties(system, scheduler, **arguments)
    verdicts = list(ties.verdicts.values())
    denied = [verdict for verdict in verdicts if verdict.schedulable == "no"]
    return (denied or verdicts)[0], ties


def _write(
    system: TaskSystem,
    verdict: Verdict,
    answer: ScheduleAnswer,
    title: str,
    options: Mapping[str, Any],
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
            text = gantt_svg(shot, title=title)
        elif kind == "trace":
            text = trace_text(shot)
        else:
            responses = responses_of(system, verdict, **running)
            text = render_schedule(shot, answer, responses, title=title)
        write_text(options[kind], text)
    return {kind: str(options[kind]) for kind in kinds}


def scheduler_of(options: Mapping[str, Any]) -> Scheduler:
    """The scheduler that the options describe, tie rule ALL_TIES included."""
    names = (*_WORDS, "cluster_size")
    words = {name: options[name] for name in names if options[name] is not None}
    return Scheduler(
        policy=options["policy"],
        ties=options["ties"],
        threshold=threshold_of(options["threshold"]),
        costs=Costs(
            context_switch=options["cost_context_switch"],
            migration=options["cost_migration"],
            cache_reload=options["cost_cache_reload"],
        ),
        **words,
    )


def say_unused(scheduler: Scheduler, options: Mapping[str, Any]) -> None:
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


# -- in the terminal: a short verdict first, then a table


def _parts(
    system: TaskSystem, answer: ScheduleAnswer, written: Mapping[str, str]
) -> Iterator[Part]:
    """The verdict, what it rests on, what was simulated, and a row per task."""
    yield from verdict_lines(answer)
    yield from (f"{name}: {told}" for name, told in schedule_facts(answer))
    if answer["tasks"]:
        yield ""
        yield partial(print_part, tasks_table(system, answer))
    yield from (f"{kind}: {path}" for kind, path in written.items())


def verdict_lines(answer: ScheduleAnswer) -> list[str]:
    """The answer, and the argument for it."""
    found, proved = answer["schedulable"], answer["proved"]
    how = "" if found == "undecided" else ", proved" if proved else ", not proved"
    if "robustness" in answer:
        rules = answer["by_ties"]
        lines = [f"schedulable under every tie rule: {found}{how} ({answer['robustness']})"]
        width = max(map(len, rules))
        lines += [
            f"  {rule:<{width}}  {entry['schedulable']}: {entry['because']}"
            for rule, entry in rules.items()
        ]
        return lines
    lines = [f"schedulable: {found}{how} ({answer['because']})"]
    execution = _EXECUTION.get(answer["execution"], answer["execution"])
    if found == "yes" and execution not in answer["because"]:
        lines[0] += f", {execution}"
    if answer["pattern"] and answer["pattern"] not in answer["because"]:
        lines.append(f"releases that miss: {answer['pattern']}")
    return lines
