"""Truth: issue 47, part 1: kinds H and I, files of rt-app and tables as people type them.

The files 30 to 48 are made up by others in the layout of the tools; right values by hand from the
tools' documentation, and for rt-app by executing events one by one.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture

from deadbeat.cli.main import main

FOREIGN = Path(__file__).parents[1] / "pools/foreign"


def converted(capsys: Capture, file: Path) -> tuple[dict[str, Any], str]:
    """What `sched convert FILE -` makes of it, and its remarks."""
    assert main(["sched", "convert", "--processors", "3", str(file), "-"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


@pytest.mark.parametrize(
    ("name", "tasks", "said"),
    [
        ("30-rt-app-phase-loop.json", [(3500, 20000, 20000)], ""),
        ("31-rt-app-phase-keys.json", [(2000, 10000, 8000)], ""),
        ("32-rt-app-key-twice.json", [(3500, 10000, 10000)], ""),
        ("33-rt-app-bare-word.json", [(200, 16667, 16667)], "composer: left out: another thread"),
        ("34-rt-app-ramp.json", [(8000, 16000, 16000)], ""),
        ("35-rt-app-run-sleep.json", [(1000, 10000, 10000)], "b: period of 10000 us assumed"),
        ("36-rt-app-2014-sections.json", [(5000, 20000, 15000)], "resources m0, m1 left out"),
        ("37-decimals.csv", [(500, 10000, 10000), (2250, 40000, 40000)], "in us"),
        ("38-decimal-commas.csv", [(500, 10000, 8000), (2250, 40000, 40000)], "in us"),
        ("39-two-units.csv", [(500, 10000, 10000), (2250, 40000, 40000)], "in us"),
        ("40-exec_time.csv", [(2, 10, 10), (3, 15, 15)], ""),
        ("41-bcet.csv", [(2, 10, 10), (4, 20, 20)], ""),
        ("42-schedcat.xml", [(2000, 10000, 8000), (12000, 40000, 40000)], "no unit"),
        ("43-rt-app-false-proof.json", [(4500, 5000, 5000), (2000, 5000, 5000)], ""),
        ("44-cheddar.xmlv3", [(2, 10, 8)], "no unit"),
        ("45-mast.txt", [(5, 25, 25)], "worst_context_switch is left out"),
        ("46-C-T-D-bare-list.json", [(50, 1000, 800), (225, 4000, 4000)], "multiplied by 100"),
        ("47-units-in-keys.json", [(500, 10000, 10000), (2250, 40000, 40000)], "wcet_us is read"),
        ("48-no-heading.csv", [(50, 1000, 1000), (225, 4000, 4000)], "read as wcet, period"),
    ],
)
def test_a_file_of_others_has_its_right_value(
    name: str, tasks: list[tuple[int, int, int]], said: str, capsys: Capture
) -> None:
    document, told = converted(capsys, FOREIGN / name)
    assert [(t["wcet"], t["period"], t["deadline"]) for t in document["tasks"]] == tasks
    assert said in told


def test_what_stands_beside_the_times_is_kept(capsys: Capture) -> None:
    (phase,) = converted(capsys, FOREIGN / "30-rt-app-phase-loop.json")[0]["tasks"]
    assert (phase["priority"], phase["home"], phase["suspension"]) == (40, 1, 1000)
    (reserved,) = converted(capsys, FOREIGN / "31-rt-app-phase-keys.json")[0]["tasks"]
    assert (reserved["budget"], reserved["home"]) == (3000, 2)
    table = converted(capsys, FOREIGN / "41-bcet.csv")[0]["tasks"]
    assert [(t["bcet"], t["priority"]) for t in table] == [(1, 1), (2, 2)]
    (ours,) = converted(capsys, FOREIGN / "44-cheddar.xmlv3")[0]["tasks"]
    assert (ours["name"], ours["home"], ours["priority"]) == ("S1", 1, 1)
    (mast,) = converted(capsys, FOREIGN / "45-mast.txt")[0]["tasks"]
    assert (mast["home"], mast["priority"]) == (0, 5)


def test_an_overloaded_cpu_of_rt_app_is_no_proof(capsys: Capture) -> None:
    assert main(["sched", "analyze", str(FOREIGN / "43-rt-app-false-proof.json")]) == 0
    assert capsys.readouterr().out.startswith("not schedulable under")


LOCKED = {
    "policy": "SCHED_FIFO",
    "lock": "a",
    "run": 300,
    "unlock": "a",
    "run1": 700,
    "timer": {"ref": "unique", "period": 9000},
}


@pytest.mark.parametrize(
    ("document", "protocol"),
    [({"global": {"pi_enabled": True}}, "inherit"), ({}, "none")],
)
def test_sections_of_rt_app_are_sections(
    document: dict[str, Any], protocol: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "rt-app.json"
    path.write_text(json.dumps(document | {"tasks": {"x": LOCKED, "y": LOCKED | {"priority": 4}}}))
    found, told = converted(capsys, path)
    assert found["locks"] == [{"name": "a", "protocol": protocol}]
    assert [task["sections"][0]["length"] for task in found["tasks"]] == [300, 300]
    assert [task["priority"] for task in found["tasks"]] == [10, 4]
    assert ("plain mutexes" in told) == (protocol == "none")


@pytest.mark.parametrize(
    ("thread", "said"),
    [
        ({"run": 5}, "a: left out: it has neither timer nor sleep"),
        ({"loop": "x", "run": 5, "timer": {"period": 9}, "phases": {"p": {"loop": "x"}}}, "loop"),
        ({"run": 0.5, "timer": {"period": 9}}, "run 0.5 (write a time in whole us)"),
        ({"phases": {"p": {"run": 1, "timer": {"period": 9}}, "q": {"timer": {"period": 8}}}},
         "timers of 9 us and 8 us (make a task of each)"),
        ({"phases": {"p": {"cpus": [0], "run": 1, "timer": {"period": 9}},
                     "q": {"cpus": [1], "run": 1}}}, "cpus [0] and [1] in its phases"),
    ],
)  # fmt: skip
def test_a_thread_that_is_no_task_is_refused_by_name(
    thread: dict[str, Any], said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"tasks": {"a": thread}}))
    assert main(["sched", "analyze", str(tmp_path / "a.json")]) == 2
    assert said in capsys.readouterr().err


def executed(phases: list[dict[str, Any]], rounds: int) -> int:
    """The longest job, event by event."""
    longest = run = 0
    for _ in range(rounds):
        for phase in phases:
            for _ in range(phase["loop"]):
                run += phase["run"]
                if "timer" in phase:
                    longest, run = max(longest, run), 0
                run += phase.get("exec", 0)
    return max(longest, run)


@pytest.mark.parametrize("seed", range(60))
def test_the_longest_job_of_loops_is_that_of_executing_them(
    seed: int, tmp_path: Path, capsys: Capture
) -> None:
    draw = random.Random(seed)
    phases = []
    for _ in range(draw.randint(1, 4)):
        phase: dict[str, Any] = {"loop": draw.randint(0, 6), "run": draw.randint(1, 50)}
        if draw.random() < 0.6:
            phase["timer"] = {"ref": "unique", "period": 100_000}
        if draw.random() < 0.5:
            phase["exec"] = draw.randint(1, 50)
        phases.append(phase)
    phases.append({"loop": 1, "run": 7, "timer": {"ref": "unique", "period": 100_000}})
    loop = draw.choice([1, 3, -1])
    thread = {"loop": loop, "phases": {f"p{i}": phase for i, phase in enumerate(phases)}}
    (tmp_path / "a.json").write_text(json.dumps({"tasks": {"a": thread}}))
    (task,) = converted(capsys, tmp_path / "a.json")[0]["tasks"]
    assert task["wcet"] == executed(phases, 1 if loop == 1 else 3)


MAST = """Model (Model_Name => X);
Processing_Resource (Type => Regular_Processor, Name => CPU, Speed_Factor => {speed});
Operation (Type => Simple, Name => o, Worst_Case_Execution_Time => 2,
  Shared_Resources_List => ({locks}));
