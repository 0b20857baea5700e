"""Runs a program of the user's and reads what it marked."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from datetime import UTC, datetime

import numpy as np
from attrs import define

from deadbeat.experiment.base import FolderExperiment, Lost, Watcher
from deadbeat.kinds.program.results import ProgramKey, ProgramRun, tasks_of
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.finding import Finding, Severity
from deadbeat.store.files import read_bytes
from deadbeat.targets import marks
from deadbeat.targets.guarded import GuardedProgram, ended_words, shared_path

#: What a program that marks nothing lacks.
ADD = (
    "in C, #include <deadbeat.h> and put DEADBEAT_RELEASE(0, 0) and DEADBEAT_FINISH(0) around a"
    " job; in Python, put it in a block: with deadbeat.mark(0)"
)


@define(eq=False, slots=False)
class ProgramExperiment(FolderExperiment[ProgramKey, ProgramRun]):
    """The runs a folder lacks."""

    _spec: ProgramSpec
    _simulated: bool = False

    def seconds(self, runs: int) -> float:
        return runs * (self._spec.duration or 0)

    def measure(self, tell: Watcher) -> Generator[ProgramRun | Lost[ProgramKey]]:
        for key in self.lacking:
            if self._simulated:
                yield self._made_up(key)
            else:
                yield from self._run(key)

    def _run(self, key: ProgramKey) -> Generator[ProgramRun]:
        path = shared_path("deadbeat-marks", marks.bytes_of())
        marks.create(path)
        started, began = datetime.now(UTC).isoformat(), time.monotonic()
        stopped: KeyboardInterrupt | None = None
        try:
            program = GuardedProgram(
                self._spec.command, more={marks.VARIABLE: str(path)}, file=str(path)
            )
            ended = False
            try:
                ended = program.wait(self._spec.duration)
            except KeyboardInterrupt as interrupt:  # what was marked until now is kept
                stopped = interrupt
            finally:
                seconds = time.monotonic() - began
                status = program.close()
            data = read_bytes(path, what="file of marks", hint="did the program remove it?")
        finally:
            path.unlink(missing_ok=True)
        found = marks.read(data, str(path))
        if not len(found.records):
            if stopped is not None:
                raise stopped
            raise DeadbeatError(
                f"{self._spec.command[0]} ended {ended_words(status)} and marked no job"
                if ended
                else f"{self._spec.command[0]} marked no job in {seconds:.1f} s",
                ADD,
            )
        problems = []
        if stopped is not None:
            problems.append(
                Finding(
                    id="ended-early", severity="info", message=f"interrupted after {seconds:.1f} s"
                )
            )
        elif ended and (status or self._spec.duration):
            text = f"the program ended by itself after {seconds:.1f} s {ended_words(status)}"
            text += f", {len(found.records):,} jobs marked" * (status < 0)
            weight: Severity = "invalid" if status < 0 else "warning"
            problems.append(Finding(id="program-ended", severity=weight, message=text))
        if program.stood:
            text = f"the program {program.stood}"
            problems.append(Finding(id="stood-still", severity="invalid", message=text))
        if found.dropped:
            text = f"{found.dropped:,} jobs after the first {len(found.records):,} are not recorded"
            problems.append(Finding(id="marks-dropped", severity="warning", message=text))
        yield ProgramRun(
            key=key,
            started=started,
            seconds=seconds,
            status=status if ended else None,
            tasks=tasks_of(found, self._spec),
            problems=tuple(problems),
        )
        if stopped is not None:
            raise stopped

    def _made_up(self, key: ProgramKey) -> ProgramRun:
        """A task of 1 ms that mostly takes 0.2 ms."""
        draw, count = random.Random(f"program {key.text}"), 2000
        records = np.zeros(count, marks.FIELDS)
        records["release"] = 10**9 + 10**6 * np.arange(count)
        records["start"] = records["release"] + [int(draw.gauss(8e3, 1e3)) for _ in range(count)]
        took = [int(draw.lognormvariate(12.2, 0.4)) for _ in range(count)]
        records["finish"] = records["start"] + took
        task = marks.MarkedTask(number=0, name="made up", period_ns=10**6, deadline_ns=10**6)
        found = marks.Marks(tasks=(task,), records=records, dropped=0)
        return ProgramRun(
            key=key, started="", seconds=2.0, status=None, tasks=tasks_of(found, self._spec)
        )
