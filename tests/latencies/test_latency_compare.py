"""Comparisons of made-up matrices whose true difference is known."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import Capture, answer
from helpers.matrices import LOADS, PLATFORM, matrix, of_runs
from helpers.pages import Page

from deadbeat.base.model.comparison import ComparisonResult, Lineup
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.main import main
from deadbeat.latencies.latency.model import CpuLatency, LatencyRun, LoadReport
from deadbeat.latencies.latency.observe import COMPARABLE, Matrix, observe
from deadbeat.machine.settings.hardening import OPTIONS

INVALID = (Finding(id="wrong-priority", severity="invalid", message="3"),)
BUSY = (Finding(id="other-work", severity="warning", message="a build"),)


def compared(
    *matrices: Matrix,
    aa: tuple[Matrix, ...] = (),
    per_cpu: bool = False,
    partial: bool = False,
    **how: bool,
) -> ComparisonResult:
    lineup = Lineup(subjects=matrices, repeats=aa, per_cpu=per_cpu, partial=partial)
    return compare_results(COMPARABLE, lineup, **how)


def verdicts(result: ComparisonResult) -> dict[str, str]:
    return {metric.metric.name: metric.verdict for metric in result.comparisons[0].metrics}


def test_a_slower_kernel_is_worse_and_a_faster_one_better() -> None:
    ordinary = matrix("a", 1)
    slow, fast = matrix("b", 2, scale=1.3), matrix("c", 3, scale=0.75)
    result = compared(ordinary, slow)
    assert result.verdict == "worse"
    assert {verdicts(result)[name] for name in ("p50", "mean", "p99")} == {"worse"}
    mean = result.comparisons[0].metrics[1]
    assert mean.effect == pytest.approx(0.3, abs=0.05)
    assert mean.low is not None and mean.high is not None and mean.low < 0.3 < mean.high
    assert compared(ordinary, fast).verdict == "better"
    assert compared(ordinary, slow, fast).verdict == "worse"


def with_spikes(run: LatencyRun) -> LatencyRun:
    """In every other repeat, one wake-up far later than any other."""
    if run.key.repeat % 2:
        return run
    spike = Histogram.of([50_000_000])
    cpus = (
        evolve(cpu, raw=cpu.raw + spike, corrected=(cpu.corrected or cpu.raw) + spike)
        for cpu in run.cpus
    )
    return evolve(run, cpus=tuple(cpus))


def test_an_earlier_median_does_not_make_up_for_a_later_tail() -> None:
    """The maxima scatter too much to be called worse; that is no reason to call B better."""
    fast = matrix("b", 3, scale=0.75)
    result = compared(matrix("a", 1), of_runs("b", [with_spikes(run) for run in fast.runs]))
    found = verdicts(result)
    assert found["p50"] == "better" and found["max"] == "undecided"
    assert result.verdict == "undecided"
    assert "maximum" in result.comparisons[0].reason or "max" in result.comparisons[0].reason


def test_means_that_are_alike_are_shown_equal_and_maxima_are_not() -> None:
    found = verdicts(compared(matrix("a", 1), matrix("b", 2)))
    assert found["p50"] == found["mean"] == found["p99"] == "equal"
    assert found["max"] == "undecided"


def test_cells_are_loads_by_engine_and_each_cpu_where_asked() -> None:
    a, b = matrix("a", 1, repeats=3), matrix("b", 2, repeats=3)
    groups = [cell.group for cell in compared(a, b).comparisons[0].metrics[0].cells]
    assert groups == ["cpu-050 simulated", "cpu-100 simulated", "idle simulated"]
    cells = compared(a, b, per_cpu=True).comparisons[0].metrics[0].cells
    assert [cell.group for cell in cells[:2]] == [
        "cpu-050 simulated CPU 0",
        "cpu-050 simulated CPU 1",
    ]
    assert {cell.pairs for cell in cells} == {3}


def test_a_run_has_the_quantiles_of_all_its_cpus() -> None:
    one = matrix("a", 1, repeats=1)
    run = one.runs[0]
    table = observe(of_runs("a", [run]))
    pooled = run.cpus[0].raw + run.cpus[1].raw
    expected = {"p99": pooled.quantile(990_000), "max": pooled.max_ns, "missed_ratio": 0.0}
    for name, value in expected.items():
        assert [row.value for row in table.rows if row.metric == name] == [value]


def late_and_labelled(one: Matrix, *, scale: int) -> Matrix:
    """With other work beside two of three repeats, and all that was measured so much later."""

    def later(cpu: CpuLatency) -> CpuLatency:
        values = Histogram.of([int(low) * scale for low in cpu.raw.lows_ns()])
        return evolve(cpu, raw=values, corrected=values)

    busy = LoadReport(judged=True, achieved={"0": 0.9, "1": 0.8})
    runs = [
        evolve(run, load=busy, problems=BUSY, cpus=tuple(map(later, run.cpus)))
        if run.key.repeat % 3
        else run
        for run in one.runs
    ]
    return of_runs(one.name, runs)


def test_runs_beside_other_work_decide_as_any_others() -> None:
    a, b = matrix("a", 1, repeats=12), matrix("b", 2, repeats=12)
    result = compared(a, late_and_labelled(b, scale=30))
    assert result.verdict == "worse"
    (told,) = [f for f in result.findings if f.id == "other-work-beside"]
    assert told.where == "b" and "of 36 runs were disturbed by other work" in told.message
    assert "up to 1.7 CPUs" in told.message
    assert "latency-invalid-runs" not in {finding.id for finding in result.findings}


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({}, {"interval": 5}, "measured in different ways"),
        ({"loads": LOADS[:1]}, {"loads": LOADS[1:]}, "no load in common"),
        ({}, {"cpus": (0,)}, "measured on 2 CPUs"),
    ],
)
def test_what_cannot_be_compared_is_refused(one: dict[str, Any], other: dict[str, Any], words: str):
    settings = {key: other.pop(key) for key in ("interval",) if key in other}
    a, b = matrix("a", 1, repeats=1, **one), matrix("b", 2, repeats=1, **other)
    with pytest.raises(UsageError, match=words):
        compared(a, evolve(b, settings={**b.settings, **settings}))


def test_loads_of_one_side_only_are_told_and_left_out() -> None:
    result = compared(matrix("a", 1), matrix("b", 2, loads=LOADS[:2]))
    assert "latency-cells-alone" in {finding.id for finding in result.findings}
    assert len(result.comparisons[0].metrics[0].cells) == 2


def blind(run: LatencyRun, missed: int) -> LatencyRun:
    """As cyclictest sees it: no correction, missed periods counted."""
    cpus = (
        evolve(cpu, corrected=None, missed=missed, expected=cpu.cycles + missed) for cpu in run.cpus
    )
    return evolve(run, cpus=tuple(cpus))


def test_who_misses_more_periods_is_not_better_by_what_is_left() -> None:
    a = of_runs("a", [blind(r, 0) for r in matrix("a", 1).runs])
    b = of_runs("b", [blind(r, 100) for r in matrix("b", 2, scale=0.7).runs])
    result = compared(a, b)
    assert verdicts(result)["missed_ratio"] == "worse"
    assert verdicts(result)["p99"] == "undecided"
    assert result.verdict == "worse"
    assert result.parameters["wake_ups"] == "raw"
    assert any("of the periods had no wake-up" in finding.message for finding in result.findings)


def test_corrected_latencies_count_where_all_engines_have_them() -> None:
    a = matrix("a", 1, repeats=3)
    slow = Histogram.of([9_000_000] * 1000)
    b = of_runs(
        "b",
        [
            evolve(r, cpus=tuple(evolve(cpu, corrected=slow) for cpu in r.cpus))
            for r in matrix("b", 2, repeats=3).runs
        ],
    )
    result = compared(a, b)
    assert result.parameters["wake_ups"] == "corrected for missed periods"
    assert verdicts(result)["p99"] == "worse"


def leaving_out(one: Matrix, repeats: int, load: str = "") -> Matrix:
    """Without the first ``repeats`` repeats (of that load), as invalid."""
    kept = ({"problems": INVALID} if r.key.repeat < repeats and load in r.key.load.text else {}
            for r in one.runs)  # fmt: skip
    return of_runs(one.name, [evolve(r, **more) for r, more in zip(one.runs, kept, strict=True)])


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.4])
def test_what_the_baseline_left_out_is_as_hidden_as_what_the_other_did(scale: float) -> None:
    """Of a baseline without its bad runs neither equality nor a disadvantage is shown."""
    result = compared(leaving_out(matrix("a", 1), 2), matrix("b", 2, scale=scale))
    (found,) = result.comparisons
    assert found.verdict == ("better" if scale < 1 else "undecided")
    assert "left out as invalid: 6 of 18 runs of a" in found.reason
    if scale >= 1:
        assert "of the 18 runs of the other have no result in the baseline" in found.reason


def test_a_fifth_of_the_other_left_out_is_no_advantage() -> None:
    other = leaving_out(matrix("b", 2, scale=0.7), 1)
    assert compared(matrix("a", 1), other).verdict == "undecided"


def test_a_cell_of_which_the_baseline_has_no_valid_run_is_not_equal() -> None:
    result = compared(leaving_out(matrix("a", 1), 99, "cpu-100"), matrix("b", 2))
    assert result.verdict == "undecided"
    cells = [cell for cell in result.comparisons[0].metrics[0].cells if not cell.pairs]
    assert [cell.group for cell in cells] == ["cpu-100 simulated"]


def test_the_rate_of_each_load_is_compared_and_drawn(in_a_folder: None, capsys: Capture) -> None:
    """Truth: the second side's load does four fifths of the first's, and latencies are alike."""
    for side, scale in (("a", 5.0), ("b", 4.0)):
        command = ("latency", "--simulated", "--loads", "idle,io", "--repeats", "5", "--name", side)
        assert main((*command, "--duration", "0.1s", "--no-figures")) == 0
        for number, path in enumerate(sorted(Path("runs", side, "runs").glob("io*.json"))):
            plain = json.loads(path.read_text("utf-8"))
            plain["run"]["load"]["throughput"] = {"hdd written B/s": scale + number % 2 / 100}
            path.write_text(json.dumps(plain), "utf-8")
    (found,) = answer(capsys, "compare", "a", "b")["comparisons"]
    (rate,) = (metric for metric in found["metrics"] if metric["metric"] == "rate")
    assert found["verdict"] == rate["verdict"] == "worse"
    assert -0.21 < rate["low"] <= rate["effect"] <= rate["high"] < -0.19
    page = Page(Path("runs/compare-a-b/compare.html").read_text("utf-8"))
    (chart,) = (x for x in page.data()["charts"] if x["name"] == "against-load-simulated")
    maxima, _, _, rates = ([each["y"] for each in panel["curves"]] for panel in chart["panels"])
    assert (len(maxima), rates) == (2, [[1.0], [pytest.approx(0.8, abs=0.002)]])


def test_a_comparison_names_the_option_that_differs() -> None:
    off = {option.name: "off: made up" for option in OPTIONS}
    hardened = {**off, "init-on-free": "on: init_on_free=1"}
    sides = [
        evolve(
            matrix(name, seed, scale=scale),
            platform={**PLATFORM, "details": {"hardening": states}},
        )
        for name, seed, scale, states in (("plain", 1, 1.0, off), ("hard", 2, 1.5, hardened))
    ]
    found = compared(*sides)
    line = "memory is cleared when freed (init_on_free): off: made up | on: init_on_free=1"
    assert line in found.differences
    assert found.verdict == "worse"
