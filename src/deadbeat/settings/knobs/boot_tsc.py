"""The time stamp counter is trusted."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-tsc",
    title="the time stamp counter is trusted",
    why="the kernel's watchdog of the clock may take a stall for a wrong clock and change to a"
    " slow one",
    source=sources.TUNED_REALTIME,
    cures=("cmdline.tsc",),
    boot=lambda facts, value: ["tsc=reliable"],
    note="only where dmesg has no complaint about the tsc",
)
