"""Who else runs, at which priority, and what this process may do about it."""

from __future__ import annotations

import re

from deadbeat.host.proc import DEADLINE, limit, status_field
from deadbeat.host.realtime import permission
from deadbeat.host.values import Unknown, cpus_text
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading_values import ONLINE, few, housekeeping, shared
from deadbeat.settings.reading_window import (
    AFFINITIES,
    WINDOW,
    places,
    realtime_tasks,
    tasks,
    window,
)

LIMITS, STATUS = "/proc/self/limits", "/proc/self/status"
UID_MAP = "/proc/self/uid_map"
SERVICES = "command:services"
LIMIT_FILES = ("/etc/security/limits.conf", "/etc/security/limits.d/*")
IN_CONTAINER = ("/.dockerenv", "/run/.containerenv")
#: What latency is measured at, and what a task that matters usually has.
PRIORITY = 90
_CAPABILITIES = {"CAP_SYS_NICE": 23, "CAP_IPC_LOCK": 14, "CAP_SYS_RESOURCE": 24}
_RUNTIMES = ("dockerd", "containerd", "crio", "kubelet", "podman", "conmon", "lxd", "incusd")
_PERIODIC = ("cron", "crond", "anacron", "atd", "fcron", "busybox-crond")
#: The two systems of Savoir-faire Linux's comparison: 171 and 100 processes, 16 and 11 services.
_SEED = "Savoir-faire Linux, Linux for real-time systems (minimal image)"
_PROCESSES, _SERVICES = 100, 11
_BOOT_S = 60

_NO_SYSTEMD = "systemd does not run here"

COMMANDS = {
    "services": rf"""
[ -d /run/systemd/system ] || {{ echo "{_NO_SYSTEMD}" >&2; exit 1; }}
echo "state $(systemctl is-system-running 2>/dev/null)"
count() {{ systemctl list-units --type=$1 --state=$2 --no-legend --plain | grep -c .; }}
echo "active $(count service active)"
echo "running $(count service running)"
echo "timers $(count timer active)" """,
}


@check(
    "tasks.competitors",
    "real-time tasks above or beside yours",
    severity="high",
    source="ros-realtime-rpi4-image issue 30 (multipathd at 99); sched(7)",
    wanted=f"no real-time task of another at {PRIORITY} or above, no SCHED_DEADLINE task",
    reads=(WINDOW, AFFINITIES),
    cure="chrt -o -p 0 PID, stop the service, or pin it away from the real-time CPUs",
)
def competitors(facts: Facts) -> Verdict:
    """A task of higher priority, or of equal priority in SCHED_FIFO, makes others wait."""
    where = places(facts)
    found = [t for t in realtime_tasks(facts) if t.priority >= PRIORITY or t.policy == DEADLINE]
    here = [t.words for t in found if t.tid not in where or shared(facts, where[t.tid].cpus)]
    if here:
        cpus = cpus_text(facts.rt_cpus)
        return failed(few(here), f"they run before others on CPU {cpus}: fine only if yours")
    lower = [t.words for t in realtime_tasks(facts) if t not in found]
    return passed(few(lower) or "no real-time task of a user runs")


@check(
    "tasks.top-priority",
    "tasks of users at priority 99",
    severity="high",
    source=f"{sources.RHEL_REALTIME}; sched(7)",
    wanted="none",
    reads=(WINDOW,),
    cure="chrt -f -p 90 TID: leave 99 to the kernel's migration and watchdog threads",
)
def top_priority(facts: Facts) -> Verdict:
    """At 99 a task competes with the kernel's own threads, which keep the machine going."""
    found = [task.words for task in realtime_tasks(facts) if task.priority == 99]
    return failed(few(found), "they compete with migration/N") if found else passed("none")


@check(
    "tasks.processes",
    "how many processes run",
    severity="info",
    source=_SEED,
    wanted=f"at most {_PROCESSES}, threads of the kernel among them",
    reads=(WINDOW, AFFINITIES),
    cure="remove or stop what the system does not need",
)
def processes(facts: Facts) -> Verdict:
    """The more there is, the more often something else is ready to run."""
    own = {place.pid for place in places(facts).values()}
    kernel = sum(task.kernel for task in tasks(facts))
    found = f"{len(own)}, {kernel} of them threads of the kernel"
    if len(own) > _PROCESSES:
        return failed(found, "more than a minimal system has")
    return passed(found, "recorded")


