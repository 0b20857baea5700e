"""Truth: recordings of programs that counted themselves (tests/golden/strangers), as the text that
others would have recorded."""

from pathlib import Path

import pytest
from helpers.answers import Capture, answer_of
from helpers.traced_text import stranger, written

import deadbeat
from deadbeat.cli.main import main

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
    assert "Recorded elsewhere: " in out and "not seen: times finer than 1 µs" in out


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
        (("sys",), "not seen: system calls: jobs go by wake-ups"),
        (("sched_stat_runtime",), "not seen: charges: what a hypervisor"),
        (("hrtimer_start",), "not seen: timers of sleeps"),
        (EVENTS, "not seen: system calls: jobs go by wake-ups"),
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
        (("line",), 2, "line is in no known format"),
        ((file, "--process", "nobody"), 2, "--process nobody: it has no such thread"),
        ((file, "--deadline", "nobody=1ms"), 2, "--deadline nobody: no thread has this name"),
        ((file, "--load", "idle"), 2, "--load is not of a trace (trace.txt)"),
        ((file, "calls.txt"), 2, "trace.txt is a trace (import one at a time)"),
        (("line", "--process", "x"), 2, "--process is of traces"),
    ):
        assert main(("import", *words)) == status, words
        err = capsys.readouterr().err
        assert text in err and err.count("\n") == 1, err
    assert not Path("runs").exists()
