"""Truth: docs/reference/files.md: what is kept of traces, and what a damaged one says."""

from pathlib import Path

import pytest
from helpers.runs import RunTask, calibration, job_table, key, new_store, ran

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import (
    CpuMove,
    JobTotals,
    JobTrace,
    RunTrace,
    ThreadShare,
    TraceEvent,
)
from deadbeat.tasksets.contention.late import late_of
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.summary import write_summary
from deadbeat.tasksets.store.traces import TraceFolder

EVENT = TraceEvent(
    at_ns=-5, cpu=1, name="sched_waking", thread="a b", pid=7, fields={"comm": "x", "pid": 3}
)
BY_INTERRUPT = TraceEvent(at_ns=6, cpu=0, name="sched_waking", thread="a b", pid=7, interrupt=True)
TOTALS = JobTotals(
    seen=True, woken_ns=5, ran_ns=1, ready_ns=2, asleep_ns=3, unknown_ns=4, roused_ns=5, moves=6,
    move=CpuMove(at_ns=7, from_cpu=0, to_cpu=1), interrupts_ns={"irq": 8},
    threads=(
        ThreadShare(
            pid=1, name="a", before_ns=2, ready_ns=3, instead_ns=4, sleeps=5, slept_ns=6,
            longest_ns=7, longest_to_ns=8,
        ),
    ),
)  # fmt: skip
NEVER = JobTotals(seen=False, woken_ns=None, ran_ns=0, ready_ns=0, asleep_ns=0, unknown_ns=9)
TRACE = RunTrace(
    threads={3: 0, 4: 1},
    jobs=(
        JobTrace(job=9, events=(EVENT, BY_INTERRUPT), lost=2, left_out=3, totals=TOTALS),
        JobTrace(job=8, events=(), totals=NEVER),
        JobTrace(job=7, events=()),
    ),
)


def test_a_trace_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    TraceFolder(tmp_path / "traces").save(key(), TRACE, (0, 0.5))
    again = TraceFolder(tmp_path / "traces")
    assert again.load(key()) == TRACE
    assert again.load(key(replica=1)) is None
    assert again.unavailable() == ""


def test_a_file_without_totals_is_read(tmp_path: Path) -> None:
    """As version 1 wrote it."""
    path = tmp_path / "traces" / f"{key().text}.json"
    path.parent.mkdir()
    path.write_text(
        '{"format": 1, "jobs": [{"events": [[-5, 1, "sched_waking", "a b", 7, {"comm": "x", "pid": '
        '3}]], "job": 9, "lost": 2}], "severity": [0, 0.5], "threads": {"3": 0}, "tool": "0.1"}'
    )
    found = TraceFolder(path.parent).load(key())
    assert found == RunTrace(threads={3: 0}, jobs=(JobTrace(job=9, events=(EVENT,), lost=2),))


def test_no_more_than_the_worst_runs_are_kept_also_across_sessions(tmp_path: Path) -> None:
    severities = [(0, 0.1), (50, 1.5), (0, 0.9), (0, 0.2), (70, 1.1)]
    for replica, severity in enumerate(severities):
        # a folder opened anew, as by a session that resumes
        TraceFolder(tmp_path / "traces", most=2).save(key(replica=replica), TRACE, severity)
    kept = sorted(path.stem for path in (tmp_path / "traces").iterdir())
    assert kept == [key(replica=1).text, key(replica=4).text]


def test_the_reason_why_there_is_none_is_kept(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path / "traces")
    folder.save(key(), RunTrace(unavailable="no tracefs"), (0, 0.5))
    assert (folder.load(key()), folder.unavailable()) == (None, "no tracefs")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 1}', '{"format": 1, "threads": {"x": 0}, "jobs": []}',
     '{"format": 1, "threads": {}, "jobs": [{"job": 1, "lost": 0, "events": [[1, 2]]}]}',
     '{"format": 1, "threads": {}, "jobs": [{"job": 1, "lost": 0, "events": [[1, 2, "", "", 1, 3]]}]}',  # noqa: E501
     '{"format": 1, "threads": {}, "jobs": [{"job": 1, "lost": Infinity, "events": []}]}',
     '{"format": 1, "version": 2, "threads": {}, "jobs": [{"job": 1, "lost": 0, "events": [], "totals": {}}]}',  # noqa: E501
     '{"format": 1, "version": 3, "threads": {}, "jobs": []}'],
)  # fmt: skip
def test_a_damaged_trace_is_named(tmp_path: Path, text: str) -> None:
    folder = TraceFolder(tmp_path / "traces")
    folder.save(key(), TRACE, (0, 0.5))
    path = tmp_path / "traces" / f"{key().text}.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=path.name):
        folder.load(key())
    # and is in the way of no other
    TraceFolder(tmp_path / "traces").save(key(replica=1), TRACE, (0, 0.5))
    assert folder.load(key(replica=1)) == TRACE


