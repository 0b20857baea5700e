"""Truth: issue 3: the smallest file, every error at once with its path, nothing overflows."""

import codecs
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.cli.main import main
from deadbeat.sched.documents import TIME_MAX, Literal, number, schema
from deadbeat.sched.files import load_task_system, parse_task_system
from deadbeat.sched.tasksystems import csv_text, task_system_text, write_task_system

SMALLEST = '{"processors": 2, "tasks": [{"wcet": 1, "period": 3, "deadline": 3, "offset": 0}]}'

#: As simso/configuration/GenerateConfiguration.py writes it.
SIMSO = """<?xml version="1.0" ?>
<simulation cycles_per_ms="1000000" duration="100000000" etm="wcet">
  <sched class="simso.schedulers.EDF" overhead="0" overhead_activate="0" overhead_terminate="0"/>
  <caches memory_access_time="100"/>
  <processors>
    <processor name="CPU 1" id="1" cl_overhead="0" cs_overhead="0" speed="1.0"/>
    <processor name="CPU 2" id="2" cl_overhead="0" cs_overhead="0" speed="1.0"/>
  </processors>
  <tasks>
    <task name="T1" id="1" task_type="Periodic" abort_on_miss="no" period="10.0" deadline="8.5"
      activationDate="0.25" list_activation_dates="" base_cpi="1.0" instructions="0" mix="0.5"
      WCET="2.125" ACET="0.0" preemption_cost="0" et_stddev="0.0"/>
    <task name="T2" id="2" period="7" deadline="7" WCET="3" abort_on_miss="no"/>
  </tasks>
</simulation>
"""


def parsed(text: str | bytes, **options) -> TaskSystem:
    data = text.encode() if isinstance(text, str) else text
    return parse_task_system(data, source="f", **options).system


def errors(text: str | bytes, **options) -> list[str]:
    """The lines a person sees, without the file's name."""
    with pytest.raises(UsageError) as caught:
        parsed(text, **options)
    error = caught.value
    assert error.exit_status == 2
    assert error.message.startswith("f: ")
    if error.details:
        assert error.message == f"f: {len(error.details)} errors"
        return list(error.details)
    return [str(error).removeprefix("f: ")]


def one_task(**values) -> str:
    task = json.dumps({"wcet": 1, "period": 3} | values)
    return f'{{"processors": 2, "tasks": [{task}]}}'


def chained(tasks: list[int], links: Any = ("triggered",), also: Any = (), **values: int) -> str:
    """Tasks of period 10, but the third; ``values``: of the second."""
    every = [{"wcet": 1, "period": 20 if i == 2 else 10} for i in range(4)]
    every[1] |= values
    chains = [{"tasks": each, "links": [*links]} for each in (tasks, also) if each]
    return json.dumps({"processors": 1, "tasks": every, "chains": chains})


def curve(horizon: int, *steps: list[int]) -> Any:
    return {"horizon": horizon, "steps": steps}


def test_the_smallest_file_of_the_issue():
    task = TimedTask(wcet=1, period=3, deadline=3)
    assert parsed(SMALLEST) == TaskSystem(processors=2, tasks=(task,))


def test_deadline_and_offset_are_optional():
    assert parsed('{"processors": 2, "tasks": [{"wcet": 1, "period": 3}]}') == parsed(SMALLEST)


