"""Pages that are mapped, touched and given back, and traffic to memory."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile, stress_ng

LOAD = LoadProfile(
    name="memory",
    title="Memory",
    stresses="page faults, reclaim, TLB shoot-downs, caches and the memory bus",
    program="stress-ng",
    package="stress-ng",
    commands=stress_ng("--vm N --vm-bytes 64m --stream N"),
    kinds=("vm", "stream"),
    computes=True,
)
