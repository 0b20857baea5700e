"""Truth: signal(7). What was stopped meanwhile measured the stop, and gives no result."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from helpers.hardware import executor
from helpers.processes import children

from deadbeat.base.model.errors import RunError
from deadbeat.tasksets.executors.hardware import HardwareExecutor

pytestmark = pytest.mark.hardware


def descendants(pid: int) -> list[int]:
    """Processes below ``pid``, as /proc has them."""
    found, new = [], [pid]
    while new:
        new = [child for parent in new for child in children(parent)]
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


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def freezer() -> Iterator[Path]:
    made = FREEZER / f"deadbeat-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError:
        pytest.skip("no freezer of control groups version 1 here")
    try:
        yield made
    finally:
        (made / "freezer.state").write_text("THAWED")
        for pid in (made / "cgroup.procs").read_text().split():
            with suppress(OSError):
                (FREEZER / "cgroup.procs").write_text(pid)
        made.rmdir()


def test_what_was_frozen_has_no_result(freezer: Path) -> None:
    """A frozen process gets no signal, as a paused machine gives none."""
    before = set(descendants(os.getpid()))
    options = {"--seconds-ns": "3000000000", "--interval-ns": "1000000", "--worst": "1"}

    def freeze() -> None:
        time.sleep(0.5)
        for pid in set(descendants(os.getpid())) - before:
            with suppress(OSError):
                (freezer / "cgroup.procs").write_text(str(pid))
        for state, pause in (("FROZEN", 1.2), ("THAWED", 0.0)):
            (freezer / "freezer.state").write_text(state)
            time.sleep(pause)

    with executor() as machine:
        options["--out"] = f"{machine.folder}/frozen"
        thread = threading.Thread(target=freeze)
        with pytest.raises(RunError, match=r"did not run for [0-9.]+ s \(stopped, frozen, or"):
            for line in machine.converse("probe", "other", options, timeout=30):
                if line.startswith("threads "):
                    thread.start()
        thread.join()
