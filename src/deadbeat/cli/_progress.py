"""Progress of what is measured, on stderr."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import click
from attrs import define, field
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from deadbeat.base.experiment.base import Event, Known, Phase, RunDone, RunFailed, Started
from deadbeat.base.model.words import duration
from deadbeat.base.report.document import ROWS, CellMap, Table
from deadbeat.base.report.lines import broken, clean
from deadbeat.base.report.terminal import picture_lines, plain_lines
from deadbeat.cli._output import say

#: Runs without a result that are named while an experiment runs; all of them are in the report.
FAILURES_TOLD = 3


#: Seconds between two pictures of what was measured so far, at least, and as a multiple of what one
#: takes.
_PICTURE_S, _PICTURE_PAUSE = 0.5, 20
#: Lines of a screen that a picture leaves free.
_AROUND = 6


@define
class Watch:
    """Draw an experiment's progress on stderr at an event, never unprompted.

    A bar with ETA on a terminal, and below it what was measured so far; elsewhere a line at every
    twentieth of the runs.
    """

    label: str
    unit: str = field(default="runs", kw_only=True)
    so_far: Callable[[], Table | CellMap | None] | None = field(default=None, kw_only=True)
    _console: Console = field(factory=lambda: Console(stderr=True, highlight=False))
    _clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    _live: Live | None = None
    _picture: Text = field(factory=Text)
    _due: float = -math.inf
    _told: tuple[int, int] = (-1, 0)
    _failures: int = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            # No refresh thread: it would run on a core that is being measured.
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.update("")  # its end would show what was beyond the screen
            self._live.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case Phase(name=name, share=share):
                self._draw(f"{self.label}: {name}", share, "", tell=share == 0)
            case Known(words=words, table=table):
                if words:
                    self.note(words)
                for line in plain_lines(table, self._console.width if self._live else None):
                    self._print(line)
            case (
                Started(total=total, done=done, eta_s=eta, decided=decided)
                | RunDone(total=total, done=done, eta_s=eta, decided=decided)
            ):
                self._look(done)
                self._count(done, total, eta, decided)
                if isinstance(event, RunDone) and event.doubt:
                    self.note(f"run {event.key.text} is invalid: {event.doubt}")
            case RunFailed(key=key, reason=reason):
                self._failures += 1
                if self._failures <= FAILURES_TOLD:
                    self.note(f"run {key.text} has no result: {reason}")
                if self._failures == FAILURES_TOLD:
                    self.note("further runs without a result are counted at the end")

    def _look(self, done: int) -> None:
        """The picture of what is stored, on a terminal; it takes little of the time."""
        began = self._clock()
        if self.so_far is None or self._live is None or not done or began < self._due:
            return
        with suppress(Exception):  # the summary says what is wrong; the runs go on
            rows = max(ROWS, self._console.height - _AROUND)
            lines = picture_lines(self.so_far(), self._console.width, rows=rows)
            self._picture = Text("\n".join(lines[: rows + 2]), no_wrap=True, overflow="ellipsis")
        now = self._clock()
        self._due = now + max(_PICTURE_S, _PICTURE_PAUSE * (now - began))

    def share(self, done: float, left: str = "", *, tell: bool = False) -> None:
        """Progress of something that is no experiment.

        Args:
            left: What is said of it. ``tell``: also without a terminal.
        """
        self._draw(self.label, done, left, tell=tell or (done == 0 and not left))

    def _count(self, done: int, total: int, eta_s: float, decided: tuple[int, int] | None) -> None:
        """``decided``: points that are known, of how many, where each stops when it is."""
        share, known = done / total if total else 1.0, math.isfinite(eta_s)
        time = "less than 1 s" if eta_s < 1 else duration(eta_s) if known else ""
        if decided is None:
            left, step = f"{done:,} of {total:,} {self.unit}", (int(share * 20), int(known))
        else:  # the end is an estimate
            left, step = (
                f"{decided[0]} of {decided[1]} decided, {done:,} runs",
                (decided[0], done // 50),
            )
            time = f"about {time}" if eta_s >= 1 else time
        # Before the first is done their time is unknown.
        left += f", {self._failures} without a result" if self._failures else ""
        left += f", {time} left" if 0 < done < total and known else ""
        self._draw(self.label, share, left, tell=step != self._told)
        self._told = step

    def _draw(self, text: str, share: float, left: str, *, tell: bool) -> None:
        if self._live is None:
            if tell:
                say(f"{text}: {left}" if left else text)
            return
        line = Grid.grid(Column(no_wrap=True), Column(), Column(no_wrap=True), padding=(0, 1))
        bar = ProgressBar(total=1.0, completed=share, width=40)
        line.add_row(text, bar, f"{100 * share:3.0f} %  {left}")
        self._live.update(Group(line, self._picture), refresh=True)

    def note(self, text: str) -> None:
        """One line beside the progress."""
        self._print(f"deadbeat: {text}")

    def _print(self, line: str) -> None:
        if self._live is not None:
            for each in broken(clean(line), self._console.width):
                self._console.print(each, markup=False, soft_wrap=True)
        else:
            click.echo(line, err=True)
