"""Recordings made by hand: a thread's waits and preemptions at given instants, as the kernel and
the shim record them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deadbeat.program.derive.records import RECORD, RecordedThread, Recording, RecordKind

CALLS = {
    0: "read",
    1: "write",
    24: "sched_yield",
    35: "nanosleep",
    202: "futex",
    230: "clock_nanosleep",
}
#: Number of a call, and its first arguments.
SLEEP, NAP, READ, WRITE, YIELD = (230, 1, 1), (230, 1, 0), (0, 5, 0), (1, 6, 0), (24, 0, 0)
FUTEX = (202, 0x7000, 0x80 | 9)
BEGIN, MS, IN_INTERRUPT = 10**12, 10**6, 0x8


class Made:
    """Instants in ns from BEGIN on. Each thread has a CPU of its own."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.threads: list[RecordedThread] = []
        self.stolen: dict[tuple[int, int], int] = {}  # (tid, when it leaves its CPU) -> ns

    def thread(self, name: str, **facts: Any) -> int:
        tid = 100 + len(self.threads)
        self.threads.append(RecordedThread(tid=tid, pid=100, name=name, **facts))
        self.rows.append((BEGIN, 0, RecordKind.SWITCH, tid - 100, tid, 0, 0))
        return tid

    def add(self, ns: int, tid: int, kind: RecordKind, *abc: int) -> None:
        self.rows.append((BEGIN + ns, tid, kind, tid - 100, *(*abc, 0, 0, 0)[:3]))

    def away(self, tid: int, off: int, on: int, *, wake: int = 0, **more: int) -> None:
        """It has no CPU from ``off`` to ``on``: asleep until ``wake``, else preempted; ``by`` whom,
        ``state`` it left in, what was ``stolen`` of its time since it had the CPU, who ran
        ``beside`` with which ``prio``."""
        by, state = more.get("by", 0), more.get("state", int(wake > 0))
        self.stolen[tid, off] = more.get("stolen", 0)
        other = more.get("beside", 0 if wake else by)
        self.add(off, tid, RecordKind.SWITCH, other, state, more.get("prio", 0) << 32)
        if wake:
            self.add(wake, tid, RecordKind.WAKING, by, 0 if by else IN_INTERRUPT)
        self.rows.append((BEGIN + on, other, RecordKind.SWITCH, tid - 100, tid, 0, 0))

    def call(self, tid: int, enter: int, leave: int, what: Sequence[int], **more: int) -> None:
        """A call; ``due``: what its timer is set to; it sleeps where ``wake`` is given."""
        self.add(enter, tid, RecordKind.ENTER, *what)
        if "due" in more:
            self.add(enter, tid, RecordKind.SLEEP_TIMER, BEGIN + more["due"], BEGIN + more["due"])
        if more.get("wake"):
            self.away(tid, enter + 100, leave - 100, wake=more["wake"], by=more.get("by", 0))
        self.add(leave, tid, RecordKind.EXIT, what[0], more.get("ret", 0))

    def loop(
        self,
        tid: int,
        releases: Sequence[int],
        work: Sequence[int],
        *,
        what: Sequence[int] = SLEEP,
        by: int = 0,
    ) -> list[tuple[int, int]]:
        """Waits for each of ``releases``, and works; what is late waits no more. Begins, ends."""
        spans, now = [], 1000
        for due, c in zip(releases, work, strict=True):
            back = max(due + 5000, now + 1000)
            timer = {"due": due} if what in (SLEEP, NAP) else {}
            wake = {"wake": due, "by": by} if due > now + 200 else {}
            self.call(tid, now, back, what, **timer, **wake)
            now = back + c
            spans.append((back, now))
        self.add(now, tid, RecordKind.ENTER, *what)
        return spans

    def recording(self, **more: Any) -> Recording:
        rows, since = [], {thread.tid: BEGIN for thread in self.threads}
        for row in sorted(self.rows, key=lambda row: row[0]):
            if row[2] == RecordKind.SWITCH and row[1]:  # it is charged when it leaves
                ran = (
                    row[0]
                    - since.get(row[1], row[0])
                    - self.stolen.get((row[1], row[0] - BEGIN), 0)
                )
                rows.append((row[0] - 1, row[1], RecordKind.RUNTIME, row[3], ran, 0, 0))
            since |= {row[4]: row[0]} if row[2] == RecordKind.SWITCH else {}
            rows.append(row)
        events = np.array(rows, RECORD)
        end = int(events["ns"][-1]) + MS
        facts: dict[str, Any] = {"calls": CALLS, "begin_ns": BEGIN, "end_ns": end}
        return Recording(events=events, threads=tuple(self.threads), **facts | more)
