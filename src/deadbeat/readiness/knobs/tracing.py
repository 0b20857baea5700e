"""The kernel's main trace buffer."""

from __future__ import annotations

from deadbeat.readiness.knob import file_knob, one_of

KNOB = file_knob(
    "tracing",
    "/sys/kernel/tracing/tracing_on",
    title="the kernel's main trace buffer records",
    why="every event that is recorded costs its task time",
    source="Linux Documentation/trace/ftrace.rst",
    values=one_of("0", "1"),
    default="0",
    note="whoever is tracing right now stops getting events",
)
