"""Runs a program, or joins one that runs, and records what it does."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.base.model.words import count_of, duration
from deadbeat.base.store.files import read_bytes
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets import marks
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.guarded import GuardedProgram, TargetProgram, end_rest, shared_path
from deadbeat.machine.targets.local import HostKeeper, LocalTarget
from deadbeat.program.derive.placer import FIRST_NS, Placed, Placer
from deadbeat.program.derive.quota import Quotas
from deadbeat.program.derive.recorder import Recorder, recorded_alone
from deadbeat.program.derive.records import REAL_TIME, Recording, RecordKind, killed
from deadbeat.program.derive.shim import Shim, with_variables
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.tries import ORIGINAL, ProgramChange

#: First threads, of which the memory is looked at.
_MAPPED = 64
#: From the end of a program on until what it started is followed, too.
_LINGERS_S = 0.5
#: Events and threads that are looked at in a second; it is said where it takes so long.
_EVENTS_S, _THREADS_S, _LONG_S = 200_000, 1_000, 5.0
_MARKS = "deadbeat-marks"
#: Jobs that a program elsewhere can mark: 2 MB, which are sent there and back.
_FEW_MARKS = 1 << 16
#: Places of threads that are given in this share of the time are from its begin.
_EARLY = 0.2
_NO_MARKS = marks.Marks(tasks=(), records=np.zeros(0, marks.FIELDS), dropped=0)


@frozen(kw_only=True, eq=False)
class Watched:
    """What was recorded of a program. ``status``: as `subprocess` has it; None: it did not end.
    ``stood``: how it stood still; ``stopped``: the interrupt that ended it; ``placed``: what was
    changed of its threads; ``beside``: which other runs there were meanwhile."""

    recording: Recording
    seconds: float
    marks: marks.Marks = _NO_MARKS
    status: int | None = None
    stood: str = ""
    stopped: KeyboardInterrupt | None = None
    placed: Placed = field(factory=Placed)
    beside: str = ""

    @property
    def killed(self) -> int:
        return killed(self.recording)


def again(recording: Recording) -> Watched:
    """What was recorded before; how it ended is not known."""
    return Watched(recording=recording, seconds=(recording.end_ns - recording.begin_ns) / 1e9)


def looks(watch: Watched, *, again: bool) -> Iterator[str]:
    """What is about to be done with it, where that takes a while."""
    events, threads = len(watch.recording.events), len(watch.recording.threads)
    if again:
        yield "look again at what was recorded before it was interrupted"
    if (seconds := events / _EVENTS_S + threads / _THREADS_S) > _LONG_S:
        text = f"look at {events:,} events of {count_of(threads, 'thread')}"
        yield f"{text}, about {duration(seconds)}"


def joined(
    spec: ProgramSpec,
    pids: tuple[int, ...],
    target: Target,
    toolchain: Toolchain,
    change: ProgramChange = ORIGINAL,
) -> Watched:
    """Watch processes, which go on as they were, until all end or Ctrl-C."""
    with (
        Recorder(target, toolchain) as recorder,
        Placer(target, toolchain, change.placings) as placer,
    ):
        if recorder.blind:
            raise TargetError(
                f"--pid {pids[0]} cannot be watched: {recorder.missing[0]}", "be root"
            )
        placer.begin(pids[0])
        quotas = Quotas(target)
        quotas.begin(pids[0])
        recorder.begin(*pids)
        maps = ""  # an address is another variable in each process
        if len(pids) == 1:
            maps = target.read_text(f"/proc/{pids[0]}/maps") or ""
        began = time.monotonic()
        stopped: KeyboardInterrupt | None = None
        try:
            recorder.wait(spec.duration)
        except KeyboardInterrupt as interrupt:  # of a single run the usual end
            stopped = interrupt if spec.repeats > 1 or spec.tries or spec.keep else None
        seconds = time.monotonic() - began
        recorder.missing.append("locks without contention: a process that runs takes no shim")
        recorder.missing.append("whether it writes to files that it had opened before")
        recording = evolve(recorder.finish(), attached=True)
        recording = _mapped(with_variables(recording, maps, target), target)
        recording = evolve(recording, throttled=tuple(quotas.finish()), allowed=quotas.allowed)
        placed = placer.finish()
    return Watched(
        recording=since(recording, placed), seconds=seconds, placed=placed, stopped=stopped
    )


def watched(
    spec: ProgramSpec,
    output: int | None,
    target: Target,
    toolchain: Toolchain,
    change: ProgramChange = ORIGINAL,
) -> Watched:
    """Run the command of ``spec`` with a change; its output goes to ``output``, None: to ours; to
    a file its errors, too, and where changes are tried."""
    stopped: KeyboardInterrupt | None = None
    with ExitStack() as held:
        recorder = held.enter_context(Recorder(target, toolchain))
        own, blind = os.environ.get("LD_PRELOAD", "") * is_here(target), recorder.blind
        shim = held.enter_context(
            Shim(
                target,
                spec.command,
                toolchain=toolchain,
                preloaded=own,
                sleeps=blind,
                inherit=change.inherit,
                memory=change.memory,
                slack_ns=change.slack_ns,
                out=spec.no_locks
                and not (blind or change.inherit or change.memory or change.slack_ns),
            )
        )
        placer = held.enter_context(Placer(target, toolchain, change.placings))
        quotas = Quotas(target)

        def begin(pid: int) -> None:
            quotas.begin(pid)
            placer.begin(pid)
            recorder.begin(pid)

        path, place = _marks(spec, target, held)
        others = _others(path)

        options: dict[str, Any] = {
            "more": {marks.VARIABLE: place, **shim.environment},
            "output": output,
            "ready": begin,
        }
        program: GuardedProgram | TargetProgram
        began = time.monotonic()
        if is_here(target):
            user = spec.user or ""
            ours = output in (None, 2) and not (spec.tries or spec.against)
            program = GuardedProgram(
                spec.command,
                quiet=False,
                user=user,
                errors=None if ours else output,
                look=partial(_look, others, path, quotas),
                **options,
            )
        else:
            program = TargetProgram(target, spec.command, **options)
        ended = False
        try:
            ended = program.wait(spec.duration)
            if ended and is_here(target) and not recorder.wait(_LINGERS_S):
                os.write(2, b"deadbeat: what it started goes on: until it ends, too, or Ctrl-C\n")
                recorder.wait(spec.duration and max(spec.duration - time.monotonic() + began, 0))
        except KeyboardInterrupt as interrupt:  # what was measured until now is kept
            stopped = interrupt
        finally:
            seconds = time.monotonic() - began
            try:
                recording = _mapped(recorder.finish(), target)
            finally:
                status = program.close()
            if is_here(target):
                _end_rest(recording)
            placed = placer.finish()
            recording = since(shim.finish(recording), placed)
            recording = evolve(recording, throttled=tuple(quotas.finish()), allowed=quotas.allowed)
        if ended and status == -signal.SIGINT:  # Ctrl-C reaches what has the terminal
            stopped = stopped or KeyboardInterrupt()
        if not is_here(target):
            target.get(place, path)
        found, lost = _read(path, place)
        recording = evolve(recording, not_seen=(*recording.not_seen, *lost))
    return Watched(
        recording=recording,
        marks=found,
        seconds=seconds,
        status=status if ended else None,
        stood=program.stood,
        stopped=stopped,
        placed=placed,
        beside=f"another deadbeat ran meanwhile (process {', '.join(map(str, sorted(others)))})"
        * bool(others),
    )


def _mapped(recording: Recording, target: Target) -> Recording:
    """With the maps of processes that live, those that have real-time threads first."""
    pids = {thread.pid: 1 for thread in recording.threads if thread.policy in REAL_TIME}
    pids |= {thread.pid: 1 for thread in recording.threads[:_MAPPED]}
    maps = {pid: target.read_text(f"/proc/{pid}/maps") or "" for pid in pids}
    return evolve(recording, maps=maps)


def _read(path: Path, place: str) -> tuple[marks.Marks, tuple[str, ...]]:
    """What was marked, and why not: what was recorded is there."""
    try:
        data = read_bytes(path, what="file of marks", hint="did the program remove it?")
        return marks.read(data, place), ()
    except DataError as error:
        return _NO_MARKS, (f"marks of jobs: {error}",)


def _look(others: set[int], own: Path, quotas: Quotas) -> None:
    others |= _others(own)
    quotas.look()


def _others(own: Path) -> set[int]:
    """Processes of other runs, by their files for marks beside ``own``."""
    found = set()
    for path in own.parent.glob(f"{_MARKS}-*"):
        pid = path.name.removeprefix(f"{_MARKS}-").partition("-")[0]
        with suppress(OSError, ValueError):  # it has ended, or is nothing of ours
            if path != own and Path("/proc", pid).stat().st_uid == path.lstat().st_uid:
                found.add(int(pid))
    return found


def _end_rest(recording: Recording) -> None:
    """What left the program's group and session without its environment: the recorder knows it."""
    processes = {each.pid: each for each in recording.threads if each.tid == each.pid}
    known = {pid: each.begin_ns or recording.begin_ns for pid, each in processes.items()}
    if names := [processes[pid].name for pid in end_rest(known)]:
        text = ", ".join(dict.fromkeys(names))
        os.write(2, f"deadbeat: ended what had left the program's session: {text}\n".encode())


