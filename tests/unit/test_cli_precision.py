"""Truth: docs/howto/measure-to-a-precision.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.cli.main import main

FEW = (
    *("--quick", "--simulated", "--no-figures", "--duration", "0.1"),
    *("--sync-share", "1", "--contended-ratio", "0,0.5,1", "--cores", "2", "--name", "p"),
    *("--mix", "random"),
)
ASKED = ("--precision", "0.02", "--sets-min", "6", "--sets-max", "12")


pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_the_answer_says_what_was_reached(capsys: Capture) -> None:
    assert main(["profile", *FEW, *ASKED]) == 0
    out, err = capsys.readouterr()
    assert "slowdown to within 2.0 % at 3 points with" in out
    assert "most sets: 1, target reached: 2" in out
    assert "begin runs/p, 36 task sets: at most" in err
    assert "0 of 3 points known, 0 runs" in err and "3 of 3 points known" in err
    page = Path("runs/p/report.html").read_text(encoding="utf-8")
    assert "most sets: 1, target reached: 2" in page
    assert "precision-not-reached" in page

    assert main(["show", "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["state"] == "finished"
    assert answer["done"] == answer["planned"] < 36
    assert answer["precision"]["complete"]
    assert {row["stopped"] for row in answer["rows"]} == {"most sets", "target reached"}
    assert main(["runs"]) == 0
    assert f"{answer['done']} of {answer['done']}" in capsys.readouterr().out


def test_the_budget_ends_a_campaign_that_is_then_continued(capsys: Capture) -> None:
    # Over before the first run: the calibration counts.
    assert main(["profile", *FEW, *ASKED, "--time-budget", "0.000001s"]) == 3
    out = capsys.readouterr().out
    assert "the time is over, 0 runs are kept; continue with: deadbeat profile" in out
    assert main(["runs", "--json"]) == 0
    assert answer_of(capsys.readouterr().out)[0]["state"] == "unfinished"
    assert main(["profile", *FEW, *ASKED, "--time-budget", "2h"]) == 0
    assert "continue runs/p, 0 of 36" in capsys.readouterr().err
    assert [path.name for path in Path("runs").iterdir() if path.is_dir()].count("p") == 1


def test_a_budget_bounds_a_fixed_design_too(capsys: Capture) -> None:
    assert main(["profile", *FEW, "--sets", "2", "--time-budget", "0.000001s"]) == 3
    assert "the time is over" in capsys.readouterr().out
    assert main(["profile", *FEW, "--sets", "2"]) == 0


def test_stress_takes_it_too(capsys: Capture) -> None:
    few = ("--quick", "--simulated", "--no-figures", "--duration", "0.1")
    asked = ("--precision", "0.2", "--sets-min", "6", "--sets-max", "20", "--cores", "2")
    assert main(["stress", *few, *asked, "--name", "s", "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["precision"]["points"]["M=2"]["sets"] == answer["done"]
    assert main(["stress", *few, *asked, "--sets", "9"]) == 2
    assert "--sets: a fixed number" in capsys.readouterr().err
