"""How the kernel was built, and what of that was switched since."""

from __future__ import annotations

import re

from deadbeat.host.kernel import kernel_release, preemption_model
from deadbeat.host.values import Unknown, cpus_text, mask_cpus
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import CONFIG, DMESG, Facts
from deadbeat.settings.reading_cpus import meant
from deadbeat.settings.reading_options import REALTIME, built, having, lacking, realtime, without
from deadbeat.settings.reading_values import LOCKDOWN, ONLINE, lockdown

COMMANDS = {
    "timer-resolution": r"sed -n '/\.resolution/{p;q;}' /proc/timer_list",
    "slab-partial": 'set -- /sys/kernel/slab/*/cpu_partial; cat "$1" > /dev/null && cat "$@"',
}
_RESOLUTION, _PARTIAL = "command:timer-resolution", "command:slab-partial"
_PREEMPT = "/sys/kernel/debug/sched/preempt"
_WATCHDOG = "/proc/sys/kernel/watchdog"
_WATCHDOG_CPUS = "/proc/sys/kernel/watchdog_cpumask"
_EFI = "/sys/firmware/efi/fw_platform_size"
_EFI_CPUS = "/sys/devices/virtual/workqueue/efi_runtime/cpumask"
_CARDS = "/sys/class/drm/card*/dev"

_GOVERNORS = ("ONDEMAND", "CONSERVATIVE", "SCHEDUTIL", "POWERSAVE", "USERSPACE")
_SANITIZERS = ("KASAN", "KCSAN", "KMSAN", "KCOV", "GCOV_KERNEL")
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


@check(
    "kernel.preempt-rt",
    "fully preemptible kernel",
    severity="fatal",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_PREEMPT_RT=y, or /sys/kernel/realtime is 1",
    reads=(CONFIG, *REALTIME),
    cure="boot a PREEMPT_RT kernel (Debian: apt-get install linux-image-rt-amd64)",
)
def preempt_rt(facts: Facts) -> Verdict:
    """Only PREEMPT_RT lets a real-time task preempt nearly all of the kernel."""
    if realtime(facts):
        return passed("PREEMPT_RT", "/sys/kernel/realtime or /proc/version says so")
    if facts.get(CONFIG) is None and facts.get("/proc/version"):
        return failed("no PREEMPT_RT in /proc/version", "the kernel is not fully preemptible")
    return having(
        facts,
        "PREEMPT_RT",
        "interrupt handlers and spin locks of this kernel cannot be preempted",
    )


@check(
    "kernel.preemption",
    "preemption model in force",
    severity="medium",
    source=f"{sources.KERNEL_PARAMETERS} (preempt=)",
    wanted="rt, full or lazy",
    reads=(
        CONFIG, DMESG, _PREEMPT, *REALTIME, "/proc/cmdline",
        LOCKDOWN,
    ),
    cure="boot with preempt=full, or: echo full > /sys/kernel/debug/sched/preempt",
)  # fmt: skip
def preemption(facts: Facts) -> Verdict:
    """A kernel without preemption finishes what it does for another task first."""
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


@check(
    "kernel.high-res-timers",
    "high-resolution timers",
    severity="high",
    source=f"{sources.RHEL_REALTIME}; Linux Documentation/timers/highres.rst",
    wanted="resolution 1 ns",
    reads=(CONFIG, _RESOLUTION, "/proc/cmdline"),
    cure="rebuild the kernel with CONFIG_HIGH_RES_TIMERS=y; take highres=off from the command line",
)
def high_res_timers(facts: Facts) -> Verdict:
    """Without them every timer waits for the next tick: up to 1/HZ late."""
    found = re.search(r"resolution:\s*(\d+) nsecs", facts.get(_RESOLUTION) or "")
    if found is not None:
        words = f"resolution {found[1]} ns"
        late = "timers are served by the tick"
        return passed(words) if int(found[1]) == 1 else failed(words, late)
    if facts.argument("highres") in ("off", "0"):
        return failed("highres=off", "the command line switches them off")
    verdict = having(facts, "HIGH_RES_TIMERS", "timers are served by the tick")
    if verdict.status != "pass":
        return verdict
    why = facts.reading(_RESOLUTION).reason
    return passed(verdict.found, f"as built; /proc/timer_list does not tell ({why})")


