"""Programs for other machines, run here by qemu-user: the pool, the records, sizes and addresses.

The truth is each fragment's own check, and the native program's records of the same task set.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import frozen
from helpers.hardware import LOCK_WAIT, MS, run_all, settings, table_of, task_of, task_set
from helpers.native import compile_program

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.build.native import NO_TASK_SETS, index_source, link_program, native_root
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalProcess, LocalTarget
from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Resource, TaskSet

#: Real-time where it is allowed, so that objects with a priority ceiling are tried as well.
POLICY = "fifo" if os.geteuid() == 0 else "other"


@frozen
class Machine:
    """A cross toolchain and what runs its programs here."""

    cross: str
    machine: str
    emulator: str = ""
    #: Fragments that its C library or the emulator does without, and a word of the reason.
    refused: tuple[tuple[str, str], ...] = ()

    def toolchain(self) -> Toolchain:
        """Skips the test where compiler or emulator is not installed."""
        compiler = "musl-gcc" if self.cross == "musl" else f"{self.cross}-gcc"
        for program in filter(None, (compiler, self.emulator)):
            if shutil.which(program) is None:
                pytest.skip(f"no {program} here: tools/setup dev installs it")
        return Toolchain.find(cross=self.cross)

    def target(self) -> EmulatedTarget:
        return EmulatedTarget((self.emulator,) if self.emulator else ())


ARM = Machine("arm-linux-gnueabihf", "arm", "qemu-arm-static")
AARCH64 = Machine("aarch64-linux-gnu", "aarch64", "qemu-aarch64-static")
# glibc asks whether there are robust lists, and this emulator has none
RISCV64 = Machine(
    "riscv64-linux-gnu", "riscv64", "qemu-riscv64-static",
    refused=(("mutex_robust", "its object cannot be made: Operation not supported"),),
)  # fmt: skip
X86_64 = Machine("x86_64-linux-gnu", "x86_64", "qemu-x86_64-static")
MUSL = Machine(
    "musl", "x86_64", refused=(("mutex_ceiling", "its object cannot be made: Not supported"),)
)


class EmulatedTarget(LocalTarget):
    """This machine, on which programs that were sent to it run under an emulator."""

    kind = "emulated"

    def __init__(self, emulator: Sequence[str]) -> None:
        super().__init__()
        self._emulator = tuple(emulator)

    def start(self, argv: Sequence[str]) -> LocalProcess:
        own = str(argv[0]).startswith(f"{self.folder}/")
        return super().start([*(self._emulator if own else ()), *argv])


MOST_BYTES = 2 << 20
ELF_MACHINES = {"x86_64": 62, "aarch64": 183, "arm": 40, "riscv64": 243}
#: One machine stands for all in `make test`: 32 bits, other alignments, other system calls.
ALL = [
    ARM,
    *(pytest.param(each, marks=pytest.mark.slow) for each in (AARCH64, RISCV64, X86_64, MUSL)),
]
_USABLE = sorted(os.sched_getaffinity(0))
CPUS = (_USABLE[0], _USABLE[-1])
STRESS = native_root() / "runtime" / "tests" / "sy_stress.c"
PORT = sorted((native_root() / "runtime" / "port" / "linux").glob("port_*.c"))


def named(machine: Machine) -> str:
    return machine.cross


def executor_of(machine: Machine) -> HardwareExecutor:
    # an emulator would lock all the memory it sets aside for its program
    return HardwareExecutor(
        target=machine.target(),
        cpus=CPUS,
        toolchain=machine.toolchain(),
        lock_wait=LOCK_WAIT,
        lock_memory=False,
    )


@pytest.mark.slow  # the whole pool runs once below
@pytest.mark.parametrize("machine", [ARM, AARCH64, RISCV64, X86_64, MUSL], ids=named)
def test_every_fragment_is_right_or_named_with_its_reason(machine: Machine) -> None:
    found = executor_of(machine).unavailable(load_catalog(), policy=POLICY, participants=3)
    if POLICY == "fifo":
        assert {*found.items()} == {*machine.refused}
    else:
        assert {*found} == {"mutex_ceiling", *dict(machine.refused)}


@pytest.mark.slow
@pytest.mark.parametrize("machine", [ARM, AARCH64, RISCV64, X86_64, MUSL], ids=named)
def test_every_size_of_every_fragment_is_right(machine: Machine) -> None:
    catalog = load_catalog()
    entries = [Entry(f.name, size) for f in catalog.fragments.values() for size in f.sizes]
    executor = executor_of(machine)
    path = Path(executor.folder) / "entries"
    path.write_text("".join(f"{entry.fragment} {entry.size}\n" for entry in entries))
    options = {"--entries": str(path), "--participants": "3"}
    lines = [*executor.converse("try", POLICY, options, timeout=300)]
    wrong = {line.split()[1].split("/")[0] for line in lines if line.startswith("no ")}
    expected = {*dict(machine.refused), *(() if POLICY == "fifo" else ("mutex_ceiling",))}
    assert wrong == expected
    assert sum(line.startswith("yes ") for line in lines) > 280


def whole_pool(catalog: Catalog, machine: Machine) -> TaskSet:
    """Every fragment once, in four tasks on two cores; half of the objects contended."""
    names = [
        name
        for name, fragment in catalog.fragments.items()
        if name not in dict(machine.refused)
        and "default" in fragment.modes
        and fragment.mixed_priorities is not False
        and (POLICY == "fifo" or name != "mutex_ceiling")
    ]
    uses: list[list[FragmentUse]] = [[], [], [], []]
    resources: list[Resource] = []
    for place, name in enumerate(names):
        fragment = catalog.fragments[name]
        entry = Entry(name, fragment.sizes[0])
        if fragment.kind is Kind.NS:
            uses[place % 4].append(FragmentUse(entry, 1))
            continue
        contended = place % 2 == 0
        resources.append(Resource(name, None if contended else 0))
        for who in (0, 1, 2, 3) if contended else (0, 1):
            uses[who].append(FragmentUse(entry, 2, len(resources) - 1))
    tasks = [
        task_of(*uses[who], core=who // 2, period_ns=20 * MS, offset_ns=who * MS, priority=60 + who)
        for who in range(4)
    ]
    return task_set(*tasks, resources=tuple(resources))


def records_of(executor: HardwareExecutor, tasks: TaskSet) -> JobTable:
    how = settings(policy=POLICY, seconds=0.5, split=True)
    try:
        (outcome,) = run_all(executor, [tasks], how)
        return table_of(outcome)
    finally:
        executor.close()


@pytest.mark.parametrize("machine", ALL, ids=named)
def test_records_are_those_of_the_native_program(machine: Machine) -> None:
    machine.toolchain()
    tasks = whole_pool(load_catalog(), machine)
    here = HardwareExecutor(cpus=CPUS, lock_wait=LOCK_WAIT, lock_memory=False)
    ours = records_of(here, tasks)
    theirs = records_of(executor_of(machine), tasks)
    times = {"epoch_ns", "epoch_realtime_ns", "clock_cost_ps", "setup_ns", "wall_ns", "reserved"}
    for name in set(j.HEADER_DTYPE.names or ()) - times - {"probe_count"}:
        assert ours.header[name] == theirs.header[name], name
    assert theirs.header["job_count"] > 20 and theirs.header["clock_cost_ps"] > 0
    for name in j.TASK_DTYPE.names or ():
        assert (ours.tasks[name] == theirs.tasks[name]).all(), name
    for name in ("slot", "kind", "task", "round"):
        assert (ours.slots[name] == theirs.slots[name]).all(), name
    for name in ("start_ns", "end_ns"):
        lengths = [table.slots[name] - table.slots["begin_ns"][0] for table in (ours, theirs)]
        assert (lengths[0] == lengths[1]).all(), name
    planned = j.JOB_COUNTED | j.JOB_SOLO
    for name in ("task", "slot"):
        assert (ours.jobs[name] == theirs.jobs[name]).all(), name
    assert (ours.jobs["flags"] & planned == theirs.jobs["flags"] & planned).all()
    releases = [table.jobs["release_ns"] - table.slots["begin_ns"][0] for table in (ours, theirs)]
    assert (releases[0] == releases[1]).all()
    ran = theirs.jobs["flags"] & j.JOB_FINISHED != 0
    assert ran.any() and (theirs.jobs["finish_ns"][ran] > theirs.jobs["start_ns"][ran]).all()
    assert np.isin(theirs.probes["core_b"], np.arange(4)).all()


def symbols_of(toolchain: Toolchain, program: Path) -> list[str]:
    """Lines of ``nm``: address, kind, name."""
    asked = [toolchain.cc, *toolchain.words, "-print-prog-name=nm"]
    nm = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    argv = [nm, "--defined-only", str(program)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def code_of(symbols: list[str]) -> list[str]:
    return sorted(line for line in symbols if line.split()[1] in "Tt")


@pytest.mark.parametrize("machine", ALL, ids=named)
def test_programs_are_small_and_static_and_code_keeps_its_address(machine: Machine) -> None:
    toolchain = machine.toolchain()
    empty = link_program(toolchain, NO_TASK_SETS)
    full = link_program(toolchain, emit_batch([whole_pool(load_catalog(), machine)]))
    head = empty.read_bytes()[:64]
    assert struct.unpack_from("<H", head, 18) == (ELF_MACHINES[machine.machine],)
    assert struct.unpack_from("<H", head, 16) == (2,), "neither shared nor position independent"
    assert b"/lib/ld-" not in empty.read_bytes()[:4096]
    assert empty.stat().st_size < full.stat().st_size <= MOST_BYTES
    symbols = symbols_of(toolchain, empty)
    code = code_of(symbols)
    assert len(code) > 500 and code == code_of(symbols_of(toolchain, full))
    defined = {line.split()[-1] for line in symbols}
    assert {f"db_fragment_{name}" for name in load_catalog().fragments} <= defined


@pytest.mark.parametrize("machine", ALL, ids=named)
def test_the_port_keeps_its_promises(machine: Machine, tmp_path: Path) -> None:
    machine.toolchain()
    source = Path(__file__).parents[1] / "pools" / "port_check.c"
    program = compile_program([source, *PORT], tmp_path / "check", cross=machine.cross)
    argv = [*filter(None, [machine.emulator]), str(program)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("machine", [ARM, AARCH64, RISCV64], ids=named)
def test_objects_stay_whole_when_four_tasks_in_two_processes_use_them(
    machine: Machine, tmp_path: Path
) -> None:
    machine.toolchain()
    catalog = load_catalog()
    shared = {
        name: fragment
        for name, fragment in catalog.fragments.items()
        if fragment.kind is Kind.SY and fragment.fits("default") and name != "mutex_ceiling"
    }
    sources = [native_root() / "fragments" / "sy" / f"{name}.c" for name in shared]
    index = tmp_path / "index.c"
    index.write_text(index_source(shared))
    everything = [STRESS, *PORT, index, *sources]
    program = compile_program(everything, tmp_path / "stress", cross=machine.cross)
    for name, fragment in shared.items():
        argv = [*filter(None, [machine.emulator]), str(program), name, str(fragment.sizes[0])]
        argv += ["300", "4", "2", "--equal", "--limit", "120"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
        refused = name in dict(machine.refused) and "Operation not supported" in done.stderr
        assert done.returncode == 0 or refused, f"{name}: {done.stdout}{done.stderr}"
