"""Truth: issue 4, point 1, on the fake executor: from a command to a table."""

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import Capture, answer, answer_of
from helpers.rows import rows_of, sets_of

import deadbeat
from deadbeat.cli.main import main
from deadbeat.tasksets.store.summary import read_summary

OPTIONS = (
    *(
        "contention",
        "--random",
        "--quick",
        "--simulated",
        "--no-figures",
        "--name",
        "tiny",
        "--cores",
        "2,random",
    ),
    *("--sets", "3", "--duration", "0.1"),
)
SUMMARY = Path("runs/tiny/summary.csv")


pytestmark = pytest.mark.usefixtures("in_a_folder")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_open_reads_a_stress_campaign() -> None:
    assert main((*OPTIONS, "--set", "deadline-factor=2,10")) == 0
    view = deadbeat.open("runs/tiny")
    assert view.summary.mode == "stress"
    stored = read_summary(view.store)
    assert (
        stored is not None and stored.mode == "stress" and rows_of(stored) == rows_of(view.summary)
    )
    jobs = view.all_jobs()
    assert set(jobs["group"]) == {"M=2", "random"}
    assert set(jobs["deadline_factor"]) == {2.0, 10.0}
    assert {row["deadline_factor"] for row in rows_of(view.summary)} == {2.0, 10.0}


def test_figures_of_shielded_sets_are_those_of_their_critical_tasks() -> None:
    options = ("--cores", "2", "--set", "critical-cores=0,1", "--sync-share", "0.5")
    assert main((*OPTIONS, *options)) == 0
    view = deadbeat.open("runs/tiny")
    shielded = [row for row in sets_of(view.summary) if row["group"] == "M=2 k=1"]
    assert len(shielded) == 3
    for row in shielded:
        jobs = view.jobs(row["key"])
        mine = jobs["counted"] & ~jobs["solo"] & jobs["finished"]
        critical = mine & (jobs["core"] == 0)
        assert row["jobs"] == critical.sum() < mine.sum()
        assert row["delay_ratio_mean"] == pytest.approx(np.mean(jobs["delay_ratio"][critical]))
        assert row["tasks"] == 2 and row["critical_cores"] == 1
        assert row["utilisation"] == pytest.approx(1.0, abs=0.02)  # 0.1 and 0.9
        assert row["tasks_without_solo"] == 0
    both = {row["group"]: row for row in rows_of(view.summary)}
    assert both["M=2"]["critical_cores"] is None and both["M=2 k=1"]["critical_cores"] == 1
    assert both["M=2 k=1"]["sync_share_real"] == pytest.approx(0.5, abs=0.02)


