"""Runs a program, or joins one that runs, and records what it does."""

from __future__ import annotations

import os
import select
import time
from contextlib import ExitStack, closing, suppress

import numpy as np
from attrs import frozen

from deadbeat.derive.recorder import Recorder
from deadbeat.derive.records import Recording
from deadbeat.derive.shim import Shim
from deadbeat.kinds.program.spec import ProgramSpec
from deadbeat.store.files import read_bytes
from deadbeat.targets import marks
from deadbeat.targets.guarded import GuardedProgram, shared_path
from deadbeat.targets.local import LocalTarget


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


def joined(spec: ProgramSpec, pid: int) -> Watched:
    """Watch a process, which goes on as it was, until it ends or Ctrl-C."""
    with closing(LocalTarget()) as here, Recorder(here) as recorder:
        recorder.begin(pid)
        began, poll = time.monotonic(), select.poll()
        with suppress(KeyboardInterrupt, ProcessLookupError), ExitStack() as held:
            file = os.pidfd_open(pid)
            held.callback(os.close, file)
            poll.register(file, select.POLLIN)
            poll.poll(None if spec.duration is None else spec.duration * 1000)
        seconds = time.monotonic() - began
        recording = recorder.finish()
    none = marks.Marks(tasks=(), records=np.zeros(0, marks.FIELDS), dropped=0)
    return Watched(recording=recording, marks=none, seconds=seconds)


def watched(spec: ProgramSpec, output: int | None) -> Watched:
    """Run the command of ``spec``; its output goes to ``output``, None: to ours."""
    stopped: KeyboardInterrupt | None = None
    with ExitStack() as held:
        here = held.enter_context(closing(LocalTarget()))
        recorder = held.enter_context(Recorder(here))
        own = os.environ.get("LD_PRELOAD", "")
        shim = Shim(here, spec.command, preloaded=own, sleeps=recorder.blind)
        held.enter_context(shim)
        path = shared_path("deadbeat-marks", marks.bytes_of())
        held.callback(path.unlink, missing_ok=True)
        marks.create(path)
        began = time.monotonic()
        program = GuardedProgram(
            spec.command,
            more={marks.VARIABLE: str(path), **shim.environment},
            file=str(path),
            quiet=False,
            output=output,
            ready=recorder.begin,
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
        data = read_bytes(path, what="file of marks", hint="did the program remove it?")
    return Watched(
        recording=recording,
        marks=marks.read(data, str(path)),
        seconds=seconds,
        status=status if ended else None,
        stood=program.stood,
        stopped=stopped,
    )
