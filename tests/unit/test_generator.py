"""Truth: the generator as the paper has it (sections 3.3 and 4.1, Figure 2): a set to look at, its
WCETs by the user's own distribution, tasks free of cores, runs long enough for jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.campaigns import TINY_OPTIONS

import deadbeat
from deadbeat.cli.main import main
from deadbeat.model.errors import UsageError

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert main((*TINY_OPTIONS, "--runs", str(folder))) == 0
    return folder


def drawn(runs: Path, key: str, run: str = "tiny") -> dict[str, Any]:
    found: dict[str, Any] = deadbeat.ask("show", run, task_set=key, runs=runs)["results"]
    return found


# ---------- Figure 2 ----------


def test_the_costs_of_every_drawn_task_sum_to_its_wcet(runs: Path) -> None:
    keys = [path.stem for path in (runs / "tiny/jobs").glob("*.jobs")]
    assert len(keys) == 8
    for key in keys:
        for task in drawn(runs, key)["tasks"]:
            uses = [use for segment in task["segments"] for use in segment["uses"]]
            assert sum(use["cost_ns"] for use in uses) == pytest.approx(task["wcet_ns"], rel=0.01)
            assert all((use["object"] is None) == (segment["kind"] == "NS")
                       for segment in task["segments"] for use in segment["uses"])  # fmt: skip


def test_a_bar_shows_what_meets_other_cores(runs: Path, capsys: Capture) -> None:
    for key, mark in (("c1000", "█"), ("c0000", "▒")):
        assert (
            main(("show", "tiny", "--runs", str(runs), "--task-set", f"m002-s1000-{key}-r0000"))
            == 0
        )
        lines = capsys.readouterr().out.splitlines()
        bars = [line for line in lines if line.startswith("|")]
        assert len(bars) == 2
        for bar in bars:
            assert set(bar) - {"|"} == {mark}
            assert bar.count(mark) == 60


def test_a_set_that_is_not_there_is_named(runs: Path) -> None:
    with pytest.raises(UsageError, match="--task-set: tiny has no task set"):
        drawn(runs, "m002-s0500-c0500-r0000")
