"""How often the counters of memory are folded."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import at_least, file_knob, whole

KNOB = file_knob(
    "stat-interval",
    "/proc/sys/vm/stat_interval",
    title="how often each CPU folds its memory counters",
    why="every interval a kernel worker runs on each CPU to fold its counters into the global ones",
    source=f"{sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
    cures=("watchdogs.stat-interval",),
    values=whole(1, 86400, "s"),
    default="10",
    enough=at_least,
    note="TR wants 10; KT says that longer is quieter, at the price of counters that are older",
)
