"""A task set from records of known truth; the traps are those of the research page (derive)."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve
from helpers.made_recordings import (
    BEGIN,
    CALLS,
    FUTEX,
    IN_INTERRUPT,
    MS,
    NAP,
    READ,
    SLEEP,
    WRITE,
    YIELD,
    Made,
)

from deadbeat.program.derive.late import late
from deadbeat.program.derive.records import RecordKind
from deadbeat.program.derive.system import reduced, system_of
from deadbeat.program.derive.tasks import DerivedTask, derive
from deadbeat.sched.analysis import analyze

TICKS = [n * 10 * MS for n in range(1, 61)]


def task_of(made: Made, name: str = "control") -> DerivedTask:
    return next(task for task in derive(made.recording()).tasks if task.name == name)


def one(*ticks: int, work: list[int] | None = None, **how: tuple[int, ...]) -> Made:
    made = Made()
    releases = ticks or TICKS
    made.loop(made.thread("control"), releases, work or [2 * MS] * len(releases), **how)
    return made


def test_a_periodic_thread() -> None:
    made = Made()
    facts = {"policy": "fifo", "priority": 80, "cpus": (1,), "cpu_ns": 122 * MS}
    made.loop(made.thread("control", **facts), TICKS, [2 * MS + n * 1000 for n in range(60)])
    task = task_of(made)
    assert (task.kind, task.period_ns, task.offset_ns, task.jobs) == (
        "periodic",
        10 * MS,
        10 * MS,
        60,
    )
    assert (task.policy, task.priority, task.cpus) == ("fifo", 80, (1,))
    assert task.c_mean_ns == pytest.approx(2_029_500, abs=500)
    assert task.c_max_ns == pytest.approx(2_059_000, abs=500)
    assert (task.deadline_ns, task.misses, task.jitter_ns) == (10 * MS, 0, 0)
    assert task.response_max_ns == 2_059_000 + 5000
    assert task.quantile == pytest.approx(0.05 ** (1 / 60))


def test_jobs_that_overrun_are_separated_by_their_calls() -> None:  # trap 1
    task = task_of(one(work=[14 * MS if n % 4 == 0 else 3 * MS for n in range(60)]))
    assert (task.kind, task.jobs, task.period_ns) == ("periodic", 60, 10 * MS)
    assert task.c_max_ns == pytest.approx(14 * MS, abs=1000)
    assert task.misses == 15


@pytest.mark.parametrize("at", [29, 57])  # in the middle, or the last one
@pytest.mark.parametrize(
    ("c", "jobs", "merged", "skipped"), [(3, 59, 1, 0), (5, 58, 0, 1), (1, 58, 0, 1)]
)
def test_jobs_that_nothing_separates(
    c: int, jobs: int, merged: int, skipped: int, at: int
) -> None:  # 2
    """The loop skips a sleep when it is late: two jobs in one, or a long one."""
    made = Made()
    tid = made.thread("control")
    releases = [tick for tick in TICKS if tick != 310 * MS or at == 57][:58]
    now = 1000
    for due in releases:
        made.call(tid, now, due + 5000, (230, 1, 1), due=due, wake=due)
        now = due + 5000 + 2 * MS
        if due == releases[at]:
            made.away(tid, now, now + 10 * MS, by=55)
            now += 10 * MS + (c - 1) * MS
    made.add(now, tid, RecordKind.ENTER, 230, 1, 1)
    task = task_of(made)
    assert (task.jobs, task.merged) == (jobs, merged)
    assert task.skipped == (skipped if at < 57 else 0)
    assert task.c_max_ns == pytest.approx((2 if merged else c + 1) * MS, rel=0.01)


def test_a_last_job_is_one_where_the_wait_after_it_returned_at_once() -> None:
    made = Made()
    tid = made.thread("control")
    now = 1000
    for due in TICKS:
        made.call(tid, now, due + 5000, (230, 1, 1), due=due, wake=due)
        now = due + 5000 + 2 * MS
    made.away(tid, now, now + 11 * MS, by=55)
    now += 13 * MS
    made.call(tid, now, now + 5000, (230, 1, 1), due=TICKS[-1] + 10 * MS)
    task = task_of(made)
    assert (task.jobs, task.merged) == (len(TICKS), 0)


def bunched(how: str) -> Made:
    """A producer every 10 ms releases three jobs of 0.5 ms; only the first has to wait."""
    made = Made()
    tid, producer = made.thread("control"), made.thread("producer")
    made.loop(producer, TICKS, [MS] * 60)
    cond, mutex, now = 0x7000, 0x8000, 1000
    for tick in TICKS:
        for place in range(3):
            at = tick + 10_000 + place * 1000
            made.add(
                at, producer, RecordKind.POST if how == "semaphore" else RecordKind.SIGNAL, cond
            )
            got = max(at + 10_000, now + 500)
            if how == "condition":
                made.add(now, tid, RecordKind.GOT, mutex, 0x111)
            if place == 0:
                made.add(
                    now + 50, tid, RecordKind.COND_WAIT, cond, 0x222, mutex
                ) if how == "condition" else 0
                made.call(tid, now + 100, got - 100, FUTEX, wake=at + 100, by=producer)
            if how == "condition":
                made.add(got, tid, RecordKind.GOT, mutex, 0x222) if place == 0 else 0
                made.add(got + 10, tid, RecordKind.UNLOCK, mutex)
            else:
                made.add(got, tid, RecordKind.TAKE, cond, 0x222, int(place == 0))
            now = got + MS // 2
    return made


@pytest.mark.parametrize("how", ["semaphore", "condition"])
def test_bursts_that_are_taken_without_a_call(how: str) -> None:  # trap 2
    derived = derive(bunched(how).recording())
    task = derived.tasks[0]
    assert (task.kind, task.burst, task.period_ns) == ("bursty", 3, 10 * MS)
    assert task.jobs == pytest.approx(180, abs=1)
    assert task.c_max_ns == pytest.approx(0.5 * MS, rel=0.02)
    (link,) = derived.chains
    assert (link.from_, link.to, link.share) == ("producer", "control", 1.0)
    assert link.max_ns == pytest.approx(1.5 * MS, rel=0.02)


def test_bursts_of_which_no_trigger_is_seen() -> None:  # trap 2
    """They came since the last wait at the earliest, so that the least gaps are safe."""
    made = bunched("semaphore")
    made.rows = [row for row in made.rows if row[2] != RecordKind.POST]
    task = task_of(made)
    assert (task.kind, task.burst, task.period_ns, task.gaps_ns[0]) == ("bursty", 3, 10 * MS, 0)
    assert task.unsure == "66% of the releases are not known"


def test_a_thread_that_is_always_late_is_named() -> None:
    """It skips its sleeps, so that it has no jobs."""
    made = Made()
    tid = made.thread("plan", cpu_ns=940 * MS)
    made.loop(made.thread("control"), TICKS, [MS] * 60)
    made.call(tid, 1000, 10 * MS, (230, 1, 1), due=10 * MS, wake=10 * MS)
    made.away(tid, 950 * MS, 1250 * MS, by=55)
    plan = task_of(made, "plan")
    assert plan.left_out == (
        "it hardly waits: it spins, is always late, or has no jobs; it runs 75% of the time"
    )


def test_a_runtime_that_moves_work_between_threads() -> None:
    """As Go has it: one thread looks after the others in short naps, others hand on what to do."""
    made, now = Made(), 1000
    beats, hands, looks, works = (made.thread(name) for name in ("beats", *["ticker"] * 3))
    made.loop(hands, [tick - 5000 for tick in TICKS], [10_000] * 60, what=FUTEX)
    made.loop(beats, TICKS, [2 * MS] * 60, what=FUTEX, by=hands)
    made.loop(works, [tick + 1_500_000 for tick in TICKS], [MS] * 60, what=FUTEX, by=beats)
    while now < 600 * MS:
        due = now + (20_000 if now < 10 * MS else 5 * MS)
        made.call(looks, now, due + 5000, (35, 0, 0), due=due, wake=due)
        now = due + 10_000
    derived = derive(made.recording())
    found = [(task.kind, task.period_ns) for task in derived.tasks]
    task = ("periodic", 10 * MS)
    assert found == [task, ("none", None), ("none", None), task]
    assert derived.tasks[3].unsure == "its runtime may move work between threads"
    assert not derived.chains and "chains within beats" in derived.not_seen[-1]


def test_a_backlog_is_paired_with_the_writes() -> None:  # trap 2
    made = Made()
    tid, writer = made.thread("control"), made.thread("writer")
    made.loop(writer, TICKS, [MS] * 60)
    now = 1000
    for tick in TICKS:
        made.call(writer, tick + 5200, tick + 5900, WRITE)
        back = max(tick + 20_000, now + 1000)
        wake = {"wake": tick + 5300, "by": writer} if now + 200 < tick else {}
        made.call(tid, now, back, READ, ret=1, **wake)
        now = back + MS
        if tick == 300 * MS:
            made.away(tid, now, now + 45 * MS, by=55)
            now += 45 * MS
    task = task_of(made)
    assert (task.kind, task.period_ns) == ("chained", pytest.approx(10 * MS, rel=0.001))
    assert task.min_gap_ns == pytest.approx(10 * MS, rel=0.01)
    assert task.response_max_ns == pytest.approx(46 * MS, rel=0.01)


def test_a_deadline_thread_is_throttled_within_its_job() -> None:  # trap 3
    made = Made()
    facts = {
        "policy": "deadline",
        "runtime_ns": 3 * MS,
        "deadline_ns": 8 * MS,
        "period_ns": 10 * MS,
    }
    tid, now = made.thread("control", **facts), 1000
    for tick in TICKS:
        made.add(now, tid, RecordKind.ENTER, *YIELD)
        made.add(now, tid, RecordKind.DEADLINE_TIMER, BEGIN + tick - 50, BEGIN + tick)
        made.away(tid, now + 50, tick + 4000)
        made.add(tick + 5000, tid, RecordKind.EXIT, 24)
        made.away(tid, tick + MS, tick + 3 * MS)
        made.away(tid, tick + 4 * MS, tick + 5 * MS)
        now = tick + 6 * MS
    made.add(now, tid, RecordKind.ENTER, *YIELD)
    task = task_of(made)
    assert (task.kind, task.period_ns, task.jobs) == ("periodic", 10 * MS, 60)
    assert task.c_max_ns == pytest.approx(3 * MS, rel=0.005)
    assert (task.deadline_ns, task.deadline_from) == (8 * MS, "SCHED_DEADLINE")


def test_jobs_with_lost_events_are_left_out() -> None:  # trap 4
    made = one()
    gone = (BEGIN + 296 * MS, BEGIN + 345 * MS)
    made.rows = [row for row in made.rows if not gone[0] < row[0] < gone[1]]
    made.add(345 * MS, 100, RecordKind.LOST, 40)
    derived = derive(made.recording(lost=40))
    task = derived.tasks[0]
    assert (derived.lost, task.period_ns, task.kind) == (40, 10 * MS, "periodic")
    assert task.jobs == 60 - 6 and derived.dropped >= 1
    assert task.c_max_ns == pytest.approx(2 * MS, rel=0.001)


def test_a_trace_of_which_windows_are_kept() -> None:
    """Over a gap of 1,200 periods a period from neighbours alone would be places off."""
    made = Made()
    tid = made.thread("control")
    ticks = [10 * MS * (at + 1) + at % 3 * 20_000 for at in range(2000)]
    for at, (begin, _) in enumerate(made.loop(tid, ticks, [2 * MS] * 2000)):
        made.add(begin + 1000, tid, RecordKind.GOT, 0x9000, 0x1)
        made.add(begin + 1000 + (at < 1900) * MS, tid, RecordKind.UNLOCK, 0x9000)
    gap = (BEGIN + 3003 * MS, BEGIN + 15_001 * MS)
    seen = [row for row in made.rows if row[2] >= 32 or not gap[0] < row[0] < gap[1]]
    whole, made.rows = made.recording(), seen
    derived = derive(made.recording(gaps=(gap,)))
    task, section = derived.tasks[0], derived.tasks[0].sections[0]
    assert derived.seconds == pytest.approx(8, abs=0.1)
    assert (task.kind, task.skipped, task.merged) == ("periodic", 0, 0)
    assert task.period_ns == pytest.approx(10 * MS, rel=1e-5)
    assert task.jobs == 2000 - 1200 - 1 and task.response_max_ns < 3 * MS
    assert task.c_max_ns == pytest.approx(2 * MS, rel=0.001)
    assert section.count == 800 and section.max_ns == pytest.approx(MS, rel=0.01)
    assert derive(whole).tasks[0].jobs == 2000


def test_switches_that_are_missing() -> None:  # trap 5
    whole = one().recording()
    moves = np.flatnonzero(whole.events["kind"] == RecordKind.SWITCH)
    lost = np.delete(whole.events, [*moves[7::9], *moves[10::22]])
    tasks = [derive(each).tasks[0] for each in (whole, evolve(whole, events=lost))]
    assert tasks[0].jobs == tasks[1].jobs == 60
    assert tasks[0].c_max_ns == pytest.approx(tasks[1].c_max_ns, rel=0.01)
    assert tasks[0].period_ns == tasks[1].period_ns


def test_what_a_program_in_front_did_is_not_its_own() -> None:
    made = one()
    made.add(900, 100, RecordKind.EXEC)
    for at, lock in ((100, 0x9000), (95 * MS // 10, 0xA000)):
        made.add(at, 100, RecordKind.GOT, lock, 0x1)
        made.add(at + 50, 100, RecordKind.UNLOCK, lock, 0x1)
    assert [lock.name for lock in derive(made.recording()).locks] == ["0xa000"]
    made = Made()
    made.loop(made.thread("sudo"), TICKS, [MS] * len(TICKS))
    assert [task.kind for task in derive(made.recording()).tasks] == ["none"]


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 0.95])
def test_whatever_is_missing_there_is_an_answer(kept: float) -> None:
    whole, chance = bunched("condition").recording(), np.random.default_rng(2)
    for missing in (0, *RecordKind):
        some = (whole.events["kind"] != missing) & (chance.random(len(whole.events)) <= kept)
        recording = evolve(whole, events=whole.events[some])
        derived = derive(recording, deadlines={"": MS})
        assert len(derived.tasks) == 2 and late(recording, derived) is not None
        assert reduced(derived).system.processors >= 1


def test_sections_are_by_call_site() -> None:  # trap 12
    made = Made()
    tid = made.thread("control")
    made.add(10, tid, RecordKind.INIT, 0x9000, 0, 1)
    for begin, _ in made.loop(tid, TICKS, [2 * MS] * 60):
        more = [(0x2, MS + n * 100_000, 50_000) for n in range(1, 3) if begin == 300 * MS + 5000]
        for site, at, length in ((0x1, 0, 500_000), (0x2, MS, 50_000), *more):
            made.add(begin + at, tid, RecordKind.GOT, 0x9000, site)
            made.add(begin + at + length, tid, RecordKind.UNLOCK, 0x9000, site)
    derived = derive(made.recording(symbols={0x9000: "map_lock", 0x1: "map.c:212"}))
    found = [(s.site, s.count, round(s.mean_ns, -3)) for s in derived.tasks[0].sections]
    assert found == [("map.c:212", 60, 500_000), ("0x2", 62, 50_000)]
    assert (derived.locks[0].name, derived.locks[0].protocol) == ("map_lock", "inherit")
    first, second = system_of(derived).tasks[0].sections
    assert first.length == pytest.approx(500_000, rel=0.01)
    assert (first.count, second.count) == (1, 3)  # the largest of a job, not the mean
    assert reduced(derived).lines[0] == "map_lock: one thread takes it: no lock"
    assert not reduced(derived).system.locks
    two = evolve(derived, locks=(evolve(derived.locks[0], users=("control", "main")),))
    assert reduced(two).unproved[0] == "main takes map_lock and has no period"


@pytest.mark.parametrize(
    ("operation", "protocol"), [(0x80 | 6, "inherit"), (0x80, "none"), (0x80 | 9, "none")]
)
def test_a_lock_that_no_library_shows(operation: int, protocol: str) -> None:  # traps 10, 11
    """The kernel shows who waited and who gave it: by its calls for a futex it is a lock."""
    made, (word, wake) = Made(), (0x9000, 0x80 | 1)
    tid, logger = made.thread("control"), made.thread("logger")
    for begin, _ in made.loop(tid, TICKS, [2 * MS] * 60):
        at, gone = begin + MS, {"wake": begin + 1_200_000, "by": logger}
        made.call(tid, at, at + 250_000, (202, word, operation), **gone)
        made.call(tid, at + 300_000, at + 301_000, (202, word, wake))
    (lock,) = derive(made.recording()).locks
    assert (lock.name, lock.protocol, lock.users) == ("0x9000", protocol, ("control", "logger"))
    assert [(each.holder, each.count, each.max_ns) for each in lock.waited] == [
        ("logger", 60, 250_000)
    ]


def test_a_sleep_that_the_kernel_restarts_is_one_wait() -> None:  # trap 13
    made = one()
    enters = [row for row in made.rows if row[2] == RecordKind.ENTER][:60:7]
    for row in enters:  # a signal; it wakes the thread while that still runs
        at = row[0] - BEGIN
        made.rows.remove(row)
        made.add(at - 900, 100, RecordKind.ENTER, 230, 1, 1)
        made.add(at - 600, 100, RecordKind.WAKING, 55)
        made.add(at - 500, 100, RecordKind.EXIT, 230, -514)
        made.add(at, 100, RecordKind.ENTER, 230, 1, 1)
    timers = [row for row in made.rows if row[2] == RecordKind.SLEEP_TIMER]
    for row in timers:  # slack: it may expire 50 us later
        made.rows[made.rows.index(row)] = (*row[:5], row[5] + 50_000, 0)
    task = task_of(made)
    assert (task.jobs, task.period_ns, task.jitter_ns) == (60, 10 * MS, 0)


def test_a_futex_that_is_woken_for_nothing_is_waited_for_on() -> None:  # trap 13
    made = Made()
    tid, now = made.thread("control"), 1000
    for tick in TICKS:
        for at in (tick - 3 * MS, tick - 2 * MS):
            made.call(tid, now, at, FUTEX, wake=at - 1000, by=55)
            now = at + 1000
        made.call(tid, now, tick + 5000, FUTEX, wake=tick, by=55)
        now = tick + MS
    made.add(now, tid, RecordKind.ENTER, *FUTEX)  # it may go round again
    task = task_of(made)
    assert (task.jobs, task.period_ns, task.jitter_ns) == (59, 10 * MS, 0)


def test_a_wait_for_an_interpreter_is_no_execution_time() -> None:  # trap 16
    """Its lock is a condition that is waited for again every 5 ms, in each job."""
    made = Made()
    tid, now = made.thread("control"), 1000
    for tick in TICKS:
        made.call(tid, now, tick + 5000, (230, 1, 1), due=tick, wake=tick)
        made.call(tid, tick + MS, tick + 6 * MS, FUTEX, wake=tick + 6 * MS - 200, ret=-110)
        made.call(tid, tick + 6 * MS + 900, tick + 7 * MS, FUTEX, wake=tick + 7 * MS - 200, by=55)
        now = tick + 8 * MS
    made.add(now, tid, RecordKind.ENTER, 230, 1, 1)
    task = task_of(made)
    assert (task.kind, task.jobs, task.period_ns) == ("periodic", 60, 10 * MS)
    assert task.c_max_ns == pytest.approx(2 * MS, rel=0.01)
    assert task.suspension_mean_ns == pytest.approx(6 * MS, rel=0.01)


def test_a_condition_that_is_waited_for_with_its_lock_held() -> None:
    """The lock is given up in the waits alone; what is woken for nothing waits on."""
    made, now = Made(), 1000
    tid = made.thread("control")
    made.add(now, tid, RecordKind.GOT, 0x8000, 0x1)
    for tick in TICKS:
        for at in (tick - MS, tick):
            made.add(now + 100, tid, RecordKind.COND_WAIT, 0x7000, 0x2, 0x8000)
            made.call(tid, now + 200, at + 4000, FUTEX, wake=at, ret=-110)
            made.add(at + 4100, tid, RecordKind.GOT, 0x8000, 0x2)
            now = at + 5000
        now = tick + 2 * MS
    made.add(now, tid, RecordKind.COND_WAIT, 0x7000, 0x2, 0x8000)
    task = task_of(made)
    assert (task.kind, task.period_ns, task.jobs) == ("periodic", 10 * MS, 60)
    assert task.c_mean_ns == pytest.approx(2 * MS, rel=0.01)


def test_sleeps_until_exact_instants_are_no_pauses() -> None:
    """Jobs of one length look like a pause of one length; the instants tell."""
    work = [2 * MS + at % 7 * 100 for at in range(60)]
    assert task_of(one(work=work)).kind == "periodic"


def test_charges_that_others_caused_are_not_lost() -> None:
    """Who reads /proc/PID/stat of a thread that runs has it charged without an event."""
    whole = one().recording()
    charges = np.flatnonzero(whole.events["kind"] == RecordKind.RUNTIME)
    thread = evolve(whole.threads[0], cpu_ns=int(whole.events["a"][charges].sum()))
    fewer = np.delete(whole.events, charges[::3])
    task = derive(evolve(whole, events=fewer, threads=(thread,))).tasks[0]
    assert task.c_mean_ns == pytest.approx(2 * MS, rel=0.01)
    assert task.charged_share == pytest.approx(1, abs=0.001)


def test_sleeps_that_are_over_at_once_begin_jobs() -> None:
    """Late from the start: its first sleeps are until instants in the past."""
    assert task_of(one(*(n * 10 * MS for n in range(-2, 58)))).jobs == 60


def test_what_was_there_before_the_first_wait_is_no_job() -> None:
    """A loader's reads, of a file with the number that the timer has later."""
    made = one(what=READ)
    for at in (100, 300, 500):
        made.call(100, at, at + 100, READ, ret=832)
    assert task_of(made).jobs == task_of(one(what=READ)).jobs


