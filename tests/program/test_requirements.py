"""Truth: programs with known shares of late jobs, drawn here; and what the command says of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.answers import Capture
from helpers.programs import ROOT, command_of
from test_injected_causes import tracefs  # noqa: F401 - a fixture

from deadbeat.base.stats.sequential import Bursts
from deadbeat.cli.main import main
from deadbeat.program.run.attempts import read_facts
from deadbeat.program.run.required import CountedRun, Earlier, Required, ahead, judged
from deadbeat.program.run.requirement import Requirement

SHARE = 0.001
WANTED = Requirement(id="R-1", thread="control", within=10**6, share=1 - SHARE)


def drawn(
    rng: np.random.Generator, jobs: int, share: float, mean: float
) -> list[tuple[float, int]]:
    """Begins and sizes of bursts, geometric, so that ``share`` of jobs is late."""
    found, at = [], rng.exponential(mean / share - mean)
    while at < jobs:
        found.append((at, int(rng.geometric(1 / mean))))
        at += found[-1][1] + rng.exponential(mean / share - mean)
    return found


def known_bursts(weight: int, number: int) -> Bursts:
    """From before."""
    return Bursts.of([weight] * number)


def looked_at(
    bursts: list[tuple[float, int]], jobs: int, looks: int, known: Earlier
) -> tuple[Required, int]:
    """The verdict as soon as there is one, and after how many jobs."""
    runs: list[list[CountedRun]] = []
    for look in range(looks):
        first, last = jobs * look // looks, jobs * (look + 1) // looks
        mine = tuple(size for at, size in bursts if first <= at < last)
        run = CountedRun(id="R-1", jobs=last - first, bursts=Bursts.of(mine), seconds=1.0)
        runs.append([run])
        (found,) = judged([WANTED], runs, {"R-1": known})
        if not found.open:
            break
    return found, last


@pytest.mark.statistical
@pytest.mark.parametrize("known", [False, True], ids=["assumed", "history"])
@pytest.mark.parametrize("times", [1, 3, 10])
@pytest.mark.parametrize("mean", [1, 3, 10])
def test_a_program_at_its_limit_does_not_pass(mean: int, times: int, known: bool) -> None:
    """However often it is looked at: 1,000 programs, ten looks each."""
    rng = np.random.default_rng([mean, times, known])
    before = Earlier(known=known_bursts(2 * mean - 1, 100)) if known else Earlier()
    jobs = round(times * 3 / SHARE)
    found = [looked_at(drawn(rng, jobs, SHARE, mean), jobs, 10, before)[0] for _ in range(1000)]
    passed = sum(each.verdict == "passed" for each in found)
    assert passed <= (20 if known else 50)
    assert all(each.verdict != "passed" for each in found if each.at_most > SHARE)  # type: ignore[operator]


@pytest.mark.statistical
@pytest.mark.parametrize("mean", [1, 3, 10])
def test_it_is_decided_in_the_time_that_was_said(mean: int) -> None:
    """With half of the late jobs that are allowed; half of the programs within 30 % of it."""
    rng = np.random.default_rng(mean)
    before = Earlier(known=known_bursts(2 * mean - 1, 100), rate=1000.0)
    text = ahead(WANTED, before)
    said = text.partition("is late, ")[2].partition(" at half")[0]
    minutes = sum(
        int(number) * {"h": 60, "min": 1, "s": 1 / 60}[unit]
        for number, unit in zip(said.split()[::2], said.split()[1::2], strict=True)
    )
    jobs, took = round(minutes * 60_000 * 4), []
    for _ in range(200):
        found, after = looked_at(drawn(rng, jobs, SHARE / 2, mean), jobs, 100, before)
        took.append(after)
        assert found.verdict != "failed"
    assert 0.7 < np.median(took) / (minutes * 60_000) < 1.3


FILE = """
[program]
command = ["/bin/true"]
name = "made"

[requirement.R-1]
thread = "made up"
within = "500us"
share = 0.9

