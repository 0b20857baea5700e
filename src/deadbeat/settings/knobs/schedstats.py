"""Statistics of the scheduler."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "schedstats",
    "/proc/sys/kernel/sched_schedstats",
    title="statistics of the scheduler",
    why="every switch of tasks and every wake-up counts and adds",
    source=sources.RHEL_REALTIME,
    cures=("watchdogs.schedstats",),
    values=one_of("0", "1"),
    default="0",
    note="perf sched and latencytop need them",
)
