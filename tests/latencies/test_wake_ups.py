"""The truth is what the machine's own clock and lists say of a short measurement."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.hardware import LOCK_WAIT, POOLS, executor, processes_of
from helpers.old_kernel import PIDFD_OPEN, REFUSED, without_call
from helpers.processes import until

from deadbeat.base.model.errors import TargetError
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.model import CpuLatency
from deadbeat.latencies.latency.prober import ProberEngine, cpu_latency, parsed
from deadbeat.machine.targets.base import Process
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.trace.paths import PATH_PARTS
from deadbeat.tasksets.executors.hardware import HardwareExecutor

pytestmark = pytest.mark.hardware

CPUS = tuple(sorted(os.sched_getaffinity(0)))
MS = 1_000_000


def started(machine: HardwareExecutor, changes: Mapping[str, str]) -> Process:
    given = {
        "--policy": "fifo",
        "--priority": "70",
        "--seconds-ns": str(200 * MS),
        "--interval-ns": str(MS),
        "--worst": "4",
        "--out": f"{machine.folder}/wake-ups",
    }
    program = link_program(Toolchain.find(), NO_TASK_SETS, fragments_root=POOLS)
    return machine.start_program(program, "probe", given | changes)


@contextmanager
def measuring(machine: HardwareExecutor, **changes: str) -> Iterator[Process]:
    """A measurement whose threads are placed."""
    options = {"--" + key.replace("_", "-"): value for key, value in changes.items()}
    with started(machine, options) as process:
        line = process.read_line(LOCK_WAIT)
        assert line is not None, process.stderr()
        assert line.startswith("threads 0 "), line
        yield process


def results(machine: HardwareExecutor) -> tuple[dict[str, Any], tuple[CpuLatency, ...]]:
    plain = parsed(Path(f"{machine.folder}/wake-ups").read_text())
    return plain, tuple(cpu_latency(cpu, plain["interval_ns"]) for cpu in plain["cpus"])


def check_counts(cpu: CpuLatency) -> None:
    """Nothing is lost: every period is a wake-up or a missed one, and both are counted."""
    assert cpu.cycles + cpu.missed == cpu.expected == cpu.raw.total + cpu.missed
    assert cpu.corrected.total == cpu.expected
    assert cpu.raw.max_ns == max(cpu.block_maxima) == cpu.worst[0].latency_ns
    assert sum(late.missed for late in cpu.worst) <= cpu.missed


def test_every_period_of_every_cpu_is_accounted_for() -> None:
    engine = ProberEngine(lock_wait=LOCK_WAIT, worst=5)
    with LocalTarget() as target:
        measured = engine.measure(target, Request(cpus=CPUS, seconds=0.3, priority=77))
        assert processes_of(target.folder) == []
    assert [cpu.cpu for cpu in measured.cpus] == list(CPUS)
    for cpu in measured.cpus:
        check_counts(cpu)
        assert cpu.expected == 300
        assert (cpu.policy, cpu.priority, cpu.placed) == ("fifo", 77, cpu.cpu)
        assert 0 < len(cpu.worst) <= 5
        assert cpu.switches[0] >= cpu.cycles - 1  # it slept before each
        assert 0 < cpu.clock_cost_ps < 10**7


@pytest.mark.parametrize("periods", [4000, 12000])  # as many as stretches, or three times that
def test_what_a_stopped_process_missed_is_counted_as_a_thread_released_then_would_see_it(
    periods: int,
) -> None:
    # so long that nothing ends by itself while it is stopped, however slow the machine is
    step = 5 * MS
    stall = 60 * step
    how = {"interval_ns": str(step), "seconds_ns": str(periods * step), "until_eof": "1"}
    with executor() as machine, measuring(machine, **how) as process:
        time.sleep(0.1)
        for number in processes_of(machine.folder):
            os.kill(number, signal.SIGSTOP)
        time.sleep(stall / 1e9)
        for number in processes_of(machine.folder):
            os.kill(number, signal.SIGCONT)
        time.sleep(0.05)
        process.close(LOCK_WAIT)
        _, cpus = results(machine)
    for cpu in cpus:
        check_counts(cpu)
        worst = cpu.worst[0]
        assert worst.latency_ns > stall - 2 * step
        assert worst.missed == worst.latency_ns // step
        assert cpu.missed >= worst.missed >= stall // step - 2
        # of a row of latencies a step apart, as many lie above half of it as periods passed then
        assert cpu.corrected.above(worst.latency_ns // 2) >= worst.missed // 2
        place = worst.due_ns // cpu.block_ns
        assert cpu.block_maxima[place] == worst.latency_ns
        for later in range(place + 1, (worst.due_ns // step + worst.missed) * step // cpu.block_ns):
            after_ns = later * cpu.block_ns - worst.due_ns
            assert cpu.block_maxima[later] == worst.latency_ns - after_ns
        assert 0 not in cpu.block_maxima


@pytest.mark.parametrize(
    ("priority", "policy", "achieved"),
    [(1, os.SCHED_OTHER, 0), (70, os.SCHED_FIFO, 69), (95, os.SCHED_FIFO, 85)],
)
def test_who_waits_for_the_measuring_threads_stands_below_them(
    priority: int, policy: int, achieved: int
) -> None:
    def coordinator() -> tuple[int, int]:
        for number in processes_of(machine.folder):
            if Path(f"/proc/{number}/comm").read_text().strip() == "db-main":
                return os.sched_getscheduler(number), os.sched_getparam(number).sched_priority
        raise AssertionError("it is not there")

    long = str(3600 * 1000 * MS)
    with (
        executor() as machine,
        measuring(machine, seconds_ns=long, until_eof="1", priority=str(priority)) as process,
    ):
        until(lambda: coordinator() == (policy, achieved))
        process.close(LOCK_WAIT)


def test_all_cpus_wake_at_once_as_cyclictest_is_asked_to() -> None:
    with executor() as machine, measuring(machine, seconds_ns=str(20 * MS)) as process:
        process.close(LOCK_WAIT)
        plain, _ = results(machine)
    assert len({cpu["start_ns"] for cpu in plain["cpus"]}) == 1


def test_kernels_before_5_3_measure_too() -> None:
    """They have no pidfd_open; what else they lack nobody knows here."""
    with executor() as machine:
        program = link_program(Toolchain.find(), NO_TASK_SETS, fragments_root=POOLS)
        out = f"{machine.folder}/wake-ups"
        words = [str(program), "probe", "--cpus", str(CPUS[0]), "--priority", "70", "--out", out]
        words += ["--seconds-ns", str(20 * MS), "--interval-ns", str(MS), "--worst", "4"]
        words += ["--lock-wait-ns", str(int(LOCK_WAIT * 1e9))]
        done = subprocess.run(without_call(PIDFD_OPEN, *words), capture_output=True, check=False)
        if done.returncode == REFUSED:
            pytest.skip("a filter of system calls is refused here")
        assert done.stdout.decode().splitlines()[-1].startswith("done 0 ")
        assert done.returncode == 0


@pytest.mark.parametrize("way", ["signal", "end of input"])
def test_a_run_that_is_asked_to_end_keeps_what_it_has(way: str) -> None:
    with (
        executor() as machine,
        measuring(machine, seconds_ns=str(3600 * 1000 * MS), until_eof="1") as process,
    ):
        time.sleep(0.1)
        if way == "signal":
            os.kill(min(processes_of(machine.folder)), signal.SIGTERM)
            assert (process.read_line(LOCK_WAIT) or "").startswith("done 0 ")
        process.close(LOCK_WAIT)
        plain, cpus = results(machine)
        assert processes_of(machine.folder) == []
    assert plain["stopped"]
    for cpu in cpus:
        check_counts(cpu)
        assert 0 < cpu.expected < 3600 * 1000


def test_a_late_wake_up_is_told_at_once_and_stops_the_trace() -> None:
    with executor() as machine:
        switch = Path(machine.folder) / "tracing_on"
        switch.write_text("1")
        with measuring(machine, break_ns="1", break_file=str(switch)) as process:
            line = process.read_line(LOCK_WAIT) or ""
            word, place, due, latency = line.split()
            assert set(switch.read_text()) == {"0"}  # each of two that were late at once wrote it
            assert (word, int(place) in range(len(CPUS)), int(latency) > 1) == ("late", True, True)
            told = {place: int(latency)}
            while (line := process.read_line(LOCK_WAIT) or "").startswith("late "):
                _, place, due, latency = line.split()
                # only what was later than all before is told; CPUs late at once come in any order
                assert int(latency) > told.get(place, 1)
                told[place] = int(latency)
            process.close()
        plain, _ = results(machine)
    first = plain["cpus"][int(place)]["start_ns"]
    assert (int(due) - first) % MS == 0


def test_a_week_takes_no_more_memory_than_a_minute() -> None:
    def bytes_of_processes(seconds: int) -> list[str]:
        with executor() as machine:
            how = {"seconds_ns": str(seconds * 1000 * MS), "until_eof": "1"}
            with measuring(machine, **how) as process:
                texts = [
                    Path(f"/proc/{number}/status").read_text()
                    for number in sorted(processes_of(machine.folder))
                ]
                process.close(LOCK_WAIT)
        lines = [line for text in texts for line in text.splitlines()]
        return sorted(line for line in lines if line.startswith("VmSize"))

    assert bytes_of_processes(60) == bytes_of_processes(7 * 86_400)


def test_threads_of_one_process_measure_too() -> None:
    engine = ProberEngine(lock_wait=LOCK_WAIT, one_process=True)
    with LocalTarget() as target:
        request = Request(cpus=CPUS, seconds=0.1, dma_latency="system", interval_ns=500_000)
        for cpu in engine.measure(target, request).cpus:
            check_counts(cpu)
            assert (cpu.expected, cpu.placed) == (200, cpu.cpu)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"--cpus": "4000"}, "could not be placed"),
        ({"--priority": "0"}, "--priority is 1 to 99 with fifo, and 0 with other"),
        ({"--policy": "other"}, "--priority is 1 to 99 with fifo, and 0 with other"),
        ({"--break-file": "/nowhere/tracing_on"}, "/nowhere/tracing_on: No such file"),
        ({"--out": "/nowhere/out", "--seconds-ns": "1000000"}, "No such file"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(changes: dict[str, str], said: str) -> None:
    with executor() as machine:
        process = started(machine, changes)
        lines = [process.read_line(LOCK_WAIT) or ""]
        while not lines[-1].startswith("error "):
            lines.append(process.read_line(LOCK_WAIT) or "error none")
        process.close(LOCK_WAIT)
        assert said in str(machine.explain(lines[-1]))
        assert processes_of(machine.folder) == []


def test_measuring_under_address_and_undefined_behaviour_sanitizers() -> None:
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    toolchain = Toolchain.find(flags=flags, static=False)
    program = link_program(toolchain, NO_TASK_SETS, fragments_root=POOLS)
    with executor(toolchain=toolchain, lock_memory=False) as machine:
        mark = Path(machine.folder) / "trace_marker"
        mark.write_text("")
        options = {
            "--policy": "fifo",
            "--priority": "70",
            "--seconds-ns": str(100 * MS),
            "--interval-ns": str(MS // 10),
            "--worst": "1024",
            "--break-ns": "1",
            "--mark-file": str(mark),
            "--out": f"{machine.folder}/wake-ups",
        }
        with machine.start_program(program, "probe", options) as process:
            lines = []
            while (line := process.read_line(LOCK_WAIT)) is not None:
                lines.append(line)
            assert lines[-1].startswith("done 0 "), process.stderr()
        _, cpus = results(machine)
        assert mark.read_text().count("latency=") > 0
    for cpu in cpus:
        check_counts(cpu)


def test_nothing_is_left_when_the_guardian_is_killed() -> None:
    with executor() as machine:
        with measuring(machine, seconds_ns=str(3600 * 1000 * MS)) as process:
            assert len(processes_of(machine.folder)) == len(CPUS) + 3
            process.kill()
        until(lambda: not processes_of(machine.folder))


def test_two_measurements_at_once_are_refused() -> None:
    with executor() as machine, measuring(machine, until_eof="1", seconds_ns=str(10**13)):
        engine = ProberEngine(lock_wait=0.1)
        with LocalTarget() as target, pytest.raises(TargetError, match="has this machine"):
            engine.measure(target, Request(cpus=CPUS[:1], seconds=0.1))


def test_traced_wake_ups_split_into_parts_that_sum_to_what_the_threads_saw() -> None:
    engine = ProberEngine(lock_wait=LOCK_WAIT)
    with LocalTarget() as target:
        request = Request(cpus=CPUS, seconds=0.2, break_ns=1)
        measured = engine.trace(target, request, engine.measure(target, request))
    for cpu in measured.cpus:
        check_counts(cpu)
    if measured.problems == ():  # tracefs is refused here: it says why
        assert all(split.unavailable and not split.parts for split in measured.split)
        return
    worst = max(measured.cpus, key=lambda cpu: cpu.worst[0].latency_ns)
    for split in measured.split:
        assert split.latency.total == split.left_out + split.parts["interrupt"].total
        assert split.left_out < split.latency.total
        known = [split.parts[name].sum_ns for name in PATH_PARTS]
        assert sum(known) <= split.latency.sum_ns
        assert split.left_out or sum(known) == split.latency.sum_ns
        if split.cpu == worst.cpu:
            assert split.worst.latency_ns == worst.worst[0].latency_ns
            assert split.worst.due_ns == worst.worst[0].due_ns
        assert len(split.worst.cause) > 20
