"""Files of /proc, each parsed here and nowhere else; pure functions from a text to values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from deadbeat.machine.host.values import COMMAND, Read, Unknown, cpu_list, parse_cpu_list

CPU_FOLDER = "/sys/devices/system/cpu"
STAT, INTERRUPTS, SOFTIRQS = "/proc/stat", "/proc/interrupts", "/proc/softirqs"
CPUINFO, MEMINFO = "/proc/cpuinfo", "/proc/meminfo"
UPTIME, LOADAVG = "/proc/uptime", "/proc/loadavg"
STATUS, LIMITS = "/proc/self/status", "/proc/self/limits"
CGROUP, MOUNTS = "/proc/self/cgroup", "/proc/self/mountinfo"
#: State of a process that asks for every CPU: the kernel gives it those that it may have.
TRIED = f'{COMMAND}allowed-cpus=exec taskset -c "$(cat {CPU_FOLDER}/possible)" cat {STATUS}'
PRESSURE = {name: f"/proc/pressure/{name}" for name in ("cpu", "io", "memory")}

#: Bit of a task's flags: it is the kernel's (include/linux/sched.h, PF_KTHREAD).
_KERNEL_THREAD = 0x00200000
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
FIFO, RR, DEADLINE = 1, 2, 6
#: Those that real-time work needs, by their bit (linux/capability.h).
CAPABILITIES = {"CAP_SYS_NICE": 23, "CAP_IPC_LOCK": 14, "CAP_SYS_RESOURCE": 24}


def colon_fields(text: str) -> dict[str, str]:
    """``name: value`` lines as a dict; the first of equal names wins. Of cpuinfo: the first CPU."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), rest.strip())
    return fields


@frozen(kw_only=True)
class Ticks:
    """Time of a CPU in ticks (USER_HZ, 10 ms nearly everywhere): since the boot, or between two
    moments. ``total`` is busy, idle and stolen time together."""

    busy: int = 0
    steal: int
    total: int

    def since(self, before: Ticks) -> Ticks:
        return Ticks(
            busy=self.busy - before.busy,
            steal=self.steal - before.steal,
            total=self.total - before.total,
        )


def ticks_of(text: str) -> dict[int, Ticks]:
    """CPU -> ticks, of /proc/stat.

    proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; the guests' time
    is in user and nice already.
    """
    found = {}
    for cpu, rest in re.findall(r"^cpu(\d+) (.*)$", text, re.M):
        values = [int(word) for word in rest.split()[:8]]
        if len(values) == 8:
            user, nice, system, _, _, irq, softirq, steal = values
            busy = user + nice + system + irq + softirq
            found[int(cpu)] = Ticks(busy=busy, steal=steal, total=sum(values))
    return found


def running_of(text: str) -> int | Unknown:
    """Threads that are ready or run, of /proc/stat."""
    found = re.search(r"^procs_running (\d+)$", text, re.M)
    return int(found[1]) if found else Unknown(f"{STAT} counts no running threads")


def online_cpus(read: Read) -> list[int]:
    """CPUs that are online, from sysfs or else from the lines of /proc/stat."""
    cpus = cpu_list(read, f"{CPU_FOLDER}/online")
    return sorted(ticks_of(read(STAT) or "")) if isinstance(cpus, Unknown) else cpus


def allowed_cpus(read: Read) -> list[int] | Unknown:
    """CPUs that a program may have when it asks for them: those of its cpuset.

    What a shell runs on is no limit: with ``isolcpus=`` it has the other CPUs, and may ask for any.
    """
    tried = colon_fields(read(TRIED) or "").get("Cpus_allowed_list")
    if tried:
        return parse_cpu_list(tried)
    group = cpu_cgroup(read, "cpuset")
    folder = group.folder if group else ""
    while group and folder.startswith(group.mount):  # the group, then those above
        for name in ("cpus.effective",) if group.version == 2 else ("effective_cpus", "cpus"):
            found = cpu_list(read, f"{folder}/cpuset.{name}")
            if not isinstance(found, Unknown) and found:
                return found
        folder = folder.rpartition("/")[0]
    return Unknown("unknown to taskset and cpuset")


