"""Knobs of the kernel's command line: words that are printed, never applied."""

from __future__ import annotations

from deadbeat.host.values import cpus_text
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, housekeeping_list


def _boot_isolation_words(facts: Facts, _value: str) -> list[str]:
    cpus, left = cpus_text(facts.rt_cpus), housekeeping_list(facts)
    return [f"isolcpus=managed_irq,domain,{cpus}", f"rcu_nocbs={cpus}", f"irqaffinity={left}"]


def _boot_no_tick_words(facts: Facts, _value: str) -> list[str]:
    housekeeping_list(facts)  # one CPU must keep the time
    return [f"nohz_full={cpus_text(facts.rt_cpus)}"]


KNOBS = (
    Knob(
        name="boot-c-states",
        title="only the lightest sleep state",
        why="a CPU that sleeps deeply is late by the time it takes to wake up",
        source=f"{sources.KERNEL_CONFIGURATION}; {sources.HARDWARE}",
        cures=("cmdline.max-cstate",),
        boot=lambda facts, value: ["processor.max_cstate=1", "intel_idle.max_cstate=1"],
        note="hotter; idle-states does it for some CPUs and for now",
    ),
    Knob(
        name="boot-efi",
        title="no calls into the EFI firmware while the system runs",
        why="they may hold a CPU for milliseconds, uninterruptibly",
        source=f"{sources.KERNEL_CONFIGURATION}; {sources.HARDWARE}",
        boot=lambda facts, value: ["efi=noruntime"],
        note="boot entries can then not be changed, and a reboot may need another way",
    ),
    Knob(
        name="boot-isolation",
        title="the CPUs for real-time tasks isolated",
        why="no other task, no RCU callback and no interrupt of a device comes to them",
        source=f"{sources.CPU_ISOLATION}; {sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
        cures=(
            "cmdline.isolation",
            "cmdline.managed-irq",
            "cmdline.rcu-nocbs",
            "cmdline.irqaffinity",
        ),
        reads=(ONLINE,),
        boot=_boot_isolation_words,
        note="nothing runs there unless it is put there by its affinity",
    ),
    Knob(
        name="boot-no-tick",
        title="no periodic tick beside a single task, on the CPUs for real-time tasks",
        why="a task that computes alone is interrupted once a second instead of HZ times",
        source=f"{sources.CPU_ISOLATION}; {sources.TUNED_REALTIME}",
        cures=("cmdline.nohz-full",),
        reads=(ONLINE,),
        boot=_boot_no_tick_words,
        note="for tasks that compute; KC advises against it for periodic ones: every entry of the"
        " kernel"
        " gets slower",
    ),
    Knob(
        name="boot-no-watchdogs",
        title="no watchdogs of stuck CPUs from the boot on",
        why="each runs a thread of the highest priority on every CPU",
        source=f"{sources.TUNED_REALTIME}; {sources.INTEL_ECI}",
        cures=("cmdline.watchdogs",),
        boot=lambda facts, value: ["nowatchdog", "nosoftlockup"],
        note="watchdogs does it for now",
    ),
    Knob(
        name="boot-nosmt",
        title="one hardware thread a core",
        why="two threads of a core share its execution units and its first caches",
        source=sources.CPU_ISOLATION,
        cures=("power.smt",),
        boot=lambda facts, value: ["nosmt"],
        note="half the CPUs; throughput falls",
    ),
    Knob(
        name="boot-preempt",
        title="full preemption from the boot on, of a kernel that has several models",
        why="under none and voluntary the kernel finishes what it does for a normal task first",
        source=f"{sources.KERNEL_PARAMETERS} (preempt=)",
        cures=("kernel.preemption",),
        boot=lambda facts, value: ["preempt=full"],
        note="takes PREEMPT_DYNAMIC; PREEMPT_RT needs another kernel",
    ),
    Knob(
        name="boot-rcu-normal",
        title="no expedited RCU grace periods after the boot",
        why="an expedited grace period sends an interrupt to every CPU",
        source=sources.TUNED_REALTIME,
        cures=("cmdline.rcu-expedited",),
        boot=lambda facts, value: ["rcupdate.rcu_normal_after_boot=1"],
        note="rcu-normal does it for now",
    ),
    Knob(
        name="boot-skew-tick",
        title="ticks of CPUs at different times",
        why="ticks that come together contend for the kernel's locks",
        source=f"{sources.TUNED_REALTIME} (network-latency)",
        cures=("cmdline.skew-tick",),
        boot=lambda facts, value: ["skew_tick=1"],
        note="costs some power",
    ),
    Knob(
        name="boot-thread-irqs",
        title="interrupt handlers as threads",
        why="a thread has a priority: a real-time task above it is not interrupted for long",
        source=f"{sources.RTCQS}; {sources.KERNEL_PARAMETERS}",
        cures=("cmdline.threadirqs",),
        boot=lambda facts, value: ["threadirqs"],
        note="PREEMPT_RT does so anyway",
    ),
    Knob(
        name="boot-tsc",
        title="the time stamp counter is trusted",
        why="the kernel's watchdog of the clock may take a stall for a wrong clock and change to a"
        " slow one",
        source=sources.TUNED_REALTIME,
        cures=("cmdline.tsc",),
        boot=lambda facts, value: ["tsc=reliable"],
        note="only where dmesg has no complaint about the tsc",
    ),
)
