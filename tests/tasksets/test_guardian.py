"""What does not end is ended, though it has every CPU at the highest priority it may have.

What runs away here would end after about `RUNAWAY_S` all the same.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from helpers.hardware import LOCK_WAIT, MS, POOLS, processes_of, stands_above, task, task_set
from helpers.old_kernel import CLOCK_NANOSLEEP, REFUSED, without_call
from helpers.processes import running, until, words_of

from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.programs import BOUND_PASSED, guarded
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.emit import emit_batch

pytestmark = pytest.mark.hardware

CPUS = tuple(sorted(os.sched_getaffinity(0)))
BOUND_S = 0.3
RUNAWAY_S = 20
KILLED = 6  # exit status of the program when its guardian had to end what it ran
GUARD_SAYS = "deadbeat guard: the bound of 300 ms has passed; all was ended"
HOUR = 3600 * 1000 * MS
#: A sleep that is refused takes at least so long, with what is counted after it.
REFUSAL_NS = 100

#: A program that is not ours: a thread of the highest priority on every CPU.
FOREIGN = """
import os, sys, time
for cpu in map(int, sys.argv[2].split(",")):
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        end = time.monotonic() + float(sys.argv[1])
        while time.monotonic() < end:
            pass
        os._exit(0)
for _ in sys.argv[2].split(","):
    os.wait()
"""


@pytest.fixture
def target() -> Iterator[LocalTarget]:
    with LocalTarget() as made:
        yield made


def put(target: LocalTarget, program: Path) -> str:
    copy = f"{target.folder}/program-test"
    target.put(program, copy)
    return copy


def words(verb: str, **options: object) -> list[str]:
    given = {"cpus": ",".join(map(str, CPUS)), "lock_wait_ns": round(LOCK_WAIT * 1e9), **options}
    pairs = ((f"--{key.replace('_', '-')}", str(value)) for key, value in given.items())
    return [verb, *(word for pair in pairs for word in pair)]


def task_sets(target: LocalTarget) -> list[str]:
    """Every core has a task above all others that computes on."""
    tasks = [task("runaway", RUNAWAY_S, core=core, priority=79) for core in range(len(CPUS))]
    program = link_program(Toolchain.find(), emit_batch([task_set(*tasks)]), fragments_root=POOLS)
    return [
        put(target, program),
        *words("serve", seconds_ns=RUNAWAY_S * 1000 * MS, slot_periods=1000),
    ]


def wake_ups(target: LocalTarget) -> list[str]:
    """Threads that ask to sleep and do not: on every CPU, for as many turns as take that long."""
    assert CLOCK_NANOSLEEP is not None
    out = f"{target.folder}/out"
    program = put(target, link_program(Toolchain.find(), NO_TASK_SETS))
    turns = RUNAWAY_S * 10**9 // REFUSAL_NS
    probe = words("probe", priority=99, interval_ns=20_000, seconds_ns=turns * 20_000, out=out)
    return list(without_call(CLOCK_NANOSLEEP, program, *probe))


def rounds(target: LocalTarget) -> list[str]:
    """A round without an end, beside ordinary threads on every CPU."""
    program = put(target, link_program(Toolchain.find(), NO_TASK_SETS))
    how = {
        "seconds_ns": RUNAWAY_S * 1000 * MS,
        "units": 2**30,
        "unit_ps": 1,
        "out": f"{target.folder}/out",
    }
    return [program, *words("rounds", priority=99, normal=2, pin=CPUS[0], **how)]


def ended(target: LocalTarget, argv: Sequence[str]) -> tuple[int, str]:
    """Status and last line of a program that ends long before what it runs would."""
    with (Path(target.folder) / "said").open("w+") as said:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=said, stderr=said)
        process.stdin.write(f"run 0 1000000 {target.folder}/jobs\n".encode())
        process.stdin.flush()
        began = None
        while process.poll() is None:
            # it has the machine to itself once it has started another
            if began is None and len(processes_of(target.folder)) > 1:
                began = time.monotonic()
            time.sleep(0.005)
        took = time.monotonic() - (began or time.monotonic())
        process.stdin.close()
        said.seek(0)
        lines = said.read().splitlines()
    assert took < RUNAWAY_S / 2
    return process.returncode, lines[-1] if lines else ""


@pytest.mark.parametrize("made", [task_sets, wake_ups, rounds])
def test_what_has_every_cpu_is_ended_at_the_bound(
    target: LocalTarget, made: Callable[[LocalTarget], list[str]]
) -> None:
    if made is wake_ups and CLOCK_NANOSLEEP is None:
        pytest.skip("the number of clock_nanosleep is not known here")
    status, said = ended(target, [*made(target), "--bound-ns", str(round(BOUND_S * 1e9))])
    if status == REFUSED:
        pytest.skip("a filter of system calls is refused here")
    assert (status, said[:36]) == (KILLED, "error guardian the bound of the run ")
    until(lambda: not processes_of(target.folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may take every CPU")
def test_a_foreign_program_that_has_every_cpu_is_ended_at_the_bound(target: LocalTarget) -> None:
    mark = f"{RUNAWAY_S}.{os.getpid():09d}"
    program = put(target, link_program(Toolchain.find(), NO_TASK_SETS))
    foreign = (sys.executable, "-c", FOREIGN, mark, ",".join(map(str, CPUS)))
    argv = guarded(program, foreign, bound_s=BOUND_S, lock=True, lock_wait_s=LOCK_WAIT)
    status, said = ended(target, argv)
    assert (status, said) == (BOUND_PASSED, GUARD_SAYS)
    until(lambda: not processes_of(target.folder))
    until(lambda: not running(lambda entry: mark.encode() in words_of(entry)))


@pytest.mark.parametrize("verb", ["probe", "guard"])
def test_the_guardian_stands_above_and_sleeps_while_others_measure(target: LocalTarget, verb: str):
    program = put(target, link_program(Toolchain.find(), NO_TASK_SETS))
    probe = words("probe", priority=99, interval_ns=MS, seconds_ns=HOUR)
    argv = [program, *probe, "--out", f"{target.folder}/out", "--until-eof", "1"]
    if verb == "guard":
        argv = list(guarded(program, argv, bound_s=3600, until_eof=False))
    with target.start(argv) as process:
        line = process.read_line(LOCK_WAIT)
        assert line is not None and line.startswith("threads 0 "), process.stderr()
        assert stands_above(process.pid)
        # of those: a timer that PREEMPT_RT would leave to a thread that may never run
        held = [str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()]
        assert not [each for each in held if "timer" in each]
        until(lambda: rests(process.pid))
    until(lambda: not processes_of(target.folder))


def rests(process: int) -> bool:
    """Whether it sleeps, and is not woken for a while."""
    before = switches(process)
    time.sleep(0.3)
    return switches(process) == before


def switches(process: int) -> list[str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return [line for line in lines if "ctxt_switches" in line]
