"""Truth: records made here, with known jobs and misses; and what a program says that it did."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import until
from helpers.programs import ROOT, command_of
from helpers.sshd import Sshd
from test_injected_causes import LOOK, look, tracefs  # noqa: F401 - a fixture

from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.program.derive.records import RECORD, RecordKind
from deadbeat.program.run.kept import KeptCounts, kept_of
from deadbeat.program.run.results import ProgramStore

MS = 10**6
SLEEP, LOCK = 230, 202
WAKING, ENTER, SWITCH, LOST = (
    int(RecordKind[name]) for name in ("WAKING", "ENTER", "SWITCH", "LOST")
)


def replayed(folder: Path, records: np.ndarray, *threads: str, **more: int) -> KeptCounts:
    """What the keeper counts of records."""
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    facts = {"folder": kept, "process": "made", "metrics": folder / "made.prom"} | more
    lines = [f"{key} {value}" for key, value in facts.items()]
    lines += [f"thread {each}" for each in threads]
    (kept / "plan").write_text("".join(f"{line}\n" for line in lines))
    tool = str(tool_program(Toolchain.find(), "recorder"))
    subprocess.run([tool, "replay", str(kept / "plan")], input=records.tobytes(), check=True)
    return found_in(folder)


def found_in(folder: Path) -> KeptCounts:
    class Store:
        path = folder

    found = kept_of(Store(), ())  # type: ignore[arg-type]
    assert found is not None
    return found


def made(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(
        [(ns, tid, kind, 0, *(*abc, 0, 0, 0)[:3]) for ns, tid, kind, *abc in rows], RECORD
    )


CONTROL = f"7 {MS} {MS} {SLEEP} 0 0 1 1 control"


def test_a_job_is_from_its_wake_up_to_its_next_call(tmp_path: Path) -> None:
    """A lock within it ends none, a wake-up within it begins none; one that is late releases those
    after it, which do not sleep, by its grid; a timer that is late is due when it was due."""
    k = 1000
    found = replayed(
        tmp_path,
        made(
            (1, 7, ENTER, SLEEP, 1, 1),
            (1000 * k, 7, WAKING),
            (1100 * k, 7, ENTER, SLEEP, 1, 0),  # another sleep
            (1150 * k, 7, WAKING),
            (1200 * k, 7, ENTER, LOCK),
            (1200 * k, 8, ENTER, SLEEP, 1, 1),  # another thread
            (1300 * k, 7, ENTER, SLEEP, 1, 1),  # 300 us
            (2000 * k, 7, WAKING),
            (4200 * k, 7, ENTER, SLEEP, 1, 1),  # 2.2 ms
            (4300 * k, 7, ENTER, SLEEP, 1, 1),  # released at 3 ms: 1.3 ms
            (4400 * k, 7, ENTER, SLEEP, 1, 1),  # at 4 ms: 0.4 ms
            (5000 * k, 7, WAKING),
            (5100 * k, 7, ENTER, SLEEP, 1, 1),
            (6700 * k, 7, WAKING),  # due at 6 ms
            (7100 * k, 7, ENTER, SLEEP, 1, 1),  # 1.1 ms
            (7103 * k, 7, WAKING),  # at once: due at 7 ms
            (9050 * k, 7, ENTER, SLEEP, 1, 1),  # 2.05 ms
            (9053 * k, 7, WAKING),  # due at 8 ms
            (9200 * k, 7, ENTER, SLEEP, 1, 1),  # 1.2 ms
            (11_000 * k, 7, WAKING),  # it leaves out two
            (11_100 * k, 7, ENTER, SLEEP, 1, 1),
            (12_080 * k, 7, WAKING),  # a little late
            (12_100 * k, 7, ENTER, SLEEP, 1, 1),
            (14_000 * k, 7, WAKING),  # it leaves out one
            (14_100 * k, 7, ENTER, SLEEP, 1, 1),
        ),
        CONTROL,
        hourly=10,
        bytes=1 << 30,
    )
    (control,) = found.threads
    assert (control.jobs, control.misses, control.max_ns) == (11, 5, 2200 * k)
    assert (found.windows, found.only_counted) == (1, 0)
    text = (tmp_path / "made.prom").read_text()
    bucket = 'deadbeat_response_seconds_bucket{process="made",thread="control",le='
    assert f'{bucket}"0.001048576"}} 6\n' in text and f'{bucket}"+Inf"}} 11\n' in text
    assert 'deadbeat_deadline_misses_total{process="made",thread="control"} 5\n' in text


def test_without_a_call_any_sleep_ends_a_job_and_lost_events_none(tmp_path: Path) -> None:
    found = replayed(
        tmp_path,
        made(
            (1, 7, SWITCH, 0, 1),
            (1000, 7, WAKING),
            (2000, 7, SWITCH, 0, 0x100),  # preempted
            (5000, 7, SWITCH, 0, 1),
            (6000, 7, WAKING),
            (9000, 0, LOST, 12),
            (10**9, 7, SWITCH, 0, 1),
            (2 * 10**9, 7, WAKING),
            (2 * 10**9 + 2_500_000, 7, SWITCH, 0, 2),  # three of a period of 1 ms
        ),
        f"7 {MS} {MS} -1 0 0 0 0 any",
    )
    (thread,) = found.threads
    assert (thread.jobs, thread.misses, found.lost, found.only_counted) == (4, 2, 12, 2)


def days(jobs: int, late: np.ndarray) -> Iterator[np.ndarray]:
    """A thread of 1 kHz, by a million jobs; each of ``late`` takes 1.5 ms, the others 0.1 ms."""
    for first in range(0, jobs, 10**6):
        n = np.arange(first, min(first + 10**6, jobs), dtype=np.int64)
        rows = np.zeros((len(n), 2), RECORD)
        rows["tid"] = 7
        rows["kind"] = WAKING, ENTER
        rows["a"], rows["b"], rows["c"] = (0, SLEEP), 1, 1
        took = np.where(np.isin(n, late), 1_500_000, 100_000)
        rows["ns"] = np.stack([(n + 1) * 2 * MS, (n + 1) * 2 * MS + took], 1)
        yield rows.ravel()


@pytest.mark.parametrize(
    "jobs",
    [200_000, pytest.param(7 * 86_400 * 1000, marks=pytest.mark.slow)],
    ids=["short", "week"],
)
def test_a_week_is_counted_exactly_in_bounded_room(jobs: int, tmp_path: Path) -> None:
    """Twice: the second one goes on with the counts of the first."""
    late = np.random.default_rng(1).choice(np.arange(1, jobs, dtype=np.int64), 500, replace=False)
    kept, most = tmp_path / "kept", 8 << 20
    kept.mkdir()
    facts = {"folder": kept, "process": "made", "hourly": 5, "bytes": most}
    lines = [f"{key} {value}\n" for key, value in facts.items()]
    (kept / "plan").write_text("".join(lines) + f"thread 7 0 {MS} {SLEEP} 0 0 1 1 control\n")
    tool = str(tool_program(Toolchain.find(), "recorder"))
    for turn in (1, 2):
        feed = subprocess.Popen([tool, "replay", str(kept / "plan")], stdin=subprocess.PIPE)
        assert feed.stdin is not None
        feed.stdin.write(made((1, 7, ENTER, SLEEP, 1, 1)).tobytes())
        for part in days(jobs, late):
            feed.stdin.write(part.tobytes())
        feed.stdin.close()
        assert feed.wait() == 0
        found = found_in(tmp_path)
        (thread,) = found.threads
        assert (thread.jobs, thread.misses) == (turn * jobs, turn * 500)
        assert sum(each.stat().st_size for each in kept.iterdir()) < 2 * most
        assert 0 < found.windows < 100


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Begins a command here, which ends with the test."""
    monkeypatch.chdir(tmp_path)
    begun: list[subprocess.Popen[str]] = []

    def start(*command: object) -> subprocess.Popen[str]:
        pipe, words = subprocess.PIPE, [str(word) for word in command]
        begun.append(subprocess.Popen(words, stdout=pipe, stderr=subprocess.STDOUT, text=True))
        return begun[-1]

    yield start
    for each in begun:
        each.kill()
        each.wait()


