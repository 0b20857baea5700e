"""Truth: figures cut off to whole steps, and sizes beyond any that mean something."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers.aa import RunFigure, Side
from helpers.judges import compare_sides, options_of

from deadbeat.base.model.comparison import CellComparison
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.observations import Cell
from deadbeat.base.verdicts.words import bound_text, effect_text, interval_text
from deadbeat.latencies.latency.observe import METRICS, _slack, _value

P50, P99, P999 = METRICS[0], METRICS[2], METRICS[3]


def cell(number: int) -> Cell:
    return Cell(f"load{number} prober", -1, -1.0, -1.0, 0.0)


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
