"""Truth: failures of one law on both sides; whatever is called a difference is a mistake."""

import numpy as np
import pytest
from helpers.loads import MS, SECOND, back_to_back, run_of

from deadbeat.kinds.load.estimates import Counted, difference_of
from deadbeat.kinds.load.lost import Scene, SceneMachine
from deadbeat.model.load import LoadRun, LostTime
from deadbeat.stats.multiple import holm

WINDOW_S = 2.0


def drawn(counts: list[int], burst: int = 1) -> list[Counted]:
    """A run per number of occasions, of ``burst`` failures each."""
    return [
        Counted(occasions=(burst,) * count, released=100_000, seconds=WINDOW_S) for count in counts
    ]


def alarms(
    *, rate: float, clustered: bool = False, burst: int = 1, tried: int = 6, runs: int, times: int
) -> float:
    """Share of tests of ``tried`` remedies without effect in which one is called a difference."""
    draw = np.random.default_rng(round(rate * 1000) + 10 * runs + clustered + 100 * burst)
    called = 0

    def side() -> list[Counted]:
        # clustered: a stall of the host comes in one run of three and brings several failures
        mean = draw.gamma(0.5, 2 * rate, size=runs) if clustered else np.full(runs, rate)
        return drawn(draw.poisson(mean * WINDOW_S).tolist(), burst)

    for _ in range(times):
        plain = side()
        chances = holm([difference_of(plain, side()).p for _ in range(tried)])
        called += min(chances) <= 0.05
    return called / times


@pytest.mark.parametrize("burst", [1, 25])
def test_few_tests_without_an_effect_call_one_a_difference(burst: int) -> None:
    assert alarms(rate=1.0, burst=burst, runs=5, times=40) <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.2, 1.0, 4.0])
@pytest.mark.parametrize(("clustered", "burst"), [(False, 1), (True, 1), (False, 10), (False, 50)])
@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("tried", [1, 6, 13])
def test_at_most_one_test_in_twenty_calls_one_a_difference(
    rate: float, clustered: bool, burst: int, runs: int, tried: int
) -> None:
    # 200 tests: 5 % and three standard errors
    found = alarms(rate=rate, clustered=clustered, burst=burst, tried=tried, runs=runs, times=200)
    assert found <= 0.05 + 0.046


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.statistical)])
def test_pairs_at_several_numbers_of_threads_are_judged_together(times: int) -> None:
    # each number has a rate of its own, the same with and without the remedy
    rates = np.tile([0.0, 0.2, 1.0, 4.0], 5)
    draw = np.random.default_rng(3)

    def side() -> list[Counted]:
        return drawn(draw.poisson(rates * WINDOW_S).tolist())

    called = sum(difference_of(side(), side()).p <= 0.05 for _ in range(times))
    assert called <= 0.05 * times + 3 * (0.05 * 0.95 * times) ** 0.5


def test_a_real_difference_is_found() -> None:
    before, after = drawn([6, 7, 5, 8, 6]), drawn([0, 1, 0, 0, 1])
    found = difference_of(before, after)
    assert found.p < 0.05 / 6
    assert found.estimate.value < 0


# --- causes --------------------------------------------------------------------------------------


def same_runs(draw: np.random.Generator, repeats: int) -> list[LoadRun]:
    """Of every condition runs of one law: rounds of about 10 ms, and about 50 ms of waiting."""
    runs = []
    for condition in ("plain", "rt-bandwidth", "all", "smt", "pin", "governor"):
        for repeat in range(1, repeats + 1):
            length, wait = draw.normal(10 * MS, 0.2 * MS), draw.normal(50 * MS, 10 * MS)
            rounds = back_to_back([round(length)] * 20, waits_ns={10: round(wait)})
            runs.append(
                run_of(rounds, condition=condition, repeat=repeat, window_ns=(0, 2 * SECOND))
            )
    return runs


@pytest.mark.parametrize("repeats", [3, 5, 6])
@pytest.mark.parametrize("times", [60, pytest.param(600, marks=pytest.mark.statistical)])
def test_without_an_effect_few_tests_show_a_cause(repeats: int, times: int) -> None:
    draw = np.random.default_rng(repeats)
    shown = 0
    for _ in range(times):
        scene = Scene(
            lost=LostTime(waiting=0.025, stopped=0.0, slower=0.0),
            here=(),
            runs=same_runs(draw, repeats),
            machine=SceneMachine(),
            traced=None,
            compared=True,
            alone_ns=9 * MS,
        ).judged()
        # what is left under a remedy is there in truth; what differs is not
        shown += any(before and found.above for (before, *_), found in scene.differences.items())
    # 5 % and three standard errors
    assert shown <= 0.05 * times + 3 * (0.05 * 0.95 * times) ** 0.5
