"""What time is read from, what wakes tasks, and who corrects it."""

from __future__ import annotations

import re

from deadbeat.host.judgements import slow_clock
from deadbeat.host.proc import CPUINFO
from deadbeat.host.values import UnreadError
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import DMESG, Facts
from deadbeat.settings.reading_cpus import cpu_flags
from deadbeat.settings.reading_values import few
from deadbeat.settings.reading_window import WINDOW, tasks

_SOURCES = "/sys/devices/system/clocksource/clocksource0"
_CURRENT = f"{_SOURCES}/current_clocksource"
_AVAILABLE = f"{_SOURCES}/available_clocksource"
_EVENTS = "/sys/devices/system/clockevents/clockevent[0-9]*/current_device"
_CMDLINE = "/proc/cmdline"
_CHRONY = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")
_SLACK = "/proc/self/timerslack_ns"
_SLACK_DEFAULT_NS = 50_000

#: Timers that each CPU has.
_LOCAL = re.compile(
    r"lapic\S*|arch_sys_timer|arch_mem_timer|local_timer|mct_tick\d+|riscv_timer_clockevent"
    r"|decrementer|Hyper-V clockevent|xen|comparator|MIPS|Constant"
)
#: Clocks that are a register of the CPU, or a page that the host keeps for one.
_FAST = ("tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "cp0")
_VIRTUAL = ("kvm-clock", "hyperv_clocksource_tsc_page", "xen")
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "tsc-early", "i8253")


@check(
    "clock.source",
    "clock that time is read from",
    severity="high",
    source=f"{sources.RHEL_REALTIME} (hardware clocks)",
    wanted="a counter of the CPU: tsc, arch_sys_counter",
    reads=(_CURRENT, _AVAILABLE),
    cure=f"echo tsc > {_CURRENT}",
)
def source(facts: Facts) -> Verdict:
    """HPET and ACPI timers are read over a bus, in microseconds and one CPU at a time."""
    current = facts.text(_CURRENT)
    if current in _FAST:
        return passed(current)
    if current in _VIRTUAL:
        return passed(current, "the host's page and the CPU's counter")
    if current not in _SLOW:
        return unknown("a clock that is not known here", current)
    there = (facts.get(_AVAILABLE) or "").split()
    fast = [name for name in there if name in _FAST]
    return failed(
        current,
        "it is read over a bus, or only once a tick",
        cure=f"echo {fast[0]} > {_CURRENT}"
        if fast
        else "find out from the kernel's log why the CPU's counter was given up (clock.stable)",
    )


@check(
    "clock.stable",
    "the CPUs' counters agree",
    severity="high",
    source="Linux kernel/time/clocksource.c; Linux arch/x86/kernel/tsc.c",
    wanted="no counter was given up as unstable",
    reads=(DMESG, _CURRENT, _AVAILABLE, CPUINFO),
    cure="update the firmware; boot with tsc=nowatchdog only if the counters are known to agree",
)
def stable(facts: Facts) -> Verdict:
    """Counters that drift apart make latencies negative or milliseconds long."""
    log = facts.get(DMESG)
    bad = re.search(
        r"^.*(?:Marking clocksource .* as unstable|Marking TSC unstable|TSC found unstable).*$",
        log or "",
        re.M,
    )
    if bad:
        words = re.sub(r"^\[[^]]*\]\s*", "", bad[0])
        return failed(words[:80], "time is read from a slower clock since")
    current = facts.text(_CURRENT)
    if "tsc" in cpu_flags(facts) and current not in _VIRTUAL:
        # One that was marked is no longer listed (clocksource.c, available_clocksource_show).
        if "tsc" not in facts.text(_AVAILABLE).split():
            return failed("tsc is not available", "the kernel gave the CPU's counter up")
        return passed(current, "tsc is still among the clocks")
    if "clocksource" not in facts.text(DMESG):
        raise UnreadError("the log no longer holds the messages of the boot")
    return passed(current, "the log tells of no doubt")


@check(
    "clock.user-space",
    "time is read without a system call",
    severity="medium",
    source="vdso(7); Linux lib/vdso/gettimeofday.c",
    wanted="a clock that the vDSO can read; its cost is measured by deadbeat latency",
    reads=(_CURRENT, _CMDLINE),
    cure=f"echo tsc > {_CURRENT}; take vdso=0 from the command line",
)
def user_space(facts: Facts) -> Verdict:
    """Each time stamp of a loop costs 20 to 50 ns, or a system call of ten times that."""
    if facts.argument("vdso") == "0":
        return failed("vdso=0", "each time stamp is a system call")
    current = facts.text(_CURRENT)
    if not slow_clock(current):
        return passed(current)
    return failed(current, "each time stamp is a system call")


