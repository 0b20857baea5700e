"""What is below the kernel: a hypervisor that takes time, firmware, and what cannot be seen."""

from __future__ import annotations

import re
from itertools import pairwise

from deadbeat.machine.host.kernel import is_virtual
from deadbeat.machine.host.proc import CPUINFO, STAT, colon_fields
from deadbeat.machine.host.values import UnreadError, known
from deadbeat.machine.settings.check import CheckVerdict, failed, passed, unknown, verdict
from deadbeat.machine.settings.facts import LOCKDOWN, Facts
from deadbeat.machine.settings.reading import few, lockdown
from deadbeat.machine.settings.reading_window import gaps, window

_SMT = "/sys/devices/system/cpu/smt/active"
_ASPM = "/sys/module/pcie_aspm/parameters/policy"
_BIOS = "/sys/class/dmi/id/bios_version"
#: What firmware decides, and Linux cannot read back.
CHECKLIST = (
    "C1E and package C-states off, SpeedStep/Cool'n'Quiet fixed, turbo as tested, hyper-threading"
    " off, legacy USB off (SMIs), memory scrubbing off, ASPM off, spread spectrum off, real-time"
    " (TCC) mode on"
)
#: Smallest gap that counts as a stall: /proc/uptime counts in 10 ms.
_STALL_MS = 15


def hypervisor(facts: Facts) -> CheckVerdict:
    found, basis = is_virtual(facts.get)
    return verdict(not known(found), basis)


def steal(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    after = seen.after.ticks
    if not after:
        return unknown(f"{STAT} counts no stolen time")
    taken = {c: t.since(seen.before.ticks.get(c, t)).steal for c, t in after.items()}
    ticks = sum(each.total for each in after.values())
    share = 100 * sum(each.steal for each in after.values()) / ticks if ticks else 0.0
    text = few([f"CPU {cpu}: {count} ticks" for cpu, count in taken.items() if count > 0])
    found = f"{text or 'none'}; {share:.2g} % since the boot"
    return verdict(not text, found, why=f"within {seen.seconds:.1f} s")


def gaps_(facts: Facts) -> CheckVerdict:
    watched, found = gaps(facts)
    from_below = [gap for gap in found if gap.host_ms >= _STALL_MS]
    if not from_below:
        return passed(f"none of 20 ms or more in {watched} ms", "shorter ones need a selftest")
    text = few([f"{gap.length_ms} ms at {gap.at_ms} ms" for gap in from_below])
    apart = {b.at_ms - a.at_ms for a, b in pairwise(from_below)}
    regular = len(from_below) >= 3 and max(apart) - min(apart) <= 20
    why = "nothing in this system explains them"
    return failed(text, f"{why}; every {min(apart)} ms: a quota of the host" if regular else why)


def quota(facts: Facts, limits: str) -> CheckVerdict:
    rows = re.findall(r"^(\S+(?:max|quota_us)) (\S+) (\d+)$", facts.text(limits), re.M)
    for file, value, period in rows:
        if value in ("max", "-1"):
            continue
        folder = re.escape(file.rpartition("/")[0])
        counted = dict(re.findall(rf"^{folder}/cpu\.stat (\w+) (\d+)$", facts.text(limits), re.M))
        found, cure = f"{file}: {value} of {period} us", f"echo max > {file}"
        if "nr_throttled" in counted:
            us = int(counted.get("throttled_usec", int(counted.get("throttled_time", 0)) // 1000))
            found += f", stopped in {counted['nr_throttled']} of {counted['nr_periods']} periods"
            found += f", {us / 1000:.0f} ms in all"
        if "kubepods" in file:
            cure = (
                "leave limits.cpu of the pod out, or make it Guaranteed with whole CPUs under the"
            )
            cure += " static CPU manager policy (then without a quota from Kubernetes 1.33 on)"
        return failed(found, cure=cure)
    return passed("no limit" if rows else "no group of this process can have one")


def guest_polling(facts: Facts, polling: str, idle_driver: str) -> CheckVerdict:
    if not known(is_virtual(facts.get)[0]):
        return passed("no virtual machine")
    value, driver = facts.integer(polling), facts.get(idle_driver) or "none"
    text = f"guest_halt_poll_ns = {value}"
    found = text if driver == "haltpoll" else f"{text}, idle driver {driver}"
    return verdict(value != 0 or driver != "haltpoll", found)


def clock(facts: Facts, current: str, available: str) -> CheckVerdict:
    now, offered = facts.text(current), facts.text(available).split()
    virtual = now in ("kvm-clock", "hyperv_clocksource_tsc_page", "xen")
    return verdict(not virtual or "tsc" not in offered, now)


def smi(facts: Facts) -> CheckVerdict:
    seen = window(facts)
    if seen.before.smi is None or seen.after.smi is None:
        vendor = colon_fields(facts.text(CPUINFO)).get("vendor_id", "GenuineIntel")
        if vendor != "GenuineIntel":
            return unknown(f"only Intel counts them (MSR 34h), this is {vendor}")
        return unknown("rdmsr 0x34 gave nothing: it needs root, msr-tools and the msr driver")
    count = seen.after.smi - seen.before.smi
    found = f"{count or 'none'} in {seen.seconds:.1f} s, {seen.after.smi} since the boot"
    return verdict(not count, found)


def firmware(facts: Facts) -> CheckVerdict:
    found, basis = is_virtual(facts.get)
    if found is True:
        return unknown(f"the host's firmware is not to be seen from a guest ({basis})")
    aspm = facts.get(_ASPM)
    wrong = ["hyper-threading on"] if facts.get(_SMT) == "1" else []
    if aspm and "[performance]" not in aspm:
        wrong.append(f"ASPM {aspm}")
    if wrong:
        return failed(few(wrong))
    if facts.get("/proc/device-tree/model") and facts.get(_BIOS) is None:
        return passed("a board with a device tree", "it has no setup program")
    version = facts.get(_BIOS) or "not named"
    return unknown(f"Linux cannot read it back (firmware {version}); check: {CHECKLIST}", version)


def lockdown_(facts: Facts) -> CheckVerdict:
    mode = lockdown(facts)
    if mode is None:
        if facts.option("SECURITY_LOCKDOWN_LSM") != "n":
            raise UnreadError(f"{LOCKDOWN}: {facts.reading(LOCKDOWN).reason}, and no log")
        return passed("CONFIG_SECURITY_LOCKDOWN_LSM is not set")
    return verdict(mode == "none", mode)
