"""Truth: measurement.md: rounds of slots on one grid, by the rule of executors/tables.py."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.campaigns import example_catalog
from helpers.runs import PlannedTask, task_set

from deadbeat.executors.base import Costing, RunSettings
from deadbeat.executors.scheduled import SimExecutor
from deadbeat.executors.simulated import FakeExecutor
from deadbeat.executors.tables import SOLO_SAMPLE, plan_slots
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.tasks import TaskSet
from deadbeat.store.jobfile import find_inconsistency
from deadbeat.synthesis import SynthesisParameters, synthesise

MS = 1_000_000
SETTINGS = RunSettings(seconds=0.2)
CALIBRATION = FakeExecutor().calibrate(example_catalog(), Costing(pool="full", seconds=1))
Run = Callable[[TaskSet, RunSettings, int], JobTable]


def fake(tasks: TaskSet, settings: RunSettings, ppm: int = 1_000_000) -> JobTable:
    return FakeExecutor(contention=0.6).jobs(tasks, settings, ppm)


def sim(tasks: TaskSet, settings: RunSettings, ppm: int = 1_000_000) -> JobTable:
    return SimExecutor().jobs(tasks, settings, ppm)


both = pytest.mark.parametrize("run", [fake, sim])


def drawn(cores: int, tasks: int) -> TaskSet:
    asked = SynthesisParameters(
        cores=cores, tasks=tasks, sync_share=Fraction(1, 2), contended_ratio=Fraction(1)
    )
    return synthesise(asked, example_catalog(), CALIBRATION, seed=5)


def timed(*periods_ns: int, wcet_ns: int = 100_000) -> TaskSet:
    """A task a core with T = D of each."""
    made = task_set([PlannedTask(core=core) for core in range(len(periods_ns))])
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