def test_every_field():
    values = {
        "wcet": 2,
        "period": 10,
        "deadline": 12,
        "offset": 3,
        "name": 'α, "β"',
        "priority": -7,
        "home": 1,
        "budget": 2,
        "server_period": 5,
        "server_deadline": 4,
    }
    system = parsed(json.dumps({"name": "n", "unit": "us", "processors": 2, "tasks": [values]}))
    assert system == TaskSystem(processors=2, tasks=(TimedTask(**values),), name="n", unit="us")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (one_task(wcet=0), "tasks[0].wcet: 0 is below the minimum of 1 (1 or more)"),
        (one_task(period=-5), "tasks[0].period: -5 is below the minimum of 1 (1 or more)"),
        (one_task(offset=-1), "tasks[0].offset: -1 is below the minimum of 0 (0 or more)"),
        (one_task(wcet=-2.5), "tasks[0].wcet: -2.5 is not a whole number (choose a finer unit, so"),
        (one_task(wcet=True), "tasks[0].wcet: true is not a whole number (write it like 250)"),
        (one_task(wcet="4"), 'tasks[0].wcet: "4" is not a whole number (write 4, without quotes)'),
        (one_task(deadline=None), "tasks[0].deadline: null is not a whole number (leave the key"),
        (one_task(wcet=[]), "tasks[0].wcet: a list is not a whole number"),
        (one_task(name=3), "tasks[0].name: 3 is not text"),
        (one_task(name="a\nb"), 'tasks[0].name: "a?b" holds a control character'),
        (one_task(name="\ud800"), "tasks[0].name: "),
        (one_task(name="x" * 201), "tasks[0].name: 201 characters (200 at most)"),
        (one_task(perod=3), "tasks[0].perod: unknown key (did you mean period?)"),
        (one_task(C=3), "tasks[0].C: unknown key (did you mean wcet?)"),
        (one_task(cluster=1, home=0), "tasks[0].cluster: unknown key (did you mean home?)"),
        (one_task(affinity=1), "tasks[0].affinity: 1 is not a list (write [0, 2])"),
        (one_task(affinity=[2]), "tasks[0].affinity[0]: 2 with processors = 2 (counted from 0"),
        (one_task(affinity=[0], home=1), "tasks[0].home: 1 is not in its affinity"),
        (one_task(bcet=2), "tasks[0].bcet: 2 of a wcet of 1"),
        (one_task(arrivals={"horizon": 3}), "tasks[0].arrivals.steps: missing (every arrival cu"),
        (one_task(arrivals=curve(2, [1, 1])), "tasks[0].arrivals.horizon: 2 with a period of 3"),
        (one_task(arrivals=curve(3, [2, 1])), "tasks[0].arrivals.steps[0]: [2, 1] after [0, 0]"),
        (one_task(arrivals=curve(3, [1, 1], [1, 2])), "tasks[0].arrivals.steps[1]: [1, 2] after"),
        (one_task(arrivals=curve(3, [1])), "tasks[0].arrivals.steps[0]: 1 of them (2 or more)"),
        (one_task(dag={"nodes": [1, 1]}), "tasks[0].dag.nodes: 2 of a wcet of 1"),
        (one_task(dag={"nodes": [1], "edges": [[0, 1]]}), "tasks[0].dag.edges[0]: [0, 1] (from"),
        (one_task(dag={"node": [1]}), "tasks[0].dag.node: unknown key (did you mean nodes?)"),
        (
            one_task()[:-1] + ', "chains": [{"tasks": [0, 1]}]}',
            "chains[0].tasks[1]: there is no task 1",
        ),
        (chained([0, 1], []), "chains[0].links: 0 links of 2 tasks (one of each task"),
        (chained([0, 1, 0], ["sampled"] * 2), "chains[0].tasks[2]: task 0 is in this chain twice"),
        (chained([0, 1], ["s"]), 'chains[0].links[0]: "s" is not a choice'),
        (chained([0, 1], ["sampled"] * 2), "chains[0].links: 2 links of 2 tasks (one of each task"),
        (chained([0, 2]), "tasks[2].period: 20, and task 0, which releases it, has 10 (write the"),
        (chained([0, 1], jitter=3), "tasks[1].jitter: 3 (leave it out: task 0 releases it)"),
        (chained([0, 1], also=[3, 1]), "tasks[1]: task 0 and task 3 release it (one: let it"),
        (chained([0, 1], also=[1, 0]), "tasks[0]: it releases itself, by way of others (let one"),
        (one_task(home=2), "tasks[0].home: 2 with processors = 2 (clusters are counted from 0"),
        (one_task(wcet=TIME_MAX + 1), "tasks[0].wcet: 1152921504606846977 is above the maximum"),
        (SMALLEST.replace("1,", "NaN,"), "tasks[0].wcet: NaN is not a whole number"),
        (SMALLEST.replace("1,", "-Infinity,"), "tasks[0].wcet: -Infinity is not a whole number"),
        (SMALLEST.replace("1,", "1e999,"), "tasks[0].wcet: 1e999 is above the maximum of 2^60"),
        (SMALLEST.replace("1,", "1e99999999999,"), "tasks[0].wcet: 1e99999999999 is above the"),
        (SMALLEST.replace("1,", "9" * 5000 + ","), "tasks[0].wcet: 9999999999"),
        (SMALLEST.replace("2,", "0,"), "processors: 0 is below the minimum of 1 (1 to 1024"),
        (SMALLEST.replace("2,", "1025,"), "processors: 1025 is above the maximum of 1024"),
        (SMALLEST.replace('"wcet": 1', '"wcet": 1, "wcet": 2'), "tasks[0].wcet: written more than"),
        ('{"processors": 2, "tasks": []}', "tasks: no task (write"),
        ('{"processors": 2, "tasks": {}}', "tasks: an object is not a list (write"),
        ('{"processors": 2, "tasks": [3]}', "tasks[0]: 3 is not an object (write"),
        ('{"processors": 2, "tsks": [{"wcet": 1, "period": 3}]}', "tsks: unknown key (did you mea"),
        ('{"tasks": [{"wcet": 1, "period": 3}]}', 'processors: missing (write "processors": 4, or'),
        ('[{"wcet": 1, "period": 3}]', 'processors: missing (write "processors": 4, or'),
        ("3", "no heading, and it could be read in several ways (write one like: wcet,period,"),
        ('"x"', 'line 1: "x" is not a header'),
        ("", "empty (the smallest file is {"),
        (" \n", "empty (the smallest file is {"),
        ('{"processors": 2', "not JSON: Expecting ',' delimiter at line 1, column 17 (check"),
        ('{"tasks": ' + "[" * 950 + "]" * 950 + "}", "nested too deeply (write it like {"),
        ("[" * 100_000, "nested too deeply (write it like {"),
        (b"\x07", "empty (the smallest file is"),
        (b"\x01\x02\x03\x04" * 9, "binary, not text (save it as text)"),
    ],
)
def test_one_defect_is_one_line_with_its_path_and_what_to_do(text, line):
    (found,) = errors(text)
    assert found.startswith(line)
    assert "\n" not in found
    assert found.isprintable()


