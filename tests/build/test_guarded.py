"""The truth is the machine's list of processes: a guarded program leaves nothing behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.old_kernel import PIDFD_OPEN, REFUSED, without_call
from helpers.processes import running, until

from deadbeat.build.programs import failure_of, guarded, put_runtime
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.local import LocalTarget

#: Children that leave their group, and one whose parent has ended.
FAMILY = "setsid sleep 971{0} & (setsid sleep 972{0} &) ; "
NOBODY = 65534
MODES = ("here", "as an ordinary user")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with LocalTarget() as target:
        put_runtime(target)
        Path(target.folder).chmod(0o755)
        yield Path(target.folder)


@pytest.fixture
def program(folder: Path) -> str:
    (path,) = folder.glob("program-*")
    return str(path)


def sleepers(mark: str) -> list[int]:
    """Processes that sleep for a time that ends with ``mark``."""
    pattern = re.compile(rb"sleep\0(971|972)\S*%b\0" % mark.encode())
    return running(lambda entry: bool(pattern.fullmatch((entry / "cmdline").read_bytes())))


def test_a_guarded_program_has_the_timer_slack_of_any_other(program: str) -> None:
    # the guard is real-time, has none, and its children would inherit that
    read = ("cat", "/proc/self/timerslack_ns")
    with LocalTarget() as target:
        alone, kept = target.run(read), target.run(guarded(program, read, bound_s=60))
    assert int(alone.stdout) > 0
    assert kept.stdout == alone.stdout


def await_sleepers(mark: str, count: int) -> None:
    until(lambda: len(sleepers(mark)) == count)


def start(argv: tuple[str, ...], mode: str, **how: object) -> subprocess.Popen[bytes]:
    """Started as whoever ``mode`` says; without rights there is no namespace to end all in."""
    if mode == "here":
        return subprocess.Popen(argv, **how)  # type: ignore[call-overload,no-any-return]
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    how |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return subprocess.Popen(argv, **how)  # type: ignore[call-overload,no-any-return]


def mark_of(mode: str, number: int) -> str:
    return f"{os.getpid()}{MODES.index(mode)}{number}"


@pytest.mark.parametrize("mode", MODES)
def test_descendants_are_gone_when_the_program_ends_and_its_status_is_the_guards(
    program: str, mode: str
) -> None:
    mark = mark_of(mode, 1)
    argv = guarded(program, ("sh", "-c", f"{FAMILY.format(mark)} exit 7"), bound_s=30)
    process = start(argv, mode)
    assert process.wait(20) == 7
    assert sleepers(mark) == []


@pytest.mark.parametrize("mode", MODES)
def test_kernels_before_5_3_guard_too(program: str, mode: str) -> None:
    """They have no pidfd_open."""
    mark = mark_of(mode, 9)
    argv = guarded(program, ("sh", "-c", f"{FAMILY.format(mark)} exit 7"), bound_s=30)
    if mode != "here" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    user = None if mode == "here" else NOBODY
    process = start(without_call(PIDFD_OPEN, *argv, user=user), "here")
    status = process.wait(20)
    if status == REFUSED:
        pytest.skip("a filter of system calls is refused here")
    assert status == 7
    assert sleepers(mark) == []


@pytest.mark.parametrize("mode", MODES)
def test_descendants_are_gone_when_the_bound_passes(program: str, mode: str) -> None:
    mark = mark_of(mode, 2)
    argv = guarded(program, ("sh", "-c", f"{FAMILY.format(mark)} sleep 971{mark}"), bound_s=0.3)
    process = start(argv, mode, stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 124
    assert b"the bound of 300 ms has passed" in said
    assert sleepers(mark) == []


@pytest.mark.hardware
def test_a_program_that_has_every_cpu_under_fifo_is_ended_at_its_bound(program: str) -> None:
    # as a whole JVM would that hangs; a CPU for each of its loops, and one more
    hogs = "while :; do :; done & " * (len(os.sched_getaffinity(0)) + 1)
    policy = "cat /proc/self/sched | grep -E '^(policy|prio)' >&2; "
    argv = guarded(program, ("sh", "-c", f"{policy}{hogs} wait"), bound_s=0.5, lock=True, fifo=20)
    process = start(argv, "here", stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=60)
    if b"was refused" in said:
        pytest.skip("real-time policies are refused here")
    assert process.returncode == 124
    assert b"the bound of 500 ms has passed" in said
    assert int(said.split(b"policy")[1].split(b"\n")[0].strip(b" :")) == os.SCHED_FIFO


# not the last command of who started the guard, or the shell would become the guard
@pytest.mark.parametrize(("number", "by"), [(3, ()), (4, ("sh", "-c", '"$@"; true', "sh"))])
@pytest.mark.parametrize("mode", MODES)
def test_descendants_are_gone_when_the_guard_or_who_started_it_is_killed(
    program: str, mode: str, number: int, by: tuple[str, ...]
) -> None:
    mark = mark_of(mode, number)
    argv = guarded(program, ("sh", "-c", f"{FAMILY.format(mark)} sleep 971{mark}"), bound_s=60)
    process = start((*by, *argv), mode)
    await_sleepers(mark, 3)
    process.kill()
    process.wait()
    await_sleepers(mark, 0)


@pytest.mark.parametrize("mode", MODES)
def test_the_end_of_input_asks_the_program_to_end(program: str, mode: str) -> None:
    mark = mark_of(mode, 5)
    script = f"trap 'echo asked; exit 3' TERM; {FAMILY.format(mark)} while :; do sleep 0.01; done"
    argv = guarded(program, ("sh", "-c", script), bound_s=60, until_eof=True)
    process = start(argv, mode, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    await_sleepers(mark, 2)
    said, _ = process.communicate(timeout=20)
    assert (said, process.returncode) == (b"asked\n", 3)
    assert sleepers(mark) == []


def test_a_program_that_does_not_want_to_end_is_ended_after_its_grace(program: str) -> None:
    mark = mark_of("here", 6)
    script = f"trap '' TERM; {FAMILY.format(mark)} while :; do sleep 0.01; done"
    process = start(guarded(program, ("sh", "-c", script), bound_s=60), "here")
    await_sleepers(mark, 2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGKILL
    assert sleepers(mark) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ended", ["bound", "guard killed"])
def test_what_a_killed_cyclictest_shares_is_gone(program: str, mode: str, ended: str) -> None:
    """It writes its status to /dev/shm/cyclictestNUMBER, and removes that only at its own end."""
    # its words name no path there: one that does is not given a place of its own
    script = 'exec 9> /dev/$0/cyclictest$$; echo $$; trap "" TERM; while :; do sleep 0.01; done'
    argv = guarded(program, ("sh", "-c", script, "shm"), bound_s=0.5)
    process = start(argv, mode, stdout=subprocess.PIPE)
    shared = Path(f"/dev/shm/cyclictest{int(process.stdout.readline())}")
    if ended == "guard killed":
        process.kill()
    process.wait(20)
    until(lambda: not shared.exists())


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no namespaces of processes")
def test_the_program_finds_itself_where_its_number_says(program: str) -> None:
    script = "read -r own rest < /proc/self/stat; test -r /proc/$$/stat && cat /proc/$$/comm"
    process = start(guarded(program, ("sh", "-c", script), bound_s=30), "here", stdout=-1)
    said, _ = process.communicate(timeout=20)
    assert said == b"sh\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cyclictest", ("-q", "-m", "-a", "0", "-t", "1", "-l", "20", "-i", "1000")),
        ("stress-ng", ("--cpu", "1", "--cpu-ops", "3", "--quiet", "--temp-path", "{folder}")),
    ],
)
def test_the_programs_of_a_latency_matrix_work_under_the_guard(
    program: str, folder: Path, name: str, arguments: tuple[str, ...]
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    words = [word.format(folder=folder) for word in arguments]
    with LocalTarget() as target:
        completed = target.run(guarded(program, (name, *words), bound_s=30), timeout=40)
    assert failure_of(completed, name) is None, completed.stderr


def test_only_one_guarded_program_has_the_machine(program: str) -> None:
    name = "deadbeat-machine-lock"
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0{name}")
        lock.listen()
    except OSError:
        pytest.skip("a measurement runs on this machine")
    with lock, LocalTarget() as target:
        argv = guarded(program, ("true",), bound_s=10, lock=True, lock_wait_s=0.1)
        error = failure_of(target.run(argv, timeout=20), "true")
        free = failure_of(target.run(guarded(program, ("true",), bound_s=10), timeout=20), "true")
    assert f"(process {os.getpid()})" in error.message
    assert free is None


@pytest.mark.parametrize(
    ("status", "said", "message"),
    [
        (127, "deadbeat guard: x cannot be started: No such file", "there is no x on the target"),
        (124, "deadbeat guard: the bound of 1 ms has passed", "x did not end in its time"),
        (124, "", "x ended with status 124"),
        (1, "of its own", "x ended with status 1"),
        (125, "error busy 12", "another deadbeat measurement has this machine (process 12)"),
    ],
)
def test_a_failure_is_one_line(status: int, said: str, message: str) -> None:
    done = Completed(argv=("x",), returncode=status, stdout="", stderr=said)
    error = failure_of(done, "x", package="xes")
    assert error.message.startswith(message)
