"""The search for errors that the processor corrected."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, Setting, present

_FOLDER = "/sys/devices/system/machinecheck/machinecheck[0-9]*"
_INTERVAL, _IGNORE = f"{_FOLDER}/check_interval", f"{_FOLDER}/ignore_ce"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    intervals = [Setting(path, "0") for path in present(facts, _INTERVAL)]
    return [*intervals, *(Setting(path, "1") for path in sorted(facts.matches(_IGNORE)))]


KNOB = Knob(
    name="machine-checks",
    title="no polling for corrected errors",
    why="every five minutes a timer on each CPU reads the error registers of all banks",
    source=f"{sources.TUNED_REALTIME}; {sources.TUNED_PARTITIONING}",
    cures=("watchdogs.machine-check",),
    reads=(_INTERVAL, _IGNORE),
    settings=_settings,
    note="memory that begins to fail is noticed only when it has failed",
)
