"""Packets processed by threads instead of softirqs."""

from __future__ import annotations

from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "napi-threads",
    "/sys/class/net/*/threaded",
    title="received packets are processed by threads",
    why="a thread has a priority and an affinity; a softirq runs before any task",
    source="Linux Documentation/networking/napi.rst",
    cures=("interrupts.packet-threads",),
    values=one_of("0", "1"),
    default="1",
    note="devices without NAPI refuse it; throughput may fall",
)
