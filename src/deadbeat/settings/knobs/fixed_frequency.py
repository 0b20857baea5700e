"""The lowest frequency is the highest one."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, present

_FOLDER = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq"
_LEAST, _MOST = f"{_FOLDER}/scaling_min_freq", f"{_FOLDER}/scaling_max_freq"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    most = facts.matches(_MOST)
    made = []
    for path in present(facts, _LEAST):
        highest = most.get(path.replace("scaling_min_freq", "scaling_max_freq"))
        if highest is None or not (highest.text or "").strip().isdigit():
            raise NotHereError(f"the highest frequency beside {path} cannot be read")
        made.append(Setting(path, (highest.text or "").strip()))
    return made


KNOB = Knob(
    name="fixed-frequency",
    title="lowest frequency of every CPU as high as its highest",
    why="a frequency that changes makes the same work take different times",
    source=f"{sources.RHEL_REALTIME}; {sources.TUNED_REALTIME} (min_perf_pct=100)",
    cures=("power.fixed-frequency",),
    reads=(_LEAST, _MOST),
    settings=_settings,
    note="turbo frequencies may still come and go; see turbo",
)
