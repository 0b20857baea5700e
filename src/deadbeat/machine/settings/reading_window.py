"""Half a second of a machine: its tasks, interrupts and stolen time before and after.

Counters since the boot say what was once; what reaches the real-time CPUs is what they do now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from deadbeat.machine.host.proc import DEADLINE, Interrupt, Moment, TaskState, moment_of
from deadbeat.machine.host.values import UnreadError, cpu_set, known
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import housekeeping, shared

WINDOW = "command:window"
AFFINITIES = "command:affinities"
GAPS = "command:gaps"


@frozen(kw_only=True)
class Window:
    before: Moment
    after: Moment

    @property
    def seconds(self) -> float:
        return max(self.after.uptime_s - self.before.uptime_s, 0.01)

    def interrupts(self, cpu: int) -> dict[str, int]:
        """Label -> how often on ``cpu`` between the moments; only what there was."""
        return _grown(self.before.interrupts, self.after.interrupts, cpu)

    def softirqs(self, cpu: int) -> dict[str, int]:
        """Counts of softirqs; see `interrupts`."""
        return _grown(self.before.softirqs, self.after.softirqs, cpu)


def _grown(
    before: Mapping[str, Interrupt], after: Mapping[str, Interrupt], cpu: int
) -> dict[str, int]:
    was = {label: row.counts.get(cpu, 0) for label, row in before.items()}
    now = {label: row.counts.get(cpu, 0) for label, row in after.items()}
    return {k: n - was.get(k, 0) for k, n in now.items() if n > was.get(k, 0)}


def window(facts: Facts) -> Window:
    """The two moments. UnreadError where they were not read, or are incomplete."""
    return _window(facts.text(WINDOW))


@lru_cache(maxsize=8)
def _window(text: str) -> Window:
    before, mark, after = text.removeprefix("==before\n").partition("\n==after\n")
    if not mark:
        raise UnreadError("window: its second half is missing")
    return Window(before=known(moment_of(before)), after=known(moment_of(after)))


def tasks(facts: Facts) -> tuple[TaskState, ...]:
    """Every thread of the machine. UnreadError where some are hidden from this user."""
    found = window(facts).after.tasks
    if not any(task.kernel for task in found.values()):
        raise UnreadError(
            "/proc shows no thread of the kernel: a container's, or mounted with hidepid"
        )
    return tuple(found.values())


def programs(facts: Facts) -> set[str]:
    """Names of what runs; threads of the kernel are not counted. As `tasks`."""
    return {task.name for task in tasks(facts) if not task.kernel}


def realtime_tasks(facts: Facts) -> list[TaskState]:
    """Real-time threads of users, the highest priority first."""
    found = [task for task in tasks(facts) if task.realtime and not task.kernel]
    return sorted(found, key=lambda t: (-(t.policy == DEADLINE), -t.priority, t.name, t.tid))


@frozen(kw_only=True)
class TaskPlace:
    """Where a thread may run, and how much of its process is locked into memory.

    Attributes:
        pid: Number of its process.
        locked_kb: None: a thread of the kernel has no memory of its own.
    """

    pid: int
    name: str
    cpus: tuple[int, ...]
    locked_kb: int | None


def places(facts: Facts) -> dict[int, TaskPlace]:
    """Thread -> where it may run. UnreadError where that was not read."""
    return _places(facts.text(AFFINITIES))


@lru_cache(maxsize=8)
def _places(text: str) -> dict[int, TaskPlace]:
    rows: dict[tuple[int, int], dict[str, str]] = {}
    pattern = r"^/proc/(\d+)/task/(\d+)/status:(\w+):[ \t]*(.*)$"
    for pid, tid, key, value in re.findall(pattern, text, re.M):
        rows.setdefault((int(pid), int(tid)), {})[key] = value
    if not rows:
        raise UnreadError("affinities: no task was read")
    return {
        tid: TaskPlace(
            pid=pid,
            name=row.get("Name", "?"),
            cpus=tuple(sorted(cpu_set(row.get("Cpus_allowed_list", "")))),
            locked_kb=int(row["VmLck"].split()[0]) if "VmLck" in row else None,
        )
        for (pid, tid), row in rows.items()
    }


def roaming(facts: Facts) -> list[TaskState]:
    """Threads that may run on the CPUs meant for real-time tasks and on others.

    UnreadError where no other CPU is left."""
    other, where = {*housekeeping(facts)}, places(facts)
    return [
        task
        for task in tasks(facts)
        if task.tid in where
        if shared(facts, where[task.tid].cpus) and other & {*where[task.tid].cpus}
    ]


@frozen(kw_only=True)
class Gap:
    """A time in which a spinning shell did not advance.

    Attributes:
        at_ms: After the start.
        length_ms, waited_ms: How long, and how much of it the shell waited for its CPU.
    """

    at_ms: int
    length_ms: int
    waited_ms: float

    @property
    def host_ms(self) -> float:
        """What nothing in this system explains."""
        return self.length_ms - self.waited_ms


def gaps(facts: Facts) -> tuple[int, tuple[Gap, ...]]:
    """Milliseconds that were watched, and the gaps of 20 ms or more in them."""
    text = facts.text(GAPS)
    end = re.search(r"^end (\d+)$", text, re.M)
    if not end:
        raise UnreadError("gaps: it did not run to its end")
    found = re.findall(r"^gap (\d+) (\d+) (\d+)$", text, re.M)
    return int(end[1]) * 10, tuple(
        Gap(at_ms=int(at) * 10, length_ms=int(length) * 10, waited_ms=int(waited) / 1e6)
        for at, length, waited in found
    )
