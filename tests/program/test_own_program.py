"""Truth: docs/howto/measure-your-own-program.md: its programs run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture, answer_of
from helpers.campaigns import started
from helpers.made_recordings import CALLS, Made
from helpers.processes import is_alive, until

import deadbeat
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.rules import RefusedError
from deadbeat.build.native import native_root
from deadbeat.cli.main import main
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.guarded import GuardedProgram
from deadbeat.machine.targets.marks import FIELDS, HEAD_BYTES, MarkedTask, Marks, create
from deadbeat.program.derive.quota import Quotas
from deadbeat.program.derive.records import Recording
from deadbeat.program.derive.tasks import DerivedSet, DerivedTask, Link
from deadbeat.program.run.begin import _comm
from deadbeat.program.run.graph import chain_graph
from deadbeat.program.run.kind import cases
from deadbeat.program.run.results import ProgramSummary, tasks_of
from deadbeat.program.run.spec import Deadlines, ProgramSpec
from deadbeat.program.run.traced import answer, lines, plain, require_named, traced, worst_jobs

PAGE = Path(__file__).parents[2] / "docs/howto/measure-your-own-program.md"
MS = 10**6


pytestmark = pytest.mark.usefixtures("in_a_folder")


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def compiled(tmp_path: Path, text: str, name: str = "control") -> str:
    source = tmp_path / f"{name}.c"
    source.write_text(text)
    include = native_root() / "runtime/include"
    strict = ("-O2", "-Wall", "-Wextra", "-Wshadow", "-Wmissing-prototypes", "-Werror")
    subprocess.run(["cc", *strict, f"-I{include}", source, "-o", tmp_path / name], check=True)
    return str(tmp_path / name)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_example_in_c_is_measured(tmp_path: Path, capsys: Capture) -> None:
    control = compiled(tmp_path, example("c"))
    assert main(("run", "--no-figures", "--json", "--", control)) == 0
    answer = answer_of(capsys.readouterr().out)
    assert {"another-run"} >= {each["id"] for each in answer["findings"]}  # tests beside this one
    assert answer["kind"] == "run" and "RLIMIT_RTTIME, us" in answer["allowed"]
    assert sum(row["jobs"] for row in answer["rows"]) == 500
    assert {(row["name"], row["period_ns"]) for row in answer["rows"]} == {("control", MS)}
    assert all(row["p50_ns"] <= row["p99_ns"] <= row["max_ns"] for row in answer["rows"])
    found = deadbeat.open("runs/control")
    assert found.columns["jobs"].sum() == 500
    assert main(("why", "control")) == 0
    assert re.search("control, job [0-9]|No job missed a deadline", capsys.readouterr().out)


def test_the_example_in_python_is_measured(tmp_path: Path, capsys: Capture) -> None:
    Path("loop.py").write_text(example("python"))
    assert main(("run", "--no-figures", "--json", "--", sys.executable, "loop.py")) == 0
    rows = answer_of(capsys.readouterr().out)["rows"]
    assert sum(row["jobs"] for row in rows) == 100
    assert {(row["name"], row["deadline_ns"]) for row in rows} == {("loop", 2 * MS)}


def test_marks_do_nothing_without_deadbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEADBEAT_MARKS", raising=False)

    @deadbeat.mark(3, period_ns=MS)
    def job() -> int:
        return 7

    assert job() == 7
    with pytest.raises(ValueError, match="0 to 62"):
        deadbeat.mark(63)


def made(*jobs: tuple[int, int, int], deadline_ns: int = 0) -> Marks:
    """Jobs as release, response time and CPU, in ms, of a task of 10 ms."""
    records = np.zeros(len(jobs), FIELDS)
    for record, (release, response, cpu) in zip(records, jobs, strict=True):
        record["release"] = record["start"] = release * MS
        record["finish"], record["cpu"] = (release + response) * MS, cpu
    task = MarkedTask(number=0, name="t", period_ns=10 * MS, deadline_ns=deadline_ns)
    return Marks(tasks=(task,), records=records, dropped=0)


def test_misses_and_skipped_releases_are_counted_by_hand() -> None:
    marks = made((10, 3, 0), (20, 11, 0), (50, 10, 1), (60, 4, 1))
    first, second = tasks_of(marks, ProgramSpec(command=("x",)))
    assert (first.cpu, first.response.total, first.misses, first.skipped) == (0, 2, 1, 0)
    assert (second.cpu, second.response.total, second.misses, second.skipped) == (1, 2, 0, 2)
    (first, _) = tasks_of(marks, ProgramSpec(command=("x",), deadline=(("", 2 * MS),)))
    assert (first.deadline_ns, first.misses) == (2 * MS, 2)
    (first, second) = tasks_of(marks, ProgramSpec(command=("x",), period=30 * MS))
    assert (first.misses, second.skipped) == (0, 0)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("run",), 2, "no program is named"),
        (("run", "--", "no-such-program"), 2, "no program no-such-program here"),
        (("run", "--set", "user=nosuch", "--", "true"), 2, "--user nosuch: nothing can be run as"),
        (("run", "--pid", "4194304"), 2, "no process 4194304 there"),
        (("run", "--", "false"), 1, "false ended with status 1, and no job was found"),
        (("run", "--duration", "0.1", "--", "sleep", "30"), 3, "DEADBEAT_RELEASE(0, 0)"),
        (("run", "--deadline", "0s", "--", "true"), 2, "--deadline"),
        (("run", "--", "sh", "-c", 'echo x > "$DEADBEAT_MARKS"'), 3, "marks in"),
        (("run", "--", "sh", "-c", 'rm "$DEADBEAT_MARKS"'), 3, "did the program remove it?"),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(
    words: tuple[str, ...], status: int, said: str, capsys: Capture
) -> None:
    assert main(words) == status
    err = capsys.readouterr().err
    assert said in err and "unexpected" not in err
    assert status != 2 or not Path("runs").exists()


def test_a_result_is_named_after_the_program(tmp_path: Path) -> None:
    Path("my loop.py").touch()
    for words, name in (
        (("chrt", "-f", "80", "my loop.py", "--fast"), "my-loop"),
        (("control", "x"), "control"),
        (("latest",), "program"),
    ):
        assert main(("run", "--simulated", "--no-figures", "--", *words)) == 0
        assert Path("runs", name, "program.json").is_file()


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("raise SystemExit(5)", 5, "with status 5"),
        ("import os; os.kill(os.getpid(), 7)", 135, "by signal SIGBUS, 100 jobs marked"),
        pytest.param(
            "import os, subprocess; p = os.getpid();"
            " subprocess.run(f'kill -STOP {p}; sleep 0.2; kill -CONT {p}', shell=True)",
            3,
            "the program was stopped, and went on (SIGCONT)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_program_that_fails_is_told(ending: str, status: int, said: str, capsys: Capture) -> None:
    """In the answer; what somebody stopped has no verdict."""
    Path("loop.py").write_text(f"{example('python')}{ending}\n")
    assert main(("run", "--no-figures", "--json", "--", sys.executable, "loop.py")) == status
    answer = answer_of(capsys.readouterr().out)
    assert any(said in found["message"] for found in answer["findings"])
    assert said.removeprefix("the ") in answer["headline"]
    assert ("missed their deadline" in answer["headline"]) == (status != 3)


@pytest.mark.usefixtures("in_a_folder")
def test_an_interrupt_of_the_program_alone_keeps_the_answer(capsys: Capture) -> None:
    """As Ctrl-C is where the program has the terminal."""
    text = (
        example("python")
        + "\nimport os, signal\nsignal.signal(2, signal.SIG_DFL)\nos.kill(os.getpid(), 2)"
    )
    assert main(["run", "--name", "stopped", "--", sys.executable, "-c", text]) == 130
    assert "100 jobs" in capsys.readouterr().out


def test_the_whole_group_ends(tmp_path: Path) -> None:
    """And what left it for a session of its own."""
    own = "sh -c 'echo $$ > apart; exec sleep 100'"
    program = GuardedProgram(("sh", "-c", f"sleep 100 & echo $! > child; setsid {own} & wait"))
    for name in ("child", "apart"):
        until(lambda name=name: Path(name).is_file() and Path(name).read_text())
    assert program.running()
    assert program.close() == -signal.SIGTERM
    assert not is_alive(int(Path("apart").read_text()))
    until(lambda: not is_alive(int(Path("child").read_text())))


def test_a_killed_deadbeat_leaves_nothing_behind(tmp_path: Path) -> None:
    script = (
        "trap '' TERM INT HUP; setsid sleep 100 & echo $$ $! $DEADBEAT_MARKS > told;"
        " while :; do sleep 0.1; done"
    )
    running = started("run", "--", "sh", "-c", script, stderr=subprocess.DEVNULL, stdout=None)
    try:
        until(lambda: Path("told").is_file() and Path("told").read_text().endswith("\n"))
    finally:
        running.kill()
        running.wait()
    process, apart, marks = Path("told").read_text().split()
    until(
        lambda: not is_alive(int(process)) and not is_alive(int(apart)) and not Path(marks).exists()
    )


def test_an_interrupt_keeps_what_was_marked(tmp_path: Path) -> None:
    endless = example("python").replace("range(100)", "iter(int, 1)")
    Path("loop.py").write_text(endless + "    open('marked', 'w')\n")
    script = f"{sys.executable} loop.py & wait"
    running = started("run", "--", "sh", "-c", script)
    until(lambda: Path("marked").is_file())
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=30)
    assert running.returncode == 128 + signal.SIGINT
    assert "jobs missed their deadline" in out and "Interrupted after" in out
    assert deadbeat.open("runs/sh").columns["jobs"].sum() > 0


def test_marks_have_all_their_room_or_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "marks"
    create(path, 1000)
    assert path.stat().st_blocks * 512 >= HEAD_BYTES + 1000 * 32
    path.unlink()

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DeadbeatError, match=r"No space left on device.*TMPDIR"):
        create(path, 1000)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("5ms", [("", 5 * MS)]), ("a=5ms, b=1s", [("a", 5 * MS), ("b", 1000 * MS)]), (None, [])],
)
def test_deadlines_are_of_all_tasks_or_by_name(text: str | None, pairs: list[Any]) -> None:
    rule = Deadlines()
    found = rule.parse(text)
    assert found == tuple(pairs) == rule.parse(rule.plain(found))
    spec = ProgramSpec(command=("x",), deadline=found)
    assert spec.deadline_of("a", 7) == dict(pairs).get("a", dict(pairs).get("", 7))


def test_two_deadlines_of_one_task_are_refused() -> None:
    with pytest.raises(RefusedError, match="two deadlines of a"):
        Deadlines().parse("a=1ms,a=2ms")


def test_a_program_keeps_its_input_and_output() -> None:
    Path("twice.py").write_text(f"import sys\nprint(2 * sys.stdin.read())\n{example('python')}")
    for words in ([], ["--json"]):
        command = [sys.executable, "-m", "deadbeat", "run", "--no-figures", "--fresh", *words]
        command += ["--", sys.executable, "twice.py"]
        ran = subprocess.run(command, input="so", capture_output=True, text=True, check=True)
        assert ("soso" in ran.stdout, "soso" in ran.stderr) == (not words, bool(words))


def recorded() -> Recording:
    """A job in four overruns."""
    made, ticks = Made(), [n * 10 * MS for n in range(1, 61)]
    facts = {"policy": "fifo", "priority": 80, "cpus": (1,)}
    work = [14 * MS if n % 4 == 0 else 3 * MS for n in range(60)]
    made.loop(made.thread("control", **facts), ticks, work)
    return made.recording()


def test_the_answer_names_the_thread_and_the_cause() -> None:
    found = traced(recorded(), {})
    first, why = answer(found)
    assert first.startswith(
        "control (FIFO 80, CPU 1, every 10 ms) missed 15 of 60 deadlines (none "
    )
    assert why.startswith("All 15 late jobs simply ran longer (own work): up to ")
    assert len(worst_jobs(found, 3)) == 3 and "control, job " in worst_jobs(found, 3)[0]
    assert plain(found, {})["tasks"][0]["c_max_ns"] == found.tasks[0].c_max_ns


def test_a_job_that_began_late_says_since_which() -> None:
    made, ticks = Made(), [n * 10 * MS for n in range(1, 61)]
    made.loop(made.thread("control"), ticks, [25 * MS if n % 6 == 0 else 3 * MS for n in range(60)])
    found = traced(made.recording(), {})
    assert {each.job - each.since for each in found.late} == {0, 1}
    (job,) = (each for each in found.late if each.job == 7)
    assert (job.since, job.cause, job.ns) == (6, "own work", pytest.approx(22 * MS, rel=0.01))
    assert any("; since job 6: own work 22 ms" in line for line in worst_jobs(found, 20))


def test_what_has_a_declared_deadline_is_answered_first() -> None:
    made = Made()
    for name, c in (("busy", 14 * MS), ("control", 6 * MS)):
        made.loop(made.thread(name), [n * 10 * MS for n in range(1, 61)], [MS, c] * 30)
    made.loop(made.thread("seldom"), [n * 90 * MS for n in range(1, 7)], [99 * MS] * 6)
    first = next(answer(traced(made.recording(), {"control": 5 * MS})))
    assert "control" in first and " missed 30 of 60 deadlines; " in first
    assert not any(task.misses for task in traced(made.recording(), {}).tasks[2:])


def test_the_cost_of_tracing_is_an_interval() -> None:
    for low in (0.0, 100.0):
        found = traced(evolve(recorded(), event_ns=(low, 1000.0)), {})
        assert found.cost and found.cost.job_ns["control"][1] == pytest.approx(5267, rel=0.02)
        assert any(line.startswith("Tracing cost at most 5.2") for line in lines(found))
    assert traced(recorded(), {}).cost is None


@pytest.mark.parametrize(
    ("links", "wanted"),
    [("ab bc ac", {"a": 0, "b": 1, "c": 2}), ("ac bc", {"a": 0, "b": 0, "c": 1})],
)
def test_chains_are_drawn_from_left_to_right(links: str, wanted: dict[str, int]) -> None:
    task = DerivedTask(name="", tid=1, kind="periodic", policy="fifo", priority=1, cpus=(0,))
    tasks = tuple(evolve(task, name=f"<{name}>") for name in "abcd")
    chains = tuple(Link(from_=f"<{a}>", to=f"<{b}>", share=0.5) for a, b in links.split())
    drawn = chain_graph(DerivedSet(tasks=tasks, locks=(), chains=chains))
    boxes = re.findall(r'<rect x="(\d+)" y="(\d+)".*?<text.*?>&lt;(.)&gt;</text>', drawn)
    assert {name: int(x) // 300 for x, _, name in boxes} == wanted
    assert len({(x, y) for x, y, _ in boxes}) == 3 and drawn.count(">50 %<title>") == len(chains)
    ring = (*chains, Link(from_="<c>", to="<a>", share=1.0))
    assert chain_graph(DerivedSet(tasks=tasks, locks=(), chains=ring)).count("<rect") == 3


def test_a_refused_policy_is_said() -> None:
    """EPERM of sched_setscheduler: of a limit or of a cgroup without real-time share (trap 17)."""
    made = Made()
    for name, ret in (("control", -1), ("logger", -22)):
        tid = made.thread(name)
        made.call(tid, 100, 200, (144, tid, 1), ret=ret)
        made.loop(tid, [n * 10 * MS for n in range(1, 61)], [MS] * 60)
    found = traced(made.recording(calls=CALLS | {144: "sched_setscheduler"}), {})
    assert found.refused == ("control",)
    assert next(lines(found)).startswith("the kernel refused control the policy asked for (EPERM)")
    limited = evolve(found, allowed={"RLIMIT_RTPRIO": "0", "CPUs": "0-1"})
    assert "(EPERM; RLIMIT_RTPRIO: 0): it ran" in next(lines(limited))


LIMITS = """\
Max realtime priority     20                   20
Max realtime timeout      200000               200000               us
Max locked memory         unlimited            unlimited            bytes
"""
STATUS = "Name:\ta\\nCapEff:\nCapEff:\t0000000000800000\nCpus_allowed_list:\t0-1\n"


def test_what_a_process_may_do_and_a_quota_that_it_is_moved_into() -> None:
    """A script that joins a group before it runs the program, as a container's runtime does."""
    group, counted = "/sys/fs/cgroup/case", "nr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
    target = FakeTarget(
        files={
            "/proc/7/limits": LIMITS,
            "/proc/7/status": STATUS,
            "/proc/7/cgroup": "0::/\n",
            "/sys/devices/system/cpu/isolated": "2-3\n",
            f"{group}/cpu.stat": counted.format(40, 30, 900),
            f"{group}/cpu.max": "12000 100000\n",
        }
    )
    quotas = Quotas(target)
    quotas.begin(7)
    target.files["/proc/7/cgroup"] = b"0::/case\n"
    quotas.look()
    target.files[f"{group}/cpu.stat"] = counted.format(50, 33, 350_900).encode()
    text = "its CPU quota of 12 ms in 100 ms held it back in 3 of 10 periods, 350 ms in all"
    assert list(quotas.finish()) == [f"{text} (control group case)"]
    assert quotas.allowed == {
        "RLIMIT_RTPRIO": "20",
        "RLIMIT_RTTIME, us": "200000",
        "RLIMIT_MEMLOCK, bytes": "unlimited",
        "RLIMIT_NOFILE": "unknown: /proc/7/limits has no line 'Max open files'",
        "capabilities": "without CAP_IPC_LOCK, CAP_SYS_RESOURCE",
        "CPUs": "0-1",
        "isolated CPUs": "2-3",
    }


