"""The frequency governor of each CPU."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, Values, present

_GOVERNOR = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
_AVAILABLE = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_available_governors"


def _settings(facts: Facts, value: str) -> list[Setting]:
    for path, reading in facts.matches(_AVAILABLE).items():
        offered = (reading.text or value).split()
        if value not in offered:
            raise NotHereError(f"{path} offers {', '.join(offered)} only")
    paths = present(facts, _GOVERNOR)
    if any((facts.get(path) or "") == "userspace" for path in paths):
        raise NotHereError("the governor is userspace: the frequency it was told would be lost")
    return [Setting(path, value) for path in paths]


KNOB = Knob(
    name="governor",
    title="frequency governor of every CPU",
    why="a CPU that has slowed down needs time to speed up again, and runs slowly meanwhile",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.TUNED_REALTIME}",
    cures=("power.governor",),
    reads=(_GOVERNOR, _AVAILABLE),
    values=Values("the name of a governor", str.isidentifier),
    default="performance",
    settings=_settings,
    note="hotter: where that leads to thermal throttling, a fixed lower frequency is steadier",
)