def test_warm_up_and_jobs_in_progress_are_said_apart() -> None:  # trap 14
    made = one(work=[9 * MS, 5 * MS] + [2 * MS] * 58)
    made.rows = [row for row in made.rows if row[0] < BEGIN + 600 * MS + MS]  # within the last job
    task = task_of(made)
    assert (task.jobs, task.warm_up) == (59, 2)
    assert task.warm_up_max_ns == pytest.approx(9 * MS, rel=0.001)
    assert task.c_max_ns == pytest.approx(2 * MS, rel=0.001)


def test_stolen_time_is_no_execution_time() -> None:  # trap 15
    made = Made()
    tid = made.thread("control")
    ((begin, _),) = made.loop(tid, TICKS[:1], [2 * MS])
    made.rows.pop()
    made.away(tid, begin + 13 * MS, begin + 14 * MS, by=55, stolen=11 * MS)
    now = begin + 14 * MS + 10_000
    for tick in TICKS[2:]:
        made.call(tid, now, tick + 5000, (230, 1, 1), due=tick, wake=tick)
        now = tick + 5000 + 2 * MS
    task = task_of(made)
    assert task.c_max_ns == pytest.approx(2 * MS, rel=0.02)


def test_all_that_the_kernel_charged_is_shared_among_jobs() -> None:
    """30 us a job are charged before the event of the switch: they are no part of C."""
    made = one()
    made.stolen = dict.fromkeys(made.stolen, -30_000)
    task = task_of(made)
    assert task.c_max_ns == pytest.approx(2 * MS, abs=5500)
    assert task.charged_mean_ns == pytest.approx(2_029_700, abs=500)  # the last has no charge


