"""Truth: tests/unit/foreign/tasks.json: task sets as other tools and papers write them."""

from __future__ import annotations

import codecs
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from deadbeat.cli.main import main
from deadbeat.model.errors import UsageError
from deadbeat.sched.files import load_task_system

FOREIGN = Path(__file__).with_name("foreign")
EXPECTED = json.loads((FOREIGN / "tasks.json").read_text())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_file_is_right_or_refused_by_name(name: str) -> None:
    right = EXPECTED[name]
    if "or" in right:
        with pytest.raises(UsageError, match="a job set"):
            load_task_system(FOREIGN / name, processors=2)
        return
    found = load_task_system(FOREIGN / name, processors=2)
    system = found.system
    assert [[t.wcet, t.period, t.deadline] for t in system.tasks] == right["tasks"]
    assert system.unit == right.get("unit", "")
    assert bool(found.remarks) == bool(system.unit), "what was assumed is told"


def test_what_rt_app_says_beside_times_is_kept() -> None:
    motor, camera, _, logger = load_task_system(FOREIGN / "30-rt-app.json").system.tasks
    assert (motor.priority, motor.home, camera.priority) == (80, 1, 40)
    assert (logger.budget, logger.home, logger.priority) == (2000, 0, 0)


CRLF = str.maketrans({"\n": "\r\n"})


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.translate(CRLF).encode(),
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: gzip.compress(text.encode()),
        lambda text: lzma.compress(text.encode()),
    ],
    ids=["crlf", "mark", "utf-16", "gzip", "xz"],
)
@pytest.mark.parametrize("name", ["30-rt-app.json", "33-tasks-C-T-D.csv", "34-tasks-lines.txt"])
def test_whatever_it_went_through_it_is_the_same(
    name: str, changed: Callable[[str], bytes], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(changed((FOREIGN / name).read_text()))
    expected = load_task_system(FOREIGN / name, processors=2).system
    assert load_task_system(tmp_path / name, processors=2).system == expected


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Task;C;T;D\nmotor;2;10;8\n", ""),
        ("task\tC\tT\tD\nmotor\t2\t10\t8\n", ""),
        ("ID,C [us],T [us],D [us]\nmotor,2,10,8\n", "us"),
        ('"Task", "Cost", "Period", "Deadline"\n"motor", 2, 10, 8\n', ""),
        ("NAME  WCET  PERIOD  DEADLINE\nmotor 2   10  8\n", ""),
    ],
)
def test_a_table_by_any_heading(text: str, unit: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_text(text)
    system = load_task_system(tmp_path / "tasks.txt", processors=1).system
    (task,) = system.tasks
    assert (task.name, task.wcet, task.period, task.deadline) == ("motor", 2, 10, 8)
    assert system.unit == unit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"tasks": {"a": {"run": 5}}}', "tasks.a: 1 runs and 0 timers are no periodic task"),
        ('{"tasks": {"a": {"run": "x", "timer": {"period": 4}}}}', "tasks.a: "),
        ("a,b,c\n1,2,3\n", "unknown column"),
        ("1 2 3\n", "is not a header"),
        ("C [us],T [ms]\n2,10\n", "its times are in ms and us"),
        ("# unit: ns\nC [us],T [us]\n2,10\n", "its times are in ns and us"),
    ],
)
def test_what_is_no_task_set_is_one_line_with_its_place(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tasks"
    path.write_text(text)
    assert main(("sched", "convert", str(path), "-", "--processors", "2")) == 2
    told = capsys.readouterr().err
    assert str(path) in told and said in told and "unexpected" not in told


@pytest.mark.parametrize("name", json.loads((FOREIGN / "expected.json").read_text()))
def test_what_a_tool_measured_is_sent_to_import(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sched", "analyze", str(FOREIGN / name.split(maxsplit=1)[0])]) == 2
    told = capsys.readouterr().err
    assert "no task system (deadbeat import " in told and told.count("\n") == 1
