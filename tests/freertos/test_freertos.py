"""FreeRTOS in virtual time on QEMU's riscv64 board, and hosted on this machine."""

import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import BuildError, TargetError, UsageError
from deadbeat.lab.qemu import Qemu
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.executors.base import Costing, RunRequest, RunSettings
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.jobfile import read_job_table
from deadbeat.tasksets.synthesis import SynthesisParameters, synthesise
from deadbeat_freertos.build import HOSTED, VIRT, freertos_program, kernel_sources
from deadbeat_freertos.executor import FreeRTOSExecutor, freertos_executor
from deadbeat_freertos.machines import BareMachine, HostedMachine

DRIVER = Path(__file__).with_name("freertos_driver.c")
MACHINE = BareMachine(qemu=Qemu(machine="riscv64", program=Path("qemu-system-riscv64")))
FRAGMENTS = ("crc32", "kalman", "matmul", "pid")
KEY = RunKey(Point(1, 0, 0), 0)
SETTINGS = RunSettings(seconds=0.1)


@pytest.fixture(scope="module", autouse=True)
def _kernel() -> None:
    """What is fetched once from the crate registry."""
    for program in ("qemu-system-riscv64", "riscv64-linux-gnu-gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: tools/setup dev installs it")
    try:
        kernel_sources()
    except BuildError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def driver() -> Path:
    return freertos_program(VIRT, [DRIVER])


@pytest.fixture(scope="module")
def virtual() -> Iterator[FreeRTOSExecutor]:
    executor = freertos_executor("virtual", cpus=None)
    yield executor
    executor.close()


def few() -> Catalog:
    known = load_catalog().fragments
    return Catalog(fragments={name: known[name] for name in FRAGMENTS})


@pytest.fixture(scope="module")
def task_set(virtual: FreeRTOSExecutor) -> TaskSet:
    """Three tasks by rate-monotonic priorities, of costs that FreeRTOS measured."""
    costs = virtual.calibrate(few(), Costing(pool="quick", seconds=0.2))
    parameters = SynthesisParameters(
        cores=1,
        tasks=3,
        utilisation=Fraction(7, 10),
        priorities="rate-monotonic",
        sync_share=Fraction(0),
        contended_ratio=Fraction(0),
    )
    return synthesise(parameters, few(), costs, 1)


def measured(driver: Path, folder: Path) -> bytes:
    MACHINE.run(driver, ("measure",), folder / "result", timeout_s=60)
    return (folder / "result").read_bytes()


def test_the_port_keeps_what_port_core_promises_twice_alike(driver: Path, tmp_path: Path) -> None:
    results = [measured(driver, tmp_path) for _ in range(2)]
    assert results[0] == results[1]
    word, semaphore, queue, least, most, step = struct.unpack("<6q", results[0])
    # an instruction is a nanosecond: a round trip is two switches of a few hundred
    assert all(500 < each < 5000 for each in (word, semaphore, queue))
    # a sleep ends by the timer's interrupt, not by the kernel's tick of a millisecond
    assert 0 <= least <= most < 2000
    assert 0 < step < 100


def test_the_hosted_port_keeps_it_too(tmp_path: Path) -> None:
    with LocalTarget() as target:
        machine = HostedMachine(target=target, cpu=0, policy="other")
        program = freertos_program(HOSTED, [DRIVER])
        machine.run(program, ("measure",), tmp_path / "result", timeout_s=60)
        with pytest.raises(TargetError, match="on this Linux: the job's words"):
            machine.run(program, ("other",), tmp_path / "other", timeout_s=60)
    least, most = struct.unpack("<6q", (tmp_path / "result").read_bytes())[3:5]
    assert 0 <= least <= most
    assert not (tmp_path / "other").exists()


def test_a_job_it_does_not_know_is_an_error_with_the_programs_words(driver: Path, tmp_path: Path):
    with pytest.raises(TargetError, match="FreeRTOS in QEMU: the job's words"):
        MACHINE.run(driver, ("other",), tmp_path / "result", timeout_s=60)
    assert not (tmp_path / "result").exists()


def test_a_job_longer_than_its_room_is_refused(driver: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="too long"):
        MACHINE.run(driver, ("x" * 70_000,), tmp_path / "result")


