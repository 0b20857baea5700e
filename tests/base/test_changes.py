"""Truth: changes of a known law, measured in turns, by the one comparator of remedies and tries."""

import numpy as np
import pytest

from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.verdicts.engine import CompareOptions, compare_changes
from deadbeat.base.verdicts.pairs import IN_TURNS
from deadbeat.latencies.load.figures import METRICS, WORDS
from deadbeat.program.run.observe import METRICS as OF_PROGRAMS

MISSES, WORST = METRICS[0], OF_PROGRAMS[1]
ROUNDS = 100_000
Draw = np.random.Generator
#: Of each run: the sizes of its stretches of misses.
Runs = list[list[int]]


def side(runs: Runs) -> Observations:
    rows = (
        Observation(
            run=str(number),
            cell=Cell("any"),
            block=f"{number:04d}",
            metric=MISSES.name,
            value=sum(sizes) / ROUNDS,
            trials=ROUNDS,
            burst=sum(size * size for size in sizes) / max(sum(sizes), 1),
        )
        for number, sizes in enumerate(runs)
    )
    return Observations(name="", rows=rows)


def judged(baseline: Observations, changes: list[Observations], *metrics: Metric) -> list[set[str]]:
    """The verdicts of the cells of each change."""
    options = CompareOptions(metrics=metrics, words=WORDS, undisturbed=IN_TURNS, lacking_max=1.0)
    return [
        {cell.verdict for metric in each.metrics for cell in metric.cells}
        for each in compare_changes(baseline, changes, options=options)
    ]


def found(plain: Runs, changed: Runs) -> str:
    ((verdict,),) = judged(side(plain), [side(changed)], MISSES)
    return verdict


def drawn(draw: Draw, mean: float, runs: int, *, clustered: bool = False, burst: int = 1) -> Runs:
    """``mean``: occasions of a run. Clustered: a stall of the host comes in one run of three and
    brings several failures."""
    means = draw.gamma(0.5, 2 * mean, size=runs) if clustered else np.full(runs, mean)
    return [[burst] * count for count in draw.poisson(means).tolist()]


def alarms(
    *, mean: float, clustered: bool = False, burst: int = 1, tried: int = 6, runs: int, times: int
) -> float:
    """Share of tests of ``tried`` remedies without effect in which one is called a difference."""
    draw = np.random.default_rng(round(mean * 1000) + 10 * runs + clustered + 100 * burst)
    called = 0
    for _ in range(times):
        plain, *others = (
            side(drawn(draw, mean, runs, clustered=clustered, burst=burst))
            for _ in range(tried + 1)
        )
        called += any({"better", "worse"} & each for each in judged(plain, others, MISSES))
    return called / times


@pytest.mark.parametrize("burst", [1, 25])
def test_few_tests_without_an_effect_call_one_a_difference(burst: int) -> None:
    assert alarms(mean=2.0, burst=burst, runs=5, times=40) <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("mean", [0.4, 2.0, 8.0, 40.0])
@pytest.mark.parametrize(("clustered", "burst"), [(False, 1), (True, 1), (False, 10), (False, 50)])
@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("tried", [1, 6, 13])
def test_at_most_one_test_in_twenty_calls_one_a_difference(
    mean: float, clustered: bool, burst: int, runs: int, tried: int
) -> None:
    # 200 tests: 5 % and three standard errors
    got = alarms(mean=mean, clustered=clustered, burst=burst, tried=tried, runs=runs, times=200)
    assert got <= 0.05 + 0.046


def power(mean: float, runs: int, *, burst: int = 1, tried: int = 1, times: int = 100) -> float:
    """How often the end of nine failures of ten is found beside remedies that do nothing."""
    draw = np.random.default_rng(round(mean) + 10 * runs + burst)
    hits = 0
    for _ in range(times):
        plain, *others = (side(drawn(draw, mean, runs, burst=burst)) for _ in range(tried))
        helps = side(drawn(draw, mean / 10, runs, burst=burst))
        hits += "better" in judged(plain, [helps, *others], MISSES)[0]
    return hits / times


def test_what_ends_most_failures_is_found_with_five_repeats() -> None:
    assert power(8, 5) >= 0.9


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mean", "runs", "burst", "least"),
    # found by the test of load that this replaced, in 1,000 tests of each law
    [(2, 3, 1, 0.10), (8, 3, 1, 0.57), (40, 3, 1, 0.98), (40, 3, 10, 0.93), (8, 5, 10, 0.84)],
)
def test_no_less_is_found_than_by_the_test_of_its_own(
    mean: float, runs: int, burst: int, least: float
) -> None:
    # three standard errors of 400 tests
    error = 3 * (least * (1 - least) / 400) ** 0.5
    assert power(mean, runs, burst=burst, times=400) >= least - error


def test_few_failures_are_counted() -> None:
    # 9 to 0: 2 * 0.5^9; 3 to 0: 25 %
    assert found([[1, 1, 1]] * 3, [[]] * 3) == "better"
    assert found([[1]] * 3, [[]] * 3) == "undecided"
    assert found([[]] * 3, [[1, 1, 1]] * 3) == "worse"


def test_a_burst_is_no_more_than_one_occasion() -> None:
    # 3 to 0, however many misses each brings
    assert found([[50]] * 3, [[]] * 3) == "undecided"


def test_two_pairs_decide_nothing() -> None:
    assert found([[1] * 50] * 2, [[]] * 2) == "undecided"


def test_a_side_that_always_misses_and_one_that_never_does_differ() -> None:
    assert found([[ROUNDS]] * 3, [[]] * 3) == "better"


# --- threads of a program, in turns --------------------------------------------------------------


def program(draw: Draw, turns: int, threads: int, factor: float = 1.0) -> Observations:
    """Misses that come by themselves, and worst responses that scatter by a tenth."""
    rows = []
    for thread in range(threads):
        misses = draw.binomial(500, 0.2 * factor, turns) / 500
        worst = draw.lognormal(np.log(5e6 * factor), 0.1, turns)
        for turn in range(turns):
            for metric, value in ((MISSES, misses[turn]), (WORST, worst[turn])):
                rows.append(
                    Observation(
                        run=f"{turn:04d} {thread}",
                        cell=Cell(str(thread)),
                        block=f"{turn:04d}",
                        metric=metric.name,
                        value=float(value),
                        trials=500 if metric is MISSES else 0,
                    )
                )
    return Observations(name="", rows=rows)


def of_programs(times: int, turns: int, factor: float) -> tuple[float, float]:
    """How often the first of four changes is told better, and any of the others anything."""
    draw = np.random.default_rng(turns)
    helped = others = 0
    for _ in range(times):
        plain, *nothing = (program(draw, turns, 3) for _ in range(4))
        first, *rest = judged(plain, [program(draw, turns, 3, factor), *nothing], MISSES, WORST)
        helped += "better" in first
        others += any({"better", "worse"} & each for each in rest)
    return helped / times, others / times


@pytest.mark.parametrize("times", [30, pytest.param(600, marks=pytest.mark.statistical)])
@pytest.mark.parametrize("turns", [3, 5])
def test_changes_of_a_program_that_do_nothing_are_rarely_told(turns: int, times: int) -> None:
    helped, others = of_programs(times, turns, 0.2)
    assert others <= 0.05 + 3 * (0.05 * 0.95 / times) ** 0.5
    assert helped >= {3: 0.5, 5: 0.95}[turns]