def split_run(responses: list[int]) -> JobTable:
    jobs = [ran(1000 * i, 1000 * i, 1000 * i + length) for i, length in enumerate(responses)]
    table = job_table([RunTask()], [jobs])
    table.jobs["flags"] |= j.JOB_SPLIT
    table.jobs["cpu_ns"] = responses
    return table


@pytest.fixture
def store(tmp_path: Path) -> CampaignStore:
    made = CampaignStore.create(tmp_path / "demo", {"name": "demo", "run": {"causes": True}}, 5)
    made.save_calibration(calibration())
    made.commit(key(replica=0), split_run([100, 100, 900]))
    made.commit(key(replica=1), split_run([100, 950, 100]))
    return made


def names(worst: list[object]) -> list[tuple[str, int]]:
    return [(job.run, job.job) for job in worst]  # type: ignore[attr-defined]


def test_the_worst_jobs_of_all_runs_in_order(store: CampaignStore) -> None:
    found = late_of(store, count=3)
    first, second = key(replica=1).text, key(replica=0).text
    assert names(list(found.jobs)) == [(first, 1), (second, 2), (second, 0)]
    assert found.unavailable == ""
    assert found.notes == (
        "no events of 3 of these jobs: kept are those of the 5 worst jobs of a run, of the 100 runs"
        " with the worst jobs",
    )


def traced(job: int, **missing: int) -> RunTrace:
    one = JobTrace(job=job, events=(EVENT,), totals=TOTALS, **missing)
    return RunTrace(threads={3: 0}, jobs=(one,))


def test_a_damaged_trace_costs_its_own_events_and_nothing_else(store: CampaignStore) -> None:
    """And is told once, however many of its jobs are named."""
    store.save_trace(key(replica=0), traced(2), (0, 0.9))
    store.save_trace(key(replica=1), traced(1), (0, 0.95))
    (store.path / "traces" / f"{key(replica=0).text}.json").write_text("{", encoding="utf-8")
    found = late_of(store, count=3)
    assert [job.details.get("events") for job in found.jobs] == [1, None, None]
    (note,) = found.notes
    text = key(replica=0).text
    assert note.startswith(f"no events of run {text}: trace traces/{text}.json is damaged: ")
    assert summarise(store).meta["causes_notes"] == [note]
    refusal = store.path / "traces" / "unavailable.json"
    refusal.write_text("{", encoding="utf-8")
    assert "trace traces/unavailable.json is damaged" in late_of(store, count=3).unavailable


def test_lost_and_left_out_are_told_apart(store: CampaignStore) -> None:
    store.save_trace(key(replica=0), traced(2, lost=40), (0, 0.9))
    store.save_trace(key(replica=1), traced(1, left_out=700), (0, 0.95))
    lost, left_out = late_of(store, count=2).notes
    assert "buffers lost events (up to 40 a run, the oldest) in the runs of 1 of these jobs" in lost
    assert "1 of these jobs lack events: up to 700 were left out" in left_out


def test_a_refusal_is_told_of_the_runs_that_it_hit(store: CampaignStore) -> None:
    """Another session could trace: then it is not the whole story, or none of it at all."""
    store.save_trace(key(replica=0), RunTrace(unavailable="no tracefs"), (0, 0.9))
    assert late_of(store).unavailable == "no tracefs"
    store.save_trace(key(replica=1), traced(1), (0, 0.95))
    assert late_of(store).unavailable == "no tracefs (of some runs; others have events)"
    assert late_of(store, count=1).unavailable == ""


def test_a_campaign_without_the_split_claims_no_causes(tmp_path: Path) -> None:
    made = new_store(tmp_path / "plain")
    made.commit(RunKey(key().point, 0), job_table([RunTask()], [[ran(0, 0, 900)]]))
    summary = summarise(made)
    assert "causes" not in summary.meta
    write_summary(made, summary)
    assert not (made.path / "causes.json").exists()
