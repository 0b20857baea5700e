"""Truth: issue 2, "Bad input": one clear line with a hint, exit status 2 or 1, no traceback."""

import errno
import os
from pathlib import Path

import pytest
from helpers.answers import Capture
from helpers.campaigns import TINY_OPTIONS

from deadbeat.cli.main import main

RUN = ("contention", "--quick", "--simulated", "--no-figures")
CALIBRATE = ("contention", "--calibrate", "--simulated")
FRAGMENTS = ("list", "fragments", "--simulated")
PROVE = ("doctor", "--prove")
STRESS = ("contention", "--random", "--simulated", "--no-figures")
BOARD, BOTH_HERE = ("--target", "ssh://board"), ("--target", "local,ssh://board")
PER_TASK = ("--set", "per-task=true", "--sync-share", "1", "--contended-ratio", "1")
BOTH = ("--utilisation", "0.3", "--set", "deadline-factor=5")
THREE_TASKS = ("--utilisation", "0.5", "--tasks-per-core", "3", "--set", "utilisation-min=0.4")
SEARCH = ("breakdown", "--quick", "--simulated")
BACKWARDS = ("--set", "search-from=1", "--set", "search-to=0.9")
MATRIX, LOAD = ("latency", "--simulated"), ("load", "--simulated")
SHORT_PERIODS = ("--set=form=periodic", "--set=round=9ms", "--period=5ms")


pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("latnecy",), 2, 'there is no command "latnecy" (did you mean latency?)'),
        (("xyzzy",), 2, 'there is no command "xyzzy" (deadbeat --help lists them'),
        (("--verson",), 2, "deadbeat has no option --verson (did you mean --version?)"),
        ((*RUN, "--duratin", "1"), 2, "has no option --duratin (did you mean --duration?)"),
        ((*RUN, "--zzz"), 2, "has no option --zzz (see deadbeat contention --help)"),
        ((*RUN, "--duration"), 2, "option '--duration' requires an argument ("),
        ((*RUN, "--duration", "0"), 2, '--duration: "0" is out of range (from 0.05 to 3600)'),
        ((*RUN, "--duration", "x"), 2, '--duration: "x" is not a number of seconds (write it like'),
        (
            (*RUN, "--set", "wcet-min=100"),
            2,
            "--set wcet-min: 100 is not a length of time with its uni",
        ),
        (
            (*RUN, "--set", "wcet-min=1ms"),
            2,
            "--set wcet-min: 1000000ns is above wcet_max = 500000ns (",
        ),
        ((*RUN, "--set", "wcet-max=1 mss"), 2, "has an unknown unit (did you mean ms?)"),
        ((*RUN, "--sync-share", "0,2"), 2, '--sync-share[1]: "2" is out of range (from 0 to 1)'),
        ((*RUN, "--set", "step=0.3"), 2, '--step: "0.3" does not divide 1 (the nearest is 0.25)'),
        ((*RUN, "--policy", "fofi"), 2, '--policy: "fofi" is not a choice (did you mean fifo?)'),
        (
            (*RUN, "--set", "distribution=loguniform"),
            2,
            "is not a choice (did you mean log-uniform?)",
        ),
        ((*RUN, "--cores", "1..3"), 2, "--cores: 3 asked (2 can be used; more, simulated:"),
        ((*RUN, "--cpus", "0,9"), 2, "--cpus: CPU 9 cannot be used (use 0, 1)"),
        ((*RUN, "--sets", "1e3"), 2, '--sets: "1e3" is not a whole number (write it'),
        ((*RUN, "--name", "../x"), 2, '--name: "../x" is not a name (letters, digits,'),
        ((*RUN, "--name", "latest"), 2, "--name: latest is the link to the last campaign (cho"),
        (
            (*RUN, "--set", "fragments=matmull"),
            2,
            "no fragment is called 'matmull' (did you mean m",
        ),
        ((*RUN[:1], "--preset", "papr"), 2, '--preset: "papr" is not a choice (did you mean paper'),
        ((*RUN, "--preset", "paper"), 2, "--quick and --preset paper exclude each other (drop"),
        ((*RUN, "--retry"), 2, "there is no campaign contention-quick in runs to retry ("),
        ((*RUN, "--file", "no.toml"), 2, "no.toml: No such file or directory (name a"),
        ((*RUN, "--file", "bad.toml"), 2, "bad.toml: not TOML: "),
        ((*RUN, "--file", "key.toml"), 2, "key.toml: run.secnds: unknown key (did you mean se"),
        ((*RUN, "--calibration", "no.json"), 2, "--calibration: there is no file no.json ("),
        ((*RUN, "--calibration", "bad.toml"), 3, "calibration bad.toml is damaged: "),
        ((*RUN, "--runs", "bad.toml"), 3, "cannot read bad.toml: Not a directory (choose another"),
        ((*RUN, "extra"), 2, "got unexpected extra argument (extra) (to run a program beside: --b"),
        (("contention", "--executor", "hardwrae"), 2, "is unknown (did you mean hardware?)"),
        (("contention", "--executor", "fake:coers=2"), 2, "'coers=2' is unknown (for ex"),
        (("show",), 2, "there is no result latest ("),
        (("contention-random", "--help"), 2, 'there is no command "contention-random" (did you'),
        (("show", "governr"), 2, "there is no result governr (did you mean governor?)"),
        (("page", "nothing"), 2, "there is no result nothing (runs holds none: deadbeat c"),
        (("show", "examples", "--runs", "."), 2, "examples holds no result: no"),
        (("doctor", "--out", "/proc/x.html"), 3, "/proc holds no files (choose another --out)"),
        (("doctor", "--out", "no/where/x.html"), 2, "--out: there is no folder no (name one"),
        (("doctor", "--rt-cpus", "1-0"), 2, "is not an ascending range (write it like 0-1)"),
        (("doctor", "--rt-cpus", "0-99999999999"), 2, "is too long a range (at most 4096 numbers)"),
        (("contention", "--sync-share", "0.2..0.8"), 2, "(write it like 0.2..0.8:0.1)"),
        (("contention", "--contended-ratio", "0.5..1.5:0.5"), 2, '"1.5" is out of range'),
        (
            ("latency", "--engine", "foo"),
            2,
            '"foo" is not a choice (one of cyclictest, prober, hpet)',
        ),
        (("tune", "apply", "bad.toml"), 2, "(deadbeat list knobs shows the profiles)"),
        ((*CALIBRATE, "--pool", "ful"), 2, '--pool: "ful" is not a choice (did'),
        ((*CALIBRATE, "--duration", "0"), 2, '--duration: "0" is out of range (fr'),
        ((*CALIBRATE, "--out", "bad.toml/x"), 3, "cannot write bad.toml/x: "),
        ((*FRAGMENTS, "--policy", "rr"), 2, '--policy: "rr" is not a choice ('),
        ((*FRAGMENTS, "--calibration", "no"), 2, "there is no file no ("),
        ((*RUN, "--executor", "foo"), 2, '--executor: "foo" is unknown (one of'),
        ((*RUN, "--executor", "sim:cores=4"), 2, "--executor sim:cores=4 exclude each other (dr"),
        ((*RUN, "--executor", "hardware"), 2, "--simulated and --executor hardware exclude each"),
        ((*RUN, "--resume"), 2, "has no option --resume (none is needed: the same command"),
        ((*RUN, "--seed", "-1"), 2, '--seed: "-1" is out of range (from 0 to 9223372036854775807)'),
        ((*RUN, "--file", "examples/shielding.toml"), 2, "deadbeat contention --random --file"),
        ((*STRESS, "--file", "grid.toml"), 2, "deadbeat contention --file grid.toml"),
        ((*STRESS, "--file", "low.toml"), 2, 'low.toml: stress.sets: "0" is out of range ('),
        ((*STRESS, "--utilisation", "1.5"), 2, '--utilisation: "1.5" is out of range (from 0.001'),
        ((*STRESS, "--utilisation", "0"), 2, '--utilisation: "0" is out of range (from 0.001 to'),
        ((*STRESS, "--preset", "nope"), 2, "(one of random, fixed-cores, paper, quick, 2a, 2b)"),
        ((*STRESS, "--preset", "default"), 2, "default is a preset of deadbeat contention (one of"),
        (
            (*STRESS, *("--set", "critical-cores=1", "--cores", "1")),
            2,
            "1 critical core leaves none o",
        ),
        (
            (*STRESS, *THREE_TASKS),
            2,
            "--utilisation: 3 tasks on a core reach 1.2 to 3, found 0.5 (raise --utilisation, lower"
            " --utilisation-min or",
        ),
        ((*STRESS, "--cores", "64"), 2, "--cores: 64 asked (2 can be used; more, simulated:"),
        (
            (*STRESS, "--set", "critical-cores=2"),
            2,
            "--set critical-cores: 2 critical cores leave none of",
        ),
        ((*STRESS, "--preset", "3c"), 2, '--preset: "3c" is not a choice'),
        ((*STRESS, "--preset", "2a", "--cores", "64"), 2, "--cores: 64 asked"),
        ((*STRESS, "--preset", "2a"), 2, "--preset: none of M = 4, 8, 12, 16 exists"),
        ((*STRESS, "--quick", "--preset", "2b"), 2, "--quick and --preset 2b exclude each other"),
        ((*STRESS, *PER_TASK), 2, "--set per-task: rho and"),
        ((*STRESS, *BOTH), 2, "--set deadline-factor: with a utilisation"),
        (("observe", "10"), 2, "there is no observation 10 (1 to 9, or all)"),
        (("observe", "0..3"), 2, "there is no observation 0..3"),
        (("observe", "nine"), 2, '"nine" is no observation'),
        (("observe", "1", "--from", "nowhere"), 2, "there is no result nowhere"),
        (("observe", "1", "--executor", "fake:cores=0"), 2, "--executor"),
        ((*RUN, "--precision", "0.05", "--sets", "3"), 2, "--sets: a fixed number"),
        ((*RUN, "--set", "sets-min=9"), 2, "--precision: missing"),
        ((*RUN, "--precision", "tight"), 2, '--precision: "tight" is not a number'),
        (
            (*RUN, "--precision", "0.1", "--set", "precision-metric=slow"),
            2,
            "--set precision-metric",
        ),
        ((*RUN, "--precision", "0.05", "--set", "sets-min=300"), 2, "sets-min: 300 is above"),
        ((*RUN, "--time-budget", "soon"), 2, '--time-budget: "soon" is not a length of time'),
        ((*RUN, "--time-budget", "0m"), 2, "--time-budget"),
        (("latency", "--simulated", *BOARD), 2, "--simulated and --target (or --cross) exclude"),
        ((*RUN, *BOARD), 2, "--simulated and --target (or --cross) exclude each other"),
        (("load", "--simulated", *BOARD), 2, "--simulated and --target (or --cross) exclude each"),
        (("breakdown", "--executor", "sim", *BOARD), 2, "--executor sim and --target (or --cross)"),
        (("run", *BOARD, "--simulated", "true"), 2, "--simulated and --target"),
        (("latency", *BOARD, "--beside", "--", "true"), 2, "--beside and --target"),
        (("latency", "--target", "local,local"), 2, '"local" is named twice'),
        (("latency", "--target", "local,"), 2, "names no machine"),
        (("latency", "--simulated", *BOTH_HERE), 2, "--simulated and --target"),
        (("run", *BOTH_HERE, "true"), 2, "run watches one machine at a time"),
        (("doctor", *BOTH_HERE, "--openmetrics"), 2, "of one machine"),
        ((*PROVE, "--executor", "freertos"), 2, "the self-test is about a real machine ("),
        ((*PROVE, "--simulated", "--duration", "-1"), 2, '--duration: "-1" is out of range ('),
        ((*SEARCH, "--set", "steps=99"), 2, "error: --set steps: 99 is out of range"),
        ((*SEARCH, "--set", "steps=9"), 2, "--set steps: 9 halvings of 0.05 to 1.1 end below 0.0"),
        ((*SEARCH, *BACKWARDS), 2, "error: --set search-from: 1 is not below high = 0.9 ("),
        ((*SEARCH, "--priorities", "rm"), 2, 'error: --priorities[0]: "rm" is not a choice'),
        ((*SEARCH, "--tasks-per-core", "0"), 2, 'error: --tasks-per-core[0]: "0" is out of range'),
        ((*SEARCH, "--spare", "x%"), 2, 'error: --spare: "x" is not a number'),
        ((*SEARCH, "--set", "miss-share=2"), 2, "error: --set miss-share: 2 is out of range"),
        ((*SEARCH, "--cores", "9"), 2, "error: --cores: 9 asked"),
        ((*SEARCH, "--sets", "900"), 2, "error: --sets: 3600 task sets in all"),
        (("breakdown", "--preset", "paper"), 2, 'error: --preset: "paper" is not a choice'),
        ((*SEARCH, "--set", "segments-max=0"), 2, "error: --set segments-max: 0 is out of range"),
        ((*MATRIX, "--cpus", "7"), 2, "--cpus: CPU 7 cannot be used (use 0, 1"),
        ((*MATRIX, "--interval", "2s"), 2, "(from 50us to 1s)"),
        ((*MATRIX, "--duration", "1y"), 2, "--duration: "),
        ((*MATRIX, "--duration", "1w"), 2, "--duration: "),
        (("import", "cpu:50="), 2, "cpu:50=: no file is named (write it cpu:50=FILE)"),
        (("doctor", "--workload", "compte"), 2, "did you mean compute"),
        (("doctor", "--fail-on", "hihg"), 2, "did you mean high"),
        (("doctor", "--only", "kernl"), 2, "did you mean kernel"),
        (("doctor", "--rt-cpus", "x"), 2, "--rt-cpus: "),
        (("doctor", "--rt-cpus", "60000"), 2, "--rt-cpus: CPU 60000 is not online here (online: 0"),
        (("doctor", "--rt-cpus", "0,0"), 2, "twice"),
        (("doctor", "--rt-cpus", ""), 2, "--rt-cpus"),
        ((*LOAD, "--remedies", "pim"), 2, "did you mean pin"),
        ((*LOAD, "--cpus", "9"), 2, "CPU 9 "),
        ((*LOAD, *SHORT_PERIODS), 2, "--period: 5 ms is no longer"),
        ((*LOAD, "--quick", "--preset", "paper"), 2, "--quick and --preset paper exclude each"),
        ((*LOAD, "--fail-on", "mises"), 2, '--fail-on: "mises" is not a choice'),
        (("contention", "--simulated", "--set", "pool"), 2, "no KEY=VALUE"),
        (("contention", "--simulated", "--set", "run.secnds=1"), 2, "did you mean seconds?"),
        ((*RUN, "--set", "pool=full", "--set", "pool=quick"), 2, "mean the same"),
        (("sched", "generate", "--set", "heavy-sharr=0.5"), 2, "did you mean heavy-share?"),
        (("sched", "generate", "--set", "heavy-share=x"), 2, "not a valid float"),
    ],
)
def test_one_line_a_hint_and_the_right_status(
    arguments: tuple[str, ...], status: int, line: str, capsys: Capture
) -> None:
    Path("bad.toml").write_text("a = \n")
    Path("key.toml").write_text("[run]\nsecnds = 1\n")
    Path("grid.toml").write_text("[grid]\nreplicas = 3\n")
    Path("low.toml").write_text("[stress]\nsets = '0'\n")
    Path("examples").mkdir()
    Path("examples/shielding.toml").write_text("mode = 'stress'\n")
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deadbeat: error: ")
    assert err.count("\n") == 1
    assert line in err
    assert "(" in err
    assert "Traceback" not in err
    assert not Path("runs").exists()


