"""Frequencies above the nominal one."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, one_of

_INTEL = "/sys/devices/system/cpu/intel_pstate/no_turbo"
_OTHER = "/sys/devices/system/cpu/cpufreq/boost"


def _settings(facts: Facts, value: str) -> list[Setting]:
    if facts.get(_INTEL) is not None:
        return [Setting(_INTEL, "1" if value == "off" else "0")]
    if facts.get(_OTHER) is not None:
        return [Setting(_OTHER, "0" if value == "off" else "1")]
    raise NotHereError(f"neither {_INTEL} nor {_OTHER} is there")


KNOB = Knob(
    name="turbo",
    title="frequencies above the nominal one",
    why="how long turbo lasts depends on heat and on the other cores: execution times vary with it",
    source=sources.CONGATEC,
    cures=("power.turbo",),
    reads=(_INTEL, _OTHER),
    values=one_of("on", "off"),
    default="off",
    settings=_settings,
    note="off is steadier and slower; no profile turns it",
)
