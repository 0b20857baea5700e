"""What watches the system, and so disturbs what it watches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deadbeat.host.values import UnreadError, cpus_text
from deadbeat.settings.check import CheckVerdict, failed, judged, none_of, passed, verdict, without
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading import absent, cpu_of, is_x86, lacking, meant, numbers
from deadbeat.settings.reading_window import tasks

_KERNEL = "/proc/sys/kernel"
_CMDLINE = "/proc/cmdline"
_SOFT = (f"{_KERNEL}/soft_watchdog", f"{_KERNEL}/watchdog_cpumask")
_RCU = "/sys/module/rcupdate/parameters"
_STALLS = (
    f"{_KERNEL}/panic_on_rcu_stall",
    f"{_RCU}/rcu_cpu_stall_suppress",
    f"{_RCU}/rcu_cpu_stall_timeout",
)
_EXPEDITED = f"{_RCU}/rcu_exp_cpu_stall_timeout"
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_TRACERS = tuple(f"{folder}/current_tracer" for folder in _TRACEFS)
_EVENTS = tuple(f"{folder}/set_event" for folder in _TRACEFS)
_INSTANCES = tuple(f"{_TRACEFS[0]}/instances/*/{file}" for file in ("set_event", "current_tracer"))
_PROGRAMS = "command:bpf-programs"
_INTERVALS = "/sys/devices/system/machinecheck/machinecheck[0-9]*/check_interval"
_IGNORED = "/sys/devices/system/machinecheck/machinecheck[0-9]*/ignore_ce"
_EDAC_POLL = "/sys/module/edac_core/parameters/edac_mc_poll_msec"
_SCRUBBING = "/sys/devices/system/edac/mc/mc[0-9]*/sdram_scrub_rate"
_PRINTK = f"{_KERNEL}/printk"
_JOURNAL = ("/etc/systemd/journald.conf", "/etc/systemd/journald.conf.d/*.conf")
_PRESSURE = "/proc/pressure/cpu"

COMMANDS = {"bpf-programs": "bpftool prog show"}
#: Programs that sample or trace others while they run.
_PROFILERS = (
    "perf", "bpftrace", "trace-cmd", "rtla", "strace", "ltrace", "gdb", "stap", "stapio",
    "sysprofd", "sysdig", "parca-agent", "tracee", "falco",
)  # fmt: skip
#: Kinds of BPF programs that run at events of the kernel, not at packets or control groups.
_TRACING = ("kprobe", "tracepoint", "raw_tracepoint", "raw_tracepoint_writable", "perf_event",
            "tracing", "lsm")  # fmt: skip


def soft_lockup(facts: Facts) -> CheckVerdict:
    if lacking(facts, _SOFT[0]):
        return passed("not built")
    if facts.integer(_SOFT[0]) == 0:
        return passed("0")
    on = set(facts.cpu_list(_SOFT[1]))
    struck = on & set(facts.rt_cpus)
    if struck:
        return failed(
            f"on, CPUs {cpus_text(on)}", f"it stops real-time tasks on {meant(facts, struck)}"
        )
    return passed(f"on, CPUs {cpus_text(on)}")


def rcu_stall(facts: Facts) -> CheckVerdict:
    panic, suppressed, timeout = (facts.integer(path) for path in _STALLS)
    found = f"time-out {timeout} s, panic {panic}"
    if suppressed:
        return passed(f"{found}, suppressed", "a stall is neither reported nor acted upon")
    if panic:
        return failed(
            found, f"a task that keeps its CPU for {timeout} s stops the machine", severity="high",
            cure="sysctl -w kernel.panic_on_rcu_stall=0",
        )  # fmt: skip
    if absent(facts, _EXPEDITED):
        return passed(found, "before Linux 5.19 expedited stalls have the same time-out")
    expedited = facts.integer(_EXPEDITED)
    found = f"{found}, expedited {expedited} ms"
    return verdict(expedited <= 0 or expedited >= 1000, found)


def tracing(facts: Facts) -> CheckVerdict:
    tracer = facts.get(_TRACERS[0]) or facts.get(_TRACERS[1])
    if not tracer:
        raise UnreadError(f"{_TRACERS[0]}: {facts.reading(_TRACERS[0]).reason}")
    events = facts.get(_EVENTS[0])
    lines = (events if events is not None else facts.text(_EVENTS[1])).split()
    on = [*_tracer(tracer), *lines]
    for path, text in _of_instances(facts):
        told = _tracer(text) if path.endswith("tracer") else text.split()
        on += [f"{each} in {path.split('/')[-2]}" for each in told]
    return none_of(on, "nop, no event")


def _tracer(name: str) -> list[str]:
    return [] if name.strip() == "nop" else [f"tracer {name.strip()}"]


def _of_instances(facts: Facts) -> Iterator[tuple[str, str]]:
    for pattern in _INSTANCES:
        for path, reading in facts.matches(pattern).items():
            if reading.text is None:
                raise UnreadError(f"{path}: {reading.reason}")
            yield path, reading.text


def bpf(facts: Facts) -> CheckVerdict:
    kinds = re.findall(r"^\d+: (\w+)", facts.text(_PROGRAMS), re.M)
    found = [kind for kind in kinds if kind in _TRACING]
    if not found:
        return passed(f"0 of {len(kinds)} programs")
    counts = {kind: found.count(kind) for kind in dict.fromkeys(found)}
    words = ", ".join(f"{n} {kind}" for kind, n in counts.items())
    return failed(words)


def profilers(facts: Facts) -> CheckVerdict:
    found = sorted({t.name for t in tasks(facts) if t.name in _PROFILERS and not t.kernel})
    return none_of(found, "none")


def machine_check(facts: Facts) -> CheckVerdict:
    if not facts.matches(_INTERVALS) and not is_x86(facts):
        return passed("not applicable", "only x86 polls for machine checks", severity="info")
    intervals, ignored = numbers(facts, _INTERVALS), facts.texts(_IGNORED)
    polled = {
        cpu_of(path): seconds
        for path, seconds in intervals.items()
        if cpu_of(path) in facts.rt_cpus
        and seconds
        and ignored.get(path.replace("check_interval", "ignore_ce")) != "1"
    }
    if polled:
        return failed(f"every {min(polled.values())} s", f"a timer polls {meant(facts, polled)}")
    if not set(facts.rt_cpus) & {cpu_of(path) for path in intervals}:
        raise UnreadError(f"no machine check of {meant(facts)}")
    return passed("not polled")


def edac(facts: Facts) -> CheckVerdict:
    if lacking(facts, _EDAC_POLL):
        return passed("no EDAC driver")
    value = facts.integer(_EDAC_POLL)
    if value == 0:
        return passed("0")
    return failed(f"every {value} ms")


def scrubbing(facts: Facts) -> CheckVerdict:
    fastest = max(numbers(facts, _SCRUBBING).values())
    if fastest:
        return failed(f"{fastest} bytes/s")
    return passed("0")


def console_level(facts: Facts) -> CheckVerdict:
    first = (facts.text(_PRINTK).split() or [""])[0]
    if not first.isdigit():
        raise UnreadError(f"{_PRINTK} holds {first[:20]!r}")
    return verdict(int(first) <= 4, first)


def audit(facts: Facts) -> CheckVerdict:
    if facts.argument("audit") in ("0", "off"):
        return passed("audit=0")
    if any(task.name == "auditd" for task in tasks(facts)):
        return failed("auditd runs", "system calls of every task are held against its rules")
    if facts.argument("audit") in ("1", "on"):
        return failed("audit=1")
    return passed("auditd does not run")


def journal(facts: Facts) -> CheckVerdict:
    if not any(task.name.startswith("systemd-journal") for task in tasks(facts)):
        return passed("systemd-journald does not run")
    texts = ["" if lacking(facts, _JOURNAL[0]) else facts.text(_JOURNAL[0])]
    texts += [facts.text(path) for path in facts.matches(_JOURNAL[1])]
    bad = re.findall(
        r"^\s*(RateLimitBurst=0|RateLimitIntervalSec=0|ForwardToConsole=(?:yes|true|1|on))\s*$",
        "\n".join(texts),
        re.M,
    )
    return failed(", ".join(bad)) if bad else passed("bounded")


def psi(facts: Facts) -> CheckVerdict:
    if not lacking(facts, _PRESSURE):
        asked = facts.argument("psi")
        found = "on" if asked is None else f"on (psi={asked})"
        return failed(found)
    if facts.argument("psi") in ("0", "n", "no", "off"):
        return passed("psi=0")
    if facts.option("PSI") == "n":
        return passed("CONFIG_PSI is not set")
    if facts.option("PSI_DEFAULT_DISABLED") == "y":
        return passed("CONFIG_PSI_DEFAULT_DISABLED=y")
    raise UnreadError(f"{_PRESSURE} is not there, though PSI is built in")


def latencytop(facts: Facts) -> CheckVerdict:
    path = "/proc/sys/kernel/latencytop"
    if facts.get(path) is not None:
        return judged(facts, path, lambda on: on == 0, why="each wait costs a stack trace")
    return without(facts, ("LATENCYTOP",), "each wait costs a stack trace once it is switched on")
