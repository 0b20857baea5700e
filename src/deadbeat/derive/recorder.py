"""Records what the kernel tells of a program, unmodified, while it runs.

A private instance of event tracing (`deadbeat.trace.session`) holds the events of the program's
threads and of all that they make; runtime/observe/recorder.c drains it, and looks at the threads.
Without the right to trace, those looks are all there is, and ``not_seen`` says so.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deadbeat.build.native import native_root, one_file_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.derive.records import RECORD, Recording, Thread
from deadbeat.host.proc import online_cpus
from deadbeat.host.values import gathered, parse_cpu_list
from deadbeat.model.errors import TargetError, UsageError
from deadbeat.targets.base import Process, Target, is_here
from deadbeat.targets.guarded import GRACE_S, found
from deadbeat.targets.local import environment
from deadbeat.trace.session import Tracer

#: What a wait may be; by name, as a call of all others then costs least (research: derive).
_WAITS = (
    *("clock_nanosleep", "nanosleep", "futex", "futex_wait", "read", "write", "recvfrom"),
    *("recvmsg", "recvmmsg", "mq_timedreceive", "msgrcv", "epoll_wait", "epoll_pwait"),
    *("epoll_pwait2", "poll", "ppoll", "select", "pselect6", "rt_sigtimedwait", "rt_sigsuspend"),
    *("sched_yield", "semtimedop", "pause", "ioctl", "io_uring_enter"),
)
#: Forms of 32-bit kernels.
_WIDTHS = ("", "_time64", "_time32")
_CALLS = tuple(
    f"syscalls/sys_{side}_{name}{width}"
    for name in _WAITS
    for width in _WIDTHS
    for side in ("enter", "exit")
)
#: Event, or what else the recorder misses -> what is not seen without it.
_LOSSES = {
    "sched/sched_switch": "who runs",
    "sched/sched_waking": "who wakes whom",
    "sched/sched_stat_runtime": "execution times as charged",
    "timer/hrtimer_start": "exact releases of sleeps",
    "sched/sched_process_fork": "when threads are made",
    "sched/sched_process_exec": "when a thread becomes another program",
    "sched/sched_process_exit": "when threads end",
    "sched/sched_pi_setprio": "priority inheritance",
    "sched/sched_migrate_task": "migrations",
    "syscalls": "what threads wait for: this kernel has no events of system calls",
    "kallsyms": "releases of SCHED_DEADLINE: /proc/kallsyms does not name timers",
}
EVENTS = (*(name for name in _LOSSES if "/" in name), *_CALLS)
_FILTER = "function.function == hrtimer_wakeup || function.function == dl_task_timer"
_BUFFER_KB = 16_384
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
#: Of the one PID namespace that knows the kernel's numbers (PROC_PID_INIT_INO).
_FIRST_NAMESPACE = "pid:[4026531836]"
_PATIENCE_S = 30.0


class Recorder:
    """Starts ``command`` and records it, or the process ``pid`` and all that it made, until
    `finish`. The program has the standard streams, terminal and environment of this process.

    Args:
        target: Machine of the program; today this one.
        command: Program and arguments.
        pid: A process that runs already, instead; it goes on afterwards.
        more: Added to the environment of ``command``.
        stdout: Where its output goes instead.

    Attributes:
        status: Exit status of ``command``, as `subprocess` has it; None until it ended.
        interrupted: Whether Ctrl-C ended a wait.

    Raises:
        UsageError: There is no such program or process.
    """

    def __init__(
        self,
        target: Target,
        *,
        command: Sequence[str] = (),
        pid: int | None = None,
        more: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        self.status: int | None = None
        self.interrupted = False
        self._target = target
        self._file = f"{target.folder}/events"
        self._program: subprocess.Popen[bytes] | None = None
        self._recorder: Process | None = None
        self._tracer: Tracer | None = None
        self._gate = -1
        self._missing: list[str] = []
        self._told: list[list[str]] = []
        if command:
            found(command[0])
        if not is_here(target):
            raise UsageError(f"programs on {target.name} cannot be recorded yet")
        try:
            tool = one_file_program(Toolchain.find(), native_root() / "runtime/observe/recorder.c")
            if command:
                pid = self._start(tool, command, more or {}, stdout)
            assert pid is not None
            self._pid = pid
            self._begin(tool)
        except BaseException:
            self.close()
            raise

    def _start(
        self, tool: Path, command: Sequence[str], more: Mapping[str, str], stdout: int | None
    ) -> int:
        """Start the program, which waits at its gate before it becomes ``command``."""
        opened, self._gate = os.pipe()
        try:
            self._program = subprocess.Popen(
                (str(tool), "gate", str(opened), *command),
                stdout=stdout,
                env={**environment(), **more},
                pass_fds=(opened,),
            )
        finally:
            os.close(opened)
        return self._program.pid

    def _begin(self, tool: Path) -> None:
        target = self._target
        reason = ""
        if target.run(("readlink", "/proc/self/ns/pid")).stdout.strip() != _FIRST_NAMESPACE:
            reason = "in a PID namespace the kernel's numbers of threads are not known"
        else:
            cpus = gathered(target, online_cpus)
            self._tracer = Tracer(target, cpus=cpus, events=EVENTS, buffer_kb=_BUFFER_KB)
            reason = self._tracer.unavailable
        folder = self._tracer.folder if self._tracer and not reason else "-"
        words = (str(tool), folder, self._file, "/proc/kallsyms", str(self._pid))
        self._recorder = target.start(words)
        _, present = self._hear()
        if not present:
            raise UsageError(f"no process {self._pid} here", "check the number: ps -e")
        if self._tracer is not None and not reason:
            self._tracer.set("options/event-fork", "1")
            self._tracer.set("events/timer/hrtimer_start/filter", _FILTER)
            self._tracer.set("set_event_pid", " ".join(present))
            self._begin_ns, again = self._ask()
            if again != present:  # made before event-fork knew their maker
                self._tracer.set("set_event_pid", " ".join(again))
            self._tracer.start()
            reason = self._tracer.unavailable
        else:
            self._begin_ns, _ = self._ask()
        if reason:
            text = f"events of the kernel: {reason}; threads are known by looks at /proc alone"
            self._missing.insert(0, text)
        if self._gate >= 0:
            with suppress(BrokenPipeError):
                os.write(self._gate, b"\n")
            os.close(self._gate)
            self._gate = -1

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it ended within this time; None: however long it takes, or until Ctrl-C."""
        try:
            file = os.pidfd_open(self._pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(file, select.POLLIN)
            return bool(poll.poll(None if seconds is None else seconds * 1000))
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        finally:
            os.close(file)

    def finish(self) -> Recording:
        """End recording, then ``command`` where it still runs; what was recorded.
        Raises TargetError: the recorder failed."""
        assert self._recorder is not None
        end_ns, _ = self._ask()
        lost = 0
        if self._tracer is not None and self._tracer.folder:
            self._tracer.stop()
            lost = self._tracer.lost
        recorder, self._recorder = self._recorder, None
        completed = recorder.close(_PATIENCE_S)
        lines = [line.split(" ", 1) for line in completed.stdout.splitlines()]
        if completed.returncode != 0 or not lines or lines[-1][0] != "ended":
            raise TargetError(f"the recorder failed: {completed.stdout[-200:].strip()}")
        threads = [_thread(text) for word, text in lines if word == "thread"]
        _, dropped, full_ns = map(int, lines[-1][1].split())
        if dropped:
            end_ns = full_ns
            seconds = (full_ns - self._begin_ns) / 1e9
            self._missing.append(f"what came after {seconds:.0f} s: 1 GB of events are the most")
        self._end({thread.pid for thread, ended in threads if not ended})
        if self._tracer is not None:
            self._tracer.close()
        calls = (text.split(" ") for word, text in lines if word == "call")
        return Recording(
            events=self._events(),
            threads=tuple(thread for thread, _ in threads),
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            calls={int(number): name for number, name in calls},
            lost=lost,
            not_seen=tuple(self._missing),
        )

    def close(self) -> None:
        """End whatever goes on, and remove the instance. Safe to call again."""
        if self._gate >= 0:
            os.close(self._gate)
            self._gate = -1
        if self._recorder is not None:
            self._recorder.kill()
        self._end(set())
        if self._tracer is not None:
            self._tracer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, made: set[int]) -> None:
        """End ``command`` and the processes that it ``made``, where it did not end by itself."""
        program, self._program = self._program, None
        if program is None:
            return
        if not self.wait(GRACE_S if self.interrupted else 0):  # Ctrl-C is the program's as well
            for number in (signal.SIGTERM, signal.SIGKILL):
                for pid in {program.pid, *made}:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
                if self.wait(GRACE_S):
                    break
        self.status = program.wait()

    def _ask(self) -> tuple[int, list[str]]:
        assert self._recorder is not None
        self._recorder.write_line("look")
        return self._hear()

    def _hear(self) -> tuple[int, list[str]]:
        """Time and threads of a look; what it misses is kept."""
        assert self._recorder is not None
        while (line := self._recorder.read_line(_PATIENCE_S)) is not None:
            word, *rest = line.split()
            if word == "threads":
                return int(rest[0]), rest[1:]
            if word == "missing":
                self._missing.append(_LOSSES[rest[0]])
            else:
                raise TargetError(f"the recorder failed: {line}")
        raise TargetError("the recorder ended without a word")

    def _events(self) -> NDArray[np.void]:
        """Mapped, so that memory holds no more of an hour than what is looked at."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(self._file)
            if not is_here(self._target):
                path = Path(folder) / path.name
                self._target.get(self._file, path)
            events = read_events(path)
        self._target.run(("rm", "-f", self._file))
        return events


def read_events(path: Path) -> NDArray[np.void]:
    """What the recorder wrote, in order of time."""
    if path.stat().st_size == 0:
        return np.empty(0, RECORD)
    events: NDArray[np.void] = np.memmap(path, RECORD, "r")
    ns = events["ns"]
    # where a CPU was held longer between its clock and its buffer than the recorder waits
    return events[np.argsort(ns, kind="stable")] if np.any(ns[1:] < ns[:-1]) else events


def _thread(text: str) -> tuple[Thread, bool]:
    """A thread from a line of the recorder, and whether it ended."""
    *words, cpus, name = text.split(" ", 12)
    tid, pid, ended, policy, priority, runtime, deadline, period, cpu, sampled, begin = (
        int(word) for word in words
    )
    thread = Thread(
        tid=tid,
        pid=pid,
        name=name,
        policy=_POLICIES.get(policy, str(policy)),
        priority=priority,
        cpus=() if cpus == "-" else tuple(parse_cpu_list(cpus)),
        runtime_ns=runtime,
        deadline_ns=deadline,
        period_ns=period,
        cpu_ns=cpu,
        sampled_ns=sampled,
        begin_ns=begin,
    )
    return thread, bool(ended)
