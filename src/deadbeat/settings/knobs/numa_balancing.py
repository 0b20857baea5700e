"""Memory follows its task between nodes."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "numa-balancing",
    "/proc/sys/kernel/numa_balancing",
    title="memory follows its task between nodes",
    why="it unmaps pages on purpose to see who touches them: each touch is a page fault",
    source=sources.TUNED_REALTIME,
    cures=("scheduler.numa-balancing",),
    values=one_of("0", "1"),
    default="0",
)