def test_the_answer_says_how_much_of_the_interference_reaches_critical_tasks(capsys: Capture):
    assert main((*OPTIONS, "--cores", "2", "--set", "critical-cores=0,1")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With M=2 k=1 critical tasks run" in out
    assert "times where nothing is shielded (M=2)." in out


def test_a_profile_at_several_deadline_factors_has_a_row_for_each() -> None:
    options = ("--quick", "--simulated", "--no-figures", "--name", "p", "--sets", "1")
    grid = ("--sync-share", "1", "--contended-ratio", "1", "--duration", "0.1")
    quick = ("--set", "mix=random", "--set", "deadline-factor=2,5,10")
    assert main(("contention", *options, *grid, *quick)) == 0
    found = rows(Path("runs/p/summary.csv"))
    assert [(row["cores"], row["deadline_factor"]) for row in found] == [
        *(("1", "2"), ("1", "5"), ("1", "10")),
        *(("2", "2"), ("2", "5"), ("2", "10")),
    ]
    assert all(row["task_sets"] == "1" for row in found)
    assert {row["deadline_factor"] for row in rows(Path("runs/p/sets.csv"))} == {"2", "5", "10"}


def test_groups_by_utilisation_have_no_deadline_factor(capsys: Capture) -> None:
    options = (
        "--utilisation",
        "random:0.2..0.4",
        "--tasks-per-core",
        "2",
        "--set",
        "periods=harmonic",
    )
    assert main((*OPTIONS, *options, "--duration", "0.3")) == 0
    assert "Of 6 task sets" in capsys.readouterr().out
    summary, sets = rows(Path("runs/tiny/summary.csv")), rows(Path("runs/tiny/sets.csv"))
    assert [row["deadline_factor"] for row in (*summary, *sets)] == [""] * 8
    for row in sets:
        assert 0.19 * int(row["cores"]) < float(row["utilisation"]) < 0.41 * int(row["cores"])


def test_a_set_that_asks_more_than_its_cores_have_is_named(capsys: Capture) -> None:
    options = ("--cores", "2", "--tasks-per-core", "3")
    for factor, overloaded in (("2", True), ("3", False)):
        found = answer(capsys, *OPTIONS, *options, "--fresh", "--set", f"deadline-factor={factor}")
        told = [each["message"] for each in found["findings"] if each["id"] == "overloaded"]
        assert bool(told) == overloaded
        assert not overloaded or told[0].startswith("3 of 3 task sets")


def test_the_simulator_runs_random_task_sets() -> None:
    executor = ("--executor", "sim:cores=3")
    assert main((*OPTIONS[:3], *OPTIONS[4:], *executor, "--set", "critical-cores=0,1")) == 0
    found = rows(Path("runs/tiny/summary.csv"))
    assert [row["group"] for row in found] == ["M=2", "M=2 k=1", "random", "random k=1"]
    assert all(float(row["slowdown_p50"]) >= 1 for row in found)


def test_a_campaign_without_runs_does_not_blame_the_host(capsys: Capture) -> None:
    assert main(OPTIONS) == 0
    for file in Path("runs/tiny/jobs").iterdir():
        file.unlink()
    capsys.readouterr()
    for words in (("page", "tiny", "--no-figures"), ("show", "tiny")):
        assert main(words) == 0
    out = capsys.readouterr().out
    assert "No run is stored: nothing is decided." in out
    assert "serious: the campaign has no runs: nothing is decided (repeat its command" in out
    assert "quiet" not in out


def test_a_core_that_computation_fills_does_not_contend(capsys: Capture) -> None:
    words = ("--cores", "2", "--set", "critical-cores=0,1", "--sync-share", "1")
    assert main((*OPTIONS, *words, "--contended-ratio", "1")) == 0
    rows_by_group = {row["group"]: float(row["slowdown_mean"]) for row in rows(SUMMARY)}
    assert rows_by_group["M=2"] == pytest.approx(1.61, abs=0.02)
    assert rows_by_group["M=2 k=1"] == pytest.approx(1.01, abs=0.01)


# --- docs/howto/measure-contention.md


FEW = (
    *("--quick", "--simulated", "--no-figures", "--duration", "0.1"),
    *("--sync-share", "1", "--contended-ratio", "0,0.5,1", "--cores", "2", "--name", "p"),
    *("--set", "mix=random"),
)
ASKED = ("--precision", "0.02", "--set", "sets-min=6", "--set", "sets-max=12")


def test_the_answer_says_what_was_reached(capsys: Capture) -> None:
    assert main(["contention", *FEW, *ASKED]) == 0
    out, err = capsys.readouterr()
    assert "slowdown to within 2.0 % at 3 points with" in out
    assert "most sets: 1, target reached: 2" in out
    assert "begin runs/p, 36 task sets: " in err
    assert "0 of 3 decided, 0 runs" in err and "3 of 3 decided" in err
    page = Path("runs/p/report.html").read_text(encoding="utf-8")
    assert "most sets: 1, target reached: 2" in page
    assert "precision-not-reached" in page

    assert main(["show", "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["state"] == "finished"
    assert answer["done"] == answer["planned"] < 36
    assert answer["precision"]["complete"]
    assert {row["stopped"] for row in answer["rows"]} == {"most sets", "target reached"}
    assert main(["list"]) == 0
    assert f"{answer['done']} of {answer['done']}" in capsys.readouterr().out


def test_the_budget_ends_a_campaign_that_is_then_continued(capsys: Capture) -> None:
    # Over before the first run: the calibration counts.
    assert main(["contention", *FEW, *ASKED, "--time-budget", "0.000001s"]) == 3
    out = capsys.readouterr().out
    assert "the time is over, 0 of 36 runs are kept; continue with: deadbeat contention" in out
    assert main(["list", "--json"]) == 0
    assert answer_of(capsys.readouterr().out)[0]["state"] == "unfinished"
    assert main(["contention", *FEW, *ASKED, "--time-budget", "2h"]) == 0
    assert "continue runs/p, 0 of 36" in capsys.readouterr().err
    assert [path.name for path in Path("runs").iterdir() if path.is_dir()].count("p") == 1


def test_stress_takes_it_too(capsys: Capture) -> None:
    few = ("--quick", "--simulated", "--no-figures", "--duration", "0.1")
    asked = ("--precision", "0.2", "--set", "sets-min=6", "--set", "sets-max=20", "--cores", "2")
    assert main(["contention", "--random", *few, *asked, "--name", "s", "--json"]) == 0
    answer = answer_of(capsys.readouterr().out)
    assert answer["precision"]["points"]["M=2"]["sets"] == answer["done"]
    assert main(["contention", "--random", *few, *asked, "--sets", "9"]) == 2
    assert "--sets: a fixed number" in capsys.readouterr().err
