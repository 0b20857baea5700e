"""Merging of equal pages."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "ksm",
    "/sys/kernel/mm/ksm/run",
    title="merging of equal pages",
    why="a thread compares and write-protects pages: writing to a merged one is a page fault",
    source=sources.TUNED_PARTITIONING,
    cures=("memory.merging",),
    values=one_of("0", "1"),
    default="0",
    note="pages merged before stay merged",
)
