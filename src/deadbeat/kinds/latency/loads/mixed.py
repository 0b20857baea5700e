"""A little of everything."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile, stress_ng

LOAD = LoadProfile(
    name="mixed",
    title="Mixed",
    stresses="all of the above at once, as a busy system does",
    program="stress-ng",
    package="stress-ng",
    commands=stress_ng(
        "--cpu N --cpu-load 50 --vm N --vm-bytes 32m --hdd N --hdd-bytes 16m"
        " --timer N --timer-freq 1000 --switch N"
    ),
    kinds=("cpu", "vm", "hdd", "timer", "switch"),
    computes=True,
    least={"timer switches/s": 100.0, "switch switches/s": 100.0},
)
