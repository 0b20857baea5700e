"""How the kernel was built, and what of that was switched since."""

from __future__ import annotations

import re
from collections.abc import Collection

from deadbeat.machine.host.cmdline import arguments
from deadbeat.machine.host.kernel import CMDLINE, PREEMPT, REALTIME, VERSION, preemption_model
from deadbeat.machine.host.values import Unknown, cpus_text, known, mask_cpus
from deadbeat.machine.settings.check import CheckVerdict, built, failed, having, passed, verdict
from deadbeat.machine.settings.facts import CONFIG, DMESG, ONLINE, Facts
from deadbeat.machine.settings.reading import (
    groups_realtime,
    lacking,
    lockdown,
    meant,
    realtime,
    shared,
    switched_off,
)

_BOTH = "for a thread of the co-kernel nothing; for one of Linux alone: boot a PREEMPT_RT kernel"
_GOVERNORS = ("ONDEMAND", "CONSERVATIVE", "SCHEDUTIL", "POWERSAVE", "USERSPACE")


#: Build options of kernels with a second, real-time one, and files that these show.
_CO_KERNELS = {
    "EVL": "/sys/class/evl/control/abi",
    "XENOMAI": "/proc/xenomai/version",
    "IPIPE": "/proc/ipipe/version",
    "DOVETAIL": "",
}


def preempt_rt(facts: Facts) -> CheckVerdict:
    configured, running = facts.get(CONFIG) is not None, realtime(facts)
    if configured and facts.option("PREEMPT_RT_FULL") == "y":
        return passed("CONFIG_PREEMPT_RT_FULL=y", "what PREEMPT_RT was called until Linux 5.2")
    if running:
        return passed("PREEMPT_RT", "/sys/kernel/realtime or /proc/version says so")
    there = [name for name, path in _CO_KERNELS.items() if path and facts.get(path) is not None]
    if not there and configured:
        there = [name for name in _CO_KERNELS if facts.option(name) == "y"]
    if there:
        why = "its own threads run ahead of Linux; those of Linux have no PREEMPT_RT"
        return failed(f"co-kernel {', '.join(there)}", why, cure=_BOTH, severity="low")
    if not configured and facts.get("/proc/version"):
        return failed("no PREEMPT_RT in /proc/version")
    why = "interrupt handlers and spin locks of this kernel cannot be preempted"
    if configured and facts.option("PREEMPT_RT_BASE") == "y":
        return failed("CONFIG_PREEMPT_RT_BASE=y without PREEMPT_RT_FULL", why)
    return having(facts, "PREEMPT_RT", why=why)


def preemption(facts: Facts) -> CheckVerdict:
    model, basis = preemption_model(lambda path: _as_read(facts, path))
    if isinstance(model, Unknown) or "debugfs does not show" in basis:
        booted = re.findall(r"Dynamic Preempt: (\w+)", facts.get(DMESG) or "")
        if booted:
            model, basis = booted[-1], "as the kernel said at boot; debugfs does not show it now"
    locked = lockdown(facts) not in (None, "none")
    return verdict(
        known(model) in ("rt", "full", "lazy"),
        model,
        why=f"other tasks' system calls run to their end, or to a point that allows it ({basis})",
        well=basis,
        cure="boot with preempt=full (kernel lockdown forbids the switch at run time)"
        if locked
        else None,
    )


def _as_read(facts: Facts, path: str) -> str | None:
    """What `preemption_model` asks for; the configuration is read in one way for all checks."""
    if path in (CMDLINE, PREEMPT, REALTIME, VERSION):
        return facts.get(path)
    return facts.get(CONFIG) if path == "/proc/config.gz" else None


def high_res_timers(facts: Facts, resolution: str) -> CheckVerdict:
    found = re.search(r"resolution:\s*(\d+) nsecs", facts.get(resolution) or "")
    late = "timers are served by the tick"
    if found is not None:
        return verdict(int(found[1]) == 1, f"resolution {found[1]} ns", why=late)
    built_in = having(facts, "HIGH_RES_TIMERS", why=late)
    if built_in.status != "pass":
        return built_in
    if switched_off(facts, "highres"):
        return failed("highres=off")
    why = facts.reading(resolution).reason
    return passed(built_in.found, f"as built; /proc/timer_list does not say ({why})")