def test_a_machine_that_does_not_end_is_ended(driver: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"did not end within 0\.01 s"):
        MACHINE.run(driver, ("measure",), tmp_path / "result", timeout_s=0.01)


def test_a_task_set_runs_twice_alike_and_is_preempted(virtual: FreeRTOSExecutor, task_set: TaskSet):
    with virtual.open([RunRequest(KEY, task_set)], SETTINGS) as session:
        outcomes = [session.run(KEY) for _ in range(2)]
    files = [outcome.file for outcome in outcomes]
    assert files[0] is not None and files[1] is not None
    assert files[0].read_bytes() == files[1].read_bytes()
    table = read_job_table(files[0])
    counted = table.jobs[(table.jobs["flags"] & j.JOB_COUNTED) > 0]
    # nothing is lost, and no release is later than the timer's interrupt where a task is alone
    assert set(counted["task"]) == {0, 1, 2}
    alone = counted[(counted["flags"] & j.JOB_SOLO) > 0]
    assert 0 <= (alone["start_ns"] - alone["release_ns"]).max() < 2000
    # the task of least priority is held up by the others, its code is not slower
    lowest = min(table.tasks, key=lambda row: row["priority"])["task"]
    spans = counted["finish_ns"] - counted["start_ns"]
    mine = counted["task"] == lowest
    solo = (counted["flags"] & j.JOB_SOLO) > 0
    assert spans[mine & ~solo].mean() > 1.05 * spans[mine & solo].mean()


def test_what_freertos_cannot_do_is_refused_by_name(virtual: FreeRTOSExecutor, task_set: TaskSet):
    refused = virtual.unavailable(load_catalog(), policy="fifo")
    assert refused["flock"].endswith("not on FreeRTOS")
    assert "semaphore_posix" not in refused
    assert not set(FRAGMENTS) & set(refused)
    with closing(freertos_executor("virtual,cores=2", cpus=None)) as several:
        assert "one kernel" in several.unavailable(load_catalog())["semaphore_posix"]
    with pytest.raises(UsageError, match="--split"):
        virtual.open([RunRequest(KEY, task_set)], RunSettings(seconds=0.1, split=True))
    with pytest.raises(UsageError, match="unknown"):
        freertos_executor("virtuel", cpus=None)
    with pytest.raises(UsageError, match="one CPU"):
        freertos_executor("hosted", cpus=(0, 1))


@pytest.mark.slow
@pytest.mark.hardware
def test_one_task_set_on_linux_and_on_freertos_is_one_comparison(tmp_path: Path) -> None:
    """Linux itself against FreeRTOS hosted on it, through the commands a user types."""
    runs = ("--runs", str(tmp_path))
    sets = ("--cores", "1", "--tasks-per-core", "2", "--utilisation", "0.3", "--sets", "2")
    sync = ("--sync-share", "0.5", "--contended-ratio", "1", "--set", "priorities=rate-monotonic")
    made = ("--duration", "0.2s", "--set", "calibration-seconds=5s", "--quick", *runs)
    few = ("--set", "fragments=crc32,kalman,matmul,pid,semaphore_posix,mutex_inherit")
    deadbeat("contention", "--random", *sets, *sync, *few, *made, "--name", "linux")
    again = (
        "contention",
        "--random",
        "--executor",
        "freertos:hosted",
        "--programs-from",
        "linux",
        *runs,
    )
    assert "built for FreeRTOS" in deadbeat(*again, "--name", "rtos").stderr
    shown = deadbeat("compare", "linux", "rtos", "--ungated", "--json", *runs).stdout
    assert "FreeRTOS hosted on Linux" in shown
    assert "wake-up, median" in shown and "a use of semaphore_posix" in shown
    locks = ("--set", "fragments=crc32,pid,mutex_normal,rwlock", "--name", "locks")
    deadbeat("contention", "--random", *sets, *sync[:4], *made, *locks)
    refused = deadbeat(*again[:5], "locks", *runs, "--name", "never", status=2)
    assert ": not on FreeRTOS" in refused.stderr


def deadbeat(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "deadbeat", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr[-2000:]
    return done