def test_every_defect_at_once_and_none_twice():
    text = (
        '{"processors": 0, "tasks": [{"wcet": true, "perod": 9, "wcet": 0}, 4,'
        ' {"wcet": NaN, "period": 1e400, "deadline": 0.5, "name": 1, "home": -1}], "extra": {}}'
    )
    paths = [line.split(":")[0] for line in errors(text)]
    assert paths == [
        "extra",
        "processors",
        "tasks[0].perod",
        "tasks[0].wcet",
        "tasks[1]",
        "tasks[2].home",
        "tasks[2].name",
        "tasks[2].period",
        "tasks[2].wcet",
    ]


def test_the_largest_values_are_accepted_exactly():
    system = parsed(one_task(wcet=TIME_MAX, period=TIME_MAX, deadline=TIME_MAX, offset=TIME_MAX))
    assert system.tasks[0].offset == 1 << 60


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.0", 3),
        ("0.3e1", 3),
        ("300e-2", 3),
        ("-0.0", 0),
        ("1152921504606846977", TIME_MAX + 1),
        ("1e18", 10**18),
        ("-7", -7),
        ("0e999999999", 0),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["0.1", "1e-1", "", ".", "e5", "0x10", "1_000", "\u0661", "1 2", "inf"]
)
def test_what_is_no_whole_number_is_none(text):
    assert isinstance(number(text), Literal)


# --- CSV ------------------------------------------------------------------------------------------


def test_csv_with_comments_names_and_blank_cells():
    text = (
        "# processors: 4\r\n# unit: us\n\n wcet, period ,deadline,name\n# a comment\n"
        '1,3,,"a, b"\n2,4,8,\n\n'
    )
    assert parsed(text) == TaskSystem(
        processors=4,
        unit="us",
        tasks=(
            TimedTask(wcet=1, period=3, deadline=3, name="a, b"),
            TimedTask(wcet=2, period=4, deadline=8),
        ),
    )


