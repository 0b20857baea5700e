"""Truth: the processes of this machine. Matrices that are killed, stopped, or lose their load."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from helpers.answers import answer_of
from helpers.campaigns import deadbeat, started
from helpers.processes import running, until

from deadbeat.latencies.latency.model import LoadPoint
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.stress import COMMAND, FILES, StressLoads, look_of
from deadbeat.machine.targets.local import LocalTarget

pytestmark = pytest.mark.hardware
#: What makes the loads: a word of the command lines of its processes.
MAKERS = {"deadbeat": "\0load\0", "stress-ng": "stress-ng"}
NO_STRESS_NG = pytest.mark.skipif(shutil.which("stress-ng") is None, reason="no stress-ng here")
BY_BOTH = pytest.mark.parametrize(
    "maker", ["deadbeat", pytest.param("stress-ng", marks=[pytest.mark.slow, NO_STRESS_NG])]
)
PATIENCE_S = 60.0
WORDS = ("--loads", "cpu:50", "--engine", "prober", "--repeats", "1", "--no-figures")


def command(folder: Path, *words: str) -> list[str]:
    runs = ("--runs", str(folder / "runs"))
    return ["latency", *WORDS, *words, *runs]


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A matrix in a session of its own; all that it puts on the machine lies below ``folder``."""
    own = {**os.environ, "TMPDIR": str(folder)}
    return started(*command(folder, *words), env=own, start_new_session=True)


def started_below(folder: Path, *, name: str = "") -> list[int]:
    """Living processes that name ``folder`` and ``name`` in their command line."""

    def ours(entry: Path) -> bool:
        words = (entry / "cmdline").read_text(errors="replace")
        return str(folder) in words and f"--runs\0{folder}" not in words and name in words

    return [number for number in running(ours) if number != os.getpid()]


@BY_BOTH
def test_a_worker_of_a_load_that_stands_still_is_seen(maker: str) -> None:
    cpu = min(os.sched_getaffinity(0))
    with LocalTarget() as target:
        loads = StressLoads((cpu,), maker)
        load = loads.start(target, LoadPoint("timer", 100), seconds=PATIENCE_S)
        try:
            seen = look_of(target.read_many(FILES, {"load": COMMAND}), target.folder).workers or {}
            assert sorted(worker.kind for worker in seen.values()) == ["itimer", "timer", "timerfd"]
            (still,) = [number for number, worker in seen.items() if worker.kind == "timerfd"]
            os.kill(still, signal.SIGSTOP)
            until(lambda: ") T " in Path(f"/proc/{still}/stat").read_text())
            load.begin()
            said = load.end()
            os.kill(still, signal.SIGCONT)
        finally:
            load.stop()
    assert said.workers["timerfd"] == (1, 1, 0) and said.workers["timer"][:2] == (1, 1)
    assert set(said.least) == {"timer switches/s"}


def measuring(folder: Path) -> bool:
    """Whether a run is being measured beside its load."""
    begun = (folder / "runs/latency/latency.json").is_file()
    return begun and bool(started_below(folder, name="\0probe\0"))


@BY_BOTH
def test_kill_9_leaves_nothing_and_the_same_command_goes_on(tmp_path: Path, maker: str) -> None:
    words = ("--duration", "1s", "--set", f"loads-by={maker}")
    with start(tmp_path, *words) as killed:
        until(lambda: measuring(tmp_path))
        assert started_below(tmp_path, name=MAKERS[maker])
        killed.kill()
        killed.communicate()
    until(lambda: not started_below(tmp_path))
    assert not LatencyStore.open(tmp_path / "runs/latency").committed()
    again = deadbeat(*command(tmp_path, *words, "--json"), cwd=tmp_path)
    # Whether a busy host lets the load reach its share is not asked here: 3 is "no run counts".
    assert again.returncode in (0, 3)
    answer = answer_of(again.stdout)
    assert (answer["planned"], answer["done"], answer["failed"]) == (1, 1, [])
    store = LatencyStore.open(tmp_path / "runs/latency")
    assert str(store.platform.details["loads_by"]).startswith(f"{maker} ")
    (run,) = store.runs()
    assert run.kind == "hardware" and all(
        cpu.cycles + cpu.missed == cpu.expected for cpu in run.cpus
    )
    assert set(run.load.achieved) == {str(cpu.cpu) for cpu in run.cpus}
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.slow
@BY_BOTH
def test_a_load_that_is_killed_makes_its_run_invalid(tmp_path: Path, maker: str) -> None:
    words = ("--duration", "3s", "--fail-on", "invalid", "--set", f"loads-by={maker}")
    with start(tmp_path, *words) as running:
        until(lambda: measuring(tmp_path))
        for number in started_below(tmp_path, name=MAKERS[maker]):
            with suppress(ProcessLookupError):  # with the first its guard ends all others
                os.kill(number, signal.SIGKILL)
        _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 3
    assert "is invalid: the load ended before its time" in said
    until(lambda: not started_below(tmp_path))
