"""The answer in words, against rows where it can be read off by eye."""

from typing import Any

from attrs import evolve
from helpers.demo_summary import demo_summary
from helpers.rows import rows_of, summary_of, with_rows

from deadbeat.base.report.document import percent
from deadbeat.tasksets.contention.facts import grid_of, loaded_cells, noise_floor
from deadbeat.tasksets.contention.headline import headline
from deadbeat.tasksets.model.figures import SUMMARY_COLUMNS
from deadbeat.tasksets.model.results import ClassFigures, NoiseFacts, PointFigures, Summary


def row(cores: int, rho: float, alpha: float, **values: Any) -> dict[str, Any]:
    quiet = {
        "cores": cores, "sync_share": rho, "contended_ratio": alpha, "task_sets": 4, "jobs": 100,
        "deadline_factor": 10.0, "tasks_per_core": 1,
        "slowdown_mean": 1.0, "slowdown_ci_low": 0.995, "slowdown_ci_high": 1.005,
        "slowdown_ci_basis": "sets", "deadline_miss_ratio": 0.0, "alone_miss_ratio": 0.0,
        "miss_excess": 0.0, "miss_excess_ci_low": -0.03, "miss_excess_ci_high": 0.03,
        **needed(1.2), **needed(1.1, "alone_"), **needed(1.4, "alone_", "p999"),
    }  # fmt: skip
    return dict.fromkeys(SUMMARY_COLUMNS) | quiet | values


def needed(value: float, side: str = "", name: str = "p99") -> dict[str, float]:
    column = f"{side}deadline_needed_{name}"
    return {column: value, f"{column}_low": 0.9 * value, f"{column}_high": 1.1 * value}


def slow(mean: float, low: float, high: float) -> dict[str, float]:
    return {"slowdown_mean": mean, "slowdown_ci_low": low, "slowdown_ci_high": high}


def missing(ratio: float, alone: float, low: float) -> dict[str, float]:
    excess = {"miss_excess": ratio - alone, "miss_excess_ci_low": low, "miss_excess_ci_high": 0.5}
    return {"deadline_miss_ratio": ratio, "alone_miss_ratio": alone, **excess}


def campaign(*rows: dict[str, Any], floor: float | None = 0.02) -> Summary:
    noise = None if floor is None else NoiseFacts(smallest_effect=floor)
    return summary_of(rows=rows, sets=(), noise_floor=noise)


def line(summary: Summary, start: str) -> str:
    (found,) = [text for text in headline(summary) if text.startswith(start)]
    return found


def test_points_without_a_single_value_have_no_answer():
    nothing = {"slowdown_mean": None, "deadline_miss_ratio": None, "task_sets": 0}
    empty = campaign(row(1, 0.0, 0.0) | nothing)
    assert " ".join(headline(empty)) == "No run is stored: nothing is decided."
    failed = evolve(empty, meta={"failed": {"m001": {"reason": "the task crashed"}}})
    assert " ".join(headline(failed)) == "No task set has a result: nothing is decided."
    assert " ".join(headline(summary_of(rows=(), sets=()))) == "Nothing was measured yet."


def test_without_solo_jobs_nothing_is_said_of_the_host():
    none = {column: None for column in SUMMARY_COLUMNS if column.startswith("alone_")}
    none |= {"miss_excess": None}
    summary = campaign(row(2, 1.0, 1.0, **none, **{"deadline_miss_ratio": 0.25}))
    assert line(summary, "Deadlines of").endswith(
        "how many the machine causes by itself is unknown."
    )


def told(slowdown: float | None, saturated: bool = False, share: float = 0.0) -> ClassFigures:
    """What a class of a balanced map says."""
    return ClassFigures(sets=2, slowdown=slowdown, saturated=saturated, unfinished_share=share)