def test_every_error_of_a_command_at_once(capsys: Capture) -> None:
    assert main((*RUN, "--duration", "0", "--policy", "x", "--sets", "-1")) == 2
    err = capsys.readouterr().err
    assert "3 problems:" in err
    assert all(f"\n  {option}: " in err for option in ("--duration", "--policy", "--sets"))
    assert err.count("\n") == 4


def test_a_conflict_does_not_hide_what_else_is_wrong(capsys: Capture) -> None:
    assert main((*STRESS, "--sets", "4", "--precision", "-1")) == 2
    err = capsys.readouterr().err
    assert "\n  --sets: a fixed number" in err and "--sets-max is the most sets" in err
    assert '\n  --precision: "-1" is out of range' in err


def test_a_calibration_that_does_not_fit_names_file_and_options(capsys: Capture) -> None:
    assert main((*CALIBRATE, "--pool", "quick", "--set", "cost-basis=cold")) == 0
    capsys.readouterr()
    words = ("contention", "--simulated", "--no-figures", "--calibration", "runs/calibration.json")
    assert main(words) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "the calibration in runs/calibration.json has cost basis cold where warm is" in line
    assert "pool quick where full is asked" in line
    assert "run the campaign with --cost-basis cold --pool quick" in line
    assert "deadbeat contention --calibrate --cost-basis warm --pool full" in line


