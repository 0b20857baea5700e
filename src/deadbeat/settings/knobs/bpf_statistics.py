"""Statistics of BPF programs."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "bpf-statistics",
    "/proc/sys/kernel/bpf_stats_enabled",
    title="run times of BPF programs",
    why="each run of a program reads the clock twice",
    source=sources.SYSCTL_KERNEL,
    cures=("watchdogs.bpf-statistics",),
    values=one_of("0", "1"),
    default="0",
)
