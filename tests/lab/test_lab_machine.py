"""Truth: kernels that really boot. Needs QEMU and kernels that deadbeat lab fetch has brought."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deadbeat.base.model.errors import BuildError, TargetError
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import toolchain_for
from deadbeat.lab.boot import Booted
from deadbeat.lab.guest import Guest
from deadbeat.lab.job import PROGRAM, ImageFile, Job
from deadbeat.lab.kernels import fetched
from deadbeat.lab.latency import job_of, run_of
from deadbeat.lab.qemu import find_qemu
from deadbeat.latencies.latency.spec import LatencySpec, keys, resolve, specify

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("machine")]


def guest(label: str, machine: str = "x86_64", **more: object) -> Guest:
    """A machine with the newest fetched kernel of that label."""
    found = [each for each in fetched(machine) if each.label == label]
    if not found:
        pytest.skip(f"needs the kernel: deadbeat lab fetch {label}")
    try:
        qemu, toolchain = find_qemu(machine), toolchain_for(machine)
    except (TargetError, BuildError) as error:
        pytest.skip(str(error))
    program = link_program(toolchain, NO_TASK_SETS)
    return Guest(qemu=qemu, kernel=found[-1], program=program, **more)


def spec_of(**layer: object) -> LatencySpec:
    given = {"loads": "idle", "duration": "1s", "repeats": 1, "engines": ["prober"], **layer}
    return resolve(specify(given), engines={"prober": ""}, cpus=(0,))


def booted(machine: Guest, spec: LatencySpec, seed: int = 1) -> Booted:
    return machine.run(job_of(spec, keys(spec)[0]), seed=seed, seconds=3)


@contextmanager
def busy_host() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def test_the_same_boot_gives_the_same_bytes_whatever_the_host_does():
    machine, spec = guest("6.12-amd64"), spec_of(loads="timer", duration="0.2s")
    first = booted(machine, spec)
    with busy_host():
        again = booted(machine, spec)
    assert first.files == again.files
    assert "/tmp/wake-ups" in first.files
    assert booted(machine, spec, seed=2).files != first.files


@pytest.mark.parametrize(
    ("label", "machine"),
    [
        ("6.12-amd64", "x86_64"),
        ("6.12-arm64", "aarch64"),
        ("6.12-armmp", "arm"),
        ("7.2-riscv64", "riscv64"),
    ],
)
def test_every_machine_measures_and_hands_over(label, machine):
    found, spec = guest(label, machine), spec_of()
    files = booted(found, spec).files
    run = run_of(files, spec, keys(spec)[0], found, started="2026-01-01T00:00:00Z")
    assert run.valid and run.cpus[0].cycles == 1000
    assert run.cpus[0].policy == "fifo"


def test_without_pci_the_console_hands_over():
    machine = guest("6.12-amd64", words="pci=off", mode="functional")
    found = machine.run(Job().read("now", ["/proc/version", "/proc/cmdline"]), seed=1, seconds=1)
    assert b"Linux version 6.12" in found.files["now/proc/version"]
    assert "deadbeat-guest end" in found.console


def test_a_program_that_does_not_end_is_ended_and_told():
    sleeps = ("/init", "load", "--cpu", "1")
    job = Job().run("load", sleeps, limit_ns=1_000_000_000).keep("/no/such/file").sleep(1)
    files = guest("6.12-amd64", mode="functional").run(job, seed=1, seconds=3).files
    assert files["/tmp/load.status"] == b"124\n"
    assert files["/failed"] == b"line 2 of the job failed: keep /no/such/file\n\n"


def test_a_kernel_without_a_first_process_is_told_by_its_panic(tmp_path: Path):
    machine = guest("6.12-amd64", mode="functional")
    broken = tmp_path / "program"
    broken.write_bytes(b"no program")
    wrong = Guest(qemu=machine.qemu, kernel=machine.kernel, program=broken, mode="functional")
    with pytest.raises(TargetError, match=r"its console ends: .*panic"):
        wrong.run(Job(), seed=1, seconds=1)


def test_more_files_are_there():
    files = {"/etc/deadbeat/a": ImageFile(b"1")}
    job = Job().keep("/etc/deadbeat/a").read("now", ["/proc/1/comm"])
    found = guest("6.12-amd64", mode="functional").run(job, seed=1, seconds=1, more=files).files
    assert found["/etc/deadbeat/a"] == b"1"
    assert found["now/proc/1/comm"].decode().strip() == Path(PROGRAM).name
