"""What commands do with the folder of a measured program."""

from __future__ import annotations

import random
import re
import shlex
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from attrs import define, evolve

from deadbeat.derive.recorder import Recorder
from deadbeat.experiment.base import FolderExperiment, Lost, Watcher
from deadbeat.host.environment import environment_of, platform_from_environment
from deadbeat.kinds.base import Begin, Begun, Shown
from deadbeat.kinds.program.document import COLUMNS, answer, document, rows, summary_dict
from deadbeat.kinds.program.results import (
    FOLDERS,
    ProgramKey,
    ProgramRun,
    ProgramStore,
    plan,
    summarise,
    tasks_of,
)
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.kinds.program.traced import traced, worst_jobs
from deadbeat.kinds.table import TableKind, begun_store
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.finding import Finding, Severity
from deadbeat.model.specification import read
from deadbeat.model.words import shortened
from deadbeat.report.machines import Verdicted
from deadbeat.settings.tune import with_tuning
from deadbeat.store.files import read_bytes
from deadbeat.targets import marks
from deadbeat.targets.base import LOCAL
from deadbeat.targets.guarded import GuardedProgram, ended_words, found, shared_path
from deadbeat.targets.local import LocalTarget

#: What a program that marks nothing lacks.
ADD = (
    "in C, #include <deadbeat.h> and put DEADBEAT_RELEASE(0, 0) and DEADBEAT_FINISH(0) around a"
    " job; in Python, put it in a block: with deadbeat.mark(0)"
)


@define(eq=False, slots=False)
class ProgramExperiment(FolderExperiment[ProgramKey, ProgramRun]):
    _spec: ProgramSpec
    _simulated: bool = False
    _output: int | None = 2  # where its output goes

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
        with ExitStack() as held:
            held.callback(path.unlink, missing_ok=True)
            here = held.enter_context(closing(LocalTarget()))
            recorders: list[Recorder] = []

            def ready(pid: int) -> None:
                recorders.append(held.enter_context(Recorder(here, pid=pid)))

            program = GuardedProgram(
                self._spec.command,
                more={marks.VARIABLE: str(path)},
                file=str(path),
                quiet=False,
                output=self._output,
                ready=ready,
            )
            ended = False
            try:
                ended = program.wait(self._spec.duration)
            except KeyboardInterrupt as interrupt:  # what was measured until now is kept
                stopped = interrupt
            finally:
                seconds = time.monotonic() - began
                try:
                    recording = recorders[0].finish()
                finally:
                    status = program.close()
            data = read_bytes(path, what="file of marks", hint="did the program remove it?")
            seen = traced(recording, dict(self._spec.deadline))
        found = marks.read(data, str(path))
        if not len(found.records) and not seen.known:
            if stopped is not None:
                raise stopped
            raise DeadbeatError(
                f"{self._spec.command[0]} ended {ended_words(status)}, and no job was found"
                if ended
                else f"no job of {self._spec.command[0]} was found in {seconds:.1f} s",
                "; ".join([*(f"not seen: {line}" for line in seen.not_seen), ADD]),
            )
        yield ProgramRun(
            key=key,
            started=started,
            seconds=seconds,
            status=-signal.SIGINT if stopped else status if ended else None,
            tasks=tasks_of(found, self._spec),
            traced=seen,
            problems=tuple(self._problems(found, program, ended, seconds, stopped)),
        )
        if stopped is not None and self._spec.repeats > 1:
            raise stopped

    def _problems(
        self,
        found: marks.Marks,
        program: GuardedProgram,
        ended: bool,
        seconds: float,
        stopped: KeyboardInterrupt | None,
    ) -> list[Finding]:
        status = program.status or 0
        problems = []

        def problem(id: str, severity: Severity, message: str) -> None:
            problems.append(Finding(id=id, severity=severity, message=message))

        count = f"{len(found.records):,}"
        if stopped is not None:
            problem("ended-early", "info", f"interrupted after {seconds:.1f} s")
        elif ended and (status or self._spec.duration):
            text = f"the program ended by itself after {seconds:.1f} s {ended_words(status)}"
            text += f", {count} jobs marked" * (status < 0)
            problem("program-ended", "invalid" if status < 0 else "warning", text)
        if program.stood:
            problem("stood-still", "invalid", f"the program {program.stood}")
        if found.dropped:
            text = f"{found.dropped:,} jobs after the first {count} are not recorded"
            problem("marks-dropped", "warning", text)
        return problems

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


def begin(asked: Begin) -> Begun:
    """Makes the folder of a measured program, or finds the one to continue."""
    base, typed = asked.without_preset({"quick": {"duration": 10.0}})
    spec = read(ProgramSpec, base, asked.written, typed, names=asked.names)
    if asked.target not in (None, LOCAL):
        raise UsageError(
            f"--target {asked.target}: deadbeat run measures a program on this machine alone",
            "run deadbeat there",
        )
    if not asked.simulated:
        found(spec.command[0])
    if "name" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, name=_named(spec.command))
    platform = example_platform()
    if not asked.simulated:
        with closing(LocalTarget()) as here:
            environment = environment_of(here, now=datetime.now(UTC), more={})
            online = environment["cpus_online"]
            cpus = online if isinstance(online, list) else []
            made = platform_from_environment(environment, cpus=cpus, kind=here.kind, name=here.name)
            platform = with_tuning(made, here)
    runs = plan(spec)
    each_s = None if asked.simulated else spec.duration
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        runs,
        seconds=lambda left: None if each_s is None else left * each_s,
        details=f"{shortened(shlex.join(spec.command))},"
        f" {f'{spec.duration:g} s each' if spec.duration else 'each until it ends'}",
    )
    experiment = ProgramExperiment(
        spec,
        asked.simulated,
        2 if asked.as_json else None,
        store=store,
        planned=runs,
        retry_invalid=asked.retry_invalid,
    )
    return Begun(experiment=experiment)


def _named(command: Sequence[str]) -> str:
    """After the last word that is a file: the script, not the interpreter or ``chrt`` before it."""
    files = [word for word in command if Path(word).is_file()]
    name = Path((files or command)[-1 if files else 0]).stem
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64]
    return "program" if plain in ("", "latest") else plain


_TABLE = TableKind(
    name="program",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=lambda found, store: document(found, store.platform),
    plain=summary_dict,
    rows=rows,
    columns=COLUMNS,
    cases=lambda found: [
        Verdicted(
            name=cell.name,
            group="program.misses",
            weight=cell.misses,
            verdict="failed" if cell.misses else "passed",
            message=f"{cell.misses:,} of {cell.jobs:,} jobs, allowed: 0",
        )
        for cell in found.cells
        if cell.deadline_ns
    ],
    empty=lambda found: not found.cells and found.traced is None,
    judged=lambda found, store: {"status": found.status},
)


def _why(path: Path, worst: int) -> Shown:
    """Why jobs were late, one by one."""
    found = summarise(ProgramStore.open(path)).traced
    lines = worst_jobs(found, worst) if found else ("No job of a run that counts was traced.",)
    return evolve(_TABLE.show(path), lines=lines)


KIND = _TABLE.kind(begin, why=_why)
