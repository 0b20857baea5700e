"""Half a second of a machine: its tasks, interrupts and stolen time before and after.

Counters since the boot say what was once; what reaches the real-time CPUs is what they do now.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attrs import field, frozen

from deadbeat.settings.facts import Facts, UnreadError
from deadbeat.settings.reading_cpus import cpu_set
from deadbeat.targets.readings import ALONE, MEANWHILE

WINDOW = "command:window"
AFFINITIES = "command:affinities"
GAPS = "command:gaps"

#: Bit of a task's flags: it is the kernel's (include/linux/sched.h, PF_KTHREAD).
_KERNEL_THREAD = 0x00200000
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
FIFO, RR, DEADLINE = 1, 2, 6

COMMANDS = {
    # A folder of a task that ended meanwhile is no failure, so it is the last command that counts.
    "window": ALONE
    + r"""look() {
    echo ==uptime; cat /proc/uptime
    echo ==tasks; cat /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null
    echo ==interrupts; cat /proc/interrupts
    echo ==softirqs; cat /proc/softirqs
    echo ==stat; cat /proc/stat
    echo ==smi; rdmsr -d 0x34 2>/dev/null
}
echo ==before; look; sleep 0.5 2>/dev/null || sleep 1; echo ==after; look; [ -r /proc/stat ]""",
    "affinities": "grep -sHE '^(Name|Cpus_allowed_list|VmLck):' /proc/[0-9]*/task/[0-9]*/status;"
    " [ -r /proc/1/status ]",
    # Of /proc/uptime (10 ms) and of the shell's own waiting for a CPU, without any other process.
    # Whoever is kept waiting right before or after it looks at the clock has waited within the gap:
    # so what counts is the waiting from before the earlier look to after the later one.
    "gaps": MEANWHILE
    + r"""centi() { read up idle < /proc/uptime; now=${up%.*}${up#*.}; }
waited() { read run wait slices < /proc/self/schedstat; }
waited || exit 1; before=$wait; centi; first=$now last=$now; waited; between=$wait
while [ $((now - first)) -lt 30 ]; do
    centi; waited
    [ $((now - last)) -lt 2 ] || echo "gap $((last - first)) $((now - last)) $((wait - before))"
    last=$now before=$between between=$wait
done
echo "end $((now - first))" """,
}


@frozen(kw_only=True)
class TaskState:
    """A thread as /proc/PID/task/TID/stat shows it (proc_pid_stat(5)).

    Attributes:
        kernel: Whether it is a thread of the kernel.
        policy: Number of its scheduling policy.
        priority: Of ``fifo`` and ``rr``, 1 to 99; else 0.
        faults: Page faults, minor and major.
        ticks: CPU time in ticks.
        parent: Process that its process is a child of.
        started_ticks: After the boot.
    """

    tid: int
    name: str
    kernel: bool
    policy: int
    priority: int
    faults: int
    ticks: int
    parent: int
    started_ticks: int

    @property
    def realtime(self) -> bool:
        return self.policy in (FIFO, RR, DEADLINE)

    @property
    def words(self) -> str:
        """``multipathd (fifo 99)``."""
        policy = POLICIES.get(self.policy, str(self.policy))
        return f"{self.name} ({policy}{f' {self.priority}' if self.priority else ''})"


@frozen(kw_only=True)
class Interrupt:
    """A line of /proc/interrupts.

    Attributes:
        counts: CPU -> how often since the boot.
        about: What is behind the counts.
    """

    counts: dict[int, int]
    about: str


@frozen(kw_only=True)
class Moment:
    """What was read at once."""

    uptime_s: float
    tasks: dict[int, TaskState] = field(factory=dict)
    interrupts: dict[str, Interrupt] = field(factory=dict)
    softirqs: dict[str, dict[int, int]] = field(factory=dict)
    steal: dict[int, int] = field(factory=dict)
    ticks: dict[int, int] = field(factory=dict)
    smi: int | None = None


@frozen(kw_only=True)
class Window:
    """Two moments."""

    before: Moment
    after: Moment

    @property
    def seconds(self) -> float:
        return max(self.after.uptime_s - self.before.uptime_s, 0.01)

    def interrupts(self, cpu: int) -> dict[str, int]:
        """Label -> how often on ``cpu`` between the moments; only what there was."""
        was = {label: row.counts.get(cpu, 0) for label, row in self.before.interrupts.items()}
        now = {label: row.counts.get(cpu, 0) for label, row in self.after.interrupts.items()}
        return {k: n - was.get(k, 0) for k, n in now.items() if n > was.get(k, 0)}

    def softirqs(self, cpu: int) -> dict[str, int]:
        """As `interrupts`."""
        was = {name: row.get(cpu, 0) for name, row in self.before.softirqs.items()}
        now = {name: row.get(cpu, 0) for name, row in self.after.softirqs.items()}
        return {k: n - was.get(k, 0) for k, n in now.items() if n > was.get(k, 0)}


def window(facts: Facts) -> Window:
    """The two moments. UnreadError where they were not read, or are incomplete."""
    return _window(facts.text(WINDOW))


@lru_cache(maxsize=8)
def _window(text: str) -> Window:
    before, mark, after = text.removeprefix("==before\n").partition("\n==after\n")
    if not mark:
        raise UnreadError("window: its second half is missing")
    return Window(before=_moment(before), after=_moment(after))


def tasks(facts: Facts) -> tuple[TaskState, ...]:
    """Every thread of the machine. UnreadError where some are hidden from this user."""
    found = window(facts).after.tasks
    if not any(task.kernel for task in found.values()):
        raise UnreadError(
            "/proc shows no thread of the kernel: a container's, or mounted with hidepid"
        )
    return tuple(found.values())


def realtime_tasks(facts: Facts) -> list[TaskState]:
    """Real-time threads of users, the highest priority first."""
    found = [task for task in tasks(facts) if task.realtime and not task.kernel]
    return sorted(found, key=lambda t: (-(t.policy == DEADLINE), -t.priority, t.name, t.tid))


@frozen(kw_only=True)
class Place:
    """Where a thread may run, and how much of its process is locked into memory.

    Attributes:
        pid: Of its process.
        locked_kb: None: a thread of the kernel has no memory of its own.
    """

    pid: int
    name: str
    cpus: tuple[int, ...]
    locked_kb: int | None


def places(facts: Facts) -> dict[int, Place]:
    """Thread -> where it may run. UnreadError where that was not read."""
    return _places(facts.text(AFFINITIES))


@lru_cache(maxsize=8)
def _places(text: str) -> dict[int, Place]:
    rows: dict[tuple[int, int], dict[str, str]] = {}
    pattern = r"^/proc/(\d+)/task/(\d+)/status:(\w+):[ \t]*(.*)$"
    for pid, tid, key, value in re.findall(pattern, text, re.M):
        rows.setdefault((int(pid), int(tid)), {})[key] = value
    if not rows:
        raise UnreadError("affinities: no task was read")
    return {
        tid: Place(
            pid=pid,
            name=row.get("Name", "?"),
            cpus=tuple(sorted(cpu_set(row.get("Cpus_allowed_list", "")))),
            locked_kb=int(row["VmLck"].split()[0]) if "VmLck" in row else None,
        )
        for (pid, tid), row in rows.items()
    }


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


def _moment(text: str) -> Moment:
    parts = dict(re.findall(r"^==(\w+)\n(.*?)(?=^==|\Z)", text, re.M | re.S))
    if not {"uptime", "tasks", "interrupts", "softirqs", "stat"} <= {*parts}:
        raise UnreadError("window: a part of it is missing")
    uptime = parts["uptime"].split()
    if not uptime:
        raise UnreadError("window: /proc/uptime could not be read")
    steal, ticks = _stolen(parts["stat"])
    smi = parts.get("smi", "").strip()
    return Moment(
        uptime_s=float(uptime[0]),
        tasks=_tasks(parts["tasks"]),
        interrupts=interrupts_of(parts["interrupts"]),
        softirqs={name: row.counts for name, row in interrupts_of(parts["softirqs"]).items()},
        steal=steal,
        ticks=ticks,
        smi=int(smi) if smi.isdigit() else None,
    )


def _tasks(text: str) -> dict[int, TaskState]:
    found = {}
    for tid, name, rest in re.findall(r"^(\d+) \((.*)\) (\S .*)$", text, re.M):
        # Field n of proc_pid_stat(5) is the word n - 3 behind the name.
        words = rest.split()
        if len(words) < 39:
            continue
        found[int(tid)] = TaskState(
            tid=int(tid),
            name=name,
            kernel=bool(int(words[6]) & _KERNEL_THREAD),
            policy=int(words[38]),
            priority=int(words[37]),
            faults=int(words[7]) + int(words[9]),
            ticks=int(words[11]) + int(words[12]),
            parent=int(words[1]),
            started_ticks=int(words[19]),
        )
    return found


def interrupts_of(text: str) -> dict[str, Interrupt]:
    """Label -> line of /proc/interrupts or /proc/softirqs; lines without counts are left out."""
    head, _, rest = text.partition("\n")
    cpus = [int(number) for number in re.findall(r"CPU(\d+)", head)]
    rows = {}
    for line in rest.splitlines():
        label, colon, values = line.partition(":")
        words = values.split(maxsplit=len(cpus))
        counts = words[: len(cpus)]
        if colon and len(counts) == len(cpus) and all(word.isdigit() for word in counts):
            numbers = dict(zip(cpus, map(int, counts), strict=True))
            about = " ".join(words[len(cpus) :])
            rows[label.strip()] = Interrupt(counts=numbers, about=" ".join(about.split()))
    return rows


def _stolen(text: str) -> tuple[dict[int, int], dict[int, int]]:
    """Stolen and all ticks by CPU: user nice system idle iowait irq softirq steal."""
    rows = {
        int(cpu): [int(word) for word in words.split()[:8]]
        for cpu, words in re.findall(r"^cpu(\d+) (.*)$", text, re.M)
    }
    rows = {cpu: row for cpu, row in rows.items() if len(row) == 8}
    return {c: row[7] for c, row in rows.items()}, {c: sum(row) for c, row in rows.items()}
