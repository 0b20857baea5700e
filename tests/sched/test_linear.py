"""Truth: issue 47, part 4: bounds with locks that are the optima of linear programs.

HiGHS solves them as published (oracles/linear.py), of the responses that the command prints: what
it finds leads to the same responses again; of MSRP, which has more that cannot be, to no shorter.
"""

import json
from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of
from oracles import linear

from deadbeat.cli.main import main
from deadbeat.sched.files import load_task_system

_LINES = (Path(__file__).parents[1] / "oracles/schedcat.jsonl").read_text().splitlines()
_SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in range(6, len(_LINES))]


@pytest.mark.parametrize("number", [*range(6), *_SLOW])
@pytest.mark.parametrize("test", linear.PROGRAMS)
def test_bounds_are_the_optima(test: str, number: int, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json.loads(_LINES[number])["system"]))
    main(["sched", "analyze", str(path), "--test", test, "--json"])
    [found] = answer_of(capsys.readouterr().out)["tests"]
    if found["answer"] == "accepted":
        bounds = found["bounds"]
        again = linear.responses(test, load_task_system(path).system, bounds)
        assert again == bounds or (test.startswith("m") and all(map(int.__ge__, again, bounds)))


@pytest.mark.parametrize(("protocol", "high"), [("mrsp", 10), ("msrp", 14)])
def test_who_spins_under_mrsp_executes_the_section_that_it_waits_for(
    protocol: str, high: int, tmp_path: Path, capsys: Capture
) -> None:
    """The holder is preempted at its ceiling, and goes on where the other one spins: that one has
    the same bound as where nobody is preempted."""

    def task(wcet: int, home: int, priority: int, length: int) -> dict[str, object]:
        used = {"sections": [{"lock": "a", "length": length}]} if length else {}
        return {"wcet": wcet, "period": 100, "home": home, "priority": priority, **used}

    path = tmp_path / "a.json"
    tasks = [task(10, 0, 3, 0), task(4, 0, 1, 4), task(2, 1, 2, 2)]
    path.write_text(json.dumps({"processors": 2, "locks": [{"name": "a"}], "tasks": tasks}))
    how = ["--priorities", "given", "--json"]
    name = {"msrp": "msrp-lp"}.get(protocol, protocol)
    main(["sched", "analyze", str(path), "--test", name, *how])
    [result] = answer_of(capsys.readouterr().out)["tests"]
    simulate = ["sched", "simulate", str(path), "--policy", "p-fp", "--protocol", protocol, *how]
    main([*simulate, "--set", "run-on=true"])
    seen = [each["response_max"] for each in answer_of(capsys.readouterr().out)["tasks"]]
    assert seen[0] == high
    assert seen[2] == result["bounds"][2] == 6
    assert result["bounds"] == [16 if protocol == "msrp" else 10, 16, 6]