@check(
    "tasks.services",
    "how many services run",
    severity="info",
    source=_SEED,
    wanted=f"at most {_SERVICES} running",
    reads=(SERVICES,),
    cure="systemctl disable --now SERVICE, for those that are not needed",
)
def services(facts: Facts) -> Verdict:
    """Each may wake up at any time; a minimal system had a lower latency in the comparison."""
    counts = dict(re.findall(r"^(active|running) (\d+)$", facts.text(SERVICES), re.M))
    if {*counts} != {"active", "running"}:
        return unknown("systemctl gave no count")
    found = f"{counts['running']} running, {counts['active']} active"
    if int(counts["running"]) > _SERVICES:
        return failed(found, "more than a minimal system has")
    return passed(found, "recorded")


@check(
    "tasks.periodic-jobs",
    "jobs that start by themselves",
    severity="low",
    source=f"{sources.RHEL_REALTIME}; systemd.timer(5), cron(8)",
    wanted="no cron, no timers",
    reads=(WINDOW, SERVICES),
    cure="systemctl list-timers; systemctl disable --now TIMER, or stop cron while it matters",
)
def periodic_jobs(facts: Facts) -> Verdict:
    """Log rotation and updates come once a day, in no short measurement."""
    running = [task.name for task in tasks(facts) if not task.kernel and task.name in _PERIODIC]
    services = facts.reading(SERVICES)
    if services.text is None and _NO_SYSTEMD not in services.reason:
        return unknown(f"services: {services.reason}")
    timers = re.search(r"^timers ([1-9]\d*)$", facts.get(SERVICES) or "", re.M)
    told = [*running, *([f"{timers[1]} timers of systemd"] if timers else [])]
    if told:
        return failed(few(told), "they start work at times of their own")
    return passed("no cron, no timers")


@check(
    "tasks.boot-over",
    "the boot is over",
    severity="medium",
    source="systemctl(1), is-system-running",
    wanted=f"up for {_BOOT_S} s or more, and systemd is no longer starting",
    reads=(WINDOW, SERVICES),
    cure="wait, or see systemctl list-jobs",
)
def boot_over(facts: Facts) -> Verdict:
    """What is measured while services start is the boot."""
    up = window(facts).after.uptime_s
    state = re.search(r"^state (\w+)$", facts.get(SERVICES) or "", re.M)
    found = f"up for {up:.0f} s{f', {state[1]}' if state else ''}"
    if up < _BOOT_S or (state and state[1] in ("initializing", "starting")):
        return failed(found, "services may still be starting")
    return passed(found)


@check(
    "tasks.realtime-permission",
    f"SCHED_FIFO {PRIORITY} is permitted",
    severity="fatal",
    source="sched(7); kernel/sched/syscalls.c",
    wanted="CAP_SYS_NICE, or RLIMIT_RTPRIO high enough",
    reads=(LIMITS, STATUS, UID_MAP),
    cure=f"sudo, or 'YOU - rtprio {PRIORITY}' in /etc/security/limits.d/realtime.conf",
)
def realtime_permission(facts: Facts) -> Verdict:
    """Without it every task is an ordinary one, whatever was asked for."""
    facts.text(LIMITS), facts.text(STATUS)
    problem = permission(facts.get, PRIORITY)
    if problem:
        return failed("refused", problem.cause, cure=problem.cure)
    return passed("allowed")


@check(
    "tasks.time-limit",
    "CPU time that a real-time task may use at once",
    severity="high",
    source="getrlimit(2), RLIMIT_RTTIME; rtkit",
    wanted="RLIMIT_RTTIME unlimited",
    reads=(LIMITS,),
    cure="ulimit -R unlimited, or LimitRTTIME=infinity in the service",
)
def time_limit(facts: Facts) -> Verdict:
    """A task that computes longer without blocking gets SIGXCPU, at the hard limit SIGKILL."""
    soft = limit(facts.text, "Max realtime timeout")["soft"]
    if isinstance(soft, Unknown):
        return unknown(soft.reason)
    if soft == -1:
        return passed("unlimited")
    return failed(f"{soft} us", "a task that computes longer without blocking is killed")


@check(
    "tasks.limits-file",
    "real-time rights of users are written down",
    severity="low",
    source=f"limits.conf(5); {sources.REALTIME_SETUP}",
    wanted="a line with rtprio in /etc/security/limits.d",
    reads=(*LIMIT_FILES, LIMITS),
    cure=f"'@realtime - rtprio {PRIORITY}' and '@realtime - memlock unlimited' in limits.d",
)
def limits_file(facts: Facts) -> Verdict:
    """Without it only root has them, or whoever a service manager gives them to."""
    facts.text(LIMITS)  # a system is there
    files = {LIMIT_FILES[0]: facts.reading(LIMIT_FILES[0]), **facts.matches(LIMIT_FILES[1])}
    denied = [f"{p}: {r.reason}" for p, r in files.items() if "denied" in r.reason]
    if denied:
        return unknown(denied[0])
    lines = [
        line.strip()
        for reading in files.values()
        for line in (reading.text or "").splitlines()
        if re.match(r"\s*[^#\s]+\s+\S+\s+rtprio\s+\d", line)
    ]
    if lines:
        return passed(few(lines))
    return failed("no line with rtprio", "only root may use real-time scheduling")


