"""What is below the kernel: a hypervisor that takes time, firmware, and what cannot be seen."""

from __future__ import annotations

import re
from itertools import pairwise

from deadbeat.host.kernel import VIRTUAL_FILES, is_virtual
from deadbeat.host.proc import STAT
from deadbeat.host.values import Unknown, UnreadError
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import CONFIG, DMESG, Facts
from deadbeat.settings.reading_values import LOCKDOWN, few, lockdown
from deadbeat.settings.reading_window import GAPS, WINDOW, gaps, window

QUOTA = "command:cpu-quota"
GUEST_POLL = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
IDLE_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
HOST_POLL = "/sys/module/kvm/parameters/halt_poll_ns"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
TRACERS = "/sys/kernel/tracing/available_tracers"
SMT = "/sys/devices/system/cpu/smt/active"
ASPM = "/sys/module/pcie_aspm/parameters/policy"
BIOS = "/sys/class/dmi/id/bios_version"
#: What firmware decides, and Linux cannot read back.
CHECKLIST = (
    "C1E and package C-states off, SpeedStep/Cool'n'Quiet fixed, turbo as tested, hyper-threading"
    " off, legacy USB off (SMIs), memory scrubbing off, ASPM off, spread spectrum off, real-time"
    " (TCC) mode on"
)
#: Of a gap that nothing explains: /proc/uptime counts in 10 ms.
_STALL_MS = 15
_STALLS = (
    r"DL replenish lagged too much|hrtimer: interrupt took|rcu\S* (?:self-)?detected stall"
    r"|soft lockup|clocksource: Long readout|sched_clock: Marking unstable|NMI watchdog: BUG"
)

COMMANDS = {
    # The tightest limit of CPU time on the way from this process's group to the root.
    "cpu-quota": r"""
two=$(sed -n 's/^0:://p' /proc/self/cgroup)
one=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?:(.*)$/\3/p' /proc/self/cgroup)
for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    at=${two%/}
    while :; do
        [ -r "$top$at/cpu.max" ] && echo "$top$at/cpu.max $(cat "$top$at/cpu.max")"
        [ -n "$at" ] || break
        at=${at%/*}
    done
done
for top in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
    at=${one%/}
    while :; do
        f=$top$at/cpu.cfs_quota_us
        [ -r "$f" ] && echo "$f $(cat "$f") $(cat "$top$at/cpu.cfs_period_us")"
        [ -n "$at" ] || break
        at=${at%/*}
    done
done
[ -r /proc/self/cgroup ]""",
}


@check(
    "virtualisation.hypervisor",
    "a virtual machine",
    severity="medium",
    source=f"{sources.HARDWARE}; {sources.RHEL_REALTIME}",
    wanted="none: the kernel runs on the hardware",
    reads=VIRTUAL_FILES,
    cure="measure on the hardware; a guest needs pinned vCPUs and locked memory on its host",
)
def hypervisor(facts: Facts) -> Verdict:
    """The host may take a CPU away at any time, and nothing in the guest prevents it."""
    found, basis = is_virtual(facts.get)
    if isinstance(found, Unknown):
        return unknown(basis)
    if found:
        return failed(basis, "every figure is the host's as much as this kernel's")
    return passed(basis)


@check(
    "virtualisation.steal",
    "time that the host took",
    severity="high",
    source="proc_stat(5); Linux Documentation/virt/kvm/x86/msr.rst (steal time)",
    wanted="no stolen tick within half a second",
    reads=(WINDOW,),
    cure="pin the vCPUs on the host, and give them CPUs of their own",
)
def steal(facts: Facts) -> Verdict:
    """In a stolen tick (10 ms) no task of the guest ran; a host may also stop it unseen."""
    seen = window(facts)
    after = seen.after.ticks
    if not after:
        return unknown(f"{STAT} counts no stolen time")
    taken = {c: t.since(seen.before.ticks.get(c, t)).steal for c, t in after.items()}
    ticks = sum(each.total for each in after.values())
    share = 100 * sum(each.steal for each in after.values()) / ticks if ticks else 0.0
    told = few([f"CPU {cpu}: {count} ticks" for cpu, count in taken.items() if count > 0])
    if told:
        return failed(f"{told}; {share:.2g} % since the boot", f"within {seen.seconds:.1f} s")
    return passed(f"none; {share:.2g} % since the boot")


