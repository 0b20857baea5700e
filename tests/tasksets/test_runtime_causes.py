"""The truth is what was done to the tasks on purpose: which use was long, who held core or lock.

The host may disturb any single job, so each test asks of most jobs, or of the worst, never of all.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

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
    settings,
    table_of,
    task,
    task_of,
    task_set,
)
from helpers.injection import Hog, Move, inject_options

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.executors.base import RunRequest, RunSettings
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Resource, TaskSet

pytestmark = pytest.mark.hardware

BUSY = task_set(task("busy", 100))


def use(fragment: str, size: int, resource: int | None = None) -> FragmentUse:
    return FragmentUse(Entry(fragment, size), 1, resource)


def with_causes(
    wanted: TaskSet, inject: Mapping[str, str] | None = None, **changes: object
) -> JobTable:
    request = RunRequest(keys(1)[0], wanted)
    with (
        executor() as machine,
        machine.open([request], settings(causes=True, **changes), inject=inject) as session,
    ):
        table = table_of(session.run(request.key))
        assert list(session.threads.values()) == list(range(len(wanted.tasks)))
        return table


def ran(table: JobTable, number: int, *, solo: bool = False) -> np.ndarray:
    """Indices of a task's finished jobs in slots of one kind."""
    flags = table.jobs["flags"]
    wanted = j.JOB_FINISHED | (j.JOB_SOLO if solo else 0)
    kept = (flags & (j.JOB_FINISHED | j.JOB_SOLO)) == wanted
    return np.flatnonzero(kept & (table.jobs["task"] == number))


# -- details


def test_a_plain_run_has_the_split_but_neither_details_nor_counters() -> None:
    table = measured(BUSY, settings())
    assert int(table.header["version"]) == 3
    assert (len(table.details), len(table.counters)) == (0, 0)
    assert ((table.jobs["flags"][ran(table, 0)] & j.JOB_SPLIT) != 0).all()


def test_causes_bring_the_split_and_a_detail_of_each_job() -> None:
    with executor() as machine:
        cpu = machine.cpus[0]
    table = with_causes(BUSY)
    assert len(table.details) == len(table.jobs) > 0
    done = ran(table, 0)
    assert ((table.jobs["flags"][done] & j.JOB_SPLIT) != 0).all()
    assert set(table.details["start_cpu"][done].tolist()) == {cpu}
    assert set(table.details["finish_cpu"][done].tolist()) == {cpu}


def test_a_job_that_did_not_run_has_an_empty_detail() -> None:
    table = with_causes(task_set(task("busy", 5000)))
    skipped = (table.jobs["flags"] & j.JOB_SKIPPED) != 0
    assert skipped.any()
    assert set(table.details[skipped].tolist()) == {(0, 0, 0, j.NO_USE, 0, 0, 0)}


def test_a_computing_use_that_stood_still_is_suspected_and_its_place_is_named() -> None:
    # the second use takes 100 us, and a millisecond in every sixteenth job
    wanted = task_set(task_of(use("busy", 100), use("hiccup", 100), period_ns=4 * MS))
    table = with_causes(wanted, seconds=0.5, solo=False)
    done = ran(table, 0)
    span = (table.jobs["finish_ns"] - table.jobs["start_ns"])[done]
    details = table.details[done]
    long = span > 900_000
    long[:9] = False  # the usual time is being learnt
    assert long.sum() >= 5
    assert np.median(details["stall_ns"][long]) == pytest.approx(900_000, rel=0.1)
    assert np.median(details["worst_use"][long]) == 1
    began = details["worst_use_start_ns"] - table.jobs["start_ns"][done]
    assert np.median(began[long]) == pytest.approx(100_000, rel=0.2)
    assert np.median(details["stall_ns"][~long]) == 0


def in_the_last_round(table: j.JobTable, rows: np.ndarray) -> np.ndarray:
    """By then the usual times are known, from the slots alone."""
    return table.slots["round"][table.jobs["slot"][rows]] == table.slots["round"].max()