Transaction (Type => Regular, Name => t, External_Events => ((Type => Periodic, Period => 10)),
  Event_Handlers => ((Type => Activity, Activity_Operation => o)));
"""


def test_a_phase_without_an_end_is_a_job_a_round(tmp_path: Path, capsys: Capture) -> None:
    phase = {"loop": -1, "run": 2000, "yield": ""}
    thread = {"policy": "SCHED_DEADLINE", "dl-period": 10000, "phases": {"p": phase}}
    (tmp_path / "a.json").write_text(json.dumps({"tasks": {"a": thread}}))
    (task,) = converted(capsys, tmp_path / "a.json")[0]["tasks"]
    assert (task["wcet"], task["period"]) == (2000, 10000)


def test_a_resource_of_mast_is_held_for_all_of_an_operation(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a.txt").write_text(MAST.format(speed="1.00", locks="d"))
    (task,) = converted(capsys, tmp_path / "a.txt")[0]["tasks"]
    assert [(each["lock"], each["length"]) for each in task["sections"]] == [("d", 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MAST.format(speed="2.0", locks="d"), 'speed_factor "2.0" (only speed 1)'),
        (MAST.format(speed="1", locks="d, e"), "d, e are held together"),
        ("Transaction (Name => t, External_Events => (x), Event_Handlers => (y));", "0 external"),
        ("Model " + "(" * 5000, "nested too deeply"),
        ("Model (a => b;", "is not MAST's grammar"),
        ('<taskset><task period="9" wcet="2" partition="x"/></taskset>', 'tasks[0].home: "x"'),
        (
            '<taskset><task period="9" wcet="2"><requirement max_writes="x"/></task></taskset>',
            'tasks[0].sections[0].count: "x"',
        ),
    ],
)
def test_a_file_of_others_that_is_wrong_is_a_line(
    text: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a").write_text(text)
    assert main(["sched", "convert", "--processors", "2", str(tmp_path / "a"), "-"]) == 2
    assert said in capsys.readouterr().err
