"""Performance against energy, as a hint to the processor."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import at_most, file_knob, whole

KNOB = file_knob(
    "energy-bias",
    "/sys/devices/system/cpu/cpu[0-9]*/power/energy_perf_bias",
    title="performance against energy, as a hint to the processor",
    why="0 asks for performance: the processor then keeps its frequency up",
    source=sources.TUNED_REALTIME,
    cures=("power.energy-preference",),
    values=whole(0, 15),
    default="0",
    enough=at_most,
)
