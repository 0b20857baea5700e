"""Truth: signal(7). What was stopped meanwhile measured the stop, and gives no result."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from helpers.hardware import executor

from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.model.errors import RunError

pytestmark = pytest.mark.hardware


def descendants(pid: int) -> list[int]:
    """Processes below ``pid``, as /proc has them."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def stop(pids: list[int], seconds: float) -> None:
    for number, pause in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0.0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        time.sleep(pause)


@pytest.mark.parametrize("which", [slice(None), slice(-1, None)], ids=["all", "the last child"])
def test_what_was_stopped_has_no_result(which: slice) -> None:
    """All its processes, or one that measures; the next is as ever."""
    with executor() as machine:
        measured_and_stopped(machine, which)


def measured_and_stopped(machine: HardwareExecutor, which: slice) -> None:
    before = set(descendants(os.getpid()))
    begun = threading.Event()

    def stopper() -> None:
        assert begun.wait(30)
        time.sleep(0.5)
        own = [pid for pid in descendants(os.getpid()) if pid not in before]
        stop(own[which], 0.4)

    thread = threading.Thread(target=stopper)
    thread.start()
    options = {
        "--seconds-ns": "2000000000",
        "--interval-ns": "1000000",
        "--worst": "1",
        "--out": f"{machine.folder}/stopped",
    }
    with pytest.raises(RunError, match=r"stood still: it was stopped \(SIGCONT came "):
        for line in machine.converse("probe", "other", options, timeout=30):
            if line.startswith("threads "):
                begun.set()
    thread.join()
    assert [*machine.converse("probe", "other", options, timeout=30)][-1].startswith("done ")