def test_csv_takes_processors_from_the_option_and_other_separators():
    assert parsed("wcet;period\n1;3\n", processors=2) == parsed(SMALLEST)
    assert parsed("wcet\tperiod\n1\t3\n", processors=2) == parsed(SMALLEST)
    assert parsed("# processors: 9\nwcet,period\n1,3\n", processors=2) == parsed(SMALLEST)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("wcet,period\n1,3\n", ["processors: missing (write a first line: # processors: 4, or"]),
        (
            "# processors: 2\nwcet,period\n1,0\nx,3\n",
            [
                "line 3, tasks[0].period: 0 is below the minimum of 1",
                'line 4, tasks[1].wcet: "x" is not a whole number',
            ],
        ),
        (
            "# processors: two\nwcet,perod\n1,3\n",
            [
                'processors: "two" is not a whole number',
                "line 2, column perod: unknown column (did you mean period?)",
            ],
        ),
        ("# processors: 2\nperiod\n3\n", ["line 2, column wcet: no such column"]),
        ("# processors: 2\nwcet,period,wcet\n1,3,4\n", ["line 2, column wcet: a second column"]),
        ("# processors: 2\nwcet,period\n1,3,4\n", ["line 3: 3 cells under 2 columns (remove"]),
        ("# processors: 2\nwcet,period\n1\n", ["line 3, tasks[0].period: missing"]),
        ("# processors: 2\nwcet,period\n", ["tasks: no task"]),
        ("# processors: 2\n", ["no header line (write one like"]),
        ('# processors: 2\nwcet,period\n1,"3\n', ["not CSV: unexpected end of data at line"]),
    ],
)
def test_defects_of_csv_have_their_line(text, lines):
    found = errors(text)
    assert len(found) == len(lines)
    for line, start in zip(sorted(found), sorted(lines), strict=True):
        assert line.startswith(start)


# --- SimSo ----------------------------------------------------------------------------------------


def test_simso_times_become_integers_of_the_coarsest_exact_unit():
    loaded = parse_task_system(SIMSO.encode(), source="f.xml", kind="xml")
    assert loaded.system == TaskSystem(
        processors=2,
        unit="us",
        tasks=(
            TimedTask(wcet=2125, period=10_000, deadline=8500, offset=250, name="T1"),
            TimedTask(wcet=3000, period=7000, deadline=7000, name="T2"),
        ),
    )
    assert loaded.remarks == (
        'the scheduler "simso.schedulers.EDF" is left out: choose with --policy',
    )


def test_simso_times_of_many_digits_stay_exact_or_are_cut_as_simso_cuts_them():
    text = SIMSO.replace('"2.125"', '"2.1234567890123"').replace('"1000000"', '"1000"')
    exact = parse_task_system(text.encode(), source="f", kind="xml")
    assert exact.system.tasks[0].wcet == 21234567890123
    assert exact.system.unit == "1e-13 ms"
    cut = parse_task_system(text.encode(), source="f", kind="xml", whole_cycles=True)
    assert [task.wcet for task in cut.system.tasks] == [2123, 3000]
    assert "times were cut to whole cycles, as SimSo does" in cut.remarks


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"Periodic"', '"Sporadic"', 'tasks[0].task_type: "Sporadic" (only Periodic tasks'),
        ('"Periodic"', '"APeriodic"', 'tasks[0].task_type: "APeriodic" (only Periodic tasks'),
        ('id="2" period', 'id="2" followed_by="1" period', 'tasks[1].followed_by: "1" (tasks are'),
        ('speed="1.0"', 'speed="2.0"', "2 errors"),
        ('WCET="3"', "", "tasks[1].WCET: missing (a time in ms)"),
        ('WCET="3"', 'WCET="nan"', 'tasks[1].WCET: "nan" is no time in ms (like 2.5)'),
        ('WCET="3"', 'WCET="0"', "tasks[1].WCET: 0 is below the minimum of 1"),
        ('WCET="3"', 'WCET="-3"', "tasks[1].WCET: -3000 is below the minimum of 1"),
        ("<simulation", "<!DOCTYPE x [<!ENTITY a 'b'>]><simulation", "it has a DOCTYPE"),
        ("</tasks>", "", "not XML: mismatched tag"),
        ("simulation", "configuration", '"configuration" is not a file of SimSo'),
    ],
)
def test_what_simso_has_and_we_have_not_is_named(old, new, line):
    text = SIMSO.replace('<?xml version="1.0" ?>\n', "").replace(old, new)
    found = errors(text, kind="xml")
    assert (f"{len(found)} errors" if len(found) > 1 else found[0]).startswith(line)


