"""Truth: tables written out by hand, and slow loops that are obviously right."""

import math
from typing import Any

import attrs
import numpy as np
import pytest
from helpers.runs import Job, RunTask, Slot, job_table, ran

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.contention.figures import RoundSums, Witness, run_figures, without_overlapped
from deadbeat.tasksets.executors.metrics import job_columns

A, B = RunTask(core=0), RunTask(core=1)


def counted(table: JobTable) -> list[bool]:
    return [bool(flags & j.JOB_COUNTED) for flags in table.jobs["flags"]]


# -- stragglers

#: Slots of 1000 ns after a warm-up of 500.
TWO_SLOTS = (
    Slot(start=500, end=1500, begin=0),
    Slot(start=2000, end=3000, begin=1500, solo=1),
    Slot(start=3500, end=4500, begin=3000),
)


def straggling(finish: int | None) -> tuple[JobTable, int]:
    first = Job(release=1000, start=1000, finish=finish)
    a = [first, ran(3500, 3600, 3700, slot=2)]
    b = [
        ran(2000, 2000, 2100, slot=1),
        ran(2500, 2500, 2600, slot=1),
        ran(3500, 3500, 3600, slot=2),
    ]
    return without_overlapped(job_table([A, B], [a, b], slots=TWO_SLOTS))


@pytest.mark.parametrize(
    ("finish", "left"),
    # Within the warm-up of the next slot; during its first job; its second; into the third slot.
    [(2000, [True] * 5), (2001, [True, True, False, True, True]),
     (2501, [True, True, False, False, True]), (3501, [True, False, False, False, False])],
)  # fmt: skip
def test_what_a_straggler_overlaps_does_not_count(finish: int, left: list[bool]) -> None:
    table, number = straggling(finish)
    assert counted(table) == left
    assert number == left.count(False)


def test_a_job_that_never_finished_lasts_until_the_end() -> None:
    table, number = straggling(None)
    assert counted(table) == [True, False, False, False, False]
    assert number == 4


def test_a_release_that_was_skipped_overlaps_nothing() -> None:
    skipped = Job(release=1000, start=None, finish=None, skipped=True)
    table = job_table([A, B], [[skipped], [ran(2000, 2000, 2100, slot=1)]], slots=TWO_SLOTS[:2])
    assert without_overlapped(table) == (table, 0)


# -- the slowdown and its error


def rounds_of(spans: list[list[tuple[list[int], list[int]]]]) -> JobTable:
    """A table of ``spans``: per task and round, the spans together and alone (none: no slot)."""
    slots, place = [], {}
    for number in range(len(spans[0])):
        place[-1, number] = len(slots)
        slots.append(Slot(round=number))
        for task, of_task in enumerate(spans):
            if of_task[number][1]:
                place[task, number] = len(slots)
                slots.append(Slot(round=number, solo=task))
    jobs: list[list[Job]] = []
    for task, of_task in enumerate(spans):
        at, own = 0, []
        for number, sides in enumerate(of_task):
            for side, where in zip(sides, (-1, task), strict=True):
                for span in side:
                    own.append(ran(at, at, at + span, slot=place[where, number]))
                    at += 1000
        jobs.append(own)
    # Slots in which nothing straggles: this is about sums.
    return job_table([RunTask(core=task) for task in range(len(spans))], jobs, slots=slots)


def slow_slowdown(spans: list[list[tuple[list[int], list[int]]]], without: int = -1) -> float:
    ratios = []
    for of_task in spans:
        kept = [sides for number, sides in enumerate(of_task) if number != without]
        together = [span for sides in kept for span in sides[0]]
        alone = [span for sides in kept for span in sides[1]]
        if together and alone:
            ratios.append((sum(together) / len(together)) / (sum(alone) / len(alone)))
    return sum(ratios) / len(ratios)


def slow_error(spans: list[list[tuple[list[int], list[int]]]]) -> float:
    rounds = len(spans[0])
    replicates = [slow_slowdown(spans, without=number) for number in range(rounds)]
    mean = sum(replicates) / rounds
    return math.sqrt((rounds - 1) / rounds * sum((one - mean) ** 2 for one in replicates))


def test_the_worked_example_of_rounds() -> None:
    # The example of the page: 2.0 in all, 1.5 and 3.0 without the one round and the other.
    spans = [[([100, 200], [100]), ([300], [100])]]
    found = RoundSums.of(job_columns(rounds_of(spans)), rounds_of(spans)).slowdown()
    assert found.value == pytest.approx(2.0)
    # Replicates 3.0 and 1.5: sqrt(1/2 (0.75² + 0.75²)) = 0.75.
    assert (found.error, found.rounds) == (pytest.approx(0.75), 2)


