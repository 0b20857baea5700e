"""Truth: issue 4, point 1, on the fake executor: from a command to a table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.answers import answer_of
from helpers.rows import rows_of, sets_of

import deadbeat
from deadbeat.cli.main import main
from deadbeat.model.figures import STRESS_COLUMNS, SetFigures
from deadbeat.store.summary import read_summary

OPTIONS = (
    *("stress", "--quick", "--simulated", "--no-figures", "--name", "tiny", "--cores", "2,random"),
    *("--sets", "3", "--duration", "0.1"),
)
SUMMARY = Path("runs/tiny/summary.csv")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    capsys.readouterr()
    assert main((*arguments, "--json")) == status
    return answer_of(capsys.readouterr().out)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_stress_ends_with_a_row_per_group_and_the_path_of_the_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(OPTIONS) == 0
    out, err = capsys.readouterr()
    table = [line.split() for line in out.splitlines()]
    assert [row[:3:2] for row in table if row[:1] in (["M=2"], ["random"])] == [
        ["M=2", "3"],
        ["random", "3"],
    ]
    assert "SIMULATED" in out and "SIMULATED" in err
    assert "Of 6 task sets" in out
    assert "6 of 6 runs\n" in err
    assert out.splitlines()[-1] == "page: runs/tiny/report.html"
    summary, sets = rows(Path("runs/tiny/summary.csv")), rows(Path("runs/tiny/sets.csv"))
    assert tuple(summary[0]) == STRESS_COLUMNS and tuple(sets[0]) == SetFigures.columns("stress")
    assert [(row["group"], row["cores"], row["task_sets"]) for row in summary] == [
        ("M=2", "2", "3"),
        ("random", "", "3"),
    ]
    assert {row["deadline_factor"] for row in sets} == {"10"}


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
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main((*OPTIONS, "--cores", "2", "--critical-cores", "0,1")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With M=2 k=1 critical tasks run" in out
    assert "times where nothing is shielded (M=2)." in out


def test_failed_sets_are_retried_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    key = answer(capsys, *OPTIONS)["rows"] and rows(Path("runs/tiny/sets.csv"))[0]["key"]
    fresh = (*OPTIONS, "--fresh", "--executor", f"fake:fail={key}*1")
    assert answer(capsys, *fresh)["failed"][0]["run"] == key
    found = answer(capsys, *OPTIONS, "--retry")
    assert (found["name"], found["done"], found["failed"]) == ("tiny-2", 6, [])


def test_a_preset_says_loudly_which_cores_do_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--preset", "paper", "--sets", "1", "--duration", "0.2")
    options = (*options, "--simulated", "--no-figures")
    assert main(("stress", *options)) == 0
    err = capsys.readouterr().err
    assert "WARNING: preset paper names core counts that do not exist here" in err
    assert "M = 4, 8, 12, 16 are left out" in err
    assert [row["group"] for row in rows(Path("runs/stress-paper/summary.csv"))] == ["random"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--sets", "0"), '--sets: "0" is out of range'),
        (("--cores", "64"), "--cores: M = 64 asked (2 cores can be used here)"),
        (("--critical-cores", "2"), "--critical-cores: 2 critical cores leave none of"),
        (("--preset", "3c"), '--preset: "3c" is not a choice'),
        (("--preset", "2a", "--cores", "64"), "--cores: M = 64 asked"),
        (("--preset", "2a"), "--preset: none of M = 4, 8, 12, 16 exists"),
        (("--quick", "--preset", "2b"), "--quick and --preset 2b exclude each other"),
        (("--per-task", "--sync-share", "1", "--contended-ratio", "1"), "--per-task: rho and"),
        (("--utilisation", "0.3", "--deadline-factor", "5"), "--deadline-factor: with a util"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    options: tuple[str, ...], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(("stress", "--simulated", *options)) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err
    assert len(err.splitlines()) <= 2
    assert not Path("runs").exists()


def test_a_file_of_the_other_mode_names_the_right_verb(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.toml").write_text('mode = "stress"\n[stress]\nsets = 2\n')
    assert main(("profile", "--simulated", "--campaign", "a.toml")) == 2
    assert "a.toml is of deadbeat stress, not of deadbeat profile" in (
        err := capsys.readouterr().err
    )
    assert "deadbeat stress --campaign a.toml" in err
    Path("b.toml").write_text('mode = "profile"\n')
    assert main(("stress", "--simulated", "--campaign", "b.toml")) == 2
    assert "deadbeat profile --campaign b.toml" in capsys.readouterr().err


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


def test_groups_by_utilisation_have_no_deadline_factor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--utilisation", "random:0.2..0.4", "--tasks-per-core", "2", "--periods", "harmonic")
    assert main((*OPTIONS, *options, "--duration", "0.3")) == 0
    assert "Of 6 task sets" in capsys.readouterr().out
    summary, sets = rows(Path("runs/tiny/summary.csv")), rows(Path("runs/tiny/sets.csv"))
    assert [row["deadline_factor"] for row in (*summary, *sets)] == [""] * 8
    for row in sets:
        assert 0.19 * int(row["cores"]) < float(row["utilisation"]) < 0.41 * int(row["cores"])


def test_a_set_that_asks_more_than_its_cores_have_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--cores", "2", "--tasks-per-core", "3")
    for factor, overloaded in (("2", True), ("3", False)):
        found = answer(capsys, *OPTIONS, *options, "--deadline-factor", factor)
        told = [each["message"] for each in found["findings"] if each["id"] == "overloaded"]
        assert bool(told) == overloaded
        assert not overloaded or told[0].startswith("3 of 3 task sets")


def test_programs_of_a_stress_campaign_run_again() -> None:
    assert main(OPTIONS) == 0
    again = ("stress", "--simulated", "--no-figures", "--programs-from", "tiny", "--name", "again")
    assert main(again) == 0
    found = [rows(Path(f"runs/{name}/sets.csv")) for name in ("tiny", "again")]
    assert [row["set_id"] for row in found[0]] == [row["set_id"] for row in found[1]]
    assert {row["group"] for row in found[1]} == {"M=2", "random"}


def test_the_simulator_runs_random_task_sets() -> None:
    executor = ("--executor", "sim:cores=3")
    assert main((*OPTIONS[:2], *OPTIONS[3:], *executor, "--critical-cores", "0,1")) == 0
    found = rows(Path("runs/tiny/summary.csv"))
    assert [row["group"] for row in found] == ["M=2", "M=2 k=1", "random", "random k=1"]
    assert all(float(row["slowdown_p50"]) >= 1 for row in found)


def test_damage_is_listed_and_mended_by_the_same_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
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


def test_a_campaign_without_runs_does_not_blame_the_host(
    capsys: pytest.CaptureFixture[str],
) -> None:
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


def test_a_core_that_computation_fills_does_not_contend(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--cores", "2", "--critical-cores", "0,1", "--sync-share", "1")
    assert main((*OPTIONS, *words, "--contended-ratio", "1")) == 0
    rows_by_group = {row["group"]: float(row["slowdown_mean"]) for row in rows(SUMMARY)}
    assert rows_by_group["M=2"] == pytest.approx(1.61, abs=0.02)
    assert rows_by_group["M=2 k=1"] == pytest.approx(1.01, abs=0.01)
