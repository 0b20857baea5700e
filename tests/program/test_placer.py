"""Truth: what the kernel says of the threads of tests/programs/shim/placed.c."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from errno import EBUSY
from operator import itemgetter
from pathlib import Path

import pytest
from attrs import evolve
from helpers.processes import children, names, python, until
from helpers.programs import ROOT, command_of

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.placer import Placer, Placing

ALL = os.sched_getaffinity(0)
DRAW = random.Random(7)
FOUND = Toolchain.find()
ONE = min(ALL)
RULES = (
    Placing(name="alpha", policy="fifo", priority=50, cpus=(ONE,)),
    Placing(name="beta", policy="deadline", runtime_ns=10**6, period_ns=10**8),
    Placing(name="worker#2", policy="rr", priority=5),
    Placing(name="*", cpus=(ONE,)),
)
ALPHA, BETA, MAIN = ("alpha", 1, 50, {ONE}), ("beta", 6, 0, ALL), ("placed", 0, 0, {ONE})
FIRST, SECOND = ("worker", 0, 0, {ONE}), ("worker", 2, 5, ALL)
BEFORE = [(name, 0, 0, ALL) for name in ("alpha", "beta", "placed", "worker", "worker")]
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or {ONE} == ALL, reason="needs root and two CPUs")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = command_of(ROOT / "tests/programs/shim/placed.c", tmp_path)
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True, process_group=0) as made:
        assert done(made, "begin") == 0
        yield made
        os.killpg(made.pid, signal.SIGKILL)


def done(program: subprocess.Popen[str], word: str) -> int:
    print(word, file=program.stdin, flush=True)
    return int(program.stdout.readline())


def tids(pid: int) -> list[int]:
    return sorted(map(int, names(Path(f"/proc/{pid}/task"))))


def policy(tid: int) -> int:
    return os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK


def threads(pid: int) -> list[tuple[str, int, int, set[int]]]:
    """Name, policy, priority and CPUs."""
    found = []
    for tid in tids(pid):
        name = Path(f"/proc/{tid}/comm").read_text().strip()
        priority = os.sched_getparam(tid).sched_priority
        found.append((name, policy(tid), priority, os.sched_getaffinity(tid)))
    return sorted(found, key=itemgetter(0))


def test_threads_are_placed_corrected_and_put_back(program):
    with LocalTarget() as here, Placer(here, Toolchain.find(), RULES) as placer:
        placer.begin(program.pid)
        assert threads(program.pid) == [ALPHA, BETA, MAIN, FIRST, SECOND]
        done(program, "set")
        done(program, "more")
        child = done(program, "fork")
        until(lambda: threads(program.pid) == [ALPHA, BETA, MAIN, FIRST, SECOND, FIRST])
        until(lambda: threads(child) == [BETA, ("child", *MAIN[1:])])
        placed = placer.finish()
    # what it set itself meanwhile is how it would be
    assert threads(program.pid) == [("alpha", 1, 7, ALL), *BEFORE[1:], BEFORE[4]]
    assert threads(child) == [BEFORE[1], ("child", *BEFORE[2][1:])]
    said = [(each.name, each.what) for each in placed.changes if each.word == "set"]
    assert said.count(("alpha", "fifo:50")) == 2
    last = max(each.ns for each in placed.changes if each.word == "set")
    assert (placed.last_change_ns, placed.refused) == (last, ())


def test_all_is_put_back_where_it_is_killed(program):
    """The one that places, then the one that knows what that changed."""
    _, alpha, *_ = tids(program.pid)
    slack = Path(f"/proc/{alpha}/timerslack_ns")
    slack.write_text("7000")
    for which in (0, 1):
        with LocalTarget() as here, Placer(here, Toolchain.find(), RULES) as placer:
            placer.begin(program.pid)
            assert threads(program.pid) == [ALPHA, BETA, MAIN, FIRST, SECOND]
            knows = placer._process.pid
            os.kill((*children(knows), knows)[which], signal.SIGKILL)
            if which == 0:
                with pytest.raises(TargetError, match="placer was killed"):
                    placer.finish()
        until(lambda: threads(program.pid) == BEFORE)
        assert slack.read_text() == "7000\n"


class KilledSoon(LocalTarget):
    """Kills what it starts, or a child of that, within 60 ms."""

    def start(self, argv):
        process, after_s = super().start(argv), DRAW.uniform(0, 0.06)
        threading.Timer(after_s, self._kill, (process.pid, DRAW.random() < 0.5)).start()
        return process

    def _kill(self, pid: int, child: bool) -> None:
        with suppress(ProcessLookupError):  # it was faster
            os.kill((*children(pid) * child, pid)[0], signal.SIGKILL)


@pytest.mark.slow
def test_it_may_be_killed_at_any_moment(program):
    """While it begins, places, or puts back; as often as DEADBEAT_KILLS says."""
    for _ in range(int(os.environ.get("DEADBEAT_KILLS", "5"))):
        with KilledSoon() as here, suppress(TargetError), Placer(here, FOUND, RULES) as placer:
            placer.begin(program.pid)
            time.sleep(DRAW.uniform(0, 0.1))
            placer.finish()
        until(lambda: threads(program.pid) == BEFORE)


def test_all_is_put_back_where_its_parent_is_killed(program):
    text = f"""if True:
        from deadbeat.build.toolchain import Toolchain
        from deadbeat.program.derive.placer import Placer, Placing
        from deadbeat.machine.targets.local import LocalTarget
        with LocalTarget() as here, Placer(here, Toolchain.find(), {RULES}) as placer:
            placer.begin({program.pid})
            print("begun", flush=True)
            input()"""
    with python(text) as parent:
        assert parent.stdout.readline() == "begun\n"
        assert threads(program.pid) == [ALPHA, BETA, MAIN, FIRST, SECOND]
        parent.kill()
    until(lambda: threads(program.pid) == BEFORE)


def test_what_it_cannot_keep_is_named(program):
    both = evolve(RULES[1], name="alpha", cpus=(ONE,))
    rules = (both, Placing(name="beta", policy="rr", priority=9), RULES[3])
    main, _, beta, *_ = tids(program.pid)
    with LocalTarget() as here, Placer(here, Toolchain.find(), rules) as placer:
        placer.begin(program.pid)
        for _ in range(101):
            until(lambda: policy(beta) == os.SCHED_RR)
            os.sched_setscheduler(beta, os.SCHED_FIFO, os.sched_param(3))
        os.sched_setaffinity(main, ALL)
        until(lambda: os.sched_getaffinity(main) == {ONE})  # it looked again
        placed = placer.finish()
        said = [(each.word, each.error, each.what, each.name) for each in placed.refused]
        assert said == [("refused", EBUSY, f"cpus:{ONE}", "alpha"), ("gave-up", 0, "rr:9", "beta")]
        assert threads(program.pid) == [BEFORE[0], ("beta", 1, 3, ALL), *BEFORE[2:]]
        with pytest.raises(UsageError, match="no process 4194305"):
            placer.begin(4194305)
