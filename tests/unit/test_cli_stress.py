"""Truth: issue 4, point 1, on the fake executor: from a command to a table."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.answers import Capture, answer
from helpers.rows import rows_of, sets_of

import deadbeat
from deadbeat.cli.main import main
from deadbeat.store.summary import read_summary

OPTIONS = (
    *("stress", "--quick", "--simulated", "--no-figures", "--name", "tiny", "--cores", "2,random"),
    *("--sets", "3", "--duration", "0.1"),
)
SUMMARY = Path("runs/tiny/summary.csv")


pytestmark = pytest.mark.usefixtures("in_a_folder")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_stress_ends_with_a_row_per_group_and_the_path_of_the_report(capsys: Capture) -> None:
    assert main(OPTIONS) == 0
    out, err = capsys.readouterr()
    table = [line.split() for line in out.splitlines()]
    assert [row[:3:2] for row in table if row[:1] in (["M=2"], ["random"])] == [
        ["M=2", "3"],
        ["random", "3"],
    ]
    assert "Of 6 task sets" in out and "6 of 6 runs\n" in err


def test_open_reads_a_stress_campaign() -> None:
    assert main((*OPTIONS, "--deadline-factor", "2,10")) == 0
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
    options = ("--cores", "2", "--critical-cores", "0,1", "--sync-share", "0.5")
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


def test_the_answer_says_how_much_of_the_interference_reaches_critical_tasks(
    capsys: Capture,
) -> None:
    assert main((*OPTIONS, "--cores", "2", "--critical-cores", "0,1")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With M=2 k=1 critical tasks run" in out
    assert "times where nothing is shielded (M=2)." in out


def test_a_profile_at_several_deadline_factors_has_a_row_for_each() -> None:
    options = ("--quick", "--simulated", "--no-figures", "--name", "p", "--sets", "1")
    grid = ("--sync-share", "1", "--contended-ratio", "1", "--duration", "0.1")
    quick = ("--mix", "random", "--deadline-factor", "2,5,10")
    assert main(("profile", *options, *grid, *quick)) == 0
    found = rows(Path("runs/p/summary.csv"))
    assert [(row["cores"], row["deadline_factor"]) for row in found] == [
        *(("1", "2"), ("1", "5"), ("1", "10")),
        *(("2", "2"), ("2", "5"), ("2", "10")),
    ]
    assert all(row["task_sets"] == "1" for row in found)
    assert {row["deadline_factor"] for row in rows(Path("runs/p/sets.csv"))} == {"2", "5", "10"}


def test_groups_by_utilisation_have_no_deadline_factor(capsys: Capture) -> None:
    options = ("--utilisation", "random:0.2..0.4", "--tasks-per-core", "2", "--periods", "harmonic")
    assert main((*OPTIONS, *options, "--duration", "0.3")) == 0
    assert "Of 6 task sets" in capsys.readouterr().out
    summary, sets = rows(Path("runs/tiny/summary.csv")), rows(Path("runs/tiny/sets.csv"))
    assert [row["deadline_factor"] for row in (*summary, *sets)] == [""] * 8
    for row in sets:
        assert 0.19 * int(row["cores"]) < float(row["utilisation"]) < 0.41 * int(row["cores"])


def test_a_set_that_asks_more_than_its_cores_have_is_named(capsys: Capture) -> None:
    options = ("--cores", "2", "--tasks-per-core", "3")
    for factor, overloaded in (("2", True), ("3", False)):
        found = answer(capsys, *OPTIONS, *options, "--deadline-factor", factor)
        told = [each["message"] for each in found["findings"] if each["id"] == "overloaded"]
        assert bool(told) == overloaded
        assert not overloaded or told[0].startswith("3 of 3 task sets")


def test_the_simulator_runs_random_task_sets() -> None:
    executor = ("--executor", "sim:cores=3")
    assert main((*OPTIONS[:2], *OPTIONS[3:], *executor, "--critical-cores", "0,1")) == 0
    found = rows(Path("runs/tiny/summary.csv"))
    assert [row["group"] for row in found] == ["M=2", "M=2 k=1", "random", "random k=1"]
    assert all(float(row["slowdown_p50"]) >= 1 for row in found)


def test_damage_is_listed_and_mended_by_the_same_command(capsys: Capture) -> None:
    assert main(OPTIONS) == 0
    victim = sorted(Path("runs/tiny/jobs").iterdir())[0]
    whole = victim.read_bytes()
    victim.write_bytes(whole[:100])
    (listed,) = answer(capsys, "runs")
    assert (listed["state"], listed["done"]) == ("damaged", 6)
    assert victim.name in listed["problem"]
    assert main(OPTIONS) == 3
    assert "only this run is measured again; or begin anew with --fresh" in capsys.readouterr().err
    assert main((*OPTIONS, "--fresh")) == 0
    assert main(("report", "tiny", "--no-figures")) == 3
    assert "repeat the campaign's command" in capsys.readouterr().err
    victim.unlink()
    assert main(OPTIONS) == 0
    assert "continue runs/tiny, 5 of 6 task sets done: at most" in capsys.readouterr().err
    assert victim.read_bytes()[:8] == whole[:8]
    assert [each["state"] for each in answer(capsys, "runs")] == ["finished", "finished"]
    assert not Path("runs/tiny-3").exists()


def test_a_campaign_without_runs_does_not_blame_the_host(capsys: Capture) -> None:
    assert main(OPTIONS) == 0
    for file in Path("runs/tiny/jobs").iterdir():
        file.unlink()
    capsys.readouterr()
    for words in (("report", "tiny", "--no-figures"), ("show", "tiny")):
        assert main(words) == 0
    out = capsys.readouterr().out
    assert "No run is stored: nothing is decided." in out
    assert "serious: the campaign has no runs: nothing is decided (repeat its command" in out
    assert "quiet" not in out


def test_a_core_that_computation_fills_does_not_contend(capsys: Capture) -> None:
    words = ("--cores", "2", "--critical-cores", "0,1", "--sync-share", "1")
    assert main((*OPTIONS, *words, "--contended-ratio", "1")) == 0
    rows_by_group = {row["group"]: float(row["slowdown_mean"]) for row in rows(SUMMARY)}
    assert rows_by_group["M=2"] == pytest.approx(1.61, abs=0.02)
    assert rows_by_group["M=2 k=1"] == pytest.approx(1.01, abs=0.01)
