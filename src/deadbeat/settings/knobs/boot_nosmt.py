"""One hardware thread a core."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-nosmt",
    title="one hardware thread a core",
    why="two threads of a core share its execution units and its first caches",
    source=sources.CPU_ISOLATION,
    cures=("power.smt",),
    boot=lambda facts, value: ["nosmt"],
    note="half the CPUs; throughput falls",
)
