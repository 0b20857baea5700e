"""Truth: chains worked by hand, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture

from deadbeat.cli.main import main

#: Sensor, filter and control on one processor; responses 1, 3 and 5 by rate.
TASKS = [
    {"name": "sensor", "wcet": 1, "period": 10},
    {"name": "filter", "wcet": 2, "period": 15},
    {"name": "control", "wcet": 2, "period": 20},
]


def asked(capsys: Capture, folder: Path, verb: str, *options: str, **system: Any) -> Any:
    file = folder / "system.json"
    file.write_text(json.dumps({"processors": 1, "tasks": TASKS} | system))
    main(("sched", verb, str(file), "--json", *options))
    return json.loads(capsys.readouterr().out)["results"]


def rows(capsys: Capture, folder: Path, chain: dict[str, Any], *options: str, **system: Any) -> Any:
    return asked(capsys, folder, "analyze", *options, **system, chains=[chain])["chains"]


def test_bounds_of_sampled_links(capsys: Capture, tmp_path: Path) -> None:
    """Down by rate: 10 + 15 + 5; up: 20 + 5, 15 + 3 and 1."""
    down, up = {"tasks": [0, 1, 2], "deadline": 40}, {"tasks": [2, 1, 0], "deadline": 43}
    (found,) = rows(capsys, tmp_path, down, "--test=uni-rta")
    numbers = [found[f"{key}_bound"] for key in ("age", "reaction", "from_event")]
    assert (numbers, found["by"], found["kept"]) == ([30, 40, 50], "Dürr 2019", True)
    (found,) = rows(capsys, tmp_path, up, "--test=uni-rta")
    assert (found["age_bound"], found["by"]) == (20 + 5 + 15 + 3 + 1, "Davare 2007")
    assert (found["test"], found["kept"]) == ("uni-rta", None)


def test_a_deadline_that_none_keeps_fails_where_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "system.json"
    for deadline, status in ((40, 0), (39, 1)):
        chains = [{"tasks": [0, 1, 2], "deadline": deadline}]
        file.write_text(json.dumps({"processors": 1, "tasks": TASKS, "chains": chains}))
        command = ("sched", "analyze", str(file), "--test=uni-rta", "--fail-on=not-proved")
        assert main(command) == status


def test_a_simulated_chain_above_its_deadline_is_named(capsys: Capture, tmp_path: Path) -> None:
    chains = [{"name": "brake", "tasks": [0, 1, 2], "deadline": 24}]
    file = tmp_path / "system.json"
    file.write_text(json.dumps({"processors": 1, "tasks": TASKS, "chains": chains}))
    assert main(("sched", "simulate", str(file), "--fail-on=miss")) == 1
    seen = capsys.readouterr()
    assert "later than their deadline here: chain brake" in seen.out and "chain brake" in seen.err


def test_bounds_at_offsets_are_of_these(capsys: Capture, tmp_path: Path) -> None:
    """Sensor at 0, control at 4: the sensor ends by 1, control by 6, and 20 is twice 10."""
    tasks = [TASKS[0], TASKS[2] | {"offset": 4}]
    (found,) = rows(capsys, tmp_path, {"tasks": [0, 1]}, "--test=uni-rta", tasks=tasks)
    at = found["at_offsets"]
    assert (at["age"], at["reaction"], at["from_event"]) == (4 + 3, 10 + 4 + 3, 20 + 4 + 3)
    assert (found["age_bound"], found["reaction_bound"]) == (10 + 3, 20 + 3)
    measured = asked(capsys, tmp_path, "simulate", tasks=tasks, chains=[{"tasks": [0, 1]}])
    (own,) = measured["chains"]
    assert (own["age_max"], own["reaction_max"], own["from_event_max"]) == (6, 16, 26)


def test_a_triggered_link_adds_no_period(capsys: Capture, tmp_path: Path) -> None:
    """Released by the sensor's end, the filter is done 4 after the sensor's arrival, and control,
    which both may keep, by 5."""
    tasks = [TASKS[0], TASKS[1] | {"period": 10, "wcet": 3, "priority": -1}, TASKS[2]]
    chain = {"name": "brake", "tasks": [0, 1, 2], "links": ["triggered", "sampled"]}
    (found,) = rows(capsys, tmp_path, chain, "--test=uni-rta", tasks=tasks)
    assert (found["age_bound"], found["reaction_bound"]) == (10 + 0 + 6, 20 + 0 + 6)
    (own,) = asked(capsys, tmp_path, "simulate", tasks=tasks, chains=[chain])["chains"]
    assert 6 <= own["age_max"] <= 16 and own["until"] is None and own["name"] == "brake"


def test_chains_are_drawn_by_seed_and_number(capsys: Capture) -> None:
    def drawn(*options: str) -> Any:
        assert main(("sched", "generate", "--count=2", "--set=chains=3", *options)) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    one, other = (drawn("--set=chain-min=3", f"--set=first={first}") for first in (0, 1))
    assert one[1] == other[0] != one[0]
    assert {len(each["tasks"]) for system in one for each in system["chains"]} <= {3, 4, 5}
    assert all(task in range(10) for each in one[0]["chains"] for task in each["tasks"])
    assert main(("sched", "generate", "--set=chains=1", "--tasks=4")) == 2
    assert "1 chains of 2 to 5 of 4 tasks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ([TASKS[0] | {"wcet": 9}, *TASKS[1:]], "no test bounds the response times of its tasks"),
        (
            [TASKS[0] | {"arrivals": {"horizon": 10, "steps": [[1, 1]]}}, *TASKS[1:]],
            "sensor has an arrival curve, and no longest wait",
        ),
    ],
)
def test_no_bound_has_a_reason(tasks: Any, reason: str, capsys: Capture, tmp_path: Path) -> None:
    (found,) = rows(capsys, tmp_path, {"tasks": [0, 1], "deadline": 90}, tasks=tasks)
    assert (found["age_bound"], found["kept"]) == (None, None)
    assert found["reason"] == f"no bound: {reason}"
