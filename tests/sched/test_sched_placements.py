"""Truth: by hand, and a search over all placements that shares no code: what is said of tasks that
one heuristic places badly, of growth where tasks stay, and of systems with locks that no scheduler
can meet."""

import csv
import json
import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import answer_of

from deadbeat.cli.main import main

Capture = pytest.CaptureFixture[str]
#: First-fit puts 4 + 4 on one processor; 4 + 3 + 3 on each of two is all of both.
TWO_FOURS = [4, 4, 3, 3, 3, 3]
#: No heuristic in any order finds 6 + 9 + 5 and 3 + 5 + 7 + 5.
SEARCHED = [3, 6, 9, 5, 5, 7, 5]


def written(path: Path, wcets: list[int], period: int, **more: Any) -> str:
    tasks = [{"wcet": wcet, "period": period} for wcet in wcets]
    path.write_text(json.dumps({"processors": 2, "tasks": tasks, **more}))
    return str(path)


def told(capsys: Capture, *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def answer(capsys: Capture, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = answer_of(told(capsys, *words, "--json"))
    return found


@pytest.mark.parametrize(("wcets", "period"), [(TWO_FOURS, 10), (SEARCHED, 20)])
def test_another_placement_is_named_where_one_fails(
    wcets: list[int], period: int, tmp_path: Path, capsys: Capture
) -> None:
    path = written(tmp_path / "a.json", wcets, period)
    text = told(capsys, "sched", "analyze", path, "--test", "p-edf", "--simulate")
    assert text.splitlines()[0] == "schedulable in another placement under p-edf (--partition any)"
    assert "; simulated" not in text
    named = ("--test", "p-edf", "--partition", "any", "--simulate")
    found = answer(capsys, "sched", "analyze", path, *named)
    edf = found["schedulers"]["p-edf"]
    assert (edf["schedulable"], edf["simulation"]["schedulable"]) == ("yes", "yes")
    homes = ("--policy", "p-edf", "--partition", "any")
    placed = answer(capsys, "sched", "simulate", path, *homes)["placed"]
    for homes_of in (placed, found["placed"]["p-edf"]):
        loads = [sum(c for c, p in zip(wcets, homes_of, strict=True) if p == m) for m in (0, 1)]
        assert loads == [period, period]


@pytest.mark.parametrize("policy", ["p-edf", "p-fp"])
def test_any_placement_is_found_where_one_exists(
    policy: str, tmp_path: Path, capsys: Capture
) -> None:
    """Equal periods, D = T: a processor takes what sums up to the period."""
    rng, seen = random.Random(5), set()
    for _ in range(30):
        wcets = [rng.randint(3, 9) for _ in range(rng.randint(4, 7))]
        exists = any(
            sum(c for c, p in zip(wcets, places, strict=True) if p) <= 20
            and sum(c for c, p in zip(wcets, places, strict=True) if not p) <= 20
            for places in product((0, 1), repeat=len(wcets))
        )
        path = written(tmp_path / "a.json", wcets, 20)
        found = answer(capsys, "sched", "simulate", path, "--policy", policy, "--partition", "any")
        assert (found["schedulable"], found["proved"]) == ("yes" if exists else "no", True)
        seen.add(exists)
    assert seen == {True, False}


def test_no_placement_is_refused_where_offsets_may_help(tmp_path: Path, capsys: Capture) -> None:
    """Tasks 0 and 1 take turns on a processor; released together one of them is late."""
    rows = [(2, 4, 2, 0), (2, 4, 2, 2), (4, 4, 4, 0)]
    tasks = [dict(zip(("wcet", "period", "deadline", "offset"), row, strict=True)) for row in rows]
    (tmp_path / "a.json").write_text(json.dumps({"processors": 2, "tasks": tasks}))
    words = ("sched", "simulate", str(tmp_path / "a.json"), "--policy", "p-edf")
    assert answer(capsys, *words, "--partition", "any")["schedulable"] == "undecided"
    at_home = [{**task, "home": index // 2} for index, task in enumerate(tasks)]
    (tmp_path / "a.json").write_text(json.dumps({"processors": 2, "tasks": at_home}))
    assert answer(capsys, *words)["schedulable"] == "yes"


def test_growth_where_tasks_stay_and_where_they_may_move(tmp_path: Path, capsys: Capture) -> None:
    """First-fit puts 3 + 3 + 3 of 10 on one processor; two and two leave more room."""
    path = written(tmp_path / "a.json", [3, 3, 3, 3], 10)
    words = ("sched", "analyze", path, "--test", "p-edf", "--sensitivity", "--spare", "30%")
    stays, moves = answer(capsys, *words), answer(capsys, *words, "--partition", "any")
    assert stays["placed"]["p-edf"] == [0, 0, 0, 1]
    assert [each["scale"] for each in stays["sensitivity"]] == ["1111/1000"]
    assert stays["sensitivity"][0]["extra"] == [1, 1, 1, 7]
    assert [each["scale"] for each in moves["sensitivity"]] == ["833/500"]
    assert (stays["budget"]["fits"], moves["budget"]["fits"]) == (False, True)
    assert "anywhere: --partition any" in told(capsys, *words)


def test_growth_by_a_bound_on_the_sum(tmp_path: Path, capsys: Capture) -> None:
    """EDF-US on two processors: U may be 4 / 3, and is 1.1."""
    path = written(tmp_path / "a.json", [5, 6], 10)
    words = ("sched", "analyze", path, "--test", "edf-us-bound", "--sensitivity")
    (found,) = answer(capsys, *words)["sensitivity"]
    assert found["scale"] == "303/250"  # 1.212, down from 1.2121
    text = told(capsys, *words[:4], "rta-edf", "--sensitivity")
    assert "factor" not in text and "no sensitivity of rta-edf" in text


@pytest.mark.parametrize(
    ("rows", "schedulable"),
    [
        ([(200, 100), (10, 100)], "no"),  # C > D
        ([(90, 100), (90, 100), (90, 100)], "no"),  # U = 2.7
        ([(60, 100), (10, 100)], "yes"),
    ],
)
def test_locks_are_no_excuse(
    rows: list[tuple[int, int]], schedulable: str, tmp_path: Path, capsys: Capture
) -> None:
    tasks = [
        {"wcet": c, "period": t, "home": i % 2, "sections": [{"lock": "m", "length": 5}]}
        for i, (c, t) in enumerate(rows)
    ]
    locks = [{"name": "m", "protocol": "inherit"}]
    (tmp_path / "a.json").write_text(json.dumps({"processors": 2, "tasks": tasks, "locks": locks}))
    words = ("sched", "analyze", str(tmp_path / "a.json"))
    found = answer(capsys, *words)
    assert found["schedulers"]["p-fp+inherit"]["schedulable"] == schedulable
    start = "not schedulable under g-fp+inherit" if schedulable == "no" else "schedulable under"
    assert told(capsys, *words).startswith(start)
    assert main((*words, "--fail-on", "miss")) == int(schedulable == "no")


def test_a_folder_counts_what_no_scheduler_can_meet(tmp_path: Path, capsys: Capture) -> None:
    """U = 2.7 on two processors; no test but the necessary one knows a task that suspends itself
    there."""
    tasks = [{"wcet": 90, "period": 100, "suspension": 5}, *[{"wcet": 90, "period": 100}] * 2]
    (tmp_path / "a.json").write_text(json.dumps({"processors": 2, "tasks": tasks}))
    text = told(capsys, "sched", "analyze", str(tmp_path))
    assert re.search(r"^p-edf +0 +1 +0$", text, re.MULTILINE)


def test_a_study_keeps_a_policy_and_its_test_apart(tmp_path: Path, capsys: Capture) -> None:
    """Sets that first-fit does not place: another placement meets all deadlines, or none does."""
    sweep = ("--processors", "2", "--tasks", "8", "--utilisation", "0.85..0.95:0.05")
    asked = ("--policy", "g-edf,p-edf,p-fp", "--test", "p-fp,p-fp:partition=any", "--sets", "20")
    runs = ("--runs", str(tmp_path))
    study = ("sched", "study", *sweep, "--workers", "1", *runs, "--no-figures", "-q")
    assert main((*study, *asked, "--name", "both")) == 0
    assert main((*study, *asked[:3], "p-fp", *asked[4:], "--name", "first")) == 0
    capsys.readouterr()
    both, first = (answer(capsys, "show", name, *runs) for name in ("both", "first"))
    yes = {each["label"]: each["schedulable"] for each in both["answers"]}
    assert yes["p-fp"] == yes["test p-fp"] < yes["p-fp:partition=any"]
    (region,) = first["regions"]
    assert region["label"] == "p-fp"
    assert region["undecided"] == region["not_placed"]
    assert region["undecided"] == yes["p-fp:partition=any"] - yes["p-fp"]
    assert region["schedulable"] == 0
    text = told(capsys, "show", "first", *runs)
    assert len(re.findall(r"^g-edf ", text, re.MULTILINE)) == 1
    assert text.count("--test p-fp:partition=any asks whether another") == 1
    assert not re.search(r"\[…|…\]", text) and "[< 0.850, " in text
    with (tmp_path / "first" / "cells.csv").open() as file:
        rows = [(row["utilisation_per_processor"], row["label"]) for row in csv.DictReader(file)]
    assert len(rows) == len({*rows}) == 12
