"""The truth is the contract of measurement.md, held against real programs on this machine."""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import attrs
import numpy as np
import pytest
from helpers.hardware import (
    MS,
    TWO_CORES,
    AsNobody,
    attempted,
    executor,
    keys,
    measured,
    processes_of,
    run_all,
    settings,
    table_of,
    task,
    task_set,
)
from helpers.native import compile_program

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.jobs import (
    JOB_COUNTED,
    JOB_FINISHED,
    JOB_SKIPPED,
    JOB_SOLO,
    JOB_SPLIT,
    JOB_STARTED,
    NEVER,
    PROBE_ROUND_TRIP,
    PROBE_WITNESS,
    RUN_LOCKED,
    RUN_ONE_PROCESS,
    RUN_PRIVATE_IPC,
    RUN_REALTIME,
    SLOT_SOLO,
    JobTable,
)
from deadbeat.build.native import NO_TASK_SETS, link_program, text_source
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import Process
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.emit import emit_batch
from deadbeat.tasksets.executors.base import RunRequest
from deadbeat.tasksets.executors.tables import SOLO_SAMPLE, plan_slots
from deadbeat.tasksets.model.tasks import Task

pytestmark = pytest.mark.hardware


def releases(table: JobTable, number: int, slot: int) -> np.ndarray:
    jobs = table.jobs[(table.jobs["task"] == number) & (table.jobs["slot"] == slot)]
    return np.sort(jobs["release_ns"])


def test_a_task_has_the_policy_priority_and_core_it_was_given() -> None:
    with executor() as machine:
        (outcome,) = run_all(machine, [task_set(task("busy", 100, priority=66))], settings())
        table, cpu = table_of(outcome), machine.cpus[0]
    row = table.tasks[0]
    assert (int(row["policy"]), int(row["priority"]), int(row["cpu"])) == (1, 66, cpu)
    wanted = RUN_REALTIME | RUN_LOCKED | RUN_PRIVATE_IPC
    assert int(table.header["flags"]) & wanted == wanted


@TWO_CORES
def test_the_timetable_is_that_of_the_slow_twin() -> None:
    """Truth: executors/tables.py; the orders are drawn by generators of their own."""
    for both, changes in (
        (task_set(task("busy", 100), task("busy", 100, core=1, period_ns=7 * MS)), {}),
        (task_set(task("busy", 1), task("busy", 1, core=1)), {"slot_periods": 9}),
        (task_set(task("busy", 1), task("busy", 1, core=1, period_ns=7 * MS)), {"jobs": 50}),
        (task_set(*(task("busy", 1, core=i % 2) for i in range(11))), {"warmup_jobs": 0}),
        (task_set(task("busy", 100)), {"solo": False}),
    ):
        how = settings(seconds=0.3, **changes)
        slots, twin = measured(both, how).slots, plan_slots(both, how)
        assert sorted(slots["kind"].tolist()) == sorted(twin["kind"].tolist())
        if len(both.tasks) <= SOLO_SAMPLE:
            assert sorted(slots["task"].tolist()) == sorted(twin["task"].tolist())
        assert (slots["round"] == twin["round"]).all()
        for first, last in (("begin_ns", "start_ns"), ("start_ns", "end_ns")):
            ours, theirs = slots[last] - slots[first], twin[last] - twin[first]
            assert sorted(ours.tolist()) == sorted(theirs.tolist())


def test_slots_follow_each_other_without_a_gap() -> None:
    slots = measured(task_set(task("busy", 100)), settings()).slots
    assert (slots["begin_ns"][1:] == slots["end_ns"][:-1]).all()
    assert (slots["begin_ns"] < slots["start_ns"]).all()