def test_a_miss_that_was_seen_fails_what_is_to_fail_on_misses() -> None:
    spec, seen = ProgramSpec(command=("x",)), traced(recorded(), {})
    found = ProgramSummary(
        name="x", spec=spec, done=1, seconds=1.0, labels=(), findings=(), cells=(), traced=seen
    )
    assert [(case.verdict, case.weight) for case in cases(found)] == [("failed", 15)]


def test_a_deadline_of_no_thread_is_refused_with_the_names() -> None:
    found = traced(recorded(), {"control": 20 * MS})
    assert not found.misses

    def asked(*names: str) -> ProgramSpec:
        deadlines = tuple((name, 20 * MS) for name in names)
        return ProgramSpec(name="x", command=("x",), deadline=deadlines)

    require_named(found, asked("control", "marked", ""), ["marked"])
    with pytest.raises(UsageError, match="contrl: no thread has this name") as caught:
        require_named(found, asked("contrl"), ["marked"])
    assert caught.value.hint == "the run is kept; the threads are control, marked"


def test_a_thread_of_the_kernel_is_no_program() -> None:
    stat = {"/proc/2/stat": f"2 (kthreadd) S 0 0 0 0 -1 2129984{' 0' * 8}"}
    with pytest.raises(UsageError, match=r"2 is a thread of the kernel \(kthreadd\)"):
        _comm(2, FakeTarget(files=stat))


