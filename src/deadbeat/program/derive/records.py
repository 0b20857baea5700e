"""What is recorded of a program that runs: events of the kernel and of the shim, one record each.

The recorder (runtime/observe/recorder.c) writes events of the kernel, the shim
(runtime/observe/shim.c) those of locks; both on CLOCK_MONOTONIC, so that they share a time axis.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

#: An event: when, of which thread, what, on which CPU, and what `RecordKind` says of a, b and c.
RECORD = np.dtype(
    [
        ("ns", "<u8"),
        ("tid", "<u4"),
        ("kind", "<u2"),
        ("cpu", "<u2"),
        ("a", "<i8"),
        ("b", "<i8"),
        ("c", "<i8"),
    ]
)

#: Policies above the ordinary ones.
REAL_TIME = ("fifo", "rr", "deadline")
#: From here on an object is in memory that processes share, and has one address in all of them.
SHARED = 1 << 62


#: Of what a program is given: its heap stays, its memory is locked, the slack of its timers.
HEAP, LOCKED, SLACK = 1, 2, 4
#: A number of no call: of a thread that is several, which live for a job each.
NEXT = -2
#: Above the number of any thread: a program that a thread was before has a multiple of it more.
IMAGE = 1 << 24


class RecordKind(IntEnum):
    """What a record says of a, b, c; tid: the thread that it is about."""

    # tid goes; a: tid that comes, b: state of tid (0: runs on, 0x100: preempted), c: prio of tid |
    # prio of a << 32
    SWITCH = 1
    WAKING = 2  # tid is woken; a: tid that ran, b: its common_flags (in an interrupt or not)
    RUNTIME = 3  # tid is charged a ns
    SLEEP_TIMER = 4  # tid starts a timer of its sleep; a: softexpires, b: expires
    DEADLINE_TIMER = 5  # of SCHED_DEADLINE's next release, as SLEEP_TIMER
    ENTER = 6  # tid calls; a: number of the call, b, c: its first and second argument
    EXIT = 7  # a call of tid returns; a: number of the call, b: what it returns
    FORK = 8  # tid makes thread or process a
    EXEC = 9  # tid becomes another program
    END = 10  # tid ends; a, b: its name, c: its prio
    PRIORITY = 11  # tid is boosted, or no more; a: prio before, b: prio now
    MIGRATE = 12  # a: CPU before, b: CPU now
    LOST = 13  # a: events of this CPU, or more, that were lost before this instant
    # tid is interrupted; a: number, c: 0 device, 1 softirq, 2 local timer, 3 call, 4 reschedule,
    # 5 irq work
    INTERRUPT = 14
    INTERRUPT_END = 15
    FAULT = 16  # tid has a page fault; a: its address
    FAULT_END = 17  # tid got or gave memory: ends its last page fault
    KILLED = 18  # signal a ends tid: it has no handler
    SENT = 19  # tid has sent through socket a; b: bytes, or why not; c: flags
    TAKEN = 20  # tid has received from socket a; b, c: as of SENT
    READY = 21  # socket a has more to read; b: its family, c: its protocol; tid: who ran
    DROPPED = 22  # a packet was dropped; a: the socket it was for (0: not known), c: reason
    # Of the shim; a: object, b: caller's address, c: more
    # c: protocol | type << 8 | robust << 16 | process-shared << 24 | sections.CHANGES << 25
    INIT = 32
    WANT = 33  # a lock is about to be waited for (it was taken); only where it was not free
    GOT = 34  # c: 0 mutex, 1 reader, 2 writer, 3 spin, 4 C11
    UNLOCK = 35
    TAKE = 36  # semaphore; c: 1 where it waited
    POST = 37
    COND_WAIT = 38  # waits for condition a with mutex c (which it gives up, and gets back by GOT)
    SIGNAL = 39  # c: 1 all
    BARRIER = 40  # c: 0 it came, 1 it goes on


@frozen(kw_only=True)
class RecordedThread:
    """A thread as it last was. ``number``: place among threads of its name, in order of creation.

    Attributes:
        policy: As in sched(7): other, fifo, rr, batch, idle, deadline.
        priority: Of fifo and rr, else 0.
        cpus: CPUs it may run on.
        runtime_ns, deadline_ns, period_ns: Of deadline, else 0.
        cpu_ns: CPU time it had since recording began, by the kernel, at ``sampled_ns``; -1: not
            known. A thread that ended was last looked at up to 50 ms before.
        begin_ns: When it was made, or recording began.
        start: The function that it starts in, and where, if its name is that of its process; "":
            not known.
        sleeps_in: Number of the call in which looks found it most often; -1: in none; NEXT.
    """

    tid: int
    pid: int
    name: str
    policy: str = "other"
    priority: int = 0
    cpus: tuple[int, ...] = ()
    runtime_ns: int = 0
    deadline_ns: int = 0
    period_ns: int = 0
    cpu_ns: int = -1
    sampled_ns: int = 0
    sleeps_in: int = -1
    begin_ns: int = 0
    start: str = ""


@frozen(kw_only=True, eq=False, slots=False)
class Recording:
    """Events in order of time. ``lost``: events that the buffers could not hold; ``gaps``: from
    when to when none are kept, as there were too many; ``not_seen``: what is not in it, a line
    each; ``throttled``: quotas that held it back, a sentence each; ``allowed``: what the kernel
    lets it do, as it began; ``symbols``: address -> where in
    the program, as far as known; ``names``: tid -> name, of what ran in its place; ``maps``: pid ->
    its /proc/PID/maps, the last first, where it has real-time threads; ``event_ns``: what recording
    an event takes of a thread, from and to, and ``other_call_ns`` of a system call
    of another program (0: not known); ``beside``: threads of other programs that ran meanwhile;
    ``files``: process, number, when it was looked at, what it is (`channels.Channel`, or socket),
    its inode and name; ``sockets``: inode, then of Unix type, peer, name, else local and remote
    address; ``attached``: it ran before recording began; ``held``: what its memory and timers were
    given (`HEAP`, `LOCKED`, `SLACK`), ``held_error``: errno of what they were not; ``polls``:
    charges that were made one with that before them."""

    events: NDArray[np.void]
    threads: tuple[RecordedThread, ...]
    begin_ns: int
    end_ns: int
    calls: dict[int, str] = field(factory=dict)  # numbers of system calls -> names
    symbols: dict[int, str] = field(factory=dict)
    names: dict[int, str] = field(factory=dict)
    lost: int = 0
    gaps: tuple[tuple[int, int], ...] = ()
    not_seen: tuple[str, ...] = ()
    throttled: tuple[str, ...] = ()
    allowed: dict[str, str] = field(factory=dict)
    maps: dict[int, str] = field(factory=dict)
    event_ns: tuple[float, float] = (0.0, 0.0)
    other_call_ns: float = 0.0
    beside: tuple[RecordedThread, ...] = ()
    files: tuple[tuple[int, int, int, str, int, str], ...] = ()
    sockets: tuple[tuple[Any, ...], ...] = ()
    attached: bool = False
    held: int = 0
    held_error: int = 0
    polls: int = 0

    @cached_property
    def blind(self) -> bool:
        """Whether it has no events of the kernel: none of a kind that the shim cannot write, nor a
        thread that an interrupt woke."""
        kinds, of_kernel = self.events["kind"], range(RecordKind.FORK, RecordKind.INIT)
        if np.isin(kinds, [kind for kind in of_kernel if kind != RecordKind.END]).any():
            return False
        return not (self.events["b"][kinds == RecordKind.WAKING] & IN_INTERRUPT).any()


#: What is not seen where flags of wake-ups are guessed.
BY_WHOM = "whether a thread or an interrupt woke another"
#: Of common_flags: in an interrupt or a softirq.
IN_INTERRUPT = 0x18
#: A record as Python has it: ns, tid, kind, cpu, a, b, c.
Row = tuple[int, int, int, int, int, int, int]


def in_order(rows: NDArray[np.void]) -> Iterator[Row]:
    """Each of ``rows``, some at a time."""
    for begin in range(0, len(rows), 1 << 16):
        yield from rows[begin : begin + (1 << 16)].tolist()


#: From the call that ends a process until its other threads are ended, at most.
_EXIT_NS = 50_000_000


def killed(recording: Recording) -> int:
    """How many processes a signal ended. SIGKILL ends each of the threads that there are; where
    one of them has called exit, all but that one."""
    events, pids = recording.events, {each.tid: each.pid for each in recording.threads}
    by, ends = (events[events["kind"] == kind] for kind in (RecordKind.KILLED, RecordKind.END))
    faults = {int(row["tid"]) for row in by if row["a"] != signal.SIGKILL}
    since = dict[int, int]()  # process -> when the first of its threads was killed
    for row in by:
        since.setdefault(pids.get(int(row["tid"]), 0), int(row["ns"]) - _EXIT_NS)
    alone = ends[~np.isin(ends["tid"], by["tid"])]
    exits = {
        pid for row in alone if row["ns"] > since.get(pid := pids.get(int(row["tid"]), 0), 1 << 63)
    }
    return len(faults) + len(since.keys() - exits - {pids.get(tid, tid) for tid in faults})
