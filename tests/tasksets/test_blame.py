"""Truth: traces recorded while a known cause was made on purpose (tests/golden/causes), and events
written out by hand, one rule each."""

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from helpers.runs import Job, PlannedTask, RunTask, job_table, ran, task_set

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.lateness import LateJob, cause_named
from deadbeat.base.model.traces import GAP, PARTS, JobTotals, JobTrace, RunTrace, TraceEvent
from deadbeat.machine.trace.jobs import worst_jobs
from deadbeat.machine.trace.why import Span, add_up, task_matcher
from deadbeat.tasksets.contention.blame import BlamedRun, blame, blame_late
from deadbeat.tasksets.model.tasks import Resource
from deadbeat.tasksets.store.jobfile import new_header
from deadbeat.tasksets.store.traces import trace_from_plain

RECORDED = Path(__file__).parents[1] / "golden" / "causes"
MS = 1_000_000


def recorded(name: str) -> tuple[BlamedRun, JobTrace]:
    """A run that was recorded with an injected cause: the jobs of one task, events of the worst."""
    plain = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    rows = plain["table"]
    slots = np.zeros(3, j.SLOT_DTYPE)
    slots["slot"] = range(3)
    table = JobTable(
        header=new_header(set_id="0" * 64, flags=j.RUN_REALTIME),
        tasks=np.array([tuple(row) for row in rows["tasks"]], j.TASK_DTYPE),
        slots=slots,
        probes=np.zeros(0, j.PROBE_DTYPE),
        jobs=np.array([tuple(row) for row in rows["jobs"]], j.JOB_DTYPE),
        details=np.array([tuple(row) for row in rows["details"]], j.DETAIL_DTYPE),
    )
    trace = trace_from_plain(plain, RECORDED / name)
    return BlamedRun(name, table, trace=trace), trace.jobs[0]


@pytest.mark.parametrize(
    ("name", "cause", "holder", "without"),
    [
        ("hog", "preempted", "db-hog", "preempted"),
        ("lock-holder", "lock", "t1 of the set", "lock"),
        ("migration", "migrated", "CPU 1", "migrated"),
        ("throttling", "throttled", "db-fair", "preempted"),
    ],
)
def test_recorded_causes_are_named_and_without_events_nobody_is_accused(
    name: str, cause: str, holder: str, without: str
) -> None:
    run, trace = recorded(name)
    found = blame(run, trace.job, trace)
    assert (found.cause, found.holder, found.traced) == (cause, holder, True)
    assert sum(found.parts_ns.values()) == found.response_ns
    assert found.evidence
    found = blame(attrs.evolve(run, trace=None), trace.job, None)
    assert (found.cause, found.traced) == (without, False)
    assert found.holder in ("", "CPU 1")


# --- one rule each: task 0 of thread 100 on CPU 0, usually 1 ms; the last job is the late one

OWN, OTHER = 100, 200


def late_run(job: Job, events: list[TraceEvent], **accounts: int) -> BlamedRun:
    """Ten usual jobs of 1 ms, and ``job`` with its accounts and events."""
    usual = [ran(i * 10 * MS, i * 10 * MS, i * 10 * MS + MS) for i in range(10)]
    task = RunTask(wcet_ns=MS, period_ns=10 * MS, deadline_ns=10 * MS)
    table = job_table([task], [[*usual, job]])
    table.jobs["flags"] |= j.JOB_SPLIT
    table.jobs["cpu_ns"] = MS
    for name, value in accounts.items():
        table.jobs[name][-1] = value
    trace = RunTrace(threads={OWN: 0}, jobs=(JobTrace(job=10, events=tuple(events)),))
    return BlamedRun("r", table, trace=trace)


def named(run: BlamedRun) -> LateJob:
    return blame(run, 10, run.trace.jobs[0] if run.trace.jobs else None)


