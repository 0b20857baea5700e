"""How the kernel was built, and what of that was switched since."""

from __future__ import annotations

import re

from deadbeat.host.kernel import kernel_release, preemption_model
from deadbeat.host.values import Unknown, cpus_text, mask_cpus
from deadbeat.settings.check import CheckVerdict, built, failed, having, passed, unknown, verdict
from deadbeat.settings.facts import CONFIG, DMESG, Facts
from deadbeat.settings.reading import ONLINE, groups_realtime, lacking, lockdown, meant, realtime

COMMANDS = {
    "timer-resolution": r"sed -n '/\.resolution/{p;q;}' /proc/timer_list",
    "slab-partial": 'set -- /sys/kernel/slab/*/cpu_partial; cat "$1" > /dev/null && cat "$@"',
}
_RESOLUTION, _PARTIAL = "command:timer-resolution", "command:slab-partial"
_WATCHDOG = "/proc/sys/kernel/watchdog"
_WATCHDOG_CPUS = "/proc/sys/kernel/watchdog_cpumask"
_EFI = "/sys/firmware/efi/fw_platform_size"
_EFI_CPUS = "/sys/devices/virtual/workqueue/efi_runtime/cpumask"
_CARDS = "/sys/class/drm/card*/dev"

_GOVERNORS = ("ONDEMAND", "CONSERVATIVE", "SCHEDUTIL", "POWERSAVE", "USERSPACE")
_DEBUG = (
    "DEBUG_OBJECTS",
    "SLUB_DEBUG_ON",
    "DEBUG_PREEMPT",
    "DEBUG_PAGEALLOC",
    "DEBUG_KMEMLEAK",
    "DEBUG_VM",
    "DEBUG_RT_MUTEXES",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_IRQFLAGS",
    "DEBUG_TIMEKEEPING",
    "FAULT_INJECTION",
    "PROVE_RCU",
)


def preempt_rt(facts: Facts) -> CheckVerdict:
    if realtime(facts):
        return passed("PREEMPT_RT", "/sys/kernel/realtime or /proc/version says so")
    if facts.get(CONFIG) is None and facts.get("/proc/version"):
        return failed("no PREEMPT_RT in /proc/version")
    return having(
        facts,
        "PREEMPT_RT",
        "interrupt handlers and spin locks of this kernel cannot be preempted",
    )


def preemption(facts: Facts) -> CheckVerdict:
    model, basis = preemption_model(lambda path: _as_read(facts, path))
    if isinstance(model, Unknown) or "debugfs does not show" in basis:
        booted = re.findall(r"Dynamic Preempt: (\w+)", facts.get(DMESG) or "")
        if booted:
            model, basis = booted[-1], "as the kernel said at boot; debugfs does not show it now"
    if isinstance(model, Unknown):
        return unknown(model.reason)
    if model in ("rt", "full", "lazy"):
        return passed(model, basis)
    locked = lockdown(facts) not in (None, "none")
    return failed(
        model,
        f"other tasks' system calls run to their end, or to a point that allows it ({basis})",
        cure="boot with preempt=full (kernel lockdown forbids the switch at run time)"
        if locked
        else None,
    )


def _as_read(facts: Facts, path: str) -> str | None:
    """What `preemption_model` asks for; the configuration is read in one way for all checks."""
    if path == "/proc/config.gz":
        return facts.get(CONFIG)
    return facts.get(path) if path in facts.readings.files else None


def high_res_timers(facts: Facts) -> CheckVerdict:
    found = re.search(r"resolution:\s*(\d+) nsecs", facts.get(_RESOLUTION) or "")
    if found is not None:
        words = f"resolution {found[1]} ns"
        late = "timers are served by the tick"
        return verdict(int(found[1]) == 1, words, why=late)
    if facts.argument("highres") in ("off", "0"):
        return failed("highres=off")
    built_in = having(facts, "HIGH_RES_TIMERS", "timers are served by the tick")
    if built_in.status != "pass":
        return built_in
    why = facts.reading(_RESOLUTION).reason
    return passed(built_in.found, f"as built; /proc/timer_list does not say ({why})")


def default_governor(facts: Facts) -> CheckVerdict:
    others = [n for n in facts.config() if n.startswith("CPU_FREQ_DEFAULT_GOV_")]
    if facts.option("CPU_FREQ_DEFAULT_GOV_PERFORMANCE") == "y":
        return passed("performance")
    found = ", ".join(each.rpartition("_")[2].lower() for each in others) or "none is named"
    return failed(found)


def other_governors(facts: Facts) -> CheckVerdict:
    there = [name.lower() for name in _GOVERNORS if facts.option(f"CPU_FREQ_GOV_{name}") != "n"]
    if not there:
        return passed("none")
    worst = "; ondemand follows the load and harms most" if "ondemand" in there else ""
    return failed(", ".join(there), f"any program with the right can switch to them{worst}")