def control(store: Path) -> int:
    """Jobs that were counted."""
    return next(each.jobs for each in found_in(store).threads if each.name == "control")


DEADBEAT = (sys.executable, "-m", "deadbeat")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return Path(command_of(ROOT / "tests/programs/late/for_days.c", tmp_path)[0])


KEEP = (*DEADBEAT, "run", "--keep", "misses", "--name", "it")


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_a_process_is_watched_followed_and_left(
    program: Path, start: Start, tmp_path: Path
) -> None:
    """Misses are named in their windows; a second watcher is refused; who takes its place is
    followed, not who has its name; after kill -9 nothing stays, and the counts go on."""
    store = tmp_path / "runs/it"
    first = start(program, "300", "400", "10000")
    keeper = start(*KEEP, "--pid", str(first.pid), "--set", "learn=2s")
    until(lambda: f"-{keeper.pid}" in (look() or "") or keeper.poll() is not None)
    second = start(*DEADBEAT, "run", "--keep", "misses", "--pid", str(first.pid))
    assert "another deadbeat watches process" in second.communicate()[0]
    assert second.returncode == 3
    until(lambda: found_in(store).windows >= 4)
    first.kill()
    first.wait()
    until(lambda: f"-{keeper.pid}" not in (look() or ""))
    shutil.copy(program, tmp_path / "other")
    start(tmp_path / "other", "300", "0", "10000")
    again = start(program, "300", "0", "10000")
    until(lambda: f"deadbeat-{again.pid}-w-{keeper.pid}" in (look() or ""))
    count = control(store)
    until(lambda: control(store) > count)
    os.kill(keeper.pid, signal.SIGKILL)
    keeper.wait()
    until(lambda: f"-{keeper.pid}" not in (look() or ""))
    before, count = found_in(store), control(store)
    third = start(*KEEP)
    until(lambda: f"-{third.pid}" in (look() or "") or third.poll() is not None)
    until(lambda: control(store) > count)
    third.send_signal(signal.SIGTERM)
    assert "control missed" in third.communicate()[0]
    after = found_in(store)
    assert after.starts == before.starts + 1
    runs = [run for run in ProgramStore.open(store).runs() if run.missed_at]
    causes = {each.cause for run in runs for each in run.traced.causes}  # type: ignore[union-attr]
    assert len(runs) >= 4
    assert causes & {"own work", "page fault", "preempted", "lock", "waited"}
    counted = {each.name: each.misses for each in after.threads}
    kept = ProgramStore.open(store)
    begins = {run.key: kept.events(run.key).begin_ns for run in runs}  # type: ignore[union-attr]
    late = [
        (each.task, round((begins[run.key] + each.at_ns) / MS))
        for run in runs
        for each in run.traced.late  # type: ignore[union-attr]
    ]
    assert len(late) == len({*late})  # each is of one window
    rows = (store / "late.csv").read_text().splitlines()
    assert len(rows) == 1 + len(late) and rows[0].startswith("when,run,task,")
    assert "Watched for" in (store / "report.html").read_text()
    export = start(*DEADBEAT, "export", "it", "--as", "openmetrics", "--out", "it.prom")
    assert export.wait() == 0
    lines = (tmp_path / "it.prom").read_text().splitlines()
    assert f" {counted['control']}" in next(
        line[line.rindex(" ") :] for line in lines if "run_misses{" in line and "control" in line
    )
    unit = start(*DEADBEAT, "export", "it", "--as", "systemd", "--out", "it.service")
    assert unit.wait() == 0
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "verify", "./it.service"], capture_output=True, check=False
        )
        assert b"it.service" not in done.stderr


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_who_reads_its_own_cpu_time_does_not_fill_the_rings(start: Start, tmp_path: Path) -> None:
    """Each look is an event: millions a second."""
    polls = command_of(ROOT / "tests/programs/late/reads_its_time.c", tmp_path)[0]
    watched = start(polls, "120")
    keeper = start(*KEEP, "--pid", str(watched.pid), "--set", "learn=2s")
    until(lambda: f"-{keeper.pid}" in (look() or ""))
    until(lambda: found_in(tmp_path / "runs/it").windows >= 3)
    keeper.send_signal(signal.SIGTERM)
    said = keeper.communicate()[0]
    assert "not seen are execution times as charged" in said
    assert "simply ran longer (own work)" in said and "do not have their miss" not in said


