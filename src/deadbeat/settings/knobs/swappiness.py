"""How eagerly memory is swapped out."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import at_most, file_knob, whole

KNOB = file_knob(
    "swappiness",
    "/proc/sys/vm/swappiness",
    title="how eagerly memory is swapped out",
    why="a page of a real-time task that was swapped out costs a disk access when it is touched",
    source=sources.TUNED_REALTIME,
    cures=("memory.swap",),
    values=whole(0, 200),
    default="10",
    enough=at_most,
    note="mlockall keeps a task's own pages; the rest of what it calls may still be swapped",
)
