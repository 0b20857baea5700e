"""Truth: issue 47, part 3: advice of `sched analyze` is followed as it reads, and accepted."""

import json
import random
import re
from fractions import Fraction
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


_GROWTH = re.compile(
    r"(?P<test>\S+) +(?P<how>may grow by|accepted) (?P<percent>[\d.]+) %(?: shorter)? +"
    r"(?P<factor>[\d./]+)(?:, exact)? +(?P<extra>[\d, ]+|-) *"
)
_CLOCK = re.compile(
    r".*; (?P<test>\S+) accepts every C (?P<times>[\d.]+) times .* at least (?P<clock>[\d.]+) %"
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


def accepted(
    system: dict[str, Any], path: Path, capsys: Capture, *more: str, test: str = "pinned-fifo-pi"
) -> bool:
    path.write_text(json.dumps(system))
    assert main(["sched", "analyze", str(path), "--test", test, "--json", *more]) == 0
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


def plain(draw: random.Random) -> dict[str, Any]:
    """Tasks that only compute, on one processor or placed on two."""
    many, tasks = draw.choice([1, 1, 2]), []
    for place in range(draw.randint(1, 5)):
        period = draw.choice([7, 10, 13, 20, 30, 60])
        wcet = draw.randint(1, period // 2)
        deadline = draw.randint(max(wcet, period // 2), period)
        task = {"name": f"t{place}", "wcet": wcet, "period": period, "deadline": deadline}
        tasks.append(task | ({"home": place % 2} if many > 1 else {}))
    return {"processors": many, "tasks": tasks}


def times(system: dict[str, Any], factor: Fraction) -> dict[str, Any]:
    """Every C ``factor`` times as long, in a finer unit."""
    by = {"wcet": factor.numerator, "period": factor.denominator, "deadline": factor.denominator}
    tasks = [task | {key: task[key] * by[key] for key in by} for task in system["tasks"]]
    return {**system, "tasks": tasks}


def grown(system: dict[str, Any], line: str) -> list[tuple[str, dict[str, Any]]]:
    """What a line of growth or of the clock says: a test, and a system that it accepts."""
    made = []
    if found := _GROWTH.fullmatch(line):
        share = Fraction(found["percent"]) / 100 * (1 if found["how"] == "may grow by" else -1)
        made += [times(system, 1 + share), times(system, Fraction(found["factor"]))]
        for place, more in enumerate(re.findall(r"\d+", found["extra"])):
            tasks = [{**task} for task in system["tasks"]]
            tasks[place]["wcet"] += int(more)
            made.append({**system, "tasks": tasks})
    elif found := _CLOCK.match(line):
        slower = 1 / (Fraction(found["clock"]) / 100 * Fraction(7, 10))
        made += [times(system, slower), times(system, Fraction(found["times"]))]
    return [(found["test"], each) for each in made] if found else []


@pytest.mark.parametrize("seeds", [range(10), *seldom((range(10, 1010),))])
def test_growth_and_clock_as_told_are_accepted(
    seeds: range, tmp_path: Path, capsys: Capture
) -> None:
    path, tried = tmp_path / "a.json", 0
    for seed in seeds:
        system = plain(random.Random(seed))
        path.write_text(json.dumps(system))
        assert main(["sched", "analyze", str(path), "--sensitivity", "--spare", "30%"]) == 0
        for line in capsys.readouterr().out.splitlines():
            for test, changed in grown(system, line):
                assert accepted(changed, path, capsys, test=test), (seed, line)
                tried += 1
    assert tried >= 5 * len(seeds)


@pytest.mark.parametrize("seeds", [range(20), *seldom((range(20, 1020),))])
def test_priorities_and_placements_as_told_are_accepted(
    seeds: range, tmp_path: Path, capsys: Capture
) -> None:
    path, tried = tmp_path / "a.json", {"priorities": 0, "placements": 0}
    for seed in seeds:
        system = plain(random.Random(seed))
        for task in system["tasks"]:
            task.pop("home", None)
        path.write_text(json.dumps(system))
        words = ["sched", "analyze", str(path), "--test", "uni-rta", "--priorities", "opa"]
        assert main(words) == 0
        told = capsys.readouterr().out
        if found := re.search(r"Audsley's assignment: (.*)", told):
            ranks = dict(each.split() for each in found[1].split(", "))
            tasks = [task | {"priority": int(ranks[task["name"]])} for task in system["tasks"]]
            changed, given = {**system, "tasks": tasks}, ("--priorities", "given")
            assert accepted(changed, path, capsys, *given, test="uni-rta"), (seed, found[0])
            tried["priorities"] += 1
        path.write_text(json.dumps(system))
        assert main(["sched", "analyze", str(path), "--partition", "any"]) == 0
        told = capsys.readouterr().out
        for found in re.finditer(r"proved by (p-\S+) \(([a-z-]+), ([a-z-]+)\)", told):
            placed = ("--partition", found[2], "--order", found[3])
            assert accepted(system, path, capsys, *placed, test=found[1]), (seed, found[0])
            tried["placements"] += 1
    assert min(tried.values()) >= len(seeds) / 5, tried
