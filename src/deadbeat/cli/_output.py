"""Talk to people on stderr, answers on stdout: tables, JSON, progress."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import click
from attrs import define, field

from deadbeat.kinds.contention.events import (
    Event,
    Finished,
    Phase,
    RunDone,
    RunFailed,
    Started,
)
from deadbeat.report import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

print_table = terminal.print_table


def say(text: str) -> None:
    """One line for the person, on stderr."""
    click.echo(f"deadbeat: {text}", err=True)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False))


def duration(seconds: float) -> str:
    """``2 min 5 s``, ``3 h 10 min``; whole seconds."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(count: float) -> str:
    """Bytes in decimal units: ``8.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


#: Runs without a result that are named while a campaign runs; all of them are in the report.
FAILURES_TOLD = 3


def _stderr() -> Console:
    from rich.console import Console  # noqa: PLC0415  as print_table

    return Console(stderr=True, highlight=False)


@define
class Watch:
    """Draws a campaign's progress on stderr when told of an event, never by itself.

    A bar with ETA on a terminal; elsewhere a line at every twentieth of the runs.
    """

    label: str
    _console: Console = field(factory=_stderr)
    _progress: Progress | None = None
    _bar: TaskID | None = None
    _told: int = -1
    _failures: int = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

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
                    self.count(done, total, eta, unit="runs")
                else:
                    self._count_points(done, total, eta, decided)
            case RunFailed(key=key, reason=reason):
                self._failures += 1
                if self._failures <= FAILURES_TOLD:
                    self.note(f"run {key.text} has no result: {reason}")
                if self._failures == FAILURES_TOLD:
                    self.note("further runs without a result are counted at the end")
            case Finished():
                pass

    def share(self, done: float) -> None:
        """Progress of something that is no campaign."""
        self._draw(self.label, done, "", tell=done == 0)

    def count(self, done: int, total: int, eta_s: float, *, unit: str) -> None:
        """Progress of something that is counted in ``unit``."""
        share = done / total if total else 1.0
        # Before the first is done nobody knows how long they take.
        time = duration(eta_s) if eta_s >= 1 else "less than 1 s"
        ahead = f", {time} left" if 0 < done < total else ""
        left = f"{done} of {total} {unit}{ahead}"
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