def balanced(slowdown: float | None, **classes: ClassFigures) -> Summary:
    point = PointFigures(
        cores=2,
        sync_share=1.0,
        contended_ratio=1.0,
        tasks_per_core=1,
        slowdown=slowdown,
        saturated=tuple(name for name, each in classes.items() if each.saturated),
        by_class=classes,
    )
    return evolve(campaign(row(2, 1.0, 1.0)), points=(point,))


def test_a_balanced_map_names_its_ends_and_what_is_saturated():
    made = balanced(1.9, pipe=told(1.02), futex=told(2.3), mutex_inherit=told(None, True, 0.83))
    assert line(made, "With") == (
        "With all time spent on objects shared by 2 cores, sets take 1.90 times as long:"
        " pipe 1.02, futex 2.30; left out: mutex_inherit: saturated, 83 % of its"
        " jobs unfinished."
    )


def test_a_point_half_of_which_is_saturated_has_no_mean():
    made = balanced(None, pipe=told(1.02), mutex_inherit=told(None, True, 0.83))
    assert line(made, "With").endswith("there is no mean slowdown: 1 of 2 objects are saturated.")
    least = {"slowdown_mean": None, "slowdown_bound": 4.0}
    without = with_rows(made, rows=tuple({**row, **least} for row in rows_of(made)))
    assert not any("Without an answer" in each for each in headline(without)), "it is one"
    rows = tuple({**row, "slowdown_bound": None} for row in rows_of(without))
    open_ = evolve(with_rows(made, rows=rows), points=balanced(None, pipe=told(None)).points)
    assert line(open_, "Without") == "Without an answer: 1 undecided, of 1 points."


def test_misses_begin_where_they_are_surely_more_than_alone():
    summary = campaign(
        row(1, 0.0, 0.0, **missing(0.3, 0.29, -0.1)),
        row(2, 1.0, 1.0, **missing(0.2, 0.01, 0.1)),
        row(2, 0.5, 1.0, **missing(0.056, 0.0, 0.004)),
    )
    assert line(summary, "Deadlines of") == (
        "Deadlines of 10 C: extra misses from M = 2, ρ = 0.5, α = 1 on:"
        " 5.6 % of jobs, alone 0 %; most at M = 2, ρ = 1, α = 1: 20 % of jobs, alone 1.0 %."
    )


def test_misses_that_the_host_may_cause_give_the_bound_on_what_is_more():
    summary = campaign(row(1, 0, 0, **missing(0.3, 0.29, -0.1)), row(2, 1, 1))
    assert line(summary, "Deadlines of") == (
        "Deadlines of 10 C: no extra misses are shown (up to 50 % of the jobs could still miss:"
        " too few were measured)."
    )


def test_an_interval_above_one_by_less_than_the_smallest_effect_is_no_slowdown():
    small = row(2, 0.5, 1.0, **slow(1.019, 1.018, 1.03))
    assert (
        "No point is certainly slowed down; only slowdowns of 2.0 % or more could be seen."
        in line(campaign(small), "The largest")
    )
    unsure = row(2, 0.5, 1.0, **slow(12.671, 1.009, 87.89))
    assert line(campaign(unsure), "The largest") == (
        "The largest slowdown (time together / alone) is 12.7 (95 % interval 1.009 to 87.9), at"
        " M = 2, ρ = 0.5, α = 1. None is certain: no interval lies wholly above 1.020."
    )
    outside = row(2, 0.5, 1.0, **slow(1.03, 1.021, 1.04))
    assert "1 of 1 points are certainly slowed down, the first is M = 2, ρ = 0.5, α = 1;" in line(
        campaign(outside), "The largest"
    )


def test_the_first_point_is_that_of_smallest_m_rho_alpha_whatever_the_order_of_rows():
    rows = (
        row(2, 1.0, 0.5, **slow(1.9, 1.8, 2.0)),
        row(2, 0.5, 1.0, **slow(1.2, 1.1, 1.3)),
        row(2, 0.5, 0.5, **slow(1.1, 1.05, 1.15)),
        row(2, 0.5, 0.0),
    )
    assert line(campaign(*rows), "The largest") == (
        "The largest slowdown (time together / alone) is 1.900 (95 % interval 1.800 to 2.000), at"
        " M = 2, ρ = 1, α = 0.5. 3 of 4 points are certainly slowed down, the first is M = 2,"
        " ρ = 0.5, α = 0.5; only slowdowns of 2.0 % or more could be seen."
    )


