"""Truth: issue 2: the same command resumes; running twice works; nothing is overwritten."""

from pathlib import Path

import pytest
from helpers.campaigns import begin, run, tiny_spec

from deadbeat.base.model.errors import DataError
from deadbeat.base.store.place import REPORT_FILE
from deadbeat.tasksets.contention.place import choose, state_of
from deadbeat.tasksets.contention.plan import plan
from deadbeat.tasksets.store.campaign import CampaignStore

SPEC = tiny_spec()


def finished(runs: Path) -> CampaignStore:
    store = begin(runs, SPEC)
    run(SPEC, store)
    (store.path / REPORT_FILE).write_text("<html>")
    return store


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
