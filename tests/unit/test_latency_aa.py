"""Truth: comparisons of latency matrices in which nothing differs, and such with a known effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deadbeat.compare.aa import LATENCY_POOL, draw_sessions, read_pool, verdicts
from deadbeat.compare.latency import latency_options
from deadbeat.model.comparison import LATENCY_METRICS

#: Made up, and recorded on machines: see `circumstances` in each.
POOLS = sorted((Path(__file__).parents[1] / "pools/aa").glob(f"{LATENCY_POOL}*.json"))
OPTIONS = latency_options(ungated=True, resamples=1999)


def test_there_is_a_pool() -> None:
    assert POOLS
    for path in POOLS:
        plain = json.loads(path.read_text(encoding="utf-8"))
        assert tuple(plain["metrics"]) == LATENCY_METRICS
        assert {"kernel", "soc", "created_at", "note"} <= plain["circumstances"].keys()
        assert len(plain["sides"]) >= 3


@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_few_false_alarms(path: Path) -> None:
    """A representative of the experiment below: alarms at 5 % would exceed 7 of 40 once in 500."""
    found = verdicts(read_pool(path), comparisons=40, seed=21, options=OPTIONS)
    assert found.different <= 6, found.verdicts


@pytest.mark.parametrize("path", POOLS, ids=lambda path: path.stem)
def test_twice_as_late_is_found(path: Path) -> None:
    found = verdicts(
        read_pool(path), comparisons=10, seed=22, options=OPTIONS, effect=lambda cell: 1.0
    )
    # A host that stalls hides a doubling now and then; it never turns it round.
    assert set(found.verdicts) <= {"worse", "undecided"}
    assert found.verdicts["worse"] >= 8


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
    pool = read_pool(path)
    if len(pool.sides) < 2 + repeats:
        pytest.skip("too few sessions")
    found = verdicts(
        pool, comparisons=200, seed=24, options=OPTIONS, repeats=repeats, drawing=draw_sessions
    )
    assert found.different <= 18, found.verdicts


def test_drift_of_sessions_without_a_repeat_makes_differences() -> None:
    """Why a measured matrix decides nothing without --aa: 23 % of 400 are alarms, ungated."""
    (path,) = [path for path in POOLS if path.stem == "latency-made-up"]
    found = verdicts(
        read_pool(path), comparisons=60, seed=25, options=OPTIONS, drawing=draw_sessions
    )
    assert found.different > 0.08 * 60
