"""Truth: the records of the simulation; the SVG, the trace and the page must show just them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.sched import read_task_system

from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.report.sched_drawing import colour, gantt_svg, ink_on, ticks, trace_text
from deadbeat.report.sched_page import render_schedule
from deadbeat.sched import Scheduler, simulate
from deadbeat.sched.answer import answer_of, responses_of
from deadbeat.sched.picture import Picture, observe, picture, window

EXAMPLES = Path(__file__).parents[2] / "examples" / "sched"
SVG = "{http://www.w3.org/2000/svg}"
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


def drawn(shot: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(gantt_svg(shot, interactive=True))


def bars(root: ElementTree.Element) -> list[tuple[str, int, int]]:
    """Tooltip, from and to (absolute) of every bar."""
    start = int(root.attrib["data-start"])
    found = []
    for rect in root.iter(f"{SVG}rect"):
        tip = rect.find(f"{SVG}title")
        if tip is not None and "data-b" in rect.attrib:
            low, high = (start + int(rect.attrib[key]) for key in ("data-a", "data-b"))
            found.append((str(tip.text), low, high))
    return found


@pytest.fixture(scope="module")
def vehicle() -> Picture:
    return taken(read_task_system(EXAMPLES / "vehicle.json"), start=5000, end=30_000)


def test_every_segment_is_a_bar_on_both_lanes_cut_to_the_window(vehicle):
    wanted = []
    for task, job, processor, start, end in vehicle.segments.tolist():
        label = vehicle.system.label(task)
        span = f"{start:,} to {end:,}"
        tip = f"{label}, job {job}: {span} on processor {processor} (simulated)"
        wanted += [(tip, max(start, 5000), min(end, 30_000))] * 2
    assert sorted(bars(drawn(vehicle))) == sorted(wanted)


def test_bars_lie_where_the_axis_says(vehicle):
    root = drawn(vehicle)
    left = float(root.attrib["data-left"])
    width = float(root.attrib["width"]) - left - 28
    for rect in root.iter(f"{SVG}rect"):
        if "data-b" not in rect.attrib:
            continue
        low, high = int(rect.attrib["data-a"]), int(rect.attrib["data-b"])
        assert float(rect.attrib["x"]) == pytest.approx(left + low / 25_000 * width, abs=0.01)
        assert float(rect.attrib["width"]) == pytest.approx((high - low) / 25_000 * width, abs=0.02)


def test_no_two_bars_of_a_processor_overlap(vehicle):
    rows = vehicle.segments
    for processor in range(vehicle.system.processors):
        mine = rows[rows[:, 2] == processor]
        assert (mine[1:, 3] >= mine[:-1, 4]).all()


def test_releases_and_deadlines_are_arrows_and_misses_are_red(tmp_path):
    system = read_task_system(EXAMPLES / "dhall.json")
    shot = taken(system)
    text = gantt_svg(shot)
    tips = re.findall(r"<title>([^<]*)</title></path>", text)
    assert sorted(tip for tip in tips if "released" in tip) == [
        "heavy, job 0: released at 0",
        "light 1, job 0: released at 0",
        "light 1, job 1: released at 20",
        "light 2, job 0: released at 0",
        "light 2, job 1: released at 20",
    ]
    assert [tip for tip in tips if "missed" in tip] == [
        "heavy, job 0: deadline 22, missed, not complete"
    ]
    assert text.count('class="miss"') == 1
    assert "first miss: heavy at 22" in text


def test_sporadic_releases_that_miss_are_those_drawn():
    system = read_task_system(EXAMPLES / "sporadic-not-sync.json")
    verdict = simulate(system, model="sporadic")
    shot = picture(system, verdict, start=0, end=100)
    text = gantt_svg(shot)
    assert shot.end == verdict.first_miss == 6
    assert "releases that miss, found by exploration</text>" in text
    assert "first miss: task 2 at 6" in text and text.count('class="miss"') == 1
    tips = re.findall(r"<title>([^<]*)</title></path>", text)
    drawn_releases = {tip for tip in tips if "released" in tip}
    listed = answer_of(system, verdict)["releases"]
    assert len(drawn_releases) == len(listed) == 6
    assert all(
        any(f"task {task}," in tip and tip.endswith(f"at {at}") for tip in drawn_releases)
        for task, at in listed
    )
    ran = [int(values.size) for values in responses_of(system, verdict)]
    assert ran == verdict.figures["completed"].tolist()
    found = simulate(system, model="sporadic", states=0)
    text = gantt_svg(picture(system, found, start=0, end=found.until))
    assert f"releases that miss: {found.pattern}</text>" in text
    assert f"first miss: task 2 at {found.first_miss}" in text


def test_sporadic_releases_that_meet_all_deadlines_are_one_pattern_of_many():
    tasks = (
        TimedTask(wcet=1, period=4, deadline=4),
        TimedTask(wcet=1, period=4, deadline=4, offset=2),
    )
    system = TaskSystem(processors=1, tasks=tasks)
    shot = picture(system, simulate(system, model="sporadic"), start=0, end=4)
    assert "synchronous periodic releases, one pattern of many" in gantt_svg(shot)
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
    assert 'class="miss"' in gantt_svg(shot)


def test_a_system_that_a_policy_cannot_place_is_drawn_empty():
    task = TimedTask(wcet=2, period=3, deadline=3)
    system = TaskSystem(processors=2, tasks=(task,) * 3)
    verdict = simulate(system, Scheduler(policy="p-edf"))
    shot = picture(system, verdict, start=0, end=9)
    assert bars(drawn(shot)) == []
    answer = answer_of(system, verdict)
    assert answer["placed"].count(None) == 1
    page = render_schedule(shot, answer, responses_of(system, verdict), title="t")
    assert "Not schedulable, proved." in page and "No job was simulated" in page


def test_late_execution_is_outlined():
    system = TaskSystem(processors=1, tasks=(TimedTask(wcet=5, period=8, deadline=3),))
    root = drawn(taken(system, end=8, run_on=True))
    outlines = [
        (rect.attrib["data-a"], rect.attrib["data-b"])
        for rect in root.iter(f"{SVG}rect")
        if rect.attrib.get("fill") == "none"
    ]
    assert outlines == [("3", "5")] * 2


def test_the_drawing_says_what_it_is(vehicle):
    text = gantt_svg(vehicle)
    for words in (
        *("simulated, not measured", "Global EDF (g-edf)", "ties by index", "model periodic-sync"),
        *("Vehicle control", "time in us", "schedulable: yes, proved", "processor 3"),
        "cut: shown is [5000, 30000) of [0, 200000) simulated",
    ):
        assert words in text
    assert "data-a" not in text and "data-b" not in text


def test_the_same_picture_gives_the_same_text(vehicle):
    assert gantt_svg(vehicle) == gantt_svg(vehicle)
    assert trace_text(vehicle) == trace_text(vehicle)


@pytest.mark.parametrize("count", [1, 40])
def test_from_few_to_many_segments_the_drawing_is_of_a_size_to_read(count):
    tasks = tuple(TimedTask(wcet=1 + i % 3, period=20 + i, deadline=20 + i) for i in range(count))
    shot = taken(TaskSystem(processors=4, tasks=tasks), end=1000, horizon=1000)
    root = drawn(shot)
    assert 900 < float(root.attrib["width"]) <= 12_200
    if count > 1:
        assert len(shot.segments) > 1000
        widths = [float(r.attrib["width"]) for r in root.iter(f"{SVG}rect") if "data-b" in r.attrib]
        assert np.percentile(widths, 20) >= 4


def test_colours_are_distinct_and_labels_readable():
    colours = [colour(task) for task in range(60)]
    assert len(set(colours)) == 60
    assert all(re.fullmatch("#[0-9a-f]{6}", text) for text in colours)
    assert (ink_on("#000000"), ink_on("#ffffff")) == ("#ffffff", "#000000")


@pytest.mark.parametrize(
    ("start", "end"), [(0, 22), (5, 6), (0, 10**18), (10**15 + 3, 10**15 + 500), (0, 1)]
)
def test_ticks_are_round_few_and_inside(start, end):
    found = ticks(start, end, 900)
    assert 1 <= len(found) <= 45
    assert all(start <= tick <= end for tick in found)
    if len(found) > 1:
        step = found[1] - found[0]
        assert re.fullmatch("[125]0*", str(step))
        assert all(tick % step == 0 for tick in found)


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
    assert verdict.first_miss is not None
    start, end = window(late, verdict, jobs=50)
    assert start < verdict.first_miss <= end and end - start <= 100
    assert str(verdict.first_miss) in gantt_svg(picture(late, verdict, start=start, end=end))


def test_names_of_a_file_are_text_everywhere():
    task = TimedTask(wcet=1, period=2, deadline=2, name=EVIL)
    system = TaskSystem(processors=1, tasks=(task,), name=EVIL, unit=EVIL)
    shot = taken(system, end=2)
    ElementTree.fromstring(gantt_svg(shot, title=EVIL))
    answer = answer_of(system, shot.verdict)
    page = render_schedule(shot, answer, responses_of(system, shot.verdict), title=EVIL)
    assert "<script>alert" not in page
    assert page.count("<script") == 1
    assert json.loads(trace_text(shot))["traceEvents"]


# --- trace ----------------------------------------------------------------------------------------


def test_the_trace_holds_every_segment_on_both_tracks(vehicle):
    trace = json.loads(trace_text(vehicle))
    events = trace["traceEvents"]
    for process, column in ((1, 2), (2, 0)):
        found = [
            (event["tid"] - 1, event["ts"], event["ts"] + event["dur"])
            for event in events
            if event["ph"] == "X" and event["pid"] == process
        ]
        wanted = [(row[column], row[3], row[4]) for row in vehicle.segments.tolist()]
        assert sorted(found) == sorted(wanted)
    assert trace["otherData"]["simulated"] == "yes"
    assert "simulated, not measured" in trace["otherData"]["caption"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert len(names) == 2 and all("simulated" in name for name in names)


def test_the_trace_has_releases_deadlines_and_misses():
    events = json.loads(trace_text(taken(read_task_system(EXAMPLES / "dhall.json"))))["traceEvents"]
    marks = [(event["name"], event["ts"], event["tid"]) for event in events if event["ph"] == "i"]
    assert marks.count(("deadline missed", 22, 3)) == 1
    assert {name for name, _, _ in marks} == {"release", "deadline", "deadline missed"}
    assert sum(name == "release" for name, _, _ in marks) == 5


def test_arrows_of_the_trace_join_the_pieces_of_a_job(vehicle):
    events = json.loads(trace_text(vehicle))["traceEvents"]
    flows: dict[str, list[str]] = {}
    for event in events:
        if event["name"] == "resumes":
            flows.setdefault(event["id"], []).append(event["ph"])
    assert flows
    for phases in flows.values():
        assert phases == ["s", *["t"] * (len(phases) - 2), "f"]


@pytest.mark.parametrize(
    ("unit", "factor"), [("us", 1), ("ms", 1000), ("s", 10**6), ("ns", 0.001), ("", 1), ("tick", 1)]
)
def test_times_of_the_trace_are_microseconds(unit, factor):
    task = TimedTask(wcet=3, period=7, deadline=7)
    trace = json.loads(trace_text(taken(TaskSystem(processors=1, tasks=(task,), unit=unit), end=7)))
    (piece,) = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == 1]
    assert piece["dur"] == pytest.approx(3 * factor)
    assert (unit in ("", "tick")) == trace["otherData"]["unit"].startswith("1 us stands for 1 ")


# --- page -----------------------------------------------------------------------------------------


def test_the_page_says_verdict_argument_and_every_task(vehicle):
    answer = answer_of(vehicle.system, vehicle.verdict)
    responses = responses_of(vehicle.system, vehicle.verdict)
    page = render_schedule(vehicle, answer, responses, title="Vehicle control")
    assert "Schedulable, proved." in page
    assert "One hyper-period is exact" in page
    assert "Simulated, not measured" in page
    assert page.count('<span class="swatch"') == 12
    assert page.count("<figure><svg") == 12
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert page == render_schedule(vehicle, answer, responses, title="Vehicle control")
    without = render_schedule(vehicle, answer, None, title="Vehicle control")
    assert "There are too many jobs" in without