[requirement."SYS/2"]
thread = "made up"
within = "300us"
share = 0.999

[requirement.R-3]
thread = "made up"
within = "2ms"

[requirement.R-4]
thread = "mode up"
within = "2ms"
share = 0.5
"""


def asked(folder: Path, *words: str, file: str = FILE) -> int:
    (folder / "deadbeat.toml").write_text(file)
    runs = ("--runs", str(folder / "runs"))
    return main(("run", "--simulated", "--file", str(folder / "deadbeat.toml"), *runs, *words))


def test_each_is_passed_failed_or_undecided(tmp_path: Path, capsys: Capture) -> None:
    junit = tmp_path / "it.xml"
    assert asked(tmp_path, "--fail-on", "requirement", "--junit", str(junit)) == 1
    seen = capsys.readouterr()
    assert "SYS/2 failed: made up within 300 µs in 99.9 % of jobs" in seen.out
    assert "R-3 undecided" in seen.out and "no test proves it" in seen.out
    assert "there is no thread mode up with jobs (made up)" in seen.out
    assert "Passed: R-1." in seen.out and "weight 12, assumed" in seen.out
    assert "R-1 (made up within 500 µs in 90 % of jobs) takes 416 jobs if no job" in seen.err
    text = junit.read_text()
    assert 'name="SYS/2" classname="deadbeat.program.requirement"' in text
    assert text.count("<failure") == 1


def test_undecided_is_no_pass(tmp_path: Path) -> None:
    only = FILE[: FILE.index('[requirement."SYS')] + FILE[FILE.index("[requirement.R-4") :]
    assert asked(tmp_path, "--fail-on", "requirement", file=only) == 3


def test_a_repetition_is_judged_with_what_came_before(tmp_path: Path, capsys: Capture) -> None:
    for _ in range(3):
        asked(tmp_path, "--fresh")
    assert "in 3 attempts" in capsys.readouterr().out
    asked(tmp_path, "--fresh", "--json", file=FILE.replace("300us", "301us"))
    answer = json.loads(capsys.readouterr().out)["results"]["requirements"]
    assert [each["attempts"] for each in answer] == [4, 4, 4, 1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("within", "withn"), "requirement.R-1.withn: unknown key (did you mean within?)"),
        (('"500us"', '"500"'), "requirement.R-1.within: "),
        (("share = 0.9\n", "share = 1\n"), "requirement.R-1.share: 1 is no share of jobs"),
        (('thread = "made up"', 'rules = ["page-falt"]'), "page-falt"),
        (("[program]", "[program]\ncomand = 1"), "comand"),
    ],
)
def test_a_wrong_file_is_one_line(
    wrong: tuple[str, str], said: str, tmp_path: Path, capsys: Capture
) -> None:
    assert asked(tmp_path, file=FILE.replace(*wrong, 1)) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


#: A question, and what answers it from the folder.
QUESTIONS = """
grep -q '^program.true: [0-9a-f]\\{64\\}$' facts.txt
grep -q '^machine.kernel: ' facts.txt
grep -q '^tool.sha256: [0-9a-f]\\{64\\}$' facts.txt
grep -q '^R-1.jobs: 2000$' requirements.txt
grep -q '^R-1.late: 30$' requirements.txt
grep -q '^R-1.bursts: 30$' requirements.txt
grep -q '^R-1.at_most: 0.0' requirements.txt && grep -q '^R-1.confidence: 95 %' requirements.txt
grep -q '^not shown: SYS/2: ' not-covered.txt
grep -q '^# deadbeat run --file repeat.toml --fail-on requirement$' repeat.toml
grep -q '^changed: ' facts.txt
sha256sum --check --quiet manifest.sha256
"""


def bundled(folder: Path, name: str) -> Path:
    runs, out = str(folder / "runs"), folder / name
    assert main(("export", "made", "--runs", runs, "--as", "evidence", "--out", str(out))) == 0
    return out


def files_in(folder: Path) -> dict[str, bytes]:
    every = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in every}


def checked(folder: Path) -> bool:
    words = ["sha256sum", "--check", "--status", "manifest.sha256"]
    return subprocess.run(words, cwd=folder, check=False).returncode == 0


def test_an_assessor_needs_the_folder_alone(tmp_path: Path) -> None:
    asked(tmp_path)
    out = bundled(tmp_path, "evidence")
    for question in filter(None, QUESTIONS.splitlines()):
        assert subprocess.run(question, shell=True, cwd=out, check=False).returncode == 0, question
    assert files_in(out) == files_in(bundled(tmp_path, "again"))
    statement = json.loads((out / "statement.json").read_text())
    assert statement["predicate"]["result"] == "FAILED"
    assert statement["predicate"]["passedTests"] == ["R-1"]
    for text in ("facts.txt", "requirements.txt", "not-covered.txt"):
        assert "SIMULATED" in (out / text).read_text()
    rng = np.random.default_rng(1)
    for name, data in files_in(out).items():
        if name != "manifest.sha256" and data:
            at = int(rng.integers(len(data)))
            (out / name).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert not checked(out)
            (out / name).write_bytes(data)
    assert checked(out)


def test_it_is_measured_again_by_its_own_file(tmp_path: Path, capsys: Capture) -> None:
    asked(tmp_path)
    file = bundled(tmp_path, "evidence") / "repeat.toml"
    capsys.readouterr()
    runs = ("--runs", str(tmp_path / "other"))
    main(("run", "--simulated", "--file", str(file), *runs, "--json"))
    answer = json.loads(capsys.readouterr().out)["results"]["requirements"]
    assert [each["verdict"] for each in answer] == ["passed", "undecided", "undecided", "failed"]


def test_what_was_rebuilt_is_not_continued(tmp_path: Path, capsys: Capture) -> None:
    """Half of the runs of one program, and half of another, would be of neither."""
    program, runs = tmp_path / "made", tmp_path / "runs"
    words = ["run", "--simulated", "--repeats", "2", "--runs", str(runs), "--", str(program)]
    for text in ("exit 0", "exit 1", "exit 0"):
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        status = main(words)
        error = capsys.readouterr().err
        assert ("was begun with another made (" in error) is (text == "exit 1")
        assert status == (2 if text == "exit 1" else 0)
        max((runs / "made/runs").glob("*.json")).unlink(missing_ok=True)


def test_without_a_requirement_nothing_is_passed(tmp_path: Path, capsys: Capture) -> None:
    only = FILE[: FILE.index("[requirement.R-1]")]
    assert asked(tmp_path, "--fail-on", "requirement", file=only) == 3
    assert "there is none" in capsys.readouterr().err


def test_the_time_until_it_fails_is_said(tmp_path: Path) -> None:
    """At twice what is allowed; and it is true."""
    run = CountedRun(id="R-1", jobs=1000, bursts=Bursts.of([3] * 8), seconds=1.0)
    known = {"R-1": Earlier(known=known_bursts(12, 10_000))}
    wanted = Requirement(id="R-1", thread="control", within=1, share=0.99)
    runs = [[run]]
    (found,) = judged([wanted], runs, known)
    assert found.needed_s
    while found.open:
        runs.append([run])
        (found,) = judged([wanted], runs, known)
        assert len(runs) < 1000
    (first,) = judged([wanted], runs[:1], known)
    assert first.needed_s is not None
    assert found.verdict == "failed" and abs(first.needed_s - (len(runs) - 1)) <= 1


def test_what_earlier_attempts_showed_is_no_rate_of_this_one() -> None:
    """Runs go on as long, whatever came before."""
    runs = [[CountedRun(id="R-1", jobs=1000, seconds=1.0)]]
    first, again = (
        judged([WANTED], runs, {"R-1": Earlier(jobs=jobs, known=known_bursts(12, 10_000))})[0]
        for jobs in (0, 9000)
    )
    assert first.open and again.open
    assert first.half_s == again.half_s > 300


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_what_crashes_does_not_pass(tmp_path: Path, capsys: Capture) -> None:
    """Through a symbolic link; nor what a run that was broken off did not show."""
    script = tmp_path / "crash.sh"
    script.write_text("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done; kill -SEGV $$\n")
    (tmp_path / "shell").symlink_to("/bin/sh")
    words = json.dumps([str(tmp_path / "shell"), str(script)])
    table = '[requirement.R-1]\nthread = "shell"\nwithin = "1s"\nshare = 0.1\n'
    (tmp_path / "deadbeat.toml").write_text(f"[program]\ncommand = {words}\n{table}")
    runs = ("--runs", str(tmp_path / "runs"), "--file", str(tmp_path / "deadbeat.toml"))
    assert main(("run", *runs, "--fail-on", "requirement", "--set", "repeats=1")) == 3
    assert "R-1 undecided" in (said := capsys.readouterr().out)
    assert "the program ended by signal SIGSEGV" in said
    log = tmp_path / "runs/.requirements.jsonl"
    first = log.read_text().splitlines()[0]
    with log.open("a") as stream:
        stream.write(f"{first}\n")
    main(("run", *runs, "--set", "repeats=1", "--fresh"))
    assert "in 2 attempts, beside 1 run broken off" in capsys.readouterr().out


def test_what_was_made_up_has_no_passed_statement(tmp_path: Path) -> None:
    asked(tmp_path, file=FILE[: FILE.index('[requirement."SYS')])
    statement = json.loads((bundled(tmp_path, "evidence") / "statement.json").read_text())
    assert statement["predicate"]["passedTests"] == ["R-1"]
    assert statement["predicate"]["result"] == "WARNED"


def test_what_lost_events_cannot_be_read_as_complete(tmp_path: Path) -> None:
    only = FILE[: FILE.index('[requirement."SYS')]
    asked(tmp_path, file=only)
    run = tmp_path / "runs/made/runs/0001.json"
    plain: Any = json.loads(run.read_text())
    lost = {"name": "marks-dropped", "seriousness": "warning", "text": "7 jobs are not recorded"}
    plain["run"]["problems"] = [lost]
    run.write_text(json.dumps(plain))
    out = bundled(tmp_path, "evidence")
    assert "complete: no: 7 jobs are not recorded\n" in (out / "facts.txt").read_text()
    assert "incomplete: 7 jobs" in (out / "not-covered.txt").read_text()
    assert json.loads((out / "statement.json").read_text())["predicate"]["result"] == "WARNED"


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_a_program_is_run_until_it_is_decided(tmp_path: Path, capsys: Capture) -> None:
    """Each third of a second a job of 10 ms takes 20 and more: 3 % at least, 10 % at most."""
    program = command_of(ROOT / "tests/programs/late/for_days.c", tmp_path)
    wanted = {"R-1": 0.5, "R-2": 0.999}
    tables = [
        f'[requirement.{id}]\nthread = "control"\nwithin = "10ms"\nshare = {share}\n'
        for id, share in wanted.items()
    ]
    words = json.dumps([str(program[0]), "60", "400", "10000"])
    head = f'[program]\nduration = "3s"\nbuild = "true"\ncommand = {words}\n'
    (tmp_path / "deadbeat.toml").write_text(head + "".join(tables))
    runs = ("--runs", str(tmp_path / "runs"), "--file", str(tmp_path / "deadbeat.toml"))
    main(("run", *runs, "--json", "--time-budget", "60s"))
    answer = json.loads(capsys.readouterr().out)["results"]
    first, second = answer["requirements"]
    assert (first["verdict"], second["verdict"]) == ("passed", "failed"), (first, second)
    assert first["jobs"] >= 100 and first["late"] >= 5


FICKLE = """
[requirement.R-1]
thread = "control"
within = "4s"
share = 0.99

