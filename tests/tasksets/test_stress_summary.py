"""Truth: the worked example of a group in docs/reference/campaign.md, reckoned by hand."""

import pytest
from attrs import evolve

from deadbeat.tasksets.contention.point import group_cell
from deadbeat.tasksets.model.figures import CellFigures, SetFigures, Value


def task_set(slowdown: float | None, misses: int, released: int = 100) -> SetFigures:
    return SetFigures(
        slowdown_mean=slowdown,
        delay_ratio_mean=slowdown,
        deadline_misses=misses,
        released=released,
        alone_misses=1,
        alone_released=50,
        jobs=released,
        miss_episodes=misses,
        response_ratio_mean=slowdown,
        sync_share_real=0.5,
        compute_ratio=slowdown and 1.1,
    )


EXAMPLE = [task_set(1.0, 0), task_set(1.1, 0), task_set(1.2, 5), task_set(2.0, 20)]


def group_row(sets: list[SetFigures]) -> dict[str, Value]:
    return group_cell(CellFigures(), sets).row("stress")


def test_the_worked_example_of_a_group() -> None:
    row = group_row(EXAMPLE)
    expected = {
        "task_sets": 4,
        "slowdown_mean": 1.325,
        "slowdown_p50": 1.15,
        "slowdown_p95": 1.88,
        "slowdown_max": 2.0,
        "deadline_miss_ratio": 0.0625,
        "miss_set_share": 0.5,
        "miss_set_share_ci_low": 0.150,
        "miss_set_share_ci_high": 0.850,
        "deadline_miss_p50_nonzero": 0.125,
        "deadline_miss_p95_nonzero": 0.1925,
        "released": 400,
        "alone_miss_ratio": 0.02,
        "miss_excess": 0.0425,
        "compute_ratio": 1.1,
        "miss_episodes": 25,
    }
    assert {key: row[key] for key in expected} == pytest.approx(expected, abs=5e-4)
    assert row["contended_ratio_real"] is None


def test_intervals_are_over_sets() -> None:
    many = group_row(EXAMPLE * 10)
    few = group_row(EXAMPLE)
    assert many["slowdown_mean"] == pytest.approx(few["slowdown_mean"])
    assert few["slowdown_ci_low"] < many["slowdown_ci_low"] < 1.325
    assert many["slowdown_ci_high"] > 1.325
    assert few["slowdown_ci_high"] is None


def test_the_excess_of_misses_has_the_arms_of_both_sides() -> None:
    row = group_row(EXAMPLE * 10)
    # Alone all sets are alike: the arms are those of the misses together.
    assert (row["alone_miss_ci_low"], row["alone_miss_ci_high"]) == (0.02, 0.02)
    assert row["miss_excess_ci_low"] == pytest.approx(row["deadline_miss_ci_low"] - 0.02)
    assert row["miss_excess_ci_high"] == pytest.approx(row["deadline_miss_ci_high"] - 0.02)


def test_a_delay_ratio_is_known_no_better_than_its_costs() -> None:
    row = group_row([evolve(each, cost_half_width=0.5) for each in EXAMPLE * 100])
    plain = group_row(EXAMPLE * 100)
    assert row["delay_ratio_ci_high"] > 1.325 * 1.5 > plain["delay_ratio_ci_high"]
    assert row["slowdown_ci_high"] == plain["slowdown_ci_high"]


def test_a_group_without_a_set_says_nothing() -> None:
    row = group_row([])
    assert (row.pop("task_sets"), row.pop("group")) == (0, "")
    assert set(row.values()) == {None}


def test_sets_without_a_miss_leave_no_quantile_of_misses() -> None:
    row = group_row(EXAMPLE[:2])
    assert row["miss_set_share"] == row["deadline_miss_ratio"] == 0
    assert row["deadline_miss_p50_nonzero"] is None
    assert row["miss_set_share_ci_high"] > 0.5


def test_what_was_not_measured_is_no_value() -> None:
    row = group_row([*EXAMPLE, task_set(None, 0, released=0)])
    assert row["slowdown_mean"] == pytest.approx(1.325)
    assert row["miss_set_share"] == 0.5