def gaps(make: Callable[[random.Random], float]) -> list[int]:
    chance, at, found = random.Random(3), 0.0, []
    for _ in range(200):
        at += make(chance)
        found.append(int(at * MS))
    return found


@pytest.mark.parametrize(
    ("releases", "what", "kind", "period"),
    [
        (gaps(lambda c: 10 + c.uniform(-0.1, 0.1) * 0), NAP, "periodic", 10 * MS),
        (gaps(lambda c: 5 + c.expovariate(0.2)), NAP, "sporadic", None),
        (gaps(lambda c: 5 + c.expovariate(0.2)), READ, "sporadic", None),
        (gaps(lambda c: 10 * (1 + (c.random() < 0.1))), READ, "periodic", 10 * MS),
        (
            [n * 20 * MS + k * 100_000 for n in range(1, 60) for k in range(4)],
            READ,
            "bursty",
            20 * MS,
        ),
    ],
)
def test_kinds_of_arrival(
    releases: list[int], what: tuple[int, ...], kind: str, period: int | None
) -> None:
    chance = random.Random(5)
    task = task_of(
        one(*releases, work=[chance.randrange(20_000, 60_000) for _ in releases], what=what)
    )
    assert (task.kind, task.period_ns) == (kind, period and pytest.approx(period, rel=0.0001))
    assert task.gaps_ns[0] == np.diff(releases).min()


