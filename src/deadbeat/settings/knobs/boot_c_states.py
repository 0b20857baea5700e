"""Only the lightest sleep state."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-c-states",
    title="only the lightest sleep state",
    why="a CPU that sleeps deeply is late by the time it takes to wake up",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.HARDWARE}",
    cures=("cmdline.max-cstate",),
    boot=lambda facts, value: ["processor.max_cstate=1", "intel_idle.max_cstate=1"],
    note="hotter; idle-states does it for some CPUs and for now",
)
