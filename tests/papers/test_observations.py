"""Truth: what the paper saw (section 4), as made-up campaigns; each verdict can be had."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from helpers.rows import rows_of, sets_of, summary_of, with_rows

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.contention.profile_charts import SURFACE_POINTS
from deadbeat.tasksets.contention.spec import specify
from deadbeat.tasksets.model.figures import STRESS_COLUMNS, SUMMARY_COLUMNS
from deadbeat_papers.observations import (
    OBSERVATIONS,
    Campaign,
    Campaigns,
    PublishedObservation,
    ask,
    judge,
)
from deadbeat_papers.observations.grid import surface

AXIS = (0.0, 0.5, 1.0)
Surface = Callable[[int, float, float], float]


def flat(cores: int, rho: float, alpha: float) -> float:
    return 1.0


def paper(cores: int, rho: float, alpha: float) -> float:
    """Figure 4 in a formula: flat up to 4 cores, a peak at 8, moderate contention hurts at 16."""
    contention = rho * alpha
    steep = {1: 0.0, 4: 0.15, 8: 9.0 * contention**8, 16: 20.0 * contention}[cores]
    return 1.0 + (steep * contention if cores == 4 else steep)


def profile(
    surface: Surface = paper,
    *,
    cores: tuple[int, ...] = (1, 4, 8, 16),
    width: float = 0.02,
    name: str = "made-up",
    labels: tuple[str, ...] = (),
    platform: Mapping[str, Any] | None = None,
    axis: Sequence[float] = AXIS,
    misses: Surface | None = None,
) -> Campaign:
    """A profile whose means follow ``surface``, with intervals of +- ``width`` of them."""
    rows = []
    for m, rho, alpha in product(cores, axis, axis):
        mean = surface(m, rho, alpha)
        row: dict[str, Any] = dict.fromkeys(SUMMARY_COLUMNS)
        row |= {"cores": m, "sync_share": rho, "contended_ratio": alpha, "task_sets": 10}
        for metric in ("delay_ratio", "slowdown"):
            row[f"{metric}_mean"] = mean
            row[f"{metric}_ci_low"] = mean * (1 - width)
            row[f"{metric}_ci_high"] = mean * (1 + width)
        if misses is not None:
            missed = misses(m, rho, alpha)
            row |= {"deadline_miss_ratio": missed, "miss_excess": missed}
            row |= {"miss_excess_ci_low": missed - 0.01, "miss_excess_ci_high": missed + 0.01}
        rows.append(row)
    summary = summary_of(
        rows=tuple(rows), sets=(), labels=labels, meta={"platform": dict(platform or {})}
    )
    return Campaign(name=name, summary=summary)


def changed(result: Campaign, **values: float | None) -> Campaign:
    """The same with these values in every row."""
    rows = [row | values for row in rows_of(result.summary)]
    return evolve(result, summary=with_rows(result.summary, rows=rows))


@frozen
class Told:
    """A judgement of one variant, flat."""

    verdict: str
    because: str
    figures: tuple[tuple[str, str], ...]
    runs: tuple[str, ...]
    labels: tuple[str, ...]


def observation(name: int | str) -> PublishedObservation:
    (found,) = [each for each in OBSERVATIONS if f"{each.number}{each.part}" == str(name)]
    return found


def verdict(name: int | str, *results: Campaign, **options: Any) -> Told:
    found = judge(observation(name), Campaigns(results=results, **options))
    (only,) = found.evidence
    return Told(found.verdict, only.figures, only.details, only.runs, found.labels)


def test_there_are_nine_and_each_says_what_decides_it() -> None:
    assert sorted({each.number for each in OBSERVATIONS}) == list(range(1, 10))
    assert [each.part for each in OBSERVATIONS if each.part] == ["a"] * 4
    for each in OBSERVATIONS:
        assert each.title and each.says and "confirmed" in each.confirmed
        assert (each.campaign != "") == (each.kernels == 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_wide_intervals_decide_nothing(number: int) -> None:
    assert verdict(number, profile(width=0.96)).verdict == "undecided"


def test_means_without_intervals_decide_nothing() -> None:
    result = profile(flat)
    ends = [f"{m}_ci_{end}" for m in ("delay_ratio", "slowdown") for end in ("low", "high")]
    result = changed(result, **dict.fromkeys(ends))
    assert [verdict(n, result).verdict for n in (1, 2)] == ["undecided"] * 2


def test_two_cores_can_refute_four_but_not_confirm_them() -> None:
    slow = verdict(2, profile(lambda m, r, a: 1 + 0.5 * (m - 1) * r * a, cores=(1, 2)))
    assert slow.verdict == "not confirmed"
    assert "(from M = 2; assumes that more cores never help)" in slow.because
    assert verdict(2, profile(flat, cores=(1, 2))).verdict == "needs >= 4 cores"


@pytest.mark.parametrize("steps", [2, 4, 10])
@pytest.mark.parametrize(("area", "power"), [(0.3, 1), (0.7, 2)])
def test_the_step_of_a_grid_changes_no_verdict(area: float, power: int, steps: int) -> None:
    """v is at most 1.2 where rho alpha <= t; that area is t (1 - ln t), by integration."""
    t = next(t for t in np.arange(0.001, 1, 0.001) if t * (1 - math.log(t)) >= area)
    axis = [step / steps for step in range(steps + 1)]

    def made(m: int, rho: float, alpha: float) -> float:
        busy = (rho * alpha / t) ** power / 6
        return 1 / max(0.02, 1 - busy) if m == 8 else 1.0

    result = profile(made, cores=(1, 4, 8), axis=axis, width=0.005)
    found = surface(Campaigns(results=(result,)), 8).area()
    assert found is not None and found.mean == pytest.approx(area, abs=0.1 if power > 1 else 0.02)
    expected = "confirmed" if area > 0.5 else "not confirmed"
    assert verdict(3, result).verdict == expected


def test_a_grid_that_lacks_an_edge_has_no_area() -> None:
    less = profile(flat, axis=(0.5, 1.0))
    assert surface(Campaigns(results=(less,)), 8).area() is None
    assert verdict(3, less).verdict == "undecided"


def test_break_even_is_the_formula_solved_for_its_price() -> None:
    """k beside one rival: s = 1 / (1 - k (M - 1) / F), F = 10; seed-gaps.md has 0.56 and 0.71."""
    result = profile(lambda m, r, a: 1 / (1 - 0.4 * (m - 1) / 10 * r * a) if m < 16 else 2.0)
    figures = dict(verdict(2, result).figures)
    assert figures["k beside one rival at M = 4"].startswith("0.400 [")
    assert (
        figures["k at delay ratio relative to one core 1.2; what turns it"]
        == "0.56; 1.39 times the price"
    )
    assert "0.71" in dict(verdict(3, result).figures)["k at delay ratio 2; what turns it"]


def test_a_made_up_machine_gets_no_verdict() -> None:
    found = verdict(2, profile(labels=("simulated",)))
    assert found.verdict == "no verdict: a made-up machine" and found.because


def test_a_replayed_machine_is_read_by_its_slowdown() -> None:
    result = profile(labels=("extrapolated",))
    found = verdict(2, result)
    assert found.verdict == "confirmed" and "replayed slowdown" in found.because
    assert verdict(1, result).verdict == "undecided"


def test_a_grid_without_the_point_in_question_decides_nothing() -> None:
    result = profile()
    kept = tuple(row for row in rows_of(result.summary) if row["sync_share"] == 0)
    less = Campaign(name="made-up", summary=summary_of(rows=kept, sets=()))
    for number in (2, 3):
        found = verdict(number, less)
        assert found.verdict == "undecided" and "has no result at M" in found.because


def test_an_empty_campaign_and_one_of_the_other_mode_decide_nothing() -> None:
    empty = Campaign(name="empty", summary=summary_of(rows=(), sets=()))
    assert verdict(1, empty) == Told("undecided", "empty holds no result", (), (), ())
    because = "made-up is a profile campaign: deadbeat contention --random"
    assert verdict(6, profile()).because == because


def test_simulated_shows_beside_every_verdict() -> None:
    assert verdict(1, profile(labels=("simulated",))).labels == ("simulated",)
    assert verdict(4, profile(cores=(1,), labels=("simulated",))).labels == ("simulated",)


def test_foreign_costs_are_not_read_as_delay_ratios() -> None:
    result = profile(labels=("foreign costs",))
    columns = ("delay_ratio_mean", "delay_ratio_ci_low", "delay_ratio_ci_high")
    result = changed(result, **dict.fromkeys(columns, 7.0))
    assert verdict(1, result).verdict == "undecided"
    found = verdict(2, result)
    assert found.verdict == "confirmed" and "slowdown" in found.because


def group(name: str, cores: int, slowdown: float = 1.2, **values: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(STRESS_COLUMNS)
    row |= {"group": name, "cores": cores, "critical_cores": 0, "task_sets": 100}
    for metric in ("slowdown", "delay_ratio"):
        for what in ("mean", "p50", "p95"):
            row[f"{metric}_{what}"] = slowdown
        row[f"{metric}_ci_low"], row[f"{metric}_ci_high"] = slowdown - 0.01, slowdown + 0.01
    return row | {"deadline_miss_ratio": 0.001, "miss_set_share": 0.1} | values


def stress(
    *rows: dict[str, Any],
    name: str = "stress",
    misses: tuple[float, ...] = (),
    platform: Mapping[str, Any] | None = None,
) -> Campaign:
    sets = tuple(
        {"key": f"r{index}", "set_id": f"id{index}", "deadline_miss_ratio": ratio}
        for index, ratio in enumerate(misses)
    )
    summary = summary_of(
        mode="stress",
        rows=rows or (group("random", 16),),
        sets=sets,
        meta={"platform": dict(platform or {})},
    )
    return Campaign(name=name, summary=summary)


def test_critical_tasks_that_contend_with_one_another_show_nothing_of_the_others() -> None:
    row = group("M=16 k=4", 16, 1.5, critical_cores=4, contended_ratio_real=0.5)
    found = verdict(5, stress(row))
    assert found.verdict == "undecided" and "--contended-ratio 0" in found.because
    row["slowdown_ci_low"], row["slowdown_ci_high"] = 0.99, 1.01
    assert verdict(5, stress(row)).verdict == "not confirmed"


def session(slowdowns: Mapping[int, float], *, later: float = 1.0, sets: int = 600) -> Campaign:
    """Mode 2 with a group for each M, in which slowdowns scatter by 30 %; ``later``: factor of the
    second half of the session."""
    random = np.random.default_rng(1)
    cores = list(slowdowns)
    rows = [group(f"M={m}", m) for m in cores]
    own = []
    for at in range(sets):
        for m in cores:
            value = (
                slowdowns[m] * math.exp(0.3 * random.normal()) * (later if at * 2 >= sets else 1)
            )
            key = {"key": f"r{at}-{m}", "set_id": f"id{at}", "group": f"M={m}", "cores": m}
            own.append(key | {"slowdown_mean": value, "began_ns": at + 1})
    summary = summary_of(mode="stress", rows=rows, sets=own, meta={"platform": {}})
    return Campaign(name="stress", summary=summary)


def by_cores(m: int, rho: float, alpha: float) -> float:
    return {4: 1.2, 8: 1.8, 16: 1.81}.get(m, 1.0) if rho * alpha else 1.0


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "confirmed"),
        ({"later": 1.3}, "not confirmed"),
        ({"sets": 20}, "undecided"),
    ],
)
def test_mode_2_tells_what_mode_1_tells(more: dict[str, Any], expected: str) -> None:
    """Mode 1 tells 4 cores from 8 and from 16, and not 8 from 16."""
    found = verdict(6, profile(by_cores), session({4: 1.2, 8: 1.8, 16: 1.8}, **more))
    assert found.verdict == expected
    assert "of 2 pairs" in found.because


OLD = {"kernel": "6.1.170 #1", "preemption": "full"}
NEW = {"kernel": "6.12.3 #1", "preemption": "full"}
RT = {"kernel": "6.12.3 #1", "preemption": "rt"}


def test_no_misses_are_no_difference() -> None:
    runs = [stress(misses=(0.0,) * 50, platform=p) for p in (NEW, RT)]
    found = verdict(9, *runs)
    assert found.verdict == "undecided" and "no deadline was missed" in found.because


def test_a_few_misses_here_and_there_decide_nothing() -> None:
    plain = stress(misses=(0.0, 0.02, 0.0, 0.04) * 10, platform=NEW)
    other = stress(misses=(0.04, 0.0, 0.02, 0.0) * 10, platform=RT)
    assert verdict(9, plain, other).verdict == "undecided"


def test_other_programs_are_refused() -> None:
    plain, other = (
        stress(misses=(0.1,) * 5, platform=p, name=n) for p, n in ((NEW, "a"), (RT, "b"))
    )
    sets = sets_of(other.summary)
    sets[3]["set_id"] = "another"
    other = evolve(other, summary=with_rows(other.summary, sets=sets))
    with pytest.raises(UsageError, match="1 of 5 task sets differ, r3 for one"):
        verdict(9, plain, other)


def test_a_replayed_grid_is_drawn_as_surfaces() -> None:
    grid = specify(ask("grid", cores=16, quick=False, extrapolated=True)).grid
    assert min(len(grid.sync_share), len(grid.contended_ratio)) >= SURFACE_POINTS