def test_works_then_sleeps() -> None:
    made, now, chance = Made(), 1000, random.Random(1)
    tid = made.thread("control")
    for _ in range(100):
        due = now + 10 * MS
        made.call(tid, now, due + 5000, NAP, due=due, wake=due)
        now = due + 5000 + chance.randrange(MS, 2 * MS)
    task = task_of(made)
    assert (task.kind, task.period_ns) == ("relative", None)
    assert 11 * MS < (task.min_gap_ns or 0) < 12 * MS


def test_names_and_deadlines() -> None:
    made = Made()
    for name, begin in (("worker", 2), ("worker", 1), ("main", 0)):
        made.loop(made.thread(name, begin_ns=begin), TICKS, [2 * MS] * 60)
    idle = made.thread("idle")
    made.add(5, idle, RecordKind.END)
    derived = derive(made.recording(), deadlines={"worker": MS, "": 3 * MS, "worker#2": 4 * MS})
    found = {task.name: (task.deadline_ns, task.misses) for task in derived.tasks}
    assert found == {
        "worker#2": (4 * MS, 0), "worker#1": (MS, 60), "main": (3 * MS, 0), "idle": (None, None)
    }  # fmt: skip
    assert derived.tasks[-1].kind == "none"


def test_the_task_system_and_its_reductions() -> None:
    made = Made()
    for name, priority in (("control", 80), ("logger", 10)):
        tid = made.thread(name, policy="fifo", priority=priority, cpus=(0,))
        chance = random.Random(priority)
        wakes = [tick + chance.randrange(100_000) for tick in TICKS]
        for begin, _ in made.loop(tid, wakes, [2 * MS] * 60, what=READ):
            made.away(tid, begin + MS, begin + MS + 500_000, wake=begin + MS + 499_000)
    derived = derive(made.recording())
    system = system_of(derived)
    assert system.beyond == ("jitter", "suspension")
    assert all(0 < task.jitter <= 100_000 and task.suspension for task in system.tasks)
    assert system.tasks[0].source == "measured: largest of 60 jobs"
    result = reduced(derived)
    assert result.system.beyond == ("suspension",) and not result.unproved
    assert [line.split(":")[0] for line in result.lines] == ["control", "logger"]
    assert analyze(result.system, priorities="given").result("fp-suspension").answer == "accepted"
    plain = evolve(derived, tasks=tuple(evolve(task, policy="other") for task in derived.tasks))
    assert (
        reduced(plain).unproved[0]
        == "control is not a real-time thread: nothing bounds its response"
    )


