"""The worst job, wake-up and round over time; what stands on the pages beside them."""

import json
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from helpers.demo_summary import demo_summary
from helpers.rows import sets_of
from helpers.runs import RunTask, job_table

from deadbeat.base.model import jobs as j
from deadbeat.base.model.traces import Activity, WorstMoment
from deadbeat.base.report.building import moment_chart
from deadbeat.base.report.charts import chart_data
from deadbeat.base.report.paper import Words, draw_charts
from deadbeat.machine.trace.jobs import worst_jobs
from deadbeat.tasksets.contention.facts import head_facts
from deadbeat.tasksets.contention.late import moment_of, worst_job_charts
from deadbeat.tasksets.store.serial import to_plain
from deadbeat.tasksets.store.traces import trace_from_plain

RECORDED = Path(__file__).parents[1] / "golden" / "causes"

MOMENT = WorstMoment(
    what="job 3",
    rows=("CPU 0", "CPU 1"),
    stretches=(
        Activity(row=0, kind="this job", begin_ns=1_000, end_ns=40_000),
        Activity(row=1, kind="other threads", begin_ns=0, end_ns=9_000, text="<b>kworker</b>"),
    ),
    marks={"release": 0, "finish": 40_000, "deadline": 50_000},
    source="Drawn from the kernel's events.",
)


def test_stretches_lie_on_their_rows_between_release_and_deadline() -> None:
    chart = moment_chart(MOMENT, name="worst", title="The worst")
    (panel,) = chart.panels
    assert [(each.rows, each.begin, each.end) for each in panel.spans] == [
        ((0,), (1.0,), (40.0,)),
        ((1,), (0.0,), (9.0,)),
    ]
    assert [(mark.label, mark.at) for mark in panel.marks] == [
        ("release", 0.0), ("finish", 40.0), ("deadline", 50.0),
    ]  # fmt: skip
    assert panel.x_limits[0] < 0
    assert panel.x_limits[1] > 50
    ((name, drawn),) = draw_charts([chart], Words(labels="", caption=""), ("svg",))
    assert name == "worst.svg"
    assert b"CPU 1" in drawn and b"deadline" in drawn


def test_a_deadline_far_beyond_the_finish_is_told_and_not_drawn() -> None:
    late = evolve(MOMENT, marks={"release": 0, "finish": 40_000, "deadline": 4_000_000})
    chart = moment_chart(late, name="worst", title="The worst")
    assert "The deadline is at 4 ms, beyond the chart." in chart.caption
    assert [mark.label for mark in chart.panels[0].marks] == ["release", "finish"]


def test_a_worst_job_that_somebody_else_wrote_is_drawn_only_where_it_is_whole() -> None:
    def charts(value: object) -> list[object]:
        summary = demo_summary(cores=(2,), steps=1, sets_per_point=1)
        return [*worst_job_charts(evolve(summary, meta=dict(summary.meta) | {"worst_job": value}))]

    (chart,) = charts(to_plain(MOMENT))
    assert chart_data([chart])[0]["panels"][0]["rows"] == ["CPU 0", "CPU 1"]
    broken = to_plain(evolve(MOMENT, rows=("CPU 0",)))
    for value in (None, "x", {}, {"what": 3, "rows": 7}, broken):
        assert charts(value) == []


def test_missing_task_sets_are_told_as_of_how_many() -> None:
    summary = demo_summary(cores=(2,), steps=1, sets_per_point=1, holes=False)
    there = len(sets_of(summary))

    def told(**meta: object) -> str:
        found = dict(head_facts(evolve(summary, meta=dict(summary.meta) | meta)))
        return next(text for name, text in found.items() if name in ("Simulated", "Measured"))

    assert f"{there} of {there + 2} task sets" in told(planned=there + 2, failed={})
    assert f"{there} of {there + 1} task sets" in told(planned=None, failed={"a": {}})
    assert " of " not in told(planned=there, failed={})


@pytest.mark.parametrize(
    ("name", "other"), [("hog", "db-hog"), ("lock-holder", "db-t1"), ("throttling", "db-fair")]
)
def test_recorded_events_show_who_had_the_cpu_of_a_late_job(name: str, other: str) -> None:
    plain = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    rows = plain["table"]
    table = job_table([RunTask(wcet_ns=1, period_ns=1, deadline_ns=1)], [[]])
    table = evolve(
        table,
        tasks=np.array([tuple(row) for row in rows["tasks"]], j.TASK_DTYPE),
        jobs=np.array([tuple(row) for row in rows["jobs"]], j.JOB_DTYPE),
    )
    trace = trace_from_plain(plain, RECORDED / name)
    late = next(each for each in worst_jobs(table, 99) if each.job == trace.jobs[0].job)
    moment = moment_of(name, table, late, trace)
    assert moment.source == "Drawn from the kernel's events."
    ran = [each for each in moment.stretches if each.kind == "this job"]
    held = [each for each in moment.stretches if other in each.text]
    assert ran and held
    cpu = ran[0].row
    for one in ran:
        for two in held:
            apart = one.end_ns <= two.begin_ns or two.end_ns <= one.begin_ns
            assert apart or two.row != cpu, "one CPU has one thread at a time"
    assert all(0 <= e.begin_ns < e.end_ns <= moment.marks["finish"] for e in moment.stretches)