@pytest.fixture
def board(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Sshd:
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    return sshd


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_a_board_keeps_while_nobody_is_connected(
    board: Sshd, program: Path, start: Start, tmp_path: Path
) -> None:
    there = (*KEEP, "--target", board.word)
    watched = start(program, "300", "400", "10000")
    begun = start(*there, "--pid", str(watched.pid), "--set", "learn=2s")
    assert "the same command comes back for what it kept" in begun.communicate(timeout=600)[0]
    assert f"deadbeat-{watched.pid}-w-" in _instances()
    kept = Path(f"/var/tmp/deadbeat-it-{watched.pid}")
    until(lambda: [*kept.glob("w*.facts")])
    assert "control missed" in start(*there).communicate(timeout=600)[0]
    assert f"deadbeat-{watched.pid}-w-" in _instances()
    first = len(ProgramStore.open(tmp_path / "runs/it").committed())
    assert first > 1
    until(lambda: [*kept.glob("w*.facts")])
    ended = start(*there, "--set", "stop=true").communicate(timeout=600)[0]
    assert "it watches no more there" in ended
    watched.kill()
    watched.wait()
    until(lambda: f"deadbeat-{watched.pid}-" not in _instances())
    assert len(ProgramStore.open(tmp_path / "runs/it").committed()) > first
    assert not kept.exists()


def _instances() -> str:
    return subprocess.check_output(["unshare", "-m", "sh", "-c", LOOK], text=True)
