"""Truth: the worked examples of docs/reference/campaign.md, reckoned by hand."""

import numpy as np
import pytest
from helpers.runs import Job, PlannedTask, RunTask, Slot, calibration, job_table, ran, skip
from helpers.runs import task_set as planned

from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.contention.figures import count_episodes, run_figures
from deadbeat.tasksets.contention.run_parts import contended_plan, overlap_share
from deadbeat.tasksets.contention.summarise import EDGES, bin_counts
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.tasks import Resource

A = RunTask(core=0, wcet_ns=100)
B = RunTask(core=1, wcet_ns=200)
SLOTS = (Slot(), Slot(solo=0), Slot(solo=1))


def example() -> JobTable:
    """The example of the page: A is late once and then skipped, B is a little slower than alone."""
    together_a = [ran(0, 10, 130), ran(1000, 1020, 2100), skip(2000), ran(3000, 3010, 3150)]
    solo_a = [ran(10_000 + i, 10_000 + i, 10_000 + i + span, slot=1)
              for i, span in ((0, 100), (1000, 100), (2000, 110))]  # fmt: skip
    together_b = [ran(0, 5, 225), ran(1000, 1005, 1245)]
    solo_b = [ran(20_000, 20_000, 20_200, slot=2)]
    return job_table([A, B], [together_a + solo_a, together_b + solo_b], slots=SLOTS)


def test_the_worked_example_of_a_set() -> None:
    table = example()
    figures = run_figures(table, job_columns(table))
    row = figures.of_set.row("profile")
    assert row["jobs"] == 5
    assert row["released"] == 6
    assert figures.delay_ratio.tolist() == pytest.approx([1.2, 10.8, 1.4, 1.1, 1.2])
    assert row["delay_ratio_mean"] == pytest.approx(15.7 / 5)
    assert row["delay_ratio_p50"] == pytest.approx(1.2)
    assert row["delay_ratio_p95"] == pytest.approx(1.4 + 0.8 * (10.8 - 1.4))
    assert row["delay_ratio_max"] == pytest.approx(10.8)
    assert row["slowdown_p50"] == pytest.approx(1.2)
    slowdown_a = ((120 + 1080 + 140) / 3) / ((100 + 100 + 110) / 3)
    assert row["slowdown_mean"] == pytest.approx((slowdown_a + 230 / 200) / 2)
    assert row["response_ratio_mean"] == pytest.approx((1.3 + 11.0 + 1.5 + 1.125 + 1.225) / 5)
    assert row["deadline_misses"] == 2
    assert row["deadline_miss_ratio"] == pytest.approx(2 / 6)
    assert row["miss_episodes"] == 1
    assert row["overruns"] == 1
    assert row["skipped"] == 1
    assert row["solo_jobs"] == 4
    assert row["tasks_without_solo"] == 0
    assert row["solo_cost_ratio_p50"] == pytest.approx(1.0)
    assert row["wake_up_max_ns"] == 20


def test_jobs_that_are_not_counted_do_not_count() -> None:
    warm_up = [ran(0, 0, 900, counted=False), skip(1000, counted=False), ran(2000, 2000, 2100)]
    table = job_table([A], [warm_up])
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert (row["jobs"], row["released"], row["deadline_misses"]) == (1, 1, 0)
    assert row["delay_ratio_max"] == pytest.approx(1.0)


def test_a_job_exactly_at_its_deadline_is_in_time() -> None:
    table = job_table([A], [[ran(0, 10, 1000), ran(1000, 1010, 2001)]])
    assert job_columns(table).missed.tolist() == [False, True]


def test_what_did_not_finish_or_start_is_a_miss_and_has_no_ratio() -> None:
    jobs = [Job(release=0, start=5, finish=None), Job(release=1000, start=None, finish=None)]
    table = job_table([A], [jobs])
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert (row["jobs"], row["released"], row["deadline_misses"]) == (0, 2, 2)
    assert (row["unfinished"], row["miss_episodes"]) == (1, 1)
    assert row["delay_ratio_mean"] is None
    assert row["slowdown_mean"] is None


def test_a_late_backlog_overruns_at_every_release_it_delays() -> None:
    # Policy late: the first job takes 2.5 periods, the next two start late, the last in time.
    jobs = [ran(0, 0, 2500), ran(1000, 2500, 2600), ran(2000, 2600, 2700), ran(3000, 3000, 3100)]
    table = job_table([A], [jobs])
    columns = job_columns(table)
    assert columns.overrun.tolist() == [False, True, True, False]
    assert columns.missed.tolist() == [True, True, False, False]


def test_a_stall_of_many_periods_is_one_episode_per_task_and_window() -> None:
    missed = np.array([1, 1, 0, 1, 1, 1, 1], dtype=bool)
    task = np.array([0, 0, 0, 0, 1, 1, 1])
    window = np.array([0, 0, 0, 0, 0, 0, 1])
    assert count_episodes(missed, task, window) == 4
    assert count_episodes(missed[:0], task[:0], window[:0]) == 0


