"""Ticks of CPUs not all at once."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-skew-tick",
    title="ticks of CPUs at different times",
    why="ticks that come together contend for the kernel's locks",
    source=f"{sources.TUNED_REALTIME} (network-latency)",
    cures=("cmdline.skew-tick",),
    boot=lambda facts, value: ["skew_tick=1"],
    note="costs some power",
)
