"""Timers that move to other CPUs."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "timer-migration",
    "/proc/sys/kernel/timer_migration",
    title="timers stay on the CPU that armed them",
    why="a timer that was armed elsewhere fires, with its interrupt, on the CPU of a real-time"
    " task",
    source=f"{sources.TUNED_REALTIME}; {sources.UBUNTU_REALTIME}; commit b2cf7507e186",
    cures=("scheduler.timer-migration",),
    values=one_of("0", "1"),
    default="0",
    note="from Linux 6.9 on it holds for high-resolution timers alone: others of an idle CPU are"
    " pulled by a busy one, whatever it says",
)