def usable_cpus(read: Read) -> list[int]:
    """Online CPUs that a program may have; all, where no limit is known."""
    allowed = allowed_cpus(read)
    return [c for c in online_cpus(read) if isinstance(allowed, Unknown) or c in allowed]


@frozen(kw_only=True)
class Interrupt:
    """A line of /proc/interrupts.

    Attributes:
        counts: CPU -> how often since the boot.
        about: What is behind the counts.
    """

    counts: Mapping[int, int]
    about: str


def interrupts_of(text: str) -> dict[str, Interrupt]:
    """Label -> line of /proc/interrupts or /proc/softirqs; lines without a count for each CPU (ERR
    and MIS have one for all) are left out."""
    head, _, rest = text.partition("\n")
    cpus = [int(number) for number in re.findall(r"CPU(\d+)", head)]
    rows = {}
    for line in rest.splitlines():
        label, colon, values = line.partition(":")
        words = values.split()
        counts = words[: len(cpus)]
        if colon and len(counts) == len(cpus) and all(word.isdigit() for word in counts):
            rows[label.strip()] = Interrupt(
                counts=dict(zip(cpus, map(int, counts), strict=True)),
                about=" ".join(words[len(cpus) :]),
            )
    return rows


def waited_us(text: str) -> int | Unknown:
    """Time in which some task waited, of a file of /proc/pressure."""
    found = re.search(r"^some .*total=(\d+)", text, re.M)
    return int(found[1]) if found else Unknown("no total of what some task waited")


def uptime_of(text: str) -> float | None:
    """Seconds since the boot, of /proc/uptime."""
    words = text.split()
    return float(words[0]) if words else None


@frozen(kw_only=True)
class TaskState:
    """A process or thread as its ``stat`` file shows it (proc_pid_stat(5)).

    Attributes:
        parent: Process that its process is a child of.
        kernel: Whether it is a thread of the kernel.
        faults: Page faults, minor and major.
        ticks: CPU time; ``tree_ticks``: with that of its children that have ended.
        started_ticks: After the boot.
        priority: 1 to 99 for ``fifo`` and ``rr``; else 0.
        policy: Number of its scheduling policy; -1: the line was cut.
    """

    tid: int
    name: str
    parent: int
    kernel: bool
    faults: int
    ticks: int
    tree_ticks: int
    started_ticks: int
    priority: int
    policy: int

    @property
    def realtime(self) -> bool:
        return self.policy in (FIFO, RR, DEADLINE)

    @property
    def policy_name(self) -> str:
        return POLICIES.get(self.policy, str(self.policy))

    @property
    def words(self) -> str:
        """``multipathd (fifo 99)``."""
        return f"{self.name} ({self.policy_name}{f' {self.priority}' if self.priority else ''})"


def task_of(line: str) -> TaskState | None:
    """Parse the ``stat`` file of a process or thread; None: it ended while it was read."""
    number, _, rest = line.partition(" (")
    name, _, fields = rest.rpartition(") ")
    # Field n of proc_pid_stat(5) is the word n - 3 behind the name.
    words = fields.split()
    if len(words) < 15 or not number.strip().isdigit():
        return None
    times = [int(word) for word in words[11:15]]
    whole = len(words) > 38
    return TaskState(
        tid=int(number),
        name=name,
        parent=int(words[1]),
        kernel=bool(int(words[6]) & _KERNEL_THREAD),
        faults=int(words[7]) + int(words[9]),
        ticks=times[0] + times[1],
        tree_ticks=sum(times),
        started_ticks=int(words[19]) if whole else 0,
        priority=int(words[37]) if whole else 0,
        policy=int(words[38]) if whole else -1,
    )


def tasks_of(text: str) -> list[TaskState]:
    """Parse many ``stat`` files, a line each."""
    return [task for line in text.splitlines() if (task := task_of(line)) is not None]


