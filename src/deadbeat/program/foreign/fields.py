"""Events with fields by their names: of CTF and Perfetto."""

from __future__ import annotations

import re
from collections.abc import Callable

from attrs import define, field

from deadbeat.program.derive.records import RecordKind
from deadbeat.program.foreign.gathered import HANDLERS, WAKE_UP, Gathered

#: A field of an event by its name; None: it has none.
Get = Callable[[str], int | str | None]
#: Event -> kind, and fields with thread ("": the one that runs), a and b.
_EVENTS = {
    "sched_waking": (RecordKind.WAKING, "pid", "", ""),
    "sched_wakeup": (WAKE_UP, "pid", "", ""),
    "sched_stat_runtime": (RecordKind.RUNTIME, "pid", "runtime", ""),
    "sched_process_fork": (RecordKind.FORK, "parent_pid", "child_pid", ""),
    "sched_process_exec": (RecordKind.EXEC, "pid", "old_pid", ""),
    "sched_process_exit": (RecordKind.END, "pid", "", ""),
    "sched_pi_setprio": (RecordKind.PRIORITY, "pid", "oldprio", "newprio"),
    "sched_migrate_task": (RecordKind.MIGRATE, "pid", "orig_cpu", "dest_cpu"),
    "page_fault_user": (RecordKind.FAULT, "", "", ""),
    "page_fault_kernel": (RecordKind.FAULT, "", "", ""),
    "rss_stat": (RecordKind.FAULT_END, "", "", ""),
    "hrtimer_start": (RecordKind.SLEEP_TIMER, "", "softexpires", "expires"),
    "signal_deliver": (RecordKind.KILLED, "", "sig", ""),
}
#: What LTTng puts before the names of events.
_PREFIX = re.compile(
    r"^(?:\w+:)?(?:timer_(?=hrtimer)|irq_(?=softirq)|x86_exceptions_|x86_irq_vectors_|kmem_(?=rss))?"
)


@define
class FieldReader:
    """Reads events into ``found``. ``shift``: what its priorities lack to the kernel's."""

    found: Gathered = field(factory=Gathered)
    shift: int = 0
    runs: dict[int, int] = field(factory=dict)  # CPU -> thread

    def event(self, word: str, ns: int, cpu: int, get: Get, flags: int | None = None) -> None:
        """An event of a name on a CPU, which has these common_flags (None: not known)."""
        name = _PREFIX.sub("", word)
        self.found.seen[name] += 1
        runs = self.runs.get(cpu, 0)
        inside = self.found.interrupted(name, cpu, runs, flags)
        rows = self.found.rows

        def number(key: str) -> int:
            value = get(key)
            if value is None:
                value = get(key.replace("pid", "tid"))
            return value if isinstance(value, int) else 0

        if name == "sched_switch":
            goes, comes = number("prev_pid"), number("next_pid")
            for tid, key in ((goes, "prev_comm"), (comes, "next_comm")):
                self.found.names[tid] = str(get(key) or self.found.names.get(tid, "<...>"))
            low, high = (number(key) + self.shift for key in ("prev_prio", "next_prio"))
            state = number("prev_state")
            state = state & 0xFF or 0x100 * (state > 0xFF)
            c = high << 32 | low & 0xFFFFFFFF
            rows.append((ns, goes, RecordKind.SWITCH, cpu, comes, state, c))
            self.runs[cpu] = comes
        elif name in _EVENTS:
            kind, *keys = _EVENTS[name]
            tid, a, b = (number(key) if key else 0 for key in keys)
            if kind in (RecordKind.WAKING, WAKE_UP):
                a, b = runs, inside
            elif kind == RecordKind.FORK:
                self.found.makers[a] = tid
            unlike = (kind == RecordKind.SLEEP_TIMER and inside) or number("sa_handler")
            if not unlike:
                rows.append((ns, tid if keys[0] else runs, kind, cpu, a, b, 0))
        elif (handler := HANDLERS.get(name.rpartition("_")[0])) is not None:
            kind = RecordKind.INTERRUPT_END if name.endswith("_exit") else RecordKind.INTERRUPT
            rows.append((ns, runs, kind, cpu, number(handler[0]), 0, handler[1]))

    def call(
        self, name: str, ns: int, cpu: int, first: int, second: int = 0, *, leaves: bool
    ) -> None:
        """A system call of the thread that runs, or what it returns."""
        self.found.seen["call"] += 1
        if (number := self.found.call(name)) is not None:
            kind = RecordKind.EXIT if leaves else RecordKind.ENTER
            row = (ns, self.runs.get(cpu, 0), kind, cpu, number, first, second)
            self.found.rows.append(row)

    def lost(self, ns: int, cpu: int, many: int) -> None:
        """Events of a CPU that were lost before this instant."""
        self.found.lost += many
        self.found.rows.append((ns, 0, RecordKind.LOST, cpu, many, 0, 0))
