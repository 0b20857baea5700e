"""Recordings made by hand: a thread's waits and preemptions at given instants, as the kernel and
the shim record them."""

from __future__ import annotations

from typing import Any

import numpy as np

from deadbeat.derive.records import RECORD, Kind, Recording, Thread

CALLS = {
    0: "read",
    1: "write",
    24: "sched_yield",
    35: "nanosleep",
    202: "futex",
    230: "clock_nanosleep",
}
BEGIN, MS = 10**12, 10**6
INTERRUPT = 0x8
#: Number of a call, and its first arguments.
SLEEP, NAP, READ, WRITE, YIELD = (230, 1, 1), (230, 1, 0), (0, 5, 0), (1, 6, 0), (24, 0, 0)


class Made:
    """Instants in ns from BEGIN on; the cost of switches and calls is what a test gives."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.threads: list[Thread] = []
        self.ran: dict[int, int] = {}  # tid -> since when it runs

    def thread(self, name: str, **facts: Any) -> int:
        tid = 100 + len(self.threads)
        self.threads.append(Thread(tid=tid, pid=100, name=name, **facts))
        self.ran[tid] = 0
        self.add(0, 0, Kind.SWITCH, a=tid, cpu=self.cpu(tid))
        return tid

    def cpu(self, tid: int) -> int:
        return tid - 100

    def add(
        self, ns: int, tid: int, kind: Kind, *, a: int = 0, b: int = 0, c: int = 0, cpu: int = -1
    ) -> None:
        cpu = self.cpu(tid) if cpu < 0 else cpu
        self.rows.append((BEGIN + ns, tid, kind, cpu, a, b, c))

    def away(
        self,
        tid: int,
        off: int,
        on: int,
        *,
        state: int = 0,
        wake: int = 0,
        by: int = 0,
        to: int = 0,
        stolen: int = 0,
    ) -> None:
        """It has no CPU from off to on: preempted by ``to``, or asleep (state 1) until ``wake``."""
        self.add(off - 1, tid, Kind.RUNTIME, a=max(off - self.ran[tid] - stolen, 0))
        self.add(off, tid, Kind.SWITCH, a=to, b=state)
        if wake:
            self.add(wake, tid, Kind.WAKING, a=by, b=0 if by else INTERRUPT)
        self.add(on, to, Kind.SWITCH, a=tid, cpu=self.cpu(tid))
        self.ran[tid] = on

    def call(
        self,
        tid: int,
        enter: int,
        leave: int,
        what: tuple[int, ...],
        *,
        due: int | None = None,
        wake: int = 0,
        by: int = 0,
        ret: int = 0,
        kind: Kind = Kind.SLEEP_TIMER,
    ) -> None:
        """A call: number and arguments; it sleeps where ``wake`` is given. ``due``: what its timer is set to."""
        self.add(enter, tid, Kind.ENTER, a=what[0], b=what[1], c=what[2])
        if due is not None:
            self.add(enter, tid, kind, a=BEGIN + due, b=BEGIN + due)
        if wake:
            state = int(kind == Kind.SLEEP_TIMER)
            self.away(tid, enter, max(leave - 1, wake), state=state, wake=wake * state, by=by)
        self.add(leave, tid, Kind.EXIT, a=what[0], b=ret)

    def periodic(
        self, tid: int, period: int, work: list[int], *, late: int = 5_000
    ) -> list[tuple[int, int]]:
        """Absolute sleeps; what overruns returns from the next one at once. Begins and ends."""
        spans, now = [], 1000
        for place, c in enumerate(work):
            due = (place + 1) * period
            back = max(due + late, now + 1000)
            self.call(tid, now, back, SLEEP, due=due, wake=due if due > now else 0)
            now = back + c
            spans.append((back, now))
        self.add(now, tid, Kind.ENTER, a=230, b=1, c=1)
        return spans

    def recording(self, **more: Any) -> Recording:
        rows = np.array(sorted(self.rows, key=lambda row: row[0]), RECORD)
        end = int(rows["ns"][-1]) + MS
        facts: dict[str, Any] = {"calls": CALLS, "begin_ns": BEGIN, "end_ns": end}
        return Recording(events=rows, threads=tuple(self.threads), **facts | more)
