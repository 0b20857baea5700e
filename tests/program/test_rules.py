"""Truth: what programs did on purpose that makes a job late one day, by their own counts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import Capture
from helpers.by_hand import by_hand
from helpers.made_recordings import BEGIN, IN_INTERRUPT, MS, Made
from helpers.recorded import recorded
from helpers.traced_text import STRANGERS, stranger, written

from deadbeat.cli.main import main
from deadbeat.program.derive.records import RecordKind
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run import experiment
from deadbeat.program.run.results import ProgramKey, ProgramStore
from deadbeat.program.run.traced import traced
from deadbeat.program.run.watching import Watched

#: Recording -> thread, rule, how often, in how many jobs, and where.
BROKEN: dict[str, set[tuple[str, str, int, int, str]]] = {
    # tests/programs/rules/faults.c: "120 jobs" of each thread, the last without a wait for another;
    # seven times what it waits for was there
    "rules/faults": {
        ("lock", "lock-without-protocol", 120, 120, "plain, with server"),
        ("makes#1", "woken-by-less-urgent", 120, 120, "by makes#2"),
        ("woken", "woken-by-less-urgent", 113, 113, "by server"),
        ("fault", "page-fault", 120 * 16, 120, "memory"),
        ("memory", "memory-call", 240, 120, "mmap, munmap"),
        ("once", "memory-call", 2, 1, "mmap, munmap"),
        ("file", "file-call", 120, 120, "write of 4"),
        ("makes#1", "makes-threads", 120, 120, ""),
        ("timer", "softirq-wait", 118, 118, "read of 3, a timer"),
        ("receive", "softirq-wait", 112, 112, "recvfrom of 5"),
        ("relative", "relative-sleep", 120, 120, "for 101 µs"),
        ("wall", "wall-clock", 120, 120, "clock_nanosleep"),
        ("equal", "equal-priorities", 120, 120, "second on CPU 1"),
    },
    # tests/programs/rules/pages.c: "200 jobs", a page of the heap, the stack and a file in each; of
    # the heap malloc touches one in sixteen first
    "rules/pages": {("loop", "page-fault", 588, 200, "stack, pages.log (deleted), heap")},
    # tests/programs/rules/load.c: "60 jobs", the last without a wait behind it
    "rules/load": {
        ("heavy", "overload", 59, 59, "100% of CPU 1"),
        ("spins", "never-waits", 1, 0, "it runs 3% of the time"),
        ("timed", "wall-clock", 59, 59, "futex"),
    },
    # tests/programs/rules/throttled.cpp: "300 jobs", each with 16 new pages of memory that is
    # beside a stack
    "rules/throttled": {
        ("spins", "never-waits", 1, 0, "it runs 95% of the time"),
        ("heavy", "overload", 300, 300, "96% of CPU 1"),
        ("spins", "overload", 1, 0, "95% of CPU 0"),
        ("fault", "page-fault", 4800, 300, "memory"),
    },
    # tests/programs/rules/queue.py: a line for all
    "rules/queue": {
        ("python3#1", "interpreter", 1396, 299,
         "lock-without-protocol, woken-by-less-urgent, file-call"),
    },
    # "599 jobs": both locks in each; "hog 22"
    "strangers/cause": {
        ("control", "lock-without-protocol", 1198, 599,
         "log_lock, with logger, map_lock, with mapper"),
        ("hog", "woken-by-less-urgent", 22, 22, "by control"),
    },
    # "ctl: 800 jobs", by a lock that parks threads; before each a sleep, in either thread
    "strangers/parking": {
        ("ctl", "lock-without-protocol", 198, 198, "parking lock, with map"),
        ("ctl", "relative-sleep", 797, 797, "for 4.65 ms"),
        ("map", "relative-sleep", 99, 99, "for 32.7 ms"),
    },
    # "100 expiries of 2 ms", each in a thread of its own
    "strangers/sigev": {
        ("timer_helper_thread", "softirq-wait", 100, 100,
         "rt_sigtimedwait of 0x7fa2cbd2cd40, a timer"),
        ("timer_helper_thread", "makes-threads", 100, 100, ""),
    },
    # "365 cycles"
    "strangers/pingpong": {("pong", "relative-sleep", 365, 365, "for 1 ms")},
    "strangers/zero": set(),
}  # fmt: skip
#: Rules of which more is known than single events say.
INFERRED = (
    *("softirq-wait", "makes-threads", "equal-priorities", "lock-without-protocol"),
    *("never-waits", "overload"),
)


def run(path: str, monkeypatch: pytest.MonkeyPatch, *options: str, watched: Any = None) -> int:
    folder, _, name = path.partition("/")
    shutil.copy("/bin/true", name)
    monkeypatch.setattr(experiment, "watched", watched or recorded(folder))
    monkeypatch.setenv("COLUMNS", "110")
    return main(("run", "--fresh", *options, "--", f"./{name}"))


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("path", BROKEN)
def test_each_fault_is_named_and_no_other(
    path: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(path, monkeypatch, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["results"]
    rows = {
        tuple(row[key] for key in ("thread", "rule", "count", "jobs", "where"))
        for row in found["rules"]
    }
    assert rows == BROKEN[path]
    assert {row["cure"] for row in found["rules"]} == {RULES[row[1]].cure for row in rows}


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("path", [*BROKEN, "strangers/until", "strangers/causes", "strangers/naps"])
def test_a_reader_of_every_event_finds_the_same(
    path: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(path, monkeypatch, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["results"]["rules"]
    found = {(row["thread"], row["rule"]): (row["count"], row["jobs"]) for row in rows}
    recording = ProgramStore.open(Path("runs", Path(path).name)).events(ProgramKey(1))
    assert recording is not None
    read = by_hand(recording, derive(recording))
    if "interpreter" in {rule for _, rule in found}:
        assert sum(count for count, _ in read.values()) == sum(count for count, _ in found.values())
        return
    # of timers, threads for a job each and locks that park threads the events alone do not tell
    more = {each for each in found if each not in read and each[1] in INFERRED}
    assert {each: found[each] for each in found.keys() - more} == read


@pytest.mark.usefixtures("in_a_folder")
def test_a_rule_without_its_events_is_not_seen(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = {"page-fault": RecordKind.FAULT, "relative-sleep": RecordKind.ENTER}
    for rule, lost in lacks.items():
        original = recorded("rules")

        def without(*asked: Any, lost: RecordKind = lost, original: Any = original) -> Watched:
            watch: Watched = original(*asked)
            events = watch.recording.events
            kept = evolve(watch.recording, events=events[events["kind"] != lost])
            return evolve(watch, recording=kept)

        assert run("rules/faults", monkeypatch, "--json", watched=without) == 0
        found = json.loads(capsys.readouterr().out)["results"]
        assert rule in found["rules_not_seen"] and rule not in found["rules_judged"]
        assert rule not in {row["rule"] for row in found["rules"]}


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("without", "lost"),
    [
        ((), {"lock-without-protocol", "makes-threads"}),
        (("sys",), {"memory-call", "file-call", "relative-sleep", "wall-clock"}),
        (("page_fault_user",), {"page-fault"}),
    ],
)
def test_a_trace_of_others_says_the_same(
    without: tuple[str, ...], lost: set[str], capsys: Capture
) -> None:
    recording = stranger("faults", STRANGERS.parent / "rules")
    Path("trace.txt").write_text(written(recording, without, pids=True))
    threads = ",".join(str(each.tid) for each in recording.threads)
    assert main(("import", "trace.txt", "--process", threads, "--json")) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert lost - {"makes-threads"} <= {*found["rules_not_seen"]}
    if not without:  # threads of one name have other numbers, and locks no library
        keys = ("thread", "rule", "count", "jobs", "where")
        rows = {tuple(row[key] for key in keys) for row in found["rules"]}
        kept = {each for each in BROKEN["rules/faults"] if each[1] not in lost}
        assert {each for each in rows if each[1:3] != ("woken-by-less-urgent", 120)} == {
            each for each in kept if each[1:3] != ("woken-by-less-urgent", 120)
        }


@pytest.mark.usefixtures("in_a_folder")
def test_a_fault_is_said_fails_and_can_be_accepted(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--deadline", "5ms", "--fail-on", "rules")
    assert run("strangers/pingpong", monkeypatch, *options) == 1
    said = capsys.readouterr()
    assert "every 1.1 ms, at least 1.08 ms apart).\nBut pong sleeps for a time" in said.out
    assert "relative-sleep  pong      365   365  for 1 ms  sleep until an instant" in said.out
    assert "--fail-on rules: pong sleeps for a time in 365 jobs" in said.err
    assert "pong sleeps for a time" in Path("runs/pingpong/report.html").read_text()
    accepted = ("--set", "allow=relative-sleep:pong", "--repeats", "2")
    assert run("strangers/pingpong", monkeypatch, *options, *accepted) == 0
    said = capsys.readouterr()
    assert "But pong" not in said.out
    assert "relative-sleep  pong      730   730  for 1 ms  accepted" in said.out


def test_rules_are_listed(capsys: Capture) -> None:
    assert main(("list", "findings")) == 0
    listed = capsys.readouterr().out
    for rule in RULES.values():
        assert f"{rule.name} " in listed and rule.title in listed
        assert main(("show", rule.name)) == 0
        assert rule.cure[1:] in capsys.readouterr().out


def test_a_thread_that_works_once_in_a_window_waits() -> None:
    made = Made()
    control = made.thread("control", policy="fifo", priority=70)
    hog = made.thread("hog", policy="fifo", priority=90)
    made.rows.pop()  # it sleeps as recording begins
    made.loop(control, [10 * MS * job for job in range(1, 60)], [MS] * 59)
    made.add(300 * MS, hog, RecordKind.WAKING, 0, IN_INTERRUPT)
    cpu = hog - 100
    made.rows += [(BEGIN + 300 * MS, 0, RecordKind.SWITCH, cpu, hog, 0, 0),
                  (BEGIN + 309 * MS, hog, RecordKind.SWITCH, cpu, 0, 1, 0)]  # fmt: skip
    broken = {(each.thread, each.rule) for each in traced(made.recording(), {}).rules}
    assert ("hog", "never-waits") not in broken
