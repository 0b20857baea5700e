"""Full preemption from the boot on."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-preempt",
    title="full preemption from the boot on, of a kernel that has several models",
    why="under none and voluntary the kernel finishes what it does for a normal task first",
    source=f"{sources.KERNEL_PARAMETERS} (preempt=)",
    cures=("kernel.preemption",),
    boot=lambda facts, value: ["preempt=full"],
    note="takes PREEMPT_DYNAMIC; PREEMPT_RT needs another kernel",
)
