"""Truth: the help text of the generated program, and what perf itself says about it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.hardware import MS, POOLS, task, task_set

from deadbeat.build.native import link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.tasksets.emit import emit_batch

pytestmark = pytest.mark.hardware

QUICK = ["--seconds-ns", str(100 * MS), "--lock-wait-ns", "300000000000"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sets = [
        task_set(task("busy", 100), task("busy", 100, period_ns=2 * MS)),
        task_set(task("busy", 5000)),
        task_set(task("liar", 1)),
        task_set(task("busy", 100, core=1000)),
        task_set(*[task("busy", 1) for _ in range(66)]),
    ]
    built = link_program(Toolchain.find(), emit_batch(sets), fragments_root=POOLS)
    return Path(shutil.copy(built, tmp_path_factory.mktemp("once") / "batch.elf"))


def once(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()[2:]]


def test_the_first_task_set_is_run_without_any_option(program: Path) -> None:
    done = once(program, "once", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("task set 0 of 5 (")
    assert "SCHED_FIFO" in done.stdout
    found = rows(done.stdout)
    assert [row[:2] for row in found] == [["0", "0"], ["1", "0"]]
    # 100 ms at 1 and 2 ms; the jobs at the ends are not counted
    assert [int(row[3]) for row in found] == [pytest.approx(99, abs=1), pytest.approx(49, abs=1)]
    assert all(float(row[5]) >= 0.99 for row in found)


def test_another_task_set_that_misses_all_its_deadlines(program: Path) -> None:
    done = once(program, "once", "--set", "1", *QUICK)
    assert done.returncode == 0
    (row,) = rows(done.stdout)
    jobs, missed = int(row[3]), int(row[4])
    assert missed == jobs > 0


def test_without_real_time_the_output_says_so(program: Path) -> None:
    done = once(program, "once", "--policy", "other", *QUICK)
    assert done.returncode == 0
    assert "SCHED_OTHER: not real-time" in done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_refused_real_time_says_how_to_do_without(program: Path) -> None:
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    for folder in (program.parent, program.parent.parent, program.parent.parent.parent):
        folder.chmod(folder.stat().st_mode | 0o055)
    done = once(*nobody, program, "once", *QUICK)
    assert done.returncode != 0
    assert "realtime-refused" in done.stdout
    assert "--policy other" in done.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--set", "2"], "it is always wrong"),
        (["--set", "3"], "needs 1001 cores"),
        (["--seconds-ns", str(10**15)], "at most 65535: ask for less time"),
    ],
)
def test_a_run_that_fails_says_why_and_ends_with_1(program: Path, words: list[str], part: str):
    done = once(program, "once", *QUICK, *words)
    assert done.returncode == 1
    assert part in done.stdout


@pytest.mark.parametrize(
    ("option", "most"),
    [
        ("--inject-ns", 10_000 * MS),
        ("--seconds-ns", 10**15),
        ("--lock-wait-ns", 10**15),
        ("--warmup", 10**6),
        ("--slot-periods", 1_000_000),
        ("--late", 1),
    ],
)
def test_a_number_beyond_its_bounds_is_a_usage_error(program: Path, option: str, most: int) -> None:
    for number in (most + 1, 2**63 - 1, 2**63, -1):
        done = once(program, "once", option, str(number))
        assert done.returncode == 2
        assert f"cannot use {option} {number}: a whole number from 0 to {most}" in done.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--set", "5"], "no task set 5 in this program: it has 5"),
        *((["--set", none], f"cannot use --set {none}") for none in ("4294967296", "-1", "x", "")),
        (["--inject-ns", "1000"], "--inject-ns needs a task"),
        (["--inject-fair", "255"], "--inject-fair names a core beyond --cpus"),
        (["--seconds-ns"], "the last option has no value"),
    ],
)
def test_options_that_cannot_be_say_so(program: Path, words: list[str], part: str) -> None:
    done = once(program, "once", *words)
    assert done.returncode == 2
    assert part in done.stderr
