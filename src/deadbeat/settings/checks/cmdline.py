"""What the kernel was told at boot, and whether it still holds."""

from __future__ import annotations

import re

from deadbeat.host.kernel import VERSION
from deadbeat.host.proc import CPUINFO
from deadbeat.host.values import UnreadError, cpus_text
from deadbeat.settings import sources
from deadbeat.settings.check import Verdict, check, failed, passed, unknown
from deadbeat.settings.facts import DMESG, Facts
from deadbeat.settings.reading_cpus import (
    ISOLATED,
    OFFLOADED,
    TICKLESS,
    argument_cpus,
    cpu_flags,
    isolated,
    meant,
    offloaded,
    online,
    tickless,
)
from deadbeat.settings.reading_options import REALTIME, lacking, realtime
from deadbeat.settings.reading_values import ONLINE, few, housekeeping, release

_CMDLINE = "/proc/cmdline"
_IDLE_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
_DRIVERS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver"
_PSTATES = (
    "/sys/devices/system/cpu/intel_pstate/status",
    "/sys/devices/system/cpu/amd_pstate/status",
)
_RCU = "/sys/module/rcupdate/parameters"
_RCU_NORMAL = (f"{_RCU}/rcu_normal_after_boot", f"{_RCU}/rcu_normal", f"{_RCU}/rcu_expedited")
_RCU_PRIORITY = "/sys/module/rcutree/parameters/kthread_prio"
_RCU_PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
_CONSOLE = "/sys/class/tty/console/active"
_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities/*"
#: Above it are the kernel's interrupt threads (50) and what real-time programs use.
_RCU_PRIORITY_MOST = 49
_SERIAL = re.compile(r"tty(?:S|AMA|USB|PS|LP|mxc|SAC|MSM|STM|HS|GS|O|SC)\d")


def _said(facts: Facts, name: str) -> str:
    """``name=value`` as on the command line; "" where it is not there."""
    value = facts.argument(name)
    return "" if value is None else f"{name}={value}" if value else name


def _uncovered(facts: Facts, cpus: set[int]) -> set[int]:
    """CPUs meant for real-time tasks that are not among ``cpus``."""
    return set(facts.rt_cpus) - cpus


@check(
    "cmdline.isolation",
    "real-time CPUs are isolated",
    severity="medium",
    source=f"{sources.CPU_ISOLATION}; {sources.TUNED_REALTIME} (isolcpus=)",
    wanted="every real-time CPU isolated: an isolated partition, or isolcpus=domain,LIST",
    reads=(*ISOLATED, ONLINE),
    cure="echo isolated > .../cpuset.cpus.partition of the tasks' control group, or boot with"
    " isolcpus=managed_irq,domain,LIST",
)
def isolation(facts: Facts) -> Verdict:
    """The scheduler's balancing places other tasks on a CPU that is not isolated."""
    found = isolated(facts)
    housekeeping(facts)
    bare = _uncovered(facts, found)
    if bare:
        return failed(
            cpus_text(found),
            f"other tasks may run on {meant(facts, bare)}",
            cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)}, or make an"
            " isolated cpuset partition",
        )
    return passed(cpus_text(found))


@check(
    "cmdline.managed-irq",
    "managed interrupts are kept away",
    severity="low",
    source=sources.CPU_ISOLATION,
    wanted="isolcpus=managed_irq,LIST with every real-time CPU",
    reads=(_CMDLINE, ONLINE),
    cure="boot with isolcpus=managed_irq,domain,LIST",
)
def managed_irq(facts: Facts) -> Verdict:
    """Interrupts that the kernel itself places (NVMe, virtio) cannot be moved later."""
    flagged = "managed_irq" in (facts.argument("isolcpus") or "").split(",")
    if flagged and not _uncovered(facts, argument_cpus(facts, "isolcpus")):
        return passed(_said(facts, "isolcpus"))
    found = _said(facts, "isolcpus") or "no isolcpus="
    return failed(
        found,
        f"managed interrupts may be placed on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)}",
    )


@check(
    "cmdline.nohz-full",
    "CPUs without a tick",
    severity="low",
    source=f"{sources.CPU_ISOLATION}; {sources.KERNEL_CONFIGURATION}",
    wanted="compute: nohz_full= with every real-time CPU; periodic: none; mixed: all or none",
    reads=TICKLESS,
    cure="compute: boot with nohz_full=LIST; periodic: take nohz_full= from the command line",
)
def nohz_full(facts: Facts) -> Verdict:
    """It spares a lone computation its ticks, and makes every system call and interrupt dearer."""
    found = tickless(facts)
    with_them, bare = found & set(facts.rt_cpus), _uncovered(facts, found)
    if facts.workload == "periodic":
        if with_them:
            return failed(cpus_text(found), "dearer kernel entries at every period (cpu-isolation)")
        return passed(cpus_text(found), "a periodic loop wants its ticks (kernel-configuration)")
    if not bare:
        return passed(cpus_text(found), "for tasks that compute for long, alone on their CPU")
    if facts.workload == "compute":
        return failed(
            cpus_text(found),
            f"ticks interrupt computing on {meant(facts, bare)}",
            cure=f"boot with nohz_full={cpus_text(facts.rt_cpus)} (built with NO_HZ_FULL)",
        )
    if with_them:
        return failed(cpus_text(found), "some real-time CPUs have a tick and some have none")
    return passed(cpus_text(found), "computing tasks would want it, periodic ones do not")


@check(
    "cmdline.rcu-nocbs",
    "RCU callbacks are moved away",
    severity="medium",
    source=f"{sources.PER_CPU_KTHREADS}; {sources.INTEL_ECI}",
    wanted="rcu_nocbs= (or nohz_full=) with every real-time CPU",
    reads=OFFLOADED,
    cure="boot with rcu_nocbs=LIST",
)
def rcu_nocbs(facts: Facts) -> Verdict:
    """Callbacks that were queued on a CPU run there, in bursts, unless they are offloaded."""
    found = offloaded(facts)
    bare = _uncovered(facts, found)
    if bare:
        return failed(
            cpus_text(found),
            f"callbacks run on {meant(facts, bare)}",
            cure=f"boot with rcu_nocbs={cpus_text(facts.rt_cpus)}",
        )
    return passed(cpus_text(found))


@check(
    "cmdline.rcu-nocb-poll",
    "offloaded CPUs need not wake RCU",
    severity="info",
    source=f"{sources.KERNEL_PARAMETERS} (rcu_nocb_poll); {sources.INTEL_ECI}",
    wanted="rcu_nocb_poll where CPUs are offloaded and housekeeping has power to spare",
    reads=OFFLOADED,
    cure="boot with rcu_nocb_poll (it wakes housekeeping CPUs all the time)",
)
def rcu_nocb_poll(facts: Facts) -> Verdict:
    """An offloaded CPU otherwise wakes the thread that runs its callbacks."""
    if not offloaded(facts):
        return passed("nothing is offloaded", "there is nothing to poll for")
    if facts.argument("rcu_nocb_poll") is not None:
        return passed("rcu_nocb_poll")
    return failed("not polled", "real-time CPUs wake the threads that run their callbacks")


@check(
    "cmdline.irqaffinity",
    "where new interrupts go",
    severity="medium",
    source=f"{sources.CPU_ISOLATION}; {sources.INTEL_ECI}",
    wanted="irqaffinity= without real-time CPUs",
    reads=(_CMDLINE, ONLINE),
    cure="boot with irqaffinity=LIST of the other CPUs",
)
def irqaffinity(facts: Facts) -> Verdict:
    """Interrupts that are requested at boot are placed before anything can move them."""
    found = argument_cpus(facts, "irqaffinity")
    on = found & set(facts.rt_cpus)
    if found and not on:
        return passed(_said(facts, "irqaffinity"))
    return failed(
        _said(facts, "irqaffinity") or "no irqaffinity=",
        f"interrupts may go to {meant(facts, on or None)}",
        cure=f"boot with irqaffinity={cpus_text(housekeeping(facts))}",
    )


@check(
    "cmdline.skew-tick",
    "ticks of CPUs at different times",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (skew_tick=1)",
    wanted="skew_tick=1 with more than one CPU",
    reads=(_CMDLINE, ONLINE),
    cure="boot with skew_tick=1",
)
def skew_tick(facts: Facts) -> Verdict:
    """Ticks at the same instant make all CPUs want the same locks at once."""
    if len(online(facts)) == 1:
        return passed("one CPU", "there are no other ticks")
    if facts.argument("skew_tick") == "1":
        return passed("skew_tick=1")
    return failed(_said(facts, "skew_tick") or "no skew_tick=", "all CPUs tick at the same instant")


@check(
    "cmdline.tsc",
    "the time stamp counter is trusted",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (tsc=reliable); commits b50db7095fe0, 233756a640be",
    wanted="tsc=reliable or nowatchdog, or a processor that needs no check",
    reads=(_CMDLINE, CPUINFO, VERSION),
    cure="boot with tsc=nowatchdog, if this machine's counters are known to agree",
)
def tsc(facts: Facts) -> Verdict:
    """Else a timer compares it with another clock twice a second, and may give it up."""
    flags = cpu_flags(facts)
    if "tsc" not in flags:
        return passed("no time stamp counter", "it concerns x86 alone")
    asked = {word for value in facts.arguments("tsc") for word in value.split(",")}
    if asked & {"reliable", "nowatchdog"}:
        return passed(_said(facts, "tsc"))
    steady = {"constant_tsc", "nonstop_tsc", "tsc_adjust"} <= flags
    if steady and _sockets(facts) <= _trusted_sockets(release(facts)):
        return passed("constant_tsc nonstop_tsc tsc_adjust", "this kernel does not check it")
    return failed(_said(facts, "tsc") or "no tsc=", "a timer checks it against another clock")


def _sockets(facts: Facts) -> int:
    return len(set(re.findall(r"^physical id\s*:\s*(\d+)", facts.text(CPUINFO), re.M)))


def _trusted_sockets(kernel: tuple[int, int]) -> int:
    """Up to how many sockets (by nodes of memory before Linux 6.12) the kernel checks nothing."""
    return -1 if kernel < (5, 16) else 2 if kernel < (6, 6) else 4


@check(
    "cmdline.watchdogs",
    "watchdogs stay off after a boot",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (nosoftlockup); {sources.INTEL_ECI} (nmi_watchdog=0)",
    wanted="nowatchdog, or nosoftlockup and nmi_watchdog=0",
    reads=(_CMDLINE, "/proc/sys/kernel/watchdog"),
    cure="boot with nowatchdog",
)
def watchdogs(facts: Facts) -> Verdict:
    """What sysctl switches off is on again between the boot and that command."""
    if facts.argument("nowatchdog") is not None:
        return passed("nowatchdog")
    if lacking(facts, "/proc/sys/kernel/watchdog"):
        return passed("no lockup detector in this kernel")
    parts = {
        "nosoftlockup": facts.argument("nosoftlockup") is not None,
        "nmi_watchdog=0": facts.argument("nmi_watchdog") == "0",
    }
    missing = [word for word, there in parts.items() if not there]
    if not missing:
        return passed("nosoftlockup nmi_watchdog=0")
    return failed(f"lacks {', '.join(missing)}", "the watchdogs run from the boot on")


@check(
    "cmdline.max-cstate",
    "idle states are capped at boot",
    severity="medium",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.CPU_ISOLATION}",
    wanted="processor.max_cstate=1 (intel_idle: intel_idle.max_cstate=1 or 0 as well)",
    reads=(_CMDLINE, _IDLE_DRIVER),
    cure="boot with processor.max_cstate=1 intel_idle.max_cstate=0, or measure with"
    " /dev/cpu_dma_latency held",
)
def max_cstate(facts: Facts) -> Verdict:
    """A CPU wakes from a deep state tens to hundreds of microseconds late."""
    driver = facts.text(_IDLE_DRIVER)
    if not re.fullmatch(r"[\w-]+", driver):
        raise UnreadError(f"{_IDLE_DRIVER} holds {driver[:20]!r}")
    if driver not in ("acpi_idle", "intel_idle"):
        return passed(f"driver {driver}", "these words concern acpi_idle and intel_idle")
    if facts.argument("idle") in ("poll", "halt") or facts.argument("cpuidle.off") == "1":
        return passed(
            f"idle={facts.argument('idle')}" if facts.argument("idle") else "cpuidle.off=1"
        )
    words = {"acpi_idle": ("processor.max_cstate",), "intel_idle": ("intel_idle.max_cstate",)}
    caps = {word: facts.argument(word) for word in words[driver]}
    if all(cap in ("0", "1") for cap in caps.values()):
        return passed(" ".join(f"{word}={cap}" for word, cap in caps.items()))
    found = ", ".join(f"no {w}=" if c is None else f"{w}={c}" for w, c in caps.items())
    return failed(f"{driver}: {found}", "deep idle states make wake-ups late")


@check(
    "cmdline.idle-poll",
    "idle CPUs do not spin",
    severity="low",
    source=f"{sources.HARDWARE} (Virtualization); {sources.KERNEL_PARAMETERS} (idle=)",
    wanted="no idle=poll",
    reads=(_CMDLINE, CPUINFO),
    cure="take idle=poll from the command line; cap idle states at C1 instead",
)
def idle_poll(facts: Facts) -> Verdict:
    """Spinning heats the package, slows the sibling, and takes a guest's host its CPU for good."""
    if facts.argument("idle") != "poll":
        return passed(_said(facts, "idle") or "no idle=")
    if "hypervisor" in cpu_flags(facts):
        return failed(
            "idle=poll in a guest", "a virtual CPU that never idles starves its host",
            severity="medium",
        )  # fmt: skip
    return failed("idle=poll", "heat, a lower turbo, and a slower SMT sibling")


@check(
    "cmdline.pstate",
    "the firmware does not choose the frequency",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (intel_pstate=disable, amd_pstate=disable)",
    wanted="intel_pstate= or amd_pstate= disable or passive, or another driver",
    reads=(_CMDLINE, _DRIVERS, *_PSTATES),
    cure="boot with intel_pstate=disable (AMD: amd_pstate=disable)",
)
def pstate(facts: Facts) -> Verdict:
    """In active mode the processor's own algorithm moves the clock."""
    for path in _PSTATES:
        status = facts.get(path)
        if status in ("active", "guided"):
            name = path.split("/")[-2]
            return failed(f"{name} {status}", "the processor itself chooses the clock")
    asked = _said(facts, "intel_pstate") or _said(facts, "amd_pstate")
    if asked.partition("=")[2] in ("disable", "passive"):
        return passed(asked)
    found = sorted({r.text.strip() for r in facts.matches(_DRIVERS).values() if r.text})
    if not found:
        return unknown("no frequency driver: firmware or a host decides, and does not say how")
    return passed(f"driver {', '.join(found)}")


@check(
    "cmdline.threadirqs",
    "interrupt handlers are threads",
    severity="medium",
    source=f"{sources.RTCQS}; {sources.KERNEL_PARAMETERS} (threadirqs)",
    wanted="a PREEMPT_RT kernel, or threadirqs",
    reads=(_CMDLINE, *REALTIME),
    cure="boot with threadirqs",
)
def threadirqs(facts: Facts) -> Verdict:
    """As threads they have priorities, and a real-time task may go before them."""
    if realtime(facts):
        return passed("PREEMPT_RT", "all handlers are threads")
    if facts.argument("threadirqs") is not None:
        return passed("threadirqs")
    return failed("no threadirqs", "handlers run before every task, whatever its priority")


@check(
    "cmdline.kthread-cpus",
    "where the kernel's threads may go",
    severity="low",
    source=f"{sources.UBUNTU_REALTIME}, kernel boot parameters; {sources.CPU_ISOLATION}",
    wanted="kthread_cpus= without real-time CPUs, or those isolated or without a tick",
    reads=(*ISOLATED, *TICKLESS, DMESG),
    cure="isolate the real-time CPUs (isolcpus=domain,LIST); Ubuntu: kthread_cpus=LIST of the"
    " others",
)
def kthread_cpus(facts: Facts) -> Verdict:
    """Threads of the kernel that are bound to no CPU run wherever there is room."""
    known = "kthread_cpus" not in _not_known(facts)
    found = argument_cpus(facts, "kthread_cpus") if known else set()
    if found and not found & set(facts.rt_cpus):
        return passed(_said(facts, "kthread_cpus"))
    away = isolated(facts) | tickless(facts)
    if not _uncovered(facts, away):
        return passed(f"isolated: {cpus_text(away)}", "unbound threads keep out of isolated CPUs")
    words = _said(facts, "kthread_cpus") or "no kthread_cpus="
    words += "" if known else " (not known to this kernel)"
    return failed(
        words,
        f"unbound threads of the kernel may run on {meant(facts)}",
        cure=f"boot with isolcpus=managed_irq,domain,{cpus_text(facts.rt_cpus)} (Ubuntu:"
        f" kthread_cpus={cpus_text(housekeeping(facts))})",
    )


@check(
    "cmdline.rcu-expedited",
    "no expedited grace periods",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (rcupdate.rcu_normal_after_boot=1)",
    wanted="rcu_normal_after_boot=1 or rcu_normal=1 (PREEMPT_RT: always)",
    reads=(*_RCU_NORMAL, *REALTIME),
    cure="boot with rcupdate.rcu_normal_after_boot=1, or: echo 1 > /sys/kernel/rcu_normal",
)
def rcu_expedited(facts: Facts) -> Verdict:
    """An expedited grace period interrupts every CPU at once."""
    if realtime(facts):
        return passed("PREEMPT_RT", "it uses normal grace periods once booted")
    values = {path.rpartition("/")[2]: facts.integer(path) for path in _RCU_NORMAL}
    found = ", ".join(f"{name}={value}" for name, value in values.items())
    normal = [values["rcu_normal_after_boot"], values["rcu_normal"]]
    return (
        passed(found)
        if 1 in normal
        else failed(found, "whoever asks for haste interrupts every CPU at once")
    )


@check(
    "cmdline.rcu-patience",
    "RCU waits before it disturbs a CPU without a tick",
    severity="low",
    source=f"{sources.TUNED_REALTIME} (rcutree.nohz_full_patience_delay=1000)",
    wanted="rcutree.nohz_full_patience_delay of 1000 ms or more where nohz_full= is used",
    reads=(_RCU_PATIENCE, *TICKLESS),
    cure="boot with rcutree.nohz_full_patience_delay=1000 (Linux 6.11 and later)",
)
def rcu_patience(facts: Facts) -> Verdict:
    """A CPU without a tick is asked for a quiet moment by an interrupt if RCU is impatient."""
    if not tickless(facts):
        return passed("no CPU without a tick", "it concerns nohz_full= alone")
    value = facts.integer(_RCU_PATIENCE)
    if value >= 1000:
        return passed(f"{value} ms")
    return failed(f"{value} ms", "RCU interrupts computing on CPUs without a tick")


@check(
    "cmdline.rcu-priority",
    "priority of RCU's threads",
    severity="medium",
    source=f"{sources.RHEL_REALTIME}; {sources.KERNEL_PARAMETERS} (rcutree.kthread_prio)",
    wanted=f"{_RCU_PRIORITY_MOST} or less: below interrupt threads and real-time tasks",
    reads=(_RCU_PRIORITY,),
    cure="boot with rcutree.kthread_prio=1 (below every real-time task that must not wait for RCU)",
)
def rcu_priority(facts: Facts) -> Verdict:
    """Callbacks at a higher priority than a task go before it."""
    value = facts.integer(_RCU_PRIORITY)
    if value <= _RCU_PRIORITY_MOST:
        return passed(value)
    return failed(value, "RCU callbacks preempt real-time tasks below that priority")


@check(
    "cmdline.serial-console",
    "console on a serial line",
    severity="low",
    source=sources.RHEL_REALTIME,
    wanted="no serial line, or quiet / loglevel= of 4 or less",
    reads=(_CMDLINE, _CONSOLE),
    cure="take console=ttyS... from the command line, or boot with loglevel=3",
)
def serial_console(facts: Facts) -> Verdict:
    """A kernel message waits for the line: 87 us a character at 115200 baud."""
    active = facts.get(_CONSOLE)
    names = facts.arguments("console") if active is None else active.split()
    serial = [name for name in names if _SERIAL.match(name)]
    if not serial:
        return passed(", ".join(names) or "none is named")
    if _quiet(facts):
        return passed(f"{', '.join(serial)}, {_quiet(facts)}", "few messages go there")
    return failed(", ".join(serial), "a kernel message keeps a CPU as long as the line takes")


def _quiet(facts: Facts) -> str:
    """The words that keep kernel messages off the console; "" where there is none."""
    level = facts.argument("loglevel")
    if level is not None and level.isdigit():
        return f"loglevel={level}" if int(level) <= 4 else ""
    return "quiet" if facts.argument("quiet") is not None else ""


@check(
    "cmdline.quiet",
    "few messages on the console",
    severity="info",
    source=sources.RHEL_REALTIME,
    wanted="quiet, or loglevel= of 4 or less",
    reads=(_CMDLINE,),
    cure="boot with quiet",
)
def quiet(facts: Facts) -> Verdict:
    """Every message is written to every console, some with interrupts off."""
    word = _quiet(facts)
    if word:
        return passed(word)
    found = _said(facts, "loglevel") or "neither quiet nor loglevel="
    return failed(found, "all messages of the kernel go to the console")


@check(
    "cmdline.mitigations",
    "mitigations of processor defects",
    severity="info",
    source=f"recorded; {sources.KERNEL_PARAMETERS} (mitigations=)",
    wanted="recorded; never off without a reason",
    reads=(_CMDLINE, _VULNERABILITIES),
    cure="take mitigations=off from the command line unless nobody else's code runs here; compare"
    " latency with and without",
)
def mitigations(facts: Facts) -> Verdict:
    """They cost at each entry of the kernel and switch of tasks; what they cost can be measured."""
    asked = _said(facts, "mitigations") or "default"
    states = {path.rpartition("/")[2]: t for path, t in facts.texts(_VULNERABILITIES).items()}
    open_ = [name for name, text in states.items() if text.startswith("Vulnerable")]
    active = sum(text.startswith("Mitigation") for text in states.values())
    found = f"{asked}: {active} active, {len(open_)} open"
    if facts.argument("mitigations") == "off" and open_:
        return failed(found, f"open: {few(open_)}; not comparable with a machine that has them")
    return passed(found, "recorded; no advice")


def _not_known(facts: Facts) -> str:
    """What the kernel's log says it did not know; "" also where there is no log."""
    found = re.search(r'Unknown kernel command line parameters "(.*?)"', facts.get(DMESG) or "")
    return found[1] if found else ""


@check(
    "cmdline.unknown",
    "words that the kernel did not know",
    severity="low",
    source=f"{sources.KERNEL_PARAMETERS}; Linux 5.14, init/main.c",
    wanted="none",
    reads=(DMESG, VERSION),
    cure="correct or remove the words found",
)
def unknown_words(facts: Facts) -> Verdict:
    """A word with a typing error does nothing, and nobody says so but the log."""
    log, words = facts.text(DMESG), _not_known(facts)
    if words:
        return failed(
            few(words.split()), "the kernel gave them to the first program and ignored them"
        )
    if release(facts) < (5, 14):
        raise UnreadError("kernels before 5.14 do not say what they did not know")
    if not re.search(r"(?:Kernel c|C)ommand line:", log):
        raise UnreadError("the log no longer holds the messages of the boot")
    return passed("none")


@check(
    "cmdline.lists-agree",
    "isolated, tickless and offloaded CPUs are the same",
    severity="medium",
    source=f"{sources.CPU_ISOLATION}; {sources.NO_HZ}",
    wanted="isolcpus=, nohz_full= and rcu_nocbs= name the same CPUs, where they are used",
    reads=(_CMDLINE, ONLINE),
    cure="give isolcpus=, nohz_full= and rcu_nocbs= the same list",
)
def lists_agree(facts: Facts) -> Verdict:
    """A list that names the wrong side isolates the housekeeping CPUs and not the others."""
    names = ("isolcpus", "nohz_full", "rcu_nocbs")
    lists = {name: argument_cpus(facts, name) for name in names if facts.argument(name)}
    found = ", ".join(f"{name}: {cpus_text(cpus)}" for name, cpus in lists.items())
    distinct = {frozenset(cpus) for cpus in lists.values()}
    if len(distinct) > 1:
        return failed(found, "one of the lists is wrong, or some isolation is missing")
    return passed(found or "none is used")


@check(
    "cmdline.housekeeping",
    "somebody keeps house",
    severity="high",
    source=f"{sources.CPU_ISOLATION}; {sources.NO_HZ}",
    wanted="CPU 0 is neither isolated nor without a tick, and takes interrupts",
    reads=(*ISOLATED, *TICKLESS),
    cure="leave CPU 0 out of isolcpus= and nohz_full=, and put it into irqaffinity=",
)
def keeps_house(facts: Facts) -> Verdict:
    """The boot CPU does what nobody else does: it cannot be kept quiet."""
    away = isolated(facts) | tickless(facts)
    left = online(facts) - away
    if not left:
        return failed(f"isolated: {cpus_text(away)}", "no CPU is left for the rest of the system")
    if 0 in away:
        return failed(f"isolated: {cpus_text(away)}", "CPU 0 has duties that cannot be moved")
    wanted = argument_cpus(facts, "irqaffinity")
    if wanted and wanted <= away:
        return failed(
            f"isolated: {cpus_text(away)}, {_said(facts, 'irqaffinity')}",
            "interrupts are sent to the isolated CPUs",
        )
    return passed(f"housekeeping: {cpus_text(left)}")
