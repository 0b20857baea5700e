"""Reclaim of memory near by."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "zone-reclaim",
    "/proc/sys/vm/zone_reclaim_mode",
    title="reclaim memory of the own node before another's is used",
    why="an allocation reclaims memory on the spot where another node has some free",
    source=sources.TUNED_REALTIME,
    cures=("memory.zone-reclaim",),
    values=one_of("0", "1"),
    default="0",
)
