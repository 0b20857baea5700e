"""Truth: the records of the simulation; chart, trace and page must show just them."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.sched import read_task_system

from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.base.report.charts import Chart, Spans
from deadbeat.base.report.perfetto import moments_text
from deadbeat.sched import Scheduler, simulate
from deadbeat.sched.answer import answer_of, responses_of
from deadbeat.sched.drawing import gantt_svg, schedule_chart, schedule_moment
from deadbeat.sched.page import render_schedule
from deadbeat.sched.picture import Picture, observe, picture, window

EXAMPLES = Path(__file__).parents[2] / "examples" / "sched"
EVIL = '<script>alert("x")</script>&"\''


def taken(
    system: TaskSystem,
    *,
    start: int = 0,
    end: int = 100,
    run_on: bool = False,
    horizon: int | None = None,
) -> Picture:
    verdict = simulate(system, run_on=run_on, horizon=horizon)
    return picture(system, verdict, start=start, end=end, run_on=run_on)


def layer(chart: Chart, label: str) -> list[Spans]:
    return [each for each in chart.panels[0].spans if each.label == label]


def schedule_trace(shot: Picture) -> str:
    return moments_text([schedule_moment(shot)], source="simulated")


def tips(chart: Chart) -> list[str]:
    """Of releases and deadlines."""
    return [text for curve in chart.panels[0].curves for text in curve.texts]


@pytest.fixture(scope="module")
def vehicle() -> Picture:
    return taken(read_task_system(EXAMPLES / "vehicle.json"), start=5000, end=30_000)


def test_every_segment_is_a_span_on_both_rows_cut_to_the_window(vehicle):
    wanted, found = [], []
    for task, job, processor, start, end in vehicle.segments.tolist():
        label = vehicle.system.label(task)
        tip = f"{label}, job {job}: {start:,} to {end:,} on processor {processor} (simulated)"
        low, high = max(start, 5000), min(end, 30_000)
        wanted += [(label, row, low, high, tip) for row in (processor, 4 + task)]
    for index in range(12):
        for each in layer(schedule_chart(vehicle), vehicle.system.label(index)):
            places = zip(each.rows, each.begin, each.end, each.texts, strict=True)
            found += [(each.label, *place) for place in places]
    assert sorted(found) == sorted(wanted)


def test_releases_and_deadlines_are_marks_and_misses_are_named():
    shot = taken(read_task_system(EXAMPLES / "dhall.json"))
    chart = schedule_chart(shot)
    assert sorted(tip for tip in tips(chart) if "released" in tip) == [
        "heavy, job 0: released at 0",
        "light 1, job 0: released at 0",
        "light 1, job 1: released at 20",
        "light 2, job 0: released at 0",
        "light 2, job 1: released at 20",
    ]
    assert [tip for tip in tips(chart) if "missed" in tip] == [
        "heavy, job 0: deadline 22, missed, not complete"
    ]
    assert [mark.label for mark in chart.panels[0].marks] == ["first miss: heavy at 22"]


def test_late_execution_and_waiting_are_spans_of_their_own():
    system = TaskSystem(processors=1, tasks=(TimedTask(wcet=5, period=8, deadline=3),))
    chart = schedule_chart(taken(system, end=8, run_on=True))
    (late,), (pending,) = layer(chart, "late execution"), layer(chart, "pending")
    assert (late.rows, late.begin, late.end) == ((0, 1), (3, 3), (5, 5))
    assert (pending.rows, pending.begin, pending.end) == ((1,), (0,), (5,))


def test_a_window_beyond_what_a_page_holds_exactly_counts_from_its_start():
    far = 10**17
    task = TimedTask(wcet=2, period=10**16, deadline=10**16)
    chart = schedule_chart(taken(TaskSystem(processors=1, tasks=(task,)), start=far, end=far + 100))
    (panel,) = chart.panels
    assert panel.x_label.startswith("time since ")
    assert panel.x_limits is not None and max(map(abs, panel.x_limits)) < 10**17


def test_the_drawing_says_what_it_is(vehicle):
    text = gantt_svg(vehicle)
    for words in (
        *("simulated, not measured", "Global EDF (g-edf)", "ties by index", "model periodic-sync"),
        *("Vehicle control", "time in us", "schedulable: yes, proved", "processor 3"),
    ):
        assert words in text
    assert "cut: shown is [5000, 30000) of [0, 200000)" in schedule_chart(vehicle).caption


def test_sporadic_releases_that_miss_are_those_drawn():
    system = read_task_system(EXAMPLES / "sporadic-not-sync.json")
    verdict = simulate(system, model="sporadic")
    shot = picture(system, verdict, start=0, end=100)
    chart = schedule_chart(shot)
    assert shot.end == verdict.first_miss == 6
    assert chart.title.endswith("releases that miss, found by exploration")
    assert [mark.label for mark in chart.panels[0].marks] == ["first miss: task 2 at 6"]
    assert sum("missed" in tip for tip in tips(chart)) == 1
    drawn_releases = {tip for tip in tips(chart) if "released" in tip}
    listed = answer_of(system, verdict)["releases"]
    assert len(drawn_releases) == len(listed) == 6
    assert all(
        any(f"task {task}," in tip and tip.endswith(f"at {at}") for tip in drawn_releases)
        for task, at in listed
    )
    ran = [int(values.size) for values in responses_of(system, verdict)]
    assert ran == verdict.figures["completed"].tolist()
    found = simulate(system, model="sporadic", states=0)
    chart = schedule_chart(picture(system, found, start=0, end=found.until))
    assert chart.title.endswith(f"releases that miss: {found.pattern}")
    assert chart.panels[0].marks[0].label == f"first miss: task 2 at {found.first_miss}"


def test_sporadic_releases_that_meet_all_deadlines_are_one_pattern_of_many():
    tasks = (
        TimedTask(wcet=1, period=4, deadline=4),
        TimedTask(wcet=1, period=4, deadline=4, offset=2),
    )
    system = TaskSystem(processors=1, tasks=tasks)
    shot = picture(system, simulate(system, model="sporadic"), start=0, end=4)
    assert schedule_chart(shot).title.endswith("periodic releases, one pattern of many")
    assert shot.jobs[:, 2].tolist() == [0, 0]  # the model has no offsets


@pytest.mark.parametrize("deadline", [4, 9])
def test_a_window_far_from_the_start_is_that_of_all_records(deadline):
    # U = 2 on two processors; the longer deadline lets jobs wait behind each other.
    rows = ((20, 30), (20, 30), (25, 50), (10, 60))
    tasks = tuple(
        TimedTask(wcet=c, period=t, deadline=t * deadline // 4, offset=c) for c, t in rows
    )
    system = TaskSystem(processors=2, tasks=tasks)
    verdict = simulate(system, model="periodic-offset", horizon=5000, run_on=True)
    whole = picture(system, verdict, start=0, end=4100, run_on=True)
    part = picture(system, verdict, start=4025, end=4100, run_on=True)
    finish = np.where(whole.jobs[:, 4] < 0, 5000, whole.jobs[:, 4])
    near = np.maximum(finish, whole.jobs[:, 5]) >= 4025
    assert part.jobs.tolist() == whole.jobs[near].tolist()
    assert part.segments.tolist() == whole.segments[whole.segments[:, 4] > 4025].tolist()
    records = observe(system, verdict, horizon=4100, start=4025, run_on=True)
    assert 0 < len(records.jobs) < 20  # of some 400


def test_a_window_after_the_end_shows_the_end():
    system = read_task_system(EXAMPLES / "dhall.json")
    verdict = simulate(system)
    shot = picture(system, verdict, start=1000, end=1100)
    assert (shot.start, shot.end) == (verdict.until - 1, verdict.until)
    assert "missed deadline" in [curve.label for curve in schedule_chart(shot).panels[0].curves]


def test_a_system_that_a_policy_cannot_place_is_drawn_empty():
    task = TimedTask(wcet=2, period=3, deadline=3)
    system = TaskSystem(processors=2, tasks=(task,) * 3)
    verdict = simulate(system, Scheduler(policy="p-edf"))
    shot = picture(system, verdict, start=0, end=9)
    assert schedule_chart(shot).panels[0].spans == ()
    assert "nothing to draw" in gantt_svg(shot)
    answer = answer_of(system, verdict)
    assert answer["placed"].count(None) == 1
    page = render_schedule(shot, answer, responses_of(system, verdict), title="t")
    assert "Not schedulable, proved." in page and "No job was simulated" in page


def test_the_window_starts_at_zero_or_ends_soon_after_the_first_miss():
    vehicle = read_task_system(EXAMPLES / "vehicle.json")
    assert window(vehicle, simulate(vehicle)) == (0, 43_000)
    dhall = read_task_system(EXAMPLES / "dhall.json")
    assert window(dhall, simulate(dhall)) == (0, 22)
    # Utilisation just above one: the backlog grows by 1 in 1000, so the miss comes late.
    tasks = (
        TimedTask(wcet=501, period=1000, deadline=1000),
        TimedTask(wcet=1, period=2, deadline=2),
    )
    late = TaskSystem(processors=1, tasks=tasks)
    verdict = simulate(late)
    start, end = window(late, verdict, jobs=50)
    assert start < verdict.first_miss <= end and end - start <= 100
    (mark,) = schedule_chart(picture(late, verdict, start=start, end=end)).panels[0].marks
    assert mark.at == verdict.first_miss


def test_names_of_a_file_are_text_everywhere():
    task = TimedTask(wcet=1, period=2, deadline=2, name=EVIL)
    system = TaskSystem(processors=1, tasks=(task,), name=EVIL, unit=EVIL)
    shot = taken(system, end=2)
    ElementTree.fromstring(gantt_svg(shot, title=EVIL))
    answer = answer_of(system, shot.verdict)
    page = render_schedule(shot, answer, responses_of(system, shot.verdict), title=EVIL)
    assert "<script>alert" not in page
    assert page.count("<script") == 3  # data, library, drawing
    assert json.loads(schedule_trace(shot))["traceEvents"]


# --- trace ----------------------------------------------------------------------------------------


def test_the_trace_holds_every_segment_on_both_tracks(vehicle):
    events = json.loads(schedule_trace(vehicle))["traceEvents"]
    found = [
        (event["tid"] - 1, event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["ph"] == "X" and " on processor " in event["name"]
    ]
    wanted = [
        (row, max(start, 5000), min(end, 30_000))
        for task, _, processor, start, end in vehicle.segments.tolist()
        for row in (processor, 4 + task)
    ]
    assert sorted(found) == sorted(wanted)
    assert all(event["cat"] == "simulated" for event in events if event["ph"] == "X")
    (name,) = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert "simulated, not measured" in name


def test_the_trace_has_releases_deadlines_and_misses():
    shot = taken(read_task_system(EXAMPLES / "dhall.json"))
    events = json.loads(schedule_trace(shot))["traceEvents"]
    marks = [(e["cat"], e["ts"], e["tid"] - 1) for e in events if e["ph"] == "i" and "cat" in e]
    assert marks.count(("missed deadline", 22, 4)) == 1
    assert {name for name, _, _ in marks} == {"release", "deadline", "missed deadline"}
    assert sum(name == "release" for name, _, _ in marks) == 5


@pytest.mark.parametrize(
    ("unit", "factor"), [("us", 1), ("ms", 1000), ("s", 10**6), ("ns", 0.001), ("", 1), ("tick", 1)]
)
def test_times_of_the_trace_are_microseconds(unit, factor):
    task = TimedTask(wcet=3, period=7, deadline=7)
    system = TaskSystem(processors=1, tasks=(task,), unit=unit)
    trace = json.loads(schedule_trace(taken(system, end=7)))
    events = trace["traceEvents"]
    pieces = {e["dur"] for e in events if e["ph"] == "X"}
    assert [*pieces] == [pytest.approx(3 * factor)]
    (name,) = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert (unit in ("", "tick")) == ("1 us stands for 1 " in name)


# --- page -----------------------------------------------------------------------------------------


def test_the_page_says_verdict_argument_and_every_task(vehicle):
    answer = answer_of(vehicle.system, vehicle.verdict)
    responses = responses_of(vehicle.system, vehicle.verdict)
    page = render_schedule(vehicle, answer, responses, title="Vehicle control")
    assert "Schedulable, proved." in page
    assert "One hyper-period is exact" in page
    assert "Simulated, not measured" in page
    assert page.count('data-family="responses"') == 13  # a box, and a figure for each
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert page == render_schedule(vehicle, answer, responses, title="Vehicle control")
    without = render_schedule(vehicle, answer, None, title="Vehicle control")
    assert "There are too many jobs" in without
