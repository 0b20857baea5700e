"""What the scheduler takes from real-time tasks, and gives back."""

from __future__ import annotations

import re

from deadbeat.base.model.systems import bandwidth
from deadbeat.machine.host.judgements import limit_holds
from deadbeat.machine.host.kernel import VERSION
from deadbeat.machine.host.proc import CGROUP, DEADLINE, MOUNTS, cpu_cgroup
from deadbeat.machine.host.realtime import ROOT_GROUP, controlling_group
from deadbeat.machine.host.values import UnreadError, cpus_text
from deadbeat.machine.settings.check import (
    CheckVerdict,
    failed,
    judged,
    none_of,
    passed,
    shut,
    unknown,
    verdict,
)
from deadbeat.machine.settings.facts import ONLINE, Facts
from deadbeat.machine.settings.reading import (
    cpu_of,
    few,
    groups_realtime,
    housekeeping,
    release,
    root_domains,
)
from deadbeat.machine.settings.reading_window import places, realtime_tasks, roaming, tasks

#: Time per second that a fair server gives to ordinary tasks by default.
_FAIR_DEFAULT = "the kernel's default is 50 ms of each second"


def rt_bandwidth(facts: Facts, runtimes: str, periods: str) -> CheckVerdict:
    runtime, period = facts.integer(runtimes), facts.integer(periods)
    found = f"{runtime} of {period} us"
    if runtime < 0 or runtime >= period:
        return passed(found, "no limit; from Linux 6.12 on the fair server takes time nevertheless")
    if (runtime == 0 or facts.workload == "compute") and not _limit_holds(facts):
        return passed(
            found,
            "since Linux 6.12 a kernel without RT_GROUP_SCHED stops no real-time task by it; it"
            " only bounds what SCHED_DEADLINE may reserve",
        )
    if runtime == 0:
        return failed(found, severity="fatal", cure="sysctl -w kernel.sched_rt_runtime_us=950000")
    return verdict(
        facts.workload != "compute",
        found,
        why=f"a task that computes without a pause loses {period - runtime} us of each {period};"
        " tuned sets -1, and the limit was a safety net: a task that never sleeps can then"
        " take the machine",
        well=f"a limit that only a CPU used above {100 * runtime // period} % reaches; tuned (-1)"
        " gives this safety net up, which --workload compute asks for",
    )


def _limit_holds(facts: Facts) -> bool:
    """See `limit_holds`. UnreadError where that takes a configuration that could not be read."""
    kernel = release(facts)
    return limit_holds(kernel, kernel < (6, 12) or facts.option("RT_GROUP_SCHED") == "y")


def fair_server(facts: Facts, runtimes: str) -> CheckVerdict:
    if release(facts) < (6, 12):
        return passed("none before Linux 6.12")
    found = _numbers(facts, runtimes)
    if not facts.rt_cpus or not {*facts.rt_cpus} <= found.keys():
        return shut(facts, runtimes, f"assume that {_FAIR_DEFAULT}")
    serving = {cpu: found[cpu] for cpu in facts.rt_cpus if found[cpu]}
    if not serving:
        return passed(f"0 on CPU {cpus_text(facts.rt_cpus)}")
    worst = max(serving.values())
    text = f"up to {worst / 1e6:g} ms of each second on CPU {cpus_text(serving)}"
    return verdict(
        facts.workload == "periodic",
        text,
        well="it serves ordinary tasks only where real-time ones leave them no time",
        severity="high" if facts.workload == "compute" else "medium",
    )


def group_rt_runtime(facts: Facts, group: str) -> CheckVerdict:
    text = facts.text(group)
    if not text.startswith(("none", "absent")):
        file, _, runtime = text.rpartition(" ")
        return verdict(runtime != "0", text, cure=f"echo 100000 > {file} (its parents first)")
    if facts.option("RT_GROUP_SCHED") != "y":
        return passed("RT_GROUP_SCHED is not set", "no control group has such a limit")
    if not groups_realtime(facts):
        return passed("rt_group_sched=0", "built, and switched off at boot")
    return _of_version_2(facts, text)


def _of_version_2(facts: Facts, text: str) -> CheckVerdict:
    seen = dict(line.partition(" ")[::2] for line in text.splitlines())
    seen |= {path: facts.text(path) for path in (CGROUP, MOUNTS)}
    group = cpu_cgroup(seen.get)
    if group is None or group.version == 1:
        return unknown("the hierarchy of control groups for CPU time is not to be seen here")
    found = controlling_group(seen.get, group)
    if found is None:
        return unknown("what is above this group is out of sight: a container's", group.folder)
    if found == ROOT_GROUP:
        return passed("the root group", "it has the machine's whole bandwidth")
    return failed(
        found, "with RT_GROUP_SCHED a group of cgroup v2 can be given no real-time time",
        cure="echo $$ > /sys/fs/cgroup/cgroup.procs, or boot with rt_group_sched=0 (Linux 6.16)",
    )  # fmt: skip


