"""On which CPU a disk's answers are dealt with."""

from __future__ import annotations

from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "disk-completion",
    "/sys/block/*/queue/rq_affinity",
    title="a disk's answer is dealt with on the CPU that asked",
    why="with 1 any CPU that shares its cache may be interrupted for it, a real-time one too",
    source="Linux Documentation/ABI/stable/sysfs-block",
    cures=("interrupts.disk-completion",),
    values=one_of("0", "1", "2"),
    default="2",
)