@check(
    "kernel.cpu-freq",
    "frequency scaling is built in",
    severity="high",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_CPU_FREQ=y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_CPU_FREQ=y",
)
def cpu_freq(facts: Facts) -> Verdict:
    """Where the boot loader leaves a low clock, only this subsystem can raise it."""
    return having(facts, "CPU_FREQ", "the clock stays what the boot loader made it")


@check(
    "kernel.default-governor",
    "default frequency governor",
    severity="high",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y",
    reads=(CONFIG,),
    cure="rebuild with CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y, or boot with"
    " cpufreq.default_governor=performance",
)
def default_governor(facts: Facts) -> Verdict:
    """Real-time work expects a fixed clock from the first task on."""
    others = [n for n in facts.config() if n.startswith("CPU_FREQ_DEFAULT_GOV_")]
    if facts.option("CPU_FREQ_DEFAULT_GOV_PERFORMANCE") == "y":
        return passed("performance")
    found = ", ".join(each.rpartition("_")[2].lower() for each in others) or "none is named"
    return failed(found, "until something sets the governor the frequency may follow the load")


@check(
    "kernel.other-governors",
    "governors that change the frequency",
    severity="medium",
    source=sources.KERNEL_CONFIGURATION,
    wanted="no governor but performance (ondemand never)",
    reads=(CONFIG,),
    cure="rebuild the kernel without the other CONFIG_CPU_FREQ_GOV_*",
)
def other_governors(facts: Facts) -> Verdict:
    """What is not built cannot be chosen by a program in the middle of real-time work."""
    there = [name.lower() for name in _GOVERNORS if facts.option(f"CPU_FREQ_GOV_{name}") != "n"]
    if not there:
        return passed("none")
    worst = "; ondemand follows the load and harms most" if "ondemand" in there else ""
    return failed(", ".join(there), f"any program with the right can switch to them{worst}")


@check(
    "kernel.cpu-idle",
    "idle states are managed",
    severity="info",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_CPU_IDLE=y, capped at C1",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_CPU_IDLE=y and cap it with processor.max_cstate=1",
)
def cpu_idle(facts: Facts) -> Verdict:
    """Without it idle CPUs burn power and heat; the cap is what latency needs."""
    return having(facts, "CPU_IDLE", "heat and wear, where a cap at C1 would do for latency")


_TICK_SOURCES = "cpu-isolation: computing wants NO_HZ_FULL; periodic loops a steady tick"


@check(
    "kernel.tick",
    "timer tick by workload",
    severity="medium",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.CPU_ISOLATION}",
    wanted="periodic: no NO_HZ (or nohz=off); compute: NO_HZ_FULL; mixed: recorded",
    reads=(CONFIG, "/proc/cmdline"),
    cure="periodic: boot with nohz=off; compute: rebuild with CONFIG_NO_HZ_FULL=y",
)
def tick(facts: Facts) -> Verdict:
    """Stopping the tick costs at every entry of the kernel; a tick costs a long computation.

    Sources contradict each other by workload, and the default, NO_HZ_IDLE, satisfies neither."""
    full = facts.option("NO_HZ_FULL") == "y"
    stops = full or facts.option("NO_HZ_IDLE") == "y"
    off = facts.argument("nohz") in ("off", "0")
    found = "NO_HZ_FULL" if full else "NO_HZ_IDLE" if stops else "periodic"
    found += ", nohz=off" if off and stops else ""
    if facts.workload != "compute" and (off or not stops):
        return passed(found, "a steady tick, as kernel-configuration wants it for periodic loops")
    if facts.workload == "periodic":
        return failed(
            found,
            "kernel-configuration: avoid NO_HZ modes for periodic loops",
            cure="boot with nohz=off",
        )
    if full and not off:
        return passed(found, "cpu-isolation: CPUs in nohz_full= can compute without a tick")
    if facts.workload == "mixed":
        return passed(found, "recorded: a tick stops while a CPU idles; " + _TICK_SOURCES)
    return failed(found, _TICK_SOURCES)


