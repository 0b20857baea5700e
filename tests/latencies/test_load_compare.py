"""Truth: comparisons of made-up load tests whose true difference is known."""

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from helpers.aa import RunFigure, Side
from helpers.answers import Capture
from helpers.judges import compare_sides, options_of
from helpers.load_tests import asked, load_test

from deadbeat.base.model.comparison import ComparisonResult, Lineup
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.observations import Cell
from deadbeat.base.store.place import CAMPAIGN_FILE
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.main import main
from deadbeat.latencies.load.model import REFERENCE
from deadbeat.latencies.load.observe import COMPARABLE, LoadTest, observe
from deadbeat.latencies.load.spec import block_of, plan

DEADLINE = 15_000_000


def compared(
    *tests: LoadTest, aa: tuple[LoadTest, ...] = (), partial: bool = False, **how: bool
) -> ComparisonResult:
    return compare_results(COMPARABLE, Lineup(subjects=tests, repeats=aa, partial=partial), **how)


def values(test: LoadTest, run: str) -> dict[str, float]:
    """What is observed of one run, its block and the share that was skipped."""
    found: dict[str, float] = {}
    for row in observe(test).rows:
        if row.run == run:
            value = math.nan if row.value is None else row.value
            found |= {row.metric: value, "skipped": row.censored, "block": float(row.block)}
    return found


def verdicts(result: ComparisonResult) -> dict[str, str]:
    return {metric.metric.name: metric.verdict for metric in result.comparisons[0].metrics}


def test_more_missed_deadlines_are_worse_and_fewer_better() -> None:
    few, many = load_test("a", 1, misses=0.01), load_test("b", 2, misses=0.08)
    result = compared(few, many)
    assert result.verdict == verdicts(result)["deadline_miss_ratio"] == "worse"
    effect = result.comparisons[0].metrics[0].effect
    assert effect == pytest.approx(0.07, abs=0.02)
    assert "miss ratio worse" in result.comparisons[0].reason
    assert verdicts(compared(many, few))["deadline_miss_ratio"] == "better"
    assert compared(few, many, load_test("c", 3, misses=0.01)).verdict == "worse"


def test_longer_rounds_are_worse_and_what_is_alike_is_equal() -> None:
    a = load_test("a", 1)
    found = verdicts(compared(a, load_test("b", 2, scale=1.2)))
    assert found["response_p50"] == found["response_p99"] == "worse"
    assert set(verdicts(compared(a, load_test("b", 2))).values()) == {"equal"}