@check(
    "virtualisation.gaps",
    "gaps in which nothing ran",
    severity="high",
    source="measured: a host's CPU quota shows as a stall every 100 ms",
    wanted="no gap of 20 ms or more in 300 ms that is not this process's own waiting",
    reads=(GAPS,),
    cure="raise the quota on the host; deadbeat selftest finds gaps from 10 us on",
)
def host_gaps(facts: Facts) -> Verdict:
    """A loop that never sleeps sees when it stood still; the kernel tells how long it waited."""
    watched, found = gaps(facts)
    from_below = [gap for gap in found if gap.host_ms >= _STALL_MS]
    if not from_below:
        return passed(f"none of 20 ms or more in {watched} ms", "shorter ones need a selftest")
    told = few([f"{gap.length_ms} ms at {gap.at_ms} ms" for gap in from_below])
    apart = {b.at_ms - a.at_ms for a, b in pairwise(from_below)}
    regular = len(from_below) >= 3 and max(apart) - min(apart) <= 20
    why = "nothing in this system explains them"
    return failed(told, f"{why}; every {min(apart)} ms: a quota of the host" if regular else why)


@check(
    "virtualisation.quota",
    "a limit of CPU time on this control group",
    severity="high",
    source="Linux Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst",
    wanted="cpu.max is max, cpu.cfs_quota_us is -1, up to the root",
    reads=(QUOTA,),
    cure="echo max > FILE, or start the container without --cpus",
)
def quota(facts: Facts) -> Verdict:
    """Ordinary tasks of the group stand still for the rest of each period once it is used up."""
    rows = re.findall(r"^(\S+) (\S+) (\d+)$", facts.text(QUOTA), re.M)
    held = [(file, value, period) for file, value, period in rows if value not in ("max", "-1")]
    if held:
        file, value, period = held[0]
        told = f"{file}: {value} of {period} us"
        return failed(told, "tasks stand still once it is used up", cure=f"echo max > {file}")
    return passed("no limit" if rows else "no group of this process can have one")


@check(
    "virtualisation.guest-polling",
    "a guest that polls before it gives its CPU up",
    severity="low",
    source="Linux Documentation/virt/guest-halt-polling.rst",
    wanted="guest_halt_poll_ns above 0 in a guest, for whoever pays with CPU time",
    reads=(GUEST_POLL, IDLE_DRIVER, *VIRTUAL_FILES),
    cure=f"echo 200000 > {GUEST_POLL}",
)
def guest_polling(facts: Facts) -> Verdict:
    """To wake a vCPU that its host put to sleep costs tens of microseconds."""
    found, basis = is_virtual(facts.get)
    if isinstance(found, Unknown):
        return unknown(basis)
    if not found:
        return passed("no virtual machine")
    value = facts.integer(GUEST_POLL)
    told = f"guest_halt_poll_ns = {value}"
    if facts.get(IDLE_DRIVER) != "haltpoll":
        return passed(f"{told}, idle driver {facts.get(IDLE_DRIVER) or 'none'}")
    if value == 0:
        return failed(told, "an idle vCPU is given up at once, and the host has to wake it")
    return passed(told)


@check(
    "virtualisation.host-polling",
    "a host that polls before a vCPU sleeps",
    severity="info",
    source="Linux Documentation/virt/kvm/halt-polling.rst",
    wanted="recorded; halt_poll_ns above 0 where guests shall wake up soon",
    reads=(HOST_POLL, "/sys/devices/system/cpu/online"),
    cure=f"echo 200000 > {HOST_POLL}",
)
def host_polling(facts: Facts) -> Verdict:
    """It shortens wake-ups of guests, and takes the time from other tasks of the host."""
    facts.text("/sys/devices/system/cpu/online")
    if facts.get(HOST_POLL) is None and "denied" not in facts.reading(HOST_POLL).reason:
        return passed("this kernel is no host")
    value = facts.integer(HOST_POLL)
    if value == 0:
        return failed("halt_poll_ns = 0", "guests of this host wake up later")
    return passed(f"halt_poll_ns = {value}", "recorded")


@check(
    "virtualisation.clock",
    "the clock of a guest",
    severity="low",
    source=f"{sources.RHEL_REALTIME}; Linux Documentation/virt/kvm/x86/timekeeping.rst",
    wanted="tsc where it is offered",
    reads=(CLOCK, CLOCKS),
    cure=f"echo tsc > {CLOCK}",
)
def clock(facts: Facts) -> Verdict:
    """kvm-clock asks a page that the host updates; reading the TSC is quicker and steadier."""
    now, offered = facts.text(CLOCK), facts.text(CLOCKS).split()
    if now in ("kvm-clock", "hyperv_clocksource_tsc_page", "xen") and "tsc" in offered:
        return failed(now, "a paravirtual clock, although tsc is offered")
    return passed(now)