def test_what_is_outside_has_a_name() -> None:
    """A call that is not traced, where looks found the thread; a thread that had its CPU."""
    made = Made()
    tid = made.thread("control", policy="fifo", sleeps_in=73)
    now = 0
    for tick in TICKS:
        if tick < now:
            continue
        made.away(tid, now + 5000, tick, wake=tick)
        now = tick + 2 * MS
        if tick == 300 * MS:
            made.away(tid, now, now + 13 * MS, by=999)
            now += 14 * MS
    recording = made.recording(calls={**CALLS, 73: "flock"}, names={999: "eats"})
    derived = derive(recording, deadlines={"": 10 * MS})
    (task,) = derived.tasks
    assert task.unsure == "jobs by wake-ups of flock" and task.jobs > 40
    assert ("preempted", "eats") in {(each.cause, each.by) for each in late(recording, derived)}


def test_who_leaves_the_cpu_that_a_thread_came_to_had_it() -> None:
    """No move to another CPU is recorded, nor who came there before."""
    made = Made()
    tid = made.thread("control")
    now, cpu = 1000, 0
    for tick in TICKS:
        made.add(now, tid, RecordKind.ENTER, *SLEEP)
        made.add(now, tid, RecordKind.SLEEP_TIMER, BEGIN + tick, BEGIN + tick)
        on = tick + 5000
        if tick > now:
            made.rows.append((BEGIN + now + 100, tid, RecordKind.SWITCH, cpu, 0, 1, 0))
            made.add(tick, tid, RecordKind.WAKING, 0, IN_INTERRUPT)
            other, cpu = (999, 7) if tick == 300 * MS else (0, 0)
            on += 12 * MS * (other > 0)
            made.rows.append((BEGIN + on, other, RecordKind.SWITCH, cpu, tid, 0, 120))
        made.add(max(on, now) + 1000, tid, RecordKind.EXIT, SLEEP[0], 0)
        now = max(on, now) + 2 * MS
    recording = made.recording(calls=CALLS, names={999: "eats"})
    found = [*late(recording, derive(recording, deadlines={"": 10 * MS}))]
    assert [(each.cause, each.by) for each in found] == [("preempted", "eats")]
    assert found[0].ns == pytest.approx(12 * MS, rel=0.01)
