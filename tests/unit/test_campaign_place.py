"""Truth: issue 2: the same command resumes; running twice works; nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.campaigns import begin, run, tiny_spec

from deadbeat.executors.simulated import FakeExecutor, Faults
from deadbeat.kinds.contention.place import choose, state_of
from deadbeat.kinds.contention.plan import plan
from deadbeat.model.errors import DataError, UsageError
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.place import REPORT_FILE, Place

SPEC = tiny_spec()


def finished(runs: Path) -> CampaignStore:
    store = begin(runs, SPEC)
    run(SPEC, store)
    (store.path / REPORT_FILE).write_text("<html>")
    return store


def test_an_earlier_one_that_lacks_a_run_is_continued_by_the_same_command(tmp_path: Path) -> None:
    first = finished(tmp_path)
    second = choose(tmp_path, SPEC)
    CampaignStore.create(second.path, first.spec, SPEC.seed)
    run(SPEC, CampaignStore.open(second.path))
    (second.path / REPORT_FILE).write_text("<html>")
    assert choose(tmp_path, SPEC).path.name == "tiny-3"
    first.jobs_path(plan(SPEC)[0]).unlink()
    assert choose(tmp_path, SPEC) == Place(path=first.path, resumed=True)
    # what was asked differently, or is to start again, is not that one
    assert choose(tmp_path, tiny_spec({"seed": 7})).path.name == "tiny-3"
    assert choose(tmp_path, SPEC, fresh=True).path.name == "tiny-3"


def test_a_truncated_run_is_damage_and_says_what_mends_it(tmp_path: Path) -> None:
    store = finished(tmp_path)
    victim = store.jobs_path(plan(SPEC)[0])
    victim.write_bytes(victim.read_bytes()[:-9])
    state = state_of(store.path)
    assert (state.state, state.done) == ("damaged", 8)
    assert victim.name in state.problem and "truncated" in state.problem
    with pytest.raises(DataError, match="cannot be continued") as caught:
        choose(tmp_path, SPEC)
    assert "delete or move the file and repeat" in caught.value.hint
    assert "--fresh" in caught.value.hint
    victim.unlink()
    assert choose(tmp_path, SPEC).resumed
    assert run(SPEC, CampaignStore.open(store.path)).done == 8
    assert state_of(store.path).state == "finished"


def test_retry_takes_the_finished_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="to retry"):
        choose(tmp_path, SPEC, retry_failed=True)
    finished(tmp_path)
    place = choose(tmp_path, SPEC, retry_failed=True)
    assert (place.path.name, place.resumed) == ("tiny", True)


def test_a_failed_run_counts_as_tried(tmp_path: Path) -> None:
    store = begin(tmp_path, SPEC)
    key = plan(SPEC)[0]
    run(SPEC, store, executor=FakeExecutor(faults=Faults(fail={key.text: 9})))
    state = state_of(store.path)
    assert (state.state, state.done, state.failed) == ("measured", 7, 1)
