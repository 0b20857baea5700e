"""Truth: rows of jobs that never finished, written out by hand (docs/explanation/why-late.md)."""

import numpy as np
import pytest
from helpers.runs import Job, RunTask, Slot, job_table, key, ran, skip

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.lateness import LateJob
from deadbeat.base.model.traces import PARTS, JobTotals, JobTrace, RunTrace, TraceEvent
from deadbeat.machine.trace.jobs import Lateness, extract, worst_jobs
from deadbeat.tasksets.contention.blame import BlamedRun, blame_late
from deadbeat.tasksets.contention.late import Worst

#: D = T = 1000, C = 100; the window ends at 10 000.
TASK, SLOT = RunTask(), Slot(end=10_000)


def never(release: int) -> Job:
    """Under policy late: given up before it was started."""
    return Job(release=release, start=None, finish=None)


def table_of(*jobs: Job, slots: tuple[Slot, ...] = (SLOT,), split: bool = True) -> JobTable:
    """Of one task; all that finished was split and had its core throughout."""
    table = job_table([TASK], [jobs], slots=slots, flags=j.RUN_SPLIT if split else 0)
    done = table.jobs["flags"] & j.JOB_FINISHED != 0
    table.jobs["flags"][done] |= j.JOB_SPLIT if split else 0
    table.jobs["cpu_ns"][done] = (table.jobs["finish_ns"] - table.jobs["start_ns"])[done]
    return table


def blamed(table: JobTable, trace: RunTrace | None = None, which: int = 0) -> LateJob:
    late = worst_jobs(table, 10)[which]
    traces = {one.job: one for one in (trace.jobs if trace else ())}
    return blame_late(BlamedRun("r", table, trace=trace), late, traces)


LONG = ran(0, 0, 4500, counted=False)
ROW = (skip(1000), skip(2000), skip(3000), skip(4000))


def test_a_row_is_one_entry_behind_the_job_that_kept_them() -> None:
    """A run that misses every deadline: its only finished job does not count (warm-up)."""
    assert worst_jobs(table_of(LONG, *ROW), 10) == [
        Lateness(tardiness_ns=2500, response_share=3.5, job=1, until_ns=4500, skipped=4, blocker=0)
    ]


def test_rows_stand_among_the_finished_by_tardiness() -> None:
    table = table_of(
        ran(0, 0, 2600), skip(1000), skip(2000), ran(3000, 3000, 4100), ran(5000, 5000, 5100)
    )
    found = [(late.job, late.skipped, late.tardiness_ns) for late in worst_jobs(table, 10)]
    assert found == [(0, 0, 1600), (1, 2, 600), (3, 0, 100), (4, 0, 0)]


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        # behind one that was started and never finished: that one, and what stood behind it
        (
            [Job(release=0, start=5, finish=None), skip(1000), skip(2000)],
            [(0, 1, 0, 10_000), (1, 2, 0, 10_000)],
        ),
        # policy late: nothing is skipped, the rest of the window was given up
        ([ran(0, 0, 12_000), never(1000), never(2000)], [(1, 2, 0, 12_000)]),
        # what was skipped first need not count
        ([LONG, skip(1000, counted=False), skip(2000)], [(2, 1, 0, 4500)]),
        # nothing ran before them
        ([never(0), never(1000)], [(0, 2, -1, 10_000)]),
        # a finished job between them parts two rows
        ([LONG, *ROW, ran(5000, 5000, 6500), skip(6000)], [(1, 4, 0, 4500), (6, 1, 5, 6500)]),
    ],
)
def test_rows_by_hand(jobs: list[Job], expected: list[tuple[int, int, int, int]]) -> None:
    """First job, releases, the job they stood behind, until when."""
    found = [late for late in worst_jobs(table_of(*jobs), 10) if not late.finished]
    assert [
        (late.job, late.skipped, late.blocker, late.until_ns)
        for late in sorted(found, key=lambda late: late.job)
    ] == expected


def test_rows_do_not_reach_into_another_window_or_task() -> None:
    slots = (SLOT, Slot(start=10_000, end=20_000), Slot(solo=0, end=30_000))
    table = table_of(LONG, skip(9000), skip(10_000, slot=1), skip(20_000, slot=2), slots=slots)
    rows = {(late.job, late.skipped, late.blocker) for late in worst_jobs(table, 10)}
    assert rows == {(1, 1, 0), (2, 1, -1)}
    two = job_table([TASK, TASK], [[LONG, skip(1000)], [skip(2000)]], slots=(SLOT,))
    rows = {(late.job, late.skipped, late.blocker) for late in worst_jobs(two, 10)}
    assert rows == {(1, 1, 0), (2, 1, -1)}