def test_the_interval_of_a_single_set_is_called_that():
    one = row(1, 0, 0, slowdown_ci_basis="rounds")
    assert "(95 % interval of one set 0.995 to 1.005)" in line(campaign(one), "The largest")
    bare = row(1, 0, 0, slowdown_ci_low=None, slowdown_ci_high=None)
    assert "1.000 (no interval)" in line(campaign(bare), "The largest")


def test_an_unknown_smallest_effect_is_said():
    assert "is unknown" in line(campaign(row(1, 0, 0), floor=None), "The largest")
    assert "is unknown" not in " ".join(headline(campaign(row(1, 0, 0))))


def loaded() -> tuple[dict[str, Any], ...]:
    own = {"tasks_per_core": 2, "deadline_factor": 2.0}
    return (
        row(1, 1.0, 0.0, **own, **missing(0.11, 0.0, 0.05)),
        row(1, 1.0, 1.0, **own, **missing(0.12, 0.0, 0.05)),
        row(2, 1.0, 0.0, **own, **missing(0.14, 0.0, 0.05)),
        row(2, 1.0, 1.0, **own, **missing(0.31, 0.0, 0.05), **slow(9.0, 8.0, 10.0), **needed(77.0)),
    )


def test_the_loaded_row_has_a_sentence_of_its_own_and_is_in_no_other():
    summary = campaign(row(1, 0.0, 0.0), row(1, 1.0, 1.0), row(2, 1.0, 1.0), *loaded())
    assert line(summary, "2 tasks") == (
        "2 tasks a core, D = 2 C: 31 % of jobs miss at M = 2, ρ = 1, α = 1, 14 % where they share"
        " no object (α = 0); 12 % already at M = 1."
    )
    own = headline(with_rows(summary, rows=rows_of(summary)[:3]))
    assert headline(summary)[:2] == own[:2]


def test_a_loaded_row_takes_its_sets_and_distributions_along():
    sets = ({"tasks": 2, "cores": 2}, {"tasks": 4, "cores": 2})
    distributions = ({"tasks_per_core": 1}, {"tasks_per_core": 2})
    summary = with_rows(
        campaign(row(2, 1.0, 1.0), *loaded()), sets=sets, distributions=distributions
    )
    own = grid_of(summary)
    assert (own.cells, own.sets) == (summary.cells[:1], summary.sets[:1])
    assert own.distributions == distributions[:1]
    assert len(loaded_cells(summary)) == 4
    parameters = {"parameters": {"tasks": {"per_core": 2}}}
    assert len(loaded_cells(evolve(summary, meta=parameters))) == 1, (
        "the campaign's own word counts"
    )


def test_points_without_an_answer_are_counted_over_the_whole_grid():
    answer = headline(demo_summary())
    assert answer[-1] == "Without an answer: 1 undecided, 1 not measured, of 75 points."


def test_the_smallest_effect_in_words():
    assert noise_floor(demo_summary()).text == "only slowdowns of 1.2 % or more could be seen here"
    unknown = evolve(demo_summary(), noise_floor=NoiseFacts(basis="too few"))
    assert noise_floor(unknown).text == "how small a slowdown could be seen here is unknown"
    assert (
        noise_floor(demo_summary(floor=None)).text
        == "how small a slowdown could be seen here was not measured"
    )


def test_percent_has_two_significant_digits():
    shares = (0, 0.0001234, 0.0123, 0.5, 1.0, 12.3)
    assert [percent(share) for share in shares] == [
        "0 %", "0.012 %", "1.2 %", "50 %", "100 %", "1230 %",
    ]  # fmt: skip
