"""Truth: the formula in executors/fake.py, the record format, and the seam in executors/base.py."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.campaigns import example_catalog

from deadbeat.executors.base import Costing, RunOutcome, RunRequest, RunSettings
from deadbeat.executors.scheduled import parse_simulated
from deadbeat.executors.simulated import FakeExecutor, Faults
from deadbeat.model import jobs as j
from deadbeat.model.errors import RunError, UsageError
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.model.tasks import TaskSet
from deadbeat.store.jobfile import find_inconsistency, job_file_buffers, read_job_table
from deadbeat.synthesis import SynthesisParameters, synthesise

SETTINGS = RunSettings(seconds=0.2)
CALIBRATION = FakeExecutor().calibrate(example_catalog(), Costing(pool="full", seconds=1))


def task_set(
    cores: int, rho: int = 1, alpha: int = 1, *, tasks: int = 0, factor: int = 10, critical: int = 0
) -> TaskSet:
    return synthesise(
        SynthesisParameters(
            cores=cores,
            tasks=tasks or cores,
            sync_share=Fraction(rho),
            contended_ratio=Fraction(alpha),
            deadline_factor=Fraction(factor),
            critical_cores=critical,
        ),
        example_catalog(),
        CALIBRATION,
        seed=5,
    )


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
    settings = RunSettings(
        seconds=0.2,
        overrun=overrun,  # type: ignore[arg-type]
        policy=policy,  # type: ignore[arg-type]
        split=True,
    )
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
    import attrs  # noqa: PLC0415

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
