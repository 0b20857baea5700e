"""Truth: comparisons of load tests in which nothing differs, and such with a known effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deadbeat.compare.aa import LOAD_POOL, draw_sessions, read_pool, verdicts
from deadbeat.compare.load import load_options
from deadbeat.model.comparison import LOAD_METRICS

#: See `circumstances` in each.
POOLS = sorted((Path(__file__).parents[1] / "pools/aa").glob(f"{LOAD_POOL}*.json"))
OPTIONS = load_options(ungated=True, resamples=1999)


def test_there_is_a_pool_of_many_and_one_of_few_stalls() -> None:
    assert {path.stem for path in POOLS} >= {"load-made-up", "load-made-up-rare"}
    for path in POOLS:
        plain = json.loads(path.read_text(encoding="utf-8"))
        assert tuple(plain["metrics"]) == LOAD_METRICS
        assert {"kernel", "soc", "created_at", "note"} <= plain["circumstances"].keys()
        assert len(plain["sides"]) >= 3


@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_few_false_alarms(path: Path) -> None:
    """A representative of the experiment below: alarms at 5 % would exceed 7 of 40 once in 500."""
    found = verdicts(read_pool(path), comparisons=40, seed=21, options=OPTIONS)
    assert found.different <= 6, found.verdicts


@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_half_as_long_again_is_found(path: Path) -> None:
    found = verdicts(
        read_pool(path), comparisons=10, seed=22, options=OPTIONS, effect=lambda cell: 0.5
    )
    assert found.verdicts == {"worse": 10}


@pytest.mark.statistical
@pytest.mark.parametrize("repeats", [0, 1, 2])
@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_false_alarms_by_run_are_at_most_five_per_cent(path: Path, repeats: int) -> None:
    found = verdicts(read_pool(path), comparisons=400, seed=23, options=OPTIONS, repeats=repeats)
    assert found.different <= 20, found.verdicts


@pytest.mark.statistical
@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_whole_sessions_are_gated_by_repeats(path: Path, repeats: int) -> None:
    """At 5 % alarms 18 of 200 are exceeded once in a hundred."""
    found = verdicts(
        read_pool(path),
        comparisons=200,
        seed=24,
        options=OPTIONS,
        repeats=repeats,
        drawing=draw_sessions,
    )
    assert found.different <= 18, found.verdicts


def test_drift_of_sessions_without_a_repeat_makes_differences() -> None:
    """Why a measured load test decides nothing without --aa."""
    (path,) = [path for path in POOLS if path.stem == "load-made-up"]
    found = verdicts(
        read_pool(path), comparisons=60, seed=25, options=OPTIONS, drawing=draw_sessions
    )
    assert found.different > 0.08 * 60
