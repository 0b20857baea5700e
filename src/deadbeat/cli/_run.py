"""Carries out what a command measures: progress, interrupts, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import click
from attrs import define, field
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from deadbeat.cli._options import (
    budget_seconds,
    experiment_options,
    file_option,
    to_repeat,
    typed,
    value_options,
)
from deadbeat.cli._output import duration, print_shown, say
from deadbeat.cli._signals import INTERRUPTED
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
from deadbeat.kinds import KINDS
from deadbeat.kinds.base import Begin
from deadbeat.kinds.registry import kind_of
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import names_in_file, options_of, read
from deadbeat.store.latest import point_latest
from deadbeat.store.tomlfile import read_toml

K = TypeVar("K")
R = TypeVar("R")
E = TypeVar("E", bound=Experiment[Any, Any])


def carry_out(
    begin: Callable[[], E],
    answer: Callable[[E, Outcome[Any]], int],
    options: Mapping[str, Any],
    words: Sequence[str],
) -> int:
    """Runs an experiment; returns the exit status.

    Args:
        begin: Says what will happen, and makes the folder unless it is there.
        answer: Summarises what the experiment has stored, prints, and tells the exit status.
        options: Those of `experiment_options`.
        words: The command as typed, to be named where it can be repeated.
    """
    budget = options["time_budget"]
    budget_s = None if budget is None else budget_seconds(budget)
    experiment = None
    try:
        experiment = begin()
        outcome = watched(experiment, budget_s=budget_s)
        status = answer(experiment, outcome)
    except KeyboardInterrupt:
        return interrupted(experiment, to_repeat(words, retrying=True))
    if not outcome.complete and budget_s is not None and not options["as_json"]:
        click.echo(
            f"the time is over, {outcome.done} {experiment.unit} are kept; continue with:"
            f" {to_repeat(words)}"
        )
    return status


def watched(experiment: Experiment[K, R], *, budget_s: float | None = None) -> Outcome[K]:
    """Runs an experiment, and shows its progress."""
    with Watch(experiment.store.path.name, unit=experiment.unit) as watch:
        return run(experiment, on_event=watch, budget_s=budget_s)


def interrupted(experiment: Experiment[Any, Any] | None, again: str) -> int:
    """Says what is kept of an interrupted experiment; None: it was not begun."""
    if experiment is None:
        say("interrupted before anything was begun")
    else:
        path = experiment.store.path
        say(f"interrupted: {experiment.kept()} are kept in {path}; continue with: {again}")
    return INTERRUPTED


def command_of(name: str) -> click.Command:
    """The command of a kind that has none of its own, made of the fields of its specification."""
    kind = kind_of(name)
    spec, begin = kind.spec, kind.begin
    assert spec is not None
    assert begin is not None
    values = options_of(spec)

    @click.command(name, help=KINDS[name][1])
    @value_options(values)
    @file_option
    @experiment_options(budget=True)
    @click.pass_context
    def command(ctx: click.Context, /, **options: Any) -> int:
        layer, names = typed(values, options)
        file, called = written(options["campaign_file"], name, kind.folder.noun)
        asked = read(spec, file, layer, names={**called, **names})
        begun = Begin(runs=options["runs"], fresh=options["fresh"])

        def answer(experiment: Experiment[Any, Any], outcome: Outcome[Any]) -> int:
            path = experiment.store.path
            point_latest(path.parent, path.name)
            print_shown(kind.report(path, options["figures"]), as_json=options["as_json"])
            if not options["as_json"]:
                tell_failed(outcome, to_repeat(ctx.find_root().obj or [name]))
            return int(not outcome.done)

        words = ctx.find_root().obj or [name]
        return carry_out(lambda: begin(asked, begun), answer, options, words)

    return command


def written(file: Path | None, verb: str, noun: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What the file of ``--campaign`` asks for, and what its keys are called in messages.

    Raises:
        UsageError: It is of another command.
    """
    values = {} if file is None else read_toml(file)
    mode = values.pop("mode", verb)
    if mode != verb:
        hint = f"deadbeat {mode} --campaign {shlex.quote(str(file))}"
        raise UsageError(f"{file} is a {mode} campaign, not a {noun}", hint)
    return values, {} if file is None else names_in_file(file, values)


def tell_failed(
    outcome: Outcome[Any], again: str, tell: Callable[[str], None] = click.echo
) -> None:
    """Tells that runs have no result, and how to repeat them."""
    if not outcome.failed:
        return
    name, reason = min((key.text, reason) for key, reason in outcome.failed.items())
    tell(
        f"{len(outcome.failed)} of {outcome.planned} runs have no result, for example {name}:"
        f" {reason}"
    )
    tell(f"measure them again: {again}")


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
    _told: int = -1
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
                if decided is None:
                    self._count(done, total, eta)
                else:
                    self._count_points(done, total, eta, decided)
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

    def _count(self, done: int, total: int, eta_s: float) -> None:
        share = done / total if total else 1.0
        # Before the first is done nobody knows how long they take.
        time = duration(eta_s) if eta_s >= 1 else "less than 1 s"
        ahead = f", {time} left" if 0 < done < total else ""
        left = f"{done} of {total} {self.unit}{ahead}"
        twentieth = int(share * 20)
        self._draw(self.label, share, left, tell=twentieth != self._told)
        self._told = twentieth

    def _count_points(self, done: int, total: int, eta_s: float, decided: tuple[int, int]) -> None:
        """Progress where each point stops when it is known: the end is an estimate."""
        points, of = decided
        left = f"{points} of {of} points known, {done} runs"
        left += f", about {duration(eta_s)} left" if done else ""
        share = done / total if total else 1.0
        self._draw(self.label, share, left, tell=points != self._told or done % 50 == 0)
        self._told = points

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
