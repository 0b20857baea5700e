"""Truth: recordings of programs that counted themselves (tests/golden/strangers), as the text that
others would have recorded."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from attrs import evolve
from helpers.answers import Capture, answer_of
from helpers.traced_binary import told, with_ros2, write_ctf, write_perfetto
from helpers.traced_text import stranger, written

import deadbeat
from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.machine.targets import bounded
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.results import FIRST, FOLDERS, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import traced

PUBLIC = Path(__file__).parents[1] / "pools/traces"

#: As `test_strangers` has them; locks go by their addresses.
ANSWERS = {
    "shared_mutex": ("missed 157 of 399 deadlines", "All 157 late jobs waited for futex of"),
    "until": ("missed 216 of 499 deadlines", "All 216 late jobs waited for 0x556b7d760100, which"),
    "always": ("missed 799 of 799 deadlines (none given: its 1 ms period)", "simply ran"),
    "eventloop": ("of 299 deadlines", "periodic  10 ms"),
    "parking": ("missed 2 of 799", "All 2 late jobs waited for parking lock, which map held"),
    "exec": ("missed 1 of 199", "exe#1   periodic   5 ms"),
    "causes": ("missed 32 of 599 deadlines", "12 waited for 0x5632e3ce3080, which inv#5 held"),
    "pingpong": ("   365",),
    "sync": ("missed 13 of 99 deadlines", "12 waited in fsync of 3"),
    "itimer": ("every 5 ms) missed 21 of 399 deadlines",),
    "sigev": ("2.08/2.18 ms",),
    "skips": ("missed 10 of 99 deadlines", "skipped 10 releases", "6.23/15.5 ms"),
    "ltfd": ("missed 16 of 544 deadlines", "skipped 55 releases, or served them late"),
    "cause": ("missed 46 of 599", "22 preempted by hog", "13 waited for 0x5559c3af5500, which"),
}

#: All but switches and wake-ups.
EVENTS = (
    *("sys", "sched_stat_runtime", "hrtimer_start", "rss_stat", "page_fault_user"),
    *("sched_process_exit", "sched_process_fork", "sched_pi_setprio", "sched_migrate_task"),
    *("softirq_entry", "softirq_exit", "irq_handler_entry", "irq_handler_exit"),
    *("local_timer_entry", "local_timer_exit", "reschedule_entry", "reschedule_exit"),
)


def trace_of(name: str, *without: str, **how: int | bool) -> tuple[str, str]:
    """The file of a stranger's text, and its threads."""
    recording = stranger(name)
    Path("trace.txt").write_text(written(recording, without, **how))
    return "trace.txt", ",".join(str(each.tid) for each in recording.threads)


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("name", ANSWERS)
def test_text_says_what_strangers_count_themselves(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, threads = trace_of(name, pids=True)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(("import", file, "--process", threads)) == 0
    out = capsys.readouterr().out
    assert [text for text in ANSWERS[name] if text not in out] == [], out
    assert "Recorded elsewhere: " in out and "Not seen: times finer than 1 µs" in out


@pytest.mark.usefixtures("in_a_folder")
def test_every_verb_takes_a_trace(capsys: Capture) -> None:
    """Of the names and processes in it: the urgent one's, by itself."""
    file, _ = trace_of("until", pids=True)
    assert main(("import", file, "--deadline", "control=4ms", "--name", "board")) == 0
    assert main(("import", file, "--deadline", "control=4ms")) == 0
    for words in (
        ("show", "board"),
        ("why", "board"),
        ("page", "board"),
        ("compare", "board", "trace"),
        ("predict", "board", "--cores", "2"),
        ("export", "board", "--as", "csv", "--out", "csv"),
        ("export", "board", "--as", "perfetto", "--out", "perfetto.json"),
        ("export", "board", "--as", "task-system", "--out", "tasks.toml"),
    ):
        capsys.readouterr()
        assert main(words) == 0, words
    page = Path("runs/board/report.html").read_text()
    assert "recorded elsewhere" in page.lower() and "trace.txt" in page
    jobs = deadbeat.open("runs/board").table("jobs")
    assert jobs["late"][jobs["thread"] == "control"].sum() == 216
    assert main(("import", file, "--name", "board")) == 2
    assert "runs/board is there" in capsys.readouterr().err
    assert main(("import", file, "--name", "board", "--fresh", "--process", "until", "--json")) == 0
    told = answer_of(capsys.readouterr().out)
    assert {each["name"] for each in told["tasks"] if each["jobs"]} == {"control", "logger"}
    assert told["labels"] == ["recorded elsewhere"]


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("without", "says"),
    [
        (("sys",), "Not seen: system calls: jobs go by wake-ups"),
        (("sched_stat_runtime",), "Not seen: charges: what a hypervisor"),
        (("hrtimer_start",), "Not seen: timers of sleeps"),
        (EVENTS, "Not seen: system calls: jobs go by wake-ups"),
    ],
)
def test_what_a_trace_lacks_is_said(without: tuple[str, ...], says: str, capsys: Capture) -> None:
    file, threads = trace_of("cause", *without)
    assert main(("import", file, "--process", threads, "--json")) == 0
    told = answer_of(capsys.readouterr().out)
    control = next(each for each in told["tasks"] if each["name"] == "control")
    assert control["period_ns"] == pytest.approx(5_000_000, rel=1e-4)
    assert says in told["headline"] and control["misses"] == 46
    causes = {each["by"]: each["misses"] for each in told["causes"] if each["task"] == "control"}
    assert causes["hog"] == 22 and sorted(causes.values()) == [11, 13, 22]


