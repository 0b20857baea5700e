"""Truth: made-up slots in the file of a result, and what the command says of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer

from deadbeat.cli.main import main

#: ns of an operation alone and together, with the state far as once recorded: 4.73 times.
ALONE_NS, SHARED_NS = 3.0, 14.2
WINDOW_NS, TRIP_PS = 2_000_000, 450_000


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    words = ("interfere", "--simulated", "--works", "atomic_line:256@shared,mutex_inherit:8@shared")
    more = ("--duration", "1s", "--repeats", "3", "--no-figures", "--runs", str(runs))
    assert main((*words, *more, "--name", "made")) == 0
    return runs / "made"


def shown(
    result: Path, capsys: Capture, name: str, slots: list[list[int]], operations: int | None = None
) -> tuple[Any, str]:
    """The price of an object by its slots, and the screen; ``operations`` of a call, else all."""
    path = result / "prices.json"
    made = json.loads(path.read_text())
    (batch, *_) = made["batches"]
    size = {"atomic_line": 256, "mutex_inherit": 8}[name]
    works = [{**batch["works"][0], "object": name, "size": size}]
    works[0]["operations"] = operations or size
    made["batches"] = [{**batch, "works": works, "errors": [""], "slots": slots}]
    path.write_text(json.dumps(made))
    said = answer(capsys, "show", "made", "--runs", str(result.parent))
    assert main(("show", "made", "--runs", str(result.parent))) == 0
    (price,) = said["prices"]
    return price, capsys.readouterr().out


def slot(round_: int, who: int, calls: tuple[int, int], *counts: int) -> list[int]:
    first, others = calls
    there = 1 + (who < 0)
    theirs = [WINDOW_NS, others] if who < 0 else [0, 0]
    return [round_, 0, who, there, WINDOW_NS, first, *theirs, TRIP_PS, TRIP_PS, *counts]


def calls_of(ns: float, operations: int) -> int:
    return max(1, round(WINDOW_NS / ns / operations))


@pytest.mark.parametrize("counted", [True, False], ids=["CPU clock", "file of before"])
@pytest.mark.parametrize("where", [0, 1], ids=["first core", "other core"])
def test_a_core_that_stood_still_in_one_slot_of_41_moves_no_price(
    result: Path, capsys: Capture, counted: bool, where: int
) -> None:
    """It took 2,482 ns an operation there, which was 3 times the price as an arithmetic mean."""
    alone, both, still = (calls_of(ns, 256) for ns in (ALONE_NS, SHARED_NS, 2_482.0))
    slots = []
    for number in range(41):
        stops = number == 17
        calls = [both, both]
        calls[where] = still if stops else both
        clock = [0, 0, WINDOW_NS - 12_000 if stops else 0] if counted else []
        solo = clock and [0, 0, 0]
        slots += [slot(number, who, (alone, 0), *solo) for who in (0, 1)]
        slots.append(slot(number, -1, (calls[0], calls[1]), *clock))
    price, _ = shown(result, capsys, "atomic_line", slots)
    true = alone / both
    assert price["ratio"] == pytest.approx(true, rel=0.05)
    assert price["shared_ns"] == pytest.approx(WINDOW_NS / both / 256, rel=0.05)
    assert price["slots"] == 41 - counted
    if counted:
        assert price["victim_ns"] == price["aggressor_ns"] == pytest.approx(price["shared_ns"])


def test_a_mutex_that_inherits_is_stated_by_its_hand_overs(result: Path, capsys: Capture) -> None:
    """Three quarters of the windows spin: 400 hand-overs in 2 ms, 3 operations each. The rest
    sleeps at each of 160, 2 operations."""
    slots = []
    for number in range(40):
        times, operations, sleeps = (160, 2, 160) if number % 4 == 0 else (400, 3, 2)
        calls = times * operations // 2 // 8
        slots += [slot(number, who, (20_000, 0), 0, 0, 0) for who in (0, 1)]
        slots.append(slot(number, -1, (calls, calls), times, sleeps, 0))
    price, screen = shown(result, capsys, "mutex_inherit", slots)
    spinning, sleeping = price["handovers"]
    assert (spinning["mode"], spinning["share"]) == ("spinning", 0.75)
    assert (sleeping["mode"], sleeping["share"]) == ("sleeping", 0.25)
    assert (spinning["ns"], spinning["possession"]) == pytest.approx((5_000, 3), rel=0.01)
    assert (sleeping["ns"], sleeping["possession"]) == pytest.approx((12_500, 2), rel=0.01)
    assert spinning["low_ns"] <= spinning["ns"] <= spinning["high_ns"]
    text = " ".join(screen.split())
    assert "mutex_inherit 5,000 ns spinning (75 %, 3 operations per possession)" in text
    assert "12,500 ns sleeping (25 %, 2)" in text


def test_a_row_has_one_unit(result: Path, capsys: Capture) -> None:
    """Alone below a millisecond, shared above it."""
    slots = []
    for number in range(20):
        slots += [slot(number, who, (3, 0)) for who in (0, 1)]
        slots.append(slot(number, -1, (1, 1)))
    _, out = shown(result, capsys, "atomic_line", slots, operations=1)
    (line,) = (line for line in out.splitlines() if line.startswith("atomic_line "))
    assert re.findall(r"[\d.,]+ (?:ns|ms)", line)[:2] == ["0.667 ms", "2 ms"]
