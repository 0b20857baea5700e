"""Which CPUs are watched."""

from __future__ import annotations

from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, Setting, housekeeping_list, present

_PATH = "/proc/sys/kernel/watchdog_cpumask"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    return [Setting(each, housekeeping_list(facts)) for each in present(facts, _PATH)]


KNOB = Knob(
    name="watchdog-cpus",
    title="only the other CPUs are watched",
    why="the watchdog runs a thread of the highest priority on each CPU that it watches",
    source="Linux Documentation/admin-guide/lockup-watchdogs.rst",
    cures=("kernel.lockup-detector", "watchdogs.soft-lockup"),
    reads=(_PATH, ONLINE),
    settings=_settings,
)
