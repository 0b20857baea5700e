"""Files that are written, synced and read."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile, stress_ng

LOAD = LoadProfile(
    name="io",
    title="Files and disk",
    stresses="block and file system paths, their interrupts, soft interrupts and work queues",
    program="stress-ng",
    package="stress-ng",
    commands=stress_ng("--hdd N --hdd-bytes 32m --iomix N --iomix-bytes 32m"),
    kinds=("hdd", "iomix"),
    # Nothing goes to a disk where the files are in memory (tmpfs).
    least={"hdd written B/s": 4096.0},
)