def test_releases_lie_on_one_grid_of_the_whole_run() -> None:
    table = measured(task_set(task("busy", 100)), settings(seconds=0.1))
    offset = (table.jobs["release_ns"] - table.slots["begin_ns"][0]) % MS
    assert np.unique(offset).tolist() == [MS // 3]  # that of the task
    for slot in table.slots:
        at = releases(table, 0, int(slot["slot"]))
        assert (np.diff(at) == MS).all()
        # every release of the slot is there, warm-up included, and no other
        assert 0 <= at[0] - slot["begin_ns"] < MS
        assert 0 < slot["end_ns"] - at[-1] <= MS


def test_counted_jobs_are_those_released_and_due_inside_the_slot() -> None:
    table = measured(task_set(task("busy", 100)), settings())
    for job in table.jobs:
        slot = table.slots[job["slot"]]
        inside = job["release_ns"] >= slot["start_ns"] and job["release_ns"] + MS <= slot["end_ns"]
        assert bool(job["flags"] & JOB_COUNTED) == inside
        assert bool(job["flags"] & JOB_SOLO) == (slot["kind"] == SLOT_SOLO)


def test_periods_deadlines_and_offsets_are_scaled_and_nothing_else() -> None:
    one = task_set(task("busy", 100))
    with executor() as machine, machine.open([RunRequest(keys(1)[0], one)], settings()) as session:
        outcome = session.run(keys(1)[0], period_ppm=500_000)
        table = table_of(outcome)
    row = table.tasks[0]
    times = [int(row[name]) for name in ("wcet_ns", "period_ns", "deadline_ns", "offset_ns")]
    assert times == [100_000, MS // 2, MS // 2, MS // 6]
    assert int(table.header["period_ppm"]) == 500_000
    assert np.unique(np.diff(releases(table, 0, 0))).tolist() == [MS // 2]


def test_no_job_starts_before_its_release_or_finishes_before_its_work() -> None:
    jobs = measured(task_set(task("busy", 100)), settings()).jobs
    done = jobs[(jobs["flags"] & JOB_FINISHED) != 0]
    assert len(done) > 0
    assert (done["start_ns"] >= done["release_ns"]).all()
    assert (done["finish_ns"] - done["start_ns"] >= 100_000).all()


def test_skip_records_each_release_that_passed_while_its_predecessor_ran() -> None:
    overloaded = task_set(task("busy", 5000))  # 5 ms of work every millisecond
    table = measured(overloaded, settings(overrun="skip"))
    for slot in table.slots:
        at = releases(table, 0, int(slot["slot"]))
        assert (np.diff(at) == MS).all()
    flags = table.jobs["flags"]
    ran, skipped = (flags & JOB_STARTED) != 0, (flags & JOB_SKIPPED) != 0
    assert (ran ^ skipped).all()
    # a job of at least 5 ms passes at least four releases
    assert skipped.sum() >= 4 * (ran.sum() - 1)
    assert (table.jobs["start_ns"][skipped] == NEVER).all()


def test_late_starts_every_release_until_the_longest_deadline_after_the_slot() -> None:
    overloaded = task_set(task("busy", 5000))
    table = measured(overloaded, settings(overrun="late"))
    flags = table.jobs["flags"]
    assert ((flags & JOB_SKIPPED) == 0).all()
    started = (flags & JOB_STARTED) != 0
    # five times the work there is time for: the rest of each slot is given up
    assert 0 < started.sum() < len(flags)
    late = table.jobs["start_ns"] - table.slots["end_ns"][table.jobs["slot"]]
    assert (late[started] <= MS + 5 * MS).all()  # what began just before may still have run


@pytest.mark.parametrize(("overrun", "periods"), [("skip", 5), ("late", 50)])
def test_overload_under_late_keeps_long_slots(overrun: str, periods: int) -> None:
    twice = task_set(task("busy", 100), task("busy", 100))
    too_much = attrs.evolve(
        twice, tasks=tuple(attrs.evolve(t, wcet_ns=600_000) for t in twice.tasks)
    )
    table = measured(too_much, settings(overrun=overrun))
    together = table.slots[table.slots["kind"] != SLOT_SOLO]
    assert np.unique(together["end_ns"] - together["start_ns"]).tolist() == [periods * MS]


@TWO_CORES
def test_solo_slots_hold_one_task_and_together_slots_all() -> None:
    both = task_set(task("busy", 100), task("busy", 100, core=1, period_ns=2 * MS))
    table = measured(both, settings())
    for slot in table.slots:
        present = set(table.jobs["task"][table.jobs["slot"] == slot["slot"]].tolist())
        assert present == ({int(slot["task"])} if slot["kind"] == SLOT_SOLO else {0, 1})
    assert len(set(table.tasks["cpu"].tolist())) == 2


@TWO_CORES
def test_one_address_space_is_labelled_and_runs_the_same_slots() -> None:
    both = task_set(task("busy", 100), task("busy", 100, core=1, period_ns=2 * MS))
    table = measured(both, settings(layout="shared-address-space"))
    assert int(table.header["flags"]) & RUN_ONE_PROCESS
    assert int(measured(both, settings()).header["flags"]) & RUN_ONE_PROCESS == 0
    assert len(set(table.tasks["cpu"].tolist())) == 2
    assert len(table.slots) == len(measured(both, settings()).slots)
    done = (table.jobs["flags"] & JOB_FINISHED) != 0
    assert set(table.jobs["task"][done].tolist()) == {0, 1}


@TWO_CORES
def test_every_slot_has_a_witness_of_each_task_that_ran_in_it() -> None:
    both = task_set(task("busy", 100), task("busy", 100, core=1))
    table = measured(both, settings())
    witnesses = table.probes[table.probes["kind"] == PROBE_WITNESS]
    found = set(zip(witnesses["slot"].tolist(), witnesses["core_b"].tolist(), strict=True))
    jobs = table.jobs[(table.jobs["flags"] & JOB_COUNTED != 0) & (table.jobs["flags"] & 8 != 0)]
    assert found == set(zip(jobs["slot"].tolist(), jobs["task"].tolist(), strict=True))
    assert (witnesses["value_ps"] >= 500_000).all()  # half a microsecond at least


def round_trips(table: JobTable) -> np.ndarray:
    return table.probes[table.probes["kind"] == PROBE_ROUND_TRIP]


@TWO_CORES
@pytest.mark.parametrize("policy", ["fifo", "other"])
def test_round_trips_between_cores_are_taken_at_every_boundary_of_slots(policy: str) -> None:
    both = task_set(task("busy", 100), task("busy", 100, core=1))
    table = measured(both, settings(seconds=0.2, policy=policy))
    trips = round_trips(table)  # a host may keep a CPU away at many boundaries
    boundaries = np.append(table.slots["begin_ns"], table.slots["end_ns"][-1])
    assert (trips["at_ns"] == boundaries[trips["slot"]]).all()
    assert (np.diff(trips["slot"].astype(int)) > 0).all()
    assert set(zip(trips["core_a"].tolist(), trips["core_b"].tolist(), strict=True)) == {(0, 1)}
    assert (trips["value_ps"] > 10_000).all() and (trips["value_ps"] < 100_000_000).all()


@TWO_CORES
def test_round_trips_delay_no_job_that_counts() -> None:
    """Without slots alone only the first slot has a warm-up; one of 200 us is too short."""
    both = task_set(task("busy", 100), task("busy", 100, core=1))
    table = measured(both, settings(seconds=0.2, solo=False))
    assert set(round_trips(table)["slot"].tolist()) <= {0, len(table.slots)}
    short = task_set(*(task("busy", 20, core=core, period_ns=MS // 5) for core in (0, 1)))
    table = measured(short, settings())
    assert set(round_trips(table)["slot"].tolist()) <= {len(table.slots)}


def test_one_core_or_one_process_has_no_round_trips() -> None:
    assert not len(round_trips(measured(task_set(task("busy", 100)), settings())))
    if len(os.sched_getaffinity(0)) > 1:
        both = task_set(task("busy", 100), task("busy", 100, core=1))
        shared = measured(both, settings(layout="shared-address-space"))
        assert not len(round_trips(shared))


def test_the_split_accounts_for_a_span_of_pure_execution() -> None:
    jobs = measured(
        task_set(task("busy", 1000, period_ns=5 * MS)), settings(split=True, seconds=0.1)
    ).jobs
    done = jobs[(jobs["flags"] & JOB_FINISHED) != 0]
    assert ((done["flags"] & JOB_SPLIT) != 0).all()
    span = done["finish_ns"] - done["start_ns"]
    # a task that never blocks is either running or waiting for its core
    rest = span - done["cpu_ns"] - done["run_delay_within_ns"]
    assert np.median(np.abs(rest)) < 50_000
    assert (done["run_delay_before_ns"] >= 0).all()
    assert (done["voluntary_switches"] == 0).mean() > 0.5


@pytest.mark.parametrize(
    ("tasks", "reasons"),
    [
        ([task("liar", 1)], ("liar/1", "it is always wrong")),
        # the other core has ended long before
        ([task("busy", 1), task("liar", 300, core=1)], ("liar/300", "it is always wrong")),
        ([task("crash", 1)], ("died while its tasks ran",)),
        ([task("stuck", 1)], ("the bound of the run was exceeded",)),
    ],
)
def test_a_run_that_fails_says_why_and_the_next_one_runs(
    tasks: list[Task], reasons: tuple[str, ...]
) -> None:
    sets = [task_set(*tasks), task_set(task("busy", 1))]
    with executor() as machine:
        outcomes = run_all(machine, sets, settings())
        assert processes_of(machine.folder) == []
    assert [reason for reason in reasons if reason not in str(outcomes[0].error)] == []
    assert outcomes[1].error is None  # the session goes on


def test_a_fragment_that_cannot_be_set_up_is_named_with_the_reason() -> None:
    with attempted(task_set(task("unwilling", 1)), settings()) as outcome:
        assert "unwilling: Function not implemented" in str(outcome.error)


class _Started(LocalTarget):
    """Remembers the processes it starts, so that a test can kill one."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[Process] = []

    def start(self, argv: Sequence[str]):  # type: ignore[no-untyped-def]
        process = super().start(argv)
        self.processes.append(process)
        return process


def _wait_until_gone(folder: str) -> list[int]:
    """Death signals take effect after the killed parent is reaped: asks the kernel until then."""
    for _ in range(200):
        left = processes_of(folder)
        if not left:
            return []
        for pid in left:
            try:
                os.waitid(os.P_PIDFD, os.pidfd_open(pid), os.WEXITED | os.WNOWAIT)
            except (ChildProcessError, ProcessLookupError):
                os.sched_yield()
    return processes_of(folder)


def test_nothing_is_left_when_the_program_is_killed_in_the_middle_of_a_run() -> None:
    target = _Started()
    with executor(target=target) as machine:
        request = RunRequest(keys(1)[0], task_set(task("busy", 100)))
        with machine.open([request], settings()) as session:
            assert session.run(request.key).error is None  # the program is up
            program = target.processes[-1]
            assert processes_of(machine.folder)
            program.write_line(f"run 0 1000000 {machine.folder}/never.jobs")
            os.kill(program.pid, signal.SIGKILL)  # type: ignore[attr-defined]
            while (line := program.read_line(timeout=60)) is not None:
                assert line.startswith("bound ")
            assert _wait_until_gone(machine.folder) == []
            assert session.run(request.key).error is None  # with a program started anew
        assert not Path(f"{machine.folder}/never.jobs").exists()


def test_a_second_measurement_on_the_machine_is_refused_and_named() -> None:
    with executor() as first, executor() as second:
        second._lock_wait = 0.0
        request = RunRequest(keys(1)[0], task_set(task("busy", 100)))
        with first.open([request], settings()) as session:
            assert session.run(request.key).error is None
            holder = processes_of(first.folder)
            with (
                second.open([request], settings()) as refused,
                pytest.raises(TargetError, match="another deadbeat measurement") as caught,
            ):
                refused.run(request.key)
        assert any(f"process {pid})" in str(caught.value) for pid in holder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_refused_realtime_permission_is_an_error_with_a_cure() -> None:
    with pytest.raises(TargetError, match="SCHED_FIFO was refused"):
        measured(task_set(task("busy", 100)), settings(), target=AsNobody())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_policy_other_runs_without_privileges_and_says_so_in_the_file() -> None:
    table = measured(task_set(task("busy", 100)), settings(policy="other"), target=AsNobody())
    assert int(table.header["flags"]) & RUN_REALTIME == 0
    assert int(table.tasks[0]["policy"]) == 0


def test_a_result_that_cannot_be_written_fails_the_run_and_leaves_no_part(tmp_path: Path) -> None:
    target = _Started()
    with executor(target=target) as machine:
        request = RunRequest(keys(1)[0], task_set(task("busy", 100)))
        with machine.open([request], settings()) as session:
            assert session.run(request.key).error is None
            process = target.processes[-1]
            process.write_line(f"run 0 1000000 {tmp_path}/no/such/folder.jobs")
            assert (process.read_line(timeout=60) or "").startswith("bound 0 ")
            line = process.read_line(timeout=60)
    assert line == "fail 0 the result file could not be written: No such file or directory"
    assert list(tmp_path.iterdir()) == []


def test_a_set_for_more_cores_than_given_is_a_usage_error() -> None:
    with executor() as machine, pytest.raises(UsageError, match="needs 4096 cores"):
        machine.open([RunRequest(keys(1)[0], task_set(task("busy", 1, core=4095)))], settings())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["serve"],
        ["serve", "--cpus", "0,x"],
        ["serve", "--cpus", "0", "--windows", "2"],
        ["serve", "--cpus", "0", "--policy", "fifa"],
        ["serve", "--cpus", "0", "--seconds-ns", "-5"],
        ["serve", "--cpus", "0", "--seconds-ns"],
        ["dance", "--cpus", "0"],
    ],
)
def test_the_program_refuses_words_it_does_not_know(arguments: list[str]) -> None:
    program = link_program(Toolchain.find(), NO_TASK_SETS)
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert "usage:" in done.stderr


@pytest.mark.slow  # what is measured without a task set: test_wake_ups.py
@TWO_CORES
def test_runtime_under_address_and_undefined_behaviour_sanitizers() -> None:
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    toolchain = Toolchain.find(flags=flags, static=False)
    both = task_set(task("busy", 100), task("busy", 100, core=1, period_ns=2 * MS))
    with executor(toolchain=toolchain, lock_memory=False) as machine:
        outcomes = run_all(machine, [both], settings(split=True))
        outcomes += run_all(machine, [task_set(task("busy", 5000))], settings(overrun="late"))
        machine.spin_gaps(seconds=0.1, policy="fifo")
    assert [str(outcome.error) for outcome in outcomes if outcome.error] == []


def _code(program: Path) -> list[str]:
    listing = subprocess.run(
        ["nm", "--defined-only", program], capture_output=True, text=True, check=True
    ).stdout
    return sorted(line for line in listing.splitlines() if line.split()[1] in "Tt")


def test_code_lies_at_the_same_address_in_every_program() -> None:
    toolchain = Toolchain.find()
    empty = link_program(toolchain, NO_TASK_SETS)
    sets = [task_set(task("matmul", 8, period_ns=n * MS)) for n in range(1, 50)]
    full = link_program(toolchain, emit_batch(sets))
    assert empty.stat().st_size < full.stat().st_size
    assert _code(empty) == _code(full)


def test_a_link_leaves_a_source_that_another_build_reads() -> None:
    tables = f"{NO_TASK_SETS}/* {uuid4()} */\n"
    source = text_source(tables, "tables")
    link_program(Toolchain.find(), tables).unlink()
    assert source.read_text() == tables
    source.unlink()


def test_the_template_port_defines_all_that_the_runtime_needs(tmp_path: Path) -> None:
    runtime = Path(__file__).parents[2] / "runtime"
    main = tmp_path / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    program = compile_program(
        [main, *(runtime / "port" / "template").glob("port_*.c")], tmp_path / "out", static=False
    )
    defined = {line.split()[-1] for line in _code(program)}
    headers = ("port_core.h", "port_host.h")
    header = "".join((runtime / "include" / "deadbeat" / name).read_text() for name in headers)
    declared = set(re.findall(r"^[a-z_0-9 ]*?[ *](port_[a-z_]+)\(", header, re.MULTILINE | re.I))
    assert len(declared) > 20
    assert declared - defined == set()