def test_other_parameters_for_an_unfinished_campaign(capsys: Capture) -> None:
    assert main((*TINY_OPTIONS, "--executor", "fake:lose-after=2")) == 3
    assert "the simulated machine is lost (the same command resumes)" in capsys.readouterr().err
    assert main((*TINY_OPTIONS, "--set", "overrun=late")) == 2
    err = capsys.readouterr().err
    assert "run.overrun (skip there, late now)" in err
    assert "--name NAME" in err and "--fresh" in err


def test_a_calibration_of_a_foreign_machine(capsys: Capture) -> None:
    assert main((*CALIBRATE[:2], "--executor", "fake:name=far", "--pool", "quick")) == 0
    capsys.readouterr()
    assert main((*TINY_OPTIONS, "--calibration", "runs/calibration.json")) == 3
    err = capsys.readouterr().err
    assert "the calibration in runs/calibration.json belongs to far" in err
    assert "deadbeat contention --calibrate" in err
    assert not Path("runs/tiny").exists()


@pytest.mark.slow
def test_a_campaign_larger_than_the_disk(capsys: Capture) -> None:
    arguments = ("--preset", "default", "--sets", "1000", "--duration", "300")
    assert main(("contention", "--simulated", "--name", "huge", *arguments)) == 3
    err = capsys.readouterr().err
    assert "may need " in err and "TB, only " in err
    assert not Path("runs/huge").exists()


