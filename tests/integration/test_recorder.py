"""Truth: what a program does by its own text, and this machine's tracefs."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.tracefs import look

from deadbeat.derive.recorder import Recorder
from deadbeat.derive.records import Kind
from deadbeat.targets.guarded import GuardedProgram
from deadbeat.targets.local import LocalTarget

pytestmark = pytest.mark.hardware
LOOP = "import time\nfor _ in range(20): time.sleep(0.01); sum(range(20_000))"
KILLED = """
import os, signal, time
from deadbeat.derive.recorder import Recorder
from deadbeat.targets.local import LocalTarget
recorder = Recorder(LocalTarget())
recorder.begin(os.getpid())
print(recorder._tracer.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_loop_is_recorded_whole() -> None:
    """Whatever the machine does meanwhile: no figure here is a matter of time."""
    if look() is None:
        pytest.skip("tracefs cannot be mounted here")
    with LocalTarget() as target, Recorder(target) as recorder:
        program = GuardedProgram((sys.executable, "-S", "-c", LOOP), ready=recorder.begin)
        program.wait(60)
        found = recorder.finish()
        assert program.close() == 0
    (thread,) = found.threads
    assert (found.lost, found.not_seen) == (0, ())
    own = found.events[found.events["tid"] == thread.tid]
    call = {name: number for number, name in found.calls.items()}["clock_nanosleep"]
    entered = own[(own["kind"] == Kind.ENTER) & (own["a"] == call)]
    left = own[(own["kind"] == Kind.EXIT) & (own["a"] == call)]
    timers = own[own["kind"] == Kind.SLEEP_TIMER]
    assert len(entered) == len(left) == len(timers) == 20
    assert np.all(timers["ns"] >= entered["ns"]) and np.all(left["ns"] >= timers["a"])
    assert np.all(np.diff(timers["a"]) >= 10_000_000)
    switches = found.events[found.events["kind"] == Kind.SWITCH]
    goes, comes = (int(np.sum(switches[key] == thread.tid)) for key in ("tid", "a"))
    assert (
        goes >= 20 and 1 <= comes <= goes + 1
    )  # some kernels keep switches from idle to themselves
    charged = own[(own["kind"] == Kind.RUNTIME) & (own["ns"] <= thread.sampled_ns)]["a"].sum()
    assert charged == pytest.approx(thread.cpu_ns, rel=0.01, abs=100_000)


def test_a_killed_recorder_leaves_no_instance() -> None:
    if look() is None:
        pytest.skip("tracefs cannot be mounted here")
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    name = done.stdout.strip().rpartition("/")[2]
    assert name.startswith("deadbeat-")
    until = time.monotonic() + 30
    while name in (look() or "").split() and time.monotonic() < until:
        time.sleep(0.05)
    assert name not in (look() or "").split()
