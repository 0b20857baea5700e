"""What watches the system, and so disturbs what it watches."""

from __future__ import annotations

import re
from collections import Counter

from deadbeat.machine.host.values import UnreadError, cpus_text
from deadbeat.machine.settings.check import CheckVerdict, failed, none_of, passed, verdict
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import (
    absent,
    cpu_of,
    is_x86,
    lacking,
    meant,
    numbers,
    shared,
    switched_off,
)
from deadbeat.machine.settings.reading_window import programs

#: Programs that sample or trace others while they run.
_PROFILERS = {
    "perf", "bpftrace", "trace-cmd", "rtla", "strace", "ltrace", "gdb", "stap", "stapio",
    "sysprofd", "sysdig", "parca-agent", "tracee", "falco",
}  # fmt: skip
#: Kinds of BPF programs that run at events of the kernel, not at packets or control groups.
_TRACING = ("kprobe", "tracepoint", "raw_tracepoint", "raw_tracepoint_writable", "perf_event",
            "tracing", "lsm")  # fmt: skip


def soft_lockup(facts: Facts, watchdog: str, cpus: str) -> CheckVerdict:
    if lacking(facts, watchdog):
        return passed("not built")
    if facts.integer(watchdog) == 0:
        return passed("0")
    on = facts.cpu_list(cpus)
    struck = shared(facts, on)
    why = f"it stops real-time tasks on {meant(facts, struck)}"
    return verdict(not struck, f"on, CPUs {cpus_text(on)}", why=why)


def rcu_stall(
    facts: Facts, panics: str, suppression: str, patience: str, expedition: str
) -> CheckVerdict:
    panic, suppressed, timeout = map(facts.integer, (panics, suppression, patience))
    found = f"time-out {timeout} s, panic {panic}"
    if suppressed:
        return passed(f"{found}, suppressed", "a stall is neither reported nor acted upon")
    if panic:
        return failed(
            found, f"a task that keeps its CPU for {timeout} s stops the machine", severity="high",
            cure="sysctl -w kernel.panic_on_rcu_stall=0",
        )  # fmt: skip
    if absent(facts, expedition):
        return passed(found, "before Linux 5.19 expedited stalls have the same time-out")
    expedited = facts.integer(expedition)
    found = f"{found}, expedited {expedited} ms"
    return verdict(expedited <= 0 or expedited >= 1000, found)


def tracing(
    facts: Facts, tracer: str, old_tracer: str, events: str, old_events: str, *instances: str
) -> CheckVerdict:
    name = facts.get(tracer) or facts.get(old_tracer)
    if not name:
        raise UnreadError(f"{tracer}: {facts.reading(tracer).reason}")
    lines = facts.get(events)
    on = [*_tracer(name), *(facts.text(old_events) if lines is None else lines).split()]
    for pattern in instances:
        for path, text in facts.texts(pattern).items() if facts.matches(pattern) else ():
            words = _tracer(text) if path.endswith("tracer") else text.split()
            on += [f"{each} in {path.split('/')[-2]}" for each in words]
    return none_of(on, "nop, no event")


def _tracer(name: str) -> list[str]:
    return [] if name.strip() == "nop" else [f"tracer {name.strip()}"]


def bpf(facts: Facts, listed: str) -> CheckVerdict:
    kinds = re.findall(r"^\d+: (\w+)", facts.text(listed), re.M)
    counts = Counter(kind for kind in kinds if kind in _TRACING)
    words = ", ".join(f"{n} {kind}" for kind, n in counts.items())
    return verdict(not counts, f"0 of {len(kinds)} programs", words)


def profilers(facts: Facts) -> CheckVerdict:
    return none_of(sorted(programs(facts) & _PROFILERS), "none")


def machine_check(facts: Facts, seconds: str, switches: str) -> CheckVerdict:
    if not facts.matches(seconds) and not is_x86(facts):
        return passed("not applicable", "only x86 polls for machine checks", severity="info")
    intervals, ignored = numbers(facts, seconds), facts.texts(switches)
    polled = {
        cpu_of(path): interval
        for path, interval in intervals.items()
        if cpu_of(path) in facts.rt_cpus
        and interval
        and ignored.get(path.replace("check_interval", "ignore_ce")) != "1"
    }
    if polled:
        return failed(f"every {min(polled.values())} s", f"a timer polls {meant(facts, polled)}")
    if not set(facts.rt_cpus) & {cpu_of(path) for path in intervals}:
        raise UnreadError(f"no machine check of {meant(facts)}")
    return passed("not polled")


def scrubbing(facts: Facts, rates: str) -> CheckVerdict:
    fastest = max(numbers(facts, rates).values())
    return verdict(not fastest, "0", f"{fastest} bytes/s")


def audit(facts: Facts) -> CheckVerdict:
    if facts.argument("audit") in ("0", "off"):
        return passed("audit=0")
    if "auditd" in programs(facts):
        return failed("auditd runs", "system calls of every task are held against its rules")
    if facts.argument("audit") in ("1", "on"):
        return failed("audit=1")
    return passed("auditd does not run")


def journal(facts: Facts, file: str, more: str) -> CheckVerdict:
    if not any(name.startswith("systemd-journal") for name in programs(facts)):
        return passed("systemd-journald does not run")
    texts = ["" if lacking(facts, file) else facts.text(file)]
    texts += [facts.text(path) for path in facts.matches(more)]
    bad = re.findall(
        r"^\s*(RateLimitBurst=0|RateLimitIntervalSec=0|ForwardToConsole=(?:yes|true|1|on))\s*$",
        "\n".join(texts),
        re.M,
    )
    return verdict(not bad, "bounded", ", ".join(bad))


def psi(facts: Facts, pressure: str) -> CheckVerdict:
    if switched_off(facts, "psi"):
        return passed("psi=0")
    if not lacking(facts, pressure):
        asked = facts.argument("psi")
        found = "on" if asked is None else f"on (psi={asked})"
        return failed(found)
    if facts.option("PSI") == "n":
        return passed("CONFIG_PSI is not set")
    if facts.option("PSI_DEFAULT_DISABLED") == "y":
        return passed("CONFIG_PSI_DEFAULT_DISABLED=y")
    raise UnreadError(f"{pressure} is not there, though PSI is built in")