def test_what_changes_no_schedule_is_a_remark():
    text = SIMSO.replace('ACET="0.0"', 'ACET="1.5"').replace('etm="wcet"', 'etm="acet"')
    remarks = parse_task_system(text.encode(), source="f", kind="xml").remarks
    assert "ACET is left out: every job executes its WCET" in remarks
    assert any("execution-time model" in remark for remark in remarks)


# --- files ----------------------------------------------------------------------------------------

FULL = TaskSystem(
    processors=3,
    name="a # b, c",
    unit="ns",
    tasks=(
        TimedTask(wcet=1, period=3, deadline=3),
        TimedTask(wcet=2, period=9, deadline=4, offset=1, name='#"x", y;', priority=-2, home=0),
        TimedTask(
            wcet=TIME_MAX, period=TIME_MAX, deadline=1, budget=3, server_period=4, server_deadline=5
        ),
    ),
)


@pytest.mark.parametrize("name", ["s.json", "s.csv", "s.CSV", "s"])
def test_what_is_written_is_read_back(tmp_path: Path, name):
    write_task_system(tmp_path / name, FULL)
    assert load_task_system(tmp_path / name).system == FULL
    assert list(tmp_path.iterdir()) == [tmp_path / name]


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "'x", "'=x", "''", "x'", "-5", "'"])
def test_a_name_is_no_formula_and_comes_back(name: str):
    system = TaskSystem(processors=1, tasks=(TimedTask(wcet=1, period=2, deadline=2, name=name),))
    text = csv_text(system)
    assert text.endswith("x'\n") if name == "x'" else text.rpartition(",")[2].startswith("'")
    assert parsed(text) == system


def test_content_tells_the_format_where_the_name_does_not():
    assert parsed(task_system_text(FULL)) == parsed(csv_text(FULL)) == FULL
    assert parsed("\ufeff" + SMALLEST) == parsed(SMALLEST)
    assert len(parsed(SIMSO).tasks) == 2


def test_files_that_cannot_be_read(tmp_path: Path):
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "no\0name"):
        with pytest.raises(UsageError, match="cannot read"):
            load_task_system(path)


def test_an_endless_file_is_refused(monkeypatch):
    monkeypatch.setattr("deadbeat.sched.files.BYTES_MAX", 1000)
    with pytest.raises(UsageError, match="/dev/zero: more than"):
        load_task_system("/dev/zero")


def test_a_folder_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "s.json").mkdir()
    with pytest.raises(DeadbeatError, match="cannot write"):
        write_task_system(tmp_path / "s.json", FULL)


def test_the_schema_is_one_and_is_published():
    import jsonschema  # noqa: PLC0415

    jsonschema.Draft202012Validator.check_schema(schema())
    page = Path(__file__).parents[2] / "docs" / "reference" / "task-system-files.md"
    (block,) = [part for part in page.read_text("utf-8").split("```")[1::2] if '"$schema"' in part]
    assert json.loads(block.removeprefix("json")) == schema()
    jsonschema.validate(json.loads(task_system_text(FULL)), schema())


FOREIGN = Path(__file__).parents[1] / "pools/foreign"
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
    assert (camera.home, camera.affinity) == (None, (0, 1))
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
        ('{"tasks": {"a": {"run": 5}}}', "no periodic task: a: left out: it has neither timer"),
        ('{"tasks": {"a": {"run": "x", "timer": {"period": 4}}}}', "tasks.a: "),
        ("a,b,c\n1,2,3\n", "unknown column"),
        ("1 2 3\n", "no heading, and it could be read in several ways"),
        ("C [us],T [ms],D\n2,10,9\n", "deadline has no unit, others are in us and ms"),
        ("name\tC\tT\na\t1,000\t2,000\n", "1,000 may have a decimal comma, or thousands"),
    ],
)
def test_what_is_no_task_set_is_one_line_with_its_place(
    text: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "tasks"
    path.write_text(text)
    assert main(("sched", "convert", str(path), "-", "--processors", "2")) == 2
    told = capsys.readouterr().err
    assert str(path) in told and said in told and "unexpected" not in told


@pytest.mark.parametrize("name", json.loads((FOREIGN / "expected.json").read_text()))
def test_what_a_tool_measured_is_sent_to_import(name: str, capsys: Capture) -> None:
    assert main(["sched", "analyze", str(FOREIGN / name.split(maxsplit=1)[0])]) == 2
    told = capsys.readouterr().err
    assert "no task system (deadbeat import " in told and told.count("\n") == 1