#: Twenty naps, and a policy that is asked for.
NAPS = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    struct sched_param how = {.sched_priority = 5};
    struct timespec nap = {0, 5000000};
    if (getenv("ASKS"))
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &how);
    for (int i = 0; i < 20; i++)
        nanosleep(&nap, NULL);
    return 0;
}
"""


UNSEEN = {
    "it is static": (("-static",), ()),
    "the shim stays out beside a sanitizer": (("-fsanitize=address",), ()),
    "It took no lock of pthread or C11": ((), ()),
    "runs with other rights (set-user-id, sudo)": ((), ()),
    "The kernel refused naps the policy": ((), ("setpriv", "--bounding-set=-sys_nice")),
}


@pytest.mark.hardware
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("said", UNSEEN)
def test_what_is_not_seen_is_said(
    said: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (flags, before), source, naps = UNSEEN[said], tmp_path / "naps.c", tmp_path / "naps"
    source.write_text(NAPS)
    subprocess.run(["cc", *flags, "-pthread", source, "-o", naps], check=True)
    if "set-user-id" in said:
        os.chown(naps, 65534, -1)
        naps.chmod(0o4755)
    if before:
        monkeypatch.setenv("ASKS", "1")
    assert main(("run", "--no-figures", "--fresh", "--", *before, str(naps))) == 0
    assert said in capsys.readouterr().out
