"""Truth: runs of one law on both sides; a cause that is called shown is a mistake."""

import numpy as np
import pytest
from helpers.loads import MS, SECOND, back_to_back, run_of

from deadbeat.latencies.load.lost import Scene, SceneMachine
from deadbeat.latencies.load.model import LoadRun, LostTime


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
