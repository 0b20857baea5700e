"""Summaries of made-up matrices against their plain lists."""

import pytest
from attrs import evolve
from helpers.latencies import made_up_runs
from helpers.latency_series import cpu_of
from helpers.latency_series import run_of as run_of_cpus

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.latencies.latency.model import IDLE, Circumstances, LatencyRun, LoadPoint, LoadReport
from deadbeat.latencies.latency.summarise import latency_rows, summarise_latency
from deadbeat.machine.trace.paths import PathSplit, WorstTraced

HALF = LoadPoint("cpu", 50)


def run_of(repeat: int, *cpus: list[int], load: LoadPoint = IDLE) -> LatencyRun:
    """A run of 36 s of which each CPU saw exactly these latencies."""
    made = (cpu_of(values, cpu=number, ring=0) for number, values in enumerate(cpus))
    return evolve(run_of_cpus(*made, repeat=repeat, load=load), seconds=36.0)


INVALID = (Finding(id="wrong-priority", severity="invalid", message="had 50"),)
WARNED = (Finding(id="steal", severity="warning", message="0.1 %"),)


def test_percentiles_and_maxima_are_those_of_all_wake_ups_never_means() -> None:
    runs = [run_of(0, [100] * 90 + [900] * 10, [100] * 100), run_of(1, [100] * 100, [2_000] * 100)]
    cell = summarise_latency(runs).cells[0]
    every = sorted([100] * 90 + [900] * 10 + [100] * 200 + [2_000] * 100)
    assert cell.whole.raw.histogram.total == 400
    for name, place in (("p50", 200), ("p90", 360), ("p99", 396)):
        assert cell.whole.raw[name].value_ns == every[place - 1]
    assert cell.whole.raw["max"].value_ns == 2_000
    assert cell.whole.raw["mean"].value_ns == sum(every) / 400
    assert (cell.whole.max_cpu, cell.whole.max_run) == (1, runs[1].key)
    assert [row.cpu for row in cell.cpus] == [0, 1]
    assert [row.raw["max"].value_ns for row in cell.cpus] == [900, 2_000]
    assert cell.whole.raw["max"].runs_ns == (900, 2_000)
    assert cell.whole.hours == pytest.approx(0.02)


def test_invalid_runs_count_nowhere_and_are_named() -> None:
    runs = [run_of(0, [100] * 10), evolve(run_of(1, [9_000] * 10), problems=INVALID)]
    summary = summarise_latency(runs)
    cell = summary.cells[0]
    assert (summary.runs, summary.invalid_runs) == (2, 1)
    assert cell.whole.raw["max"].value_ns == 100
    assert [(run.key.repeat, run.problems) for run in cell.invalid] == [(1, INVALID)]


def test_a_warning_counts_and_is_counted() -> None:
    cell = summarise_latency([evolve(run_of(0, [100] * 10), problems=WARNED)]).cells[0]
    assert cell.warnings == {"steal": 1}
    assert cell.whole.cycles == 10


def test_a_cell_without_a_valid_run_has_no_figures() -> None:
    cell = summarise_latency([evolve(run_of(0, [100] * 10), problems=INVALID)]).cells[0]
    assert cell.cpus == () and cell.whole.runs == ()
    assert all(quantity.value_ns is None for quantity in cell.whole.raw.quantities)
    assert cell.whole.tail == () and cell.whole.max_cpu is None


def test_without_wake_ups_enough_a_quantile_is_open_above() -> None:
    cell = summarise_latency([run_of(n, list(range(1, 101))) for n in range(2)]).cells[0]
    assert cell.whole.raw["p50"].low_ns == 43 and cell.whole.raw["p50"].high_ns == 58
    assert cell.whole.raw["p99.9"].value_ns == 100
    assert cell.whole.raw["p99.9"].high_ns is None


def test_an_interval_spans_what_runs_differ_by() -> None:
    alike = [run_of(n, [1_000, 1_010, 1_020] * 1_000) for n in range(5)]
    apart = [run_of(n, [1_000 + 300 * n] * 3_000) for n in range(5)]
    narrow, wide = (summarise_latency(runs).cells[0].whole.raw["p50"] for runs in (alike, apart))
    assert (narrow.low_ns, narrow.high_ns) == (1_010, 1_010)
    assert wide.low_ns is not None and wide.low_ns < 1_300
    assert wide.high_ns is None  # beyond the latest of all, where nothing was measured