_TICK_SOURCES = "cpu-isolation: computing wants NO_HZ_FULL; periodic loops a steady tick"


def tick(facts: Facts) -> CheckVerdict:
    full = facts.option("NO_HZ_FULL") == "y"
    stops = full or facts.option("NO_HZ_IDLE") == "y"
    off = facts.argument("nohz") in ("off", "0")
    found = "NO_HZ_FULL" if full else "NO_HZ_IDLE" if stops else "periodic"
    found += ", nohz=off" if off and stops else ""
    if facts.workload != "compute" and (off or not stops):
        return passed(found, "a steady tick, as kernel-configuration wants it for periodic loops")
    if facts.workload == "periodic":
        return failed(found, cure="boot with nohz=off")
    if full and not off:
        return passed(found, "cpu-isolation: CPUs in nohz_full= can compute without a tick")
    if facts.workload == "mixed":
        return passed(found, "recorded: a tick stops while a CPU idles; " + _TICK_SOURCES)
    return failed(found, _TICK_SOURCES)


def lockup_detector(facts: Facts) -> CheckVerdict:
    if facts.get(_WATCHDOG) is None and not built(facts, "LOCKUP_DETECTOR"):
        return passed("not set")
    if facts.integer(_WATCHDOG) == 0:
        return passed("built, kernel.watchdog is 0")
    on = set(facts.cpu_list(_WATCHDOG_CPUS))
    if on & set(facts.rt_cpus):
        return failed(f"on, CPUs {cpus_text(on)}", f"its timers fire on {meant(facts)}")
    return passed(f"on, CPUs {cpus_text(on)}", f"not on {meant(facts)}")


def noise_tracers(facts: Facts) -> CheckVerdict:
    names = ("TIMERLAT_TRACER", "OSNOISE_TRACER", "HWLAT_TRACER")
    missing = [name for name in names if facts.option(name) == "n"]
    if missing:
        return failed(f"not set: {', '.join(missing)}")
    return passed("all are built in")


def efi_runtime(facts: Facts) -> CheckVerdict:
    if facts.option("EFI") == "n" or lacking(facts, _EFI):
        return passed("no EFI", "this system was not booted by EFI")
    words = (facts.argument("efi") or "").split(",")
    if "noruntime" in words:
        return passed("efi=noruntime")
    if facts.option("EFI_DISABLE_RUNTIME") == "y" and "runtime" not in words:
        return passed("CONFIG_EFI_DISABLE_RUNTIME=y")
    mask = facts.get(_EFI_CPUS)
    on = set(facts.cpu_list(ONLINE)) if mask is None else set(mask_cpus(mask))
    if on & set(facts.rt_cpus):
        return failed(
            f"enabled, CPUs {cpus_text(on)}", f"a call of the firmware may stop {meant(facts)}"
        )
    return passed(f"enabled, CPUs {cpus_text(on)}", f"not on {meant(facts)}")


def drm(facts: Facts) -> CheckVerdict:
    if facts.option("DRM") == "n":
        return passed("not set")
    cards = [path.split("/")[-2] for path in facts.matches(_CARDS)]
    if not cards:
        return passed(f"CONFIG_DRM={facts.option('DRM')}", "no card is there")
    return failed(", ".join(cards))


def slub_partial(facts: Facts) -> CheckVerdict:
    if facts.option("SLUB_CPU_PARTIAL") == "n":
        return passed("not set")
    counts = [int(word) for word in facts.text(_PARTIAL).split()]
    on = sum(count > 0 for count in counts)
    if on:
        return failed(f"{on} of {len(counts)} caches")
    return passed(f"0 in all {len(counts)} caches")


def rt_group_sched(facts: Facts) -> CheckVerdict:
    if facts.option("RT_GROUP_SCHED") == "n":
        return passed("not set")
    if not groups_realtime(facts):
        return passed("rt_group_sched=0", "built, and switched off at boot")
    return failed("CONFIG_RT_GROUP_SCHED=y")


def rcu_boost(facts: Facts) -> CheckVerdict:
    if facts.option("PREEMPT_RCU") == "n":
        return passed("CONFIG_PREEMPT_RCU is not set", "readers are not preempted")
    return having(facts, "RCU_BOOST", "a reader below real-time priority can hold RCU up")


def hz(facts: Facts) -> CheckVerdict:
    value = facts.option("HZ")
    if not value.isdigit():
        return unknown("CONFIG_HZ is not in the configuration", value)
    if int(value) >= 250:
        return passed(value, "recorded; no wake-up of a timer depends on it")
    return failed(value, f"time-outs in ticks are rounded to {1000 // int(value)} ms")


def release(facts: Facts) -> CheckVerdict:
    text = facts.text("/proc/version")
    found = kernel_release(lambda path: text)
    if found == (0, 0):
        return unknown("/proc/version names no release", text[:60])
    words = f"{found[0]}.{found[1]}"
    return verdict(found >= (6, 12), words, well="recorded")
