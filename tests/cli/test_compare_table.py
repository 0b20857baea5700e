"""The table of a comparison in a terminal of 80 columns: the widest texts there can be."""

import math
import sys

import numpy as np
import pytest
from attrs import evolve

from deadbeat.base.model.comparison import (
    CellComparison,
    Comparison,
    ComparisonResult,
    MetricComparison,
)
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.report.terminal import print_parts
from deadbeat.base.verdicts.pairs import PairedRuns
from deadbeat.cli.compare.page import comparison_document
from deadbeat.latencies.latency import observe as latency
from deadbeat.tasksets.contention import observe as contention

KNOWN = {metric.name: metric for metric in (*latency.METRICS, *contention.METRICS)}


def cell(metric: Metric, verdict: str) -> CellComparison:
    return CellComparison(
        metric=metric, cores=-1, sync_share=None, contended_ratio=None, deadline_factor=0.0,
        group="idle prober", pairs=8, baseline=1.0, other=1.0, effect=0.0, low=None, high=None,
        p=None, p_holm=None, smallest_effect=None, verdict=verdict,
    )  # fmt: skip


def row(name: str, *, verdict: str = "undecided") -> MetricComparison:
    return MetricComparison(
        metric=KNOWN[name],
        effect=-0.123,
        low=-0.4567,
        high=0.2345,
        p=0.00001234,
        p_holm=0.00001234,
        verdict=verdict,
        minimum=0.1,
        gate=0.456,
        gate_basis="",
        smallest_effect=0.789,
        cells=tuple(cell(KNOWN[name], verdict) for verdict in ("worse", "undecided", "equal")),
    )


ROWS = (
    row("p50"),
    evolve(row("p99.9", verdict="worse"), effect=12.0, low=1.5, high=None, gate=1.4, p_holm=0.0012),
    evolve(row("missed_ratio"), told=False, effect=0.0, low=-0.1, high=0.153, minimum=0.001),
    evolve(row("max", verdict="equal"), smallest_effect=None, p_holm=1e-9),
    evolve(row("deadline_miss_ratio"), no_worse=True, smallest_effect=0.2, gate=0.1234),
    evolve(row("mean"), effect=3.0, low=1.5, high=20.0, gate=20.0, p_holm=None),
)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in {"COLUMNS": "80", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    comparison = Comparison(baseline="a", other="b", metrics=ROWS, verdict="undecided", reason="")
    result = ComparisonResult(
        campaigns=({"name": "a"}, {"name": "b"}), comparisons=(comparison,), differences=(),
        findings=(), labels=(), verdict="undecided",
    )  # fmt: skip
    print_parts(comparison_document(result).sections[0].parts)
    return capsys.readouterr().out.splitlines()


def test_eighty_columns_are_enough_and_no_number_is_broken(lines: list[str]) -> None:
    assert max(map(len, lines)) <= 80
    told = "\n".join(lines)
    for whole in ("p99.9", "no worse", "-12.3 %", "[-45.67, +23.45]", "4.0 times", "[2.5, > 10]",
                  "[2.5, open]", "1.2e-05", "0.0012"):  # fmt: skip
        assert whole in told, whole


def test_what_the_columns_are_stands_below(lines: list[str]) -> None:
    told = " ".join(lines)
    assert "could have shown: the smallest effect that is found with 80 %" in told
    assert "minimum effect: 10.0 % of p50, p99.9, max and mean" in told
    assert "0.10 points of missed periods" in told


LATE = Metric(name="late", title="Late", minimum=0.1)
TWO, TEN = Cell("2 threads"), Cell("10 threads")


def test_runs_are_paired_by_name_metric_by_metric() -> None:
    rows = [
        Observation(run="r1", cell=TEN, block="1", metric="late", value=3.0, slack=0.1, at=2.0),
        Observation(run="r0", cell=TWO, block="0", metric="late", value=None, censored=1.0),
        Observation(run="r0", cell=TWO, block="0", metric="missed", value=0.5),
    ]
    table = Observations(name="a", rows=rows, cells=[Cell("3 threads")])
    assert table.cells == (TWO, Cell("3 threads"), TEN)
    pairs = PairedRuns.of(LATE, [table, table])
    assert pairs.cell.tolist() == [0, 2] and pairs.block.tolist() == [0, 1]
    assert np.isnan(pairs.values[:, 0]).all() and (pairs.values[:, 1] == math.log(3)).all()
    assert pairs.ran.all() and pairs.censored[0].tolist() == [1.0, 0.0]
    assert pairs.slack[0].tolist() == [0.0, 0.1] and pairs.at[1] == 2.0
    assert not PairedRuns.of(LATE, [Observations(name="b", rows=[])] * 2).cells