def test_one_run_bounds_nothing() -> None:
    """It does not tell how runs differ: its interval cannot be narrower than that of two."""
    cell = summarise_latency([run_of(0, [1_000, 1_010, 1_020] * 1_000)]).cells[0]
    for name in ("mean", "p50", "p99"):
        assert (cell.whole.raw[name].low_ns, cell.whole.raw[name].high_ns) == (None, None)


def test_overflow_has_no_value_and_keeps_its_count() -> None:
    known = Histogram.of([5_000] * 90)
    full = evolve(
        known, overflow=10, overflow_from_ns=1_000_000, max_ns=3_000_000, sum_ns=20_450_000
    )
    run = run_of(0, [1])
    run = evolve(run, cpus=(evolve(run.cpus[0], raw=full, cycles=100, expected=100),))
    row = summarise_latency([run, evolve(run, key=evolve(run.key, repeat=1))]).cells[0].whole
    assert row.raw.histogram.total == 200
    assert row.raw["p50"].value_ns == 5_003  # the top of its bucket
    assert row.raw["p99"].value_ns is None and row.raw["p99"].high_ns is None
    assert row.raw["max"].value_ns == 3_000_000


def test_corrected_is_none_where_one_engine_cannot_tell() -> None:
    runs = made_up_runs(loads=[IDLE], repeats=2, seconds=0.1)
    assert summarise_latency(runs).cells[0].whole.corrected is not None
    blind = evolve(runs[0], cpus=tuple(evolve(cpu, corrected=None) for cpu in runs[0].cpus))
    assert summarise_latency([blind, runs[1]]).cells[0].whole.corrected is None


def test_cells_come_idle_first_and_loads_ascend() -> None:
    runs = [
        run_of(0, [1], load=load)
        for load in (LoadPoint("memory", 50), LoadPoint("cpu", 100), HALF, IDLE)
    ]
    loads = [cell.load.text for cell in summarise_latency(runs).cells]
    assert loads == ["idle", "cpu-050", "cpu-100", "memory-050"]


def test_made_up_runs_are_labelled() -> None:
    assert summarise_latency(made_up_runs(repeats=1, seconds=0.1)).labels == ("simulated",)
    assert summarise_latency([evolve(run_of(0, [1]), policy="other")]).labels == ("policy other",)


def test_load_that_was_reached_is_told_with_its_range() -> None:
    """Busy CPUs are no load: of what was asked for, 80 and 100 %; idle asks for nothing."""
    for load, reached in (
        (LoadReport(asked=50, judged=True, achieved={"0": 0.97}), (0.9, 0.8, 1.0)),
        (LoadReport(asked=50, achieved={"0": 0.97}), (None, None, None)),
        (LoadReport(asked=0, judged=True, achieved={"0": 0.97}), (None, None, None)),
    ):
        loaded = [
            evolve(run_of(n, [1], load=HALF), load=load,
                   circumstances=Circumstances(load_share=0.4 + 0.1 * n))
            for n in range(2)
        ]  # fmt: skip
        cell = summarise_latency(loaded).cells[0]
        assert (cell.achieved, cell.achieved_min, cell.achieved_max) == pytest.approx(reached)


def test_splits_of_several_runs_are_pooled_and_keep_the_worst() -> None:
    def split(times: list[int], worst: int) -> PathSplit:
        return PathSplit(
            cpu=0,
            parts={"interrupt": Histogram.of(times)},
            worst=WorstTraced(interrupt=worst, cause=f"{worst} ns"),
        )

    blind = PathSplit(cpu=0, unavailable="no tracefs")
    runs = [
        evolve(run_of(0, [1]), split=(split([10, 20], 20),)),
        evolve(run_of(1, [1]), split=(split([30, 40], 40),)),
        evolve(run_of(2, [1]), split=(blind,)),
    ]
    (found,) = summarise_latency(runs).cells[0].split
    assert found.parts["interrupt"].total == 4
    assert found.worst.cause == "40 ns" and not found.unavailable
    (none,) = summarise_latency([evolve(run_of(0, [1]), split=(blind,))]).cells[0].split
    assert none.unavailable == "no tracefs"


def test_the_same_seed_gives_the_same_summary() -> None:
    runs = made_up_runs(repeats=3, seconds=0.2, loads=[IDLE])
    assert latency_rows(summarise_latency(runs)) == latency_rows(summarise_latency(runs[::-1]))