@check(
    "virtualisation.smi",
    "system management interrupts",
    severity="high",
    source=f"{sources.HARDWARE}; Intel SDM volume 4, MSR 34h",
    wanted="the count stands still for half a second",
    reads=(WINDOW, "/proc/cpuinfo"),
    cure="find the setting in the firmware (legacy USB, thermal, ECC); rdmsr -a 0x34 counts",
)
def smi(facts: Facts) -> Verdict:
    """Firmware takes all CPUs away, for microseconds to milliseconds, unseen by the kernel."""
    seen = window(facts)
    if seen.before.smi is None or seen.after.smi is None:
        vendor = re.search(r"^vendor_id\s*:\s*(\w+)", facts.text("/proc/cpuinfo"), re.M)
        if vendor and vendor[1] != "GenuineIntel":
            return unknown(f"only Intel counts them (MSR 34h), this is {vendor[1]}")
        return unknown("rdmsr 0x34 gave nothing: it needs root, msr-tools and the msr driver")
    count = seen.after.smi - seen.before.smi
    found = f"{seen.after.smi} since the boot"
    if count:
        return failed(f"{count} in {seen.seconds:.1f} s, {found}", "firmware interrupts all CPUs")
    return passed(f"none in {seen.seconds:.1f} s, {found}")


@check(
    "virtualisation.latency-tracer",
    "a tracer that finds what is below the kernel",
    severity="info",
    source="Linux Documentation/trace/hwlat_detector.rst, osnoise-tracer.rst",
    wanted="hwlat or osnoise among the tracers",
    reads=(TRACERS, CONFIG, LOCKDOWN, DMESG),
    cure="deadbeat selftest measures gaps from user space; or CONFIG_HWLAT_TRACER=y",
)
def latency_tracer(facts: Facts) -> Verdict:
    """It spins with interrupts off: what it misses went to firmware or to a host."""
    text = facts.get(TRACERS)
    if text is None and facts.option("HWLAT_TRACER") == "n" == facts.option("OSNOISE_TRACER"):
        return failed("not built", "gaps can only be looked for from user space")
    names = [name for name in ("hwlat", "osnoise") if name in facts.text(TRACERS).split()]
    if names:
        return passed(", ".join(names))
    return failed(text or "none", "gaps can only be looked for from user space")


@check(
    "virtualisation.firmware",
    "settings of the firmware",
    severity="medium",
    source=f"{sources.CONGATEC}; {sources.RHEL_REALTIME}",
    wanted="as the checklist says; what Linux sees of it: no SMT, ASPM performance",
    reads=(*VIRTUAL_FILES, SMT, ASPM, BIOS),
    cure=f"look in the setup program: {CHECKLIST}",
)
def firmware(facts: Facts) -> Verdict:
    """Most of it cannot be read back: what is not known is to be looked up by hand."""
    found, basis = is_virtual(facts.get)
    if found is True:
        return unknown(f"the host's firmware is not to be seen from a guest ({basis})")
    seen = {"SMT": facts.get(SMT), "ASPM": facts.get(ASPM)}
    wrong = ["hyper-threading on"] if seen["SMT"] == "1" else []
    if seen["ASPM"] and "[performance]" not in seen["ASPM"]:
        wrong.append(f"ASPM {seen['ASPM']}")
    if wrong:
        return failed(few(wrong), "and more that cannot be seen: see the cure")
    if facts.get("/proc/device-tree/model") and facts.get(BIOS) is None:
        return passed("a board with a device tree", "it has no setup program")
    version = facts.get(BIOS) or "not named"
    return unknown(f"Linux cannot read it back (firmware {version}); check: {CHECKLIST}", version)


@check(
    "virtualisation.lockdown",
    "a kernel that is locked down",
    severity="info",
    source="kernel_lockdown(7)",
    wanted="none, while causes are looked for",
    reads=(LOCKDOWN, CONFIG, DMESG),
    cure="boot with lockdown=none while measuring, where the policy allows it",
)
def locked_down(facts: Facts) -> Verdict:
    """It costs no latency, but hides: debugfs (fair server, preemption), tracers, MSRs (SMI)."""
    mode = lockdown(facts)
    if mode is None:
        if facts.option("SECURITY_LOCKDOWN_LSM") != "n":
            raise UnreadError(f"{LOCKDOWN}: {facts.reading(LOCKDOWN).reason}, and no log")
        return passed("CONFIG_SECURITY_LOCKDOWN_LSM is not set")
    if mode == "none":
        return passed("none")
    return failed(
        mode,
        "checks of debugfs, tracers and machine registers are unknown here, not passed",
    )


@check(
    "virtualisation.stalls",
    "stalls in the kernel's log",
    severity="high",
    source="kernel/sched/deadline.c, kernel/time/hrtimer.c, Linux Documentation/RCU/stallwarn.rst",
    wanted="no line about a stall since the boot",
    reads=(DMESG,),
    cure="look at the time of the line: a host that stopped the guest, firmware, or a driver",
)
def stalls(facts: Facts) -> Verdict:
    """The kernel notices when it was away for too long, and says so once."""
    lines = [line.strip() for line in facts.text(DMESG).splitlines() if re.search(_STALLS, line)]
    if lines:
        return failed(lines[-1], f"{len(lines)} such lines, the last one shown")
    if not re.search(r"^\[\s*0\.0", facts.text(DMESG), re.M):
        return unknown("the log no longer holds the boot: earlier lines were overwritten")
    return passed("none")
