"""Interrupt handlers as threads."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-thread-irqs",
    title="interrupt handlers as threads",
    why="a thread has a priority: a real-time task above it is not interrupted for long",
    source=f"{sources.RTCQS}; {sources.KERNEL_PARAMETERS}",
    cures=("cmdline.threadirqs",),
    boot=lambda facts, value: ["threadirqs"],
    note="PREEMPT_RT does so anyway",
)