@check(
    "kernel.lockup-detector",
    "lockup detector",
    severity="high",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_LOCKUP_DETECTOR is not set, or it is off or away from real-time CPUs",
    reads=(CONFIG, _WATCHDOG, _WATCHDOG_CPUS),
    cure="sysctl -w kernel.watchdog=0 (and rely on a hardware watchdog)",
)
def lockup_detector(facts: Facts) -> Verdict:
    """Its timers fire every few seconds in hard-interrupt context, also on PREEMPT_RT."""
    if facts.get(_WATCHDOG) is None and not built(facts, "LOCKUP_DETECTOR"):
        return passed("not set")
    if facts.integer(_WATCHDOG) == 0:
        return passed("built, kernel.watchdog is 0")
    on = set(facts.cpu_list(_WATCHDOG_CPUS))
    if on & set(facts.rt_cpus):
        return failed(f"on, CPUs {cpus_text(on)}", f"its timers fire on {meant(facts)}")
    return passed(f"on, CPUs {cpus_text(on)}", f"not on {meant(facts)}")


@check(
    "kernel.lockdep",
    "lock proving",
    severity="high",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_PROVE_LOCKING and the rest of lockdep are not set",
    reads=(CONFIG,),
    cure="rebuild the kernel without CONFIG_PROVE_LOCKING, LOCKDEP, LOCK_STAT, DEBUG_LOCK_ALLOC",
)
def lockdep(facts: Facts) -> Verdict:
    """It records and searches every lock that is taken."""
    names = ("PROVE_LOCKING", "LOCKDEP", "LOCK_STAT", "DEBUG_LOCK_ALLOC")
    return without(facts, names, "every lock taken is recorded and searched")


@check(
    "kernel.latency-tracers",
    "tracers that cost while they are off",
    severity="high",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER are not set",
    reads=(CONFIG,),
    cure="rebuild the kernel without CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER",
)
def latency_tracers(facts: Facts) -> Verdict:
    """They sit at every place that disables interrupts or preemption."""
    names = ("IRQSOFF_TRACER", "PREEMPT_TRACER")
    return without(facts, names, "they cost latency also while nothing is traced")


@check(
    "kernel.tracing",
    "event tracing is built in",
    severity="info",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_TRACING=y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_FTRACE=y and CONFIG_CONTEXT_SWITCH_TRACER=y",
)
def tracing(facts: Facts) -> Verdict:
    """The cause of a late wake-up is read from kernel events; they cost little while off."""
    return having(facts, "TRACING", "no late wake-up can be explained on this kernel")


@check(
    "kernel.noise-tracers",
    "tracers of noise: timerlat, osnoise, hwlat",
    severity="info",
    source=f"{sources.KERNEL_CONFIGURATION}; rtla-timerlat(1)",
    wanted="CONFIG_TIMERLAT_TRACER, OSNOISE_TRACER and HWLAT_TRACER are y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_TIMERLAT_TRACER=y, OSNOISE_TRACER=y, HWLAT_TRACER=y",
)
def noise_tracers(facts: Facts) -> Verdict:
    """rtla and hwlatdetect need them; deadbeat's own probe and tracing do not."""
    names = ("TIMERLAT_TRACER", "OSNOISE_TRACER", "HWLAT_TRACER")
    missing = [name for name in names if facts.option(name) == "n"]
    if missing:
        return failed(f"not set: {', '.join(missing)}", "rtla and hwlatdetect cannot work here")
    return passed("all are built in")


