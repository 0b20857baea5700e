"""Begins to watch a process for days: the plan of the keeper (runtime/observe/recorder_keep.c)."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from attrs import frozen

from deadbeat.base.kinds.base import Begin
from deadbeat.base.model.errors import DeadbeatError, TargetError, UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import duration, time_text
from deadbeat.base.store.files import atomic_write
from deadbeat.base.store.place import PROGRAM
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.proc import task_of
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.local import become
from deadbeat.program.derive.jobs import ThreadJobs
from deadbeat.program.derive.recorder import CHARGES, EVENTS, FILTERS, LOSSES
from deadbeat.program.derive.records import NEXT, Recording, RecordKind
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask
from deadbeat.program.derive.tracks import PARKED
from deadbeat.program.run.results import ProgramStore
from deadbeat.program.run.spec import ProgramSpec

#: What of a result the keeper writes; its plan, and its counts, which it locks.
KEPT, PLAN, STATE = "kept", "plan", "state"
#: Bytes of an event in a ring, at most; how many more there may be; KB of both rings of a CPU.
_EVENT, _BUSY, _RINGS_KB = 64, 3, 16_384
#: Of all CPUs; of a ring at least.
_ALL_KB, _LEAST_KB = 131_072, 256
#: From the end of a job until the keeper sees it, at most.
_LOOK_S = 0.2
#: Periods of a thread that a window holds at least: of fewer jobs no usual one is known.
_PERIODS = 12
#: Threads that are watched, at most, and bytes of a name.
_WATCHED, _NAME = 64, 63


@frozen(kw_only=True)
class Followed:
    """What tells a process from others, and from one that takes its place. ``began``: ticks since
    the boot; ``unit``: control group of a service, "": it is in none; ``script``: the word of its
    command that is a file, for what interprets it."""

    pid: int
    began: int
    owner: int
    file: str
    unit: str
    script: str

    @property
    def words(self) -> str:
        """How one that takes its place is known."""
        script = f" that runs {self.script}" * bool(self.script)
        with suppress(KeyError):
            return f"{self.unit or self.file}{script}, user {pwd.getpwuid(self.owner).pw_name}"
        return f"{self.unit or self.file}{script}, user {self.owner}"


def followed(pid: int, target: Target) -> Followed:
    """Raises UsageError: there is none, or it is not ours to look at."""

    def said(*words: str) -> str:
        return target.run(words).stdout

    task = task_of(target.read_text(f"/proc/{pid}/stat") or "")
    file = said("readlink", f"/proc/{pid}/exe").strip().removesuffix(" (deleted)")
    owner = said("stat", "-c", "%u", f"/proc/{pid}").strip()
    if task is None or not file or not owner:
        raise UsageError(f"--pid: process {pid} cannot be looked at", "is it there? Be root")
    groups = (target.read_text(f"/proc/{pid}/cgroup") or "").splitlines()
    units = [group.split(":", 2)[2] for group in groups if group.endswith(".service")]
    words = (target.read_text(f"/proc/{pid}/cmdline") or "").split("\0")[1:]
    place = f"/proc/{pid}/cwd"
    scripts = [
        word
        for word in words[:8]
        if word and "\n" not in word
        if target.run(("test", "-f", word if word[0] == "/" else f"{place}/{word}")).returncode == 0
    ]
    return Followed(
        pid=pid,
        began=task.started_ticks,
        owner=int(owner),
        file=file,
        unit=units[0] if units else "",
        script=scripts[0] if scripts else "",
    )


def _site(jobs: ThreadJobs, numbers: dict[str, int]) -> tuple[int, int, int, int, int] | None:
    """Call that ends a job (-1: any sleep), masks and values of its arguments; None: no events of
    ours tell."""
    site, call = jobs.site, jobs.site.call
    if site.what == "yield":
        return None
    number = numbers.get("futex" if call == PARKED else call, -1)
    if site.what == "unknown" or number < 0:
        return -1, 0, 0, 0, 0
    if call == "clock_nanosleep":
        return number, 0, 0, 1, site.object
    if call == "nanosleep":
        return number, 0, 0, 0, 0
    return number, ~7 if call == "futex" else -1, site.object, 0, 0


def _threads(
    derived: DerivedRun, recording: Recording
) -> Iterator[tuple[DerivedTask, tuple[int, int, int, int, int]]]:
    numbers = {name.removesuffix("_time64"): number for number, name in recording.calls.items()}
    real = {each.tid for each in recording.threads if each.sleeps_in != NEXT}
    for task in derived.tasks:
        jobs = derived.jobs.get(task.name)
        site = _site(jobs, numbers) if jobs is not None and task.tid in real else None
        if site is not None:
            yield task, site


def _rings(recording: Recording, around_s: float) -> tuple[int, float, tuple[str, ...]]:
    """KB of a ring of each CPU; for how long that lasts at the rate that was seen, s; its events,
    without charges where threads that look at their own CPU time would fill it with them."""
    events, seconds = recording.events, (recording.end_ns - recording.begin_ns) / 1e9
    kernel = events["kind"] < RecordKind.INIT
    charges = events["kind"] == RecordKind.RUNTIME
    for polls, left in ((recording.polls, ""), (0, CHARGES)):
        if left:
            kernel &= ~charges
        cpus = np.bincount(events["cpu"][kernel]) if kernel.any() else np.ones(1)
        rate = max(_EVENT * (float(cpus.max()) + polls) / max(seconds, 1e-3), 1.0)
        wanted = int(rate * (around_s + _LOOK_S) * _BUSY / 1024)
        kb = min(max(wanted, _LEAST_KB), _RINGS_KB // 2, _ALL_KB // 2 // len(cpus))
        if kb >= wanted or not recording.polls:
            break
    return kb, kb * 1024 / rate, tuple(name for name in EVENTS if name != left)


def plan(
    store: ProgramStore,
    spec: ProgramSpec,
    recording: Recording,
    derived: DerivedRun,
    who: Followed,
    *,
    here: bool,
) -> Iterator[str]:
    """Writes the plan; what is said of it.
    Raises DeadbeatError: there is no job to watch."""
    chosen = [*_threads(derived, recording)][:_WATCHED]
    if not any(task.deadline_ns for task, _ in chosen):
        raise UsageError(
            "--keep misses: no thread has a known deadline", "give --deadline NAME=5ms"
        )
    longest = max(
        task.period_ns or task.typical_gap_ns or 0 for task, _ in chosen if task.deadline_ns
    )
    around_s = max(spec.around / 1e9, _PERIODS * longest / 1e9)
    kb, lasts_s, events = _rings(recording, around_s)
    calls = {site[0]: recording.calls[site[0]] for _, site in chosen if site[0] >= 0}
    own, folder = store.path.resolve(), store.path.resolve() / KEPT
    metrics = spec.openmetrics or ""
    facts = {
        "pid": who.pid,
        "began": who.began,
        "folder": folder if here else f"/var/tmp/deadbeat-{store.path.name}-{who.pid}",
        "metrics": Path(metrics).resolve() if metrics and here else metrics,
        "process": store.path.name,
        "around": round(around_s * 1e9),
        "seconds": round((spec.duration or 0) * 1e9),
        "bytes": spec.kept_mb << 20,
        "hourly": spec.hourly,
        "ring": kb,
        "unit": who.unit,
        "file": who.file,
        "script": who.script,
        "owner": who.owner,
    }
    lines = [f"{key} {value}" for key, value in facts.items()]
    again = ("run", "--keep", "misses", "--name", own.name, "--runs", str(own.parent))
    own_words = {
        "again": ("deadbeat", *again),
        "child": ("deadbeat.cli.windows", str(own)),
        "end": ("deadbeat.cli.windows", str(own), "--end"),
    }
    for key, words in own_words.items() if here else ():
        lines += [f"{key} {word}" for word in (sys.executable, "-m", *words)]
    lines += [f"event {name} {FILTERS.get(name, '')}".rstrip() for name in events]
    lines += [f"call {number} {name}" for number, name in calls.items()]
    for task, site in chosen:
        timed = derived.jobs[task.name].what in ("absolute", "unknown") and task.kind == "periodic"
        period = task.period_ns if timed and task.period_ns else 0
        numbers = (task.tid, period, task.deadline_ns or 0, *site)
        lines.append(f"thread {' '.join(map(str, numbers))} {task.name[:_NAME]}")
    with store.lock():
        atomic_write(folder / PLAN, "".join(f"{line}\n" for line in lines))
        atomic_write(folder / "maps", "".join(recording.maps.values()))
        unseen = (*recording.not_seen, *(LOSSES[name] for name in EVENTS if name not in events))
        atomic_write(folder / "not-seen", "".join(f"{line}\n" for line in unseen))
    names = ", ".join(task.name for task, _ in chosen[:5])
    yield (
        f"watches {names}{' and more' * (len(chosen) > 5)} of process {who.pid};"
        f" {duration(around_s)} before a miss are kept,"
        f" {spec.hourly} an hour and {spec.kept_mb} MB at most"
    )
    if events != EVENTS:
        yield f"a thread reads its own CPU time all the time: not seen are {LOSSES[CHARGES]}"
    if lasts_s < around_s:
        yield f"the rings hold {time_text(round(lasts_s * 1e9))} at the rate that was seen"
    left = [task.name for task in derived.tasks if task.name in derived.jobs]
    if left := [name for name in left if name not in {task.name for task, _ in chosen}]:
        yield f"not watched: {', '.join(left)}: no event tells where their jobs end"
    if few := [task.name for task in derived.tasks if task.name not in derived.jobs]:
        names = f"{', '.join(few[:5])}{' and more' * (len(few) > 5)}"
        yield f"not watched: {names}: too few jobs in {duration(spec.learn)} (--set learn=1min)"
    if here:
        yield f"one that takes its place is known by {who.words}, not by its name"


def watched_before(spec: ProgramSpec, asked: Begin) -> ProgramStore | None:
    """The result that is watched on. Raises UsageError: what is asked cannot be watched."""
    if spec.keep is None:
        if {"around", "openmetrics"} & {*asked.typed}:
            raise UsageError("--around and --openmetrics need --keep misses", "give that, too")
        return None
    if spec.openmetrics and not (asked.target or Path(spec.openmetrics).parent.is_dir()):
        raise UsageError(f"--openmetrics {spec.openmetrics}: no such folder", "make it first")
    if spec.command or spec.tries or spec.repeats > 1 or spec.twin_of or asked.simulated:
        raise UsageError(
            "--keep misses watches a process that runs, as it is", "give --pid P alone"
        )
    path = PROGRAM.find(asked.runs, spec.name) if asked.named and not asked.fresh else None
    store = ProgramStore.open(path) if path else None
    if store is not None and read(ProgramSpec, store.spec).keep is None:
        store = None
    if spec.pid[1:]:
        raise UsageError("--keep misses watches one process", "watch each by itself")
    if store is None and not spec.pid:
        raise UsageError(
            "--keep misses: which process?", "give --pid P, or --name of such a result"
        )
    return store


def _planned(store: ProgramStore) -> dict[str, str]:
    """What the plan says; empty: there is none."""
    file = store.path / KEPT / PLAN
    lines = file.read_text().splitlines() if file.is_file() else []
    return dict(line.partition(" ")[::2] for line in lines)


def planned_threads(folder: Path) -> dict[int, str]:
    """tid -> name of each thread that is watched."""
    lines = (folder / PLAN).read_text().splitlines()
    words = (line.split(" ", 9) for line in lines if line.startswith("thread "))
    return {int(each[1]): each[9] for each in words}


def keep_maps(store: ProgramStore, target: Target) -> None:
    """The maps of the process as they are now; where it has ended, as they were."""
    maps = target.read_text(f"/proc/{_planned(store).get('pid', 0)}/maps")
    if maps:
        with store.lock():
            atomic_write(store.path / KEPT / "maps", maps)


def process_of(
    given: tuple[int, ...], on: ProgramStore | None, target: Target
) -> tuple[tuple[int, ...], bool]:
    """Which process, and whether it is still to be learned; none: the keeper finds it."""
    planned = _planned(on) if on else {}
    if not planned:
        return given or (read(ProgramSpec, on.spec).pid if on else ()), True
    before, lives = int(planned["pid"]), False
    with suppress(UsageError):
        lives = before > 0 and followed(before, target).began == int(planned["began"])
    if given not in ((), (before,)):
        return given, True
    return (before,) if lives else given, bool(given) and not lives


def locked(path: Path, what: str) -> int:
    """Descriptor of a lock that this process, and what it becomes, has until its end.
    Raises DeadbeatError: another has it."""
    descriptor = -1
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY if path.is_dir() else os.O_RDWR | os.O_CREAT
        descriptor = os.open(path, flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DeadbeatError(f"another deadbeat watches {what}", "end that one first") from None
    except OSError as error:
        raise DeadbeatError(f"{path} cannot be locked: {error.strerror}") from error
    return descriptor


def keep_on(
    pids: tuple[int, ...],
    seconds: float | None,
    store: ProgramStore,
    made: Toolchain,
    locks: list[int],
) -> None:
    """Goes on as the keeper."""
    tool, file = str(tool_program(made, "recorder")), store.path / KEPT / PLAN
    words = re.sub(r"^seconds .*$", f"seconds {round((seconds or 0) * 1e9)}", file.read_text(),
                   flags=re.M)  # fmt: skip
    if not pids:  # its number may be another's by now
        words = re.sub(r"^pid .*$", "pid 0", words, flags=re.M)
    atomic_write(file, words)
    become((tool, "keep", str(file.resolve())), locks)


#: In $1, which is ours alone: begins; or says what there is, and ends it where $2 says so.
_BEGIN = """mkdir -p -m 700 -- "$1" && cd "$1" && [ -O . ] || exit 1
session=$(command -v setsid)
$session ./recorder keep plan </dev/null >log 2>&1 &
echo $! >process; sleep 1; kill -0 $! 2>/dev/null || { cat log; exit 2; }"""
_LOOK = """cd -- "$1" 2>/dev/null && [ -O . ] || exit 1
read -r process <process
lives() { [ "$(readlink /proc/$process/exe)" = "$PWD/recorder" ]; }
[ "$2" = go ] || { lives && kill "$process" && sleep 2; }
lives && echo lives
cp state counts 2>/dev/null # it is written all the time
ls | grep '^w.*[.]facts$'"""


def detach(store: ProgramStore, target: Target, made: Toolchain) -> str:
    """Begins the keeper on another machine, where it stays; what is said of it.
    Raises TargetError: it does not begin."""
    folder = _planned(store)["folder"]
    target.run(("mkdir", "-p", "-m", "700", "--", folder))
    state = store.path / KEPT / STATE
    if state.is_file() and target.run(("test", "-e", f"{folder}/{STATE}")).returncode:
        target.put(state, f"{folder}/{STATE}")
    target.put(tool_program(made, "recorder"), f"{folder}/recorder")
    target.put(store.path / KEPT / PLAN, f"{folder}/{PLAN}")
    done = target.run(("sh", "-c", _BEGIN, "sh", folder))
    if done.returncode:
        raise TargetError(f"the keeper does not begin: {(done.stdout or done.stderr).strip()}")
    return f"it watches on {target.name}, in {folder}; the same command comes back for what it kept"


def fetch(store: ProgramStore, target: Target, *, stop: bool) -> str:
    """Gets what was kept on another machine; what is said of it, "": it watches on."""
    folder, own = _planned(store).get("folder", ""), store.path / KEPT
    done = target.run(("sh", "-c", _LOOK, "sh", folder, "stop" if stop else "go"))
    if done.returncode and not done.stdout:
        return f"{target.name} has nothing in {folder} any more" if folder else "no plan is there"
    with store.lock():
        with suppress(TargetError):
            target.get(f"{folder}/counts", own / STATE)
        for facts in [line for line in done.stdout.split() if line.endswith(".facts")]:
            for name in (facts.replace(".facts", ".events"), facts):
                target.get(f"{folder}/{name}", own / name)
            target.run(("rm", "-f", f"{folder}/{facts}", f"{folder}/{facts[:-6]}.events"))
    if stop:
        target.run(("rm", "-rf", "--", folder))
    return "" if done.stdout.startswith("lives") else "it watches no more there"


def unit(path: Path) -> str:
    """A unit that watches on, from the start of the machine on; "": nothing is watched for it."""
    file = path / KEPT / PLAN
    if not file.is_file():
        return ""
    lines = file.read_text().splitlines()
    words = [line.removeprefix("again ") for line in lines if line.startswith("again ")]
    if not words:
        raise UsageError(f"{path.name} is watched on another machine", "a unit is of this one")
    return (
        f"[Unit]\nDescription=deadbeat: what led to the misses of {path.name}\n"
        "After=sysinit.target\n\n[Service]\n"
        f"ExecStart={shlex.join(words)}\nRestart=on-failure\nRestartSec=10\nNice=10\n"
        f"CPUAffinity={(os.cpu_count() or 1) - 1}\nMemoryMax=512M\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
