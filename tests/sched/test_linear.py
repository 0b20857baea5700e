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
