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
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import duration, time_text
from deadbeat.base.store.files import atomic_write
from deadbeat.base.store.place import PROGRAM
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.local import become
from deadbeat.program.derive.jobs import ThreadJobs
from deadbeat.program.derive.recorder import EVENTS, FILTERS
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

    stat = (target.read_text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    file = said("readlink", f"/proc/{pid}/exe").strip().removesuffix(" (deleted)")
    owner = said("stat", "-c", "%u", f"/proc/{pid}").strip()
    if not stat or not file or not owner:
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
        began=int(stat[19]),
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


def _rings(recording: Recording, around_s: float) -> tuple[int, float]:
    """KB of a ring of each CPU, and for how long that lasts at the rate that was seen, s."""
    events, seconds = recording.events, (recording.end_ns - recording.begin_ns) / 1e9
    kernel = events["cpu"][events["kind"] < RecordKind.INIT]
    cpus = np.bincount(kernel) if len(kernel) else np.ones(1)
    rate = _EVENT * float(cpus.max()) / max(seconds, 1e-3)
    wanted = int(rate * (around_s + _LOOK_S) * _BUSY / 1024)
    kb = min(max(wanted, _LEAST_KB), _RINGS_KB // 2, _ALL_KB // 2 // (os.cpu_count() or 1))
    return kb, kb * 1024 / max(rate, 1.0)


def plan(
    store: ProgramStore,
    spec: ProgramSpec,
    recording: Recording,
    derived: DerivedRun,
    who: Followed,
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
    kb, lasts_s = _rings(recording, around_s)
    calls = {site[0]: recording.calls[site[0]] for _, site in chosen if site[0] >= 0}
    base = (sys.executable, "-m", "deadbeat")
    runs = ("--runs", str(store.path.resolve().parent))
    folder = store.path.resolve() / KEPT
    again = (*base, "run", "--keep", "misses", "--name", store.path.name, *runs)
    child = (sys.executable, "-m", "deadbeat.cli.windows", str(store.path.resolve()))
    facts = {
        "pid": who.pid,
        "began": who.began,
        "folder": folder,
        "metrics": Path(spec.openmetrics).resolve() if spec.openmetrics else "",
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
    lines += [f"again {word}" for word in again]
    lines += [f"child {word}" for word in child] + [f"end {word}" for word in (*child, "--end")]
    lines += [f"event {name} {FILTERS.get(name, '')}".rstrip() for name in EVENTS]
    lines += [f"call {number} {name}" for number, name in calls.items()]
    for task, site in chosen:
        timed = derived.jobs[task.name].what in ("absolute", "unknown") and task.kind == "periodic"
        period = task.period_ns if timed and task.period_ns else 0
        words = (task.tid, period, task.deadline_ns or 0, *site, task.name[:_NAME])
        lines.append("thread " + " ".join(map(str, words)))
    with store.lock():
        atomic_write(folder / PLAN, "".join(f"{line}\n" for line in lines))
        atomic_write(folder / "maps", "".join(recording.maps.values()))
        atomic_write(folder / "not-seen", "".join(f"{line}\n" for line in recording.not_seen))
    names = ", ".join(task.name for task, _ in chosen[:5])
    yield (
        f"watches {names}{' and more' * (len(chosen) > 5)} of process {who.pid};"
        f" {duration(around_s)} before a miss are kept,"
        f" {spec.hourly} an hour and {spec.kept_mb} MB at most"
    )
    if lasts_s < around_s:
        yield f"the rings hold {time_text(round(lasts_s * 1e9))} at the rate that was seen"
    left = [task.name for task in derived.tasks if task.name in derived.jobs]
    if left := [name for name in left if name not in {task.name for task, _ in chosen}]:
        yield f"not watched: {', '.join(left)}: no event tells where their jobs end"
    yield f"one that takes its place is known by {who.words}, not by its name"


def watched_before(spec: ProgramSpec, asked: Begin) -> ProgramStore | None:
    """The result that is watched on. Raises UsageError: what is asked cannot be watched."""
    if spec.keep is None:
        return None
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


def _planned(store: ProgramStore) -> tuple[int, int]:
    """Process of the plan, and when it began; zeros: there is no plan."""
    file = store.path / KEPT / PLAN
    lines = file.read_text().splitlines() if file.is_file() else []
    words = dict(line.partition(" ")[::2] for line in lines)
    return int(words.get("pid", 0)), int(words.get("began", 0))


def process_of(
    spec: ProgramSpec, on: ProgramStore | None, target: Target | None
) -> tuple[tuple[int, ...], bool, list[int]]:
    """Which process, whether it is still to be learned, and locks of it; none: the keeper finds
    it."""
    if not spec.keep:
        return spec.pid, True, []
    before, began = _planned(on) if on else (0, 0)
    assert target is not None
    lives = False
    with suppress(UsageError):
        lives = bool(before) and followed(before, target).began == began
    given = spec.pid if spec.pid != (on and read(ProgramSpec, on.spec).pid) or not before else ()
    learns = True
    if not given or given == (before,):
        given, learns = (before,) if lives else given, not lives and bool(given)
    locks = [each for pid in given for each in locked(Path(f"/proc/{pid}"), f"process {pid}")]
    return given, learns, locks


def locked(path: Path, what: str) -> list[int]:
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
    return [descriptor]


def keep_on(pids: tuple[int, ...], store: ProgramStore, made: Toolchain, locks: list[int]) -> None:
    """Goes on as the keeper."""
    tool, file = str(tool_program(made, "recorder")), store.path / KEPT / PLAN
    if not pids:  # its number may be another's by now
        atomic_write(file, re.sub(r"^pid .*$", "pid 0", file.read_text(), flags=re.M))
    become((tool, "keep", str(file.resolve())), locks)


def unit(path: Path) -> str:
    """A unit that watches on, from the start of the machine on; "": nothing is watched for it."""
    file = path / KEPT / PLAN
    if not file.is_file():
        return ""
    lines = file.read_text().splitlines()
    words = [line.removeprefix("again ") for line in lines if line.startswith("again ")]
    return (
        f"[Unit]\nDescription=deadbeat: what led to the misses of {path.name}\n"
        "After=sysinit.target\n\n[Service]\n"
        f"ExecStart={shlex.join(words)}\nRestart=on-failure\nRestartSec=10\nNice=10\n"
        f"CPUAffinity={(os.cpu_count() or 1) - 1}\nMemoryMax=512M\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
