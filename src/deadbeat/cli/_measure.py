"""Carries out what a command measures: progress, interrupts, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import click
from attrs import define, evolve, field
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from deadbeat.cli._options import budget_seconds, to_repeat, words_typed
from deadbeat.cli._output import print_shown, say
from deadbeat.cli._signals import INTERRUPTED
from deadbeat.cli.measuring import Layer
from deadbeat.experiment.base import (
    Event,
    Experiment,
    Outcome,
    Phase,
    RunDone,
    RunFailed,
    Started,
)
from deadbeat.experiment.run import run
from deadbeat.kinds.base import MADE_UP, Begin, Begun, ExperimentKind, Shown
from deadbeat.kinds.registry import kind_of
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.specification import names_in_file
from deadbeat.model.words import duration
from deadbeat.report.machines import Verdicted
from deadbeat.store.files import read_toml
from deadbeat.store.place import point_latest

#: What a file of a campaign that does not say its mode has a section of.
_SECTIONS = {"grid": "profile", "stress": "stress"}


class Told(KeyboardInterrupt):
    """An interrupt of which the person has been told what is kept."""


def measure(
    command: str,
    name: str,
    asked: Layer,
    given: Mapping[str, object],
    /,
    *,
    file: Path | None,
    time_budget: str | None,
    runs: Path,
    fresh: bool,
    figures: bool,
    as_json: bool,
    retry: bool | None = None,
    simulated: bool = False,
    quick: bool | None = None,
    fail_on: str | None = None,
    junit: Path | None = None,
    annotations: bool = False,
    **_others: object,
) -> int:
    """Measures what a command asks for; returns the exit status.

    Args:
        name: Row of `KINDS`.
        asked: What of the specification was typed. ``given``: options of this command alone.
        retry: None: the command has no such option.
    """
    kind = kind_of(name)
    words = words_typed(command)
    written = _written(file, command)
    begin = Begin(
        runs=runs,
        written=written.values,
        typed=asked.values,
        names={**written.names, **asked.names},
        fresh=fresh,
        retry_failed=bool(retry),
        retry_invalid=bool(retry),
        simulated=simulated,
        given={**given, "quick": quick},
        words=words,
        say=say,
    )
    with begin.held:
        try:
            begun, outcome = carried_out(
                kind, begin, budget_s=None if time_budget is None else budget_seconds(time_budget)
            )
        except Told:
            return INTERRUPTED
        try:
            say("summarise and draw")
            shown = report(kind, begun, figures)
        except KeyboardInterrupt:
            _say_kept(begun.experiment, words)
            return INTERRUPTED
    again, experiment = to_repeat(words), begun.experiment
    notes = []
    if outcome.failed:
        first, reason = min((key.text, reason) for key, reason in outcome.failed.items())
        lacking = f"{len(outcome.failed)} of {outcome.planned} runs have no result"
        option = "" if retry is None else " --retry"
        notes += [
            f"{lacking}, for example {first}: {reason}",
            f"measure them again: {again}{option}",
        ]
    if shown.invalid and retry is not None:
        notes.append(f"measure the invalid ones again: {again} --retry")
    if as_json:
        for note in notes:
            say(note)
    answer = evolve(shown, lines=(*notes, *shown.lines), cases=_cases(shown, fail_on))
    print_shown(answer, as_json=as_json, command=command, junit=junit, annotations=annotations)
    if not outcome.complete and time_budget is not None and not as_json:
        click.echo(
            f"the time is over, {outcome.done} {experiment.unit} are kept; continue with: {again}"
        )
    return DeadbeatError.exit_status if shown.empty else int(fail_on in shown.fails)


def _cases(shown: Shown, fail_on: str | None) -> list[Verdicted]:
    """Whether anything counts, and whether what it is to fail on is so."""
    doubts = shown.document.findings if shown.document else ()
    told = " ".join([shown.headline, *(f"{each.severity}: {each.message}" for each in doubts)])
    asked = {"something-counts": shown.empty}
    if fail_on is not None:
        asked[f"no-{fail_on}"] = fail_on in shown.fails
    return [
        Verdicted(name=name, verdict="failed" if failed else "passed", message=told)
        for name, failed in asked.items()
    ]


def carried_out(
    kind: ExperimentKind, begin: Begin, *, budget_s: float | None = None
) -> tuple[Begun, Outcome[Any]]:
    """Begins or continues, and measures.

    Raises:
        Told: It was interrupted, after it was said what is kept.
    """
    experiment: Experiment[Any, Any] | None = None
    try:
        begun = kind.begin(begin)
        experiment = begun.experiment
        path = experiment.store.path
        point_latest(path.parent, path.name)
        with Watch(path.name, unit=experiment.unit) as watch:
            return begun, run(experiment, on_event=watch, beside=begun.beside, budget_s=budget_s)
    except KeyboardInterrupt:
        _say_kept(experiment, begin.words)
        raise Told from None


def _say_kept(experiment: Experiment[Any, Any] | None, words: Sequence[str]) -> None:
    """Says what is kept of an interrupted experiment; None: it was not begun."""
    if experiment is None:
        say("interrupted before anything was begun")
        return
    kept = f"{experiment.kept()} are kept in {experiment.store.path}"
    say(f"interrupted: {kept}; continue with: {to_repeat(words, retrying=True)}")


def report(kind: ExperimentKind, begun: Begun, figures: bool) -> Shown:
    """Everything derived, and where it is."""
    if begun.report is not None:
        return begun.report(figures)
    return kind.report(begun.experiment.store.path, figures)


def _written(file: Path | None, verb: str) -> Layer:
    """What a file asks for.

    Raises:
        UsageError: It is of another command.
    """
    if file is None:
        return Layer()
    values = read_toml(file)
    found = [mode for section, mode in _SECTIONS.items() if section in values]
    guessed = found[0] if len(found) == 1 and verb in _SECTIONS.values() else verb
    mode = values.pop("mode", guessed)
    if mode != verb:
        hint = f"deadbeat {mode} --campaign {shlex.quote(str(file))}"
        raise UsageError(f"{file} is of deadbeat {mode}, not of deadbeat {verb}", hint)
    return Layer(values, names_in_file(file, values))


def say_simulated(kind: str) -> None:
    """Says that a platform is made up."""
    if kind == "simulated":
        say(MADE_UP)


#: Runs without a result that are named while an experiment runs; all of them are in the report.
FAILURES_TOLD = 3


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)


@define
class Watch:
    """Draws an experiment's progress on stderr when told of an event, never by itself.

    A bar with ETA on a terminal; elsewhere a line at every twentieth of the runs.
    """

    label: str
    unit: str = field(default="runs", kw_only=True)
    _console: Console = field(factory=_stderr)
    _progress: Progress | None = None
    _bar: TaskID | None = None
    _told: tuple[int, int] = (-1, 0)
    _failures: int = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            # No refresh thread: it would run on a core that is being measured.
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %  {task.fields[left]}"),
                console=self._console,
                auto_refresh=False,
                transient=True,
            )
            self._progress.start()
            self._bar = self._progress.add_task(self.label, total=1.0, left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case Phase(name=name, share=share):
                self._draw(f"{self.label}: {name}", share, "", tell=share == 0)
            case (
                Started(total=total, done=done, eta_s=eta, decided=decided)
                | RunDone(total=total, done=done, eta_s=eta, decided=decided)
            ):
                self._count(done, total, eta, decided)
                if isinstance(event, RunDone) and event.doubt:
                    self.note(f"run {event.key.text} is invalid: {event.doubt}")
            case RunFailed(key=key, reason=reason):
                self._failures += 1
                if self._failures <= FAILURES_TOLD:
                    self.note(f"run {key.text} has no result: {reason}")
                if self._failures == FAILURES_TOLD:
                    self.note("further runs without a result are counted at the end")

    def share(self, done: float) -> None:
        """Progress of something that is no experiment."""
        self._draw(self.label, done, "", tell=done == 0)

    def _count(self, done: int, total: int, eta_s: float, decided: tuple[int, int] | None) -> None:
        """``decided``: points that are known, of how many, where each stops when it is."""
        share = done / total if total else 1.0
        time = duration(eta_s) if eta_s >= 1 else "less than 1 s"
        if decided is None:
            left, step = f"{done} of {total} {self.unit}", (int(share * 20), 0)
        else:  # the end is an estimate
            left, step = (
                f"{decided[0]} of {decided[1]} points known, {done} runs",
                (decided[0], done // 50),
            )
            time = f"about {time}"
        # Before the first is done nobody knows how long they take.
        left += f", {time} left" if 0 < done < total else ""
        self._draw(self.label, share, left, tell=step != self._told)
        self._told = step

    def _draw(self, text: str, share: float, left: str, *, tell: bool) -> None:
        if self._progress is None or self._bar is None:
            if tell:
                say(f"{text}: {left}" if left else text)
            return
        self._progress.update(self._bar, description=text, completed=share, left=left)
        self._progress.refresh()

    def note(self, text: str) -> None:
        """One line beside the progress."""
        if self._progress is not None:
            self._progress.console.print(f"deadbeat: {text}", markup=False)
        else:
            say(text)
