"""Truth: issue 3, item 4: what ``deadbeat sched`` answers, and how wrong input is refused."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from attrs import evolve
from helpers.answers import answer_of
from helpers.sched import read_task_system

from deadbeat.cli.main import main
from deadbeat.sched import TaskSystem, TimedTask, simulate
from deadbeat.sched.__main__ import main as library
from deadbeat.sched.analysis import analyze, require_agreement

EXAMPLES = Path(__file__).parents[2] / "examples" / "sched"
DHALL, TIES = str(EXAMPLES / "dhall.json"), str(EXAMPLES / "ties.json")
SIMULATE = ("sched", "simulate")
ANALYZE = ("sched", "analyze")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict:
    assert main((*arguments, "--json")) == status
    out, err = capsys.readouterr()
    assert err == ""
    return answer_of(out)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    return capsys.readouterr().out


# --- simulate -------------------------------------------------------------------------------------


def test_figures_of_a_schedule_done_by_hand(capsys, tmp_path):
    """Two tasks on one processor, by hand: task 1 runs 1..3, is preempted at 4 and ends at 6."""
    file = tmp_path / "two.json"
    tasks = [{"wcet": 1, "period": 4}, {"wcet": 4, "period": 12}]
    file.write_text(json.dumps({"processors": 1, "tasks": tasks}))
    found = answer(capsys, *SIMULATE, str(file), "--policy", "g-edf")
    first, second = found["tasks"]
    assert (first["response_min"], first["response_mean"], first["response_max"]) == (1, 1, 1)
    assert second["response_percentiles"] == {"p50": 6, "p90": 6, "p95": 6, "p99": 6}
    assert (second["response_max"], second["slack_min"], second["preemptions"]) == (6, 6, 1)
    assert found["response_times"] == {"min": 1, "mean": (1 + 1 + 1 + 6) / 4, "max": 6}
    assert found["tardiness"] == {"mean": 0, "max": 0}
    assert found["preemptions"] == 1 and found["migrations"] == 0
    assert found["until"] == found["hyperperiod"] == 12


def test_every_system_of_a_folder(capsys, tmp_path):
    """D = T on one processor: EDF schedules U = 1 and no more, rate-monotonic priorities less."""
    for name, wcet in (("full", 4), ("over", 5), ("small", 1)):
        tasks = [{"wcet": 2, "period": 5}, {"wcet": wcet, "period": 7}]
        text = json.dumps({"processors": 1, "tasks": tasks})
        (tmp_path / f"{name}.json").write_text(text)
    assert main((*SIMULATE, str(tmp_path), "--json", "--fail-on", "miss")) == 1
    out = json.loads(capsys.readouterr().out)
    assert out["headline"] == "schedulable of 3 task systems: g-edf 2"
    found = {each["file"]: each["schedulable"] for each in out["results"]["systems"]}
    assert found == {"full.json": "yes", "over.json": "no", "small.json": "yes"}
    rows = [line.split() for line in told(capsys, *SIMULATE, str(tmp_path)).splitlines()]
    assert rows[-3:] == [["full.json", "g-edf", "-"], ["over.json", "-", "g-edf"],
                         ["small.json", "g-edf", "-"]]  # fmt: skip
    words = told(capsys, "sched", "analyze", str(tmp_path), "--scheduler", "p-fp")
    assert words.splitlines()[2].split() == ["p-fp", "1", "2", "0"]


def test_a_folder_of_anything_else_is_refused(capsys, tmp_path):
    assert main((*SIMULATE, str(tmp_path))) == 2
    assert "has no task system (deadbeat sched generate" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text("{}")
    assert main((*SIMULATE, str(tmp_path))) == 2
    assert "bad.json" in capsys.readouterr().err
    assert main((*SIMULATE, str(tmp_path), "--gantt", "x.svg")) == 2
    assert "--gantt is of one task system" in capsys.readouterr().err


def test_run_on_past_the_first_miss(capsys, tmp_path):
    """C = 3, T = 2 on one processor: job k ends at 3(k + 1), due at 2(k + 1)."""
    file = tmp_path / "over.json"
    file.write_text('{"processors": 1, "tasks": [{"wcet": 3, "period": 2, "deadline": 3}]}')
    found = answer(capsys, *SIMULATE, str(file), "--set", "run-on=true", "--horizon", "30")
    assert found["schedulable"] == "no"
    assert found["first_miss"] == 5
    assert found["completed"] == 10
    assert found["tardiness"]["max"] == 30 - (2 * 9 + 3)
    assert found["misses"] > 1


def test_standard_input_and_the_processors_option(capsys, monkeypatch):
    data = b"wcet,period\n1,2\n1,2\n2,2\n"
    for processors, schedulable in (("2", "no"), ("3", "yes")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        found = answer(capsys, *SIMULATE, "-", "--processors", processors)
        assert (found["schedulable"], found["processors"]) == (schedulable, int(processors))


def test_a_hyperperiod_of_any_size_is_told_exactly(capsys, tmp_path):
    primes = [10**15 + 37, 10**15 + 91, 10**15 + 159, 10**15 + 187]
    file = tmp_path / "large.json"
    tasks = [{"wcet": 10**14, "period": period} for period in primes]
    file.write_text(json.dumps({"processors": 2, "tasks": tasks}))
    found = answer(capsys, *SIMULATE, str(file), "--set", "max-steps=1000")
    product = primes[0] * primes[1] * primes[2] * primes[3]
    assert found["hyperperiod"] == product
    assert found["schedulable"] == "undecided" and found["proved"] is False
    assert "of about 60 digits" in told(capsys, *SIMULATE, str(file), "--set", "max-steps=1000")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((DHALL, "--fail-on", "miss"), 1),
        ((DHALL, "--policy", "p-edf", "--fail-on", "miss"), 0),
        ((DHALL, "--policy", "p-edf", "--set", "max-steps=1", "--fail-on", "miss"), 0),
        ((DHALL, "--policy", "p-edf", "--set", "max-steps=1", "--fail-on", "undecided"), 1),
        ((DHALL, "--policy", "p-edf", "--set", "max-steps=1", "--fail-on", "not-proved"), 1),
        ((DHALL, "--policy", "p-edf", "--fail-on", "undecided"), 0),
        ((DHALL, "--policy", "p-edf", "--fail-on", "not-proved"), 0),
        ((DHALL, "--policy", "p-edf", "--set", "cost-migration=1", "--fail-on", "not-proved"), 1),
        ((TIES, "--ties", "reverse", "--fail-on", "miss"), 0),
        ((TIES, "--ties", "all", "--fail-on", "miss"), 1),
        ((DHALL,), 0),
    ],
)
def test_fail_on(arguments, status, capsys):
    assert main((*SIMULATE, *arguments)) == status
    assert main((*SIMULATE, *arguments, "--json")) == status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((DHALL, "--processors", "1", "--fail-on", "miss"), 1),
        ((DHALL, "--scheduler", "g-edf", "--fail-on", "miss"), 0),
        ((DHALL, "--fail-on", "not-proved"), 0),  # partitioned it holds
        ((DHALL, "--scheduler", "g-edf", "--test", "gfb", "--fail-on", "miss"), 0),
        ((DHALL, "--scheduler", "g-edf", "--test", "gfb", "--fail-on", "not-proved"), 1),
        ((DHALL, "--scheduler", "g-edf"), 0),
    ],
)
def test_analyze_fails_on_what_is_asked(arguments, status, capsys, tmp_path):
    cases = tmp_path / "cases.xml"
    assert main((*ANALYZE, *arguments, "--junit", str(cases))) == status
    assert ("--fail-on" in capsys.readouterr().err) == ("<failure" in cases.read_text())
    assert ("<failure" in cases.read_text()) == bool(status)


def test_the_answer_for_people_comes_first_and_says_simulated(capsys):
    lines = told(capsys, *SIMULATE, DHALL).splitlines()
    assert lines[0].startswith("schedulable: no, proved (a job of task 2 (heavy) misses its")
    assert lines[1] == "policy: Global EDF (g-edf), ties by index"
    assert lines[3].startswith("model: periodic-sync, method exact, execution")
    assert any(line.startswith("reference: Dhall and Liu") for line in lines)
    assert sum(line.startswith("simulated: ") for line in lines) == 2
    assert any("Simulated, per task, in units" in line for line in lines)
    assert any("heavy" in line for line in lines)


def test_a_migration_between_clusters_costs_more_than_one_inside(capsys, tmp_path):
    """Two processors, global EDF: one cluster of both, or two of one."""
    file = tmp_path / "three.json"
    tasks = [{"wcet": c, "period": t} for c, t in ((3, 8), (5, 12), (9, 20))]
    file.write_text(json.dumps({"processors": 2, "tasks": tasks}))

    def costly(*settings: str) -> dict:
        more = (word for each in settings for word in ("--set", each))
        return answer(capsys, *SIMULATE, str(file), "--policy", "g-edf", *more)

    free = costly()
    assert free["migrations"] == 3
    inside = costly("cost-migration-across=1", "cluster-size=2")
    across = costly("cost-migration-across=1", "cluster-size=1")
    alike = costly("cost-migration=1")

    def means(found: dict) -> list[float]:
        return [task["response_mean"] for task in found["tasks"]]

    assert means(inside) == means(free), "one cluster has both processors"
    assert means(across) == means(alike) != means(free), "every migration leaves a cluster of one"


def test_options_that_the_policy_does_not_look_at_are_named(capsys):
    arguments = ("--partition", "best-fit", "--set", "threshold=1/2", "--set", "cluster-size=2")
    assert main((*SIMULATE, DHALL, *arguments)) == 0
    told_err = capsys.readouterr().err
    assert told_err == "deadbeat: g-edf does not look at --partition, --cluster-size, --threshold\n"
    assert main((*SIMULATE, DHALL, "--policy", "c-edf", *arguments[:2], *arguments[4:])) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--perfetto", "t.json"),
            "--perfetto t.json is the file to simulate (choose another name)",
        ),
        (("--gantt", "a", "--report", "./a"), "--report a is the file of --gantt too (choose"),
    ],
)
def test_no_file_is_written_over_another(arguments, line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = Path(DHALL).read_bytes()
    Path("t.json").write_bytes(before)
    assert main((*SIMULATE, "t.json", *arguments)) == 2
    assert line in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
    assert Path("t.json").read_bytes() == before


def test_a_bound_of_tardiness_is_not_called_accepted(capsys):
    """Dhall's system is late under global EDF, by a bounded time."""
    out = told(capsys, "sched", "analyze", DHALL, "--test", "tardiness")
    assert "no job is later than" in out
    assert "accepted" not in out


