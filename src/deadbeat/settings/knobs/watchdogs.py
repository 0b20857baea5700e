"""The watchdogs of CPUs that are stuck."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting

_SOFT, _HARD = "/proc/sys/kernel/soft_watchdog", "/proc/sys/kernel/nmi_watchdog"


# Not kernel.watchdog, which is both at once: 1 written back to it turns on one that was off before.
def _settings(facts: Facts, _value: str) -> list[Setting]:
    found = {path: facts.get(path) for path in (_SOFT, _HARD)}
    made = [Setting(path, "0") for path, text in found.items() if text not in (None, "0")]
    if not made:
        raise NotHereError("no watchdog is on")
    return made


KNOB = Knob(
    name="watchdogs",
    title="watchdogs of stuck CPUs off",
    why="each runs a thread of the highest priority, and a timer, on every CPU every few seconds",
    source=f"{sources.KERNEL_CONFIGURATION}; {sources.TUNED_REALTIME}; {sources.INTEL_ECI}",
    cures=("kernel.lockup-detector", "watchdogs.soft-lockup", "watchdogs.nmi"),
    reads=(_SOFT, _HARD),
    settings=_settings,
    note="a CPU that hangs is then not reported; watchdog-cpus only takes it off some CPUs",
)