def timer_migration(facts: Facts, path: str) -> CheckVerdict:
    why = "timers of other CPUs may expire on the real-time CPUs"
    well = ""
    if facts.get(VERSION) is None:
        why = f"{why} (from Linux 6.9 on only high-resolution ones by this setting)"
    elif release(facts) >= (6, 9):
        why = f"high-resolution {why}"
        well = (
            "it holds for high-resolution timers; from Linux 6.9 on other timers of idle CPUs are"
            " pulled by busy ones in any case"
        )
    return judged(facts, path, "0", why=why, well=well)


def deadline_admission(
    facts: Facts, runtimes: str, periods: str, reserved: str, served: str
) -> CheckVerdict:
    runtime, period = facts.integer(runtimes), facts.integer(periods)
    if runtime == 0:
        return failed("sched_rt_runtime_us = 0", cure="sysctl -w kernel.sched_rt_runtime_us=950000")
    # -1, which tasks that compute need before Linux 6.12, switches admission off: then only
    # this check adds up.
    about = "; admission is off (sched_rt_runtime_us = -1): the kernel does not count" * (
        runtime < 0
    )
    cpus = facts.cpu_list(ONLINE)
    room = len(cpus) * bandwidth(*((1, 1) if runtime < 0 else (runtime, period)))
    if release(facts) >= (6, 12):
        servers = [
            _numbers(facts, pattern) for pattern in (served, served.replace("runtime", "period"))
        ]
        if not all(cpu in each for cpu in cpus for each in servers):
            servers = [dict.fromkeys(cpus, number) for number in (50, 1000)]
            about += f"; nothing shows the fair server's share: {_FAIR_DEFAULT}"
        room -= sum(bandwidth(*(each[cpu] for each in servers)) for cpu in cpus)
    held = [task for task in tasks(facts) if task.policy == DEADLINE and not task.kernel]
    if not held:
        return passed(f"{_percent(room)} % of a CPU can be reserved, nothing is{about}")
    shares = re.findall(r"(\d+)/\d+/(\d+)\s*$", facts.text(reserved), re.M)
    if len(shares) < len(held):
        raise UnreadError(f"{len(held)} deadline tasks, and chrt does not say what they reserve")
    used = sum(bandwidth(int(run), int(every)) for run, every in shares)
    found = f"{_percent(used)} of {_percent(room)} % of a CPU is reserved{about}"
    return verdict(used <= room / 2, found, why=f"held by {few([task.name for task in held])}")


def _numbers(facts: Facts, pattern: str) -> dict[int, int]:
    """CPU -> the number in its file, where there is one."""
    texts = {cpu_of(path): reading.text or "" for path, reading in facts.matches(pattern).items()}
    return {cpu: int(text) for cpu, text in texts.items() if text.strip().isdecimal()}


def _percent(bandwidth: int) -> str:
    return f"{100 * bandwidth / 2**20:.0f}"


def deadline_partition(facts: Facts, runtimes: str) -> CheckVerdict:
    if facts.integer(runtimes) < 0:
        return passed("admission is off (sched_rt_runtime_us = -1)", "no pinned task is refused")
    housekeeping(facts)
    meant = set(facts.rt_cpus)
    here = [domain for domain in root_domains(facts) if domain & meant]
    text = "; ".join(f"CPU {cpus_text(domain)}" for domain in here)
    return verdict(
        all(domain <= meant for domain in here),
        f"domains: {text}",
        why=f"sched_setattr refuses SCHED_DEADLINE to a task pinned to CPU {cpus_text(meant)},"
        " which is a part of a domain; SCHED_FIFO needs no domain of its own",
        well="a task has to be allowed on every CPU of its domain",
    )


def rt_affinity(facts: Facts) -> CheckVerdict:
    roams, where = roaming(facts), places(facts)
    # The kernel refuses to pin a deadline task within its scheduling domain: another check.
    every = [task for task in realtime_tasks(facts) if task.policy != DEADLINE]
    found = [task.words for task in every if task.tid in where]
    return none_of(
        [task.words for task in every if task in roams],
        few(found) or "no real-time task of a user runs now",
        why=f"they may run on CPU {cpus_text(facts.rt_cpus)} and elsewhere",
    )


def rt_runtime_share(facts: Facts, features: str) -> CheckVerdict:
    text = facts.get(features)
    if text is None:
        return shut(facts, features)
    name, words = "RT_RUNTIME_SHARE", text.split()
    found = f"NO_{name}" if f"NO_{name}" in words else "not in this kernel"
    return verdict(name not in words, found, name)


def hrtick_deadline(facts: Facts, features: str) -> CheckVerdict:
    text = facts.get(features)
    if text is None:
        return shut(facts, features)
    words = text.split()
    # Before Linux 5.12 one word stood for all classes.
    for name in ("HRTICK_DL", "HRTICK"):
        if {name, f"NO_{name}"} & {*words}:
            cure = f"echo {name} > {features}"
            return verdict(name in words, name, f"NO_{name}", cure=cure)
    return unknown("the features of this kernel name no HRTICK")
