"""Sockets that look for packets themselves instead of waiting for an interrupt."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, Setting, present, whole

_PATHS = ("/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll")


def _settings(facts: Facts, value: str) -> list[Setting]:
    return [Setting(each, value) for path in _PATHS for each in present(facts, path)]


KNOB = Knob(
    name="busy-poll",
    title="how long a socket looks for packets before it waits",
    why="a packet that is looked for needs no interrupt and no wake-up",
    source=f"{sources.TUNED_REALTIME} (network-latency)",
    reads=_PATHS,
    values=whole(0, 1000, "us"),
    default="50",
    settings=_settings,
    note="costs that much CPU time in each read and poll that finds nothing",
)
