"""Truth: docs/howto/find-out-why.md: what `deadbeat why` prints of late jobs."""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.answers import Capture, answer, answer_of
from helpers.goldens import unpack
from helpers.pages import Page
from helpers.runs import RunTask, Slot, calibration, job_table, key, new_store, ran, skip

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import JobTotals, JobTrace, RunTrace
from deadbeat.cli.main import main
from deadbeat.tasksets.model.figures import SUMMARY_COLUMNS
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.store.campaign import CampaignStore

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
    line = next(line for line in below.splitlines() if line.startswith("t0 1 "))
    cells = ["t0 1", "≥ 7 ms", "the job before (own work)", KEY.text, "≥ 8 ms", "core wait ≥ 8 ms"]
    assert re.split("  +", line) == cells
    assert (
        "Of 8 late jobs beside others: 8 waited for the job before (own work): up to 8 ms" in below
    )
    assert "8 releases in a row skipped: job 0 of its task took 9 ms" in below
    assert "the kernel's buffers lost events (up to 9 a run, the oldest)" in below
    assert "up to 30 µs of a job are without events" in below
    assert "of these jobs lack events: up to 4 were left out" in below
    assert main(("why", str(store.path), "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    assert [(job["finished"], job["skipped"]) for job in found["causes"]] == [(False, 8)]
    assert len(found["notes"]) == 2


def test_on_a_narrow_terminal_the_answer_stays(
    store: CampaignStore, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(("why", str(store.path))) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("t0 1 ")]
    assert re.split("  +", line) == ["t0 1", "≥ 7 ms", "the job before (own work)"]


def test_page_and_list_begin_with_the_same_job_and_a_short_list_with_a_long_one(
    store: CampaignStore, tmp_path: Path, capsys: Capture
) -> None:
    """Also where accounts were read without being asked for, and some of them could not be."""
    task = RunTask(wcet_ns=100 * US, period_ns=1000 * US, deadline_ns=1000 * US)
    for replica, long in ((4, 7), (5, 5), (6, 3)):
        jobs = [ran(0, 0, long * 1000 * US), *(skip(i * 1000 * US) for i in range(1, long))]
        jobs += [ran(i * 1000 * US, i * 1000 * US, i * 1000 * US + 100 * US) for i in (8, 9)]
        table = job_table([task], [jobs], slots=(Slot(end=10_000 * US),))
        finished = table.jobs["flags"] & j.JOB_FINISHED != 0
        table.jobs["flags"][finished] |= j.JOB_SPLIT
        table.jobs["cpu_ns"] = np.maximum(table.jobs["finish_ns"] - table.jobs["start_ns"], 0)
        if replica == 5:
            table.jobs["flags"][0] ^= j.JOB_SPLIT
        store.commit(RunKey(KEY.point, replica), table)
    every = answer(capsys, "why", str(store.path))["causes"]
    late = [job["response_ns"] - job["deadline_ns"] for job in every]
    assert late == sorted(late, reverse=True) and len(every) > 6
    for count in (1, 2, 3):
        shown = answer(capsys, "why", str(store.path), "--worst", str(count))["causes"]
        assert shown == every[:count]
    unknown = [job for job in every if job["job"] == 0 and job["run"].endswith("5")]
    assert [(job["cause"], job["parts_ns"]) for job in unknown] == [("not seen", {})]
    assert main(("page", str(store.path))) == 0
    first = every[0]
    page = (store.path / "report.html").read_text(encoding="utf-8")
    assert f"Job {first['job']} of task t{first['task']}, run {first['run']}: " in page
    data = Page(page).data()
    heads = [*SUMMARY_COLUMNS[:4], *(field["heading"] for field in data["set_fields"])]
    sets = [dict(zip(heads, line, strict=True)) for line in data["sets"]]
    assert [(s["replica"], s["releases"], s["finished"], s["misses"]) for s in sets] == [
        (3, 8, 0, 8), (4, 9, 3, 7), (5, 7, 3, 5), (6, 5, 3, 3),
    ]  # fmt: skip
    assert all(s["miss ratio"] == pytest.approx(s["misses"] / s["releases"]) for s in sets)
    assert [*data["absent"].values()] == ["3 replicas without a result: 0, 1, 2."]


def test_a_damaged_file_of_events_does_not_refuse_the_rest(store: CampaignStore, capsys: Capture):
    (store.path / "traces" / f"{KEY.text}.json").write_text("[", encoding="utf-8")
    assert main(("why", str(store.path))) == 0
    out = capsys.readouterr().out
    assert f"no events of run {KEY.text}: trace traces/{KEY.text}.json is damaged" in out
    assert "8 releases in a row skipped" in out


SLOTS = (Slot(end=9_000), Slot(solo=0, start=10_000, end=19_000), Slot(solo=1, start=20_000))


def disturbed(*, known: bool = True, busy: int = 600) -> JobTable:
    """Of 100 ns of a task with another, more urgent one on its core, which takes 50 ns of each of
    its jobs together; a stranger takes ``busy`` ns of one job, which skips a release by that."""
    least = [
        ran(0, 0, 150 + busy), skip(200), ran(1000, 1000, 1150), ran(2000, 2000, 2150),
        ran(10_000, 10_000, 10_100, slot=1), ran(11_000, 11_000, 11_100, slot=1),
    ]  # fmt: skip
    urgent = [ran(at, at + 20, at + 70) for at in (0, 1000, 2000)]
    tasks = (RunTask(period_ns=700), RunTask(wcet_ns=50))
    table = job_table(tasks, [least, [*urgent, ran(20_000, 20_000, 20_050, slot=2)]], slots=SLOTS)
    table.tasks["priority"][1] = 61
    jobs = table.jobs
    jobs["cpu_ns"] = [100, 0, *[100] * 4, *[50] * 4]
    jobs["run_delay_within_ns"][:4] = 50 + busy, 0, 50, 50
    if known:
        jobs["flags"][jobs["flags"] & j.JOB_FINISHED != 0] |= j.JOB_SPLIT
    return table


@pytest.mark.parametrize("known", [True, False])
def test_what_strangers_took_stands_beside_the_slowdown(
    known: bool, tmp_path: Path, capsys: Capture
) -> None:
    store = new_store(tmp_path / "beside")
    for replica in range(2):
        store.commit(key(1, 500, 0, replica=replica), disturbed(known=known))
    found = answer(capsys, "show", str(store.path))
    (row,), said = found["rows"], found["headline"]
    # the first task: a mean span of (750 + 150 + 150) / 3 of 100; the other: 1
    mean = row["slowdown_mean" if known else "slowdown_bound"]
    assert mean == pytest.approx((3.5 + 1) / 2)
    # one job in seven did not finish in time, by which a stranger is known to be the reason or not
    assert (row["slowdown_mean"] is None) is not known
    # its own, more urgent task stays in
    assert row["slowdown_undisturbed"] == (pytest.approx((1.5 + 1) / 2) if known else None)
    assert row["others_share"] == (pytest.approx(600 / (1050 + 200 + 150 + 50)) if known else None)
    assert ("too few task sets for an upper end" in said) is known  # two
    assert ("Others took 41 % of the jobs' time" in said) is known
    assert ("slowdown is 1.25 to 1.25 at M = 1" in said) is known


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("stored"))


def trace(runs: Path, name: str, file: Path) -> list[dict[str, Any]]:
    """What is written of a result; as Perfetto reads it."""
    assert main(("export", name, "--runs", str(runs), "--as", "perfetto", "--out", str(file))) == 0
    records: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    kinds = {"M": {"args"}, "X": {"ts", "dur", "args", "cat"}, "i": {"ts", "s"}}
    for each in records:
        assert set(each) == {"ph", "pid", "tid", "name"} | kinds[each["ph"]]
    named = {(e["pid"], e["tid"]) for e in records if e["name"] == "thread_name"}
    spans = defaultdict(list)
    for each in records:
        if each["ph"] == "X":
            spans[each["pid"], each["tid"]].append((each["ts"], each["ts"] + each["dur"]))
    assert set(spans) <= named
    for track in spans.values():
        for (_, end), (begin, _) in zip(sorted(track), sorted(track)[1:], strict=False):
            assert begin >= end - 1e-6
    return records


def test_the_events_of_a_measured_campaign_are_a_trace(runs: Path, tmp_path: Path) -> None:
    records = trace(runs, "m-profile", tmp_path / "p.json")
    jobs = [e for e in records if e["ph"] == "X" and e["name"].startswith("job ")]
    assert jobs and all(e["args"]["evidence"] for e in jobs)
    assert {e["args"]["name"] for e in records if e["name"] == "process_name"} <= {
        f"run {path.stem}" for path in (runs / "m-profile/traces").iterdir()
    }


def test_without_events_nothing_is_written(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "p.json"
    words = ("export", "profile", "--runs", str(runs), "--as", "perfetto", "--out", str(file))
    assert main(words) == 2
    assert "profile has no trace" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "mark", "source"),
    [("m-load", "deadline", "measured"), ("load", "deadline", "simulated"),
     ("m-latency", "timer", "measured")],
)  # fmt: skip
def test_the_longest_round_and_the_latest_wake_ups_are_traces(
    name: str, mark: str, source: str, runs: Path, tmp_path: Path
) -> None:
    records = trace(runs, name, tmp_path / "p.json")
    assert {e["cat"] for e in records if e["ph"] == "X"} == {source}
    assert mark in {e["name"] for e in records if e["ph"] == "i"}