def test_a_run_has_its_own_figures_skipped_releases_are_missed_and_told() -> None:
    test = load_test("a", 1, form="periodic", misses=0.1, normal=(0, 8), repeats=1)
    runs = {run.key.text: run for run in test.every}
    run, without = runs["n008.plain.0001"], runs[f"n008.{REFERENCE}.0001"]
    figure = values(test, "n008.plain.0001")
    low, high = run.window_ns
    last = high - DEADLINE
    counted = (run.rounds.release_ns >= low) & (run.rounds.release_ns <= last)
    responses = np.sort(run.rounds.response_ns[counted])
    assert figure["response_max"] == responses[-1]
    assert figure["response_p99"] == responses[-(-len(responses) * 99 // 100) - 1]
    assert figure["response_p50"] == responses[-(-len(responses) // 2) - 1]
    assert figure["work_lost"] == pytest.approx(
        1 - sum(run.normal_units) / sum(without.normal_units)
    )
    skipped = sum(
        low <= release + step * 20_000_000 <= last
        for release, many in zip(run.rounds.release_ns, run.rounds.skipped, strict=True)
        for step in range(1, int(many) + 1)
    )
    released = len(responses) + skipped
    late = int((responses > DEADLINE).sum())
    assert skipped > 0
    assert figure["deadline_miss_ratio"] == (late + skipped) / released
    assert figure["skipped"] == skipped / released


def test_blocks_are_those_of_the_plan_where_the_most_threads_have_twice_the_runs() -> None:
    test = load_test("a", 1, repeats=2, remedy_repeats=4)
    most = [values(test, f"n008.plain.{repeat:04d}") for repeat in range(1, 5)]
    assert [run["block"] for run in most] == [1, 1, 2, 2]
    assert values(test, "n004.plain.0002")["block"] == 2
    known = {run.key.text: run for run in test.every}
    work, without = (
        sum(known[key].normal_units) for key in ("n008.plain.0004", f"n008.{REFERENCE}.0004")
    )
    assert most[3]["work_lost"] == pytest.approx(1 - work / without)


@pytest.mark.parametrize("many", [3, 4, 5, 8])
def test_a_block_of_the_plan_has_every_cell(many: int) -> None:
    spec = asked(repeats=3, remedy_repeats=many)
    keys = plan(spec, {})
    blocks = [block_of(spec, key) for key in keys]
    assert blocks == sorted(blocks) and set(blocks) == {1, 2, 3}
    for block in (1, 2, 3):
        own = {(k.normal, k.condition) for k, b in zip(keys, blocks, strict=True) if b == block}
        assert own == {(key.normal, key.condition) for key in keys}


def test_cells_are_numbers_of_threads_in_their_order() -> None:
    tests = [load_test(name, n, normal=(1, 2, 10), repeats=1) for n, name in enumerate("ab")]
    metrics = compared(*tests).comparisons[0].metrics
    groups = ["1 ordinary thread", "2 ordinary threads", "10 ordinary threads"]
    assert [cell.group for cell in metrics[0].cells] == groups
    assert Cell("2") < Cell("10") < Cell("a")


def test_nothing_can_be_lost_by_no_thread() -> None:
    """At 0 ordinary threads there is no work: that cell alone is not in the metric."""
    work = compared(load_test("a", 1), load_test("b", 2)).comparisons[0].metrics[-1]
    assert [cell.group for cell in work.cells] == ["4 ordinary threads", "8 ordinary threads"]
    assert work.effect is not None and work.low is not None and work.high is not None
    assert work.low <= work.effect <= work.high


def test_threads_may_do_more_beside_it_and_the_interval_still_holds_the_effect() -> None:
    """Measured twice, work scatters: a share that is lost may come out below 0."""
    one, two = (
        Side(name=name, runs={
            f"{repeat}": RunFigure(
                cell=Cell("8 ordinary threads"), block=f"{repeat}",
                values={"work_lost": -0.05 + 0.01 * change * (repeat % 3)},
            ) for repeat in range(18)
        }) for name, change in (("a", 1), ("b", -1))
    )  # fmt: skip
    options = options_of("interference", ("work_lost",), ungated=True)
    (metric,) = compare_sides(one, two, options=options).metrics
    assert metric.effect == pytest.approx(-0.02)
    assert metric.low is not None and metric.high is not None
    assert metric.low < -0.02 < metric.high < 0


ONE = {"repeats": 1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"form": "periodic"}, "form: back-to-back .a. . periodic .b."),
        ({"form": "periodic"}, "period: none .a. . 20 ms .b."),
        ({"round": 5_000_000}, "round: 10 ms .a. . 5 ms .b."),
        ({"deadline": 20_000_000}, "deadline: 15 ms .a. . 20 ms .b."),
        ({"priority": 50}, "priority: 99 .a. . 50 .b."),
        ({"policy": "other"}, "policy: fifo .a. . other .b."),
        ({"normal": (0, 4)}, "normal: 0, 4, 8 .a. . 0, 4 .b."),
        ({"seconds": 2.0}, "seconds: 1.0 .a. . 2.0 .b."),
    ],
)
def test_what_asked_something_else_is_refused_with_what_differs(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        compared(load_test("a", 1, **ONE), load_test("b", 2, **{**ONE, **changes}))
    assert caught.value.hint
    assert re.search(words, "\n".join([str(caught.value), *caught.value.details]))


def test_who_skips_releases_is_not_better_by_the_rounds_that_are_left() -> None:
    a = load_test("a", 1, form="periodic", normal=(0, 2))
    rounds = [run.rounds for run in load_test("b", 2, form="periodic", normal=(0, 2)).every]
    b = load_test("b", 2, form="periodic", normal=(0, 2), scale=0.8)
    skipping = [
        evolve(run, rounds=evolve(run.rounds, skipped=run.rounds.skipped * 0 + 1))
        if len(run.rounds)
        else run
        for run in b.every
    ]
    result = compared(a, evolve(b, every=tuple(skipping)))
    assert any(map(len, rounds))
    assert verdicts(result)["response_p50"] == "undecided"
    assert verdicts(result)["deadline_miss_ratio"] == "worse"
    assert any("of the releases were skipped" in each.message for each in result.findings)


def test_other_work_in_a_round_and_other_cpus_are_told() -> None:
    a = load_test("a", 1, **ONE)
    b = load_test("b", 2, **ONE)
    b = evolve(b, additions=80_000_000, spec=evolve(b.spec, cpus=(0, 1)))
    result = compared(a, b)
    (finding,) = [each for each in result.findings if each.id == "load-rounds-differ"]
    assert "40,000,000 additions in a and 80,000,000 in b: each takes 10 ms" in finding.message
    assert "CPUs of the threads: 0, 1, 2, 3 | 0, 1" in result.differences
    alike = compared(a, evolve(b, additions=40_400_000))
    assert "load-rounds-differ" not in {each.id for each in alike.findings}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("a", "b")):
        words = [
            "load",
            "--simulated",
            "--set",
            "normal=0,4",
            "--repeats",
            "3",
            "--duration",
            "500ms",
        ]
        words += ["--remedies", "pin,rt-bandwidth", "--name", name, "--seed", str(seed)]
        assert main([*words, "--no-figures", "--no-trace", "--runs", str(runs)]) == 0
    (runs / "campaign").mkdir()
    (runs / "campaign" / CAMPAIGN_FILE).write_text("{}", encoding="utf-8")
    shutil.copytree(runs / "b", runs / "half")
    for path in sorted((runs / "half" / "runs").glob("*.0003.json")):
        path.unlink()
    return runs


def test_the_terminal_has_verdict_metrics_and_remedies(folders: Path, capsys: Capture) -> None:
    capsys.readouterr()
    words = ["--runs", str(folders), "--no-figures", "--partial", "--all"]
    assert main(["compare", "a", "half", *words]) == 0
    told = capsys.readouterr().out
    assert "PARTIAL: half unfinished" in told and "SIMULATED" in told
    assert "work lost" in told and "rt-bandwidth" in told and "half: miss ratio" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a"], "two results are needed"),
        (["campaign", "a"], "a is a load test, the other is a campaign"),
        (["a", "half"], "half is unfinished: 7 of "),
        (["a", "b", "--per-cpu"], "--per-cpu is of latency matrices"),
        (["a", "b", "--aa", "campaign"], "they have nothing in common"),
    ],
)
def test_a_wrong_command_is_one_line(
    folders: Path, capsys: Capture, arguments: list[str], words: str
) -> None:
    capsys.readouterr()
    assert main(["compare", *arguments, "--runs", str(folders)]) == 2
    told = capsys.readouterr().err
    assert words in told and len(told.splitlines()) == 1