@TWO_CORES
def test_waiting_for_a_lock_is_no_stall_and_the_worst_use_synchronises() -> None:
    lock = (Resource("hold_plain", None),)
    waiter = task_of(use("hold_plain", 1, 0), core=0, period_ns=10 * MS, offset_ns=MS, priority=75)
    holder = task_of(use("hold_plain", 5000, 0), core=1, period_ns=10 * MS, priority=65)
    table = with_causes(task_set(waiter, holder, resources=lock), seconds=0.2)
    waits = ran(table, 0)
    waits = waits[in_the_last_round(table, waits)]
    span = (table.jobs["finish_ns"] - table.jobs["start_ns"])[waits]
    assert np.median(span) > 3 * MS  # it comes 1 ms after the holder, who holds for 5
    assert np.median(table.details["stall_ns"][waits]) == 0
    assert np.median(table.jobs["voluntary_switches"][waits]) >= 1
    assert np.median(table.details["worst_use_ns"][waits]) > 3 * MS
    assert np.median(table.details["worst_use"][waits]) == 0
    assert np.median(table.details["flags"][waits]) == j.DETAIL_SY


def test_waiting_for_the_core_is_no_stall() -> None:
    low = task_of(use("busy", 1000), period_ns=4 * MS, priority=61)
    high = task_of(use("busy", 1000), period_ns=4 * MS, offset_ns=MS // 2, priority=75)
    table = with_causes(task_set(low, high), seconds=0.4)
    preempted = ran(table, 0)
    preempted = preempted[in_the_last_round(table, preempted)]
    # a stall of the machine parts the two now and then, for several periods
    preempted = preempted[table.jobs["run_delay_within_ns"][preempted] > MS // 2]
    assert len(preempted)
    assert np.median(table.details["worst_use_ns"][preempted]) > MS // 4
    assert np.median(table.details["stall_ns"][preempted]) == 0


def test_threads_are_named_after_their_part() -> None:
    request = RunRequest(keys(1)[0], BUSY)
    names = set()
    with executor() as machine, machine.open([request], settings()) as session:
        assert session.run(request.key).error is None
        for pid in processes_of(machine.folder):
            names.add(Path(f"/proc/{pid}/comm").read_text().strip())
    assert "db-main" in names  # the rest lives only while a set runs


@pytest.mark.parametrize(("number", "error"), [(1, None), (2, "its thread is called db-t1")])
def test_the_thread_of_a_task_has_its_number(number: int, error: str | None) -> None:
    with attempted(task_set(task("busy", 1), task("named", number)), settings()) as outcome:
        assert (outcome.error is None) == (error is None)
        assert error is None or error in str(outcome.error)


# -- counters


def test_events_of_each_task_and_window_are_counted_or_say_why_not() -> None:
    table = measured(BUSY, settings(counters=True))
    counters = table.counters
    assert len(counters) == len(table.slots) * len(COUNTER_EVENTS)
    by_status = {
        COUNTER_EVENTS[int(row["event"])]: int(row["status"])
        for row in counters[counters["slot"] == 0]
    }
    assert set(by_status) == set(COUNTER_EVENTS)
    uncounted = np.isin(counters["status"], [j.COUNTER_UNSUPPORTED, j.COUNTER_REFUSED])
    assert (counters["value"][uncounted] == 0).all()
    if by_status["task_clock"] != j.COUNTER_COUNTED:
        pytest.skip("perf events are refused here")
    clock = counters[counters["event"] == COUNTER_EVENTS.index("task_clock")]
    for row in clock:
        jobs = table.jobs[table.jobs["slot"] == row["slot"]]
        worked = int((jobs["flags"] & j.JOB_FINISHED != 0).sum()) * 100_000
        assert int(row["value"]) > 0.9 * worked
    switches = counters[counters["event"] == COUNTER_EVENTS.index("context_switches")]
    assert (switches["value"] > 0).all()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_refused_events_are_told_apart_and_fail_nothing() -> None:
    paranoid = Path("/proc/sys/kernel/perf_event_paranoid")
    if not paranoid.exists() or int(paranoid.read_text()) < 2:
        pytest.skip("everybody may count here")
    table = measured(BUSY, settings(counters=True, policy="other"), target=AsNobody())
    status = {COUNTER_EVENTS[int(row["event"])]: int(row["status"]) for row in table.counters}
    assert status["context_switches"] == status["task_clock"] == j.COUNTER_REFUSED
    # of an event that does not exist nobody is refused
    assert set(status.values()) <= {j.COUNTER_REFUSED, j.COUNTER_UNSUPPORTED}


class _WithFiles(LocalTarget):
    """This machine where a process may have so many files open, and may allow itself so many."""

    def __init__(self, soft: int, hard: int) -> None:
        super().__init__()
        self._limit = ["prlimit", f"--nofile={soft}:{hard}"]

    def start(self, argv: Sequence[str]):  # type: ignore[no-untyped-def]
        return super().start([*self._limit, *argv])


def _statuses_with_files(soft: int, hard: int) -> set[tuple[int, int]]:
    """(status, value where it failed) of the counters of two tasks."""
    both = task_set(task("busy", 100), task("busy", 100, priority=71))
    how = settings(counters=True, solo=False)
    rows = measured(both, how, target=_WithFiles(soft, hard)).counters
    failed = rows["status"] == j.COUNTER_FAILED
    return set(
        zip(rows["status"].tolist(), np.where(failed, rows["value"], 0).tolist(), strict=True)
    )


def test_running_out_of_files_is_not_called_an_event_that_is_not_there() -> None:
    statuses = _statuses_with_files(8, 8)
    if (j.COUNTER_COUNTED, 0) not in statuses:
        pytest.skip("perf events are refused here")
    assert (j.COUNTER_FAILED, errno.EMFILE) in statuses


def test_as_many_files_are_opened_as_a_process_may() -> None:
    statuses = _statuses_with_files(8, 4096)
    assert j.COUNTER_FAILED not in {status for status, _ in statuses}


# -- injected causes


def test_a_hog_holds_the_core_of_the_task_in_together_slots_only() -> None:
    hog = Hog(core=0, start_ns=5 * MS, length_ns=2 * MS, period_ns=10 * MS)
    table = with_causes(BUSY, inject_options(hog=hog), seconds=0.2)
    together, solo = ran(table, 0), ran(table, 0, solo=True)
    waited = table.jobs["run_delay_before_ns"] + table.jobs["run_delay_within_ns"]
    assert (waited[together] > MS // 2).sum() >= 10
    assert np.mean(waited[solo] > MS // 2) < 0.1


@TWO_CORES
def test_a_moved_task_runs_elsewhere_and_is_back_where_it_was_at_the_end() -> None:
    with executor() as machine:
        home, away = machine.cpus[:2]
    table = with_causes(BUSY, inject_options(move=Move(task=0, period_ns=10 * MS)), seconds=0.2)
    together, solo = ran(table, 0), ran(table, 0, solo=True)
    assert set(table.details["start_cpu"][together].tolist()) == {home, away}
    assert set(table.details["start_cpu"][solo].tolist()) == {home}
    # the run fails where the placement that is read back at its end is another


def test_injected_threads_are_gone_when_their_task_set_is() -> None:
    hog = Hog(core=0, length_ns=MS, period_ns=10 * MS)
    request = RunRequest(keys(1)[0], BUSY)
    with (
        executor() as machine,
        machine.open([request], settings(), inject=inject_options(hog=hog, fair_core=0)) as session,
    ):
        assert session.run(request.key).error is None
        left = processes_of(machine.folder)
        names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in left}
    assert len(left) == 3  # guardian and coordinator wait for the next command, one for stops
    assert not names & {"db-hog", "db-fair", "db-mover"}


@pytest.mark.slow
def test_tasks_that_leave_nothing_are_throttled_for_a_best_effort_load() -> None:
    bandwidth = Path("/proc/sys/kernel/sched_rt_runtime_us")
    if not bandwidth.exists() or int(bandwidth.read_text()) < 0:
        pytest.skip("this kernel never throttles real-time tasks")
    greedy = task_set(task("busy", 1000))  # a millisecond of work every millisecond, none skipped
    table = with_causes(
        greedy, inject_options(fair_core=0), seconds=2.5, solo=False, overrun="late"
    )
    waited = table.jobs["run_delay_within_ns"] + table.jobs["run_delay_before_ns"]
    # at most a second without, then about 50 ms at a time
    assert waited.max() > 20 * MS


def test_an_added_delay_is_in_the_jobs_of_its_task_only() -> None:
    both = task_set(task("busy", 100), task("busy", 100, period_ns=2 * MS))
    table = with_causes(both, inject_options(delay_ns=300_000, delay_task=1), solo=False)
    cpu = table.jobs["cpu_ns"]
    # 100 us by the clock, and 300 us of work: as it was calibrated, the host may be faster now
    assert np.median(cpu[ran(table, 1)]) > 250_000
    assert np.median(cpu[ran(table, 0)]) == pytest.approx(100_000, rel=0.2)


def test_a_killed_program_leaves_no_injected_thread() -> None:
    hog = Hog(core=0, length_ns=2 * MS, period_ns=10 * MS)
    request = RunRequest(keys(1)[0], task_set(task("crash", 1)))
    with executor() as machine:
        with machine.open(
            [request], settings(), inject=inject_options(hog=hog, fair_core=0)
        ) as session:
            assert "died while its tasks ran" in str(session.run(request.key).error)
        assert processes_of(machine.folder) == []


@pytest.mark.parametrize(
    "inject",
    [
        inject_options(hog=Hog(core=9999, length_ns=MS, period_ns=10 * MS)),
        inject_options(hog=Hog(core=0, length_ns=8 * MS, period_ns=10 * MS)),
        inject_options(hog=Hog(core=0, length_ns=500 * MS, period_ns=1000 * MS)),
        inject_options(move=Move(task=0, period_ns=1000)),
        inject_options(fair_core=9999),
    ],
)
def test_an_injection_beyond_its_bounds_is_refused(inject: Mapping[str, str]) -> None:
    with pytest.raises(TargetError, match="the program did not start"):
        measured(BUSY, settings(), inject=inject)


def test_a_task_that_is_not_there_cannot_be_moved() -> None:
    inject = inject_options(move=Move(task=7, period_ns=10 * MS))
    with attempted(BUSY, settings(), inject=inject) as outcome:
        assert "no task of this number" in str(outcome.error)


def cost_of_recording(machine: HardwareExecutor) -> list[int]:
    """Of a job plainly, with the split, with causes, and of each use of such a one, ps."""
    told = machine.converse("instrument", "fifo", {}, timeout=90.0)
    words = next(line.split() for line in list(told) if line.startswith("instrument "))
    return [int(word) for word in words[2::2]]


@pytest.mark.slow
@TWO_CORES
def test_causes_counters_and_injections_under_the_sanitizers() -> None:
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    toolchain = Toolchain.find(flags=flags, static=False)
    both = task_set(task("busy", 100), task("busy", 100, core=1, period_ns=2 * MS))
    request = RunRequest(keys(1)[0], both)
    inject = inject_options(
        hog=Hog(core=0, length_ns=MS, period_ns=10 * MS),
        move=Move(task=1, period_ns=10 * MS),
        fair_core=1,
    )
    how: RunSettings = settings(causes=True, counters=True)
    with executor(toolchain=toolchain, lock_memory=False) as machine:
        with machine.open([request], how, inject=inject) as session:
            outcome = session.run(request.key)
            assert outcome.error is None, outcome.error
        assert len(cost_of_recording(machine)) == 4


def test_what_instrumentation_costs_is_ordered() -> None:
    """The medians of seven answers: what else runs here spoils one or two."""
    with executor() as machine:
        found = zip(*(cost_of_recording(machine) for _ in range(7)), strict=True)
        plain, split, causes, use = map(median, found)
    assert 0 < plain < split
    assert 0 < use < causes