def status_field(read: Read, name: str) -> str | None:
    return colon_fields(read(STATUS) or "").get(name)


def limit(read: Read, name: str) -> dict[str, int | Unknown]:
    """Soft and hard limit of the process, as /proc/self/limits names it; -1 is unlimited."""
    text = read(LIMITS)
    found = re.search(rf"^{re.escape(name)}\s+(\S+)\s+(\S+)", text or "", re.M)
    if found is None:
        why = "cannot be read" if text is None else f"has no line {name!r}"
        return dict.fromkeys(("soft", "hard"), Unknown(f"{LIMITS} {why}"))
    soft, hard = (-1 if word == "unlimited" else int(word) for word in found.groups())
    return {"soft": soft, "hard": hard}


@frozen(kw_only=True)
class Cgroup:
    """Where the process sits in the hierarchy that controls its CPU time.

    Attributes:
        version: 1 or 2.
        path: The group's path inside the hierarchy, as the process sees it.
        folder: Its folder in the file system.
        mount: Folder of the hierarchy's root.
    """

    version: int
    path: str
    folder: str
    mount: str


def cpu_cgroup(read: Read, controller: str = "cpu") -> Cgroup | None:
    """Control group of the process for CPU time, or for another controller: v1 where it has that,
    else v2."""
    memberships = [line.split(":", 2) for line in (read(CGROUP) or "").splitlines()]
    mounts = []
    for line in (read(MOUNTS) or "").splitlines():
        # Version, root and mount point of a line of mountinfo; version 0: not the controller's.
        # Fields: proc_pid_mountinfo(5).
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3:
            mount = 0, "", ""
        elif kind[0] == "cgroup2":
            mount = 2, fields[3], fields[4]
        elif kind[0] == "cgroup" and controller in kind[2].split(","):
            mount = 1, fields[3], fields[4]
        else:
            mount = 0, "", ""
        mounts.append(mount)
    for version in (1, 2):
        paths = [
            path
            for hierarchy, controllers, path in (row for row in memberships if len(row) == 3)
            if (controller in controllers.split(",") if version == 1 else hierarchy == "0")
        ]
        places = [(root, point) for kind, root, point in mounts if kind == version]
        if paths and places:
            root, point = places[0]
            # In a container the mount shows only a part of the hierarchy, the process all of it.
            inside = paths[0].removeprefix(root.rstrip("/")) if root != "/" else paths[0]
            folder = f"{point}{inside}".rstrip("/")
            return Cgroup(version=version, path=paths[0], folder=folder, mount=point)
    return None


@frozen(kw_only=True)
class Moment:
    uptime_s: float
    tasks: Mapping[int, TaskState] = field(factory=dict)
    interrupts: Mapping[str, Interrupt] = field(factory=dict)
    softirqs: Mapping[str, Interrupt] = field(factory=dict)
    ticks: Mapping[int, Ticks] = field(factory=dict)
    smi: int | None = None


def moment_of(text: str) -> Moment | Unknown:
    """What ``settings/commands/window.sh`` prints of one moment.

    A folder of a task that ended meanwhile is no failure."""
    parts = dict(re.findall(r"^==(\w+)\n(.*?)(?=^==|\Z)", text, re.M | re.S))
    if not {"uptime", "tasks", "interrupts", "softirqs", "stat"} <= {*parts}:
        return Unknown("window: a part of it is missing")
    uptime_s = uptime_of(parts["uptime"])
    if uptime_s is None:
        return Unknown(f"window: {UPTIME} could not be read")
    smi = parts.get("smi", "").strip()
    return Moment(
        uptime_s=uptime_s,
        tasks={task.tid: task for task in tasks_of(parts["tasks"]) if task.policy >= 0},
        interrupts=interrupts_of(parts["interrupts"]),
        softirqs=interrupts_of(parts["softirqs"]),
        ticks=ticks_of(parts["stat"]),
        smi=int(smi) if smi.isdigit() else None,
    )
