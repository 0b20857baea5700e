"""Truth: the worked example of a group in docs/reference/metrics.md, reckoned by hand."""

from __future__ import annotations

from typing import Any

import pytest

from deadbeat.analysis.stress import group_row
from deadbeat.model.results import PART_COLUMNS


def task_set(slowdown: float | None, misses: int, released: int = 100) -> dict[str, Any]:
    return {
        "slowdown_mean": slowdown,
        "delay_ratio_mean": slowdown,
        "deadline_misses": misses,
        "released": released,
        "jobs": released,
        "miss_episodes": misses,
        "overruns": 0,
        "response_ratio_mean": slowdown,
        "sync_share_real": 0.5,
        "contended_ratio_real": None,
        "overlap_real": None,
        **dict.fromkeys(PART_COLUMNS),
    }


EXAMPLE = [task_set(1.0, 0), task_set(1.1, 0), task_set(1.2, 5), task_set(2.0, 20)]


def test_the_worked_example_of_a_group() -> None:
    row = group_row(EXAMPLE, seed=1, resamples=200)
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
        "miss_episodes": 25,
    }
    assert {key: row[key] for key in expected} == pytest.approx(expected, abs=5e-4)
    assert row["contended_ratio_real"] is None


def test_intervals_resample_sets() -> None:
    many = group_row(EXAMPLE * 10, seed=1, resamples=500)
    few = group_row(EXAMPLE, seed=1, resamples=500)
    assert many["slowdown_mean"] == pytest.approx(few["slowdown_mean"])
    assert few["slowdown_ci_low"] < many["slowdown_ci_low"] < 1.325
    assert 1.325 < many["slowdown_ci_high"] < few["slowdown_ci_high"]


def test_a_group_without_a_quiet_set_says_nothing() -> None:
    row = group_row([], seed=1, resamples=50)
    assert row.pop("task_sets") == 0
    assert set(row.values()) == {None}


def test_sets_without_a_miss_leave_no_quantile_of_misses() -> None:
    row = group_row(EXAMPLE[:2], seed=1, resamples=50)
    assert row["miss_set_share"] == row["deadline_miss_ratio"] == 0
    assert row["deadline_miss_p50_nonzero"] is None
    assert row["miss_set_share_ci_high"] > 0.5


def test_what_was_not_measured_is_no_value() -> None:
    row = group_row([*EXAMPLE, task_set(None, 0, released=0)], seed=1, resamples=50)
    assert row["slowdown_mean"] == pytest.approx(1.325)
    assert row["miss_set_share"] == 0.5
