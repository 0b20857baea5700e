"""Truth: what was compared, drawn or predicted is a result, too: it is listed, and shown again as
its verb answered, with what became of the results it is of."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of

from deadbeat.base.store.derived import digest_of
from deadbeat.cli.main import main

pytestmark = pytest.mark.usefixtures("in_a_folder")


def said(capsys: Capture, *words: str) -> str:
    capsys.readouterr()
    assert main(words) == 0
    return capsys.readouterr().out


def measured(capsys: Capture, *names: str) -> None:
    for name in names:
        said(capsys, "latency", "--quick", "--simulated", "--no-figures", "--name", name)


def rows(capsys: Capture) -> dict[str, Any]:
    return {each["name"]: each for each in answer_of(said(capsys, "list", "--json"))}


def test_what_was_compared_is_listed_and_shown_again(capsys: Capture) -> None:
    measured(capsys, "a", "b")
    compared = said(capsys, "compare", "a", "b")
    assert said(capsys, "show", "compare-a-b") == compared
    again = json.loads(said(capsys, "show", "compare-a-b", "--json"))
    then = json.loads(said(capsys, "compare", "a", "b", "--json"))
    then["results"]["report"] = again["results"]["report"]
    assert again == then
    row = rows(capsys)["compare-a-b"]
    assert (row["kind"], row["state"], row["preset"]) == ("compare", "finished", "a, b")
    assert [each["digest"] for each in row["inputs"]] == [
        digest_of(Path("runs", name)) for name in "ab"
    ]
    assert "compare a, b" in said(capsys, "list")


def test_a_prediction_is_shown_again(capsys: Capture) -> None:
    sets = ("--set", "fragments=matmul,atomic_line", "--cores", "2", "--sets", "6")
    said(
        capsys,
        "contention",
        "--random",
        "--name",
        "s",
        "--quick",
        "--simulated",
        "--no-figures",
        *sets,
    )
    predicted = said(capsys, "predict", "s")
    assert said(capsys, "show", "predict-s") == predicted
    assert rows(capsys)["predict-s"]["kind"] == "predict"


def test_what_became_of_its_results_is_told(capsys: Capture) -> None:
    measured(capsys, "a", "b")
    compared = said(capsys, "compare", "a", "b")
    said(capsys, "page", "a", "--no-figures")
    assert said(capsys, "show", "compare-a-b") == compared, "a report changes no run"
    Path("runs/b/runs/idle.simulated.0000.json").unlink()
    told = said(capsys, "show", "compare-a-b").splitlines()[-1]
    assert told == "runs/b changed since: repeat deadbeat compare"
    shutil.rmtree("runs/a")
    told = said(capsys, "show", "compare-a-b").splitlines()[-1]
    assert told == "runs/a is gone, runs/b changed since: repeat deadbeat compare"


def test_a_damaged_one_is_a_line(capsys: Capture) -> None:
    folder = Path("runs/c")
    folder.mkdir(parents=True)
    (folder / "derived.json").write_text('{"format": 1, "verb": 3}')
    assert main(["show", "c"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "derived result runs/c/derived.json is damaged" in line
    row = rows(capsys)["c"]
    assert (row["kind"], row["state"]) == ("derived", "damaged")
