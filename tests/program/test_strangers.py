"""Truth: what programs that nobody here wrote said of themselves while they were recorded."""

import csv
import shutil
from pathlib import Path

import pytest
from helpers.answers import Capture
from helpers.recorded import recorded

import deadbeat
from deadbeat.cli.main import main
from deadbeat.program.run import experiment

#: Recording -> how it ended, what the answer has (its own counts), and what it has not.
ANSWERS = {
    # two processes, one lock in memory that they share: "control: 400 jobs, 157 late"
    "shared_mutex": (0, ("missed 157 of 399 deadlines",
        "All 157 late jobs waited for memory+0x0, which logger held", "Late too: logger 7 of 39.",
        "memory+0x0 has no priority inheritance"), ("schedulable",)),
    # sleep_until makes no call where the instant is past: "control: 500 jobs, 216 late"
    "until": (0, ("missed 216 of 499 deadlines",
        "All 216 late jobs waited for lock_, which logger held"), ("schedulable",)),
    # every sleep is until an instant that is past: 800 jobs of 1.3 ms, one each ms
    "always": (0, ("missed 799 of 799 deadlines (none given: its 1 ms period)",
        "All 799 late jobs simply ran", "U 1.32"), ()),
    # a poll that returns at once with nothing ends no job: 300 ticks
    "eventloop": (0, ("of 299 deadlines", "periodic  10 ms"), ("bursty",)),
    # a thread waits at a word of its own, and another wakes it: "ctl: 800 jobs, 2 over"
    "parking": (0, ("ctl (FIFO 80, CPU 0, every 5 ms) missed 2 of 799",
        "All 2 late jobs waited for parking lock, which map held"), ("schedulable",)),
    # 200 jobs, exec of itself, 200 jobs
    "exec": (0, ("exe#2 (ordinary, CPUs 0,1, every 5 ms) missed 1 of 199",
        "exe#1   periodic   5 ms"), ("has no jobs",)),
    # 200 jobs, then a bad address
    "crash": (-11, ("no deadline was missed in 199 jobs", "by signal SIGSEGV"), ()),
    # 100 jobs of 5 ms, then kill(getpid(), SIGSTOP)
    "stopper": (0, ("in 99 jobs", "from 502 ms on: a signal stopped it (SIGSTOP)"), ()),
    # FIFO 50 under RLIMIT_RTTIME of 50 ms: 150 jobs, then a loop
    "rttime": (-24, ("in 150 jobs", "rttime had computed for 54.3 ms without a wait"), ()),
    # 260 threads that live for four jobs
    "many": (0, ("many#2, many#3, many#4 and 231 more: too few jobs",), ("no deadline was",)),
    # 3.5 ms every 20 ms in a group that has 12 ms of 100
    "burn": (0, ("Its CPU quota of 12 ms in 100 ms held it back in 50 of 53 periods",
        "All 75 late jobs were throttled by its CPU quota"), ("preempted by",)),
    # examples/inverted.c, without the right to trace: "control: 198 of 1000 jobs late"
    "blind": (0, ("missed 198 of 999 deadlines", "not seen (no right to trace)",
        "waited for map_lock, which logger held"), ("stolen", "late timer", "simply", "thread 0")),
    # "late 32: hog 9 map 9 log 12 other 2": by the names of functions that threads start in
    "causes": (0, ("control (FIFO 80, CPU 1, every 5 ms) missed 32 of 599 deadlines",
        "12 waited for log_lock, which logger held (inv.c:19)", "9 preempted by hog",
        "9 waited for map_lock, which mapper held (inv.c:18)"), ("late wake-up",)),
    # two FIFO threads of 50 us that the program did not name: "365 cycles"
    "pingpong": (0, ("Not judged: ping (FIFO 70), pong (FIFO 70)", "1.1 ms    30/49.3",
        "   365"), ("no deadline was",)),
    # write and fsync of a log, 40 of them in each tenth job: "100 jobs, 13 late"
    "sync": (0, ("missed 13 of 99 deadlines", "12 waited in fsync of 3"), ("not traced",)),
    # a handler of SIGALRM each 5 ms, and pause: "400 signals"
    "itimer": (0, ("every 5 ms) missed 21 of 399 deadlines",), ()),
    # usleep(1000) until its instant is there: "100 jobs, 5 late, 724 naps"; nothing separates two
    "naps": (0, ("every 10 ms) missed 5 of 94 deadlines", "5 releases, or served them late"), ()),
    # timer_create with SIGEV_THREAD: "100 expiries of 2 ms"
    "sigev": (0, ("in 198 jobs of timer_helper_thread and sigev#2", "2.08/2.18 ms"), ()),
    # until the next instant that is not past: "100 jobs, 10 late, 10 skipped, C max 15.51 ms"
    "skips": (0, ("missed 10 of 99 deadlines", "skipped 10 releases", "6.23/15.5 ms"), ()),
    # a sleep of no time after each job, as Python's sched has it: "200 jobs, 85 late"
    "zero": (0, ("every 5 ms) missed 85 of 200 deadlines",), ("late all the time",)),
    # datagrams that are there when it polls: "100 sent, 297 read, 5 late"; nothing separates two
    "polls": (0, ("every 10 ms) missed 5 of 93 deadlines", "5 releases, or served them late"), ()),
    # read of a timerfd beside two busy processes: "545 jobs, 16 late, 55 expiries lost"
    "ltfd": (0, ("missed 16 of 544 deadlines", "skipped 55 releases, or served them late"), ()),
    # "46 late: hog 22, map 11, log 13, other 0"
    "cause": (0, ("missed 46 of 599", "22 preempted by hog",
        "13 waited for log_lock, which logger held", "11 waited for map_lock,"), ("other causes",)),
    # pthread_cond_timedwait by the time of day, once a million seconds away: "150 jobs"
    "timed": (0, ("in 151 jobs of loop; nearest: 9.57 ms", "every 10 ms)"), ()),
}  # fmt: skip


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("name", ANSWERS)
def test_what_strangers_count_themselves(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, has, lacks = ANSWERS[name]
    shutil.copy("/bin/true", name)
    monkeypatch.setattr(experiment, "watched", recorded("strangers", status=status))
    monkeypatch.setenv("COLUMNS", "110")
    assert main(("run", "--", f"./{name}")) == (128 - status if status else 0)
    out = capsys.readouterr().out
    assert [text for text in has if text not in out] == [], out
    assert [text for text in lacks if text in out] == [], out


@pytest.mark.usefixtures("in_a_folder")
def test_every_job_is_there_to_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "control: 500 jobs, 216 late"; the last one ends with the program."""
    shutil.copy("/bin/true", "until")
    monkeypatch.setattr(experiment, "watched", recorded("strangers"))
    assert main(("run", "--", "./until")) == 0
    assert main(("export", "until", "--as", "csv", "--out", "out")) == 0
    every = csv.DictReader(Path("out/jobs.csv").read_text().splitlines())
    rows = [row for row in every if row["thread"] == "control"]
    assert (len(rows), sum(row["late"] == "True" for row in rows)) == (499, 216)
    page = Path("runs/until/report.html").read_text()
    assert "Response times over the run" in page and "control (n = 499)" in page
    late = [int(row["response_ns"]) > int(row["deadline_ns"]) for row in rows]
    assert sum(late) == 216 and deadbeat.open("runs/until").table("jobs")["late"].sum() == 216


@pytest.mark.usefixtures("in_a_folder")
def test_a_twin_does_not_take_the_place_of_what_it_is_of(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy("/bin/true", "until")
    monkeypatch.setattr(experiment, "watched", recorded("strangers"))
    assert main(("run", "--", "./until")) == 0
    again = ("run", "--set", "twin-of=until", "--name", "until", "--fresh", "--", "./until")
    assert main(again) == 2
    assert "--name until is the result that it is the twin of" in capsys.readouterr().err
    assert main(("show", "until")) == 0


@pytest.mark.usefixtures("in_a_folder")
def test_the_answer_is_of_all_runs(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy("/bin/true", "until")
    monkeypatch.setattr(experiment, "watched", recorded("strangers"))
    assert main(("run", "--repeats", "2", "--", "./until")) == 0
    said = capsys.readouterr().out
    assert "Over 2 runs control missed 216; worst responses 105 ms to 105 ms" in said
    assert "shown is run 1." in said


@pytest.mark.usefixtures("in_a_folder")
def test_what_was_recorded_outlives_ctrl_c(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command looks at it again, and runs nothing."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    shutil.copy("/bin/true", "until")
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "watched", recorded("strangers"))
        patch.setattr(experiment, "derive", interrupted)
        assert main(("run", "--", "./until")) == 130
    monkeypatch.setattr(experiment, "watched", interrupted)
    capsys.readouterr()
    assert main(("run", "--", "./until")) == 0
    said = capsys.readouterr()
    assert "missed 216 of 499 deadlines" in said.out and "look again" in said.err
    assert not [*Path("runs/until/events").glob("*unseen*")]
