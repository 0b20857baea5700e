"""Runs a program, or joins one that runs, and records what it does."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
from attrs import frozen

from deadbeat.build.toolchain import Toolchain
from deadbeat.derive.recorder import Recorder
from deadbeat.derive.records import Recording
from deadbeat.derive.shim import Shim
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.model.errors import TargetError
from deadbeat.store.files import read_bytes
from deadbeat.targets import marks
from deadbeat.targets.base import Target, is_here
from deadbeat.targets.guarded import GuardedProgram, TargetProgram, shared_path
from deadbeat.targets.local import HostKeeper


@frozen(kw_only=True, eq=False)
class Watched:
    """What was recorded of a program. ``status``: as `subprocess` has it; None: it did not end.
    ``stood``: how it stood still; ``stopped``: the interrupt that ended it."""

    recording: Recording
    marks: marks.Marks
    seconds: float
    status: int | None = None
    stood: str = ""
    stopped: KeyboardInterrupt | None = None


#: Jobs that a program elsewhere can mark: 2 MB, which are sent there and back.
_FEW_MARKS = 1 << 16
#: Ends with the process.
_UNTIL_END = 'while [ -e "/proc/$0" ]; do sleep 0.2 2>/dev/null || sleep 1; done'


def joined(spec: ProgramSpec, pid: int, target: Target, toolchain: Toolchain) -> Watched:
    """Watch a process, which goes on as it was, until it ends or Ctrl-C."""
    with Recorder(target, toolchain) as recorder:
        recorder.begin(pid)
        began = time.monotonic()
        ends = target.start(("sh", "-c", _UNTIL_END, str(pid)))
        with suppress(KeyboardInterrupt, TargetError), ends:
            ends.read_line(spec.duration)
        seconds = time.monotonic() - began
        recording = recorder.finish()
    none = marks.Marks(tasks=(), records=np.zeros(0, marks.FIELDS), dropped=0)
    return Watched(recording=recording, marks=none, seconds=seconds)


def watched(spec: ProgramSpec, output: int | None, target: Target, toolchain: Toolchain) -> Watched:
    """Run the command of ``spec``; its output goes to ``output``, None: to ours."""
    stopped: KeyboardInterrupt | None = None
    with ExitStack() as held:
        recorder = held.enter_context(Recorder(target, toolchain))
        own, blind = os.environ.get("LD_PRELOAD", "") * is_here(target), recorder.blind
        shim = held.enter_context(
            Shim(target, spec.command, toolchain=toolchain, preloaded=own, sleeps=blind)
        )
        path = _marks(target, held)
        more = {marks.VARIABLE: path, **shim.environment}
        began = time.monotonic()
        program = (
            GuardedProgram(
                spec.command, more=more, quiet=False, output=output, ready=recorder.begin
            )
            if is_here(target)
            else TargetProgram(
                target, spec.command, more=more, output=output or 1, ready=recorder.begin
            )
        )
        ended = False
        try:
            ended = program.wait(spec.duration)
        except KeyboardInterrupt as interrupt:  # what was measured until now is kept
            stopped = interrupt
        finally:
            seconds = time.monotonic() - began
            try:
                recording = recorder.finish()
            finally:
                status = program.close()
            recording = shim.finish(recording)
        found = _marked(target, path)
    return Watched(
        recording=recording,
        marks=found,
        seconds=seconds,
        status=status if ended else None,
        stood=program.stood,
        stopped=stopped,
    )


def _marks(target: Target, held: ExitStack) -> str:
    """The file for marks, removed at the end of ``held`` or if we are killed."""
    if is_here(target):
        path = shared_path("deadbeat-marks", marks.bytes_of())
        held.callback(HostKeeper('rm -f -- "$0"', str(path)).call_off)
        held.callback(path.unlink, missing_ok=True)
        marks.create(path)
        return str(path)
    there = f"{target.folder}/marks"
    with tempfile.TemporaryDirectory() as folder:
        marks.create(Path(folder, "marks"), _FEW_MARKS)
        target.put(Path(folder, "marks"), there)
    held.callback(target.run, ("rm", "-f", there))
    return there


def _marked(target: Target, path: str) -> marks.Marks:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(path)
        if not is_here(target):
            here = Path(folder, "marks")
            target.get(path, here)
        data = read_bytes(here, what="file of marks", hint="did the program remove it?")
    return marks.read(data, path)
