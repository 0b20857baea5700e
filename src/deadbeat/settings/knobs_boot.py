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
)
