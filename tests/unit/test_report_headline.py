"""The answer in words, against rows where it can be read off by eye."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from helpers.demo_summary import demo_summary

from deadbeat.model.results import SUMMARY_COLUMNS, Summary
from deadbeat.report import headline
from deadbeat.report.facts import noise_floor, percent


def row(cores: int, rho: float, alpha: float, **values: Any) -> dict[str, Any]:
    quiet = {
        "cores": cores, "sync_share": rho, "contended_ratio": alpha, "task_sets": 4, "jobs": 100,
        "slowdown_mean": 1.0, "slowdown_ci_low": 0.995, "slowdown_ci_high": 1.005,
        "deadline_miss_ratio": 0.0, "deadline_miss_ci_low": 0.0, "deadline_miss_ci_high": 0.03,
    }  # fmt: skip
    return dict.fromkeys(SUMMARY_COLUMNS) | quiet | values


def slow(mean: float, low: float, high: float) -> dict[str, float]:
    return {"slowdown_mean": mean, "slowdown_ci_low": low, "slowdown_ci_high": high}


def missing(ratio: float, low: float, high: float) -> dict[str, float]:
    return {
        "deadline_miss_ratio": ratio,
        "deadline_miss_ci_low": low,
        "deadline_miss_ci_high": high,
    }


def campaign(*rows: dict[str, Any], floor: float | None = 0.02) -> Summary:
    noise = {} if floor is None else {"smallest_effect": floor}
    return Summary(rows=rows, sets=(), noise_floor=noise)


def test_points_without_a_single_value_have_no_answer():
    nothing = {"slowdown_mean": None, "deadline_miss_ratio": None, "task_sets": 0}
    empty = campaign(row(1, 0.0, 0.0) | nothing)
    assert headline(empty).sentence == "No run is stored: nothing is decided."
    noisy = evolve(empty, meta={"failed": {"m001": {"reason": "no quiet attempt in 3"}}})
    assert headline(noisy).sentence == "No task set has a result: nothing is decided."
    assert headline(campaign(row(1, 0.0, 0.0))).sentence.startswith("No deadline was missed")


def test_an_interval_above_one_by_less_than_the_floor_is_no_slowdown():
    inside, outside = row(2, 0.5, 1.0, **slow(1.025, 1.019, 1.03)), slow(1.03, 1.021, 1.04)
    assert headline(campaign(inside)).per_cores[0].slow_points == 0
    assert headline(campaign(inside | outside)).per_cores[0].slow_points == 1


def test_a_high_mean_with_an_interval_that_holds_one_is_no_slowdown():
    answer = headline(campaign(row(2, 0.5, 1.0, **slow(1.5, 0.9, 2.1)))).per_cores[0]
    assert answer.slow_points == 0
    assert answer.slowdown.startswith(
        "No slowdown beyond doubt, but the intervals are wide (up to 2.1): more replicas"
    )


def test_misses_whose_interval_holds_zero_are_not_where_it_starts():
    seen = {"deadline_miss_ratio": 0.01, "deadline_miss_ci_low": 0.0, "deadline_miss_ci_high": 0.2}
    answer = headline(campaign(row(1, 0.0, 0.5) | seen))
    assert answer.per_cores[0].miss_points == 0
    assert answer.per_cores[0].misses.startswith("Deadlines were missed at 1 of 1 points, at none")
    assert answer.sentence.startswith("Deadlines were missed, but at no point beyond doubt")


def test_the_first_point_is_that_of_smallest_rho_then_alpha_whatever_the_order_of_rows():
    rows = (
        row(2, 1.0, 0.5, **slow(1.9, 1.8, 2.0)),
        row(2, 0.5, 1.0, **slow(1.2, 1.1, 1.3)),
        row(2, 0.5, 0.5, **slow(1.1, 1.05, 1.15)),
        row(2, 0.5, 0.0),
    )
    words = headline(campaign(*rows)).per_cores[0].slowdown
    assert words == (
        "Slows down from ρ = 0.5, α = 0.5: 1.100 (95 % interval 1.050 to 1.150); 3 of 4 points. "
        "Worst at ρ = 1, α = 0.5: 1.900 (95 % interval 1.800 to 2.000)."
    )


def test_where_misses_begin_and_are_worst():
    rows = (
        row(4, 0.5, 1.0, **missing(0.01, 0.005, 0.02)),
        row(4, 1.0, 1.0, **missing(0.2, 0.1, 0.3)),
    )
    answer = headline(campaign(row(4, 0.0, 0.0), *rows))
    assert answer.sentence.startswith("It starts to miss deadlines at M = 4, ρ = 0.5, α = 1;")
    assert answer.per_cores[0].misses == (
        "Misses begin at ρ = 0.5, α = 1: 1.0 % of jobs (95 % interval 0.50 % to 2.0 %); 2 of 3 "
        "points. Worst at ρ = 1, α = 1: 20 % of jobs (95 % interval 10 % to 30 %)."
    )


def test_no_misses_give_the_largest_upper_bound_and_not_a_zero():
    rows = (row(1, 0.0, 0.0, deadline_miss_ci_high=0.001), row(1, 1.0, 0.0))
    words = headline(campaign(*rows)).per_cores[0].misses
    assert words == "No deadline missed (miss ratio below 3.0 % at every point)."


def test_the_bound_on_what_may_hide_is_never_below_the_noise_floor():
    words = headline(campaign(row(1, 0.0, 0.0))).per_cores[0].slowdown
    assert words == "No effect larger than 2.0 % seen at any of 1 points."


def test_without_intervals_no_bound_is_claimed():
    bare = row(1, 0.0, 0.0, slowdown_ci_low=None, slowdown_ci_high=None)
    assert "no bound can be given" in headline(campaign(bare)).per_cores[0].slowdown


def test_an_unknown_noise_floor_is_said():
    assert "noise floor is not known" in headline(campaign(row(1, 0, 0), floor=None)).sentence
    assert "noise floor" not in headline(campaign(row(1, 0, 0))).sentence


def test_points_without_an_answer_are_counted_over_the_whole_grid():
    answers = headline(demo_summary()).per_cores
    assert answers[2].open_points == "Without an answer: 1 undecided, 1 not measured, of 25 points."
    assert answers[0].open_points == ""


def test_a_campaign_without_runs_says_so():
    assert headline(Summary(rows=(), sets=())).sentence == "Nothing was measured yet."


def test_the_demo_slows_down_from_two_cores_and_misses_from_four():
    # Its formulas: slowdown 1 + 0.28 (M - 1) rho alpha^1.4, misses above a slowdown of 1.35.
    sentence = headline(demo_summary()).sentence
    assert sentence == (
        "It starts to miss deadlines at M = 4, ρ = 0.5, α = 1; "
        "tasks slow each other down from M = 2 on."
    )


def test_the_noise_floor_in_words():
    assert noise_floor(demo_summary()).text == "smallest effect visible here: 1.2 %"
    unknown = evolve(demo_summary(), noise_floor={"smallest_effect": None, "basis": "too few"})
    assert noise_floor(unknown).text == "smallest effect visible here: undecided"
    assert (
        noise_floor(demo_summary(floor=None)).text == "smallest effect visible here: not measured"
    )


def test_percent_has_two_significant_digits():
    shares = (0, 0.0001234, 0.0123, 0.5, 1.0, 12.3)
    assert [percent(share) for share in shares] == [
        "0 %", "0.012 %", "1.2 %", "50 %", "100 %", "1230 %",
    ]  # fmt: skip
