"""Truth: job tables written by hand whose slowdown, overlap and states are known."""

from __future__ import annotations

import attrs
import pytest
from helpers.runs import Job, RunTask, Slot, job_table, ran

from deadbeat.executors.controls import _smallest_effect, control, observe
from deadbeat.model.jobs import WINDOW_OFF, JobTable

SLOTS = (
    Slot(start=0, end=10_000),
    Slot(start=20_000, end=30_000, solo=0),
    Slot(start=40_000, end=50_000, solo=1),
)


def jobs(together: int, *, offset: int = 0, solo_window: int) -> list[Job]:
    """Four jobs of span 100 alone and of span ``together`` with the other task."""
    start = SLOTS[solo_window].start
    with_others = [ran(t, t + offset, t + offset + together) for t in range(0, 4000, 1000)]
    alone = [ran(start + t, start + t, start + t + 100, slot=solo_window)
             for t in range(0, 4000, 1000)]  # fmt: skip
    return with_others + alone


def table(*, together: int = 150, offset: int = 0) -> JobTable:
    return job_table(
        [RunTask(core=0), RunTask(core=1)],
        [jobs(together, solo_window=1), jobs(together, offset=offset, solo_window=2)],
        slots=SLOTS,
    )


def test_slowdown_is_together_over_alone() -> None:
    seen = observe(table())
    assert seen is not None
    assert seen.slowdown == pytest.approx(1.5)
    assert seen.slowdown_p50 == pytest.approx(1.5)
    assert seen.solo_p50_ns == 100


def test_overlap_is_the_share_of_jobs_met_by_another() -> None:
    met, missed = observe(table(offset=100)), observe(table(offset=500))
    assert met is not None
    assert missed is not None
    assert (met.overlap, missed.overlap) == (1.0, 0.0)


def test_windows_off_the_quiet_mode_are_left_out() -> None:
    made = table()
    slots = made.slots.copy()
    slots["flags"][2] = WINDOW_OFF
    assert observe(attrs.evolve(made, slots=slots)) is None


def test_a_control_passes_inside_its_range_and_is_undecided_without_a_value() -> None:
    def verdict(value: float | None) -> object:
        accepted = (0.98, 1.02)
        row = control("x", "negative", value, accepted=accepted, unit="ratio", message="")
        return row["passed"]

    assert [verdict(v) for v in (1.0, 0.98, 1.03, None)] == [True, True, False, None]


def test_a_value_off_the_range_from_few_sets_is_undecided_not_a_failure() -> None:
    def verdict(value: float, sets: int) -> object:
        accepted = (0.98, 1.02)
        row = control("x", "negative", value, accepted=accepted, unit="", message="", sets=sets)
        return row["passed"]

    assert [verdict(1.0, 3), verdict(1.1, 3), verdict(1.1, 5)] == [True, None, False]


def test_the_smallest_effect_covers_bias_and_spread() -> None:
    effect, _ = _smallest_effect([1.01, 1.01, 1.01, 1.01])
    assert effect == pytest.approx(0.01)
    # t(3) = 3.182, sd = 0.01155, sqrt(1 + 1/4)
    spread, _ = _smallest_effect([0.99, 1.01, 0.99, 1.01])
    assert spread == pytest.approx(3.182 * 0.011547 * 1.118, rel=0.01)


def test_two_controls_are_too_few_for_a_floor() -> None:
    effect, why = _smallest_effect([1.0, 1.0])
    assert effect is None
    assert why == "only 2 negative controls"
