"""CPUs without the scheduler's balancing, RCU callbacks and interrupts, from the boot on."""

from __future__ import annotations

from deadbeat.host.values import cpus_text
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, housekeeping_list


def _words(facts: Facts, _value: str) -> list[str]:
    cpus, left = cpus_text(facts.rt_cpus), housekeeping_list(facts)
    return [f"isolcpus=managed_irq,domain,{cpus}", f"rcu_nocbs={cpus}", f"irqaffinity={left}"]


KNOB = Knob(
    name="boot-isolation",
    title="the CPUs for real-time tasks isolated",
    why="no other task, no RCU callback and no interrupt of a device comes to them",
    source=f"{sources.CPU_ISOLATION}; {sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
    cures=("cmdline.isolation", "cmdline.managed-irq", "cmdline.rcu-nocbs", "cmdline.irqaffinity"),
    reads=(ONLINE,),
    boot=_words,
    note="nothing runs there unless it is put there by its affinity",
)
