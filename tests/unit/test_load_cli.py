"""Truth: what ``deadbeat load`` prints, writes and refuses, on the made-up machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.loads import MS, back_to_back, run_of, summary_of_runs

from deadbeat.cli.main import main
from deadbeat.kinds.load.document import COLUMNS
from deadbeat.kinds.load.engine import SimulatedLoad
from deadbeat.kinds.load.kind import counts, fails
from deadbeat.model.errors import TargetError
from deadbeat.model.finding import Finding
from deadbeat.model.load import LoadKey, LoadRun
from deadbeat.report.document import keys_of

QUICK = ["--normal", "0,4,8", "--duration", "4", "--repeats", "3", "--no-figures", "--simulated"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert main(["load", *QUICK, "--runs", str(folder)]) == 0
    return folder


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    told = capsys.readouterr()
    return status, told.out, told.err


def test_a_load_test_leaves_its_files(runs: Path) -> None:
    folder = runs / "load"
    names = {entry.name for entry in folder.iterdir()}
    assert {"load.json", "runs", "summary.json", "summary.csv", "report.html"} <= names
    head = (folder / "summary.csv").read_text().splitlines()[0]
    assert head.split(",") == keys_of(COLUMNS)
    assert (runs / "latest").resolve() == folder.resolve()


def test_show_has_the_table_the_remedies_and_the_causes(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = answer(capsys, "show", "load", "--runs", str(runs))
    assert status == 0
    assert "SIMULATED" in out
    assert "Deadlines are missed from 4 ordinary threads on" in out
    assert "threads on the sibling of its core slowed it down" in out
    assert "rt-bandwidth" in out
    assert "fewer failures" in out
    assert "finished: 64 of 64 runs" in out


def test_json_holds_every_cell_with_its_interval(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = answer(capsys, "show", "--json", "--runs", str(runs))
    plain = answer_of(out)
    assert status == 0
    assert plain["kind"] == "simulated"
    rates = {(c["condition"], c["normal"]): c["failures_per_s"] for c in plain["cells"]}
    assert rates["plain", 8]["value"] > rates["rt-bandwidth", 8]["value"] == 0
    assert rates["reference", 8] is None
    assert {effect["condition"] for effect in plain["effects"]} == {
        "pin", "smt", "governor", "preemption", "rt-bandwidth", "all",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--normal", "x"], '--normal.*"x" is not a whole number'),
        (["--priority", "120"], "--priority: .*out of range"),
        (["--remedies", "pim"], "--remedies.*did you mean pin"),
        (["--duration", "1000"], "--duration: .*out of range"),
        (["--cpus", "9"], "there is no CPU 9 to use"),
        (
            ["--form", "periodic", "--round", "9ms", "--period", "5ms"],
            "--period: 5 ms is no longer",
        ),
        (["--form", "periodic", "--round", "1"], "--round: .*unit"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], found: str
) -> None:
    status, out, err = answer(capsys, "load", "--simulated", "--runs", str(tmp_path), *words)
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert re.search(found, err), err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--quick", "--preset", "paper"],
            "--quick and --preset paper exclude each other (drop one)",
        ),
        (["--fail-on", "mises"], '--fail-on: "mises" is not a choice (did you mean misses?)'),
    ],
)
def test_an_option_of_the_other_form_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", "--simulated", "--runs", str(tmp_path), *words]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_ends_with_status_1() -> None:
    invalid = (Finding(id="steal", severity="invalid", message="the host"),)
    fine = run_of(back_to_back([10 * MS] * 9))
    late = run_of(back_to_back([20 * MS] * 9), repeat=2)
    bad = run_of(back_to_back([10 * MS] * 9), repeat=3, problems=invalid)

    def found(*runs: LoadRun, failed: int = 0) -> frozenset[str]:
        return fails(summary_of_runs(runs), failed=failed)

    assert counts(summary_of_runs([fine, late, bad]))
    assert not counts(summary_of_runs([bad]))
    assert not counts(summary_of_runs([evolve(fine, key=LoadKey(4, "all", 1))]))
    assert found(fine) == frozenset()
    assert found(fine, late) == {"misses"}
    assert found(fine, bad) == {"invalid"}
    assert found(fine, failed=1) == {"invalid"}


class Refusing(SimulatedLoad):
    """A machine that refuses to be measured."""

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        raise TargetError(f"{policy} {priority} was refused")


def test_what_is_refused_is_refused_before_anything_is_said_or_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadbeat.kinds.load.kind.SimulatedLoad", Refusing)
    told = answer(capsys, "load", "--simulated", "--priority", "98", "--runs", str(tmp_path))
    assert told == (3, "", "deadbeat: error: fifo 98 was refused\n")
    assert not list(tmp_path.iterdir())