def since(recording: Recording, placed: Placed) -> Recording:
    """``recording`` from when threads first had their places, if that was early on."""
    until = recording.begin_ns + _EARLY * (recording.end_ns - recording.begin_ns)
    at = max(
        (each.ns for each in placed.changes if each.word == "set" and each.ns < until), default=0
    )
    if at <= recording.begin_ns:
        return recording
    at += FIRST_NS
    events = recording.events.copy()
    made = events["kind"] == RecordKind.INIT  # the protocols of locks
    events["ns"][made] = np.maximum(events["ns"][made], at)
    events = events[events["ns"] >= at]
    gaps = tuple(gap for gap in recording.gaps if gap[1] > at)
    return evolve(recording, events=events[np.argsort(events["ns"], kind="stable")],
                  begin_ns=at, gaps=gaps)  # fmt: skip


def alone(spec: ProgramSpec, target: Target, toolchain: Toolchain) -> Watched:
    """Run the command of ``spec``, a file of this machine, on one that boots for it (the lab)."""
    path, *words = spec.command
    with LocalTarget() as here:  # what a kernel alone lacks
        for file in re.findall(r"(/\S+) \(0x", here.run(("ldd", path)).stdout):
            target.put(Path(file), file)
    command = (f"{target.folder}/{Path(path).name}", *words)
    target.put(Path(path), command[0])
    found, status, errors = recorded_alone(target, toolchain, command, spec.duration)
    os.write(2, errors.encode())
    missing = (*found.not_seen, "marks, and locks without contention: the lab has no shim")
    return Watched(
        recording=evolve(found, not_seen=missing),
        seconds=(found.end_ns - found.begin_ns) / 1e9,
        status=status,
    )


def _marks(spec: ProgramSpec, target: Target, held: ExitStack) -> tuple[Path, str]:
    """The file for marks, here and there, removed at the end of ``held`` or if we are killed."""
    capacity = marks.CAPACITY if is_here(target) else _FEW_MARKS
    path = shared_path(_MARKS, marks.bytes_of(capacity))
    held.callback(HostKeeper('rm -f -- "$0"', str(path)).call_off)
    held.callback(path.unlink, missing_ok=True)
    marks.create(path, capacity)
    if spec.user:
        shutil.chown(path, spec.user)
    if is_here(target):
        return path, str(path)
    place = f"{target.folder}/marks"
    target.put(path, place)
    return path, place
