"""Who else runs, at which priority, and what this process may do about it."""

from __future__ import annotations

import re

from deadbeat.machine.host.proc import CAPABILITIES, DEADLINE, STATUS, limit, status_field
from deadbeat.machine.host.realtime import permission
from deadbeat.machine.host.values import cpus_text, known
from deadbeat.machine.settings.check import CheckVerdict, failed, none_of, passed, unknown, verdict
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import few, housekeeping, shared
from deadbeat.machine.settings.reading_window import places, programs, realtime_tasks, tasks, window

SERVICES = "command:services"
#: What latency is measured at, and what a task that matters usually has.
PRIORITY = 90
_RUNTIMES = ("dockerd", "containerd", "crio", "kubelet", "podman", "conmon", "lxd", "incusd")
_PERIODIC = ("cron", "crond", "anacron", "atd", "fcron", "busybox-crond")
_BOOT_S = 60

_NO_SYSTEMD = "systemd does not run here"


def competitors(facts: Facts) -> CheckVerdict:
    where = places(facts)
    found = [t for t in realtime_tasks(facts) if t.priority >= PRIORITY or t.policy == DEADLINE]
    here = [t.words for t in found if t.tid not in where or shared(facts, where[t.tid].cpus)]
    lower = [t.words for t in realtime_tasks(facts) if t not in found]
    why = f"they run before others on CPU {cpus_text(facts.rt_cpus)}: fine only if yours"
    return none_of(here, few(lower) or "no real-time task of a user runs", why=why)


def top_priority(facts: Facts) -> CheckVerdict:
    found = [task.words for task in realtime_tasks(facts) if task.priority == 99]
    return none_of(found, "none")


def periodic_jobs(facts: Facts) -> CheckVerdict:
    running = [task.name for task in tasks(facts) if not task.kernel and task.name in _PERIODIC]
    services = facts.reading(SERVICES)
    if services.text is None and _NO_SYSTEMD not in services.reason:
        return unknown(f"services: {services.reason}")
    timers = re.search(r"^timers ([1-9]\d*)$", facts.get(SERVICES) or "", re.M)
    parts = [*running, *([f"{timers[1]} timers of systemd"] if timers else [])]
    return none_of(parts, "no cron, no timers")


def boot_over(facts: Facts) -> CheckVerdict:
    up = window(facts).after.uptime_s
    state = re.search(r"^state (\w+)$", facts.get(SERVICES) or "", re.M)
    found = f"up for {up:.0f} s{f', {state[1]}' if state else ''}"
    begins = state and state[1] in ("initializing", "starting")
    return verdict(up >= _BOOT_S and not begins, found)


def realtime_permission(facts: Facts, limits: str, status: str) -> CheckVerdict:
    facts.text(limits), facts.text(status)
    problem = permission(facts.get, PRIORITY)
    if problem:
        return failed("refused", problem.cause, cure=problem.cure)
    return passed("allowed")


def time_limit(facts: Facts) -> CheckVerdict:
    soft = known(limit(facts.text, "Max realtime timeout")["soft"])
    # what rtkit demands of who asks it (rtkit-daemon --rttime-usec-max)
    why = (
        "as rtkit asks for: after that long without a wait it gets SIGXCPU"
        if soft == 200000
        else ""
    )
    return verdict(soft == -1, "unlimited", f"{soft} us", why=why)


def rtkit(facts: Facts) -> CheckVerdict:
    # what its threads are called: 15 letters of rtkit-daemon
    return verdict("rtkit-daemon" not in programs(facts), "not running", "rtkit-daemon runs")


def limits_file(facts: Facts, file: str, more: str, limits: str) -> CheckVerdict:
    facts.text(limits)  # a system is there
    files = {file: facts.reading(file), **facts.matches(more)}
    denied = [f"{p}: {r.reason}" for p, r in files.items() if "denied" in r.reason]
    if denied:
        return unknown(denied[0])
    lines = [
        line.strip()
        for reading in files.values()
        for line in (reading.text or "").splitlines()
        if re.match(r"\s*[^#\s]+\s+\S+\s+rtprio\s+\d", line)
    ]
    return verdict(lines, few(lines), "no line with rtprio")


def capabilities(facts: Facts) -> CheckVerdict:
    text = status_field(facts.text, "CapEff")
    if text is None:
        return unknown(f"{STATUS} has no CapEff")
    missing = [name for name, bit in CAPABILITIES.items() if not int(text, 16) >> bit & 1]
    return verdict(not missing, "all three", f"without {', '.join(missing)}")


def first_process(facts: Facts) -> CheckVerdict:
    housekeeping(facts)
    place = places(facts).get(1)
    if place is None:
        return unknown("process 1 is not to be seen")
    found = f"{place.name}: CPU {cpus_text(place.cpus)}"
    return verdict(not shared(facts, place.cpus), found)


def ordinary(facts: Facts) -> CheckVerdict:
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
    return none_of(loose, "none", why=f"they may run on CPU {cpus_text(facts.rt_cpus)}")


def containers(facts: Facts, docker: str, podman: str) -> CheckVerdict:
    names = {task.name for task in window(facts).after.tasks.values()}
    inside = [path for path in (docker, podman) if facts.get(path) is not None]
    running = [name for name in _RUNTIMES if name in names]
    return none_of([*inside, *running], "none")
