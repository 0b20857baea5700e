"""A scheduling group for each session."""

from __future__ import annotations

from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "autogroup",
    "/proc/sys/kernel/sched_autogroup_enabled",
    title="a scheduling group per session",
    why="sessions share CPU time as groups, so nice values of tasks in different ones do not"
    " compare",
    source="Linux Documentation/scheduler/sched-design-CFS.rst",
    cures=("scheduler.autogroup",),
    values=one_of("0", "1"),
    default="0",
    note="only tasks of normal priority feel it",
)
