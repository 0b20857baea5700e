"""Truth: what ``deadbeat load`` prints, writes and refuses, on the made-up machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve
from helpers.loads import MS, back_to_back, run_of, summary_of_runs

from deadbeat.cli.main import main
from deadbeat.kinds.load.engine import SimulatedLoad
from deadbeat.kinds.load.kind import _cases, counts
from deadbeat.model.errors import TargetError
from deadbeat.model.finding import Finding
from deadbeat.model.load import LoadKey, LoadRun

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


def test_what_ends_with_status_1() -> None:
    invalid = (Finding(id="steal", severity="invalid", message="the host"),)
    fine = run_of(back_to_back([10 * MS] * 9))
    late = run_of(back_to_back([20 * MS] * 9), repeat=2)
    bad = run_of(back_to_back([10 * MS] * 9), repeat=3, problems=invalid)

    def found(*runs: LoadRun) -> dict[str, str]:
        bad = (case for case in _cases(summary_of_runs(runs)) if case.verdict == "failed")
        return {case.group: case.message.partition(",")[0] for case in bad}

    assert counts(summary_of_runs([fine, late, bad]))
    assert not counts(summary_of_runs([bad]))
    assert not counts(summary_of_runs([evolve(fine, key=LoadKey(4, "all", 1))]))
    assert found(fine) == {}
    assert found(fine, late) == {"load.misses": "9 of 18 rounds missed"}


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