@pytest.mark.usefixtures("in_a_folder")
def test_what_is_no_trace_or_has_not_what_is_asked(capsys: Capture) -> None:
    file, _ = trace_of("until", pids=True)
    lines = Path(file).read_text().splitlines()
    Path("switches.txt").write_text("\n".join(each for each in lines if "sched_switch" in each))
    Path("calls.txt").write_text("\n".join(each for each in lines if "sys_" in each))
    Path("clocks.txt").write_text("\n".join([*lines[2000:], *lines[:2000]]))
    Path("plain.txt").write_text(Path(file).read_text().replace("=19 ", "=120 "))
    Path("line").write_bytes(b"x" * (1 << 22))
    for words, status, text in (
        (("switches.txt",), 3, "it has no wake-up of a thread: no job can be told"),
        (("calls.txt",), 3, "it has no switch of a thread: no job can be told"),
        (("clocks.txt",), 3, "its times go back"),
        (("plain.txt",), 2, "none of its programs has a real-time priority (--process: "),
        (("line",), 2, "of traces: CTF, perf.data, Perfetto, text of events, trace.dat"),
        (("gone", "--process", "x"), 3, "cannot read result gone: No such file"),
        ((file, "--process", "nobody"), 2, "--process nobody: it has no such thread"),
        ((file, "--deadline", "nobody=1ms"), 2, "--deadline nobody: no thread has this name"),
        ((file, "--load", "idle"), 2, "--load is not of a trace (trace.txt)"),
        ((file, "calls.txt"), 2, "trace.txt is a trace (import one at a time)"),
        (("line", "--process", "x"), 2, "--process is of traces: line is no trace that is known"),
    ):
        assert main(("import", *words)) == status, words
        err = capsys.readouterr().err
        assert text in err and err.count("\n") == 1, err
    assert not Path("runs").exists()


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("through", ["stdin", "-", "fifo"])
def test_a_trace_comes_through_a_pipe(
    through: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, threads = trace_of("cause", pids=True)
    data, options = Path(file).read_bytes(), ("--deadline", "control=5ms", "--process")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    if through == "fifo":
        os.mkfifo("fifo")
        Thread(target=Path("fifo").write_bytes, args=(data,), daemon=True).start()
    word = (through,) * (through != "stdin")
    assert main(("import", *word, *options, threads, "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    control = next(each for each in found["tasks"] if each["name"] == "control")
    assert (control["misses"], control["jobs"]) == (46, 599) and Path("runs/trace").is_dir()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(("import", *options, "nobody")) == 2
    assert "standard input (text of events): --process nobody: it has" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"nothing")))
    assert main(("import", "--deadline", "1ms")) == 2
    assert "standard input is no trace that is known" in capsys.readouterr().err