[requirement.R-2]
thread = "control"
within = "4s"
"""


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
@pytest.mark.parametrize(
    ("modes", "said"),
    [
        ("fifo", "99 % of jobs: 0 of 798 jobs late"),
        ("fifo none", "99 % of jobs: there is no thread control with jobs"),
        ("skip", " of them releases without a job)"),
        ("hang", "99 % of jobs: control ended no job in the last"),
        ("end", "99 % of jobs: control ended no job in the last"),
    ],
)
def test_a_thread_that_goes_is_no_pass(
    modes: str, said: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out = fickle(modes, tmp_path, capsys, monkeypatch)
    assert said in out and status == (1 if modes == "skip" else 3)


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
@pytest.mark.parametrize("mode", ["hang", "end"])
def test_a_job_that_may_hang_is_undecided(
    mode: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = command_of(ROOT / "tests/programs/late/fickle.c", tmp_path)
    (tmp_path / "modes").write_text(f"{mode}\n")
    status = main(("run", "--deadline", "0.8s", "--fail-on", "misses", "--", *program))
    out = capsys.readouterr().out
    assert "signal" not in out  # its threads end with the program
    said = "(it was in pause): if a job hangs, it is not counted" in out
    assert (said, status) == ((True, 3) if mode == "hang" else (False, 0))


ALWAYS_LATE = """#include <time.h>
int main(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (;; at.tv_nsec++) { /* it never sleeps again: as late as it is, and more */
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        for (volatile int i = 0; i < 300000; i++)
            ;
    }
}
"""


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
def test_a_thread_that_never_blocks_is_no_crash(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.c").write_text(ALWAYS_LATE)
    with subprocess.Popen(command_of(tmp_path / "late.c", tmp_path)) as program:
        try:
            status = main(("run", "--pid", str(program.pid), "--duration", "1s"))
        finally:
            program.kill()
    assert "defect" not in capsys.readouterr().err and status in (0, 3)


MARKED = """
import deadbeat, time
for job in range(300):
    with deadbeat.mark(0, "control", period_ns=5_000_000):
        pass
    time.sleep(0.005 if job % 10 else 0.012)
