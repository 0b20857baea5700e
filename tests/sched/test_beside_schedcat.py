"""Truth: issue 47, part 4: no bound with locks is looser than SchedCAT's own C++.

Bounds of 60 drawn sets, 2 and 3 processors: its blocking terms, iterated with R - C as jitter
where a task suspends (SchedCAT 52452d0, 2026-11-30). DPCP's locks are served where the file says.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.cli.main import main

_SETS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "oracles/schedcat.jsonl").read_text().splitlines()
]
#: The same analyses; the others are tighter here: sections that others cannot wait for.
_EQUAL = ("msrp", "msrp-holistic", "dpcp")


@pytest.mark.parametrize("place", range(len(_SETS)))
def test_bounds_are_not_looser(place: int, tmp_path: Path, capsys: Capture) -> None:
    theirs, path = _SETS[place]["bounds"], tmp_path / "a.json"
    path.write_text(json.dumps(_SETS[place]["system"]))
    names = [word for name in theirs for word in ("--test", name)]
    assert main(["sched", "analyze", str(path), *names, "--json"]) == 0
    found = {each["test"]: each for each in answer_of(capsys.readouterr().out)["tests"]}
    for name, bounds in theirs.items():
        accepted = found[name]["answer"] == "accepted"
        if bounds is not None:
            assert accepted
            assert all(o <= t for o, t in zip(found[name]["bounds"], bounds, strict=True)), name
        if name in _EQUAL:
            assert (found[name]["bounds"] if accepted else None) == bounds, name


def served(processor: int | None) -> dict[str, Any]:
    lock = {"name": "a"} | ({} if processor is None else {"processor": processor})
    section = {"lock": "a", "length": 4}
    return {
        "processors": 2,
        "locks": [lock],
        "tasks": [
            {"name": "x", "wcet": 10, "period": 50, "home": 0, "sections": [section]},
            {"name": "y", "wcet": 10, "period": 60, "home": 1, "sections": [section]},
            {"name": "z", "wcet": 10, "period": 70, "home": 1},
        ],
    }


@pytest.mark.parametrize(("processor", "last"), [(None, 16), (0, 16), (1, 24)])
def test_the_file_says_who_serves_a_lock(
    processor: int | None, last: int, tmp_path: Path, capsys: Capture
) -> None:
    """z is kept by x's section where that is served on its processor, in bound and simulation."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(served(processor)))
    assert main(["sched", "analyze", str(path), "--test", "dpcp", "--json"]) == 0
    (result,) = answer_of(capsys.readouterr().out)["tests"]
    assert result["bounds"][2] >= last
    simulate = ["sched", "simulate", str(path), "--policy", "p-fp", "--protocol", "dpcp", "--json"]
    assert main([*simulate, "--set", "run-on=true"]) == 0
    tasks = answer_of(capsys.readouterr().out)["tasks"]
    assert tasks[2]["response_max"] == last


def test_a_processor_that_is_not_there_is_refused(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.json").write_text(json.dumps(served(2)))
    assert main(["sched", "analyze", str(tmp_path / "a.json")]) == 2
    assert "locks[0].processor: 2 with processors = 2" in capsys.readouterr().err
