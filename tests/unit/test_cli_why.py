"""Truth: docs/howto/find-out-why.md: what `deadbeat why` prints of late jobs."""

import re
from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of
from helpers.runs import RunTask, Slot, calibration, job_table, ran, skip

from deadbeat.cli.main import main
from deadbeat.model import jobs as j
from deadbeat.model.results import Point, RunKey
from deadbeat.model.traces import JobTotals, JobTrace, RunTrace
from deadbeat.store.campaign import CampaignStore

US = 1000
#: As long as names of runs get.
KEY = RunKey(Point(2, 904, 1000, 2000), 3)


@pytest.fixture
def store(tmp_path: Path) -> CampaignStore:
    """One run in which only a job of the warm-up finished."""
    made = CampaignStore.create(tmp_path / "demo", {"name": "demo", "run": {"causes": True}}, 5)
    made.save_calibration(calibration())
    jobs = [ran(0, 0, 9000 * US, counted=False), *(skip(i * 1000 * US) for i in range(1, 9))]
    task = RunTask(wcet_ns=100 * US, period_ns=1000 * US, deadline_ns=1000 * US)
    table = job_table([task], [jobs], slots=(Slot(end=10_000 * US),), flags=j.RUN_SPLIT)
    table.jobs["flags"][0] |= j.JOB_SPLIT
    table.jobs["cpu_ns"][0] = 9000 * US
    made.commit(KEY, table)
    totals = JobTotals(seen=True, woken_ns=0, ran_ns=1, ready_ns=0, asleep_ns=0, unknown_ns=30 * US)
    trace = RunTrace(jobs=(JobTrace(job=0, events=(), lost=9, left_out=4, totals=totals),))
    made.save_trace(KEY, trace, (0, 1.0))
    return made


def test_a_run_that_misses_everything_is_told(store: CampaignStore, capsys: Capture) -> None:
    assert main(("why", str(store.path))) == 0
    below = capsys.readouterr().out
    line = next(line for line in below.splitlines() if line.startswith(f"{KEY.text} "))
    cells = re.split("  +", line)
    assert cells[:5] == [KEY.text, "t0 1", "≥ 8 ms", "≥ 7 ms", "core wait ≥ 8 ms"]
    assert cells[5].startswith("core held: its own")
    assert "8 releases in a row skipped: job 0 of its task took 9000 us" in below
    assert "the kernel's buffers lost events (up to 9 a run, the oldest)" in below
    assert "up to 30 us of a job are without events" in below
    assert "of these jobs lack events: up to 4 were left out" in below
    assert main(("why", str(store.path), "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    assert [(job["finished"], job["skipped"]) for job in found["causes"]] == [(False, 8)]
    assert len(found["notes"]) == 2


def test_a_damaged_file_of_events_does_not_refuse_the_rest(store: CampaignStore, capsys: Capture):
    (store.path / "traces" / f"{KEY.text}.json").write_text("[", encoding="utf-8")
    assert main(("why", str(store.path))) == 0
    out = capsys.readouterr().out
    assert f"no events of run {KEY.text}: trace traces/{KEY.text}.json is damaged" in out
    assert "8 releases in a row skipped" in out