def random_spans(seed: int, tasks: int, rounds: int) -> list[list[tuple[list[int], list[int]]]]:
    random = np.random.default_rng(seed)
    return [
        [
            (
                random.integers(90, 300, random.integers(1, 5)).tolist(),
                random.integers(90, 110, random.integers(0, 4)).tolist(),
            )
            for _ in range(rounds)
        ]
        for _ in range(tasks)
    ]


@pytest.mark.parametrize(("tasks", "rounds"), [(1, 2), (2, 7), (5, 40)])
def test_the_error_is_that_of_deleting_each_round_in_turn(tasks: int, rounds: int) -> None:
    spans = random_spans(tasks, tasks, rounds)
    spans[0][0] = ([100], [100])
    table = rounds_of(spans)
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["slowdown_mean"] == pytest.approx(slow_slowdown(spans))
    assert row["slowdown_error"] == pytest.approx(slow_error(spans))
    assert row["rounds"] == rounds


def test_a_task_alone_in_one_round_only_goes_with_it() -> None:
    # As with many tasks: each is alone in few of the rounds.
    spans: Any = [[([200], [100]), ([200], [])], [([100], []), ([100], [100])]]
    table = rounds_of(spans)
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["slowdown_mean"] == pytest.approx(1.5)
    # Without the first round the second task is left (1.0), without the second the first (2.0).
    assert row["slowdown_error"] == pytest.approx(0.5)
    assert row["slowdown_error"] == pytest.approx(slow_error(spans))


def test_one_round_has_no_error() -> None:
    table = rounds_of([[([150, 250], [100])]])
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["slowdown_mean"] == pytest.approx(2.0)
    assert row["slowdown_error"] is None
    assert row["delay_ratio_error"] is None


def test_the_error_of_the_delay_ratio_is_that_of_its_jobs_by_round() -> None:
    table = rounds_of([[([100, 200], [100]), ([300], [100])]])
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["delay_ratio_mean"] == pytest.approx(2.0)
    assert row["delay_ratio_error"] == pytest.approx(0.75)


# -- the witness


def witnessed(values: list[tuple[int, int, int]]) -> JobTable:
    """Two tasks, three rounds; a witness is (slot, task, ps)."""
    spans: Any = [[([s * 100], [100]) for s in (2, 3, 4)], [([100], [100])] * 3]
    table = rounds_of(spans)
    probes = np.array(
        [(slot, j.PROBE_WITNESS, task, task, 0, ps) for slot, task, ps in values], j.PROBE_DTYPE
    )
    return attrs.evolve(table, probes=probes)


#: Slots 0, 3 and 6 are together, 1, 4 and 7 of task 0 alone, 2, 5 and 8 of task 1 alone. All of the
#: middle round is 1.5 times slower; task 0 computes 1.2 times slower together.
WITNESSES = [
    (3 * number + slot, task, round(1000 * pace * (1.2 if slot == 0 and task == 0 else 1)))
    for number, pace in enumerate((1.0, 1.5, 1.1))
    for slot, task in ((0, 0), (0, 1), (1, 0), (2, 1))
]


def test_the_compute_ratio_compares_a_task_with_itself_alone() -> None:
    assert Witness.of(witnessed(WITNESSES)).compute_ratio == pytest.approx((1.2 + 1.0) / 2)
    chosen = np.array([True, False])
    assert Witness.of(witnessed(WITNESSES), chosen).compute_ratio == pytest.approx(1.2)


def test_the_calm_half_is_told_by_the_witness() -> None:
    table = witnessed(WITNESSES)
    calm = Witness.of(table).calm_rounds()
    assert calm.tolist() == [True, False, False]
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    assert row["slowdown_calm"] == pytest.approx((2 + 1) / 2)
    assert row["slowdown_rough"] == pytest.approx((3.5 + 1) / 2)
    assert row["witness_ps"] == pytest.approx(1100)


def test_without_a_witness_nothing_is_said_of_computation() -> None:
    table = witnessed([])
    row = run_figures(table, job_columns(table)).of_set.row("profile")
    names = ("compute_ratio", "slowdown_calm", "slowdown_rough", "witness_ps")
    assert [row[name] for name in names] == [None] * 4
    # Nor where a round lacks one.
    assert Witness.of(witnessed(WITNESSES[:-4])).calm_rounds() is None
