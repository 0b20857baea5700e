"""What time is read from, what wakes tasks, and who corrects it."""

from __future__ import annotations

import re

from deadbeat.machine.host.judgements import slow_clock
from deadbeat.machine.host.values import UnreadError
from deadbeat.machine.settings.check import CheckVerdict, failed, passed, unknown, verdict
from deadbeat.machine.settings.facts import Facts
from deadbeat.machine.settings.reading import cpu_flags, few
from deadbeat.machine.settings.reading_window import programs

_CHRONY = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")

#: Timers that each CPU has.
_LOCAL = re.compile(
    r"lapic\S*|arch_sys_timer|arch_mem_timer|local_timer|mct_tick\d+|riscv_timer_clockevent"
    r"|decrementer|Hyper-V clockevent|xen|comparator|MIPS|Constant"
)
#: Clocks that are a register of the CPU, or a page that the host keeps for one.
_FAST = ("tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "cp0")
_VIRTUAL = ("kvm-clock", "hyperv_clocksource_tsc_page", "xen")
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "tsc-early", "i8253")


def source(facts: Facts, clock: str, offered: str) -> CheckVerdict:
    current = facts.text(clock)
    if current in _FAST:
        return passed(current)
    if current in _VIRTUAL:
        return passed(current, "the host's page and the CPU's counter")
    if current not in _SLOW:
        return unknown("a clock that is not known here", current)
    there = (facts.get(offered) or "").split()
    fast = [name for name in there if name in _FAST]
    return failed(
        current,
        cure=f"echo {fast[0]} > {clock}"
        if fast
        else "find out from the kernel's log why the CPU's counter was given up (clock.stable)",
    )


def stable(facts: Facts, log: str, clock: str, offered: str) -> CheckVerdict:
    bad = re.search(
        r"^.*(?:Marking clocksource .* as unstable|Marking TSC unstable|TSC found unstable).*$",
        facts.get(log) or "",
        re.M,
    )
    if bad:
        words = re.sub(r"^\[[^]]*\]\s*", "", bad[0])
        return failed(words[:80], "time is read from a slower clock since")
    current = facts.text(clock)
    if "tsc" in cpu_flags(facts) and current not in _VIRTUAL:
        # One that was marked is no longer listed (clocksource.c, available_clocksource_show).
        there = "tsc" in facts.text(offered).split()
        return verdict(there, current, "tsc is not available", well="tsc is still among the clocks")
    if "clocksource" not in facts.text(log):
        raise UnreadError("the log no longer holds the messages of the boot")
    return passed(current, "the log reports no doubt")


def user_space(facts: Facts, clock: str) -> CheckVerdict:
    if facts.argument("vdso") == "0":
        return failed("vdso=0")
    current = facts.text(clock)
    return verdict(not slow_clock(current), current)


def event_device(facts: Facts, devices: str) -> CheckVerdict:
    found = sorted(set(facts.texts(devices).values()))
    bad = [name for name in found if re.fullmatch(r"hpet\d*|pit|dummy_timer|bc_hrtimer|", name)]
    strange = [name for name in found if not _LOCAL.fullmatch(name)]
    if strange and not bad:
        return unknown("timers that are not known here", few(strange))
    return verdict(not bad, few(found))


def constant_rate(facts: Facts) -> CheckVerdict:
    flags = cpu_flags(facts)
    if not flags:
        return passed("no time stamp counter", "it concerns x86 alone")
    missing = sorted({"tsc", "constant_tsc", "nonstop_tsc"} - flags)
    return verdict(not missing, "constant_tsc nonstop_tsc", f"lacks {', '.join(missing)}")


def _chrony(facts: Facts) -> str:
    """Configuration of chronyd. UnreadError where there is none to read."""
    texts = [text for path in _CHRONY if (text := facts.get(path)) is not None]
    if not texts:
        raise UnreadError(f"{_CHRONY[0]}: {facts.reading(_CHRONY[0]).reason}, and chronyd runs")
    return texts[0]


def time_stamping(facts: Facts) -> CheckVerdict:
    daemons = programs(facts)
    if "chronyd" not in daemons:
        return passed("chronyd does not run")
    if not re.search(r"^\s*hwtimestamp\b", _chrony(facts), re.M):
        return passed("chronyd without hwtimestamp")
    if any(name.startswith("realtime-entsk") or name == "rtentsk" for name in daemons):
        return passed("hwtimestamp, and realtime-entsk keeps the key on")
    return failed("hwtimestamp")


def steps(facts: Facts) -> CheckVerdict:
    daemons = programs(facts)
    free = sorted(daemons & {"ntpd", "systemd-timesyn", "systemd-timesyncd", "sntp"})
    if free:
        return failed(few(free), "it steps the clock when it is far off")
    if "chronyd" not in daemons:
        return passed("no daemon", "nothing adjusts the clock")
    found = re.search(r"^\s*makestep\s+\S+\s+(-?\d+)", _chrony(facts), re.M)
    if not found:
        return passed("chronyd without makestep")
    return verdict(int(found[1]) >= 0, found[0].strip())
