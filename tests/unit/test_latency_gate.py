"""Truth: sessions in which nothing differs but what a session does to each cell by itself, figures
cut off to whole steps, and sizes beyond any that mean something."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from aa import RunFigure, Side
from attrs import evolve
from judges import compare_sides, options_of

from deadbeat.compare.words import bound_text, effect_text, interval_text, verdict_text
from deadbeat.kinds.latency.observe import METRICS, _slack, _value
from deadbeat.model.comparison import CellComparison
from deadbeat.model.histogram import Histogram
from deadbeat.model.observations import Cell

OPTIONS = options_of("latency")
P50, P99, P999 = METRICS[0], METRICS[2], METRICS[3]
LATENCIES = ("p50", "mean", "p99", "p99.9", "max")


def cell(number: int) -> Cell:
    return Cell(f"load{number} prober", -1, -1.0, -1.0, 0.0)


def session(
    name: str, random: np.random.Generator, *, common: float, own: float, cells: int = 5
) -> Side:
    """Five runs of each cell that scatter by 2 %; the session shifts all cells, and each."""
    whole, runs = random.normal(0, common), {}
    for number in range(cells):
        shift = whole + random.normal(0, own)
        for repeat in range(5):
            values: dict[str, float | None] = {
                metric: 20_000 * math.exp(shift + random.normal(0, 0.02)) for metric in LATENCIES
            }
            runs[f"{number}.{repeat}"] = RunFigure(
                cell=cell(number), block=f"{repeat}", values={**values, "missed_ratio": 0.0}
            )
    return Side(name=name, runs=runs)


def alarms(comparisons: int, repeats: int, *, common: float, own: float, cells: int = 5) -> int:
    random = np.random.default_rng(17)
    found = 0
    for _ in range(comparisons):
        a, b, *rest = (
            session(f"s{n}", random, common=common, own=own, cells=cells)
            for n in range(2 + repeats)
        )
        found += compare_sides(a, b, rest, options=OPTIONS).verdict in ("worse", "better")
    return found


def test_sessions_that_move_cells_apart_are_no_difference() -> None:
    """With a gate over all cells alone 10 of 30 were called one: it averaged their shifts out."""
    assert alarms(30, 2, common=0.0, own=0.1) <= 4


@pytest.mark.statistical
@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize(("common", "own", "cells"), [(0, 0.1, 5), (0.03, 0.05, 5), (0, 0.05, 24)])
def test_few_sessions_are_called_different(
    common: float, own: float, cells: int, repeats: int
) -> None:
    """Alarms at 5 % would exceed 16 of 200 once in forty."""
    assert alarms(200, repeats, common=common, own=own, cells=cells) <= 16


def same_cells(name: str, metric: str, values: Sequence[float], **more: Any) -> Side:
    """Three cells with a run for each of ``values``."""
    runs = {
        f"{number}.{repeat}": RunFigure(
            cell=cell(number), block=f"{repeat}", values={metric: value}, **more
        )
        for number in range(3)
        for repeat, value in enumerate(values)
    }
    return Side(name=name, runs=runs)


def steps(name: str, median: float) -> Side:
    """Every run of every cell says the same, in whole microseconds."""
    return same_cells(name, "p50", [median] * 5, hidden={"p50": math.log1p(999 / median)})


def test_a_step_of_the_engine_is_no_difference() -> None:
    """2.999 us are told as 2: once 50 % more, with p = 0."""
    options = options_of("latency", ("p50",))
    found = compare_sides(
        steps("a", 2_000), steps("b", 3_000), [steps("r", 2_000)], options=options
    )
    (metric,) = found.metrics
    assert found.verdict == "undecided"
    assert metric.p is not None and metric.p > 0.5
    assert metric.low is not None and metric.low < 0.01
    far = compare_sides(steps("a", 2_000), steps("b", 9_000), [steps("r", 2_000)], options=options)
    assert far.verdict == "worse"
    assert far.metrics[0].p > 0


def in_steps(name: str, median: float, *, seed: int) -> Side:
    """Latencies that spread by 2 % around ``median``, in whole microseconds."""
    random = np.random.default_rng(seed)
    runs = {}
    for number in range(3):
        for repeat in range(5):
            waits = np.floor(median * np.exp(0.02 * random.normal(size=200)) / 1000) * 1000
            latencies = Histogram.of(waits.astype(int).tolist(), resolution_ns=1000)
            runs[f"{number}.{repeat}"] = RunFigure(
                cell=cell(number),
                block=f"{repeat}",
                values={"mean": latencies.mean_ns},
                hidden={"mean": _slack(latencies, "mean", latencies.mean_ns)},
            )
    return Side(name=name, runs=runs)


def test_a_mean_of_steps_may_be_a_whole_step_larger() -> None:
    """2.9 us are told as 2 and 3.07 us as 3: an effect of 6 % was told as 40 %, and worse."""
    options = options_of("latency", ("mean",))
    a, b, *rest = (
        in_steps(name, median, seed=seed)
        for seed, (name, median) in enumerate(
            [("a", 2900), ("b", 2900 * 1.06), ("r1", 2900), ("r2", 2900)]
        )
    )
    found = compare_sides(a, b, rest, options=options)
    (metric,) = found.metrics
    assert metric.effect is not None and metric.effect > 0.3
    assert metric.low is not None and metric.low < 0.06
    assert found.verdict == "undecided"
    late = in_steps("late", 29_000, seed=9)
    assert compare_sides(a, late, rest, options=options).verdict == "worse"
    assert _value(Histogram.of([2000]), "mean") == 2000
    assert _slack(Histogram.of([]), "mean", None) == _slack(Histogram.of([2000]), "mean", 2000) == 0


def test_bounds_beyond_all_ratios_are_none() -> None:
    """Two repeats of which one is 160 times as late: the upper end was beyond a float."""

    a, b, r = (
        same_cells(name, "max", [60_000.0, last])
        for name, last in (("a", 5e4), ("b", 9e6), ("r", 5.2e4))
    )
    found = compare_sides(a, b, [r], options=options_of("latency", ("max",)))
    (metric,) = found.metrics
    assert found.verdict == "undecided" and (metric.low, metric.high) == (None, None)


def test_shares_of_missed_periods_stay_shares() -> None:
    a, b, r = (
        same_cells(name, "missed_ratio", [0.0, share, 0.0])
        for name, share in (("a", 0.0), ("b", 0.3), ("r", 0.0))
    )
    found = compare_sides(a, b, [r], options=options_of("latency", ("missed_ratio",)))
    (metric,) = found.metrics
    assert metric.low is not None and metric.low >= 0.0
    assert metric.high is not None and metric.high <= 1.0
    for each in metric.cells:
        assert each.low is not None and each.low >= 0.0


def test_large_sizes_are_factors_or_nothing() -> None:
    assert effect_text(P99, 0.041) == "+4.1 %"
    assert effect_text(P99, 2.2) == "3.2 times"
    assert effect_text(P999, 302.178) == "more than 10 times"
    assert bound_text(P999, None) == "cannot tell"


@pytest.mark.parametrize(
    ("effect", "low", "high", "text"),
    [
        (0.01, -0.012, 0.034, "+1.0 % [-1.20, +3.40]"),
        (1.3, -0.07, 4.6, "2.3 times [0.93, 5.6]"),
        (-0.1, -0.5, 15.4, "0.90 times [0.50, > 10]"),
        (2.0, 1.5, None, "3.0 times [2.5, open]"),
        (2.0, None, None, "3.0 times [cannot tell]"),
    ],
)
def test_a_row_has_one_unit(effect: float, low: float, high: float, text: str) -> None:
    row = CellComparison(
        metric=P99, cores=1, sync_share=None, contended_ratio=None, deadline_factor=0.0,
        effect=effect, low=low, high=high,
    )  # fmt: skip
    assert interval_text(row) == text


def test_a_side_has_its_own_mean_with_and_without_repeats() -> None:
    rng = np.random.default_rng(5)
    one, two, again = (session(name, rng, common=0.1, own=0.01) for name in ("a", "b", "r"))
    options = options_of("latency", ("p50",))
    for plain, repeated in zip(
        compare_sides(one, two, options=options).metrics[0].cells,
        compare_sides(one, two, [again], options=options).metrics[0].cells,
        strict=True,
    ):
        assert (plain.baseline, plain.other) == (repeated.baseline, repeated.other)
        assert plain.effect != repeated.effect


def test_equal_over_cells_of_which_some_are_undecided_is_so_on_average() -> None:
    side, twin = (
        session(name, np.random.default_rng(seed), common=0, own=0.001)
        for name, seed in (("a", 1), ("b", 2))
    )
    repeats = [session("r", np.random.default_rng(3), common=0, own=0.001)]
    (metric,) = compare_sides(side, twin, repeats, options=options_of("latency", ("p50",))).metrics
    equal = evolve(
        metric, verdict="equal", cells=tuple(evolve(c, verdict="equal") for c in metric.cells)
    )
    assert verdict_text(equal) == "equal"
    cells = (evolve(equal.cells[0], verdict="undecided"), *equal.cells[1:])
    assert verdict_text(evolve(equal, cells=cells)) == "equal on average"
