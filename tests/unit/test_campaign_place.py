"""Truth: issue 2: the same command resumes; running twice works; nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.campaigns import begin, run, tiny_spec

from deadbeat.executors.simulated import FakeExecutor, Faults
from deadbeat.kinds.contention.place import (
    choose,
    find_campaign,
    state_of,
)
from deadbeat.kinds.contention.plan import plan
from deadbeat.model.errors import DataError, TargetError, UsageError
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.place import CAMPAIGN, REPORT_FILE, Place, point_latest

SPEC = tiny_spec()


def unfinished(runs: Path) -> CampaignStore:
    store = begin(runs, SPEC)
    with pytest.raises(TargetError):
        run(SPEC, store, executor=FakeExecutor(faults=Faults(lose_after=2)))
    return store


def finished(runs: Path) -> CampaignStore:
    store = begin(runs, SPEC)
    run(SPEC, store)
    (store.path / REPORT_FILE).write_text("<html>")
    return store


def test_the_first_begins_under_its_own_name(tmp_path: Path) -> None:
    place = choose(tmp_path / "runs", SPEC)
    assert (place.path.name, place.resumed) == ("tiny", False)


def test_an_unfinished_one_is_continued(tmp_path: Path) -> None:
    unfinished(tmp_path)
    place = choose(tmp_path, SPEC)
    assert (place.path.name, place.resumed) == ("tiny", True)


def test_all_runs_but_no_report_is_continued(tmp_path: Path) -> None:
    run(SPEC, begin(tmp_path, SPEC))
    assert state_of(tmp_path / "tiny").state == "measured"
    assert choose(tmp_path, SPEC).resumed


def test_a_finished_one_is_followed_by_the_next_number(tmp_path: Path) -> None:
    finished(tmp_path)
    place = choose(tmp_path, SPEC)
    assert (place.path.name, place.resumed) == ("tiny-2", False)
    CampaignStore.create(place.path, begin(tmp_path / "x", SPEC).spec, SPEC.seed)
    assert choose(tmp_path, SPEC) == choose(tmp_path, SPEC)
    assert (choose(tmp_path, SPEC).path.name, choose(tmp_path, SPEC).resumed) == ("tiny-2", True)


def test_an_earlier_one_that_lacks_a_run_is_continued_by_the_same_command(tmp_path: Path) -> None:
    first = finished(tmp_path)
    second = choose(tmp_path, SPEC)
    CampaignStore.create(second.path, first.spec, SPEC.seed)
    run(SPEC, CampaignStore.open(second.path))
    (second.path / REPORT_FILE).write_text("<html>")
    assert choose(tmp_path, SPEC).path.name == "tiny-3"
    first.jobs_path(plan(SPEC)[0]).unlink()
    assert choose(tmp_path, SPEC) == Place(path=first.path, resumed=True)
    # what was asked differently, or is to begin anew, is not that one
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


def test_fresh_begins_beside_an_unfinished_one(tmp_path: Path) -> None:
    unfinished(tmp_path)
    place = choose(tmp_path, SPEC, fresh=True)
    assert (place.path.name, place.resumed) == ("tiny-2", False)


def test_other_parameters_are_named(tmp_path: Path) -> None:
    unfinished(tmp_path)
    other = tiny_spec({"run": {"seconds": 0.2}, "seed": 7})
    with pytest.raises(UsageError) as caught:
        choose(tmp_path, other)
    assert "run.seconds (0.1 s there, 0.2 s now), seed (1 there, 7 now)" in str(caught.value)
    assert "--name NAME" in caught.value.hint
    assert "--fresh" in caught.value.hint


def test_retry_takes_the_finished_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="to retry"):
        choose(tmp_path, SPEC, retry_failed=True)
    finished(tmp_path)
    place = choose(tmp_path, SPEC, retry_failed=True)
    assert (place.path.name, place.resumed) == ("tiny", True)


def test_a_folder_left_by_a_kill_at_birth_is_used(tmp_path: Path) -> None:
    (tmp_path / "tiny" / "jobs").mkdir(parents=True)
    (tmp_path / "tiny" / ".lock").touch()
    assert choose(tmp_path, SPEC).path.name == "tiny"


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="not a campaign"):
        choose(tmp_path, SPEC)
    assert choose(tmp_path, SPEC, fresh=True).path.name == "tiny-2"


def test_a_damaged_one_is_named_not_replaced(tmp_path: Path) -> None:
    store = unfinished(tmp_path)
    (store.path / "campaign.json").write_text("{")
    with pytest.raises(DataError, match="--fresh"):
        choose(tmp_path, SPEC)
    assert state_of(store.path).state == "damaged"


def test_names_that_only_look_alike_are_another_family(tmp_path: Path) -> None:
    for name in ("tiny-x", "tiny-02", "tinyer", "tiny-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    assert choose(tmp_path, SPEC).path.name == "tiny"


def test_the_list_tells_how_far_each_is(tmp_path: Path) -> None:
    unfinished(tmp_path)
    finished(tmp_path / "other")
    (tmp_path / "other" / "tiny").rename(tmp_path / "done")
    point_latest(tmp_path, "done")
    states = {path.name: state_of(path) for path in CAMPAIGN.folders(tmp_path)}
    assert set(states) == {"tiny", "done"}
    assert (states["tiny"].state, states["tiny"].done, states["tiny"].planned) == (
        "unfinished",
        2,
        8,
    )
    assert (states["done"].state, states["done"].done) == ("finished", 8)
    assert CAMPAIGN.folders(tmp_path / "nowhere") == []


def test_a_campaign_is_found_by_name_path_and_link(tmp_path: Path) -> None:
    store = unfinished(tmp_path)
    point_latest(tmp_path, "tiny")
    for text in ("tiny", str(store.path), "latest"):
        assert find_campaign(tmp_path, text).resolve() == store.path.resolve()
    with pytest.raises(UsageError, match=r"did you mean tiny\?"):
        find_campaign(tmp_path, "tinny")
    with pytest.raises(UsageError, match="holds none"):
        find_campaign(tmp_path / "nowhere", "latest")


def test_a_failed_run_counts_as_tried(tmp_path: Path) -> None:
    store = begin(tmp_path, SPEC)
    key = plan(SPEC)[0]
    run(SPEC, store, executor=FakeExecutor(faults=Faults(fail={key.text: 9})))
    state = state_of(store.path)
    assert (state.state, state.done, state.failed) == ("measured", 7, 1)
