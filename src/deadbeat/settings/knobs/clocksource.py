"""What the kernel reads the time from."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, Values, present

_FOLDER = "/sys/devices/system/clocksource/clocksource0"
_CURRENT, _AVAILABLE = f"{_FOLDER}/current_clocksource", f"{_FOLDER}/available_clocksource"


def _settings(facts: Facts, value: str) -> list[Setting]:
    offered = facts.text(_AVAILABLE).split()
    if value not in offered:
        raise NotHereError(f"{_AVAILABLE} offers {', '.join(offered)} only")
    return [Setting(path, value) for path in present(facts, _CURRENT)]


KNOB = Knob(
    name="clocksource",
    title="clock source",
    why="hpet and acpi_pm are devices: reading the time takes a microsecond, tsc some nanoseconds",
    source=sources.RHEL_REALTIME,
    cures=("clock.source",),
    reads=(_CURRENT, _AVAILABLE),
    values=Values("a clock source", lambda text: text.replace("-", "").replace("_", "").isalnum()),
    default="tsc",
    settings=_settings,
    note="in a guest the host's clock source may be the right one: the kernel itself left tsc",
)