def test_a_table_without_jobs_has_no_worst() -> None:
    assert worst_jobs(table_of(), 3) == []


# --- what they are put down to


def test_a_row_waits_for_its_core_behind_its_own_past_and_tells_why_that_was_late() -> None:
    usual = [ran(-1000 * i, -1000 * i, 100 - 1000 * i) for i in range(9, 0, -1)]
    table = table_of(*usual, LONG, *ROW)
    events = (TraceEvent(at_ns=1, cpu=0, name="sched_switch", thread="t", pid=1),)
    totals = JobTotals(
        seen=True, woken_ns=None, ran_ns=4100, ready_ns=0, asleep_ns=0, unknown_ns=400
    )
    one = JobTrace(job=9, events=events, lost=3, left_out=2, totals=totals)
    trace = RunTrace(jobs=(one,))
    found = blamed(table, trace)
    assert (found.job, found.finished, found.skipped) == (10, False, 4)
    assert (found.response_ns, found.deadline_ns, found.lateness_ns) == (3500, 1000, 2500)
    assert found.parts_ns == dict.fromkeys(PARTS, 0) | {"core_wait": 3500}
    assert (found.cause, found.holder) == ("the job before", "")
    assert "4 releases in a row skipped" in found.evidence
    assert "that one: own work (its own code took 4.4 µs longer" in found.evidence
    facts = found.details
    assert (facts["behind"], facts["behind_cause"]) == (9, "own work")
    assert (facts["events"], facts["events_lost"], facts["events_left_out"]) == (1, 3, 2)
    assert (found.traced, facts["unknown_ns"]) == (True, 400)


def test_behind_a_job_without_accounts_only_that_is_said() -> None:
    table = table_of(LONG, *ROW)
    table.jobs["flags"][0] &= ~np.uint32(j.JOB_SPLIT)
    found = blamed(table)
    assert (found.cause, found.holder) == ("the job before", "")
    assert found.evidence.endswith("finished 3.5 µs after this release")


def test_a_job_that_was_started_and_nothing_before_it_accuse_nobody() -> None:
    started = blamed(table_of(Job(release=0, start=5, finish=None)))
    alone = blamed(table_of(never(0), never(1000)))
    assert {one.cause for one in (started, alone)} == {"not seen"}
    assert {one.holder for one in (started, alone)} == {""}
    assert started.parts_ns == alone.parts_ns == {}
    assert "not finished when its slot ended" in started.evidence
    assert "no job of its task before them" in alone.evidence


def test_behind_a_job_that_never_finished() -> None:
    found = blamed(table_of(Job(release=0, start=5, finish=None), skip(1000)), which=1)
    assert (found.cause, found.response_ns) == ("the job before", 9000)
    assert "1 release skipped" in found.evidence
    assert "when its slot ended" in found.evidence


# --- who asks for them


def test_rows_are_considered_where_the_run_was_split() -> None:
    for split in (True, False):
        worst = Worst(3)
        worst.consider(key(), table_of(LONG, *ROW, split=split))
        assert worst.keys() == ({key()} if split else set())


def sched(at_us: int) -> str:
    return (
        f" t-5 [000] d..2. 0.{at_us:06d}: sched_switch: prev_comm=t prev_pid=5 prev_prio=1"
        " prev_state=S ==> next_comm=u next_pid=6 next_prio=1"
    )


def test_the_events_of_a_row_are_those_of_what_it_stood_behind() -> None:
    """Which are kept once, whether or not the job itself counts."""
    ms = 1_000_000
    task = RunTask(period_ns=ms, deadline_ns=ms)
    jobs = [
        ran(5 * ms, 5 * ms, 9 * ms + 50_000, counted=True),
        *(skip(i * ms) for i in range(6, 10)),
        ran(20 * ms, 20 * ms, 21 * ms, counted=True),
    ]
    table = job_table([task], [jobs], slots=[Slot(end=30 * ms)])
    text = "\n".join(sched(at) for at in (5_100, 9_040, 20_500))
    trace = extract(table, text, {5: 0}, count=2)
    assert [one.job for one in trace.jobs] == [0, 5]
    assert [e.at_ns // 1000 for e in trace.jobs[0].events] == [5_100, 9_040]
    table.jobs["flags"][0] &= ~np.uint32(j.JOB_COUNTED)
    assert [one.job for one in extract(table, text, {5: 0}, count=2).jobs] == [0, 5]
