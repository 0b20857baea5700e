"""What the processor prefers while it chooses its own frequency."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Values, file_knob

# A profile names it before the governor: under intel_pstate's performance governor the file refuses
# everything but performance, on the way back too.
KNOB = file_knob(
    "energy-preference",
    "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference",
    title="performance against energy, of every CPU",
    why="a processor that prefers to save energy raises its frequency late",
    source=sources.TUNED_REALTIME,
    cures=("power.energy-preference",),
    values=Values("a preference such as performance", lambda text: text.replace("_", "").isalnum()),
    default="performance",
    note="comes before governor: under the performance governor the file accepts nothing else",
)
