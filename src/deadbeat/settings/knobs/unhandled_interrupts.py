"""Interrupts that no driver claims."""

from __future__ import annotations

from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "unhandled-interrupts",
    "/sys/module/spurious/parameters/noirqdebug",
    title="no count of interrupts that no driver claims",
    why="each interrupt pays for the count, and a line that seems stuck is switched off and polled",
    source="Linux Documentation/admin-guide/kernel-parameters.txt (noirqdebug)",
    values=one_of("Y", "N"),
    default="Y",
    note="no real-time source advises it: a line that really is stuck then takes its CPU for good",
)
