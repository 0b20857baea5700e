"""The truth is the machine's list of processes, and what the verb ``load`` counts."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from helpers import seldom
from helpers.processes import children, is_alive, until

from deadbeat.base.model.errors import BuildError
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.programs import put_runtime
from deadbeat.build.toolchain import toolchain_for
from deadbeat.latencies.latency.loads import LOADS
from deadbeat.machine.targets.local import LocalTarget

#: What a worker of each kind needs beside its count, to be quick.
AMOUNTS = {
    "cpu": "--cpu-load 1", "vm": "--vm-bytes 1m", "hdd": "--hdd-bytes 128k",
    "iomix": "--iomix-bytes 1m", "timer": "--timer-freq 5000",
}  # fmt: skip
KINDS = sorted({kind for profile in LOADS.values() for kind in profile.kinds})
CPU = min(os.sched_getaffinity(0))
SECONDS = 60


#: Architectures whose programs qemu-user runs here.
FOREIGN = ("aarch64", "arm", "riscv64")


@pytest.fixture(scope="module")
def program() -> Iterator[str]:
    with LocalTarget() as target:
        yield put_runtime(target)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [word for each in words for word in each.split()],
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip


def workers_of(parent: int) -> dict[int, tuple[str, str]]:
    """Children of a process: number -> name and command line."""
    return {
        number: (
            Path(f"/proc/{number}/comm").read_text().strip(),
            Path(f"/proc/{number}/cmdline").read_text().rstrip("\0"),
        )
        for number in children(parent)
    }


#: What it copies is four times the last cache.
MUCH = ("stream",)


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k not in MUCH] + seldom(*((k,) for k in MUCH))
)
def test_every_kind_of_worker_counts_what_it_does(program: str, kind: str, tmp_path: Path) -> None:
    counts_operations((program,), kind, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("machine", FOREIGN)
def test_other_architectures_make_all_kinds(machine: str, tmp_path: Path) -> None:
    emulator = shutil.which(f"qemu-{machine}-static")
    try:
        toolchain = toolchain_for(machine)
    except BuildError as error:
        pytest.skip(str(error))
    if emulator is None:
        pytest.skip(f"there is no qemu-{machine}-static")
    foreign = link_program(toolchain, NO_TASK_SETS)
    assert foreign.stat().st_size < 2 * 2**20
    for kind in KINDS:
        counts_operations((emulator, str(foreign)), kind, tmp_path)


def counts_operations(program: Sequence[str], kind: str, folder: Path) -> None:
    """Two workers of a kind do two operations each, say so, and leave no file."""
    words = f"load --{kind} 2 {AMOUNTS.get(kind, '')} --ops 2 --metrics --quiet --taskset {CPU}"
    done = run(*program, words, f"--temp-path {folder}")
    assert (done.returncode, done.stderr) == (0, "")
    name, workers, operations = done.stdout.split()
    assert (name, workers) == (kind, "2") and int(operations) >= 4
    assert not list(folder.iterdir())


def until_children(number: int, count: int) -> dict[int, tuple[str, str]]:
    """The children of a process once there are so many that have their names."""

    def all_there() -> dict[int, tuple[str, str]]:
        with suppress(OSError):
            found = workers_of(number)
            named = all(words.startswith("db-load-") for _, words in found.values())
            return found if len(found) == count and named else {}
        return {}

    return until(all_there)


def test_workers_are_ordinary_pinned_named_and_end_with_their_parent(program: str, tmp_path: Path):
    words = f"--taskset {CPU} --cpu 1 --cpu-load 1 --fork 1 --vm 1 --vm-bytes 1m --iomix 1"
    argv = (program, "load", *words.split(), "--iomix-bytes", "1m", "--temp-path", str(tmp_path))
    with subprocess.Popen(argv) as parent:
        try:
            found = until_children(parent.pid, 4)
            kinds = {"cpu", "fork", "vm", "iomix"}
            assert {name for name, _ in found.values()} == {f"db-load-{kind}" for kind in kinds}
            assert all(name == words for name, words in found.values())
            for number in found:
                assert os.sched_getscheduler(number) == os.SCHED_OTHER
                assert os.sched_getaffinity(number) == {CPU}
        finally:
            parent.send_signal(signal.SIGKILL)
    until(lambda: not any(is_alive(number) for number in found))
    assert not list(tmp_path.iterdir())


def test_a_worker_that_is_killed_ends_the_load_and_is_not_replaced(program: str) -> None:
    argv = (program, "load", "--cpu", "2", "--cpu-load", "1")
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as parent:
        first = min(until_children(parent.pid, 2))
        os.kill(first, signal.SIGKILL)
        _, said = parent.communicate(timeout=SECONDS)
    assert parent.returncode == 1
    assert said == "deadbeat load: a worker was killed by signal 9\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("", 2, "0 workers"),
        ("--bogus 1", 2, "cannot use --bogus 1"),
        ("--cpu", 2, "cannot use --cpu"),
        ("--cpu 1 --cpu-load 101", 2, "cannot use --cpu-load 101"),
        ("--vm 1 --vm-bytes 9999999999g", 2, "cannot use --vm-bytes"),
        ("--fork -1", 2, "cannot use --fork -1"),
        ("--hdd 1 --temp-path /proc/none", 1, "hdd: making its file: No such file"),
        ("--cpu 1 --taskset 4000", 1, "cpu: using the CPUs of --taskset"),
    ],
)
def test_what_cannot_be_is_said(program: str, words: str, status: int, said: str) -> None:
    done = run(program, "load", words)
    assert done.returncode == status and said in done.stderr and not done.stdout