@check(
    "clock.event-device",
    "each CPU has a timer of its own",
    severity="medium",
    source="Linux Documentation/timers/highres.rst",
    wanted="a timer in the CPU: lapic-deadline, lapic, arch_sys_timer",
    reads=(_EVENTS,),
    cure="take nolapic_timer, noapic and lapic=... from the command line; update the firmware",
)
def event_device(facts: Facts) -> Verdict:
    """A timer that CPUs share wakes one, and that one wakes the others."""
    found = sorted(set(facts.texts(_EVENTS).values()))
    bad = [name for name in found if re.fullmatch(r"hpet\d*|pit|dummy_timer|bc_hrtimer|", name)]
    if bad:
        return failed(few(found), "CPUs are woken by another CPU, or by a shared timer")
    strange = [name for name in found if not _LOCAL.fullmatch(name)]
    if strange:
        return unknown("timers that are not known here", few(strange))
    return passed(few(found))


@check(
    "clock.constant-rate",
    "the counter's rate is constant",
    severity="medium",
    source=f"{sources.RHEL_REALTIME} (hardware clocks)",
    wanted="constant_tsc and nonstop_tsc (x86)",
    reads=(CPUINFO,),
    cure="keep idle states at C1 and the frequency fixed, or use another clock",
)
def constant_rate(facts: Facts) -> Verdict:
    """A counter that follows the frequency, or stops in deep idle, is no clock."""
    flags = cpu_flags(facts)
    if not flags:
        return passed("no time stamp counter", "it concerns x86 alone")
    missing = sorted({"tsc", "constant_tsc", "nonstop_tsc"} - flags)
    if missing:
        return failed(f"lacks {', '.join(missing)}", "frequency or idle states change its rate")
    return passed("constant_tsc nonstop_tsc")


def _daemons(facts: Facts) -> set[str]:
    """Programs that are running; threads of the kernel are not counted."""
    return {task.name for task in tasks(facts) if not task.kernel}


def _chrony(facts: Facts) -> str:
    """Configuration of chronyd. UnreadError where there is none to read."""
    for path in _CHRONY:
        text = facts.get(path)
        if text is not None:
            return text
    raise UnreadError(f"{_CHRONY[0]}: {facts.reading(_CHRONY[0]).reason}, and chronyd runs")


@check(
    "clock.time-stamping",
    "network time stamps are not switched",
    severity="low",
    source=f"tuned plugin rtentsk; {sources.REALTIME_SETUP}; RHEL 7.6 release notes",
    wanted="no hwtimestamp in chrony's configuration, or rtentsk beside it",
    reads=(WINDOW, *_CHRONY),
    cure="systemctl enable --now realtime-entsk (package realtime-setup), or take hwtimestamp out",
)
def time_stamping(facts: Facts) -> Verdict:
    """Each switch of that static key interrupts every CPU three times."""
    daemons = _daemons(facts)
    if "chronyd" not in daemons:
        return passed("chronyd does not run")
    if not re.search(r"^\s*hwtimestamp\b", _chrony(facts), re.M):
        return passed("chronyd without hwtimestamp")
    if any(name.startswith("realtime-entsk") or name == "rtentsk" for name in daemons):
        return passed("hwtimestamp, and realtime-entsk keeps the key on")
    return failed("hwtimestamp", "chronyd switches time stamps on and off")


@check(
    "clock.steps",
    "the time of day is not set in steps",
    severity="info",
    source="chrony.conf(5) (makestep); ntpd(8); systemd-timesyncd(8)",
    wanted="no daemon that steps the clock whenever it is off",
    reads=(WINDOW, *_CHRONY),
    cure="chrony: makestep 1 3; use CLOCK_MONOTONIC for periods and time-outs",
)
def steps(facts: Facts) -> Verdict:
    """A step moves every timer of CLOCK_REALTIME; CLOCK_MONOTONIC does not see it."""
    daemons = _daemons(facts)
    free = sorted(daemons & {"ntpd", "systemd-timesyn", "systemd-timesyncd", "sntp"})
    if free:
        return failed(few(free), "it steps the clock when it is far off")
    if "chronyd" not in daemons:
        return passed("no daemon", "nobody corrects the time of day")
    found = re.search(r"^\s*makestep\s+\S+\s+(-?\d+)", _chrony(facts), re.M)
    if found and int(found[1]) < 0:
        return failed(found[0].strip(), "chronyd may step the clock at any time")
    return passed(found[0].strip() if found else "chronyd without makestep")


@check(
    "clock.timer-slack",
    "slack of timers",
    severity="info",
    source="prctl(2) (PR_SET_TIMERSLACK)",
    wanted=f"recorded; at most {_SLACK_DEFAULT_NS} ns, the kernel's default",
    reads=(_SLACK,),
    cure="start the program from a shell with the default slack; use SCHED_FIFO, which has none",
)
def timer_slack(facts: Facts) -> Verdict:
    """Timers of ordinary tasks fire that much late; those of real-time tasks have no slack."""
    value = facts.integer(_SLACK)
    if value <= _SLACK_DEFAULT_NS:
        return passed(f"{value} ns", "recorded; it concerns ordinary tasks alone")
    return failed(f"{value} ns", "programs started from here wake up that much late")
