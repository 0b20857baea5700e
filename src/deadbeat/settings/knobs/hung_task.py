"""The watchdog of blocked tasks."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, whole

KNOB = file_knob(
    "hung-task",
    "/proc/sys/kernel/hung_task_timeout_secs",
    title="how long a blocked task may be before it is reported",
    why="the watchdog of blocked tasks walks through all of them",
    source=sources.TUNED_REALTIME,
    cures=("watchdogs.hung-task",),
    values=whole(0, 2147483, "s"),
    default="600",
    enough=lambda now, wanted: now == 0 or now >= wanted,
    note="0 turns it off",
)
