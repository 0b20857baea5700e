"""Timers of idle CPUs move."""

from __future__ import annotations

from deadbeat.readiness import sources
from deadbeat.readiness.knob import file_knob, one_of

KNOB = file_knob(
    "timer-migration",
    "/proc/sys/kernel/timer_migration",
    title="timers of idle CPUs move to busy ones",
    why="a timer that was armed elsewhere fires, with its interrupt, on the CPU of a real-time"
    " task",
    source=f"{sources.TUNED_REALTIME}; {sources.UBUNTU_REALTIME}",
    cures=("scheduler.timer-migration",),
    values=one_of("0", "1"),
    default="0",
)