@pytest.mark.usefixtures("in_a_folder")
def test_what_a_trace_does_not_show_is_no_zero(capsys: Capture) -> None:
    """Sections of locks; who held one uses it, and a rule that is broken was judged."""
    file, threads = trace_of("cause", pids=True)
    assert main(("import", file, "--process", threads, "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    held = {each["waited"][0]["holder"]: each for each in found["locks"]}
    assert held.keys() == {"logger", "mapper"}
    for holder, lock in held.items():
        assert (lock["longest_ns"], lock["count"]) == (None, None)
        assert {"control", holder} == {*lock["users"]}
    assert not {*found["rules_judged"]} & {*found["rules_not_seen"]}
    assert {row["rule"] for row in found["rules"]} <= {*found["rules_judged"]}
    page = Path("runs/trace/report.html").read_text()
    assert "of locks, waits alone" in page and "preloaded library" not in page


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        ("", 0, "in it\n"),
        ("", 3, "in it: status 3\n"),
        ("one\nincompatible file (rerun with -v to learn more)\n", 1, "in it: incompatible file\n"),
        ("an Error of it\nat=1\n", 1, "in it: an Error of it\n"),
        ("1-1 1:1 1 1 W A b@c:1 [N/A] x: y=1\n1-1 1:1 1 1 E A b@c:1 [N/A] No good: y=2, z=3\nz=4\n",
         1, "in it: No good\n"),
    ],
)  # fmt: skip
def test_the_reason_of_another_program_is_its_error(
    said: str, status: int, why: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("said").write_text(said)
    Path("trace-cmd").write_text(f"#!/bin/sh\ncat '{Path('said').resolve()}' >&2\nexit {status}\n")
    Path("trace-cmd").chmod(0o755)
    path = f"{Path.cwd()}:{os.environ['PATH']}"
    monkeypatch.setattr(bounded, "_PATH", path)
    monkeypatch.setitem(bounded._ENVIRONMENT, "PATH", path)
    Path("file").write_bytes(b"\x17\x08\x44tracing6\0")
    assert main(("import", "file")) == 3
    assert f"trace-cmd finds no event {why}" in capsys.readouterr().err


@pytest.mark.usefixtures("in_a_folder")
def test_what_a_trace_cannot_show_was_not_lost(capsys: Capture) -> None:
    """Sections of locks, seen in a run alone; an import is made again by another recording."""
    recording = stranger("cause")
    spec = FOLDERS.plain(ProgramSpec(name="own", command=("x",)))
    store = ProgramStore.create(Path("runs/own"), spec, evolve(example_platform(), kind="hardware"))
    seen = traced(recording, {})
    store.keep(ProgramRun(key=FIRST, started="", seconds=3.0, status=0, tasks=(), traced=seen))
    file, threads = trace_of("cause", pids=True)
    for name in ("tr", "again", "other"):
        assert main(("import", file, "--process", threads, "--name", name)) == 0
    assert any(task.sections for task in seen.known)
    for sides in (("tr", "own"), ("own", "tr"), ("tr", "other", "--aa", "again")):
        capsys.readouterr()
        assert main(("compare", *sides, "--all")) == 0
        out = capsys.readouterr().out
        assert "lost" not in out and "no result in" not in out and "section" not in out
        assert "mean C" in out and "--duration" not in out
    assert "record longer, import it again" in out


def lost(share: float) -> Callable[[list[str]], list[str]]:
    """Lines lost without a word."""
    draw = Random(str(share))
    return lambda lines: [line for line in lines if draw.random() > share]


def later(lines: list[str]) -> list[str]:
    """By a clock that was set 123.4 s later, and gains 20 us a second: not that of timers."""

    def shifted(found: re.Match[str]) -> str:
        us = int(found[1] + found[2])
        us += 123_400_000 + us // 50_000
        return f" {us // 10**6}.{us % 10**6:06d}: "

    return [re.sub(r" (\d+)\.(\d{6}): ", shifted, line) for line in lines]


#: What happened to a trace, and what is said of it.
HURT: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "1 % lost": (lost(0.01), "events were lost, and "),
    "10 % lost": (lost(0.1), "events were lost, and "),
    "a CPU's lost": (lambda lines: [*lines[:3000], "CPU:0 [LOST 99 EVENTS]", *lines[3400:]],
                     "events were lost, and "),
    "two clocks": (later, "timers of sleeps but by the wake-ups"),
    "a part": (lambda lines: lines[2000:7000], "Not seen: "),
    "hostile names": (lambda lines: [each.replace("hog", "h-1 [000] 1.0:") for each in lines],
                      "preempted by h-1 [000] 1.0:"),
}  # fmt: skip


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("how", HURT)
def test_what_a_trace_has_lost_is_not_invented(how: str, capsys: Capture) -> None:
    """ "46 late", of 599: fewer, where jobs are left out; the period stays."""
    hurt, says = HURT[how]
    file, threads = trace_of("cause", pids=True)
    Path(file).write_text("\n".join(hurt(Path(file).read_text().splitlines())))
    assert main(("import", file, "--process", threads, "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    control = next(each for each in found["tasks"] if each["name"] == "control")
    assert control["period_ns"] == pytest.approx(5_000_000, rel=1e-4)
    assert 0.3 * 46 * control["jobs"] / 599 <= control["misses"] <= 46 and says in found["headline"]


@pytest.mark.usefixtures("in_a_folder")
def test_no_damage_to_a_text_ends_in_a_defect(capsys: Capture) -> None:
    file, threads = trace_of("exec", pids=True)
    text = Path(file).read_text()
    for seed in range(12):
        draw, lines = Random(seed), text.splitlines()
        for _ in range(40):
            at = draw.randrange(len(lines))
            place = draw.randrange(len(lines[at]) + 1)
            piece = draw.choice(
                ["9" * 25, "-", "", "=", "\0", " ", "\ud800", "[1] 1.1: sched_switch:"]
            )
            lines[at] = lines[at][:place] + piece + lines[at][place + draw.randrange(6) :]
        if seed % 3 == 0:
            draw.shuffle(lines)
        Path(file).write_text("\n".join(lines), errors="replace")
        status = main(("import", file, "--process", threads, "--name", "x", "--fresh"))
        err = capsys.readouterr().err
        assert status in (0, 2, 3) and "unexpected" not in err, err


FORMATS = ("ns", "ctf", "perfetto", "compact")


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_the_same(form: str, capsys: Capture) -> None:
    """In order of time or by CPUs, by the time of day or since boot."""
    if form == "ctf" and not shutil.which("babeltrace2"):
        pytest.skip("babeltrace2 is not installed")
    recording, path = stranger("cause"), Path("trace")
    if form == "ns":
        path.write_text(written(recording, digits=9))
    elif form == "ctf":
        write_ctf(told(recording), path)
    else:
        pytest.importorskip("perfetto")
        write_perfetto(told(recording), recording, path, compact=form == "compact")
    threads = ",".join(str(each.tid) for each in recording.threads)
    assert main(("import", "trace", "--process", threads, "--json")) == 0
    found = answer_of(capsys.readouterr().out)
    control = next(each for each in found["tasks"] if each["name"] == "control")
    own = derive(recording).tasks
    wanted = next(each for each in own if each.name == "control")
    assert (control["period_ns"], control["jobs"], control["misses"]) == (5_000_000, 599, 46)
    assert control["c_mean_ns"] == pytest.approx(wanted.c_mean_ns, rel=0.01)
    causes = {each["by"]: each["misses"] for each in found["causes"] if each["task"] == "control"}
    assert causes == {"hog": 22, "0x5559c3af5500, held by logger": 13,
                      "0x5559c3af5540, held by mapper": 11}  # fmt: skip


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("file", "process", "status", "says"),
    [
        ("lisa-report.txt.xz", (), 2, "none of its programs has a real-time priority"),
        ("lisa-report.txt.xz", ("--process", "ramp"), 3, "ramp: it hardly waits"),
        ("lisa-report.txt.xz", ("--process", "sshd"), 0, "sched_wakeup, which is later"),
        ("surfaceflinger.html.xz", (), 0, "sensors@1.0-ser#1 (FIFO 10)"),
    ],
)
def test_traces_of_other_projects(
    file: str, process: tuple[str, ...], status: int, says: str, capsys: Capture
) -> None:
    assert main(("import", str(PUBLIC / file), *process)) == status
    said = capsys.readouterr()
    assert says in said.out + said.err and "Traceback" not in said.err
    assert len(said.err) < 400 and "not seen" not in said.err


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x17\x08\x44tracing6\0", "trace-cmd"),
        (b"PERFILE2" + bytes(200), "perf"),
        (b"\x0a\x02\x08\x01" + b"\x0a\xff\xff\xff\x7f" * 9, "(Perfetto)"),
        (b"\xfd7zXZ\0 damaged", "damaged"),
        (b"a-1 [000] d..2. 1.000001: sched_switch: \xff\xfe prev_comm=\n" * 9, "no switch"),
        (b"a-9999999999 [99999] d..2. 999999999999.999999999: sched_switch: prev_comm=a prev_pid="
         b"99999999999999999999 prev_prio=-1 prev_state=S ==> next_comm= next_pid=9 next_prio=9\n"
         b"a-1 [000] d.h2. 1.000001: sched_waking: comm=a pid=1 prio=1\n", "no switch"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_in_a_line(data: bytes, says: str, capsys: Capture) -> None:
    Path("file").write_bytes(data)
    assert main(("import", "file")) in (2, 3)
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1 and "unexpected" not in err


@pytest.mark.skipif(not shutil.which("babeltrace2"), reason="babeltrace2 is not installed")
@pytest.mark.usefixtures("in_a_folder")
def test_callbacks_of_ros_2_have_their_names(capsys: Capture) -> None:
    """An executor's thread is its callbacks; a filter of events of the kernel leaves durations."""
    recording = stranger("eventloop")
    derived = derive(recording)
    (task,) = derived.tasks
    rows = derived.rows[task.name].copy()
    for column in ("begin", "end"):
        rows[column] += recording.begin_ns
    every = [*with_ros2(told(recording), rows, task.tid)]
    write_ctf(iter(every), Path("both"))
    write_ctf(iter(each for each in every if each.name.startswith("ros2:")), Path("user"))
    for name in ("both", "user"):
        assert main(("import", name, "--json")) == 0
        found = answer_of(capsys.readouterr().out)
        tasks = {each["name"]: each for each in found["tasks"] if each["jobs"]}
        assert tasks.keys() == {"filter timer 10 ms", "filter /scan"}
        for each in tasks.values():
            assert each["jobs"] == pytest.approx(task.jobs, abs=2)
            assert each["typical_gap_ns"] == pytest.approx(10_000_000, rel=0.01)
        durations = (rows["end"] - rows["begin"]) * 0.49
        mean = tasks["filter /scan"]["c_mean_ns"]
        assert mean == pytest.approx(durations.mean(), rel=0.2 if name == "both" else 0.01)
    assert "Not seen: events of the kernel" in found["headline"]
    assert main(("import", "both", "--name", "named", "--deadline", "filter /scan=1ms")) == 0
    assert "(none given" not in capsys.readouterr().out
    assert main(("export", "named", "--as", "perfetto", "--out", "out.json")) == 0
    assert "filter timer 10 ms" in Path("out.json").read_text()


@pytest.mark.usefixtures("in_a_folder")
def test_a_kernel_that_leaves_out_switches_hides_no_miss(capsys: Capture) -> None:
    """Of a loop of 5 ms, each fiftieth job of which took 6 ms more: "599 jobs, 12 late". The
    kernel wrote no switch from its idle task; who copied the second trace left out all lines of
    that."""
    for file, most in (("only-switches", 12), ("no-idle", 11)):
        path = PUBLIC.parents[1] / f"golden/traces/{file}.txt.xz"
        assert main(("import", str(path), "--deadline", "control=5ms", "--json")) == 0
        found = answer_of(capsys.readouterr().out)
        (control,) = (each for each in found["tasks"] if each["name"] == "control")
        assert control["misses"] <= most and found["seconds"] > 0
        assert float(found["load"].split()[1]) < 0.5  # U: 0.2 and what logger takes
    assert control["misses"] == 10 and "605 of 738 jobs are not known" in found["headline"]
    assert main(("predict", "only-switches")) == 0
    assert "whether its kernel throttles real-time threads" in capsys.readouterr().out
    assert main(("show", "only-switches")) == 0
    assert "missed 12 of 587 deadlines" in capsys.readouterr().out


@pytest.mark.usefixtures("in_a_folder")
def test_faults_of_a_trace_are_accepted_or_fail(capsys: Capture) -> None:
    file = str(PUBLIC.parents[1] / "golden/traces/only-switches.txt.xz")
    rule = "woken-by-less-urgent:control"
    assert main(("import", file, "--fail-on", "rules")) == 1
    assert f"({rule})" in capsys.readouterr().err
    assert main(("import", file, "--fresh", "--fail-on", "rules", "--set", f"allow={rule}")) == 0
    assert "accepted" in capsys.readouterr().out
    for words, says in (
        (("allow=woken-by-less-urgent:nosuch",), "nosuch: no thread has this name"),
        (("allow=woken-by-less-urgent",), '"woken-by-less-urgent" is no RULE:THREAD'),
    ):
        assert main(("import", file, "--fresh", "--set", *words)) == 2
        assert says in capsys.readouterr().err
    assert main(("import", file, "--name", "none", "--process", "swapper/1")) in (2, 3)
    assert main(("run", "--recipe", "--duration", "5s")) == 2
    assert "--recipe and --duration exclude each other" in capsys.readouterr().err


@pytest.mark.usefixtures("in_a_folder")
def test_what_has_no_deadline_is_not_predicted(capsys: Capture) -> None:
    assert main(("import", str(PUBLIC / "surfaceflinger.html.xz"))) == 0
    assert main(("predict", "surfaceflinger")) == 2
    assert "no thread of surfaceflinger has a known deadline" in capsys.readouterr().err


LOOP = """
import ctypes, os, sys, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))  # whatever runs beside it
except PermissionError:
    pass
ctypes.CDLL(None).prctl(15, b"looping")
due = time.monotonic()
for _ in range(60):
    due += 0.005
    time.sleep(max(0, due - time.monotonic()))
    sum(range(3000))
"""


@pytest.mark.hardware
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("part", "tool", "file"),
    [(1, "sh", "trace.txt"), (2, "trace-cmd", "trace.dat"), (3, "perf", "perf.data")],
)
def test_the_recipe_records_what_import_reads(
    part: int, tool: str, file: str, capsys: Capture
) -> None:
    """A loop of 5 ms, by each of three recipes."""
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    Path("loop.py").write_text(LOOP)
    assert main(("run", "--recipe", "--", sys.executable, "loop.py")) == 0
    parts = capsys.readouterr().out.split("\n# ")
    script = f"{parts[0]}\n# {parts[part]}"
    command = ("sh", "-c", script)
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if "Operation not permitted" in done.stderr:
        pytest.skip(f"{tool} may not record here: {done.stderr[-200:]}")
    status = main(("import", file, "--process", "looping", "--json"))
    said = capsys.readouterr()
    if status and part == 3:
        pytest.skip(f"perf lost too much beside what else runs: {said.err[-200:]}")
    assert status == 0, said.err + done.stderr
    found = answer_of(said.out)
    (loop,) = (each for each in found["tasks"] if each["name"] == "looping")
    assert loop["kind"] == "periodic" and loop["period_ns"] == pytest.approx(5e6, rel=1e-3)
    assert loop["jobs"] in (58, 59, 60) or (found["lost"] and part == 3)
    assert not [each for each in found["not_seen"] if "system calls" in each]