def test_a_task_without_solo_job_is_left_out_of_the_slowdown_and_counted() -> None:
    table = job_table(
        [A, B], [[ran(0, 0, 150), ran(5000, 5000, 5100, slot=1)], [ran(0, 0, 999)]], slots=SLOTS[:2]
    )
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["slowdown_mean"] == pytest.approx(1.5)
    assert row["slowdown_p50"] == pytest.approx(1.5)
    assert row["tasks_without_solo"] == 1


# -- overlap

LOCK, QUEUE = Resource("lock", None), Resource("queue", None)


def overlap(table: JobTable, *tasks: PlannedTask, resources: tuple[Resource, ...]) -> float | None:
    plan = contended_plan(planned(tasks, resources), calibration(cores=4))
    return overlap_share(job_columns(table), table.tasks, plan)


def test_the_worked_example_of_overlap() -> None:
    # A is inside the lock in the second half of [0, 200), B during all of [150, 250).
    table = job_table([A, B], [[ran(0, 0, 200)], [ran(100, 150, 250)]])
    a = PlannedTask(core=0, uses=[("work", 50, None), ("lock", 50, 0)])
    b = PlannedTask(core=1, uses=[("lock", 100, 0)])
    assert overlap(table, a, b, resources=(LOCK,)) == pytest.approx(100 / 200)


def test_two_classes_do_not_overlap_each_other() -> None:
    table = job_table([A, B], [[ran(0, 0, 100)], [ran(0, 0, 100)]])
    a = PlannedTask(core=0, uses=[("lock", 1, 0)])
    b = PlannedTask(core=1, uses=[("queue", 1, 1)])
    assert overlap(table, a, b, resources=(LOCK, QUEUE)) == 0.0


def test_tasks_of_one_core_do_not_overlap() -> None:
    same_core = RunTask(core=0)
    table = job_table([A, same_core], [[ran(0, 0, 300)], [ran(0, 100, 200)]])
    tasks = [PlannedTask(core=0, uses=[("lock", 1, 0)])] * 2
    assert overlap(table, *tasks, resources=(LOCK,)) == 0.0


def test_parallel_use_is_no_contended_time() -> None:
    table = job_table([A, B], [[ran(0, 0, 100)], [ran(0, 0, 100)]])
    tasks = [PlannedTask(core=core, uses=[("lock", 1, core)]) for core in (0, 1)]
    assert overlap(table, *tasks, resources=(Resource("lock", 0), Resource("lock", 1))) is None


def test_solo_windows_are_not_part_of_the_overlap() -> None:
    slots = (Slot(), Slot(solo=0))
    jobs = [[ran(0, 0, 100), ran(500, 500, 600, slot=1)], [ran(0, 0, 100)]]
    tasks = [PlannedTask(core=core, uses=[("lock", 1, 0)]) for core in (0, 1)]
    table = job_table([A, B], jobs, slots=slots)
    assert overlap(table, *tasks, resources=(LOCK,)) == 1.0


def test_a_use_costs_its_first_and_its_repeats() -> None:
    costs = calibration()
    plan = contended_plan(
        planned(
            [PlannedTask(core=0, uses=[("lock", 1, 0), ("lock", 2, 0), ("work", 3, None),
                                       ("lock", 2, 0)])], [LOCK]), costs)  # fmt: skip
    (uses,) = plan[0]
    assert uses.low.tolist() == pytest.approx([0, 6 / 8])
    assert uses.high.tolist() == pytest.approx([3 / 8, 1])


def test_slices_of_a_long_run_say_what_the_whole_says() -> None:
    # Inside the lock at once in every second period only: half the time of either.
    a = [ran(1000 * i, 1000 * i, 1000 * i + 100) for i in range(4000)]
    b = [ran(1000 * i, 1000 * i + 500 * (i % 2), 1000 * i + 500 * (i % 2) + 100)
         for i in range(4000)]  # fmt: skip
    table = job_table([A, B], [a, b])
    tasks = [PlannedTask(core=core, uses=[("lock", 1, 0)]) for core in (0, 1)]
    plan = contended_plan(planned(tasks, [LOCK]), calibration())
    columns = job_columns(table)
    assert overlap_share(columns, table.tasks, plan, jobs_max=10**9) == 0.5
    assert overlap_share(columns, table.tasks, plan, jobs_max=500) == pytest.approx(0.5, abs=0.05)


# -- distributions


def test_every_value_falls_into_the_bin_that_contains_it() -> None:
    values = np.array([1.0, 1.04, 1.05, 2.0, 63.9])
    counts = bin_counts(values)
    by_definition, _ = np.histogram(values, EDGES)
    assert counts.tolist() == by_definition.tolist()
    assert EDGES[64] == 1.0


def test_the_end_bins_take_what_lies_beyond() -> None:
    counts = bin_counts(np.array([0.0, 1e-9, 1e9]))
    assert (counts[0], counts[-1], counts.sum()) == (2, 1, 3)
