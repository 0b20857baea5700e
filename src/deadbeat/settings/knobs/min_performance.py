"""The lowest frequency of intel_pstate."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import at_least, file_knob, whole

KNOB = file_knob(
    "min-performance",
    "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
    title="lowest frequency that intel_pstate chooses, in percent",
    why="a processor that has slowed down needs time to speed up again",
    source=sources.TUNED_REALTIME,
    values=whole(0, 100, "%"),
    default="100",
    enough=at_least,
    note="hotter, and thermal throttling is worse than a lower frequency",
)
