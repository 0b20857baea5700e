"""Timers that expire thousands of times a second."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile, stress_ng

LOAD = LoadProfile(
    name="timer",
    title="Timers",
    stresses="timer interrupts and signals, on the path that the measured task itself takes",
    program="stress-ng",
    package="stress-ng",
    commands=stress_ng("--timer N --timer-freq 5000 --timerfd N --itimer N"),
    kinds=("timer", "timerfd", "itimer"),
    # A tenth of --timer-freq.
    least={"timer switches/s": 500.0},
)
