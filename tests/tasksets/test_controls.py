"""Truth: job tables written by hand whose slowdown, overlap and states are known."""

import pytest
from helpers.runs import Job, RunTask, Slot, job_table, ran

from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.executors.controls import (
    COPIES,
    COSTS,
    HOLD,
    LEAST_SETS,
    ControlRow,
    observe,
)

SLOTS = (
    Slot(start=0, end=10_000),
    Slot(start=20_000, end=30_000, solo=0),
    Slot(start=40_000, end=50_000, solo=1),
)


def jobs(together: int, *, offset: int = 0, alone: int) -> list[Job]:
    """Four jobs of span ``together`` with the other, and four of span 100 in slot ``alone``."""
    start = SLOTS[alone].start
    with_others = [ran(t, t + offset, t + offset + together) for t in range(0, 4000, 1000)]
    by_itself = [ran(start + t, start + t, start + t + 100, slot=alone)
                 for t in range(0, 4000, 1000)]  # fmt: skip
    return with_others + by_itself


def table(*, together: int = 150, offset: int = 0) -> JobTable:
    return job_table(
        [RunTask(core=0), RunTask(core=1)],
        [jobs(together, alone=1), jobs(together, offset=offset, alone=2)],
        slots=SLOTS,
    )


def test_slowdown_is_together_over_alone() -> None:
    seen = observe(table())
    assert seen.slowdown == pytest.approx(1.5)
    assert seen.span_ratio == pytest.approx(1.25)


def test_overlap_is_the_share_of_jobs_met_by_another() -> None:
    met, missed = observe(table(offset=100)), observe(table(offset=500))
    assert (met.overlap, missed.overlap) == (1.0, 0.0)


def test_a_task_without_a_job_alone_shows_nothing() -> None:
    made = job_table(
        [RunTask(core=0), RunTask(core=1)],
        [jobs(150, alone=1), jobs(150, alone=2)[:4]],
        slots=SLOTS,
    )
    assert observe(made) is None


RATIO = ControlRow(name="x", kind="negative", accepted=(0.98, 1.02), unit="ratio", message="")


@pytest.mark.parametrize(
    ("row", "around", "spread", "passed"),
    [
        (RATIO, 1.00, 0.005, True),
        (RATIO, 1.03, 0.020, True),  # the interval reaches into the accepted range
        (RATIO, 1.03, 0.005, False),  # it lies off it as a whole
        (RATIO, 0.97, 0.005, False),
        (RATIO, 1.00, 0.200, None),  # too wide to say anything
        (RATIO, 2.00, 0.200, False),  # wide, and still off
        (COPIES, 1.0, 0.005, True),
        (COPIES, 1.03, 0.005, False),
        (COPIES, 1.0, 0.02, None),  # a hundredth is asked, the interval is wider
        (HOLD, 2.0, 0.05, True),
        (HOLD, 1.0, 0.05, False),
        (COSTS[0], 1.0, 0.05, True),
        (COSTS[0], 1.3, 0.05, False),
        (COSTS[0], 0.75, 0.05, False),
    ],
)
def test_a_control_is_judged_by_its_interval(
    row: ControlRow, around: float, spread: float, passed: bool | None
) -> None:
    """Five values around a mean: Student's half width is 2.776 x spread / sqrt(5)."""
    assert row.judge([around + spread * step for step in (-1, -1, 0, 1, 1)]).passed is passed


def test_too_few_sets_decide_nothing() -> None:
    few = LEAST_SETS - 1
    assert [RATIO.judge(values).passed for values in ([], [1.0] * few, [2.0] * few)] == [None] * 3
    assert RATIO.judge([1.0] * LEAST_SETS).passed is True