# --- wrong input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("simulat",), 'there is no command "sched simulat" (did you mean simulate?)'),
        (("simulate",), "missing argument 'FILE' (see deadbeat sched simulate --help)"),
        (("simulate", "no.json"), "cannot read no.json: No such file or directory (name a JSON, C"),
        (
            ("convert", ".", "new.json"),
            "cannot read .: Is a directory (name a JSON, CSV or XML file, o",
        ),
        (("simulate", "bad.json"), "bad.json: tasks[0].period: 0 is below the minimum of 1 (1 or"),
        (("simulate", "s.csv"), "s.csv: processors: missing (write"),
        (("simulate", DHALL, "--policy", "g-ed"), '--policy: "g-ed" is not a choice (did you mean'),
        (("simulate", DHALL, "--ties", "idx"), '--ties: "idx" is not a choice (did you mean ind'),
        (("analyze", DHALL, "--test", "gfb", "--scheduler", "p-edf"), "gfb: not about the policy"),
        (
            ("simulate", DHALL, "--set", "threshold=1/0"),
            '--threshold: "1/0" is not above 0 and at mos',
        ),
        (
            ("simulate", DHALL, "--set", "threshold=2"),
            '--threshold: "2" is not above 0 and at most',
        ),
        (
            ("simulate", DHALL, "--processors", "0"),
            '--processors: "0" is out of range (from 1 to 1024)',
        ),
        (("simulate", DHALL, "--set", "max-steps=0"), '--max-steps: "0" is out of range'),
        (("simulate", DHALL, "--horizon", "1e9"), '--horizon: "1e9" is not a whole number'),
        (
            ("simulate", DHALL, "--set", "cost-migration=-1"),
            '--cost-migration: "-1" is out of range',
        ),
        (("simulate", DHALL, "--polcy", "x"), "sched simulate has no option --polcy (did you mea"),
        (
            ("simulate", DHALL, "--set", "show-from=3"),
            "show-from and show-to need something to draw (add --gantt",
        ),
        (
            ("simulate", DHALL, "--gantt", "x.svg", "--set", "show-from=5", "--set", "show-to=5"),
            "show-from 5 is not before show-to 5 (",
        ),
        (("analyze", "bad.json"), "bad.json: tasks[0].period: 0 is below the minimum of 1 ("),
        (("analyze", DHALL, "--scheduler", "g-ed"), '--scheduler: "g-ed" is not a choice (did y'),
        (("analyze", DHALL, "--test", "gbf"), '--test: "gbf" is not a choice (did you mean gfb?'),
        (("convert", DHALL), "missing argument 'OUT' (see deadbeat sched convert --help)"),
        (("convert", DHALL, "x.xml"), "x.xml: not a format to write (end OUT in .json or .csv)"),
        (("convert", DHALL, "bad.json"), "bad.json exists (choose another name, or give --force)"),
        (("analyze", DHALL, "--cores", "2"), "has no option --cores (did you mean --processors?)"),
        (
            ("analyze", DHALL, "--processors", "2,4"),
            '--processors: "2,4" is not a whole number (write it like 2)',
        ),
        (
            ("study", "--processors=2", "--tasks=4", "--policy=g-edf", "--utilisation=0.5-0.9"),
            '"0.5-0.9" is not a range (write it like 0.5..0.9:0.1)',
        ),
        (("simulate", DHALL, "--gantt", "x.png"), "what it writes is SVG (name it x.svg)"),
        (("policies", "x"), "deadbeat sched policies is gone (today: deadbeat list policies)"),
    ],
)
def test_wrong_input_is_one_line_with_a_hint_and_status_2(
    arguments, line, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text('{"processors": 2, "tasks": [{"wcet": 1, "period": 0}]}')
    Path("s.csv").write_text("wcet,period\n1,2\n")
    assert main(("sched", *arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deadbeat: error: ")
    assert err.count("\n") == 1
    assert line in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "s.csv"]


@pytest.mark.parametrize(
    ("text", "mend", "mended"),
    [
        ("C,T\n1,2\n", "write a first line: # processors: 4", "# processors: 4\nC,T\n1,2\n"),
        ("#processors: 1\nC,T,U\n1,2,0.5\n", "wcet / period", "#processors: 1\nC,T\n1,2\n"),
        (
            "#processors: 1\nC,T\n1.5ms,3ms\n",
            "write 1.5, and the unit once",
            "#processors: 1\nC [ms],T [ms]\n1.5,3\n",
        ),
        (
            '{"processors": 1, "tasks": [{"wcet": "15ms", "period": 20}]}',
            'write 15, and the unit once: "unit": "ms"',
            '{"processors": 1, "unit": "ms", "tasks": [{"wcet": 15, "period": 20}]}',
        ),
    ],
)
def test_a_mend_of_a_file_mends_it(text, mend, mended, capsys, tmp_path):
    file = tmp_path / "tasks"
    file.write_text(text)
    assert main((*ANALYZE, str(file))) == 2
    assert mend in capsys.readouterr().err
    file.write_text(mended)
    assert main((*ANALYZE, str(file))) == 0


def test_numbers_of_one_and_parts_of_a_unit_in_words(capsys, tmp_path):
    """C = 1.5, T = 4.5 on one processor, alone: U = 1/3, the hyper-period is 4.5."""
    file = tmp_path / "one.json"
    file.write_text('{"processors": 1, "tasks": [{"wcet": 1.5, "period": 4.5}]}')
    text = told(capsys, *ANALYZE, str(file))
    assert "1 task on 1 processor, utilisation 0.3333" in text
    text = told(capsys, *SIMULATE, str(file))
    assert "hyper-period 45 tenths" in text and "[0, 45) tenths, 1 job," in text
    assert "simulated: 0 preemptions" in text


def test_the_table_of_tests_fits_a_screen(capsys):
    text = told(capsys, *ANALYZE, str(EXAMPLES / "vehicle.json"))
    rows = [line for line in text.splitlines() if "sporadic" in line]
    assert len(rows) == 24 and max(map(len, rows)) <= 130


def test_several_defects_are_a_line_each(capsys, tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"processors": 0, "tasks": [{"wcet": 1, "period": 0, "x\\n\\u001b[1m": 1}]}')
    assert main((*SIMULATE, str(file), "--json")) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == f"deadbeat: error: {file}: 3 errors"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  processors",
        "  tasks[0].period",
        "  tasks[0].x??[1m",
    ]


# --- what is written ------------------------------------------------------------------------------


def test_drawings_are_written_and_named(capsys, tmp_path):
    files = {"gantt": "new/a.svg", "trace": "a.json", "report": "a.html"}
    options = [word for kind, name in files.items() for word in (f"--{kind}", str(tmp_path / name))]
    options[2] = "--perfetto"
    found = answer(capsys, *SIMULATE, DHALL, *options)
    assert found["files"] == {kind: str(tmp_path / name) for kind, name in files.items()}
    for name in files.values():
        assert "imulated" in (tmp_path / name).read_text("utf-8")


def test_a_window_that_is_not_all_is_said(capsys, tmp_path):
    arguments = (*SIMULATE, str(EXAMPLES / "vehicle.json"), "--gantt", str(tmp_path / "a.svg"))
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert err.startswith("deadbeat: gantt: cut: shown is [0, ") and err.count("\n") == 1
    assert main((*arguments, "--set", "show-from=100000", "--set", "show-to=110000")) == 0
    assert "shown is [100000, 110000) of [0, 200000) simulated" in capsys.readouterr().err


def test_a_drawing_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main((*SIMULATE, DHALL, "--gantt", str(tmp_path / "file" / "a.svg"))) == 3
    err = capsys.readouterr().err
    assert "cannot write" in err and err.count("\n") == 1


def test_convert_there_and_back(capsys, tmp_path):
    source, csv, back = EXAMPLES / "vehicle.json", tmp_path / "v.csv", tmp_path / "v.json"
    assert "12 tasks on 4 processors" in told(capsys, "sched", "convert", str(source), str(csv))
    assert "12 tasks" in told(capsys, "sched", "convert", str(csv), str(back))
    assert read_task_system(back) == read_task_system(source) == read_task_system(csv)
    assert json.loads(told(capsys, "sched", "convert", str(csv), "-"))["unit"] == "us"


# --- analyze and lists ----------------------------------------------------------------------------


def test_analyze_tells_who_proves_what_and_the_cheapest_proof(capsys, tmp_path):
    file = tmp_path / "light.json"
    file.write_text('{"processors": 2, "tasks": [{"wcet": 1, "period": 10}]}')
    found = answer(capsys, "sched", "analyze", str(file), "--scheduler", "g-edf", "--simulate")
    entry = found["schedulers"]["g-edf"]
    assert (entry["schedulable"], entry["proof"]) == ("yes", entry["accepted"][0])
    assert "gfb" in entry["accepted"]
    assert entry["simulation"]["schedulable"] == "yes"
    assert {test["answer"] for test in found["tests"]} <= {
        *("accepted", "not accepted", "refuted", "not applicable", "undecided")
    }
    assert all(test["reference"] for test in found["tests"])
    text = told(capsys, "sched", "analyze", str(file), "--simulate")
    assert f"g-edf: schedulable, proved by {entry['proof']}; also" in text
    assert "; simulated (model periodic-sync, ties by index): yes, proved" in text


def test_analyze_simulates_the_model_that_is_asked_for(capsys):
    file = str(EXAMPLES / "sporadic-not-sync.json")
    for model, schedulable in (("periodic-sync", "yes"), ("sporadic", "no")):
        found = answer(capsys, "sched", "analyze", file, "--simulate", "--model", model)
        simulation = found["schedulers"]["g-edf"]["simulation"]
        assert (simulation["model"], simulation["schedulable"]) == (model, schedulable)


@pytest.mark.parametrize(
    ("spare", "fits", "clock"), [("30%", True, 0.7), ("0.5", True, 0.98), ("60%", False, 1.225)]
)
def test_a_budget_of_two_domains_with_spare_time(spare, fits, clock, capsys, tmp_path):
    """By hand: U = 0.2 + 0.15 + 0.14 = 0.49 on one processor, where EDF reaches 1: with a share s
    spare the clock may be 0.49 / (1 - s) of today's."""
    file = tmp_path / "two.json"
    tasks = [("real-time/control", 2, 10), ("real-time/io", 3, 20), ("rest/log", 14, 100)]
    rows = [{"name": name, "wcet": wcet, "period": period} for name, wcet, period in tasks]
    file.write_text(json.dumps({"processors": 1, "tasks": rows}))
    words = ("sched", "analyze", str(file), "--spare", spare)
    found = answer(capsys, *words)["budget"]
    assert found["demand"] == pytest.approx({"real-time": 0.35, "rest": 0.14})
    assert (found["fits"], found["clock"]) == (fits, pytest.approx(clock))
    assert ("spare: fits" if fits else "spare: does not fit") in told(capsys, *words)
    assert main((*words[:-1], "100%")) == 2


def test_tests_that_contradict_the_simulation_are_an_error():
    light = TaskSystem(processors=2, tasks=(TimedTask(wcet=1, period=9, deadline=9),))
    analysis, verdict = analyze(light, scheduler="g-edf"), simulate(light, model="sporadic")
    require_agreement(analysis, "g-edf", verdict)
    with pytest.raises(RuntimeError, match=r"g-edf: .*gfb.* accept what simulation refutes"):
        require_agreement(analysis, "g-edf", evolve(verdict, schedulable="no"))
    heavy = TaskSystem(processors=1, tasks=(TimedTask(wcet=2, period=9, deadline=1),))
    analysis, verdict = analyze(heavy, scheduler="p-edf"), simulate(heavy)
    require_agreement(analysis, "p-edf", verdict)
    with pytest.raises(RuntimeError, match="refute what simulation proves"):
        require_agreement(analysis, "p-edf", evolve(verdict, schedulable="yes"))


# --- long work ------------------------------------------------------------------------------------


def test_an_interrupt_ends_long_work_at_once(tmp_path):
    """The core itself would go on for as many scheduling points as the budget allows."""
    file = tmp_path / "long.json"
    tasks = [{"wcet": 1, "period": period} for period in (1000003, 1000033, 1000037)]
    file.write_text(json.dumps({"processors": 1, "tasks": tasks}))
    command = ("sched", "simulate", str(file), "--set", f"max-steps={10**15}")
    impatient = (
        "import sys; from deadbeat.cli import main, sched_systems;"
        "sched_systems._PATIENCE_S = 0.2; sys.exit(main.main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", impatient, *command], stdout=PIPE, stderr=PIPE, text=True
    )
    try:
        assert "simulating, at most" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "deadbeat: interrupted\n")


# --- without the command line ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["analyze", "simulate"])
def test_the_module_says_what_the_command_says_first(capsys, verb):
    assert library(["simulate", DHALL, "--policy", "none"]) == 2
    assert 'there is no policy "none"' in capsys.readouterr().err
    assert library([verb, DHALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = told(capsys, "sched", verb, DHALL)
    assert lines and [line for line in lines if line not in shown] == []
