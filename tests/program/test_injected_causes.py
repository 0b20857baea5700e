"""Truth: what was done to the tasks on purpose, and this machine's tracefs before and after."""

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.hardware import MS, TWO_CORES, executor, keys, settings, table_of, task, task_set
from helpers.processes import is_alive, until
from helpers.programs import ROOT, command_of
from helpers.trials import CONTROLS, Trial, try_causes

from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.guarded import GuardedProgram
from deadbeat.machine.targets.local import LocalProcess, LocalTarget
from deadbeat.machine.trace.jobs import worst_jobs
from deadbeat.machine.trace.session import Tracer
from deadbeat.program.derive.late import late
from deadbeat.program.derive.recorder import Recorder, recorded_alone
from deadbeat.program.derive.records import RecordKind
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.watching import watched
from deadbeat.tasksets.executors.base import RunRequest
from deadbeat.tasksets.executors.hardware import HardwareExecutor

pytestmark = pytest.mark.hardware

#: The instances of event tracing there are, and the machine's own settings, or why not.
LOOK = """
[ -f /sys/kernel/tracing/trace_clock ] || mount -t tracefs tracefs /sys/kernel/tracing || exit 1
cd /sys/kernel/tracing && ls instances && cat trace_clock tracing_on buffer_size_kb
"""


def look(script: str = LOOK) -> str | None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return None
    lines = done.stdout.splitlines()
    return "\n".join(line for line in lines if not _of_others(line))


def _of_others(line: str) -> bool:
    """Whether it is an instance of a test beside this one: its shell lives."""
    name, _, number = line.rpartition("-")
    above = int(number) if name.startswith("deadbeat") else 0
    while above > 1 and above != os.getpid():
        try:
            above = int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return above != os.getpid() and is_alive(number)


@pytest.fixture
def tracefs() -> Iterator[None]:
    """Whatever a test does, the machine's tracefs is afterwards as it was."""
    with LocalTarget() as target:  # what a killed test left is not this one's doing
        Tracer(target, cpus=(0,)).close()
    mounted = Path("/proc/self/mounts").read_text()
    if look() is None:
        pytest.skip("tracefs cannot be mounted here")
    before = until(lambda: "deadbeat-" not in (found := look() or "") and found)
    yield
    until(lambda: look() == before)  # an instance of a test beside this one may end
    assert Path("/proc/self/mounts").read_text() == mounted


def test_odd_settings_of_the_machine_stay(tracefs: None) -> None:
    clock = "cd /sys/kernel/tracing; echo {} > trace_clock\n"
    odd = LOOK + clock.format("uptime") + "cat trace_clock"
    assert "[uptime]" in (look(odd) or "")
    try:
        before = look()
        with LocalTarget() as target, Tracer(target, cpus=(0,)) as tracer:
            assert tracer.unavailable == ""
            tracer.start()
            subprocess.run(["taskset", "-c", "0", "true"], check=True)  # an idle CPU has no events
            tracer.stop()
            assert " sched_switch: " in tracer.text()
        assert look() == before
    finally:
        look(LOOK + clock.format("local"))