def test_an_unexpected_error_is_one_line_and_a_traceback_on_demand(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(TINY_OPTIONS) == 0
    monkeypatch.setattr("deadbeat.tasksets.contention.view.read_summary", lambda _store: len(None))
    capsys.readouterr()
    assert main(("show", "tiny")) == 3
    err = capsys.readouterr().err
    assert err.startswith("deadbeat: error: unexpected: TypeError")
    assert "--debug" in err and err.count("\n") == 1
    with pytest.raises(TypeError):
        main(("show", "tiny", "--debug"))


@pytest.mark.parametrize(
    ("error", "message", "option"),
    [
        (MemoryError(), "out of memory", "ulimit -v"),
        (RuntimeError("can't start new thread"), "can't start new thread", "ulimit -u"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files", "ulimit -n"),
        (
            BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
            "Resource",
            "ulimit -u",
        ),
    ],
)
def test_a_limit_of_the_process_is_named(
    error: Exception, message: str, option: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_words: list[str], *, quiet: bool) -> int:
        raise error

    monkeypatch.setattr("deadbeat.cli.main._run", fail)
    assert main(("--version",)) == 3
    line = capsys.readouterr().err
    assert line.startswith(f"deadbeat: error: {message}")
    assert option in line and "unexpected" not in line


def test_quiet_leaves_answers_and_errors(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    measure = ("latency", "--quick", "--simulated", "--runs", str(tmp_path), "--no-figures")
    assert main([*measure, "-q", "--no-color"]) == 0
    out, err = capsys.readouterr()
    assert "Worst wake-up" in out and err == "" and os.environ["NO_COLOR"] == "1"
    assert main(["--quiet", "show", "nix", "--runs", str(tmp_path)]) == 2
    assert "there is no result nix" in capsys.readouterr().err


def test_words_of_another_program_are_its_own(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", "--runs", str(tmp_path), "--", "/nowhere/program", "-q", "--debug"]) != 0
    assert "/nowhere/program" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadbeat.base.model.published.entry_points", lambda **_: ())
    assert main(("contention", "--quick", "--executor", "freertos")) == 2
    assert capsys.readouterr().err == (
        "deadbeat: error: freertos: the package deadbeat-freertos is not installed"
        " (make setup-dev, or in a clone: pip install packages/freertos)\n"
    )


def test_a_word_that_is_gone_names_todays(capsys: pytest.CaptureFixture[str]) -> None:
    for words, today in (
        (("stress", "--quick"), "deadbeat stress is gone (today: deadbeat contention --random)"),
        (("tune", "list"), "deadbeat tune list is gone (today: deadbeat list knobs)"),
        (("contention", "--pool=full"), "--pool is gone (today: --set pool=VALUE)"),
        (("latency", "--campaign", "x"), "--campaign is gone (today: --file)"),
        (("predict", "r", "--matrix", "m"), "today: deadbeat predict RESULT"),
    ):
        assert main(words) == 2
        err = capsys.readouterr().err
        assert today in err and err.count("\n") == 1
