"""Truth: what the paper saw (section 4), as made-up campaigns; each verdict can be had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
from attrs import evolve, frozen
from helpers.rows import rows_of, sets_of, summary_of, with_rows

from deadbeat.kinds.contention.observe import METRICS
from deadbeat.model.comparison import CellComparison, Comparison, MetricComparison
from deadbeat.model.errors import UsageError
from deadbeat.model.figures import STRESS_COLUMNS, SUMMARY_COLUMNS
from deadbeat_papers.observations import OBSERVATIONS, Campaign, Campaigns, judge

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
) -> Campaign:
    """A profile whose means follow ``surface``, with intervals of +- ``width`` of them."""
    rows = []
    for m, rho, alpha in product(cores, AXIS, AXIS):
        mean = surface(m, rho, alpha)
        row: dict[str, Any] = dict.fromkeys(SUMMARY_COLUMNS)
        row |= {"cores": m, "sync_share": rho, "contended_ratio": alpha, "task_sets": 10}
        for metric in ("delay_ratio", "slowdown"):
            row[f"{metric}_mean"] = mean
            row[f"{metric}_ci_low"] = mean * (1 - width)
            row[f"{metric}_ci_high"] = mean * (1 + width)
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


def verdict(number: int, *results: Campaign, **options: Any) -> Told:
    found = judge(OBSERVATIONS[number - 1], Campaigns(results=results, **options))
    (only,) = found.evidence
    return Told(found.verdict, only.figures, only.details, only.runs, found.labels)


def test_there_are_nine_and_each_says_what_decides_it() -> None:
    assert [each.number for each in OBSERVATIONS] == list(range(1, 10))
    for each in OBSERVATIONS:
        assert each.title and each.says and "confirmed" in each.confirmed
        assert (each.campaign != "") == (each.kernels == 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_machine_like_the_papers_confirms_them(number: int) -> None:
    found = verdict(number, profile())
    assert (found.verdict, found.runs) == ("confirmed", ("made-up",))
    assert found.figures and found.because


@pytest.mark.parametrize(
    ("number", "surface"),
    [
        (1, lambda m, r, a: 1.3 if r == 1 else 1.0),
        (2, lambda m, r, a: 1 + 0.5 * (m - 1) * r * a),
        (3, flat),
        (3, lambda m, r, a: 3.0 if m == 8 else 1.0),
        (4, flat),
    ],
)
def test_another_machine_does_not(number: int, surface: Surface) -> None:
    assert verdict(number, profile(surface)).verdict == "not confirmed"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_wide_intervals_decide_nothing(number: int) -> None:
    assert verdict(number, profile(width=0.96)).verdict == "undecided"


def test_means_without_intervals_decide_nothing() -> None:
    result = profile(flat)
    ends = [f"{m}_ci_{end}" for m in ("delay_ratio", "slowdown") for end in ("low", "high")]
    result = changed(result, **dict.fromkeys(ends))
    assert [verdict(n, result).verdict for n in (1, 2)] == ["undecided"] * 2


@pytest.mark.parametrize(("number", "cores"), [(2, 4), (3, 8), (4, 16)])
def test_too_few_cores_are_a_verdict(number: int, cores: int) -> None:
    found = verdict(number, profile(cores=(1,)))
    assert found.verdict == f"needs >= {cores} cores"
    assert found.because == "made-up holds at most M = 1"


def test_a_grid_without_the_point_in_question_decides_nothing() -> None:
    result = profile()
    kept = tuple(row for row in rows_of(result.summary) if row["sync_share"] == 0)
    less = Campaign(name="made-up", summary=summary_of(rows=kept, sets=()))
    for number in (2, 3, 4):
        found = verdict(number, less)
        assert found.verdict == "undecided" and "has no result at M" in found.because


def test_an_empty_campaign_and_one_of_the_other_mode_decide_nothing() -> None:
    empty = Campaign(name="empty", summary=summary_of(rows=(), sets=()))
    assert verdict(1, empty) == Told("undecided", "empty holds no result", (), (), ())
    assert verdict(6, profile()).because == "made-up is a profile campaign"


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


@pytest.mark.parametrize(
    ("slowdown", "expected"), [(1.3, "confirmed"), (1.0, "not confirmed"), (1.02, "undecided")]
)
def test_interference_on_shielded_cores_is_judged_by_its_interval(
    slowdown: float, expected: str
) -> None:
    shielded = group("M=16 k=4", 16, slowdown, critical_cores=4)
    found = verdict(5, stress(group("M=16", 16, 2.0), shielded))
    assert found.verdict == expected
    assert ("slowdown of the same draws without shielding", "2.000 [1.990, 2.010]") in found.figures


def test_critical_tasks_that_contend_with_one_another_show_nothing_of_the_others() -> None:
    row = group("M=16 k=4", 16, 1.5, critical_cores=4, contended_ratio_real=0.5)
    found = verdict(5, stress(row))
    assert found.verdict == "undecided" and "--contended-ratio 0" in found.because
    row["slowdown_ci_low"], row["slowdown_ci_high"] = 0.99, 1.01
    assert verdict(5, stress(row)).verdict == "not confirmed"


def test_shielding_needs_a_shield_and_sixteen_cores() -> None:
    assert verdict(5, stress(group("M=16", 16))).verdict == "undecided"
    few = stress(group("M=8 k=4", 8, critical_cores=4))
    assert verdict(5, few).verdict == "needs >= 16 cores"


def test_mode_2_is_one_figure_when_there_are_sets_enough() -> None:
    assert verdict(6, stress()).verdict == "confirmed"
    assert verdict(6, stress(group("random", 16, task_sets=8))).verdict == "undecided"
    lacking = stress(group("random", 16, slowdown_p95=None))
    assert verdict(6, lacking).verdict == "not confirmed"


(DELAY_RATIO,) = [each for each in METRICS if each.name == "delay_ratio"]
OLD = {"kernel": "5.15.0 #1", "preemption": "full"}
NEW = {"kernel": "6.12.3 #1", "preemption": "full"}
RT = {"kernel": "6.12.3 #1", "preemption": "rt"}


def comparing(surface: Surface) -> Callable[[Campaign, Campaign], Comparison]:
    """A comparison whose effects follow ``surface``, decided beyond 2 %."""

    def compare(baseline: Campaign, other: Campaign) -> Comparison:
        cells = []
        for place in product((1, 4, 8, 16), AXIS, AXIS):
            effect = surface(*place)
            word = "better" if effect < -0.02 else "worse" if effect > 0.02 else "equal"
            cells.append(cell(*place, effect, word))
        metric = MetricComparison(
            metric=DELAY_RATIO,
            **dict.fromkeys(("effect", "low", "high", "p", "gate")),
            verdict="undecided",
            minimum=0.0,
            gate_basis="",
            cells=tuple(cells),
        )
        names = {"baseline": baseline.name, "other": other.name}
        return Comparison(**names, metrics=(metric,), verdict="undecided", reason="")

    return compare


def cell(m: int, rho: float, alpha: float, effect: float, word: str) -> CellComparison:
    unknown = ("baseline", "other", "low", "high", "p", "p_holm", "smallest_effect")
    return CellComparison(
        metric=DELAY_RATIO,
        cores=m,
        sync_share=rho,
        contended_ratio=alpha,
        deadline_factor=10.0,
        pairs=10,
        effect=effect,
        verdict=word,
        **dict.fromkeys(unknown),
    )


def newer(m: int, rho: float, alpha: float) -> float:
    return 0.01 if m <= 4 else -0.1 * rho * alpha


def realtime(m: int, rho: float, alpha: float) -> float:
    return 0.05 if (m, rho, alpha) == (16, 1, 1) else -0.3 * rho * alpha * (m > 1)


@pytest.mark.parametrize(
    ("number", "surface", "expected"),
    [
        (7, newer, "confirmed"),
        (7, lambda m, r, a: 0.2, "not confirmed"),
        (7, lambda m, r, a: 0.0, "not confirmed"),
        (8, realtime, "confirmed"),
        (8, lambda m, r, a: 0.1 * r * a, "not confirmed"),
        (8, lambda m, r, a: 0.0, "not confirmed"),
    ],
)
def test_kernels_are_told_apart_and_compared(number: int, surface: Surface, expected: str) -> None:
    runs = [profile(platform=p, name=n) for p, n in ((RT, "rt"), (NEW, "new"), (OLD, "old"))]
    found = verdict(number, *runs, compare=comparing(surface))
    assert found.verdict == expected
    assert found.runs == (("old", "new") if number == 7 else ("new", "rt"))


@pytest.mark.parametrize("number", [7, 8])
def test_one_kernel_twice_is_not_two(number: int) -> None:
    runs = [profile(platform=NEW, name=name) for name in "ab"]
    found = verdict(number, *runs, compare=comparing(newer))
    assert found.verdict == "needs results of 2 kernels"
    assert verdict(number, runs[0]).verdict == "needs results of 2 kernels"


def test_misses_with_and_without_real_time_preemption() -> None:
    # the lower 95 % of 100 sets, and a tail of five
    plain = stress(misses=(0.02,) * 95 + (0.5,) * 5, platform=NEW, name="new")
    less = stress(misses=(0.01,) * 95 + (0.9,) * 5, platform=RT, name="rt")
    found = verdict(9, less, plain)
    assert (found.verdict, found.runs) == ("confirmed", ("new", "rt"))
    assert "less without: -0.950 %" in found.because
    beyond = dict(found.figures)["difference of what lies beyond it (above 0 in the paper)"]
    assert beyond == "+2.000 %"
    more = stress(misses=(0.03,) * 95 + (0.5,) * 5, platform=RT, name="rt")
    assert verdict(9, plain, more).verdict == "not confirmed"


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
