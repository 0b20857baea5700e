"""Partial slabs of each CPU."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, whole

KNOB = file_knob(
    "slab-partial",
    "/sys/kernel/slab/*/cpu_partial",
    title="partial slabs that each CPU keeps to itself",
    why="a CPU's own list is emptied at once when it is full, with interrupts off",
    source=f"{sources.REALTIME_SETUP}; RHEL kernel-rt commit e0b9afb6",
    cures=("kernel.slub-partial",),
    values=whole(0, 65535),
    default="0",
    note="allocation gets slower on average; caches of the same file have several names",
)
