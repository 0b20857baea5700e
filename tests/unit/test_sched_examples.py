"""Truth: the verdicts that the files of examples/sched claim; oracles of the literature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.sched import read_task_system

from deadbeat.sched import Scheduler, simulate

FOLDER = Path(__file__).parents[2] / "examples" / "sched"

#: File, policy, ties (model periodic-sync) -> answer, first miss.
CLAIMS = [
    ("dhall.json", "g-edf", "index", "no", 22),
    ("dhall.json", "g-fp", "index", "no", 22),
    ("dhall.json", "p-edf", "index", "yes", None),
    ("ties.json", "g-edf", "index", "no", 2),
    ("ties.json", "g-edf", "reverse", "yes", None),
    ("ties.json", "g-edf", "utilisation-desc", "yes", None),
    ("sporadic-not-sync.json", "g-edf", "index", "yes", None),
    ("vehicle.json", "g-edf", "index", "yes", None),
]


@pytest.mark.parametrize(("file", "policy", "ties", "answer", "miss"), CLAIMS)
def test_an_example_keeps_its_claim(file, policy, ties, answer, miss):
    system = read_task_system(FOLDER / file)
    verdict = simulate(system, Scheduler(policy=policy, ties=ties), model="periodic-sync")
    assert (verdict.schedulable, verdict.first_miss) == (answer, miss)
    assert verdict.proved


def test_every_example_is_claimed_and_says_what_it_shows():
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {claim[0] for claim in CLAIMS}
    assert all(json.loads((FOLDER / name).read_text("utf-8"))["comment"] for name in files)


def test_sporadic_releases_can_be_worse_than_synchronous_ones():
    verdict = simulate(read_task_system(FOLDER / "sporadic-not-sync.json"), model="sporadic")
    assert (verdict.schedulable, verdict.proved) == ("no", True)
    assert verdict.pattern
