"""Records what the kernel tells of a program, unmodified, while it runs.

A private instance of event tracing (`machine.trace.session`) holds the events of the program's
threads and of all that they make; runtime/observe/recorder.c drains it, and looks at the threads.
Without the right to trace, those looks are all there is, and ``not_seen`` says so.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.words import time_text
from deadbeat.base.store.files import atomic_write
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.proc import online_cpus
from deadbeat.machine.host.values import gathered, parse_cpu_list
from deadbeat.machine.targets.base import ClosedAfterwards, Completed, Process, Target, is_here
from deadbeat.machine.trace.session import Tracer
from deadbeat.program.derive.records import RECORD, RecordedThread, Recording
from deadbeat.program.derive.symbols import where

#: What a wait may be, and what may end that of another; by name, as a call of all others then costs
#: least (research: derive).
WAITS = (
    *("clock_nanosleep", "nanosleep", "futex", "futex_wait", "read", "write", "recvfrom"),
    *("recvmsg", "recvmmsg", "mq_timedreceive", "msgrcv", "epoll_wait", "epoll_pwait"),
    *("epoll_pwait2", "poll", "ppoll", "select", "pselect6", "rt_sigtimedwait", "rt_sigsuspend"),
    *("sched_yield", "semtimedop", "pause", "ioctl", "io_uring_enter"),
    *("writev", "readv", "sendto", "sendmsg", "sendmmsg", "mq_timedsend", "msgsnd"),
    *("fsync", "fdatasync", "msync", "openat", "pread64", "pwrite64", "close"),
    *("mmap", "munmap", "mremap", "brk", "madvise"),
    *("sched_setscheduler", "sched_setattr"),  # no waits: whether a policy was refused
)
#: Forms of 32-bit kernels.
_WIDTHS = ("", "_time64", "_time32")
_CALLS = tuple(
    f"syscalls/sys_{side}_{name}{width}"
    for name in WAITS
    for width in _WIDTHS
    for side in ("enter", "exit")
)
CHARGES = "sched/sched_stat_runtime"
#: Event, or what else the recorder misses -> what is not seen without it.
LOSSES = {
    "sched/sched_switch": "who runs",
    "sched/sched_waking": "who wakes whom",
    CHARGES: "execution times as charged",
    "timer/hrtimer_start": "exact releases of sleeps",
    "sched/sched_process_fork": "when threads are made",
    "sched/sched_process_exec": "when a thread becomes another program",
    "sched/sched_process_exit": "when threads end",
    "sched/sched_pi_setprio": "priority inheritance",
    "signal/signal_deliver": "signals that end processes",
    "sched/sched_migrate_task": "migrations",
    "irq/irq_handler_entry": "interrupts",
    "exceptions/page_fault_user": "page faults that do not wait",
    "syscalls": "what threads wait for: this kernel has no events of system calls",
    "kallsyms": "releases of SCHED_DEADLINE: /proc/kallsyms does not name timers",
}
#: Not every kernel has the first five; the others end what begins.
_HANDLERS = (
    *("irq_vectors/local_timer", "irq_vectors/call_function", "irq_vectors/reschedule"),
    *("irq_vectors/call_function_single", "irq_vectors/irq_work", "irq/irq_handler", "irq/softirq"),
)
_MORE = (
    *(f"{name}_{side}" for name in _HANDLERS for side in ("entry", "exit")),
    *("exceptions/page_fault_kernel", "kmem/rss_stat"),
    *("sock/sock_send_length", "sock/sock_recv_length", "sock/sk_data_ready", "skb/kfree_skb"),
)
EVENTS = (*(name for name in LOSSES if "/" in name), *_MORE, *_CALLS)
FILTERS = {
    "timer/hrtimer_start": " || ".join(
        f"function.function == {name}" for name in ("hrtimer_wakeup", "dl_task_timer")
    ),
    "signal/signal_deliver": "sa_handler == 0",
}
_BUFFER_KB = 16_384
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
#: Of a thread, as the recorder says them.
_FACTS = (
    *("tid", "pid", "policy", "priority", "sleeps_in", "runtime_ns", "deadline_ns", "period_ns"),
    *("cpu_ns", "sampled_ns", "begin_ns"),
)
#: Of the one PID namespace that knows the kernel's numbers (PROC_PID_INIT_INO).
_FIRST_NAMESPACE = "pid:[4026531836]"
#: Of a sleep: call, timer, charge, away, woken, back, return.
_SLEEP_EVENTS = 7
_PATIENCE_S = 30.0
#: What recording takes on a machine: as it says it, once for all runs.
_COSTS = WeakKeyDictionary[Target, tuple[float, float, float]]()
#: Where those of runtimes begin.
_RUNTIMES = r"^(pythread_wrapper|t_bootstrap|runtime[./]|node::|v8::|uv__)"
#: Where a thread begins, and what libraries have between that and the function that it is made for.
_THREADS = r"\b(libc|libpthread|ld-musl|_*clone3?|start_thread)\b"
_BEFORE = rf"{_THREADS}|^(std|core|alloc|boost|__gnu_cxx)::|^_|^<|\blib(stdc\+\+|glib)"


class Recorder(ClosedAfterwards):
    """Records a process and all that it makes, from `begin` on until `finish`. ``missing``: what it
    does not see, a line each; ``blind``: it has no events of the kernel.

    Args:
        target: Machine of the process. ``toolchain``: builds for it; None: for this one.

    Raises:
        BuildError: The recorder cannot be built.
    """

    def __init__(self, target: Target, toolchain: Toolchain | None = None) -> None:
        self._target = target
        self._process: Process | None = None
        self._tracer: Tracer | None = None
        self.missing: list[str] = []
        self.blind = True
        self._begin_ns = 0
        self._cost = (0.0, 0.0, 0.0)  # of an event, from and to; of a call of others
        self._file = f"{target.folder}/events"
        self._tool = str(tool_program(toolchain or Toolchain.find(), "recorder"))
        if not is_here(target):
            target.put(Path(self._tool), f"{target.folder}/recorder")
            self._tool = f"{target.folder}/recorder"
        if target.run(("readlink", "/proc/self/ns/pid")).stdout.strip() != _FIRST_NAMESPACE:
            self._lose("in a PID namespace the kernel's numbers of threads are not known")
            return
        cpus = gathered(target, online_cpus)
        self._tracer = Tracer(target, cpus=cpus, events=EVENTS, buffer_kb=_BUFFER_KB)
        if not self._tracer.folder:
            self._lose(self._tracer.unavailable)
            self._tracer = None
        self.blind = self._tracer is None

    def begin(self, *pids: int) -> None:
        """Record processes; UsageError where there are none."""
        tracer = self._tracer
        if tracer is not None and self._target in _COSTS:
            self._cost = _COSTS[self._target]
        elif tracer is not None:
            said = self._target.run((self._tool, "cost", tracer.folder)).stdout.split()
            if len(said) == len(self._cost):
                call_ns, low_ns, high_ns = (max(float(word), 0.0) for word in said)
                self._cost = low_ns / _SLEEP_EVENTS, high_ns / _SLEEP_EVENTS, call_ns
                _COSTS[self._target] = self._cost
        words = (tracer.folder if tracer else "-", self._file, "/proc/kallsyms", *map(str, pids))
        self._process = self._target.start((self._tool, *words))
        _, present = self._hear()
        if not present:
            raise UsageError(
                f"no process {pids[0]} on {self._target.name}", "check the number: ps -e"
            )
        gone = [pid for pid in pids if str(pid) not in present]
        self.missing += [f"process {pid}: it ended before recording began" for pid in gone]
        if tracer is not None:
            tracer.set("options/event-fork", "1")
            for event, text in FILTERS.items():
                tracer.set(f"events/{event}/filter", text)
            chosen = tracer.set("set_event_pid", " ".join(present))
            _, again = self._ask("look")
            if again != present:  # made before event-fork knew their maker
                chosen = tracer.set("set_event_pid", " ".join(again))
            if chosen:
                tracer.start()
            if tracer.unavailable or not chosen:
                self._lose(tracer.unavailable or "it does not choose threads (set_event_pid)")
        self._begin_ns, _ = self._ask("begin")

    def wait(self, seconds: float | None) -> bool:
        """Until the process and all that it made have ended, or this time is over (None: however
        long it takes); whether they have, or the recorder itself."""
        assert self._process is not None
        with suppress(TargetError):
            self._process.read_line(seconds)  # where the recorder is gone `finish` says it
            return True
        return False

    def finish(self) -> Recording:
        """End recording. What ended and was not waited for is looked at a last time.
        Raises TargetError: the recorder failed."""
        assert self._process is not None
        lost = 0
        end_ns, _ = self._ask("look")
        if self._tracer is not None:
            self._tracer.stop()
            lost = self._tracer.lost
        completed = self._process.close(_PATIENCE_S)
        lines = _lines(completed)
        self.close()
        return recorded_from(
            lines,
            _fetched(self._target, self._file),
            self.missing,
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            lost=lost,
            event_ns=self._cost[:2],
            other_call_ns=self._cost[2],
            target=self._target,
        )

    def close(self) -> None:
        """Remove the instance. Safe to call again."""
        if self._process is not None:  # first: the kernel removes no instance that is read
            self._process.kill()
        if self._tracer is not None:
            self._tracer.close()

    def _lose(self, reason: str) -> None:
        text = f"who runs instead of a thread, and who wakes it: {reason}"
        self.missing.insert(0, text)

    def _ask(self, word: str) -> tuple[int, list[str]]:
        assert self._process is not None
        with suppress(TargetError):  # where it is gone, there is no answer
            self._process.write_line(word)
        return self._hear()

    def _hear(self) -> tuple[int, list[str]]:
        """Time and threads of a look; what it misses is kept."""
        assert self._process is not None
        while (line := self._process.read_line(_PATIENCE_S)) is not None:
            word, *rest = line.split()
            if word == "threads":
                return int(rest[0]), rest[1:]
            if word == "missing":
                self.missing += [LOSSES[rest[0]]] if rest[0] in LOSSES else []
            elif word != "gone":
                raise TargetError(f"the recorder failed: {line}")
        raise TargetError("the recorder was killed: nothing is known of this run", "repeat it")


def recorded_alone(
    target: Target, toolchain: Toolchain, command: Sequence[str], seconds: float | None
) -> tuple[Recording, int | None, str]:
    """What a command did on a machine that begins and ends with it, its exit status (None: it did
    not end within ``seconds``), and what it wrote. Raises TargetError: the recorder failed."""
    tool, out, names = (f"{target.folder}/{name}" for name in ("recorder", "events", "names"))
    target.put(tool_program(toolchain, "recorder"), tool)
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(f"{name} {FILTERS.get(name, '')}".strip() for name in EVENTS)
        atomic_write(Path(folder, "names"), f"{text}\n")
        target.put(Path(folder, "names"), names)
    most = ("--seconds-ns", str(round(seconds * 1e9))) if seconds else ("--until-its-end", "0")
    words = (tool, "watch", "--out", out, *most, names, *command)
    with target.start(words) as process:
        completed = process.close()
    lines = _lines(completed)
    begin, *_, end = (int(text.split()[0]) for word, text in lines if word == "threads")
    status = next((int(text) for word, text in lines if word == "status"), None)
    missing = [LOSSES[text] for word, text in lines if word == "missing" and text in LOSSES]
    lost = sum(int(text) for word, text in lines if word == "lost")
    events = _fetched(target, out)
    found = recorded_from(lines, events, missing, begin_ns=begin, end_ns=end, lost=lost)
    return found, status, completed.stderr


def _lines(completed: Completed) -> list[tuple[str, str]]:
    """First word and rest of all that a recorder said at its end."""
    said = completed.stdout.removesuffix("\n").split("\n")
    found = [(word, rest) for word, _, rest in (line.partition(" ") for line in said)]
    if completed.returncode != 0 or not found or found[-1][0] != "ended":
        raise TargetError(f"the recorder failed: {completed.stdout[-200:].strip()}")
    return found


def recorded_from(
    lines: Sequence[tuple[str, str]],
    events: NDArray[np.void],
    missing: list[str],
    target: Target | None = None,
    **facts: Any,
) -> Recording:
    """What a recorder said at its end, with its events."""
    stride, window = map(int, lines[-1][1].split())
    ns = events["ns"]
    last = np.arange(window, len(ns), window) if stride > 1 else np.zeros(0, int)
    gaps = np.column_stack([ns[last - 1], ns[last]]).tolist()
    if gaps:
        gaps.append([int(ns[-1]), max(int(ns[-1]), facts["end_ns"])])
        whole_ns = facts["end_ns"] - facts["begin_ns"]
        share = 1 - sum(end - begin for begin, end in gaps) / whole_ns
        each = time_text(share * whole_ns / len(gaps))
        missing.append(f"{1 - share:.0%} of the time: too many events; windows of {each} are kept")
    for full in (rest for word, rest in lines if word == "full"):
        at, why = full.split(" ", 1)
        gaps.append([int(at), max(int(at), facts["end_ns"])])
        missing.append(f"all that came after {(int(at) - facts['begin_ns']) / 1e9:.1f} s: {why}")
    calls, names = (
        dict(text.split(" ", 1) for word, text in lines if word == kind)
        for kind in ("call", "name")
    )
    threads, beside = (
        tuple(_thread(text) for word, text in lines if word == kind)
        for kind in ("thread", "beside")
    )
    starts = _starts(lines, threads, target) if target else {}
    return Recording(
        events=events,
        threads=tuple(evolve(each, start=starts.get(each.tid, "")) for each in threads),
        beside=beside,
        files=tuple(_file(text) for word, text in lines if word == "fd"),
        sockets=tuple(_socket(text) for word, text in lines if word == "socket"),
        calls={int(number): name for number, name in calls.items()},
        names={int(tid): name for tid, name in names.items()},
        not_seen=tuple(missing),
        gaps=tuple((begin, end) for begin, end in gaps),
        polls=sum(int(text) for word, text in lines if word == "polls"),
        **facts,
    )


def _thread(text: str) -> RecordedThread:
    """A thread from a line of the recorder."""
    *words, cpus, name = text.split(" ", 12)
    fields: dict[str, Any] = dict(zip(_FACTS, map(int, words), strict=True))
    fields["policy"] = _POLICIES.get(fields["policy"], str(fields["policy"]))
    allowed = () if cpus == "-" else tuple(parse_cpu_list(cpus))
    return RecordedThread(name=name, cpus=allowed, **fields)


def _file(text: str) -> tuple[int, int, int, str, int, str]:
    pid, file, ns, kind, number, name = text.split(" ", 5)
    return int(pid), int(file), int(ns), kind, int(number), name


def _socket(text: str) -> tuple[Any, ...]:
    number, *facts = text.split(" ")
    return int(number), *facts


def _starts(
    lines: Sequence[tuple[str, str]], threads: Sequence[RecordedThread], target: Target
) -> dict[int, str]:
    """tid -> the function that it starts in, and where that is, as far as known."""
    maps: dict[int, str] = defaultdict(str)
    returns: dict[int, list[int]] = defaultdict(list)
    for word, text in lines:
        first, _, rest = text.partition(" ")
        if word == "map":
            maps[int(first)] += f"{rest}\n"
        elif word == "start":
            returns[int(first)].append(int(rest, 16))
    found = {}
    for pid, files in maps.items():
        mine = [each.tid for each in threads if each.pid == pid and each.tid in returns]
        code, _ = where({at for tid in mine for at in returns[tid]}, (), files, target, outer=True)
        for tid in mine:
            first, *calls = (code.get(at, "") for at in returns[tid])
            # what a function without a name calls is not where it starts
            own = next((each for each in calls if each and not re.search(_BEFORE, each)), "")
            known = " (" in own and not re.match(_RUNTIMES, own)
            if known and re.search(_THREADS, first):
                found[tid] = own
    return found


def _fetched(target: Target, file: str) -> NDArray[np.void]:
    """Mapped, so that memory holds no more of an hour than what is looked at."""
    if is_here(target):
        events = read_events(Path(file))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "events")
            target.get(file, path)
            events = read_events(path)
    target.run(("rm", "-f", file))
    return events


def read_events(path: Path) -> NDArray[np.void]:
    """What the recorder wrote, in order of time."""
    if path.stat().st_size == 0:
        return np.empty(0, RECORD)
    events: NDArray[np.void] = np.memmap(path, RECORD, "r")
    ns = events["ns"]
    # where a CPU was held longer between its clock and its buffer than the recorder waits
    return events[np.argsort(ns, kind="stable")] if np.any(ns[1:] < ns[:-1]) else events
