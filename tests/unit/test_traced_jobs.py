"""Truth: what is traced is what `why` names: jobs that count (docs/reference/files.md)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from helpers.campaigns import begin, run, tiny_spec
from helpers.runs import RunTask, Slot, job_table, ran

from deadbeat.executors.base import RunOutcome
from deadbeat.executors.scheduled import SimExecutor
from deadbeat.executors.session import HardwareSession
from deadbeat.executors.simulated import FakeSession
from deadbeat.kinds.contention.late import late_of
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.traces import JobTrace, RunTrace
from deadbeat.store.files import read_json
from deadbeat.store.jobfile import write_job_table


def test_a_session_extracts_jobs_that_count(tmp_path: Path) -> None:
    ms = 1_000_000
    jobs = [ran(0, 0, 900_000, counted=False), ran(2 * ms, 2 * ms, 2 * ms + 100, slot=1)]
    slots = (Slot(end=ms), Slot(start=2 * ms, end=3 * ms))
    table = job_table([RunTask(period_ns=ms, deadline_ns=ms)], [jobs], slots=slots)
    path = tmp_path / "a.jobs"
    write_job_table(path, table)
    session = HardwareSession.__new__(HardwareSession)
    session.threads = {}
    tracer: Any = SimpleNamespace(
        stop=lambda: None, text=lambda: "", unavailable="", lost=3, lost_cpus=()
    )
    session._tracer = tracer
    trace, known = session._trace_ends(path)
    assert trace is not None
    assert [(one.job, one.lost) for one in trace.jobs] == [(1, 3)]
    assert known is not None and len(known.jobs) == 2


def test_a_run_is_as_bad_as_the_worst_of_its_jobs_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which the store keeps its trace or not."""
    spec = tiny_spec({"run": {"causes": True}})
    store, plain = begin(tmp_path, spec), FakeSession.run

    def slow_warm_up(table: JobTable) -> JobTable:
        jobs = table.jobs.copy()
        warming = jobs["flags"] & j.JOB_COUNTED == 0
        assert warming.any()
        jobs["finish_ns"][warming] += 10**9
        return evolve(table, jobs=jobs)

    def traced(session: FakeSession, key: Any) -> RunOutcome:
        outcome = plain(session, key)
        assert outcome.table is not None
        trace = RunTrace(jobs=(JobTrace(job=0, events=()),))
        return evolve(outcome, table=slow_warm_up(outcome.table), trace=trace)

    monkeypatch.setattr(FakeSession, "run", traced)
    run(spec, store)
    kept = sorted((store.path / "traces").glob("m*.json"))
    severities = [read_json(path, what="trace", hint="")["severity"] for path in kept]
    assert len(severities) == 8
    assert all(tardiness < 10**8 for tardiness, _ in severities)


@pytest.mark.parametrize("executor", [None, SimExecutor(cores=2)])
def test_a_simulated_machine_says_why_nothing_was_traced(tmp_path: Path, executor: Any) -> None:
    spec = tiny_spec({"run": {"causes": True}})
    store = begin(tmp_path, spec)
    run(spec, store, executor=executor)
    assert late_of(store).unavailable == "a simulated machine has no kernel to trace"
