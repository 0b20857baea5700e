"""``deadbeat sched simulate``: one task system under one policy, and what that proves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import shown
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.report.perfetto import moments_text
from deadbeat.base.report.terminal import print_part
from deadbeat.base.store.files import atomic_write
from deadbeat.cli._output import Part, say
from deadbeat.cli.sched_systems import STANDARD, in_folder, load, patiently
from deadbeat.sched.answer import (
    POLICY_OPTIONS,
    ScheduleAnswer,
    answer_of,
    looked_at,
    responses_of,
    ties_answer,
)
from deadbeat.sched.drawing import gantt_svg, schedule_moment
from deadbeat.sched.page import chains_table, render_schedule, schedule_facts, tasks_table
from deadbeat.sched.picture import JOBS_READABLE, JOBS_TRACED, Picture, picture, window
from deadbeat.sched.simulator import (
    Costs,
    Model,
    Scheduler,
    TiesVerdict,
    Verdict,
    policies,
    simulate_ties,
)
from deadbeat.sched.simulator import simulate as simulate_system
from deadbeat.sched.words import late_chains, verdict_lines

FAILED = 1
#: Files in the order of writing -> what they are called in the answer.
_WRITTEN = {"gantt": "gantt", "perfetto": "trace", "report": "report"}
_OTHER_PICTURES = (".png", ".pdf", ".jpg", ".jpeg", ".eps", ".gif")
_COSTS = ("context_switch", "migration", "cache_reload", "migration_across")
#: Asks every tie rule there is.
ALL_TIES = "all"


def simulate(file: Path, *, processors: int | None, **options: Any) -> Shown:
    """A task system, or each of a folder; ``options``: files to write, what and how to simulate."""
    if not file.is_dir():
        return _simulated(file, processors=processors, **options)
    if drawn := [f"--{kind}" for kind in _WRITTEN if options[kind]]:
        raise UsageError(f"{drawn[0]} is of one task system", f"name a file in {file}")
    each = partial(_simulated, **options)
    return in_folder(each, lambda it: {it["policy"]: it["schedulable"]}, file, processors)


def _simulated(
    file: Path,
    *,
    processors: int | None,
    fail_on: str | None,
    run_on: bool,
    budget: int,
    window_from: int | None,
    window_to: int | None,
    model: Model | None,
    method: str,
    horizon: int | None,
    patterns: int,
    **options: Any,
) -> Shown:
    """``options``: files to write, and those of the scheduler."""
    loaded = load(file, processors)
    system = loaded.system
    options["policy"] = options["policy"] or ("p-fp" if system.beyond else "g-edf")
    outputs = {kind: options.pop(kind) for kind in _WRITTEN}
    outputs = {kind: path for kind, path in outputs.items() if path is not None}
    _check_outputs(file, outputs)
    title = system.name or ("standard input" if str(file) == STANDARD else file.name)
    running: dict[str, Any] = {"run_on": run_on, "budget": budget}

    def work() -> tuple[ScheduleAnswer, dict[str, Picture], list[NDArray[np.int64]] | None]:
        asked = dict(model=model, method=method, horizon=horizon, patterns=patterns, **running)
        verdict, ties = _simulate(system, scheduler_of(**options), **asked)
        answer = answer_of(system, verdict, **running)
        if ties:
            answer |= ties_answer(system, ties)
        shots = {}
        for kind, (start, end) in _windows(
            system, verdict, tuple(outputs), window_from, window_to
        ).items():
            shots[kind] = picture(system, verdict, start=start, end=end, **running)
            if shots[kind].note:
                say(f"{kind}: {shots[kind].note}")
        responses = responses_of(system, verdict, **running) if "report" in outputs else None
        return answer, shots, responses

    answer, shots, responses = patiently(work, f"simulating, at most {budget} steps: --max-steps")
    for kind, shot in shots.items():
        if kind == "gantt":
            text = gantt_svg(shot, title=title)
        elif kind == "perfetto":
            text = moments_text([schedule_moment(shot)], source="simulated")
        else:
            text = render_schedule(shot, answer, responses, title=title)
        if text:
            atomic_write(outputs[kind], text)
        else:  # a warning has said why
            del outputs[kind]
    written = {_WRITTEN[kind]: str(path) for kind, path in outputs.items()}
    failed, why = (
        _fails(answer, fail_on),
        "; ".join([verdict_lines(answer)[0], *late_chains(answer)]),
    )
    if failed:
        say(f"--fail-on {fail_on}: {why}")
    return Shown(
        plain={**answer, "files": written},
        parts=list(_parts(system, answer, written)),
        cases=[
            Verdicted(name="schedulable", verdict="failed" if failed else "passed", message=why)
        ],
        status=FAILED if failed else 0,
    )


def _check_outputs(file: Path, outputs: Mapping[str, Path]) -> None:
    """Raises UsageError where a file to write is the one that is read, written twice, or named as
    another kind of picture."""
    taken = {} if str(file) == STANDARD else {file.resolve(): "the file to simulate"}
    for kind, path in outputs.items():
        if kind == "gantt" and path.suffix.lower() in _OTHER_PICTURES:
            hint = f"name it {path.with_suffix('.svg')}"
            raise UsageError(f"--gantt {path}: what it writes is SVG", hint)
        place = path.resolve()
        if place in taken:
            raise UsageError(f"--{kind} {path} is {taken[place]}", "choose another name")
        taken[place] = f"the file of --{kind} too"


def _fails(answer: ScheduleAnswer, wanted: str | None) -> bool:
    found = answer["schedulable"]
    if wanted and late_chains(answer):
        return True
    if wanted == "not-proved":
        return not (found == "yes" and answer["proved"])
    return found == "no" if wanted == "miss" else found != "yes" and wanted == "undecided"


def _simulate(
    system: TaskSystem, scheduler: Scheduler, **asked: Any
) -> tuple[Verdict, TiesVerdict | None]:
    """The verdict of the schedule to show (the first that denies, else the first) and, with
    --ties all, those of all rules."""
    if scheduler.ties != ALL_TIES:
        return simulate_system(system, scheduler, **asked), None
    ties = simulate_ties(system, scheduler, **asked)
    verdicts = list(ties.verdicts.values())
    denied = [verdict for verdict in verdicts if verdict.schedulable == "no"]
    return (denied or verdicts)[0], ties


def _windows(
    system: TaskSystem, verdict: Verdict, kinds: Sequence[str], low: int | None, high: int | None
) -> dict[str, tuple[int, int]]:
    """What of the schedule each file shows: from ``low`` to ``high`` where these are given."""
    if low is not None and high is not None and low >= high:
        raise UsageError(
            f"show-from {low} is not before show-to {high}", "--set show-from=0 --set show-to=100"
        )
    if not kinds and (low is not None or high is not None):
        raise UsageError("show-from and show-to need something to draw", "add --gantt FILE.svg")
    found = {}
    for kind in kinds:
        jobs = JOBS_TRACED if kind == "perfetto" else JOBS_READABLE
        start, end = window(system, verdict, jobs=jobs)
        if low is not None:
            start, end = low, low + end - start
        if high is not None:
            start, end = (start if low is not None else max(0, min(start, high - 1))), high
        found[kind] = (start, end)
    return found


def scheduler_of(**options: Any) -> Scheduler:
    """The scheduler that the options describe, tie rule ALL_TIES included.

    Says which of them the policy does not look at. No error: a script that asks several policies
    may give all of them the same options.
    """
    policy, threshold = options["policy"], threshold_of(options["threshold"])
    costs = Costs(**{name: options.pop(f"cost_{name}") for name in _COSTS})
    used = looked_at(policies()[policy], costs)
    unused = [name for name in POLICY_OPTIONS if options[name] is not None and name not in used]
    if unused:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        say(f"{policy} does not look at {words}")
    given = {name: value for name, value in options.items() if value is not None}
    return Scheduler(**{**given, "threshold": threshold}, costs=costs)


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
    yield from (f"{name}: {text}" for name, text in schedule_facts(answer))
    for wait in answer.get("waits", ())[:1]:
        yield (
            f"longest wait: {wait['end'] - wait['start']}, {wait['task']} (job {wait['job']}) for"
            f" {wait['lock']}, held by {wait['holder']}, from {wait['start']} to {wait['end']}"
        )
    if answer["tasks"]:
        yield ""
        yield partial(print_part, tasks_table(system, answer))
    if chains := answer.get("chains"):
        yield ""
        yield partial(print_part, chains_table(chains, answer["unit"]))
    yield from (f"{kind}: {path}" for kind, path in written.items())
