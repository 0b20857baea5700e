"""Truth: what tests/programs/shim/locks.c does, counted by hand; standard.cpp says its own."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from helpers.programs import PROGRAMS, ROOT, command_of, truth_in

from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.records import RECORD, RecordedThread, Recording, RecordKind
from deadbeat.program.derive.sections import HeldLock, locks_of
from deadbeat.program.derive.shim import Shim, with_variables
from deadbeat.program.derive.tracks import tracks

LOCKS = ROOT / "tests/programs/shim/locks.c"
NOTHING = Recording(events=np.empty(0, RECORD), threads=(), begin_ns=0, end_ns=0)


def table(text: str, times: int = 1) -> Counter[str]:
    """``7 GOT table 1; ...``: how often which record."""
    rows = (row.split(None, 1) for row in text.split(";"))
    return Counter({" ".join(what.split()): times * int(count) for count, what in rows})


#: What ``alone`` does, main, and the other thread.
ROUND = """7 GOT table 1; 7 GOT table 2; 14 UNLOCK table 2; 7 GOT spin 3; 7 UNLOCK spin 3;
    7 GOT plain 0; 7 UNLOCK plain 0; 7 POST ready 0; 7 TAKE ready 0"""
MAIN = table("""2 GOT plain 0; 1 UNLOCK plain 0; 2 GOT modern 4; 1 UNLOCK modern 4;
    1 GOT inherits 0; 1 UNLOCK inherits 0; 1 INIT inherits 1; 1 INIT modern 0; 1 POST asked 0;
    1 BARRIER both 0; 1 BARRIER both 1; 1 COND_WAIT turned plain; 1 COND_WAIT changed modern""")
OTHER = table("""1 TAKE asked 1; 1 WANT inherits 0; 100 GOT inherits 0; 100 UNLOCK inherits 0;
    1 BARRIER both 0; 1 BARRIER both 1; 1 GOT plain 0; 1 UNLOCK plain 0; 1 SIGNAL turned 0;
    1 GOT modern 4; 1 UNLOCK modern 4; 1 SIGNAL changed 1""")


@pytest.fixture
def here() -> Iterator[LocalTarget]:
    with LocalTarget() as target:
        yield target


def built(target: LocalTarget, *words: str, compiler: str = "gcc", source: Path = LOCKS) -> str:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    out = Path(target.folder) / "locks"
    how = (compiler, "-g", "-O2", "-pthread", "-D_GNU_SOURCE", *words, source, "-o", out)
    subprocess.run(how, check=True)
    return str(out)


def own(name: str, target: LocalTarget) -> tuple[str, ...]:
    return (*command_of(PROGRAMS[name], Path(target.folder)), "1")


def observed(
    target: LocalTarget,
    command: Sequence[str],
    status: int = 0,
    *,
    sleeps: bool = False,
    inherit: bool = False,
) -> tuple[Recording, str]:
    with Shim(target, command, sleeps=sleeps, inherit=inherit) as shim:
        environment = {**os.environ, **shim.environment}
        done = subprocess.run(command, env=environment, stdout=-1, text=True, check=False)
        seen = shim.finish(NOTHING)
    assert done.returncode == status
    assert not list(Path(target.folder).glob("shim*"))
    return seen, done.stdout


def counted(seen: Recording) -> list[Counter[str]]:
    """What each thread did; who comes second to a lock that both hurry to is luck."""
    found: dict[int, Counter[str]] = {}
    for row in seen.events[seen.events["kind"] >= RecordKind.INIT]:
        name = seen.symbols.get(int(row["a"]), "?")
        kind, more = RecordKind(row["kind"]), seen.symbols.get(int(row["c"]), str(row["c"]))
        if kind != RecordKind.WANT or name == "inherits":
            found.setdefault(int(row["tid"]), Counter())[f"{kind.name} {name} {more}"] += 1
    return sorted(found.values(), key=lambda each: -each["GOT table 1"])


@pytest.mark.parametrize("sleeps", [False, True])
@pytest.mark.parametrize(
    ("how", "status", "threads"),
    [
        ("", 0, [table(ROUND) + MAIN, OTHER]),
        ("locked", 0, [table(ROUND) + MAIN, OTHER]),  # no room for large buffers
        ("killed", -9, [table(ROUND) + MAIN, OTHER]),
        ("many", 0, [table(ROUND, 301) + MAIN, OTHER]),  # of several chunks
        ("fork", 0, [table(ROUND) + MAIN, table(ROUND), OTHER]),
    ],
)
def test_every_call_is_recorded_once(here, how, status, threads, sleeps):
    seen, _ = observed(here, (built(here), how), status, sleeps=sleeps)
    assert counted(seen) == threads
    assert (seen.lost, seen.not_seen) == (0, ())
    source = LOCKS.read_text().splitlines()
    waits = seen.events[seen.events["kind"] == RecordKind.COND_WAIT]
    lines = [n for n, line in enumerate(source, 1) if re.search(r" \w+_wait\(&(turned|cha)", line)]
    assert {seen.symbols[int(row["b"])] for row in waits} == {f"main (locks.c:{n})" for n in lines}


def test_what_cannot_be_seen_is_said(here):
    static, _ = observed(here, (built(here, "-static"),))
    assert static.not_seen == ("locks of locks are not visible: it is static",)
    beside, _ = observed(here, (built(here, "-fsanitize=address"),))
    assert beside.not_seen == ("locks are not visible: the shim stays out beside a sanitizer",)
    none, _ = observed(here, ("true",))
    assert none.not_seen == ("it took no lock of pthread or C11",)
    with Shim(here, ("true",), preloaded="own.so") as shim:
        assert shim.environment["LD_PRELOAD"].split(":")[1:] == ["own.so"]


def test_a_program_of_musl_takes_it_too(here):
    seen, _ = observed(here, (built(here, compiler="musl-gcc"),))
    assert sum(counted(seen), Counter())["GOT inherits 0"] == 101


def test_a_full_folder_loses_and_says_how_much(here, monkeypatch):
    monkeypatch.setenv("DEADBEAT_SHIM_CHUNKS", "2")
    seen, _ = observed(here, (built(here), "many"))
    whole = (table(ROUND, 301) + MAIN + OTHER).total()
    assert seen.lost > 0
    assert whole <= len(seen.events) + seen.lost <= whole + 2  # WANT of two locks


def test_futexes_of_a_process_without_it_have_names(here):
    source = Path(here.folder) / "waits.c"
    text = "#include <stdio.h>\nint first[2] = {7}, map_lock = 7;\n"
    text += 'int main(void) { printf("%p\\n", (void *)&map_lock); fflush(stdout); getchar(); }\n'
    source.write_text(text)
    subprocess.run(["gcc", source, "-o", source.with_suffix("")], check=True)
    program = (source.with_suffix(""),)
    with subprocess.Popen(program, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        at = int(process.stdout.readline(), 16)
        maps = here.read_text(f"/proc/{process.pid}/maps") or ""
        process.stdin.close()
    event = np.array([(0, process.pid, RecordKind.ENTER, 0, 202, at, 0x80)], RECORD)
    found = with_variables(evolve(NOTHING, events=event, calls={202: "futex"}), maps, here)
    assert found.symbols == {at: "map_lock"}


def test_standard_mutexes_are_those_of_pthread(here):
    seen, output = observed(
        here, (*command_of(ROOT / "tests/programs/standard.cpp", Path(here.folder)), "1")
    )
    got = seen.events[seen.events["kind"] == RecordKind.GOT]
    for task in truth_in(output)["tasks"]:
        mine = got[got["tid"] == task["tid"]]
        (section,) = task["sections"]
        assert len(mine) == section["count"]
        assert seen.symbols[int(mine["b"][0])].endswith(f"(standard.cpp:{section['line']})")


def test_sleeps_without_the_kernel(here):
    seen, output = observed(
        here, (*command_of(ROOT / "tests/programs/absolute.c", Path(here.folder)), "1"), sleeps=True
    )
    (task,) = truth_in(output)["tasks"][:1]
    mine = seen.events[seen.events["tid"] == task["tid"]]
    enters = mine[mine["kind"] == RecordKind.ENTER]
    names = [seen.calls[int(number)] for number in enters["a"]]
    assert {*names} - {"sched_setscheduler"} == {"clock_nanosleep"}
    enters = enters[[name == "clock_nanosleep" for name in names]]
    until = mine["a"][mine["kind"] == RecordKind.SLEEP_TIMER]
    assert len(until) == len(enters) >= task["jobs"]
    assert set(np.diff(until)[: task["jobs"] - 1].tolist()) == {task["period_ns"]}
    charged = mine["a"][mine["kind"] == RecordKind.RUNTIME].sum()
    assert charged >= task["jobs"] * task["c_mean_ns"]


def test_who_ended_a_wait_is_inferred_without_the_kernel(here):
    seen, _ = observed(here, (built(here),), sleeps=True)
    shim = seen.events[seen.events["kind"] >= RecordKind.INIT]
    name = {int(row["ns"]): seen.symbols.get(int(row["a"])) for row in shim}
    rows = seen.events[seen.events["kind"] == RecordKind.WAKING]
    (main,) = {int(tid) for tid in seen.events["tid"][seen.events["kind"] == RecordKind.INIT]}
    by_main = {name[int(row["ns"])] for row in rows if row["a"] == main}
    assert by_main >= {"asked", "inherits"}
    assert {name[int(row["ns"])] for row in rows if row["tid"] == main} == {"turned", "changed"}


def locks_in(seen: Recording) -> dict[str, HeldLock]:
    tids = np.unique(seen.events["tid"]).tolist()
    threads = tuple(RecordedThread(tid=tid, pid=1, name=str(tid)) for tid in tids)
    last = int(seen.events["ns"][-1])
    found = tracks(evolve(seen, threads=threads, begin_ns=int(seen.events["ns"][0]), end_ns=last))
    return {lock.name: lock for lock in locks_of(found, seen.symbols, {})}


#: Mutexes of tests/programs/shim/protocols.c that are not changed -> what it reads back, and why.
KEPT = {
    "own": ("inherit", "inherit", ""),
    "ceiling": ("ceiling", "protect", "left alone: it has a ceiling"),
    "shared": ("plain", "none", "left alone: process-shared"),
    "shared_robust": ("plain", "none", "left alone: process-shared"),
    "outside": ("plain", "none", "left alone: it was held when first seen"),
}


@pytest.mark.parametrize("inherit", [False, True])
def test_mutexes_inherit_only_where_they_are_asked_to(here, inherit):
    program = built(here, source=LOCKS.with_name("protocols.c"))
    seen, output = observed(here, (program,), inherit=inherit)
    read = dict(line.split() for line in output.splitlines())
    assert read.pop("raced") == ("200" if inherit else "0")  # of 8 threads at a first lock
    assert {name: read.pop(name) for name in KEPT} == {name: KEPT[name][0] for name in KEPT}
    assert set(read.values()) == {"inherit" if inherit else "plain"}
    locks = locks_in(seen)
    for name, (_, protocol, why) in KEPT.items():
        assert (locks[name].protocol, locks[name].changed) == (protocol, why if inherit else "")
    once = Counter(seen.events["a"][seen.events["kind"] == RecordKind.INIT].tolist())
    assert inherit <= (set(once.values()) == {1})
    raced = [name for name in locks if name.startswith("raced")]
    for name in {*raced, *read} - {"waited"}:
        said = (locks[name].protocol, locks[name].changed)
        assert said == (("inherit", "inherit") if inherit else ("none", "")), name
    assert len(raced) == 200


def test_what_a_child_gives_back_of_its_parent_can_inherit(here):
    """pthread_atfork(take, give, give), while two threads wait for the same lock."""
    program = built(here, source=ROOT / "tests/programs/strangers/odd.c")
    seen, output = observed(here, (program, "fork-handlers"), 7, inherit=True)
    assert output.splitlines() == [*["child 500"] * 10, "made 0"]
    assert locks_in(seen)["lock"].foreign


def test_mutexes_of_other_libraries_stay_and_are_named(here):
    seen, _ = observed(here, (built(here, compiler="musl-gcc"),), inherit=True)
    locks = locks_in(seen)
    assert {locks[name].changed for name in ("plain", "modern")} == {"left alone: not of glibc"}


def test_standard_mutexes_inherit(here):
    command = command_of(ROOT / "tests/programs/standard.cpp", Path(here.folder))
    seen, output = observed(here, (*command, "1"), inherit=True)
    (lock,) = (lock for name, lock in locks_in(seen).items() if name == "pose_lock")
    assert (lock.protocol, lock.changed) == ("inherit", "inherit")
    counts = [task["sections"][0]["count"] for task in truth_in(output)["tasks"]]
    assert sorted(each[0].count for each in lock.sections.values()) == sorted(counts)