@check(
    "tasks.capabilities",
    "capabilities of this process",
    severity="low",
    source="capabilities(7)",
    wanted=", ".join(_CAPABILITIES),
    reads=(STATUS,),
    cure="run as root, or with --cap-add=SYS_NICE --cap-add=IPC_LOCK --cap-add=SYS_RESOURCE",
)
def capabilities(facts: Facts) -> Verdict:
    """To schedule, to lock memory, to raise limits."""
    text = status_field(facts.text, "CapEff")
    if text is None:
        return unknown(f"{STATUS} has no CapEff")
    missing = [name for name, bit in _CAPABILITIES.items() if not int(text, 16) >> bit & 1]
    if missing:
        return failed(f"without {', '.join(missing)}", "limits decide where these are missing")
    return passed("all three")


@check(
    "tasks.first-process",
    "where everything that is started may run",
    severity="medium",
    source="systemd-system.conf(5), CPUAffinity; taskset(1)",
    wanted="process 1 is kept from the real-time CPUs",
    reads=(AFFINITIES, ONLINE),
    cure="CPUAffinity=LIST in /etc/systemd/system.conf and a reboot, or boot with isolcpus=LIST",
)
def first_process(facts: Facts) -> Verdict:
    """Every process inherits its affinity from the one that started it, and all from this one."""
    housekeeping(facts)
    place = places(facts).get(1)
    if place is None:
        return unknown("process 1 is not to be seen")
    found = f"{place.name}: CPU {cpus_text(place.cpus)}"
    if shared(facts, place.cpus):
        return failed(found, "what is started may run on the real-time CPUs")
    return passed(found)


@check(
    "tasks.ordinary",
    "ordinary tasks of users on the real-time CPUs",
    severity="medium",
    source=f"{sources.CPU_ISOLATION}; {sources.TUNED_PARTITIONING}",
    wanted="none may run there",
    reads=(WINDOW, AFFINITIES, ONLINE),
    cure="a cpuset partition (echo isolated > cpuset.cpus.partition), or boot with isolcpus=LIST",
)
def ordinary(facts: Facts) -> Verdict:
    """They cost cache, interrupts between CPUs, and time of the fair server."""
    housekeeping(facts)
    where = places(facts)
    loose = sorted(
        {
            task.name
            for task in tasks(facts)
            if not task.kernel and not task.realtime and task.tid in where
            if shared(facts, where[task.tid].cpus)
        }
    )
    if loose:
        return failed(few(loose), f"they may run on CPU {cpus_text(facts.rt_cpus)}")
    return passed("none")


@check(
    "tasks.containers",
    "containers",
    severity="info",
    source="moby 38271, kubernetes 62434, runc 2431",
    wanted="no container runtime, and not inside a container",
    reads=(WINDOW, *IN_CONTAINER),
    cure="measure on the host, or start with --cap-add=SYS_NICE --ulimit rtprio=90 and a cpuset",
)
def containers(facts: Facts) -> Verdict:
    """Capabilities, control groups and seccomp of a container come before limits of the system."""
    window(facts)
    inside = [path for path in IN_CONTAINER if facts.get(path) is not None]
    names = {task.name for task in window(facts).after.tasks.values()}
    running = [name for name in _RUNTIMES if name in names]
    if inside or running:
        return failed(few([*inside, *running]), "a container's limits may apply, and it has tasks")
    return passed("none")


@check(
    "tasks.system-call-filter",
    "a filter of system calls",
    severity="low",
    source="seccomp(2); runc 2431",
    wanted="Seccomp: 0",
    reads=(STATUS,),
    cure="--security-opt seccomp=unconfined, or SystemCallFilter= empty in the service",
)
def system_call_filter(facts: Facts) -> Verdict:
    """Each system call runs the filter first, and sched_setscheduler may be refused by it."""
    found = status_field(facts.text, "Seccomp")
    if found is None:
        return unknown(f"{STATUS} has no line Seccomp")
    if found == "0":
        return passed("none")
    return failed(f"mode {found}", "every system call is checked first")
