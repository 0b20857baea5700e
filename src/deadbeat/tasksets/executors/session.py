"""A built batch on a target, run set by set over the line protocol of runtime/src/host/main.c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from deadbeat.base.model.errors import (
    DataError,
    RunError,
    TargetError,
    UnreachableError,
    UsageError,
)
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import RunTrace
from deadbeat.build.programs import ProgramMachine
from deadbeat.machine.targets.base import Process
from deadbeat.machine.trace.jobs import extract
from deadbeat.machine.trace.session import Tracer
from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.executors.base import UNSCALED_PPM, RunOutcome, RunRequest, RunSettings
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store.jobfile import read_job_table

#: Beyond the guardian's own bound, so that it has the first word.
ANSWER_MARGIN_S = 30.0
#: A program that has not said that it is ready after this long is lost.
START_PATIENCE_S = 600.0
#: The longest run that is believed in, s.
_LONGEST_S = 30 * 86400.0
_NO_SPACE = "No space left on device"


class HardwareSession:
    """A built batch on a target; see :class:`deadbeat.tasksets.executors.base.Session`."""

    def __init__(
        self,
        executor: ProgramMachine,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None,
        injection: Mapping[str, str],
    ) -> None:
        self._executor = executor
        self._settings = settings
        self._injection = injection
        #: Thread number on the machine -> task index, in the last run with ``causes``.
        self.threads: dict[int, int] = {}
        self._index = {
            request.key: number
            for number, request in enumerate(requests)
            if request.task_set.cores <= len(executor.cpus)
        }
        self.source = emit_batch([request.task_set for request in requests])
        if program is None:
            program = executor.linked(self.source)
        self.program = program
        self._process: Process | None = None
        self._tracer: Tracer | None = None
        self._runs = 0

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        """Runs one task set; see the protocol. The caller sleeps until its result is there."""
        if key not in self._index:
            raise UsageError(f"{key.text} is not in this session", "open one that has it")
        self._runs += 1
        path = f"{self._executor.folder}/{key.text}.{self._runs}.jobs"
        if self._settings.causes:
            self._tracer = self._tracer or self._executor.tracer()
            self._tracer.start()
        try:
            process = self._listening(f"run {self._index[key]} {period_ppm} {path}")
        except BaseException:
            self._end()
            raise
        self.threads = {}
        try:
            with self._executor.understood():
                line = self._answer(process)
        except UnreachableError:  # no other run has a better chance
            self._end()
            raise
        except TargetError as error:
            self._end()
            self._executor.require_connected(path.rpartition("/")[0])
            return RunOutcome(key=key, error=RunError(f"no answer: {error.message}"))
        except BaseException:
            self._end()
            raise
        return self._outcome(key, path, line)

    def _listening(self, command: str) -> Process:
        """The program with ``command`` sent to it; one that died since the last run is replaced."""
        if self._process is not None:
            try:
                self._process.write_line(command)
            except UnreachableError:
                raise
            except TargetError:
                self._end()
            else:
                return self._process
        self._process = self._start()
        self._process.write_line(command)
        return self._process

    def _outcome(self, key: RunKey, path: str, line: str | None) -> RunOutcome:
        words = (line or "").split(" ", 2)
        if words[0] == "done":
            file = self._executor.fetch(path)
            trace, table = self._trace_ends(file)
            return RunOutcome(key=key, file=file, table=table, trace=trace)
        try:
            self._executor.require_connected(path.rpartition("/")[0])
        except TargetError:
            self._end()
            raise
        if words[0] == "fail":
            reason = words[2] if len(words) > 2 else "no reason"
            if _NO_SPACE in reason:
                self._end()
                raise TargetError(
                    f"{self._executor.folder}: no space left for the result of {key.text}",
                    "free some space, or set TMPDIR to another file system; finished runs are kept",
                )
            return RunOutcome(key=key, error=RunError(reason))
        self._end()
        if words[0] == "error" and words[1:2] != ["guardian"]:
            raise self._executor.explain(line or "")
        reason = words[-1] if words[0] == "error" else "the program ended in the middle of a run"
        return RunOutcome(key=key, error=RunError(reason))

    def _trace_ends(self, file: Path) -> tuple[RunTrace | None, JobTable | None]:
        """What happened around the worst jobs in ``file``, None if not asked for; and its jobs,
        where they were read for that."""
        tracer = self._tracer
        if tracer is None:
            return None, None
        tracer.stop()
        text = tracer.text()
        if tracer.unavailable:
            return RunTrace(unavailable=tracer.unavailable), None
        try:
            table = read_job_table(file)
        except DataError as error:
            return RunTrace(unavailable=str(error)), None
        lost, cpus = tracer.lost, tracer.lost_cpus
        trace = extract(table, text, self.threads, lost=lost, lost_cpus=cpus)
        return trace, table

    def _answer(self, process: Process) -> str | None:
        """The line that ends a run. Before it come its bound, which the guardian keeps and which
        is trusted with a margin, and its threads where their events are wanted."""
        patience = START_PATIENCE_S
        while True:
            line = process.read_line(patience)
            word, _, rest = (line or "").partition(" ")
            if word == "bound":
                patience = min(int(rest.split()[1]) / 1e9, _LONGEST_S) + ANSWER_MARGIN_S
            elif word == "threads":
                numbers = rest.split(" ")[1].split(",")  # of threads INDEX NUMBER,NUMBER,...
                self.threads = {int(number): task for task, number in enumerate(numbers)}
            else:
                return line

    def _start(self) -> Process:
        s = self._settings
        options = {
            "--policy": s.policy,
            "--seconds-ns": str(round(s.seconds * 1e9)),
            "--slot-periods": str(s.slot_periods),
            "--warmup": str(s.warmup_jobs),
            "--solo": str(int(s.solo)),
            "--late": str(int(s.overrun == "late")),
            "--split": str(int(s.split)),
            "--one-process": str(int(s.layout == "shared-address-space")),
            "--causes": str(int(s.causes)),
            "--counters": str(int(s.counters)),
        }
        if s.jobs:  # programs of an earlier version do not know it
            options["--jobs"] = str(s.jobs)
        options |= self._injection
        process = self._executor.start_program(self.program, "serve", options)
        line = process.read_line(START_PATIENCE_S)
        if line is None or not line.startswith("ready "):
            words = process.stderr().strip().splitlines()
            process.kill()
            if line and line.startswith("error "):
                raise self._executor.explain(line)
            raise TargetError("the program did not start", words[-1] if words else "")
        return process

    def rest(self) -> None:
        """Ends the program, which the next run starts again."""
        if self._process is not None:
            self._process.close(timeout=10.0)
            self._process = None

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if self._tracer is not None:
            self._tracer.close()
        if kind is None:
            self.rest()
        self._end()
