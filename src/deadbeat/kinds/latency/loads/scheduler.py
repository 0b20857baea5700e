"""Tasks that wake, switch, fork and end all the time."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile, stress_ng

LOAD = LoadProfile(
    name="scheduler",
    title="Scheduler",
    stresses="run queue locks, wake-ups across CPUs, creation and end of tasks",
    program="stress-ng",
    package="stress-ng",
    commands=stress_ng("--switch N --futex N --fork N --yield N"),
    kinds=("switch", "futex", "fork", "yield"),
    computes=True,
    least={"switch switches/s": 100.0, "futex switches/s": 100.0},
)