def switch(
    at: int, before: tuple[str, int, int, str], after: tuple[str, int, int], *, cpu: int = 0
) -> TraceEvent:
    fields: dict[str, int | str] = {
        "prev_comm": before[0], "prev_pid": before[1], "prev_prio": before[2],
        "prev_state": before[3], "next_comm": after[0], "next_pid": after[1],
        "next_prio": after[2],
    }  # fmt: skip
    return event("sched_switch", at, before[1], before[0], cpu=cpu, **fields)


def waking(at: int, by: tuple[str, int], *, cpu: int = 0) -> TraceEvent:
    fields: dict[str, int | str] = {"comm": "db-t0", "pid": OWN, "prio": 29, "target_cpu": 0}
    return TraceEvent(
        at_ns=at, cpu=cpu, name="sched_waking", thread=by[0], pid=by[1], fields=fields
    )


def event(what: str, at: int, pid: int, thread: str, *, cpu: int = 0, **f: Any) -> TraceEvent:
    return TraceEvent(at_ns=at, cpu=cpu, name=what, thread=thread, pid=pid, fields=f)


IDLE, ME, PEER = ("swapper/0", 0, 120), ("db-t0", OWN, 29), ("irq/9-disk", OTHER, 49)
R = 100 * MS


PEER_19, WORKER = ("irq/9-disk", OTHER, 19), ("kworker/0:1", OTHER, 120)
#: What happened to the late job -> it, its events and accounts, and what is said of them.
RULES = {
    "another thread before it": (
        ran(R, R + 5 * MS, R + 6 * MS),
        [waking(R, ("<idle>", 0)), switch(R + 1000, (*IDLE, "R"), PEER_19),
         switch(R + 5 * MS, (*PEER_19, "S"), ME), switch(R + 6 * MS, (*ME, "S"), IDLE)],
        {"run_delay_before_ns": 5 * MS}, "preempted", "irq/9-disk",
    ),
    "a late timer behind an interrupt-off stretch": (
        ran(R, R + 4 * MS + 3000, R + 5 * MS + 3000),
        [switch(R - MS, (*IDLE, "R"), WORKER), waking(R + 4 * MS, WORKER[:2]),
         switch(R + 4 * MS + 2000, (*WORKER, "R"), ME), switch(R + 5 * MS, (*ME, "S"), IDLE)],
        {}, "late wake-up", "kworker/0:1",
    ),
    "the way out of idle": (
        ran(R, R + 800_000, R + 1_800_000),
        [switch(R - MS, (*PEER, "S"), IDLE), waking(R, ("<idle>", 0)),
         switch(R + 800_000, (*IDLE, "R"), ME), switch(R + 1_800_000, (*ME, "S"), IDLE)],
        {"run_delay_before_ns": 800_000}, "late wake-up", "idle",
    ),
    "nothing runs for milliseconds although it is ready": (
        ran(R, R, R + 51 * MS),
        [switch(R + MS // 2, (*ME, "R"), IDLE), switch(R + 50 * MS, (*IDLE, "R"), ME),
         switch(R + 51 * MS, (*ME, "S"), IDLE)],
        {"run_delay_within_ns": 50 * MS - MS // 2}, "throttled", "idle",
    ),
    "interrupts in its time": (
        ran(R, R, R + 5 * MS),
        [switch(R, (*IDLE, "R"), ME), event("irq_handler_entry", R + MS, OWN, "db-t0", irq=9),
         event("irq_handler_exit", R + 4 * MS, OWN, "db-t0", irq=9),
         switch(R + 5 * MS, (*ME, "S"), IDLE)],
        {"cpu_ns": 5 * MS}, "interrupt", "irq",
    ),
    "time in no account": (
        ran(R, R, R + 9 * MS),
        [switch(R, (*IDLE, "R"), ME), switch(R + 9 * MS, (*ME, "S"), IDLE)],
        {}, "stolen", "",
    ),
    "a usual job": (ran(R, R, R + MS), [], {}, "not seen", ""),
    "events that never show the thread": (
        ran(R, R + 5 * MS, R + 6 * MS), [switch(R, (*PEER, "S"), IDLE)],
        {"run_delay_before_ns": 5 * MS}, "preempted", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_each_rule(rule: str) -> None:
    job, events, accounts, *wanted = RULES[rule]
    found = named(late_run(job, events, **accounts))
    assert [found.cause, found.holder] == wanted
    assert rule != "time in no account" or found.parts_ns["stall"] == 8 * MS
    assert rule != "events that never show the thread" or not found.traced


def test_several_fair_threads_in_turns_although_it_is_ready() -> None:
    """Short turns of two: the first was taken over from it, and so were all after it."""
    one, two = ("db-fair", OTHER, 120), ("other", OTHER + 1, 120)
    events = [switch(R, (*IDLE, "R"), ME), switch(R + MS, (*ME, "R"), one)]
    for turn in range(50):
        at = R + MS + (turn + 1) * 500_000
        pair = (one, two) if turn % 2 == 0 else (two, one)
        events += [switch(at, (*pair[0], "R"), pair[1])]
    events += [switch(R + 27 * MS, (*one, "R"), ME), switch(R + 28 * MS, (*ME, "S"), IDLE)]
    job = ran(R, R, R + 28 * MS)
    found = named(late_run(job, events, run_delay_within_ns=26 * MS))
    assert (found.cause, found.holder) == ("throttled", "db-fair")


def test_its_own_previous_job() -> None:
    task = RunTask(wcet_ns=MS, period_ns=10 * MS, deadline_ns=10 * MS)
    jobs = [ran(i * 10 * MS, i * 10 * MS, i * 10 * MS + MS) for i in range(10)]
    jobs += [ran(R, R, R + 16 * MS), ran(R + 10 * MS, R + 16 * MS, R + 17 * MS)]
    table = job_table([task], [jobs])
    table.jobs["flags"] |= j.JOB_SPLIT
    table.jobs["cpu_ns"] = [MS] * 10 + [16 * MS, MS]
    events = (switch(R, (*IDLE, "R"), ME), switch(R + 17 * MS, (*ME, "S"), IDLE))
    trace = RunTrace(threads={OWN: 0}, jobs=(JobTrace(job=11, events=events),))
    found = blame(BlamedRun("r", table, trace=trace), 11, trace.jobs[0])
    assert (found.cause, found.holder) == ("the job before", "")


@pytest.mark.parametrize(("flag", "words"), [(j.DETAIL_SY, "spinning"), (0, "memory")])
def test_its_own_code_with_the_use_that_took_longest(flag: int, words: str) -> None:
    run = late_run(ran(R, R, R + 4 * MS), [], cpu_ns=4 * MS)
    details = np.zeros(len(run.table.jobs), j.DETAIL_DTYPE)
    details["worst_use"] = j.NO_USE
    details[10] = (0, 3 * MS, R, 1, 0, 0, flag)
    plan = task_set(
        [PlannedTask(core=0, uses=[("work", 1, None), ("lock", 1, 0)])], [Resource("lock", None)]
    )
    table = attrs.evolve(run.table, details=details)
    found = blame(BlamedRun("r", table, task_set=plan), 10, None)
    assert (found.cause, found.holder) == ("own work", "lock")
    assert words in found.evidence
    assert found.details["resource"] == 0


#: Another task of the set; a thread of the machine whose number is one of the namespace; no name.
@pytest.mark.parametrize(
    ("other", "threads", "said"),
    [
        (("db-t1", 999, 20), {7: 0, 8: 1}, ("preempted", "t1 of the set")),
        (("kworker/0:1", 7, 120), {7: 0, 8: 1}, ("throttled", "kworker/0:1")),
        (("kworker/0:1", 7, 120), {8: 0, 7: 1}, ("throttled", "kworker/0:1")),
        (("<...>", OTHER, 20), {OWN: 0, OTHER: 1}, ("preempted", "t1 of the set")),
    ],
)
def test_a_thread_is_known_by_its_name_or_else_by_its_number(
    other: tuple[str, int, int], threads: dict[int, int], said: tuple[str, str]
) -> None:
    """In a namespace of process numbers the program's own differ from the kernel's."""
    events = [
        waking(R, ("<idle>", 0)),
        switch(R + 1000, (*IDLE, "R"), other),
        switch(R + 5 * MS, (*other, "S"), ME),
        switch(R + 6 * MS, (*ME, "S"), IDLE),
    ]
    run = late_run(ran(R, R + 5 * MS, R + 6 * MS), events, run_delay_before_ns=5 * MS)
    assert run.trace is not None
    found = named(attrs.evolve(run, trace=attrs.evolve(run.trace, threads=threads)))
    assert (found.cause, found.holder) == said


def test_a_switch_from_idle_that_was_left_out_is_made_up_for() -> None:
    """Seen on a real kernel: the switch from idle to a waking thread has no event."""
    hog = ("db-hog", OTHER, 15)
    events = [
        switch(R, (*IDLE, "R"), ME),
        switch(R + MS, (*ME, "S"), IDLE),
        waking(R + MS + 1000, ("db-t1", 300), cpu=1),
        event("local_timer_exit", R + MS + 2000, 0, "<idle>", vector=236),
        switch(R + 6 * MS, (*hog, "S"), ME),
        switch(R + 7 * MS, (*ME, "S"), IDLE),
    ]
    shares = totals(events, R + 7 * MS).threads
    held = {share.name: share.ready_ns for share in shares if share.ready_ns}
    # nobody knows when, between the event before and this one: no more than 5 us after it
    assert held == {"swapper/0": 6000, "db-hog": 5 * MS - 7000}


def test_its_own_switch_that_was_left_out_was_between_its_wake_up_and_its_next_event() -> None:
    events = [
        switch(R, (*IDLE, "R"), ME),
        switch(R + MS, (*ME, "S"), IDLE),
        waking(R + 2 * MS, ("db-t1", 300), cpu=1),
        waking(R + 2 * MS + 4000, ("db-t1", 300), cpu=1),
        switch(R + 2 * MS + 4000, (*ME, "S"), IDLE),
        waking(R + 3 * MS, ("db-t1", 300), cpu=1),
        switch(R + 5 * MS, (*ME, "S"), IDLE),
    ]
    found = totals(events, R + 5 * MS)
    # in the middle of 4 us, and no later than 5 us within 2 ms
    assert (found.ready_ns, found.roused_ns) == (2000 + 5000, 2000 + 5000)
    assert found.asleep_ns == MS + MS - 4000


def totals(events: list[TraceEvent], finish_ns: int) -> JobTotals:
    span = Span(cpu=0, release_ns=R, start_ns=R, finish_ns=finish_ns)
    return add_up(events, task_matcher({OWN: 0}, 0), span)


def test_who_waited_for_the_object_too_did_not_hold_it() -> None:
    """t1 holds it for 18 ms; t2, who is more urgent, is next, and lets the job go on."""
    after = waking(R + 18 * MS, ("db-t1", 300), cpu=1)
    after = attrs.evolve(after, fields={"comm": "db-t2", "pid": 301, "prio": 13, "target_cpu": 1})
    mine = [
        switch(R, (*IDLE, "R"), ME),
        switch(R + MS // 2, (*ME, "S"), PEER),
        waking(R + 19 * MS, ("db-t2", 301), cpu=1),
        switch(R + 19 * MS, (*PEER, "R"), ME),
    ]
    span = Span(cpu=0, release_ns=R, start_ns=R, finish_ns=R + 20 * MS)
    for others, t1 in (((), 0), ((after,), 17.5 * MS), ((attrs.evolve(after, interrupt=True),), 0)):
        found = add_up(mine, task_matcher({OWN: 0}, 0), span, others)
        held = {share.name: share.slept_ns for share in found.threads if share.slept_ns}
        assert held.get("db-t1", 0) == t1
        assert sum(held.values()) == 18.5 * MS


def gap(at: int) -> TraceEvent:
    return TraceEvent(at_ns=at, cpu=-1, name=GAP, thread="", pid=-1)


def slept(by: TraceEvent) -> LateJob:
    """A job of 20 ms that slept all but 1 ms, woken by ``by``."""
    events = [switch(R, (*IDLE, "R"), ME), switch(R + MS // 2, (*ME, "S"), PEER), by]
    events += [switch(by.at_ns + 1000, (*PEER, "R"), ME)]
    return named(late_run(ran(R, R, R + 20 * MS), events, voluntary_switches=1))


def test_a_sleep_that_an_interrupt_ended_is_not_that_of_the_interrupted() -> None:
    by = waking(R + 19 * MS, ("db-t1", 300))
    assert slept(by).holder == "t1 of the set"
    found = slept(attrs.evolve(by, interrupt=True))
    assert (found.cause, found.holder) == ("lock", "interrupt")
    assert "ended by an interrupt" in found.evidence
    # where the trace has no flags
    assert slept(waking(R + 19 * MS, ("<idle>", 0))).holder == "interrupt"


def test_an_interrupt_within_another_counts_once() -> None:
    events = [
        switch(R, (*IDLE, "R"), ME),
        event("softirq_entry", R + MS, OWN, "db-t0", vec=1),
        event("local_timer_entry", R + 2 * MS, OWN, "db-t0", vector=236),
        event("local_timer_exit", R + 4 * MS, OWN, "db-t0", vector=236),
        event("softirq_exit", R + 5 * MS, OWN, "db-t0", vec=1),
    ]
    assert totals(events, R + 6 * MS).interrupts_ns == {"softirq": 2 * MS, "local_timer": 2 * MS}


def test_a_handler_whose_thread_lost_the_cpu_is_no_interrupt_of_the_next() -> None:
    """As of soft interrupts in their own thread."""
    softirqs = ("ksoftirqd/0", OTHER, 120)
    events = [
        event("softirq_entry", R, OTHER, "ksoftirqd/0", vec=1),
        switch(R + MS, (*softirqs, "R"), ME),
        event("local_timer_entry", R + 3 * MS, OWN, "db-t0", vector=236),
        event("local_timer_exit", R + 4 * MS, OWN, "db-t0", vector=236),
    ]
    assert totals(events, R + 6 * MS).interrupts_ns == {"local_timer": MS}


def test_totals_say_more_than_the_events_that_were_kept() -> None:
    """Ten thousand short waits, of which a reader gets a few hundred events."""
    events = [switch(R, (*IDLE, "R"), ME)]
    for at in range(R, R + 20 * MS, 2000):
        events += [switch(at + 500, (*ME, "S"), PEER)]
        events += [waking(at + 1500, ("db-t1", 300), cpu=1), switch(at + 1500, (*PEER, "R"), ME)]
    job = ran(R, R, R + 20 * MS)
    run = late_run(job, events[:300], cpu_ns=10 * MS, voluntary_switches=10_000)
    (trace,) = run.trace.jobs
    part = attrs.evolve(trace, totals=totals([*events[:300], gap(events[300].at_ns)], R + 20 * MS))
    found = blame(run, 10, part)
    assert found.holder == ""
    assert "; events of 19.8 ms of the job are missing" in found.evidence
    assert blame(run, 10, trace).holder == ""
    whole = attrs.evolve(trace, totals=totals(events, R + 20 * MS))
    found = blame(run, 10, whole)
    assert (found.cause, found.holder) == ("lock", "t1 of the set")
    assert found.evidence.startswith("slept 10 ms in 10000 waits, 1 µs in the longest")


def test_late_jobs_are_the_worst_first_and_name_known_causes_and_parts() -> None:
    run = late_run(ran(R, R, R + 12 * MS), [], cpu_ns=12 * MS)
    worst = worst_jobs(run.table, 3)
    assert [late.tardiness_ns for late in worst] == [2 * MS, 0, 0]
    found = [blame_late(run, late, {}) for late in worst]
    assert found[0].job == 10
    assert all(cause_named(job.cause) and set(job.parts_ns) == set(PARTS) for job in found)
