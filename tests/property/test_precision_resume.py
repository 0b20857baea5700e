"""Truth: a campaign that was never broken off. Points stop where they stopped there."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers.campaigns import Log, begin, broken_off, essence, run
from helpers.precision import precise_spec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.executors.simulated import FakeExecutor, Faults
from deadbeat.kinds.contention import plan as design
from deadbeat.store.campaign import CampaignStore

SPEC = precise_spec(0.02)
KEYS = [key.text for key in design.offered(SPEC, None)]
FAULTS = Faults(fail={KEYS[1]: 1, KEYS[20]: 99})


def everything(store: CampaignStore) -> dict[str, Any]:
    return essence(store) | {"precision": store.load_precision()}


@cache
def uninterrupted() -> tuple[dict[str, Any], int]:
    """The campaign, and how many attempts it took."""
    with TemporaryDirectory() as folder:
        store, log = begin(Path(folder), SPEC), Log()
        run(SPEC, store, executor=FakeExecutor(faults=FAULTS), on_event=log)
        done = everything(store)
    assert 30 < len(done["jobs"]) < len(KEYS)
    return done, len(done["jobs"]) + len(done["failed"])


def resumed(folder: Path, cuts: list[tuple[str, int]]) -> dict[str, Any]:
    return everything(broken_off(folder, cuts, SPEC, FAULTS))


@pytest.mark.parametrize("place", ["before a run", "after a write"])
@pytest.mark.parametrize("after", [0, 19, 36])
def test_one_crash_changes_no_decision(tmp_path: Path, place: str, after: int) -> None:
    assert resumed(tmp_path, [(place, after)]) == uninterrupted()[0]


def test_a_crash_at_every_fifth_run_changes_no_decision(tmp_path: Path) -> None:
    cuts = [("after a write", 5)] * (uninterrupted()[1] // 5)
    assert resumed(tmp_path, cuts) == uninterrupted()[0]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["before a run", "after a write"]), st.integers(0, 40)),
        max_size=4,
    )
)
def test_any_crashes_change_no_decision(cuts: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        assert resumed(Path(folder), cuts) == uninterrupted()[0]