def default_governor(facts: Facts) -> CheckVerdict:
    others = [n for n in facts.config() if n.startswith("CPU_FREQ_DEFAULT_GOV_")]
    found = ", ".join(each.rpartition("_")[2].lower() for each in others) or "none is named"
    good = facts.option("CPU_FREQ_DEFAULT_GOV_PERFORMANCE") == "y"
    return verdict(good, "performance", found)


def other_governors(facts: Facts) -> CheckVerdict:
    there = [name.lower() for name in _GOVERNORS if facts.option(f"CPU_FREQ_GOV_{name}") != "n"]
    worst = "; ondemand follows the load and harms most" if "ondemand" in there else ""
    why = f"any program with the right can switch to them{worst}"
    return verdict(not there, "none", ", ".join(there), why=why)


_TICK_SOURCES = "cpu-isolation: computing wants NO_HZ_FULL; periodic loops a steady tick"


def tick(facts: Facts) -> CheckVerdict:
    full = facts.option("NO_HZ_FULL") == "y"
    stops = full or facts.option("NO_HZ_IDLE") == "y"
    off = stops and switched_off(facts, "nohz")
    found = "NO_HZ_FULL" if full else "NO_HZ_IDLE" if stops else "periodic"
    found += ", nohz=off" if off else ""
    if facts.workload != "compute" and (off or not stops):
        return passed(found, "a steady tick, as kernel-configuration wants it for periodic loops")
    if facts.workload == "periodic":
        return failed(found, cure="boot with nohz=off")
    if full and not off:
        return passed(found, "cpu-isolation: CPUs in nohz_full= can compute without a tick")
    if facts.workload == "mixed":
        return passed(found, "recorded: a tick stops while a CPU idles; " + _TICK_SOURCES)
    return failed(found, _TICK_SOURCES)


def lockup_detector(facts: Facts, watchdog: str, cpus: str) -> CheckVerdict:
    if facts.get(watchdog) is None and not built(facts, "LOCKUP_DETECTOR"):
        return passed("not set")
    if facts.integer(watchdog) == 0:
        return passed("built, kernel.watchdog is 0")
    return _spared(facts, "on", facts.cpu_list(cpus), "its timers fire on")


def _spared(facts: Facts, found: str, cpus: Collection[int], why: str) -> CheckVerdict:
    """Pass where none of ``cpus`` is meant for real-time tasks."""
    return verdict(
        not shared(facts, cpus),
        f"{found}, CPUs {cpus_text(cpus)}",
        why=f"{why} {meant(facts)}",
        well=f"not on {meant(facts)}",
    )


def efi_runtime(facts: Facts, efi: str, workers: str) -> CheckVerdict:
    words = ",".join(arguments(facts.get(CMDLINE) or "", "efi")).split(",")
    if "noruntime" in words:
        return passed("efi=noruntime")
    if facts.option("EFI") == "n" or lacking(facts, efi):
        return passed("no EFI", "this system was not booted by EFI")
    facts.text(CMDLINE)  # what was not read may say noruntime
    if facts.option("EFI_DISABLE_RUNTIME") == "y" and "runtime" not in words:
        return passed("CONFIG_EFI_DISABLE_RUNTIME=y")
    mask = facts.get(workers)
    on = facts.cpu_list(ONLINE) if mask is None else mask_cpus(mask)
    return _spared(facts, "enabled", on, "a call of the firmware may stop")


def slub_partial(facts: Facts, partial: str) -> CheckVerdict:
    if facts.option("SLUB_CPU_PARTIAL") == "n":
        return passed("not set")
    counts = [int(word) for word in facts.text(partial).split()]
    on = sum(count > 0 for count in counts)
    return verdict(not on, f"0 in all {len(counts)} caches", f"{on} of {len(counts)} caches")


def rt_group_sched(facts: Facts) -> CheckVerdict:
    if facts.option("RT_GROUP_SCHED") == "n":
        return passed("not set")
    if not groups_realtime(facts):
        return passed("rt_group_sched=0", "built, and switched off at boot")
    return failed("CONFIG_RT_GROUP_SCHED=y")


def rcu_boost(facts: Facts) -> CheckVerdict:
    if facts.option("PREEMPT_RCU") == "n":
        return passed("CONFIG_PREEMPT_RCU is not set", "readers are not preempted")
    return having(facts, "RCU_BOOST", why="a reader below real-time priority can hold RCU up")
