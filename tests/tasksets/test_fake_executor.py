"""Truth: the formula of executors/simulated.py, schedules by hand, the slots of measurement.md."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.campaigns import example_catalog
from helpers.runs import PlannedTask
from helpers.runs import task_set as planned_set

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import RunError, UsageError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.systems import TimedTask
from deadbeat.sched.simulator import simulate_jobs
from deadbeat.tasksets.contention.run_reader import (
    Priced,
    predicted_jobs,
    prediction_figures,
)
from deadbeat.tasksets.executors.base import Costing, RunOutcome, RunRequest, RunSettings
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.executors.scheduled import SimExecutor, parse_simulated
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults
from deadbeat.tasksets.executors.tables import SOLO_SAMPLE, plan_slots
from deadbeat.tasksets.model.figures import SetFigures
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.jobfile import find_inconsistency, job_file_buffers, read_job_table
from deadbeat.tasksets.synthesis import SynthesisParameters, synthesise

SETTINGS = RunSettings(seconds=0.2)
CALIBRATION = FakeExecutor().calibrate(example_catalog(), Costing(pool="full", seconds=1))


def task_set(
    cores: int,
    rho: Fraction | int = 1,
    alpha: int = 1,
    *,
    tasks: int = 0,
    factor: int = 10,
    critical: int = 0,
) -> TaskSet:
    asked = SynthesisParameters(
        cores=cores,
        tasks=tasks or cores,
        sync_share=Fraction(rho),
        contended_ratio=Fraction(alpha),
        deadline_factor=Fraction(factor),
        critical_cores=critical,
    )
    return synthesise(asked, example_catalog(), CALIBRATION, seed=5)


def table(ts: TaskSet, settings: RunSettings = SETTINGS) -> JobTable:
    return FakeExecutor(contention=0.6).jobs(ts, settings, 1_000_000)


@pytest.mark.parametrize(
    ("cores", "rho", "alpha", "slowdown"),
    [(1, 1, 1, 1.0), (2, 0, 0, 1.01), (2, 1, 0, 1.01), (2, 1, 1, 1.61)],
)
def test_slowdown_is_the_formulas(cores: int, rho: int, alpha: int, slowdown: float) -> None:
    found = table(task_set(cores, rho, alpha))
    per_task = [
        (np.median(spans[solo == 0]) / np.median(spans[solo > 0]))
        for task in range(cores)
        for jobs in [found.jobs[found.jobs["task"] == task]]
        for spans, solo in [(jobs["finish_ns"] - jobs["start_ns"], jobs["flags"] & j.JOB_SOLO)]
    ]
    assert per_task == pytest.approx([slowdown] * cores, rel=0.002)


def test_only_cores_with_critical_tasks_contend() -> None:
    """1 + 0.01 (M - 1) + 0.6 rho alpha (K - 1) on K critical cores, 1 + 0.01 (M - 1) beside."""
    for critical, slowdown in ((1, 1.03), (2, 1.63), (4, 2.83)):
        shielded = task_set(4, critical=critical)
        found = table(shielded)
        for task in range(4):
            jobs = found.jobs[(found.jobs["task"] == task) & (found.jobs["start_ns"] != j.NEVER)]
            spans, solo = jobs["finish_ns"] - jobs["start_ns"], jobs["flags"] & j.JOB_SOLO
            ratio = np.median(spans[solo == 0]) / np.median(spans[solo > 0])
            expected = slowdown if task < critical else 1.03
            assert ratio == pytest.approx(expected, rel=0.003)


@pytest.mark.parametrize("overrun", ["skip", "late"])
@pytest.mark.parametrize("policy", ["fifo", "other"])
@pytest.mark.parametrize("tasks", [2, 6])
def test_tables_are_consistent_and_survive_a_file(
    tmp_path: Path, overrun: str, policy: str, tasks: int
) -> None:
    settings = RunSettings(seconds=0.2, overrun=overrun, policy=policy, split=True)  # type: ignore[arg-type]
    found = table(task_set(2, tasks=tasks, factor=2), settings)
    assert find_inconsistency(found) == ""
    path = tmp_path / "a.jobs"
    path.write_bytes(b"".join(job_file_buffers(found)))
    again = read_job_table(path)
    assert (again.jobs == found.jobs).all() and (again.slots == found.slots).all()
    assert bool(int(again.header["flags"]) & j.RUN_REALTIME) == (policy == "fifo")


def test_overload_skips_releases_or_is_late() -> None:
    # 24 tasks on one core at D = 2 C need 12 times what there is.
    overloaded = task_set(1, tasks=24, factor=2)
    skipped = table(overloaded).jobs
    never = skipped[skipped["flags"] & j.JOB_SKIPPED > 0]
    assert len(never) > 0.3 * len(skipped)
    assert (never["start_ns"] == j.NEVER).all() and (never["finish_ns"] == j.NEVER).all()


def test_only_jobs_due_while_the_same_tasks_run_count() -> None:
    found = table(task_set(2))
    counted = found.jobs["flags"] & j.JOB_COUNTED > 0
    assert 50 < counted.sum() < len(counted)
    slots = found.slots[found.jobs["slot"]]
    deadlines = found.tasks["deadline_ns"].astype(np.int64)[found.jobs["task"]]
    due = found.jobs["release_ns"] + deadlines <= slots["end_ns"]
    assert (counted == (due & (found.jobs["release_ns"] >= slots["start_ns"]))).all()


def test_the_same_run_gives_the_same_bytes() -> None:
    once, twice = table(task_set(2)), table(task_set(2))
    assert job_file_buffers(once) == job_file_buffers(twice)


def test_faults_end_after_so_many_attempts() -> None:
    key = RunKey(Point(2, 1000, 1000), 0)
    executor = FakeExecutor(faults=Faults(fail={key.text: 1}))
    with executor.open([RunRequest(key, task_set(2))], SETTINGS) as session:
        first, second = (session.run(key) for _ in range(2))
    assert isinstance(first.error, RunError)
    assert second.table is not None
    assert session.source.startswith("/*")


def test_without_real_time_priority_protocols_are_refused_by_name() -> None:
    catalog = example_catalog()
    needy = attrs.evolve(catalog.fragments["mutex"], requires=("priority-ceiling",))
    catalog = type(catalog)(fragments={**catalog.fragments, "mutex": needy})
    found = FakeExecutor().calibrate(catalog, Costing(pool="full", seconds=1, policy="other"))
    assert set(found.refused) == {"mutex/1", "mutex/4", "mutex/16"}
    assert not set(found.refused) & set(found.costs)
    assert FakeExecutor().unavailable(catalog, policy="fifo") == {}


def test_an_outcome_is_exactly_one_thing() -> None:
    key = RunKey(Point(1, 0, 0), 0)
    with pytest.raises(ValueError, match="either jobs or an error"):
        RunOutcome(key=key)
    with pytest.raises(ValueError, match="either jobs or an error"):
        RunOutcome(key=key, file=Path("x"), error=RunError("x"))


def test_the_seam_of_the_command_line() -> None:
    text = "fake:cores=4,name=x,kill-after=7,fail=m001-s0000-c0000-r0000*3"
    found = parse_simulated(text)
    assert (found.cores, found.name, found.faults.kill_after) == (4, "x", 7)
    assert found.faults.fail == {"m001-s0000-c0000-r0000": 3}
    for wrong in ("fake:cores=0", "fake:coers=2", "fake:kill-after=x", "fake:fail=m*x", "fake:x"):
        with pytest.raises(UsageError, match="unknown"):
            parse_simulated(wrong)


MS = 1_000_000
Run = Callable[[TaskSet, RunSettings, int], JobTable]


def fake(tasks: TaskSet, settings: RunSettings, ppm: int = 1_000_000) -> JobTable:
    return FakeExecutor(contention=0.6).jobs(tasks, settings, ppm)


def sim(tasks: TaskSet, settings: RunSettings, ppm: int = 1_000_000) -> JobTable:
    return SimExecutor().jobs(tasks, settings, ppm)


both = pytest.mark.parametrize("run", [fake, sim])


def drawn(cores: int, tasks: int, factor: int = 10) -> TaskSet:
    return task_set(cores, Fraction(1, 2), tasks=tasks, factor=factor)


def timed(*periods_ns: int, wcet_ns: int = 100_000) -> TaskSet:
    """A task a core with T = D of each."""
    made = planned_set([PlannedTask(core=core) for core in range(len(periods_ns))])
    tasks = [
        attrs.evolve(task, wcet_ns=wcet_ns, period_ns=period_ns, deadline_ns=period_ns)
        for task, period_ns in zip(made.tasks, periods_ns, strict=True)
    ]
    return attrs.evolve(made, tasks=tuple(tasks))


def lengths(table: np.ndarray, kind: int) -> list[tuple[int, int]]:
    """Warm-up and measured part of the slots of a kind, each different pair once."""
    rows = table[table["kind"] == kind]
    pairs = zip(rows["start_ns"] - rows["begin_ns"], rows["end_ns"] - rows["start_ns"], strict=True)
    return sorted({(int(warmup), int(length)) for warmup, length in pairs})


@pytest.mark.parametrize(
    ("period_ns", "length_ns"),
    [(500_000, 5 * MS), (2 * MS, 10 * MS), (6 * MS, 20 * MS), (15 * MS, 30 * MS)],
)
def test_a_slot_is_five_periods_within_bounds_and_never_less_than_two(
    period_ns: int, length_ns: int
) -> None:
    slots = plan_slots(timed(period_ns), SETTINGS)
    expected = [(period_ns, length_ns)]
    assert lengths(slots, j.SLOT_TOGETHER) == lengths(slots, j.SLOT_SOLO) == expected


def test_a_slot_alone_follows_its_own_task() -> None:
    slots = plan_slots(timed(2 * MS, 4 * MS), SETTINGS)
    assert lengths(slots, j.SLOT_TOGETHER) == [(4 * MS, 20 * MS)]
    assert lengths(slots, j.SLOT_SOLO) == [(2 * MS, 10 * MS), (4 * MS, 20 * MS)]


def test_what_is_asked_of_a_slot_wins() -> None:
    asked = RunSettings(seconds=0.2, slot_periods=8, warmup_jobs=3)
    assert lengths(plan_slots(timed(MS), asked), j.SLOT_SOLO) == [(3 * MS, 8 * MS)]


def test_slots_are_long_where_a_backlog_grows() -> None:
    overloaded = timed(MS, wcet_ns=2 * MS)
    late = plan_slots(overloaded, attrs.evolve(SETTINGS, overrun="late"))
    assert lengths(late, j.SLOT_TOGETHER) == [(MS, 50 * MS)]
    assert lengths(plan_slots(overloaded, SETTINGS), j.SLOT_TOGETHER) == [(MS, 5 * MS)]


@pytest.mark.parametrize("tasks", [1, 3, SOLO_SAMPLE, 3 * SOLO_SAMPLE, 5 * SOLO_SAMPLE])
def test_a_round_is_one_slot_together_and_a_sample_alone(tasks: int) -> None:
    slots = plan_slots(timed(*[MS] * tasks), SETTINGS)
    rounds = np.unique(slots["round"])
    assert rounds.tolist() == list(range(len(rounds))) and len(rounds) >= 4
    for number in rounds:
        kinds = slots["kind"][slots["round"] == number]
        assert (kinds == j.SLOT_TOGETHER).sum() == 1
        assert (kinds == j.SLOT_SOLO).sum() == min(tasks, SOLO_SAMPLE)
    alone = slots["task"][slots["kind"] == j.SLOT_SOLO]
    assert set(alone) == set(range(tasks)), "each is alone at least once"
    counts = np.bincount(alone)
    assert counts.max() - counts.min() <= 1


def test_rounds_fill_the_time_that_is_asked() -> None:
    slots = plan_slots(timed(MS, MS), RunSettings(seconds=1.0))
    round_ns = 3 * 6 * MS
    assert 1_000 * MS - round_ns < slots["end_ns"][-1] <= 1_000 * MS
    places = [int(np.flatnonzero(slots["kind"][slots["round"] == n] == 0)[0]) for n in range(50)]
    assert set(places) == {0, 1, 2}, "in random order"


def test_without_slots_alone_the_run_is_one_stretch() -> None:
    slots = plan_slots(timed(MS), RunSettings(seconds=0.2, solo=False))
    assert (slots["kind"] == j.SLOT_TOGETHER).all()
    assert lengths(slots[1:], j.SLOT_TOGETHER) == [(0, 5 * MS)]


@both
@pytest.mark.parametrize("ppm", [1_000_000, 250_000, 1_500_000])
def test_executors_follow_the_timetable(run: Run, ppm: int) -> None:
    """``period_ppm`` shrinks T, D and offsets; programs and C stay."""
    tasks = drawn(2, 4)
    found = run(tasks, SETTINGS, ppm)
    assert find_inconsistency(found) == ""
    assert (found.slots == plan_slots(tasks, SETTINGS, period_ppm=ppm)).all()
    assert int(found.header["period_ppm"]) == ppm
    for row, task in zip(found.tasks, tasks.tasks, strict=True):
        assert row["wcet_ns"] == task.wcet_ns
        assert row["period_ns"] == task.period_ns * ppm // 1_000_000
        assert row["deadline_ns"] == task.deadline_ns * ppm // 1_000_000
        assert row["offset_ns"] == task.offset_ns * ppm // 1_000_000


@both
def test_releases_lie_on_one_grid_and_only_who_is_on_runs(run: Run) -> None:
    found = run(drawn(2, 4), SETTINGS, 1_000_000)
    for task, row in enumerate(found.tasks):
        jobs = found.jobs[found.jobs["task"] == task]
        phases = (jobs["release_ns"] - int(row["offset_ns"])) % int(row["period_ns"])
        assert (phases == 0).all()
        on = (found.slots["kind"] == j.SLOT_TOGETHER) | (found.slots["task"] == task)
        assert set(jobs["slot"]) == set(found.slots["slot"][on])
        slots = found.slots[jobs["slot"]]
        inside = (jobs["release_ns"] >= slots["begin_ns"]) & (jobs["release_ns"] < slots["end_ns"])
        assert inside.all()
        lengths_ns = (found.slots["end_ns"] - found.slots["begin_ns"])[on]
        least = int((lengths_ns // int(row["period_ns"])).sum())
        assert least <= len(jobs) <= least + on.sum(), "every release of the slots is there"


@both
def test_shorter_periods_miss_more(run: Run) -> None:
    def missed(ppm: int) -> float:
        found = run(drawn(1, 4), SETTINGS, ppm)
        jobs = found.jobs[(found.jobs["flags"] & (j.JOB_COUNTED | j.JOB_SOLO)) == j.JOB_COUNTED]
        deadlines = found.tasks["deadline_ns"].astype(np.int64)[jobs["task"]]
        late = jobs["finish_ns"] > jobs["release_ns"] + deadlines
        return float((late | (jobs["flags"] & j.JOB_FINISHED == 0)).mean())

    assert missed(1_000_000) == 0.0
    assert missed(200_000) > 0.1


def ran_by_policy(cores: int, tasks: int, factor: int = 10, **options: object) -> JobTable:
    settings = RunSettings(seconds=0.2, **options)  # type: ignore[arg-type]
    return SimExecutor().jobs(drawn(cores, tasks, factor), settings, 1_000_000)


def bound(core: int, priority: int, wcet: int, period: int, offset: int = 0) -> TimedTask:
    return TimedTask(
        home=core, priority=priority, wcet=wcet, period=period, deadline=period, offset=offset
    )


def test_two_tasks_of_one_core_drawn_by_hand() -> None:
    # low:  0 [==  ==] 6    high at 2: [==]
    # time  0  2  4  6
    tasks = [bound(0, 1, 4, 20), bound(0, 2, 2, 20, offset=2), bound(1, 1, 9, 20)]
    found = simulate_jobs(tasks, cores=2, horizon_ns=20, skip_overruns=True)
    assert found[:, [0, 2, 3, 4]].tolist() == [[0, 0, 0, 6], [1, 2, 2, 4], [2, 0, 0, 9]]


def test_a_release_that_finds_its_predecessor_running_is_skipped_or_waits() -> None:
    # C = 5, T = 4: the jobs of 0, 8, 16 run, those of 4 and 12 find their predecessor at work.
    tasks = [bound(0, 1, 5, 4)]
    skipped = simulate_jobs(tasks, cores=1, horizon_ns=24, skip_overruns=True)
    assert [int(row[4]) for row in skipped if row[2] < 20] == [5, -1, 13, -1, 21]
    late = simulate_jobs(tasks, cores=1, horizon_ns=24, skip_overruns=False)
    assert [int(row[4]) for row in late if row[2] < 16] == [5, 10, 15, 20]


@pytest.mark.parametrize("overrun", ["skip", "late"])
@pytest.mark.parametrize(("cores", "tasks", "factor"), [(1, 1, 10), (2, 6, 10), (1, 8, 4)])
def test_tables_are_consistent(cores: int, tasks: int, factor: int, overrun: str) -> None:
    found = ran_by_policy(cores, tasks, factor, overrun=overrun, split=True)
    assert find_inconsistency(found) == ""
    assert len(found.jobs) > 20


def test_alone_a_job_takes_its_cost() -> None:
    found = ran_by_policy(2, 6)
    solo = found.jobs[found.jobs["flags"] & j.JOB_SOLO > 0]
    spans = solo["finish_ns"] - solo["start_ns"]
    assert len(solo) > 10
    costs = np.array([round(task.cost_ps / 1000) for task in drawn(2, 6).tasks])
    assert (spans == costs[solo["task"]]).all()


#: Costs, and no prices: nobody slows anybody.
NOTHING = Priced(calibration=CALIBRATION, rates={})


@pytest.mark.parametrize(("cores", "tasks", "factor"), [(2, 6, 10), (1, 8, 4)])
def test_a_simulated_run_is_predicted_exactly(cores: int, tasks: int, factor: int) -> None:
    found, whole = ran_by_policy(cores, tasks, factor), drawn(cores, tasks, factor)
    columns = job_columns(found)
    predicted = predicted_jobs(found, columns, whole, NOTHING)[1] - columns.release_ns
    compared = ~columns.solo & columns.counted & columns.finished
    assert compared.sum() > 20
    # the simulator takes C in whole ns, up to one more or less for each job before
    assert np.abs(predicted[compared] - columns.response_ns[compared]).max() < 10


def test_contention_is_simulated_and_predicted_by_one_computation() -> None:
    executor, whole = SimExecutor(contention=3.0), drawn(2, 2)
    found = executor.jobs(whole, RunSettings(seconds=0.2), 1_000_000)
    rates = executor.rates(whole)
    priced = Priced(
        calibration=executor.calibrate(example_catalog(), Costing(pool="full", seconds=1)),
        rates={"": rates},
    )
    figures = prediction_figures(SetFigures(), found, job_columns(found), whole, priced)
    columns = job_columns(found)
    finish = predicted_jobs(found, columns, whole, priced)[1]
    done = ~columns.solo & columns.finished
    # the pace is that of spans in whole ns
    assert np.abs(finish[done] - columns.finish_ns[done]).max() <= 3
    assert figures.slowdown_predicted > 1.01, "they meet, and slow each other"
    alone = prediction_figures(SetFigures(), found, columns, whole, NOTHING)
    assert alone.slowdown_predicted == pytest.approx(1.0, abs=1e-6)


def test_a_prediction_leaves_out_what_the_machine_adds() -> None:
    found = ran_by_policy(2, 2)
    found.jobs["start_ns"] += 5_000
    found.jobs["finish_ns"] += 25_000
    columns = job_columns(found)
    finish = predicted_jobs(found, columns, drawn(2, 2), NOTHING)[1]
    done = ~columns.solo & columns.counted & columns.finished
    added = np.median((columns.finish_ns - finish)[done])
    assert added == pytest.approx(25_000, abs=1_000)


def test_what_never_finishes_in_the_replay_is_a_predicted_miss() -> None:
    found = ran_by_policy(2, 2)
    whole = prediction_figures(SetFigures(), found, job_columns(found), drawn(2, 2), NOTHING)
    assert whole.deadline_misses_predicted == 0 == whole.unfinished_predicted
    late = attrs.evolve(found, tasks=found.tasks.copy())
    late.tasks["deadline_ns"] = 1
    figures = prediction_figures(SetFigures(), late, job_columns(late), drawn(2, 2), NOTHING)
    columns = job_columns(late)
    assert figures.deadline_misses_predicted == (columns.counted & ~columns.solo).sum()


def test_sched_other_is_not_predicted() -> None:
    other = ran_by_policy(1, 1, policy="other")
    nothing = SetFigures()
    assert prediction_figures(nothing, other, job_columns(other), drawn(1, 1), NOTHING) == nothing


def test_the_session_runs_by_key() -> None:
    key = RunKey(Point(2, 500, 1000), 0)
    settings = RunSettings(seconds=0.1)
    executor = SimExecutor(cores=2, policy="g-edf")
    assert executor.describe().kind == "simulated"
    with executor.open([RunRequest(key, drawn(2, 4))], settings) as session:
        outcome = session.run(key)
    assert outcome.table is not None and len(outcome.table.jobs) > 0


@pytest.mark.parametrize("text", ["sim:cores=0", "sim:policy=edff", "sim:speed=2"])
def test_wrong_words_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_simulated(text)
