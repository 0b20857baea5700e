"""Truth: schedules drawn by hand, the record format, and that a simulation predicts itself."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.campaigns import example_catalog

from deadbeat.executors.base import Costing, RunRequest, RunSettings
from deadbeat.executors.metrics import job_columns
from deadbeat.executors.scheduled import SimExecutor, parse_simulated
from deadbeat.kinds.contention.predict import (
    Priced,
    predict_tasks,
    predicted_jobs,
    prediction_figures,
    why_not,
)
from deadbeat.model import jobs as j
from deadbeat.model.errors import UsageError
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.model.systems import TimedTask
from deadbeat.model.tasks import TaskSet
from deadbeat.sched.simulator import simulate_jobs
from deadbeat.store.jobfile import find_inconsistency
from deadbeat.synthesis import SynthesisParameters, synthesise

CALIBRATED = Costing(pool="full", seconds=1)
CALIBRATION = SimExecutor().calibrate(example_catalog(), CALIBRATED)


def task_set(cores: int, tasks: int, factor: int = 10) -> TaskSet:
    return synthesise(
        SynthesisParameters(
            cores=cores,
            tasks=tasks,
            sync_share=Fraction(1, 2),
            contended_ratio=Fraction(1),
            deadline_factor=Fraction(factor),
        ),
        example_catalog(),
        CALIBRATION,
        seed=5,
    )


def table(cores: int, tasks: int, factor: int = 10, **options: object) -> JobTable:
    settings = RunSettings(seconds=0.2, **options)  # type: ignore[arg-type]
    return SimExecutor().jobs(task_set(cores, tasks, factor), settings, 1_000_000)


def bound(core: int, priority: int, wcet: int, period: int, offset: int = 0) -> TimedTask:
    return TimedTask(
        home=core, priority=priority, wcet=wcet, period=period, deadline=period, offset=offset
    )


def test_two_tasks_of_one_core_drawn_by_hand() -> None:
    # low:  0 [==  ==] 6    high at 2: [==]
    # time  0  2  4  6
    found = simulate_jobs(
        [bound(0, 1, 4, 20), bound(0, 2, 2, 20, offset=2), bound(1, 1, 9, 20)],
        cores=2,
        horizon_ns=20,
        skip_overruns=True,
    )
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
    found = table(cores, tasks, factor, overrun=overrun, split=True)
    assert find_inconsistency(found) == ""
    assert len(found.jobs) > 20


def test_alone_a_job_takes_its_cost() -> None:
    found = table(2, 6)
    solo = found.jobs[found.jobs["flags"] & j.JOB_SOLO > 0]
    spans = solo["finish_ns"] - solo["start_ns"]
    assert len(solo) > 10
    costs = np.array([round(task.cost_ps / 1000) for task in task_set(2, 6).tasks])
    assert (spans == costs[solo["task"]]).all()


#: Costs, and no prices: nobody slows anybody.
NOTHING = Priced(calibration=CALIBRATION, rates={})


@pytest.mark.parametrize(("cores", "tasks", "factor"), [(2, 6, 10), (1, 8, 4)])
def test_a_simulated_run_is_predicted_exactly(cores: int, tasks: int, factor: int) -> None:
    found, whole = table(cores, tasks, factor), task_set(cores, tasks, factor)
    columns = job_columns(found)
    predicted = predicted_jobs(found, columns, whole, NOTHING)[1] - columns.release_ns
    compared = ~columns.solo & columns.counted & columns.finished
    assert compared.sum() > 20
    # the simulator takes C in whole ns, up to one more or less for each job before
    assert np.abs(predicted[compared] - columns.response_ns[compared]).max() < 10
    for task in predict_tasks(found, columns, whole, NOTHING):
        assert task.predicted_p50_ns == pytest.approx(task.measured_p50_ns, abs=10)
        assert task.predicted_misses == task.measured_misses


def test_contention_is_simulated_and_predicted_by_one_computation() -> None:
    executor, whole = SimExecutor(contention=3.0), task_set(2, 2)
    found = executor.jobs(whole, RunSettings(seconds=0.2), 1_000_000)
    rates = executor.rates(whole)
    priced = Priced(
        calibration=executor.calibrate(example_catalog(), CALIBRATED), rates={"": rates}
    )
    figures = prediction_figures(found, job_columns(found), whole, priced)
    columns = job_columns(found)
    finish = predicted_jobs(found, columns, whole, priced)[1]
    done = ~columns.solo & columns.finished
    assert np.abs(finish[done] - columns.finish_ns[done]).max() <= 1
    assert figures["slowdown_predicted"] > 1.01, "they meet, and slow each other"
    alone = prediction_figures(found, columns, whole, NOTHING)
    assert alone["slowdown_predicted"] == pytest.approx(1.0, abs=1e-6)


def test_a_prediction_leaves_out_what_the_machine_adds() -> None:
    found = table(2, 2)
    found.jobs["start_ns"] += 5_000
    found.jobs["finish_ns"] += 25_000
    task = predict_tasks(found, job_columns(found), task_set(2, 2), NOTHING)[0]
    assert task.measured_p50_ns is not None and task.predicted_p50_ns is not None
    assert task.measured_p50_ns - task.predicted_p50_ns == pytest.approx(25_000, abs=1_000)


def test_what_never_finishes_in_the_replay_is_a_predicted_miss() -> None:
    found = table(2, 2)
    whole = prediction_figures(found, job_columns(found), task_set(2, 2), NOTHING)
    assert whole["deadline_misses_predicted"] == 0 == whole["unfinished_predicted"]
    late = attrs.evolve(found, tasks=found.tasks.copy())
    late.tasks["deadline_ns"] = 1
    figures = prediction_figures(late, job_columns(late), task_set(2, 2), NOTHING)
    columns = job_columns(late)
    assert figures["deadline_misses_predicted"] == (columns.counted & ~columns.solo).sum()


def test_sched_other_is_not_predicted() -> None:
    assert why_not(table(1, 1)) == ""
    assert "SCHED_OTHER" in why_not(table(1, 1, policy="other"))


def test_the_session_runs_by_key() -> None:
    key = RunKey(Point(2, 500, 1000), 0)
    settings = RunSettings(seconds=0.1)
    executor = SimExecutor(cores=2, policy="g-edf")
    assert executor.describe().kind == "simulated"
    with executor.open([RunRequest(key, task_set(2, 4))], settings) as session:
        outcome = session.run(key)
    assert outcome.table is not None and len(outcome.table.jobs) > 0


@pytest.mark.parametrize("text", ["sim:cores=0", "sim:policy=edff", "sim:speed=2"])
def test_wrong_words_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_simulated(text)