KILLED = """
import os, signal
from deadbeat.build.toolchain import Toolchain
from deadbeat.program.derive.recorder import Recorder, recorded_alone
from deadbeat.machine.targets.local import LocalProcess, LocalTarget
recorder = Recorder(LocalTarget())  # the tracer, and what reads its instance
recorder.begin(os.getpid())
tracer = recorder._tracer
print(tracer.unavailable or "on", tracer._process.pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("also_the_shell", [False, True])
def test_after_kill_9_nothing_stays(tracefs: None, also_the_shell: bool) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    word, shell = child.stdout.readline().split()
    assert word == "on"
    assert f"deadbeat-{shell}" in (look() or "")
    descriptor = os.pidfd_open(int(shell))
    if also_the_shell:
        os.kill(int(shell), signal.SIGKILL)
    child.kill()
    child.wait()
    child.stdout.close()
    _wait_end(descriptor)
    if also_the_shell:  # the next one tidies up
        with LocalTarget() as target, Tracer(target, cpus=(0,)) as tracer:
            assert tracer.unavailable == ""


def _wait_end(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(10_000), "the shell did not end"
    os.close(descriptor)


#: A tracefs that is ours alone, as in a machine of the lab.
ALONE = """
mount -t tracefs tracefs "$1" && i=$1/instances/deadbeat-$$ && mkdir "$i" || exit 1
exec 9< "$i/tracing_on" # a test beside this one tidies up
mount --bind "$i" /sys/kernel/tracing && shift && "$@"
status=$?
umount /sys/kernel/tracing && exec 9<&- && rmdir "$i"
exit $status"""


class Alone(LocalTarget):
    def start(self, argv: Sequence[str]) -> LocalProcess:
        Path(self.folder, "tracefs").mkdir()
        words = ("unshare", "-m", "sh", "-c", ALONE, "sh", f"{self.folder}/tracefs")
        return super().start((*words, *argv))


@pytest.mark.parametrize(("seconds", "status"), [(None, 7), (0.3, None)])
def test_a_command_is_recorded_where_all_is_ours(
    seconds: float | None, status: int | None, tracefs: None
) -> None:
    """What it writes comes apart; it ends when its time is over."""
    text = f"print('said', flush=True)\n{LOOP}\nraise SystemExit(7)".replace(
        "20)", "20 if {} else 10**6)"
    )
    command = (sys.executable, "-S", "-c", text.format(seconds is None))
    with Alone() as target:
        found, ended, said = recorded_alone(target, Toolchain.find(), command, seconds)
    assert (ended, said.strip(), found.lost, found.not_seen) == (status, "said", 0, ())
    calls, rows = {name: number for number, name in found.calls.items()}, found.events
    sleeps = (rows["kind"] == RecordKind.EXIT) & (rows["a"] == calls["clock_nanosleep"])
    assert sleeps.sum() == 20 if seconds is None else sleeps.sum() > 0


LOOP = "import time\nfor _ in range(20): time.sleep(0.01); sum(range(20_000))"


def test_a_loop_is_recorded_whole(tracefs: None) -> None:
    """Whatever the machine does meanwhile: no figure here is a matter of time."""
    with LocalTarget() as target, Recorder(target) as recorder:
        program = GuardedProgram((sys.executable, "-S", "-c", LOOP), ready=recorder.begin)
        program.wait(60)
        found = recorder.finish()
        assert program.close() == 0
    (thread,) = found.threads
    assert (found.lost, found.not_seen) == (0, ())
    own = found.events[found.events["tid"] == thread.tid]
    call = {name: number for number, name in found.calls.items()}["clock_nanosleep"]
    entered = own[(own["kind"] == RecordKind.ENTER) & (own["a"] == call)]
    left = own[(own["kind"] == RecordKind.EXIT) & (own["a"] == call)]
    timers = own[own["kind"] == RecordKind.SLEEP_TIMER]
    assert len(entered) == len(left) == len(timers) == 20
    assert np.all(timers["ns"] >= entered["ns"]) and np.all(left["ns"] >= timers["a"])
    assert np.all(np.diff(timers["a"]) >= 10_000_000)
    assert np.sum(own["kind"] == RecordKind.SWITCH) >= 20
    charges = own[own["kind"] == RecordKind.RUNTIME]
    before = charges[charges["ns"] <= thread.sampled_ns]["a"].sum()
    # what it was charged before it began is in cpu_ns up to a tick later
    assert before - 100_000 <= thread.cpu_ns < 2 * charges["a"].sum()


def test_a_run_brings_the_events_of_its_worst_jobs(tracefs: None) -> None:
    wanted = task_set(task("busy", 100))
    request = RunRequest(keys(1)[0], wanted)
    with executor() as machine, machine.open([request], settings(causes=True)) as session:
        for _ in range(2):
            outcome = session.run(request.key)
            table, trace = table_of(outcome), outcome.trace
            assert trace is not None and trace.unavailable == ""
            assert set(trace.threads.values()) == {0}
            worst = worst_jobs(table, 10)
            looked_at = list(dict.fromkeys(late.looked_at for late in worst))
            assert [one.job for one in trace.jobs] == looked_at[:5]
            (thread,) = trace.threads
            within = []
            for one in trace.jobs:
                record = table.jobs[one.job]
                switched_in = [
                    event.at_ns
                    for event in one.events
                    if event.name == "sched_switch" and event.fields.get("next_pid") == thread
                ]
                # its clock is that of the job file: the thread gets its core within the job, unless
                # the job before was so late that it never gave the core back
                first, last = record["release_ns"] - MS, record["finish_ns"]
                within.append(any(first <= at <= last for at in switched_in))
            assert any(within)


def test_without_causes_nothing_is_traced(tracefs: None) -> None:
    request = RunRequest(keys(1)[0], task_set(task("busy", 100)))
    with executor() as machine, machine.open([request], settings()) as session:
        assert session.run(request.key).trace is None


NAMED = {
    "work": ("own work", ""),
    "fault": ("page fault", ""),
    "preempted": ("preempted", "hog"),
    "lock": ("lock", "map_lock, held by logger (late.c:"),
    "throttled": ("throttled", "policy deadline"),
}


@TWO_CORES
@pytest.mark.parametrize("cause", NAMED)
def test_what_makes_a_program_late_is_named(tracefs: None, cause: str, tmp_path: Path) -> None:
    """Five jobs of 20 ms are late by half to three times their slack of 8 ms; tests beside it may
    make two later than that."""
    draw = random.Random(cause)
    extra = [str(int(8000 * draw.uniform(1.5, 4))) for _ in range(5)]
    command = (*command_of(ROOT / "tests/programs/late/late.c", tmp_path), cause, *extra)
    spec = ProgramSpec(name="late", command=command)
    with (tmp_path / "out").open("w+") as output, LocalTarget() as here:
        seen = watched(spec, output.fileno(), here, Toolchain.find()).recording
        output.seek(0)
        releases = [int(line) - seen.begin_ns for line in output]
    derived = derive(seen, deadlines={"control": 10 * MS})
    found = {each.at_ns // MS: each for each in late(seen, derived)}
    named = [found[at // MS] for at in releases if at // MS in found]
    assert len(releases) == 5 and len(named) >= 4, found
    cause, by = NAMED[cause]
    assert sum(each.cause == cause and each.by.startswith(by) for each in named) >= 3, named


@pytest.mark.slow
@TWO_CORES
@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_injected_causes_are_named_rightly(tracefs: None, control: Trial) -> None:
    machine = HardwareExecutor(lock_wait=300)
    try:
        (outcome,) = try_causes(machine, trials=20, controls=[control])
    finally:
        machine.close()
    if outcome.untraced:
        pytest.skip(f"no events could tell: {outcome.untraced}")
    assert outcome.passed, outcome  # what shows in too few trials fails, too
