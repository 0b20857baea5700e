"""Truth: files with locks, what tests say of them, and what a bound is made of, worked by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import Capture

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.cli.main import main
from deadbeat.sched.analysis import analyze
from deadbeat.sched.blocking import longest_accepted, shares, wait_words
from deadbeat.sched.files import load_task_system, parse_task_system
from deadbeat.sched.simulator import Scheduler, simulate
from deadbeat.sched.tasksystems import task_system_text, write_task_system

KINDS = ("perfetto", "report", "gantt")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/sched/locks.json"


def example(**changes: Any) -> TaskSystem:
    """The example with other words: `{"900": "800"}` after JSON."""
    text = EXAMPLE.read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    return parse_task_system(text.encode(), source="locks.json").system


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"length": 900', '"length": 900, "sections": []', "no section lies within another"),
        ('"length": 900', '"length": 9000', r"tasks\[2\].sections: 9000 of a wcet of 3000"),
        ('"length": 900', '"length": 0', "0 is below the minimum of 1"),
        ('"length": 900', '"count": 2', "length: missing"),
        ('[{"name": "map_lock"', '[{"name": "other"', 'no task uses "other"'),
        ('"inherit"}', '"inherit"}, {"name": "map_lock"}', 'a second lock "map_lock"'),
        ('"inherit"', '"inherits"', "did you mean inherit"),
        ('"home": 1, "priority": 60', '"np_max": 701', "np_max: 701 of a wcet of 700"),
    ],
)
def test_defects_of_locks_have_a_place(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        example(**{old: new})


def test_a_system_with_locks_is_written_as_it_was_read(tmp_path: Path) -> None:
    system = load_task_system(EXAMPLE).system
    again = parse_task_system(task_system_text(system).encode(), source="again").system
    assert again == system and system.beyond == ("locks",)
    with pytest.raises(UsageError, match="CSV has no locks"):
        write_task_system(tmp_path / "out.csv", system)
    with pytest.raises(UsageError, match="not applicable: pd2 ignores locks"):
        simulate(system, Scheduler(policy="pd2"))


def simulated(capsys: Capture, *options: str) -> Any:
    assert main(["sched", "simulate", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_a_simulated_system_names_pattern_lock_and_holder(capsys: Capture, tmp_path: Path) -> None:
    written = [tmp_path / name for name in ("trace.json", "page.html", "chart.svg")]
    options = (f"--{kind}={path}" for kind, path in zip(KINDS, written, strict=True))
    found = simulated(capsys, str(EXAMPLE), "--priorities=given", *options)
    assert (found["schedulable"], found["proved"], found["policy"]) == ("no", True, "p-fp+inherit")
    assert "in random pattern" in found["because"] and found["judged"] == found["jobs"]
    wait = found["waits"][0]
    assert (wait["task"], wait["lock"], wait["holder"]) == ("control", "map_lock", "logger")
    assert 800 < wait["end"] - wait["start"] <= 900
    assert found["tasks"][0]["response_max"] == 1100  # its bound
    assert all("waits for map_lock, held by logger" in path.read_text() for path in written[:2])
    assert written[2].stat().st_size > 1000
    (tmp_path / "short.json").write_text(EXAMPLE.read_text().replace("900", "100"))
    found = simulated(
        capsys, str(tmp_path / "short.json"), "--priorities=given", "--set=patterns=5"
    )
    assert (found["schedulable"], found["proved"], found["pattern"]) == ("undecided", False, None)
    assert found["because"].startswith("no job is late in 5 random patterns")


def test_bound_and_worst_simulated_stand_side_by_side(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "short.json").write_text(EXAMPLE.read_text().replace("900", "800"))
    words = ["sched", "analyze", str(tmp_path / "short.json"), "--priorities=given", "--simulate"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    [pinned] = [test for test in found["tests"] if test["test"] == "pinned-fifo-pi"]
    seen = found["worst_simulated"]["responses"]
    assert pinned["bounds"][0] == seen[0] == 1000
    assert all(a >= b > 0 for a, b in zip(pinned["bounds"], seen, strict=True))
    assert found["schedulers"]["p-fp+inherit"]["simulation"]["schedulable"] == "undecided"
    assert main(words) == 0 and "worst simulated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy=g-edf"], "inherit is not simulated under EDF, srp is"),
        (["--policy=pd2"], "pd2 ignores locks"),
        (["--policy=g-fp", "--protocol=mpcp"], "mpcp is simulated on bound tasks"),
        (["--protocol=srp"], "srp is simulated on one processor"),
        (["--ties=all"], "ties by "),
        (["--set=model=periodic-sync"], "model periodic-sync"),
    ],
)
def test_what_is_not_simulated_is_one_clear_line(options: list[str], said: str, capsys: Capture):
    assert main(["sched", "simulate", str(EXAMPLE), *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_waiter_pays_for_the_holder_and_the_cure_is_exact() -> None:
    """control: 200 and 900 of the logger, 1100 of 1000; camera is less urgent than control."""
    system = load_task_system(EXAMPLE).system
    (result,) = analyze(system, names=["pinned-fifo-pi"], priorities="given").results
    parts = shares(system, priorities="given")
    assert result.answer == "not accepted"
    mine = [(part.kind, part.other, part.amount) for part in parts if part.task == 0]
    assert mine == [("held", 2, 900)]
    assert wait_words(system, parts, 0) == (
        "control can wait 900 us for lock map_lock: 900 us in sections of logger"
    )
    assert longest_accepted(system, 2, 0, kept=False, priorities="given") == 800
    for length, answer in (("800", "accepted"), ("801", "not accepted")):
        changed = example(**{'"length": 900': f'"length": {length}'})
        assert analyze(changed, names=["pinned-fifo-pi"], priorities="given").results[0].answer == (
            answer
        )


def test_what_outranks_the_holder_counts() -> None:
    """With a camera above control, its 700 delay the holder, which control raises to 80 only."""
    system = example(**{'"priority": 60': '"priority": 90', '"length": 900': '"length": 90'})
    parts = shares(system, priorities="given")
    mine = {(part.kind, part.other): part.amount for part in parts if part.task == 0}
    assert mine == {("held", 2): 90, ("outranks", 1): 700}
    assert "700 us of camera, which outranks logger" in wait_words(system, parts, 0)


def test_a_plain_mutex_has_no_bound(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "plain.json"
    path.write_text(EXAMPLE.read_text().replace('"inherit"', '"none"'))
    assert main(["sched", "analyze", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["headline"] == (
        "nothing proved: lock map_lock is a plain mutex: whatever preempts its holder has no bound"
    )
    said = {
        test["test"] for test in answer["results"]["tests"] if test["answer"] != "not applicable"
    }
    assert said == {"necessary"}


def test_without_shared_locks_the_bound_is_that_of_partitioned_priorities() -> None:
    system = example(**{'"lock": "map_lock", "length": 20': '"lock": "own", "length": 20'})
    found = analyze(system, names=["pinned-fifo-pi"], priorities="given").result("pinned-fifo-pi")
    plain = TaskSystem(
        processors=2,
        tasks=tuple(evolve(task, sections=()) for task in system.tasks),
    )
    assert found.bounds == analyze(plain, names=["p-fp"], priorities="given").result("p-fp").bounds