@check(
    "kernel.efi-runtime",
    "firmware calls of EFI",
    severity="medium",
    source=f"{sources.KERNEL_CONFIGURATION}; hardware.rst beside it",
    wanted="disabled, or confined to CPUs that run no real-time task",
    reads=(CONFIG, "/proc/cmdline", _EFI, _EFI_CPUS, ONLINE),
    cure="boot with efi=noruntime, or write a mask without the real-time CPUs to"
    f" {_EFI_CPUS}",
)  # fmt: skip
def efi_runtime(facts: Facts) -> Verdict:
    """While the firmware works the CPU may serve no interrupt and switch no task."""
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


@check(
    "kernel.drm",
    "graphics",
    severity="info",
    source=sources.KERNEL_CONFIGURATION,
    wanted="CONFIG_DRM is not set, or no graphics card",
    reads=(CONFIG, _CARDS),
    cure="rebuild without CONFIG_DRM, or measure latency while glmark2 runs",
)
def drm(facts: Facts) -> Verdict:
    """An integrated graphics unit shares the last-level cache and the memory with the CPUs."""
    if facts.option("DRM") == "n":
        return passed("not set")
    cards = [path.split("/")[-2] for path in facts.matches(_CARDS)]
    if not cards:
        return passed(f"CONFIG_DRM={facts.option('DRM')}", "no card is there")
    return failed(", ".join(cards), "graphics takes cache and memory bandwidth from the CPUs")


@check(
    "kernel.slub-partial",
    "per-CPU partial slabs",
    severity="low",
    source=f"{sources.REALTIME_SETUP} (slub_cpu_partial_off)",
    wanted="CONFIG_SLUB_CPU_PARTIAL is not set, or every cpu_partial is 0",
    reads=(CONFIG, _PARTIAL),
    cure="for f in /sys/kernel/slab/*/cpu_partial; do echo 0 > $f; done",
)
def slub_partial(facts: Facts) -> Verdict:
    """A list that runs full is emptied at once, by whoever frees the one object too many."""
    if facts.option("SLUB_CPU_PARTIAL") == "n":
        return passed("not set")
    counts = [int(word) for word in facts.text(_PARTIAL).split()]
    on = sum(count > 0 for count in counts)
    if on:
        return failed(f"{on} of {len(counts)} caches", "freeing memory now and then takes long")
    return passed(f"0 in all {len(counts)} caches")


@check(
    "kernel.rt-group-sched",
    "real-time time per control group",
    severity="medium",
    source="Linux Documentation/scheduler/sched-rt-group.rst;"
    " github.com/amazonlinux/amazon-linux-2023 issue 315",
    wanted="CONFIG_RT_GROUP_SCHED is not set, or rt_group_sched=0",
    reads=(CONFIG, "/proc/cmdline"),
    cure="boot with rt_group_sched=0 (Linux 6.16 and later), or give the group cpu.rt_runtime_us",
)
def rt_group_sched(facts: Facts) -> Verdict:
    """A new control group has no real-time budget, and SCHED_FIFO in it is refused (EPERM)."""
    if facts.option("RT_GROUP_SCHED") == "n":
        return passed("not set")
    default = "0" if facts.option("RT_GROUP_SCHED_DEFAULT_DISABLED") == "y" else "1"
    if (facts.argument("rt_group_sched") or default) == "0":
        return passed("rt_group_sched=0", "built, and switched off at boot")
    return failed("CONFIG_RT_GROUP_SCHED=y", "each control group needs its own real-time budget")


@check(
    "kernel.rcu-nocb",
    "RCU callbacks can be moved",
    severity="medium",
    source=sources.PER_CPU_KTHREADS,
    wanted="CONFIG_RCU_NOCB_CPU=y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_RCU_NOCB_CPU=y and boot with rcu_nocbs=",
)
def rcu_nocb(facts: Facts) -> Verdict:
    """RCU callbacks run where they were queued, in bursts, unless they can be moved."""
    return having(facts, "RCU_NOCB_CPU", "callbacks run on the CPU that queued them")


