"""Truth: a campaign that was never broken off. However often one is, the results are the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers.campaigns import begin, broken_off, essence, run, tiny_spec, tiny_stress
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.executors.simulated import FakeExecutor, Faults
from deadbeat.kinds.contention.plan import plan
from deadbeat.kinds.contention.spec import CampaignSpec

SPEC = tiny_spec()
STRESS_SPEC = tiny_stress()
ATTEMPTS = len(plan(SPEC))


def faults(spec: CampaignSpec) -> Faults:
    """At the same places of the plan of ``spec``."""
    keys = [key.text for key in plan(spec)]
    return Faults(fail={keys[1]: 1, keys[4]: 99, keys[6]: 1})


@cache
def uninterrupted(spec: CampaignSpec = SPEC) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        store = begin(Path(folder), spec)
        run(spec, store, executor=FakeExecutor(faults=faults(spec)))
        return essence(store)


def resumed(folder: Path, cuts: list[tuple[str, int]], spec: CampaignSpec = SPEC) -> dict[str, Any]:
    return essence(broken_off(folder, cuts, spec, faults(spec)))


@pytest.mark.parametrize("place", ["before a run", "after a write"])
@pytest.mark.parametrize("after", range(ATTEMPTS))
def test_one_crash_anywhere_changes_nothing(tmp_path: Path, place: str, after: int) -> None:
    assert resumed(tmp_path, [(place, after)]) == uninterrupted()


@pytest.mark.parametrize("step", range(4))
def test_a_crash_at_every_kth_run_changes_nothing(tmp_path: Path, step: int) -> None:
    cuts = [("after a write", step)] * ATTEMPTS
    assert resumed(tmp_path, cuts) == uninterrupted()


@pytest.mark.parametrize("after", range(0, ATTEMPTS, 3))
def test_a_crash_of_a_stress_campaign_changes_nothing(tmp_path: Path, after: int) -> None:
    cuts = [("after a write", after), ("before a run", 2)]
    assert resumed(tmp_path, cuts, STRESS_SPEC) == uninterrupted(STRESS_SPEC)
    assert uninterrupted(STRESS_SPEC)["rows"][0]["group"] == "M=2"


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["before a run", "after a write"]), st.integers(0, ATTEMPTS)),
        max_size=6,
    )
)
def test_any_crashes_change_nothing(cuts: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        assert resumed(Path(folder), cuts) == uninterrupted()
