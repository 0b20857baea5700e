"""Truth: price slots written by hand, beside matrices of the made-up machine that are alike."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import answer_of

import deadbeat
from deadbeat.base.model.comparison import ComparisonResult, Lineup, MetricComparison
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import example_platform
from deadbeat.base.model.words import ns_text
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.cli.compare.page import comparison_document
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.main import main
from deadbeat.tasksets.contention.observe import other_states
from deadbeat.tasksets.interfere.kind import COMPARABLE
from deadbeat.tasksets.model.results import PointFigures
from deadbeat.tasksets.prices.stage import PRICES_FILE, save_prices
from deadbeat.tasksets.prices.table import PriceBatch, Slot, StoredPrices
from deadbeat.tasksets.prices.works import PriceWork

NEAR, FAR = 100_000, 480_000
#: What each slot of an object took: (ns of an operation, round trip).
Took = Sequence[tuple[float, int]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("a", "b", "c"), 1):
        deadbeat.interfere(
            name=name, works="matmul:20,futex:64@shared", aggressors="others", repeats=6,
            seed=seed, simulated=True, figures=False, runs=folder,
        )  # fmt: skip
    return folder


def priced(runs: Path, name: str, took: Mapping[str, Took]) -> None:
    """Two cores, each object at size 8, whose calls are 8 operations."""
    works = tuple(PriceWork(object=each, size=8, operations=8, cores=(0, 1)) for each in took)
    slots: list[Slot] = []
    for place, each in enumerate(took.values()):
        for turn, (ns, trip) in enumerate(each):
            calls = 1000
            spent = round(8 * ns * calls)
            slots.append((turn, place, -1, 2, spent, calls, spent, calls, trip, trip))
            slots += [(turn, place, who, 1, 80_000, calls, 0, 0, trip, trip) for who in (0, 1)]
    batch = PriceBatch(works=works, errors=("",) * len(works), slots=tuple(slots))
    platform = evolve(example_platform(2), details={})
    save_prices(
        OwnedFolder(runs / name), StoredPrices(platform=platform, policy="fifo", batches=(batch,))
    )


def steady(ns: float, count: int = 16, trip: int = NEAR) -> Took:
    """With a noise of 1 %, another for another time."""
    noise = random.Random(f"{ns} {count}")
    return [(ns * noise.gauss(1, 0.01), trip) for _ in range(count)]


def compared(runs: Path, *names: str, aa: Sequence[str] = (), **how: Any) -> ComparisonResult:
    subjects, repeats = ([COMPARABLE.read(runs / name) for name in group] for group in (names, aa))
    return compare_results(
        COMPARABLE, Lineup(subjects=tuple(subjects), repeats=tuple(repeats)), **how
    )


def prices_of(found: ComparisonResult) -> MetricComparison:
    (price,) = [m for m in found.comparisons[0].metrics if m.metric.name == "price"]
    return price


def states_told(found: ComparisonResult) -> list[str]:
    return [each.message for each in found.findings if each.id == "host-state-differs"]


def test_a_hand_over_that_takes_twice_as_long_is_worse_where_it_is(runs: Path) -> None:
    priced(runs, "a", {"mutex_inherit": steady(4000), "pipe": steady(850)})
    priced(runs, "b", {"mutex_inherit": steady(8000), "pipe": steady(850)})
    found = compared(runs, "a", "b")
    inherit, pipe = prices_of(found).cells
    assert (inherit.group, inherit.verdict) == ("mutex_inherit:8 beside 1, steady", "worse")
    assert inherit.baseline == pytest.approx(4000, rel=0.01)
    assert inherit.other == pytest.approx(8000, rel=0.01)
    assert inherit.effect == pytest.approx(1.0, abs=0.01)
    assert inherit.low is not None and inherit.high is not None
    assert inherit.low <= 1.0 <= inherit.high
    assert (pipe.group, pipe.verdict, pipe.effect) == ("pipe:8 beside 1, steady", "equal", 0.0)
    assert found.verdict == "worse"
    assert "price worse" in found.comparisons[0].reason
    assert found.comparisons[0].metrics[0].verdict == "equal"  # the matrices are alike
    assert states_told(found) == []


def test_a_price_that_is_not_known_is_not_called_equal(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed, name in enumerate("ab"):
        noise = random.Random(seed)
        wild = [(800 * noise.lognormvariate(0, 0.15), NEAR) for _ in range(16)]
        calm = {f"{each}": steady(850) for each in ("pipe", "futex", "eventfd", "mutex_normal")}
        priced(runs, name, {**calm, "mutex_inherit": wild})
    main(["compare", "a", "b", "--metric", "price", "--runs", str(runs)])
    told = " ".join(capsys.readouterr().out.split())
    assert "EQUAL IN PART: b against a: price equal in 4 of 5 cells; too little" in told


def test_what_an_operation_takes_is_a_mean_over_slots_however_many(runs: Path) -> None:
    """Truth: 16 slots at 100 and 400 in turn mean 200, their root, as 40 at 200 do."""
    priced(runs, "a", {"futex": [(100.0 * 4 ** (n % 2), NEAR) for n in range(16)]})
    priced(runs, "b", {"futex": steady(200, 40)})
    (cell,) = prices_of(compared(runs, "a", "b")).cells
    assert cell.baseline == pytest.approx(200)
    assert cell.effect == pytest.approx(0.0, abs=0.01)
    assert cell.pairs == 8


def test_states_are_compared_with_the_same_state_of_the_other(runs: Path) -> None:
    """One side saw both states, the other one of them: its group of round trips is that one."""
    both = [*steady(850, 12), *steady(2250, 12, FAR)]
    priced(runs, "a", {"pipe": both, "futex": [*steady(40, 12), *steady(110, 12, FAR)]})
    priced(runs, "b", {"pipe": steady(2260, 12, FAR), "futex": steady(111, 12, FAR)})
    found = compared(runs, "a", "b")
    assert [(cell.group, cell.verdict) for cell in prices_of(found).cells] == [
        ("futex:8 beside 1, far", "equal"),
        ("pipe:8 beside 1, far", "equal"),
    ]
    assert states_told(found) == [
        "the host was in another state, or had other objects: 2 of 4 prices were not seen 8 times"
        " on both sides"
        " (futex:8 beside 1, near; pipe:8 beside 1, near), and are not compared"
    ]
    assert comparison_document(found).below == [f"warning: {states_told(found)[0]}"]


def test_what_was_seen_seven_times_is_not_compared(runs: Path) -> None:
    priced(runs, "a", {"pipe": steady(850), "futex": steady(40, 7)})
    priced(runs, "b", {"pipe": steady(850), "futex": steady(400, 7)})
    found = compared(runs, "a", "b")
    assert [cell.group for cell in prices_of(found).cells] == ["pipe:8 beside 1, steady"]
    assert states_told(found)[0].startswith(
        "the host was in another state, or had other objects: 1 of 2 prices"
    )


def test_repeats_of_the_baseline_make_the_gate_of_each_price(runs: Path) -> None:
    priced(runs, "a", {"pipe": steady(850), "futex": steady(40)})
    priced(runs, "b", {"pipe": steady(935), "futex": steady(44)})
    priced(runs, "c", {"pipe": steady(1000), "futex": steady(40)})
    price = prices_of(compared(runs, "a", "b", aa=("c",)))
    assert price.gate_basis.startswith("A/A: 1 repeat of the baseline (c)")
    assert {cell.verdict for cell in price.cells} == {"undecided"}
    assert price.gate is not None and price.gate > 0.1


def test_without_prices_on_both_sides_nothing_is_said_of_them(runs: Path) -> None:
    priced(runs, "a", {"pipe": steady(850)})
    (runs / "b" / PRICES_FILE).unlink()
    found = compared(runs, "a", "b")
    assert [each.metric.name for each in found.comparisons[0].metrics] == ["slowdown"]
    assert (found.parameters["metrics"], states_told(found)) == (["slowdown"], [])
    price = [each for each in COMPARABLE.metrics if each.apart]
    with pytest.raises(UsageError, match="nothing that was asked for was measured on both sides"):
        compared(runs, "a", "b", metrics=price)


def test_the_command_shows_each_price(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    priced(runs, "a", {"mutex_inherit": steady(4000)})
    priced(runs, "b", {"mutex_inherit": steady(8000)})
    main(["compare", "a", "b", "--metric", "price", "--runs", str(runs), "--json"])
    answer = answer_of(capsys.readouterr().out)
    (metric,) = answer["comparisons"][0]["metrics"]
    (cell,) = metric["cells"]
    assert (cell["metric"], cell["verdict"]) == ("price", "worse")
    page = Path(answer["report"]).read_text(encoding="utf-8")
    assert "mutex_inherit:8 beside 1, steady" in page
    assert ns_text(cell["other"]) in page


def point(together: float | None, alone: float | None, cores: int = 2) -> PointFigures:
    shares = {"together": together, "alone": alone}
    return PointFigures(cores=cores, sync_share=1.0, contended_ratio=1.0, far_share=shares)


def test_points_that_met_other_states_are_counted() -> None:
    one = [point(0.0, 0.1), point(0.3, 0.3, 3), point(None, 0.0, 4), point(0.0, 0.0, 8)]
    two = [point(0.0, 0.25), point(0.35, 0.25, 3), point(0.9, 0.0, 4)]
    (found,) = other_states(one, two, where="b")
    assert found.message == (
        "the host was in another state at 1 of 3 points: the share of slots with far CPUs differs"
        " by more than 0.1"
    )
    assert list(other_states(one, one, where="b")) == []