@check(
    "kernel.rcu-boost",
    "RCU readers are boosted",
    severity="low",
    source="Linux kernel/rcu/Kconfig (RCU_BOOST)",
    wanted="CONFIG_RCU_BOOST=y where RCU is preemptible",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_RCU_EXPERT=y and CONFIG_RCU_BOOST=y",
)
def rcu_boost(facts: Facts) -> Verdict:
    """Real-time tasks that keep a reader from its CPU stop grace periods, and memory fills."""
    if facts.option("PREEMPT_RCU") == "n":
        return passed("CONFIG_PREEMPT_RCU is not set", "readers are not preempted")
    return having(facts, "RCU_BOOST", "a reader below real-time priority can hold RCU up")


@check(
    "kernel.cpu-isolation",
    "CPUs can be isolated",
    severity="medium",
    source=sources.CPU_ISOLATION,
    wanted="CONFIG_CPU_ISOLATION=y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_CPU_ISOLATION=y",
)
def cpu_isolation(facts: Facts) -> Verdict:
    """isolcpus= and nohz_full= act only with it."""
    return having(facts, "CPU_ISOLATION", "isolcpus= has no effect on this kernel")


@check(
    "kernel.cpusets",
    "CPU sets",
    severity="medium",
    source=sources.CPU_ISOLATION,
    wanted="CONFIG_CPUSETS=y",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_CPUSETS=y",
)
def cpusets(facts: Facts) -> Verdict:
    """Isolated partitions can be made and undone while the system runs, unlike isolcpus=."""
    return having(facts, "CPUSETS", "CPUs cannot be isolated at run time")


@check(
    "kernel.sanitizers",
    "sanitizers and coverage",
    severity="high",
    source=f"{sources.KERNEL_CONFIGURATION} (kernel debug options)",
    wanted=f"none of {', '.join(_SANITIZERS)}",
    reads=(CONFIG,),
    cure="rebuild the kernel without them",
)
def sanitizers(facts: Facts) -> Verdict:
    """They check or count every access or branch."""
    return without(facts, _SANITIZERS, "every memory access or branch is checked or counted")


@check(
    "kernel.debug",
    "heavy debug options",
    severity="high",
    source=f"{sources.KERNEL_CONFIGURATION} (kernel debug options)",
    wanted="no option that checks locks, objects or pages at every use",
    reads=(CONFIG,),
    cure="rebuild the kernel without the options found",
)
def debug(facts: Facts) -> Verdict:
    """Most of them add to the worst case; DEBUG_FS, DEBUG_INFO, DEBUG_ATOMIC_SLEEP are allowed."""
    return without(facts, _DEBUG, "they add to the worst case at every use")


@check(
    "kernel.hz",
    "ticks per second",
    severity="info",
    source=f"recorded; {sources.UBUNTU_REALTIME}, kernel configuration options",
    wanted="recorded; 250 or more",
    reads=(CONFIG,),
    cure="rebuild the kernel with CONFIG_HZ_1000=y where time-outs in ticks matter",
)
def hz(facts: Facts) -> Verdict:
    """Timers of tasks do not depend on it; round-robin slices and time-outs of drivers do."""
    value = facts.option("HZ")
    if not value.isdigit():
        return unknown("CONFIG_HZ is not in the configuration", value)
    if int(value) >= 250:
        return passed(value, "recorded; no wake-up of a timer depends on it")
    return failed(value, f"time-outs in ticks are rounded to {1000 // int(value)} ms")


@check(
    "kernel.release",
    "age of the kernel",
    severity="info",
    source="kernel.org, PREEMPT_RT in mainline since 6.12",
    wanted="recorded; 6.12 or later has PREEMPT_RT without a patch",
    reads=("/proc/version",),
    cure="move to Linux 6.12 or later",
)
def release(facts: Facts) -> Verdict:
    """Which advice holds depends on it: RT throttling gave way to the fair server in 6.12."""
    text = facts.text("/proc/version")
    found = kernel_release(lambda path: text)
    if found == (0, 0):
        return unknown("/proc/version names no release", text[:60])
    words = f"{found[0]}.{found[1]}"
    if found >= (6, 12):
        return passed(words, "recorded")
    return failed(words, "PREEMPT_RT needs a patch for this release")
