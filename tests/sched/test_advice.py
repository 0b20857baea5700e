"""Truth: issue 47, part 3: advice of `sched analyze` is followed as it reads, and accepted."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import seldom
from helpers.answers import Capture, answer_of

from deadbeat.cli.main import main

_ADVICE = re.compile(
    r"accepted if the section of (?P<task>\w+) on (?P<lock>\w+) is at most (?P<most>\d+), not"
    r" (?P<length>\d+)(?:, (?P<rest>.*))?"
)


def drawn(draw: random.Random) -> dict[str, Any]:
    """Dense: most are refused for a lock."""
    tasks = []
    for place in range(draw.randint(3, 6)):
        period = draw.choice([20, 25, 30, 40, 60])
        wcet = draw.randint(3, period // 3)
        task: dict[str, Any] = {"name": f"t{place}", "wcet": wcet, "period": period}
        task["home"] = place % 2
        if place == 0 or draw.random() < 0.8:
            task["sections"] = [{"lock": "a", "length": draw.randint(1, wcet)}]
        tasks.append(task)
    return {"processors": 2, "locks": [{"name": "a", "protocol": "inherit"}], "tasks": tasks}


def followed(system: dict[str, Any], found: re.Match[str]) -> list[dict[str, Any]]:
    """What the line may be read as: one system, or two."""
    rest, made = found["rest"] or "", []
    ways = [(int(found["most"]), "is gone;" in rest)]
    if match := re.search(r"or (\d+), the rest gone", rest):
        ways.append((int(match[1]), True))
    if not rest:
        ways.append((int(found["most"]), True))
    for most, gone in ways:
        changed = json.loads(json.dumps(system))
        (task,) = (each for each in changed["tasks"] if each["name"] == found["task"])
        (section,) = task["sections"]
        task["wcet"] -= gone * (section["length"] - most)
        section["length"] = most
        made.append(changed)
    return made


def accepted(system: dict[str, Any], path: Path, capsys: Capture) -> bool:
    path.write_text(json.dumps(system))
    assert main(["sched", "analyze", str(path), "--test", "pinned-fifo-pi", "--json"]) == 0
    (result,) = answer_of(capsys.readouterr().out)["tests"]
    return result["answer"] == "accepted"


@pytest.mark.parametrize("seeds", [range(60), *seldom((range(60, 2500),))])
def test_what_is_advised_is_accepted(seeds: range, tmp_path: Path, capsys: Capture) -> None:
    path, tried, kinds = tmp_path / "a.json", 0, set()
    for seed in seeds:
        system = drawn(random.Random(seed))
        path.write_text(json.dumps(system))
        assert main(["sched", "analyze", str(path)]) == 0
        told = capsys.readouterr().out
        for line in told.splitlines():
            if found := _ADVICE.fullmatch(line):
                kinds.add((found["rest"] or "").partition(" ")[0])
                for changed in followed(system, found):
                    assert accepted(changed, path, capsys), (seed, line)
                    tried += 1
    assert tried >= len(seeds) / 3
    assert kinds == {"", "and", "the"}