"""


def test_a_marked_release_without_a_job_is_late(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "marked.py").write_text(MARKED)
    words = json.dumps([sys.executable, "marked.py"])
    head = f"[program]\nrepeats = 2\ncommand = {words}\n"
    (tmp_path / "deadbeat.toml").write_text(head + FICKLE)
    main(("run", "--file", "deadbeat.toml", "--fail-on", "requirement"))
    out = capsys.readouterr().out
    assert "R-1 failed" in out and " of them releases without a job)" in out


def test_what_was_not_proved_once_is_not(tmp_path: Path) -> None:
    """Of the same program, which is not run again until a test takes it."""
    only = FILE[: FILE.index("[requirement.R-1]")] + FILE[FILE.index("[requirement.R-3") :]
    for _ in range(2):
        asked(tmp_path, "--fresh", file=only)
    head = json.loads((tmp_path / "runs/made-2/program.json").read_text())
    _, before = read_facts(head)
    assert before["R-3"].unproved.startswith("no test proves it")
    wanted = Requirement(id="R-3", thread="made up", within=2 * 10**6)
    runs = [[CountedRun(id="R-3", jobs=1000, proof="a test")]]
    first, again = (judged([wanted], runs, known)[0] for known in ({}, before))
    assert (first.verdict, again.verdict) == ("passed", "undecided")
    assert "in an earlier attempt no test proves it" in again.why


def fickle(
    modes: str, folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """Two runs; status, and what is said."""
    monkeypatch.chdir(folder)
    program = command_of(ROOT / "tests/programs/late/fickle.c", folder)
    (folder / "modes").write_text(f"{modes}\n")
    head = f'[program]\nduration = "3s"\nrepeats = 2\ncommand = {json.dumps(program)}\n'
    (folder / "deadbeat.toml").write_text(head + FICKLE)
    capsys.readouterr()
    status = main(("run", "--file", "deadbeat.toml", "--fresh", "--fail-on", "requirement"))
    return status, capsys.readouterr().out
