"""Truth: nothing is lost and nothing is left. Every kind of run, ended by every signal.

``DEADBEAT_KILLS=20`` ends each so often by each signal, as the closing figures of a release do.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.campaigns import deadbeat
from helpers.kills import end_at, moments
from helpers.processes import until

KILLS = int(os.environ.get("DEADBEAT_KILLS", "1"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)

_COSTS = ("--no-figures", "--calibration", "costs.json")
#: Kind -> command on this machine, and how long it takes at most, s.
HARDWARE = {
    "profile": (("contention", "--quick", "--duration", "0.3", "--sets", "2", *_COSTS), 8.0),
    "stress": (
        (
            "contention",
            "--random",
            "--quick",
            "--duration",
            "0.3",
            "--sets",
            "8",
            "--causes",
            *_COSTS,
        ),
        8.0,
    ),
    "breakdown": (("breakdown", "--quick", "--duration", "0.3", "--sets", "2", *_COSTS), 8.0),
    "latency": (
        ("latency", "--quick", "--duration", "1", "--repeats", "2", "--trace", "--no-figures"),
        8.0,
    ),
    "load": (*(("load", "--quick", "--duration", "0.4", "--remedies", "pin,rt-bandwidth"),), 6.0),
    "study": (("sched", "study", "thesis-fig1", "--sets", "60", "--no-figures"), 4.0),
}
#: A program that marks a job every 10 ms.
_MARKS = "import deadbeat, time\nwhile True:\n    with deadbeat.mark(0): time.sleep(0.01)"
_RUN = ("run", "--duration", "1", "--repeats", "4", "--no-figures", "--name", "marked")
HARDWARE["run"] = ((*_RUN, "--", sys.executable, "-c", _MARKS), 4.0)
#: The same without a machine.
SIMULATED = {
    "profile": ("contention", "--quick", "--simulated", "--sets", "2", "--no-figures"),
    "stress": ("contention", "--random", "--quick", "--simulated", "--sets", "4", "--no-figures"),
    "breakdown": ("breakdown", "--quick", "--simulated", "--sets", "2", "--no-figures"),
    "latency": ("latency", "--quick", "--simulated", "--no-figures"),
    "load": ("load", "--quick", "--simulated", "--no-figures"),
    "study": ("sched", "study", "thesis-fig1", "--sets", "60", "--no-figures"),
}


def check(arguments: tuple[str, ...], number: signal.Signals, after_s: float, folder: Path) -> None:
    ended = end_at(arguments, number, after_s, folder=folder)
    where = f"after {after_s:.2f} s: {ended}"
    assert ended.left == (), where
    assert ended.lost == (), where
    assert ended.gone_s is not None, where
    if ended.finished:
        assert ended.status == 0, where
        return
    if ended.status == -number and not ended.errors:
        return  # the interpreter was still starting: nothing was said, nothing begun
    expected = -number if number == signal.SIGKILL else 128 + number
    assert ended.status in (expected, 0), where
    assert "Traceback" not in ended.errors, where
    if number != signal.SIGKILL and ended.status != 0:
        assert "interrupted" in ended.errors, where


#: In ``make test``; every kind ended by a signal: test_every_kind; killed: test_cli_process.
_QUICK = (("latency", signal.SIGQUIT),)
_PAIRS = [
    pytest.param(
        *(kind, number),
        id=f"{kind}-{number.name}",
        marks=[pytest.mark.slow] * ((kind, number) not in _QUICK),
    )
    for kind in SIMULATED
    for number in SIGNALS
]


@pytest.mark.hardware  # what runs beside it changes the settings that it compares
@pytest.mark.parametrize(("kind", "number"), _PAIRS)
def test_a_simulated_run_ends_cleanly(kind: str, number: signal.Signals, tmp_path: Path) -> None:
    for after_s in moments(number, KILLS, 1.5):
        check(SIMULATED[kind], number, after_s, tmp_path)
    assert deadbeat(*SIMULATED[kind], cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.hardware
@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
@pytest.mark.parametrize("kind", HARDWARE)
def test_a_run_ends_cleanly(kind: str, number: signal.Signals, tmp_path: Path, costs: Path) -> None:
    arguments, longest_s = HARDWARE[kind]
    (tmp_path / "costs.json").write_bytes(costs.read_bytes())
    for after_s in moments(number, KILLS, longest_s):
        check(arguments, number, after_s, tmp_path)


#: A program without marks, which is to go on where it is watched by its number: two threads.
_WATCHED = """import threading, time
def loop():
    while True: time.sleep(0.001)
threading.Thread(target=loop).start()
loop()"""
#: In ``make test``.
_AT_ONCE = {("try", signal.SIGKILL)}


@pytest.mark.hardware
@pytest.mark.parametrize(
    ("who", "number"),
    [
        pytest.param(who, number, marks=[pytest.mark.slow] * ((who, number) not in _AT_ONCE))
        for who in ("deadbeat", "recorder", "program", "pid", "try")
        for number in (signal.SIGTERM, signal.SIGKILL)
    ],
)
def test_a_watched_program_leaves_nothing(who: str, number: signal.Signals, tmp_path: Path) -> None:
    """``pid``: it ran before, and goes on; ``try``: so it does, with its threads elsewhere."""
    (tmp_path / "watched.py").write_text(_WATCHED)
    program = (sys.executable, "watched.py")
    words = ("run", "--duration", "1", "--no-figures", "--fresh", "--name", "w")
    before = subprocess.Popen(program, cwd=tmp_path)
    try:
        joins, tries = (
            who in ("pid", "try"),
            ("--try", "idle", "--yes", "--repeats", "3") * (who == "try"),
        )
        words += (*tries, "--pid", str(before.pid)) if joins else ("--", *program)
        until(lambda: len(_places(before.pid)) > 1)
        places = _places(before.pid)
        for after_s in moments(number, KILLS, 4.5 if tries else 3.5):
            victim = "deadbeat" if joins else who
            ended = end_at(words, number, after_s, folder=tmp_path, who=victim)
            where = f"after {after_s:.2f} s: {ended}"
            assert (ended.left, "Traceback" in ended.errors) == ((), False), where
            assert ended.gone_s is not None and before.poll() is None, where
            assert _places(before.pid) == places, where
    finally:
        before.kill()
        before.wait()


def _places(pid: int) -> list[tuple[int, int, set[int]]]:
    """Threads, their policies and CPUs."""
    tids = sorted(int(each.name) for each in Path(f"/proc/{pid}/task").iterdir())
    return [(tid, os.sched_getscheduler(tid), os.sched_getaffinity(tid)) for tid in tids]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs")
    words = (
        "contention",
        "--calibrate",
        "--pool",
        "quick",
        "--duration",
        "6",
        "--out",
        "costs.json",
    )
    assert deadbeat(*words, cwd=folder).returncode == 0
    return folder / "costs.json"
