"""Truth: issue 2, "What a new user does", on the fake executor."""

import json
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers.answers import Capture, answer
from helpers.campaigns import TINY_OPTIONS

from deadbeat.base.report.paper import STYLE
from deadbeat.cli.main import main

KEY = "m002-s1000-c1000-r0000"


pytestmark = pytest.mark.usefixtures("in_a_folder")


def test_bare_deadbeat_is_its_help(capsys: Capture) -> None:
    told = [(main(words), capsys.readouterr().out) for words in ((), ("--help",), ("-h",))]
    assert told == [(0, told[0][1])] * 3


def points(out: str) -> list[str]:
    """The lines of the tables of points: they begin with M."""
    return [line for line in out.splitlines() if re.match(r" *\d+  [01]\.", line)]


def test_profile_ends_with_the_table_and_the_path_of_the_report(capsys: Capture) -> None:
    assert main(TINY_OPTIONS) == 0
    out, err = capsys.readouterr()
    assert "seldom adds" in out and len(out.splitlines()) <= 24 and points(out) == []
    assert "findings: " in out and "SIMULATED" in err
    assert "8 task sets: " in err and "of disk" in err and "8 of 8 runs\n" in err


def test_an_interrupt_while_it_is_summarised_says_how_to_continue(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("deadbeat.tasksets.contention.kind.write", interrupt)
        assert main(TINY_OPTIONS) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert (
        "interrupted: 8 of 8 runs are kept in runs/tiny; continue with: deadbeat contention" in last
    )
    assert main(TINY_OPTIONS) == 0


def test_failed_runs_are_named_and_retried_on_demand(capsys: Capture) -> None:
    fault = ("--executor", f"fake:fail={KEY}*1")
    assert main((*TINY_OPTIONS, *fault)) == 0
    out, err = capsys.readouterr()
    assert f"1 of 8 runs have no result, for example {KEY}: " in out
    assert f"run {KEY} failed: " in err
    assert "--retry" in out
    assert [each["run"] for each in answer(capsys, "show")["failed"]] == [KEY]
    found = answer(capsys, *TINY_OPTIONS, "--retry")
    assert (found["name"], found["done"], found["failed"]) == ("tiny", 8, [])


def test_a_campaign_without_a_single_result_fails(capsys: Capture) -> None:
    every = ",".join(
        f"fail=m{m:03d}-s{s:04d}-c{c:04d}-r0000*9"
        for m in (1, 2)
        for s in (0, 1000)
        for c in (0, 1000)
    )
    assert main((*TINY_OPTIONS, "--executor", f"fake:{every}")) == 3
    assert "8 of 8 runs have no result" in capsys.readouterr().out


def test_preset_paper_says_loudly_which_cores_do_not_exist(capsys: Capture) -> None:
    options = ("--preset", "paper", "--simulated", "--no-figures", "--sets", "1", "--set", "step=1")
    found = answer(capsys, "contention", *options)
    assert found["missing_cores"] == list(range(3, 17))
    assert {row["cores"] for row in found["rows"]} == {1, 2}
    assert main(("contention", *options, "--fresh")) == 0
    assert "WARNING: preset paper names core counts that do not exist here: M = 3, 4" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_report_draws_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    # Half of the time would go into making subsets of fonts.
    monkeypatch.setitem(STYLE, "pdf.fonttype", 3)
    one = ("--cores", "1", "--sync-share", "1", "--contended-ratio", "1")
    assert main((*TINY_OPTIONS, *one)) == 0
    assert not Path("runs/tiny/figures").exists()
    assert main(("page",)) == 0
    assert not Path("runs/tiny/figures").exists()
    assert main(("page", "--figures")) == 0
    first = min(Path("runs/tiny/figures").iterdir())
    first.unlink()
    assert main(("page",)) == 0 and first.is_file()  # what is there is not left to grow old
    starts = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
    paths = list(Path("runs/tiny/figures").iterdir())
    assert Counter(path.suffix for path in paths) == dict.fromkeys(starts, len(paths) // 3)
    assert all(path.read_bytes().startswith(starts[path.suffix]) for path in paths)


def test_runs_in_another_folder(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADBEAT_RUNS", "elsewhere")
    assert main(TINY_OPTIONS) == 0
    assert Path("elsewhere/tiny/report.html").is_file()
    assert [each["name"] for each in answer(capsys, "list")] == ["tiny"]
    assert answer(capsys, "list", "--runs", "nowhere") == []


def test_a_calibration_is_shared_between_campaigns(capsys: Capture) -> None:
    made = answer(
        capsys, "contention", "--calibrate", "--simulated", "--pool", "quick", "--out", "c/cal.json"
    )
    assert made["path"] == "c/cal.json"
    assert made["pool"] == "quick" and made["costs"]
    assert answer(capsys, *TINY_OPTIONS, "--calibration", "c/cal.json")["done"] == 8
    kept = json.loads(Path("runs/tiny/calibration.json").read_text())
    assert kept["costs"] == made["costs"]


def test_fragments_tell_cost_blocking_and_availability(capsys: Capture) -> None:
    assert main(("contention", "--calibrate", "--simulated")) == 0
    found = answer(capsys, "list", "fragments", "--simulated")
    assert found["calibration"] == "runs/calibration.json"
    mutex = next(each for each in found["fragments"] if each["name"] == "mutex")
    assert set(mutex["cost_ns"]) == {"1", "4", "16"} and min(mutex["cost_ns"].values()) > 0
    assert main(("list", "fragments", "--simulated")) == 0
    out = capsys.readouterr().out
    assert "non-blocking" in out and "mutex" in out and " ns to " in out


def test_fragments_are_listed_also_where_nothing_can_be_tried(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # no compiler
    monkeypatch.delenv("DEADBEAT_CC", raising=False)
    found = answer(capsys, "list", "fragments")
    assert len(found["fragments"]) >= 36
    assert {each["available"] for each in found["fragments"]} == {None}
    assert found["problem"] != ""
    assert (
        main(
            (
                "list",
                "fragments",
            )
        )
        == 0
    )
    assert "what can run here is unknown: " in capsys.readouterr().err


def test_why_names_the_worst_jobs_and_says_what_is_missing(capsys: Capture) -> None:
    assert main((*TINY_OPTIONS, "--set", "split=true", "--set", "worst=4", "--name", "split")) == 0
    capsys.readouterr()
    found = answer(capsys, "why", "split", "--worst", "3")
    assert len(found["causes"]) == 3
    assert "not recorded" in found["unavailable"]
    (run, first) = (found["causes"][0]["run"], found["causes"][0])
    assert sum(first["parts_ns"].values()) == first["response_ns"]
    assert main(("why", "split", "--worst", "2")) == 0
    out = capsys.readouterr().out
    assert run[:6] in out
    assert out.splitlines()[-1].startswith("no scheduling events: ")
    kept = json.loads(Path("runs/split/causes.json").read_text())
    assert len(kept["causes"]) == 4


def test_the_version_is_one(capsys: Capture) -> None:
    assert main(("--version",)) == 0
    assert capsys.readouterr().out.startswith(f"deadbeat {version('deadbeat')}\n")


def test_a_verb_within_a_group_is_found_and_none_stands_twice(capsys: Capture) -> None:
    assert main(("list", "keys", "analyze")) == 2
    assert "there is no verb analyze (deadbeat sched analyze)" in capsys.readouterr().err
    assert main(("--help",)) == 0
    starts = [x.strip().split("  ")[0] for x in capsys.readouterr().out.splitlines() if "?" in x]
    assert len(starts) == len({*starts}) == 5


def test_words_of_the_first_screens_are_explained(capsys: Capture) -> None:
    words = "near, far, saturated, seldom adds, hand-over, operations per possession, core wait"
    for word in (*words.split(", "), "resource wait", "own work"):
        found = answer(capsys, "show", word)
        assert word in found["term"].lower() and len(found["meaning"]) > 60
